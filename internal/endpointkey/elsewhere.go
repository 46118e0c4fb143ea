package endpointkey

// What a gateway of the site needs that carries calls in place of the portal's own: it asks about the key of each call,
// and counts by its limits.

// AnswerPath is where it asks, with the key in Authorization and the query below; the answer is an Answer.
const AnswerPath = "/gateway/key"

// The query of AnswerPath.
const (
	QueryNamespace = "namespace"
	QueryEndpoint  = "endpoint" // its name
	QueryOutside   = "outside"  // "true": the call comes from outside the company network
	QueryPath      = "path"     // of the call; nothing follows from it
)

// Headers of the answer for a key that opens the endpoint, for gateways that read no bodies: what Answer has.
const (
	KeyHeader      = "x-gpu-portal-key"
	RequestsHeader = "x-gpu-portal-requests-per-minute"
	TokensHeader   = "x-gpu-portal-tokens-per-minute"
)

// Answer is what is told of a key that opens the endpoint. Any other answer has no id. A limit of 0 is none.
type Answer struct {
	ID                string `json:"id"` // without Prefix
	RequestsPerMinute int    `json:"requestsPerMinute"`
	TokensPerMinute   int    `json:"tokensPerMinute"`
}

// LimitValues are the limits of a minute of all keys that open an endpoint, each value once. It counts no calls under
// way at once.
type LimitValues struct {
	Requests []int `json:"requests,omitempty"`
	Tokens   []int `json:"tokens,omitempty"`
}
