package charts_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/charts"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// consoleAPI is the group and version by which the chart knows OpenShift's console.
const consoleAPI = "console.openshift.io/v1"

// consoleObjects are what a release adds to the console of a cluster that serves some APIs.
func consoleObjects(t *testing.T, values string, apis ...string) []*unstructured.Unstructured {
	t.Helper()
	served := charts.Capabilities("1.33")
	served.APIVersions = append(slices.Clone(served.APIVersions), apis...)
	objects, err := charts.Render(charts.Release, namespace, values, served)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetAPIVersion() != consoleAPI && o.GetNamespace() != "openshift-config-managed"
	})
}

const (
	consoleLink      = "ConsoleLink gpu-gpu-portal"
	projectLink      = "ConsoleLink gpu-gpu-portal-project"
	clusterDashboard = "ConfigMap gpu-gpu-portal-cluster"
	projectDashboard = "ConfigMap gpu-gpu-portal-project"
	consolePlugin    = "ConsolePlugin gpu-gpu-portal"
	quickStart       = "ConsoleQuickStart gpu-gpu-portal-notebook-"
)

// TestConsoleOnlyWhereItIs: nothing without the API; with it, one object for each switch. Links lead to https only.
func TestConsoleOnlyWhereItIs(t *testing.T) {
	all := []string{clusterDashboard, projectDashboard, consoleLink, projectLink, consolePlugin, quickStart + "en",
		quickStart + "ko", quickStart + "zh"}
	without := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(n string) bool { return slices.Contains(names, n) })
	}
	for name, c := range map[string]struct {
		values string
		apis   []string
		want   []string
	}{
		"Kubernetes": {values: needed},
		"another of its groups": {values: needed, apis: []string{"route.openshift.io/v1",
			"console.openshift.io/v1alpha1"}},
		"OpenShift": {values: needed, apis: []string{consoleAPI}, want: all},
		"no menu": {needed + "console: {applicationMenu: {enabled: false}}", []string{consoleAPI},
			without(consoleLink)},
		"no link on projects": {needed + "console: {projectLink: {enabled: false}}", []string{consoleAPI},
			without(projectLink)},
		"no cluster dashboard": {needed + "console: {clusterDashboard: {enabled: false}}", []string{consoleAPI},
			without(clusterDashboard)},
		"no project dashboard": {needed + "console: {projectDashboard: {enabled: false}}", []string{consoleAPI},
			without(projectDashboard)},
		"no plugin": {needed + "console: {plugin: {enabled: false}}", []string{consoleAPI},
			without(consolePlugin)},
		"no quick start": {needed + "console: {quickStart: {enabled: false}}", []string{consoleAPI},
			without(quickStart+"en", quickStart+"ko", quickStart+"zh")},
		"http": {strings.Replace(needed, "https://gpu", "http://gpu", 1), []string{consoleAPI},
			[]string{clusterDashboard, projectDashboard}},
	} {
		if diff := cmp.Diff(c.want, names(consoleObjects(t, c.values, c.apis...))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// TestConsoleLinksLeadToThePortal, from the menu and from the projects of this portal's teams and no others.
func TestConsoleLinksLeadToThePortal(t *testing.T) {
	const values = needed + "  instance: blue\nconsole: {name: GPUs for all, applicationMenu: {section: AI}}\n"
	objects := consoleObjects(t, values, consoleAPI)
	type link struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Href, Location, Text string
			ApplicationMenu      struct{ Section, ImageURL string }
			NamespaceDashboard   struct{ NamespaceSelector metav1.LabelSelector }
		}
	}
	menu := the[link](t, objects, "ConsoleLink", "gpu-gpu-portal").Spec
	if menu.Href != "https://gpu.example.org" || menu.Location != "ApplicationMenu" || menu.Text != "GPUs for all" ||
		menu.ApplicationMenu.Section != "AI" {
		t.Errorf("the menu: %+v", menu)
	}
	ours, err := os.ReadFile("../static/favicon.svg")
	if err != nil {
		t.Fatal(err)
	}
	want := "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(ours)
	if menu.ApplicationMenu.ImageURL != want {
		t.Error("the icon is not the portal's")
	}
	project := the[link](t, objects, "ConsoleLink", "gpu-gpu-portal-project").Spec
	if project.Href != menu.Href || project.Location != "NamespaceDashboard" || project.Text != menu.Text {
		t.Errorf("the project's link: %+v", project)
	}
	for instance, want := range map[string]bool{"blue": true, "green": false} {
		made, err := kube.TenantObjects(tenant.Tenant{Name: "vision"}, catalog.Catalog{}, kube.Site{Instance: instance})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range made {
			ns, is := o.(*corev1.Namespace)
			if is && matches(&project.NamespaceDashboard.NamespaceSelector, ns.Labels) != want {
				t.Errorf("a team's project of the portal %s: want the link %v, labels %v", instance, want, ns.Labels)
			}
		}
		if len(made) == 0 {
			t.Error("no namespace to look at")
		}
	}
}

// TestConsolePluginIsServed: what the console is told to call is a port of the web process, with the certificate that
// OpenShift makes for that Service, and only with the user's token.
func TestConsolePluginIsServed(t *testing.T) {
	served := charts.Capabilities("1.33")
	served.APIVersions = append(slices.Clone(served.APIVersions), consoleAPI)
	objects, err := charts.Render(charts.Release, namespace, needed, served)
	if err != nil {
		t.Fatal(err)
	}
	type endpoint struct {
		Type    string
		Service struct {
			Name, Namespace, BasePath string
			Port                      int32
		}
	}
	plugin := the[struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			DisplayName string
			I18n        struct{ LoadType string }
			Backend     endpoint
			Proxy       []struct {
				Alias, Authorization string
				Endpoint             endpoint
			}
		}
	}](t, objects, "ConsolePlugin", "gpu-gpu-portal").Spec
	if len(plugin.Proxy) != 1 || plugin.Proxy[0].Authorization != "UserToken" || plugin.Proxy[0].Alias != "portal" ||
		plugin.Backend.Service.BasePath != "/console-plugin/" {
		t.Fatalf("%+v", plugin)
	}
	service := the[corev1.Service](t, objects, "Service", plugin.Backend.Service.Name)
	secret := service.Annotations["service.beta.openshift.io/serving-cert-secret-name"]
	for _, e := range []endpoint{plugin.Backend, plugin.Proxy[0].Endpoint} {
		if e.Service.Name != service.Name || e.Service.Namespace != namespace ||
			e.Service.Port != service.Spec.Ports[0].Port {
			t.Errorf("the console calls %+v, and the service is %s %v", e, service.Name, service.Spec.Ports)
		}
	}
	for _, d := range deployments(t, objects) {
		pod := d.Spec.Template.Spec
		if !slices.ContainsFunc(pod.Containers[0].Ports, func(p corev1.ContainerPort) bool {
			return p.Name == service.Spec.Ports[0].TargetPort.StrVal && p.ContainerPort == 9443
		}) {
			t.Errorf("%s has no port %v", d.Name, service.Spec.Ports[0].TargetPort)
		}
		if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
			return v.Secret != nil && v.Secret.SecretName == secret
		}) {
			t.Errorf("%s does not mount %q", d.Name, secret)
		}
	}
	settings := the[corev1.ConfigMap](t, objects, "ConfigMap", "gpu-portal").Data["portal.yaml"]
	for _, want := range []string{"listen: :9443", "plugin: gpu-gpu-portal", "certFile: /etc/gpu-portal/console/tls.crt"} {
		if !strings.Contains(settings, want) {
			t.Errorf("the settings lack %q", want)
		}
	}
}

// board is what OpenShift's console reads of a dashboard; it drops everything else without a word.
type board struct {
	Title      string
	Tags       []string
	Rows       []boardRow
	Templating struct {
		List []struct {
			Name, Type, Query string
			IncludeAll        bool
		}
	}
}

type boardRow struct {
	Title     string
	ShowTitle bool
	Panels    []boardPanel
}

type boardPanel struct {
	ID       int
	Title    string
	Type     string
	Span     int
	Decimals int
	Postfix  string
	Stack    bool
	Legend   struct{ Show bool }
	Yaxes    []struct{ Format string }
	Styles   []struct {
		Alias, Pattern, Type, Unit string
		Decimals                   int
	}
	Targets []struct{ RefID, Expr, LegendFormat string }
}

// boards are the two dashboards by the last word of their object's name.
func boards(t *testing.T, values string) map[string]board {
	t.Helper()
	objects, all := consoleObjects(t, values, consoleAPI), map[string]board{}
	for _, name := range []string{"cluster", "project"} {
		m := the[corev1.ConfigMap](t, objects, "ConfigMap", "gpu-gpu-portal-"+name)
		if len(m.Data) != 1 || m.Labels["console.openshift.io/dashboard"] != "true" ||
			(m.Labels["console.openshift.io/odc-dashboard"] == "true") != (name == "project") {
			t.Errorf("%s: %d keys, labels %v", name, len(m.Data), m.Labels)
		}
		d := json.NewDecoder(strings.NewReader(slices.Collect(maps.Values(m.Data))[0]))
		d.DisallowUnknownFields()
		var b board
		if err := d.Decode(&b); err != nil {
			t.Fatalf("%s: the console does not use this: %v", name, err)
		}
		all[name] = b
	}
	return all
}

func (b board) panels() (list []boardPanel) {
	for _, r := range b.Rows {
		list = append(list, r.Panels...)
	}
	return list
}

// TestConsoleDrawsTheDashboards: panel types, units and fields that the console's old dashboards know.
func TestConsoleDrawsTheDashboards(t *testing.T) {
	drawn := map[string]bool{"graph": true, "singlestat": true, "table": true}
	units := []string{"percentunit", "bytes", "short"}
	for name, b := range boards(t, needed+"console: {name: GPUs of Berlin}\n") {
		if !strings.Contains(b.Title, "GPUs of Berlin") || len(b.panels()) < 6 {
			t.Errorf("%s: %q with %d panels", name, b.Title, len(b.panels()))
		}
		ids, titles := map[int]bool{}, map[string]bool{}
		for _, r := range b.Rows {
			if r.Title == "" || !r.ShowTitle || len(r.Panels) == 0 {
				t.Errorf("%s: row %q", name, r.Title)
			}
		}
		for _, p := range b.panels() {
			bad := func(what string, args ...any) {
				t.Helper()
				t.Errorf("%s: %q: "+what, append([]any{name, p.Title}, args...)...)
			}
			if p.ID == 0 || ids[p.ID] || p.Title == "" || titles[p.Title] || !drawn[p.Type] || p.Span < 3 || p.Span > 12 {
				bad("id %d, type %s, span %d", p.ID, p.Type, p.Span)
			}
			ids[p.ID], titles[p.Title] = true, true
			refs := map[string]bool{}
			for _, target := range p.Targets {
				if target.RefID == "" || refs[target.RefID] || target.Expr == "" {
					bad("target %q", target.RefID)
				}
				refs[target.RefID] = true
				if p.Type == "graph" && target.LegendFormat == "" {
					bad("a line without a name")
				}
				if (name == "project") != strings.Contains(target.Expr, "$namespace") {
					bad("asks beyond its project, or for one: %s", target.Expr)
				}
			}
			if len(refs) == 0 || p.Type == "singlestat" && len(refs) != 1 {
				bad("%d targets", len(refs))
			}
			if p.Type == "graph" && (len(p.Yaxes) != 1 || !slices.Contains(units, p.Yaxes[0].Format) || !p.Legend.Show) {
				bad("axes %v", p.Yaxes)
			}
			if (p.Type == "table") != (len(p.Styles) > 0) {
				bad("a table has columns and nothing else has")
			}
			for _, s := range p.Styles {
				ref, isValue := strings.CutPrefix(s.Pattern, "Value #")
				if s.Alias == "" || isValue && (!refs[ref] || s.Type != "number" || !slices.Contains(units, s.Unit)) ||
					!isValue && s.Type != "string" {
					bad("column %+v", s)
				}
				delete(refs, ref)
			}
			if p.Type == "table" && len(refs) > 0 {
				bad("values that no column shows: %v", refs)
			}
		}
	}
}

// TestDashboardsAskForWhatIsExported: the portal's metrics by their names. What is DCGM's and Kubernetes' is in the
// recorded series of TestDashboardsInPrometheus.
func TestDashboardsAskForWhatIsExported(t *testing.T) {
	known, found := exported(t), 0
	for name, b := range boards(t, needed) {
		for _, p := range b.panels() {
			for _, target := range p.Targets {
				for _, m := range metric.FindAllString(target.Expr, -1) {
					found++
					if !slices.Contains(known, m) && !slices.Contains(known, suffix.ReplaceAllString(m, "")) {
						t.Errorf("%s: %q: nobody exports %s", name, p.Title, m)
					}
				}
			}
		}
	}
	if found < 8 {
		t.Errorf("%d metrics of the portal are asked for", found)
	}
}

var bold = regexp.MustCompile(`\*\*([^*]+)\*\*`)

// TestQuickStartSaysWhatThePagesSay: words in bold are exact texts of pages in that language, but for the console's
// own. The console shows the one in its language, by two labels.
func TestQuickStartSaysWhatThePagesSay(t *testing.T) {
	objects := consoleObjects(t, needed+"console: {name: GPUs for all}\n", consoleAPI)
	for _, lang := range []string{"en", "ko", "zh"} {
		o := the[unstructured.Unstructured](t, objects, "ConsoleQuickStart", "gpu-gpu-portal-notebook-"+lang)
		if l := o.GetLabels(); l["console.openshift.io/lang"] != lang ||
			l["console.openshift.io/name"] != "gpu-gpu-portal-notebook" {
			t.Errorf("%s: labels %v", lang, l)
		}
		text, err := yaml.Marshal(o.Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"https://gpu.example.org", "GPUs for all"} {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s: no word of %s", lang, want)
			}
		}
		words := i18n.MustLoad().Exactly(lang)
		var pages []string
		for _, id := range []string{"home.title", "start.title", "start.kind", "kind.notebook", "start.lease",
			"start.send_start", "start.send_ask", "workload.open", "workload.extend", "workload.stop"} {
			pages = append(pages, words.S(id))
		}
		said := bold.FindAllSubmatch(text, -1)
		for _, w := range said {
			if word := string(w[1]); word != "Observe → Dashboards" && !slices.Contains(pages, word) {
				t.Errorf("%s: no page says %q", lang, word)
			}
		}
		if len(said) != len(pages)+1 {
			t.Errorf("%s: %d words of pages, want %d", lang, len(said), len(pages)+1)
		}
	}
}

// TestConsoleObjectsAreValid against the definitions of openshift/api, which are not part of this repository.
func TestConsoleObjectsAreValid(t *testing.T) {
	dir := os.Getenv("PORTAL_TEST_CRDS")
	if dir == "" {
		dir = "../../shared/crds"
	}
	schemas := map[string]*spec.Schema{}
	for kind, file := range map[string]string{"ConsoleLink": "consolelinks", "ConsoleQuickStart": "consolequickstarts",
		"ConsolePlugin": "consoleplugins"} {
		text, err := os.ReadFile(filepath.Join(dir, "console.openshift.io_"+file+".yaml"))
		if err != nil {
			t.Skipf("not run: no definitions of console.openshift.io in %s (PORTAL_TEST_CRDS)", dir)
		}
		var crd struct {
			Spec struct {
				Versions []struct {
					Name   string
					Schema struct{ OpenAPIV3Schema json.RawMessage }
				}
			}
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		for _, v := range crd.Spec.Versions {
			if v.Name == "v1" {
				schemas[kind] = &spec.Schema{}
				if err := json.Unmarshal(v.Schema.OpenAPIV3Schema, schemas[kind]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, o := range consoleObjects(t, everything, consoleAPI) {
		if o.GetAPIVersion() != consoleAPI {
			continue
		}
		schema := schemas[o.GetKind()]
		if schema == nil {
			t.Errorf("there is no %s", o.GetKind())
			continue
		}
		if err := validate.AgainstSchema(schema, o.Object, strfmt.Default); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
		fields := schema.Properties["spec"]
		for _, field := range unknownFields(&fields, o.Object["spec"], "spec") {
			t.Errorf("%s %s: the API server drops %s", o.GetKind(), o.GetName(), field)
		}
		for field := range o.Object["spec"].(map[string]any) {
			o.Object["spec"].(map[string]any)[field] = []any{}
		}
		if validate.AgainstSchema(schema, o.Object, strfmt.Default) == nil {
			t.Errorf("%s: the definition allows anything", o.GetKind())
		}
	}
}

// unknownFields are those that a schema does not have; an API server prunes them.
func unknownFields(schema *spec.Schema, value any, path string) (list []string) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			s, is := schema.Properties[name]
			switch {
			case is:
				list = append(list, unknownFields(&s, inner, path+"."+name)...)
			case schema.AdditionalProperties == nil:
				list = append(list, path+"."+name)
			}
		}
	case []any:
		for _, inner := range v {
			list = append(list, unknownFields(schema.Items.Schema, inner, path+"[]")...)
		}
	}
	return list
}
