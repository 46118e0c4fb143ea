package blocks

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Values is the form as an address keeps it. The length of time is asked anew, and the key belongs to one page.
func (f StartForm) Values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"tenant": f.Tenant, "kind": f.Kind, "size": f.Size, "image": f.Image,
		"storage": f.Storage, "volume": f.Volume, "reason": f.Reason, "name": f.Name} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if len(f.Mounts) > 0 {
		v["mounts"] = f.Mounts
	}
	return v
}

// StartForm is what was typed on the start page, as it was typed.
type StartForm struct {
	Tenant  string
	Kind    string
	Size    string
	Image   string
	Lease   string
	Storage string
	Volume  string
	Mounts  []string
	Cluster string // "" leaves it to the portal
	Reason  string
	Name    string
	// Replaces is the workload in whose place this one is wanted.
	Replaces string
	// of a job alone
	Command   string // one line as a shell reads it
	Env       string // NAME=value, one on each line
	Retries   string
	TimeLimit string
	// Like is the workload after whose pattern a job is asked for; the fields are filled from it.
	Like string
	Key  string // made with the page: a double click sends the same one twice and gets one request

	// What the page shows; it is no part of the spec.
	Last string // the size used last, which stands for its class
	All  bool   // the table of all sizes is open
}

// ReadStartForm takes the form as posted. A preset or an "instead" button speaks louder than the field it fills.
func ReadStartForm(v url.Values) StartForm {
	f := StartForm{
		Tenant: v.Get("tenant"), Kind: v.Get("kind"), Size: v.Get("size"), Image: v.Get("image"), Lease: v.Get("lease"),
		Storage: v.Get("storage"),
		Volume:  v.Get("volume"), Mounts: v["mounts"], Reason: v.Get("reason"), Name: v.Get("name"), Key: v.Get("key"),
		Replaces: v.Get("replaces"),
		Command:  v.Get("command"), Env: v.Get("env"), Retries: v.Get("retries"), TimeLimit: v.Get("timeLimit"),
		Like:    v.Get("like"),
		Cluster: v.Get("cluster"), Last: v.Get("last"), All: v.Get("all") != "",
	}
	if preset := v.Get("preset"); preset != "" {
		f.Lease = preset
	}
	if instead := v.Get("instead"); instead != "" {
		f.Size = instead
	}
	if instead := v.Get("instead_image"); instead != "" {
		f.Image = instead
	}
	return f
}

// Draft is the same spec as the API's body gives.
func (f StartForm) Draft() request.Draft {
	return request.Draft{Kind: catalog.WorkloadKind(f.Kind), Tenant: f.Tenant, Name: f.Name, Size: f.Size, Image: f.Image,
		Lease:   f.Lease,
		Storage: f.Storage, Volume: f.Volume, Mounts: f.Mounts, Reason: f.Reason, Key: f.Key,
		Cluster:  f.Cluster,
		Replaces: workload.ID(f.Replaces), JobDraft: f.job()}
}

// job is what the form says of a job; nothing for other kinds, whose fields may still hold what was typed before.
func (f StartForm) job() request.JobDraft {
	if f.Kind != string(catalog.Job) {
		return request.JobDraft{}
	}
	retries, err := strconv.Atoi(strings.TrimSpace(f.Retries))
	if err != nil && strings.TrimSpace(f.Retries) != "" {
		retries = -1 // which no job may have
	}
	return request.JobDraft{CommandLine: f.Command, EnvLines: f.Env, Retries: retries, TimeLimit: f.TimeLimit}
}

// LikeJob fills the form of a job after the pattern of another workload. Its name is made up anew.
func (f StartForm) LikeJob(w workload.Workload) StartForm {
	f.Tenant, f.Kind, f.Size, f.Image, f.Cluster = w.Tenant, string(catalog.Job), w.Size.Name, w.Image.Name, w.Cluster
	f.Mounts, f.Storage = MountNames(w.Mounts), "0"
	if w.Job == nil {
		return f
	}
	f.Command, f.Env, f.Retries = request.CommandLine(*w.Job), request.EnvLines(*w.Job), strconv.Itoa(w.Job.Retries)
	if w.Job.TimeLimit > 0 {
		f.TimeLimit = w.Job.TimeLimit.String()
	}
	if lease := catalog.Duration(w.Lease.Until.Sub(w.Lease.From).Round(time.Minute)); lease > 0 {
		f.Lease = lease.String()
	}
	return f
}
