package doctor

import (
	"time"
)

// Facts is what one process found.
type Facts struct {
	At         time.Time     `json:"at"`
	Took       time.Duration `json:"took"`
	Process    Process       `json:"process"`
	Settings   Settings      `json:"settings"`
	Database   Database      `json:"database"`
	Provider   Provider      `json:"provider"`
	Portal     Host          `json:"portal"`
	Apps       Host          `json:"apps"`
	Clusters   []Cluster     `json:"clusters,omitempty"`
	Licenses   []License     `json:"licenses,omitempty"`
	Registries []Registry    `json:"registries,omitempty"`
}

// Process is who asked.
type Process struct {
	Name    string    `json:"name"` // of the pod or machine
	Version string    `json:"version"`
	Roles   []string  `json:"roles"`
	Started time.Time `json:"started"`
}

// Settings are those of the process.
type Settings struct {
	Problems []string `json:"problems,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Database is the portal's own.
type Database struct {
	Err    string `json:"err,omitempty"`
	InUse  bool   `json:"inUse,omitempty"`  // a SQLite file that a running portal holds
	Absent bool   `json:"absent,omitempty"` // a SQLite file that the first start makes
	Engine string `json:"engine,omitempty"` // SQLite or PostgreSQL
	// Version is the engine's; Have is the schema's version, Want the last that this program knows.
	Version    string `json:"version,omitempty"`
	Have, Want int64
	ReadOnly   bool          `json:"readOnly,omitempty"`
	Unsafe     []string      `json:"unsafe,omitempty"` // settings with which a crash loses what was acknowledged
	Encoding   string        `json:"encoding,omitempty"`
	Most       int           `json:"mostConnections,omitempty"`
	Skew       time.Duration `json:"skew,omitempty"` // by how much its clock is ahead of ours
}

// Provider is the sign-in provider.
type Provider struct {
	Issuer   string   `json:"issuer,omitempty"` // "" where this process signs nobody in
	Err      string   `json:"err,omitempty"`
	Says     string   `json:"says,omitempty"`    // issuer in its document
	Methods  []string `json:"methods,omitempty"` // of PKCE
	Scopes   []string `json:"scopes,omitempty"`
	Claims   []string `json:"claims,omitempty"`
	Asked    []string `json:"asked,omitempty"` // scopes of the settings; none: the usual ones
	Group    string   `json:"groupsClaim,omitempty"`
	NoAdmins bool     `json:"noAdmins,omitempty"` // no group is an administrator's
}

// Host is a name that browsers use.
type Host struct {
	Name      string    `json:"name,omitempty"`
	Local     bool      `json:"local,omitempty"` // only browsers of this machine
	Addresses []string  `json:"addresses,omitempty"`
	DNSErr    string    `json:"dnsErr,omitempty"`
	Plain     bool      `json:"plain,omitempty"`   // http
	TLSErr    string    `json:"tlsErr,omitempty"`  // no certificate could be read
	Names     []string  `json:"names,omitempty"`   // of the certificate
	Fits      bool      `json:"fits,omitempty"`    // it is for the name
	Trusted   bool      `json:"trusted,omitempty"` // by this machine
	Until     time.Time `json:"until,omitzero"`
}

// Cluster is one Kubernetes cluster.
type Cluster struct {
	Name    string            `json:"name"`
	Err     string            `json:"err,omitempty"`
	Version string            `json:"version,omitempty"`
	Skew    time.Duration     `json:"skew,omitempty"`
	Rights  []RightsOf        `json:"rights,omitempty"`
	APIsErr string            `json:"apisErr,omitempty"`
	APIs    map[string]string `json:"apis,omitempty"`   // preferred version by group
	JobSet  bool              `json:"jobset,omitempty"` // the settings let jobs run on it
	KServe  bool              `json:"kserve,omitempty"` // the settings let endpoints run on it
	// the settings let endpoints run on it
	LeaderWorkerSet bool `json:"leaderworkerset,omitempty"`
	KEDA            bool `json:"keda,omitempty"` // the settings let KEDA scale endpoints on it
	// the settings let snapshots of volumes be taken on it
	Snapshots bool `json:"snapshots,omitempty"`
	// the settings publish endpoints to a gateway of the site that takes InferencePools
	ModelGateway   bool     `json:"modelGateway,omitempty"`
	Kuadrant       bool     `json:"kuadrant,omitempty"`       // to one that Kuadrant guards
	EnvoyAIGateway bool     `json:"envoyAIGateway,omitempty"` // to Envoy AI Gateway
	Nodes          Nodes    `json:"nodes"`
	Storage        Storage  `json:"storage"`
	Metrics        Metrics  `json:"metrics"`
	LogStore       LogStore `json:"logStore,omitzero"`
}

// RightsOf is one role and what is missing of it.
type RightsOf struct {
	Role      string   `json:"role"` // one of those of Rights
	Namespace string   `json:"namespace,omitempty"`
	Optional  bool     `json:"optional,omitempty"`
	Err       string   `json:"err,omitempty"`
	Absent    bool     `json:"absent,omitempty"` // the namespace is not there yet
	Asked     int      `json:"asked"`
	Missing   []string `json:"missing,omitempty"` // "list nodes"
}

// Nodes are what the device plugins and drivers offer.
type Nodes struct {
	Asked     bool             `json:"asked,omitempty"`
	Err       string           `json:"err,omitempty"`
	All       int              `json:"all,omitempty"`
	WithGPU   int              `json:"withGPU,omitempty"`
	Resources map[string]int64 `json:"resources,omitempty"`
	Slices    int              `json:"slices,omitempty"`    // ResourceSlices of DRA drivers
	Unplugged []string         `json:"unplugged,omitempty"` // have a card, and nothing offers it
}

// Storage is where workloads' volumes come from.
type Storage struct {
	Asked   bool     `json:"asked,omitempty"`
	Err     string   `json:"err,omitempty"`
	Denied  bool     `json:"denied,omitempty"` // this account may not look
	Wanted  []string `json:"wanted,omitempty"` // of the settings
	Missing []string `json:"missing,omitempty"`
	Default string   `json:"default,omitempty"`
}

// Metrics is Prometheus.
type Metrics struct {
	Set   bool          `json:"set,omitempty"`
	Err   string        `json:"err,omitempty"`
	Skew  time.Duration `json:"skew,omitempty"`
	Cards int           `json:"cards,omitempty"`
	Views []View        `json:"views,omitempty"`
}

// LogStore is what keeps logs of pods that are gone.
type LogStore struct {
	Name string `json:"name,omitempty"` // "": none, or another process asks it
	Err  string `json:"err,omitempty"`
}

// View is a place in the portal that shows readings, as in gpumetrics.ViewReport.
type View struct {
	Name    string   `json:"name"`
	State   string   `json:"state"`
	Missing []string `json:"missing,omitempty"`
}

// License is one license server.
type License struct {
	Name     string `json:"name"`
	Err      string `json:"err,omitempty"`
	Features int    `json:"features"`
}

// Registry is one that images of the catalog come from.
type Registry struct {
	Name string `json:"name"`
	Err  string `json:"err,omitempty"`
}
