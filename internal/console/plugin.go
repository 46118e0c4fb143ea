package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/static"
)

// plugin are the files that the console loads.
type plugin struct {
	files map[string]file
}

type file struct {
	kind    string
	content []byte
}

// consoleLanguages are those that the console has and those of the portal: the console asks for the browser's first.
// Where the portal has no words, it gets English ones.
var consoleLanguages = []string{"de", "en", "es", "fr", "ja", "ko", "zh"}

// texts of the extensions, by the key that %plugin__NAME~KEY% names.
var texts = []string{"gpus", "mine", "start", "approvals", "fleet", "licenses", "utilization"}

// extension is an entry of the manifest; see the console's documentation of extension types.
type extension struct {
	Type       string              `json:"type"`
	Properties map[string]any      `json:"properties"`
	Flags      map[string][]string `json:"flags,omitempty"`
}

type manifest struct {
	Name               string            `json:"name"`
	Version            string            `json:"version"`
	Dependencies       map[string]string `json:"dependencies"`
	CustomProperties   map[string]any    `json:"customProperties"`
	BaseURL            string            `json:"baseURL"`
	LoadScripts        []string          `json:"loadScripts"`
	RegistrationMethod string            `json:"registrationMethod"`
	Extensions         []extension       `json:"extensions"`
}

// semver is what the console takes for a version.
var semver = regexp.MustCompile(`^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$`)

// entryFile is the script that registers the plugin.
const entryFile = "plugin-entry.js"

func newPlugin(o Options) (*plugin, error) {
	p := &plugin{files: map[string]file{
		"plugin.css": {"text/css; charset=utf-8", slices.Concat(static.Bytes("css/app.css"),
			static.Bytes("console/plugin.css"))},
		"htmx.min.js": {"text/javascript; charset=utf-8", static.Bytes("vendor/htmx-4.0.1/htmx.min.js")},
		"summary.js":  {"text/javascript; charset=utf-8", static.Bytes("js/summary.js")},
		"dialog.js":   {"text/javascript; charset=utf-8", static.Bytes("js/dialog.js")},
	}}
	for _, language := range consoleLanguages {
		l, words := o.Bundle.For(language), map[string]string{}
		for _, key := range texts {
			words[key] = l.S("console.text." + key)
		}
		body, err := json.Marshal(words)
		if err != nil {
			return nil, err
		}
		p.files["locales/"+language+"/plugin__"+o.Plugin+".json"] = file{"application/json", body}
	}
	settings, err := json.Marshal(map[string]string{"plugin": o.Plugin, "portal": strings.TrimSuffix(o.URL, "/")})
	if err != nil {
		return nil, err
	}
	script := fmt.Appendf(nil, "(() => { const settings = %s;\n%s\n})();\n", settings,
		static.Bytes("console/plugin-entry.js"))
	p.files[entryFile] = file{"text/javascript; charset=utf-8", script}
	body, err := json.MarshalIndent(manifestOf(o), "", "  ")
	p.files["plugin-manifest.json"] = file{"application/json", body}
	return p, err
}

// manifestOf names what the plugin adds to the console.
func manifestOf(o Options) manifest {
	version := strings.TrimPrefix(o.Version, "v")
	if !semver.MatchString(version) {
		version = "0.0.0-" + cleanVersion(version)
	}
	text := func(key string) string { return "%plugin__" + o.Plugin + "~" + key + "%" }
	const section = "gpu-portal"
	link := func(key, path string) extension {
		return extension{"console.navigation/href", map[string]any{"id": "gpu-portal-" + key, "perspective": "admin",
			"section": section, "name": text(key), "href": path}, nil}
	}
	// The console marks an entry whose path the reader's begins with, so the first page has a path of its own: /gpus would
	// be marked on every page (navItemHrefIsActive of openshift/console).
	mine := link("mine", "/gpus/mine")
	mine.Properties["startsWith"] = []string{"gpus/workloads", "gpus/requests", "gpus/storage"}
	approvals := link("approvals", "/gpus/approvals")
	approvals.Flags = map[string][]string{"required": {"GPU_PORTAL_APPROVER"}}
	code := func(name string) map[string]string { return map[string]string{"$codeRef": name} }
	return manifest{Name: o.Plugin, Version: version, Dependencies: map[string]string{"@console/pluginAPI": ">=4.22.0-0"},
		CustomProperties: map[string]any{"console": map[string]string{"displayName": "GPU Portal",
			"description": o.Bundle.For("en").S("console.text.description")}},
		BaseURL: "/api/plugins/" + o.Plugin + "/", LoadScripts: []string{entryFile}, RegistrationMethod: "callback",
		Extensions: []extension{
			{"console.navigation/section", map[string]any{"id": section, "perspective": "admin", "name": text("gpus"),
				"insertAfter": "workloads"}, nil},
			mine, link("start", "/gpus/start"), approvals,
			link("fleet", "/gpus/fleet"), link("licenses", "/gpus/licenses"),
			{"console.page/route", map[string]any{"exact": false, "path": "/gpus", "component": code("Page")}, nil},
			{"console.flag", map[string]any{"handler": code("approver")}, nil},
			{"console.project-overview/inventory-item", map[string]any{"component": code("ProjectWorkloads")}, nil},
			{"console.project-overview/utilization-item", map[string]any{"title": text("utilization"),
				"getUtilizationQuery": code("projectUtilization"), "humanize": code("percent")}, nil},
		}}
}

// cleanVersion makes a build's name a pre-release of semantic versioning.
func cleanVersion(version string) string {
	cleaned := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' {
			return r
		}
		return '-'
	}, version)
	return "build-" + cleaned
}

func (p *plugin) serveFile(w http.ResponseWriter, r *http.Request, name string) {
	f, ok := p.files[name]
	switch {
	case !ok:
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "read only", http.StatusMethodNotAllowed)
	default:
		w.Header().Set("Content-Type", f.kind)
		_, _ = w.Write(f.content) // the reader has gone
	}
}
