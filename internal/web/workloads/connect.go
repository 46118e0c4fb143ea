package workloads

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// connectPath is the tab with the ways to a workload.
func connectPath(workload string) string { return workload + "/connect" }

// workloadConnect answers: how do I get to it.
func (w *Pages) workloadConnect(k page.Call) (page.View, error) {
	s, err := w.details(k)
	if err != nil {
		return page.View{}, err
	}
	m := workloadview.ConnectModel{Access: w.connectAccess(k, s), SSH: w.sshModel(k, s),
		Ports: w.portsModel(k, s), Shell: w.shellModel(k, s),
		REST: w.restCalls(k, s)}
	v := w.workloadView(k, s, workloadview.Connect, workloadview.PageModel{Connect: m})
	v.Parts = append(v.Parts,
		page.Part{ID: m.Access.ID, Draw: func(page.Words) templ.Component { return workloadview.ConnectAccess(m.Access) }},
		page.Part{ID: m.SSH.ID, Draw: func(page.Words) templ.Component { return workloadview.SSH(m.SSH) }},
		page.Part{ID: m.Ports.ID, Draw: func(page.Words) templ.Component { return workloadview.Ports(m.Ports) }},
		page.Part{ID: m.Shell.ID, Draw: func(page.Words) templ.Component { return workloadview.Shell(m.Shell) }})
	return v, nil
}

// connectAccess says of an endpoint what its address is, where programs call it, and where their keys are made.
func (w *Pages) connectAccess(k page.Call, s details) workloadview.ConnectAccessModel {
	m := workloadview.ConnectAccessModel{AccessModel: w.accessModel(k, s)}
	if m.Calls == nil {
		return m
	}
	m.Docs = path.Base(s.Image.OpenPath) == "docs"
	m.Base = callsAddress(s.Workload, w.AppURL(s.Name))
	if hasKeys(s) {
		m.Keys = keysPath(s.ID)
	}
	return m
}

// sshModel has lines while the workload runs, for who may have a tunnel to its SSH server.
func (w *Pages) sshModel(k page.Call, s details) workloadview.SSHModel {
	m := workloadview.SSHModel{ID: "workload-ssh"}
	if s.Image.SSH == nil && s.State == workload.Running && s.Kind == catalog.Notebook && s.mayChange {
		m.None, m.Images = true, w.sshImages(k, s)
		if w.Terminals.Rules().Permit(k.Actor, s.Workload, k.Words.Now) == nil {
			m.Terminal = terminalPath(s.ID)
		}
	}
	if s.Image.SSH == nil || s.State != workload.Running || w.Tunnels.Offers(k.Actor, s.Workload, k.Words.Now) != nil {
		return m
	}
	host := s.Name + ".gpu"
	m.User = s.Image.SSH.User
	m.Lines = []workloadview.CallModel{
		{What: workloadview.SSHShell, Text: "gpuctl ssh " + page.ShellQuote(s.Name)},
		{What: workloadview.SSHConfig, Text: "gpuctl ssh-config >> ~/.ssh/config"},
		{What: workloadview.SSHPlain, Text: "ssh " + page.ShellQuote(host)}}
	home := cmp.Or(s.Image.Home, "/")
	m.VSCode = (&url.URL{Scheme: "vscode", Host: "vscode-remote", Path: "/ssh-remote+" + host + home}).String()
	m.JetBrains = "jetbrains-gateway://connect#" + url.Values{"type": {"ssh"}, "deploy": {"false"}, "host": {host},
		"port": {"22"}, "user": {m.User}, "projectPath": {home}}.Encode()
	return m
}

// sshImages are images with an SSH server, each with the form for a notebook like this one.
func (w *Pages) sshImages(k page.Call, s details) (list []ui.StackModel) {
	for _, image := range w.Site().Catalog.Images {
		if image.SSH == nil || image.Kind != catalog.Notebook || image.Deprecated != nil ||
			!image.OfferedTo(s.Tenant) {
			continue
		}
		q := url.Values{"tenant": {s.Tenant}, "kind": {string(s.Kind)}, "size": {s.Size.Name}, "image": {image.Name}}
		list = append(list, ui.StackModel{Title: k.Words.ImageTitle(image), Href: "/start?" + q.Encode()})
	}
	return list
}

// portsModel has lines on the same terms.
func (w *Pages) portsModel(k page.Call, s details) workloadview.PortsModel {
	m := workloadview.PortsModel{ID: "workload-ports"}
	if s.State != workload.Running || w.Tunnels.Offers(k.Actor, s.Workload, k.Words.Now) != nil {
		return m
	}
	for _, name := range slices.Sorted(maps.Keys(s.Image.Ports)) {
		m.Lines = append(m.Lines, workloadview.PortModel{Name: name, Number: strconv.Itoa(int(s.Image.Ports[name])),
			Text: "gpuctl forward " + page.ShellQuote(s.Name) + " " + name})
	}
	return m
}

// shellModel has lines while there is a pod to reach.
func (w *Pages) shellModel(k page.Call, s details) workloadview.ShellModel {
	m := workloadview.ShellModel{ID: "workload-shell"}
	pod := s.Observed.Pod
	if pod == "" || s.Over() {
		return m
	}
	m.Namespace = s.Namespace
	if w.Terminals.Rules().Permit(k.Actor, s.Workload, k.Words.Now) == nil {
		m.Terminal = terminalPath(s.ID)
	}
	at := "kubectl --namespace " + page.ShellQuote(s.Namespace)
	m.Lines = []workloadview.CallModel{
		{What: workloadview.PodLogs, Text: at + " logs --follow " + page.ShellQuote(pod)},
		{What: workloadview.PodShell, Text: at + " exec --stdin --tty " + page.ShellQuote(pod) + " -- sh"}}
	if port := s.Image.Port; port > 0 && !s.IsJob() {
		m.Lines = append(m.Lines, workloadview.CallModel{What: workloadview.PodForward,
			Text: fmt.Sprintf("%s port-forward %s %d", at, page.ShellQuote("pod/"+pod), port)})
	}
	return m
}

// restCalls are calls of the REST API about this workload, with a token of the reader's own.
func (w *Pages) restCalls(k page.Call, s details) []workloadview.CallModel {
	api := strings.TrimRight(w.PortalURL, "/") + "/api/v1"
	curl := func(rest string) string { return "curl -H \"Authorization: Bearer $GPU_PORTAL_TOKEN\" " + rest }
	item := api + "/workloads/" + string(s.ID)
	calls := []workloadview.CallModel{{What: workloadview.ReadState, Text: curl(page.ShellQuote(item))}}
	if identity.Can(k.Actor, identity.ReadLogs, s.ResourceAt(k.Words.Now)) {
		calls = append(calls, workloadview.CallModel{What: workloadview.ReadLog,
			Text: curl(page.ShellQuote(item + "/logs"))})
	}
	if s.IsJob() && s.mayChange {
		calls = append(calls, workloadview.CallModel{What: workloadview.RunAgain,
			Text: curl("--json " + page.ShellQuote(sameJob(s)) + " \\\n  " + page.ShellQuote(api+"/requests"))})
	}
	return calls
}

// sameJob is the body of a request for a job like this one, with the names of the API.
func sameJob(s details) string {
	body := struct {
		Kind      catalog.WorkloadKind `json:"kind"`
		Tenant    string               `json:"tenant"`
		Size      string               `json:"size"`
		Image     string               `json:"image,omitempty"`
		Custom    *request.CustomImage `json:"customImage,omitempty"`
		Command   []string             `json:"command,omitempty"`
		Args      []string             `json:"args,omitempty"`
		Env       map[string]string    `json:"env,omitempty"`
		Retries   int                  `json:"retries,omitempty"`
		Nodes     int                  `json:"nodes,omitempty"`
		TimeLimit string               `json:"timeLimit,omitempty"`
		Mounts    []string             `json:"mounts,omitempty"`
		Volumes   []request.VolumeUse  `json:"volumes,omitempty"`
		Datasets  []string             `json:"datasets,omitempty"`
		Secrets   []string             `json:"secrets,omitempty"`
		Reason    string               `json:"reason"`
	}{Kind: s.Kind, Tenant: s.Tenant, Size: s.Size.Name, Reason: "once more: " + s.Name}
	body.Image, body.Custom = request.CustomOf(s.Image)
	if j := s.Job; j != nil {
		body.Command, body.Args, body.Env, body.Retries = j.Command, j.Args, j.Env, j.Retries
		if n := s.Replicas.Most(); n > 1 {
			body.Nodes = n
		}
		if j.TimeLimit > 0 {
			body.TimeLimit = j.TimeLimit.String()
		}
	}
	for _, m := range s.Mounts {
		if m.Personal {
			body.Volumes = append(body.Volumes, request.VolumeUse{Name: m.Claim, ReadOnly: m.ReadOnly})
		}
	}
	body.Mounts, body.Datasets = blocks.MountNames(s.Mounts), blocks.DatasetNames(s.Mounts)
	body.Secrets = blocks.SecretNames(s.reader.Person.ID, s.Owner, s.Secrets)
	text, err := json.MarshalIndent(body, "", "  ")
	if err != nil { // strings and numbers
		return "{}"
	}
	return string(text)
}
