package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/gpu-portal/gpu-portal/internal/advice"
	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/cluster"
	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/forecast"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/holders"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/limit"
	"github.com/gpu-portal/gpu-portal/internal/logging"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/podlogs"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/tunnel"
	"github.com/gpu-portal/gpu-portal/internal/untrusted"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Metrics gives the readings of a pod, and how it has used its GPUs; see internal/gpumetrics.
type Metrics interface {
	Live(cluster, namespace, pod string) gpumetrics.Live
	holders.Metrics
}

// Jobs reads the last run of each of the leader's jobs.
type Jobs interface {
	JobRuns(ctx context.Context) ([]jobs.Run, error)
}

// Events reads the audit record, newest first.
type Events interface {
	Events(ctx context.Context, f audit.Filter) ([]audit.Event, string, error)
}

// Deps holds the dependencies and settings of the API.
type Deps struct {
	Requests    *request.Service
	Approvals   *request.Approvals
	Offers      *request.Offers
	Quotas      *request.Quotas
	Seats       *request.SeatQueue
	Comparisons *request.Comparisons
	Keys        *endpointkey.Service
	Traffic     *traffic.Service
	Site        func() request.Site
	Snapshots   request.Snapshots
	Workloads   *workload.Service
	Logs        *podlogs.Service
	Tunnels     *tunnel.Service
	Usage       *usage.Service
	Prices      *usage.Prices
	Budgets     *budget.Service
	Catalog     *offer.Service
	Forecasts   *forecast.Service // nil: nothing is estimated
	Licenses    *license.Service
	Rules       *policy.Service
	Tenants     *tenant.Service
	Delegations *delegation.Service
	Notify      *notify.Service
	Accounts    *accounts.Service
	Embeds      *embed.Service
	Secrets     *secret.Service
	Clusters    *cluster.Service
	Metrics     Metrics
	Reports     func(cluster string) (gpumetrics.Report, bool) // nil: no cluster has metrics
	Advice      *advice.Service
	Idle        *idle.Service
	Quarantine  *health.Service
	Drift       *drift.Service
	Events      Events
	Jobs        Jobs
	Levels      *logging.Levels
	Doctor      *doctor.Service
	AppURL      func(workload string) string // where a workload is opened
	// ExternalURL is where programs outside the company network call an endpoint, "" where none can; nil like that.
	ExternalURL func(workload string) string
	PortalURL   string // scheme and host, for addresses that people send each other
	Now         func() time.Time
	Version     string
	Logger      *slog.Logger   // nil: nothing is logged
	Limits      *limit.Limiter // nil: nothing is limited
}

// API is the surface: an http.Handler for everything below /api/v1.
type API struct {
	deps Deps
	mux  *http.ServeMux
	huma huma.API
	ops  []Operation
}

// Operation is one entry of the surface, for guards that walk it.
type Operation struct {
	ID     string
	Method string
	Path   string
	Action identity.Action
}

// New builds the surface.
func New(d Deps) *API {
	installErrors()
	huma.ValidateStrictCasing = true // "Tenant" beside "tenant" would be a second answer to the same question
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	a := &API{deps: d, mux: http.NewServeMux()}
	config := huma.DefaultConfig("GPU Portal", d.Version)
	config.RejectUnknownQueryParameters = true
	config.Formats = maps.Clone(config.Formats)
	config.Formats["application/json"] = shallow(config.Formats["application/json"])
	config.Formats["json"] = config.Formats["application/json"]
	config.CreateHooks = nil // no $schema links in bodies: answers hold what is documented and nothing else
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "/api/v1/openapi", "", ""
	config.Info.Description = "Ask for GPU notebooks and inference endpoints, decide requests, and run what was " +
		"granted. " +
		"Sign in with `Authorization: Bearer gpup_…`; make a token under Account. Lists answer `{\"items\": […], \"next\": " +
		"\"…\"}`; send `next` back as `cursor`."
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	config.Security = []map[string][]string{{"token": {}}}
	a.huma = humago.New(a.mux, config)
	a.register()
	return a
}

// ServeHTTP answers a call; who calls is in its context.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := a.mux.Handler(r); pattern == "" {
		problem.Write(w, problem.Of(fault.New(fault.NotFound, i18n.T("problem.no_page")), i18n.From(r.Context()),
			problem.RequestID(r.Context())))
		return
	}
	a.mux.ServeHTTP(w, r)
}

// Operations lists the surface.
func (a *API) Operations() []Operation { return a.ops }

// Document is the OpenAPI document as JSON, one thing a line, so that a change of it can be read.
func (a *API) Document() ([]byte, error) {
	doc, err := a.huma.OpenAPI().MarshalJSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, doc, "", "  ")
	return b.Bytes(), err
}

// add registers one operation. The handler's faults become problems in the caller's language.
func add[I, O any](a *API, op huma.Operation, action identity.Action, handler func(context.Context, identity.Actor,
	*I) (*O, error)) {
	op.Errors = []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusUnprocessableEntity,
		http.StatusServiceUnavailable}
	op.Path = "/api/v1" + op.Path
	if op.DefaultStatus == 0 {
		op.DefaultStatus = http.StatusOK
	}
	if op.Method != http.MethodGet {
		op.Errors = append(op.Errors, http.StatusForbidden, http.StatusConflict)
	}
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = maxBody
	}
	op.Errors = append(op.Errors, http.StatusTooManyRequests)
	if op.Method != http.MethodGet {
		op.Errors = append(op.Errors, http.StatusRequestEntityTooLarge)
	}
	op.Responses = map[string]*huma.Response{}
	op.Metadata = map[string]any{schemasKey: a.huma.OpenAPI().Components.Schemas}
	op.Middlewares = append(op.Middlewares, a.known)
	class, bounded := classes[op.OperationID]
	a.ops = append(a.ops, Operation{ID: op.OperationID, Method: op.Method, Path: op.Path, Action: action})
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		actor := identity.ActorFrom(ctx)
		if bounded {
			if err := a.deps.Limits.Take(class, string(actor.Person.ID)); err != nil {
				return nil, a.fail(ctx, err)
			}
		}
		out, err := handler(ctx, actor, in)
		if err != nil {
			return nil, a.fail(ctx, err)
		}
		return out, nil
	})
	exampleProblems(op.Responses)
}

// classes are the operations whose work is more than that of an answer: each is bounded by person.
var classes = map[string]limit.Class{
	"preview-request": limit.Preview, "check-catalog": limit.Preview, "check-rules": limit.Preview,
	"check-quota": limit.Preview, "preview-idle-settings": limit.Preview, "propose-sizes": limit.Preview,
}

// known turns those away who are not signed in, before anything is said of their call.
func (a *API) known(ctx huma.Context, next func(huma.Context)) {
	if identity.ActorFrom(ctx.Context()).IsZero() {
		ctx.SetHeader("WWW-Authenticate", `Bearer realm="gpu-portal"`)
		_ = huma.WriteErr(a.huma, ctx, http.StatusUnauthorized, "", fault.New(fault.Unauthenticated,
			i18n.T("problem.sign_in_first")))
		return
	}
	next(ctx)
}

// shallow refuses JSON that nests deeper than any body of the document before it is read.
func shallow(f huma.Format) huma.Format {
	read := f.Unmarshal
	f.Unmarshal = func(data []byte, into any) error {
		if untrusted.TooDeep(data) {
			return errDeep
		}
		return read(data, into)
	}
	return f
}

var errDeep = errors.New("nested deeper than any body of the document")

// maxBody bounds a call; the largest honest one is some kilobytes.
const maxBody = 64 << 10

// fail turns a fault into the reply, and logs what is nobody's mistake but ours: the cause is nowhere else.
func (a *API) fail(ctx context.Context, err error) error {
	p := problemOf(ctx, err)
	if p.Status >= http.StatusInternalServerError {
		a.deps.Logger.ErrorContext(ctx, "failed", "error", err)
	}
	return p
}
