package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
)

// licensePatience is for what the portal looks at every few seconds, and Prometheus before it, on a busy machine.
const licensePatience = 6 * time.Minute

// again loads the page anew: strips are those of the moment at which it was asked for.
func (p *person) again() {
	_, err := p.page.Reload(playwright.PageReloadOptions{WaitUntil: playwright.WaitUntilStateDomcontentloaded})
	p.do(err)
}

// comes is for what a page shows only after such a look.
func (p *person) comes(selector, text string) {
	p.t.Helper()
	eventually(p.t, selector+" with "+text, licensePatience, func() bool {
		p.again()
		n, err := p.at(selector).Filter(playwright.LocatorFilterOptions{HasText: text}).Count()
		return err == nil && n > 0
	})
}

// goes waits until nothing of the kind is on the page.
func (p *person) goes(selector string) {
	p.t.Helper()
	eventually(p.t, "no "+selector, licensePatience, func() bool {
		p.again()
		n, err := p.at(selector).Count()
		return err == nil && n == 0
	})
}

// licenseSite is a portal of its own whose pool of workstations is on the devstack's license server, and a second node
// with vGPUs. The other specs see neither.
type licenseSite struct {
	org  atomic.Pointer[string] // in whose name the server is asked: the stub fails, expires and shrinks by it
	node string                 // the second node
}

func newLicenseSite(t *testing.T) *licenseSite {
	t.Helper()
	s := &licenseSite{node: "a40-vgpu-license-" + runID}
	s.asks("lic-small")
	target, err := url.Parse(world.LicenseServer)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.URL.Path = strings.ReplaceAll(r.Out.URL.Path, "/org/lic-devstack/", "/org/"+*s.org.Load()+"/")
		r.Out.URL.RawPath = ""
	}})
	t.Cleanup(server.Close)
	addTwin(t, "a40-vgpu-01", s.node, nil)
	own := ownPortal(t, "license", func(o *stack.PortalOptions) {
		o.Change = func(c map[string]any) {
			c["licensePools"] = []any{map[string]any{"name": "nvidia-vws", "title": "NVIDIA RTX vWS",
				"feature": "NVIDIA RTX Virtual Workstation", "server": "devstack"}}
			c["licenseServers"].([]any)[0].(map[string]any)["url"] = server.URL
			c["licensePollInterval"] = "3s"
		}
	})
	shared := portal
	portal = own
	t.Cleanup(func() { portal = shared })
	return s
}

func (s *licenseSite) asks(org string) { s.org.Store(&org) }

// nodeOf is where a workload's pod was put.
func nodeOf(t *testing.T, w map[string]any) string { return podOf(t, w).Spec.NodeName }

// TestLicenseCockpit is the day of an administrator of licenses: what is taken and what is left, with source and age;
// the last seat; a node that loses its license; a license server that fails. Nothing that runs is stopped by any of it.
func TestLicenseCockpit(t *testing.T) {
	s := newLicenseSite(t)
	pat := signIn(t, "pat", look{})
	pat.open("/licenses")
	pat.comes("[data-test=pool]", "2 of 2 available")
	pat.reads("[data-test=source]", "License server")
	pat.reads("[data-test=source]", " s") // how old the answer is
	pat.comes("[data-test=machines]", s.node)
	pat.comes("[data-test=machines]", "licensed")

	first := as(t, "dana").running("vgpu-12q", map[string]any{"name": "drawing"})
	pat.comes("[data-test=pool]", "1 of 2 available")
	pat.reads("[data-test=pool]", "1 in use")
	pat.reads("[data-test=pool]", "1 available")
	pat.accessible()
	pat.shot("licenses")

	lost := nodeOf(t, first)
	control(t, http.MethodPost, "/nodes/"+lost+"/unlicense")
	t.Cleanup(func() { control(t, http.MethodPost, "/nodes/"+lost+"/license") })
	pat.comes("[data-test=strip-license]", lost)
	pat.comes("[data-test=machines]", "unlicensed")
	dana := signIn(t, "dana", look{})
	dana.open("/")
	dana.comes("[data-test=strip-license]", "drawing")
	dana.accessible()
	second := as(t, "dana").running("vgpu-12q", map[string]any{"name": "elsewhere"})
	if got := nodeOf(t, second); got == lost {
		t.Errorf("want the next start to go to the other node than %s, which lacks its license", lost)
	}
	if w := as(t, "dana").ok(http.StatusOK, http.MethodGet, "/workloads/"+str(first["id"]), nil); w["state"] != "running" {
		t.Errorf("want nothing to be stopped for a license, got %v", w["state"])
	}

	refused := as(t, "dana").call(http.MethodPost, "/requests", map[string]any{"kind": "notebook", "tenant": "vision",
		"size": "vgpu-12q", "image": "jupyterlab", "lease": "8h",
		"storage": "10Gi", "reason": "one too many", "name": "third"})
	if refused.Status < 400 || !strings.Contains(string(refused.Raw), "All 2 license seats of NVIDIA RTX vWS are in use") {
		t.Errorf("want the start beyond the last seat to be refused with its reason, got %d %s", refused.Status, refused.Raw)
	}
	pat.comes("[data-test=pool]", "0 of 2 available")

	told := func(who string) bool {
		events, _ := as(t, who).ok(http.StatusOK, http.MethodGet, "/audit?kind=license.lost", nil)["items"].([]any)
		node, owner := 0, 0
		for _, e := range events {
			about, _ := e.(map[string]any)["workload"].(string)
			switch about {
			case "":
				node++
			case str(first["id"]):
				owner++
			}
		}
		if node > 1 || owner > 1 {
			t.Fatalf("want each loss to be told once, got %v", events)
		}
		return node == 1 && owner == 1
	}
	eventually(t, "node and owner are told", licensePatience, func() bool { return told("audrey") })

	control(t, http.MethodPost, "/nodes/"+lost+"/license")
	s.asks("lic-broken")
	pat.goes("[data-test=strip-license]")
	pat.comes("[data-test=server-away]", "No response since")
	pat.reads("[data-test=server-away]", "error 503")
	pat.reads("[data-test=pool]", "0 of 2 available") // the last known numbers, with their age
	pat.accessible()
	for _, w := range []map[string]any{first, second} {
		if now := as(t, "dana").ok(http.StatusOK, http.MethodGet, "/workloads/"+str(w["id"]),
			nil); now["state"] != "running" {
			t.Errorf("want nothing to be stopped while the license server is away, got %v", now["state"])
		}
	}
}

// TestTheLicenseLine: a pool that lets starts wait. Approvers find who waits and may still say no; a file of licenses
// is looked at before it is kept, and who waits for its seats goes on.
func TestTheLicenseLine(t *testing.T) {
	own := ownPortal(t, "licenseline", func(o *stack.PortalOptions) {
		o.Change = func(c map[string]any) {
			c["licensePools"] = []any{map[string]any{"name": "nvidia-vws", "title": "NVIDIA RTX vWS",
				"feature": "NVIDIA RTX Virtual Workstation", "seats": 1, "onExhaustion": "queue"}}
			delete(c, "licenseServers")
		}
	})
	shared := portal
	portal = own
	t.Cleanup(func() { portal = shared })
	dana := as(t, "dana")
	dana.running("vgpu-12q", map[string]any{"name": "drawing"})
	unwanted := dana.start("vgpu-12q", map[string]any{"name": "unwanted"})
	wanted := dana.start("vgpu-12q", map[string]any{"name": "wanted"})
	for _, r := range []map[string]any{unwanted, wanted} {
		if r["state"] != "pending" {
			t.Fatalf("want %v to wait for a seat, got %v", r["name"], r["state"])
		}
	}

	ada := signIn(t, "ada", look{})
	ada.open("/approvals")
	ada.reads("[data-test=seat-line]", "NVIDIA RTX vWS")
	ada.accessible()
	ada.shot("seat-line")
	ada.click("[data-test=seat-row] a[href='/approvals/" + str(unwanted["id"]) + "']")
	ada.sees("[data-test=reject]")
	ada.fill("[data-test=note]", "Not this week.")
	ada.accessible()
	ada.shot("seat-reject")
	ada.click("[data-test=reject]")
	ada.sees("[data-test=undo-notice]")
	becomes(t, str(unwanted["id"]), "rejected")

	const head = "feature,quantity,from,until,reference\n"
	bad := head + "nvidia-vws,3,,2099-12-31,PO-2026-0117\nNVIDIA RTX Virtual Workstation,-4,,,PO-2026-0118\nunknown " +
		"product,2,,,PO-2026-0119\n"
	for name, l := range map[string]look{"light": {}, "dark": {Dark: true},
		"narrow-german": {Width: 360, Language: "de-DE"}} {
		pat := signIn(t, "pat", l)
		pat.looksAt(bad)
		if n, err := pat.at("[data-test=import-line]").Count(); err != nil || n != 3 {
			t.Fatalf("want every line of the file, got %d, %v", n, err)
		}
		pat.reads("[data-test=import-lines]", "PO-2026-0118")
		if n, _ := pat.at("[data-test=import-confirm]").Count(); n != 0 {
			t.Error("a file with a refused line could be kept")
		}
		if l.Dark {
			pat.contrasts()
		} else {
			pat.accessible()
		}
		pat.fitsTheWindow()
		pat.shot("import-refused-" + name)
	}
	pat := signIn(t, "pat", look{})
	pat.looksAt(head + "nvidia-vws,2,,2099-12-31,PO-2026-0117\n")
	pat.reads("[data-test=import-verdict]", "1 to add")
	pat.accessible()
	pat.shot("import-good")
	pat.click("[data-test=import-confirm]")
	pat.reads("[data-test=source]", "file")
	pat.reads("[data-test=valid-until]", "31 Dec 2099")
	pat.shot("imported")
	r := dana.until("/requests/"+str(wanted["id"]), "it has its seat", licensePatience,
		func(r map[string]any) bool { return r["state"] == "approved" })
	w := dana.reaches(str(r["workload"]), "running")
	dana.remove(str(w["id"]))
}

// looksAt uploads a file of licenses and waits for what it would lead to.
func (p *person) looksAt(csv string) {
	p.t.Helper()
	p.expecting("422") // a file that is refused
	p.open("/licenses")
	p.do(p.at("input[type=file]").SetInputFiles(playwright.InputFile{Name: "licenses.csv", MimeType: "text/csv",
		Buffer: []byte(csv)}))
	p.click("[data-test=import] > summary")
	p.click("[data-test=license-import]")
	p.sees("[data-test=import-verdict]")
}

// TestPhysicalLayout: where each slice sits on its card, and what still fits, as the node's agent tells.
func TestPhysicalLayout(t *testing.T) {
	p := signIn(t, "ada", look{})
	p.open("/fleet?q=h100-mig-01")
	p.comes("[data-test=layout]", "Physical layout of 8 cards")
	p.click("[data-test=layout] summary")
	p.reads("[data-test=layout]", "3g.40gb at ")
	p.accessible()
	p.shot("fleet-layout")
}
