package charts_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/charts"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/reconcile"
)

// TestWhatIsMade: every object of a small and of a large site, by kind and name; each reads strictly as its kind and
// lies where it should.
func TestWhatIsMade(t *testing.T) {
	want := map[string][]string{
		"the least": {
			"ClusterRole gpu-gpu-portal-controller", "ClusterRole gpu-gpu-portal-logs", "ClusterRole gpu-gpu-portal-tenant",
			"ClusterRoleBinding gpu-gpu-portal-controller", "ConfigMap gpu-portal",
			"Deployment gpu-portal", "NetworkPolicy gpu-portal",
			"PersistentVolumeClaim gpu-portal", "Service gpu-portal", "Service gpu-portal-metrics", "ServiceAccount gpu-portal",
			"ServiceAccount gpu-portal-controller", "ValidatingAdmissionPolicy gpu-gpu-portal",
			"ValidatingAdmissionPolicyBinding gpu-gpu-portal",
		},
		"everything": {
			"ClusterRole gpu-gpu-portal-controller", "ClusterRole gpu-gpu-portal-logs",
			"ClusterRole gpu-gpu-portal-proxy", "ClusterRole gpu-gpu-portal-tenant", "ClusterRole gpu-gpu-portal-terminal",
			"ClusterRoleBinding gpu-gpu-portal-controller", "ConfigMap gpu-portal", "ConfigMap gpu-portal-dashboard",
			"DaemonSet gpu-portal-agent", "Deployment gpu-portal", "Deployment gpu-portal-controller", "HTTPRoute gpu-portal",
			"Ingress gpu-portal", "Job gpu-portal-migrate", "NetworkPolicy gpu-portal",
			"NetworkPolicy gpu-portal-agent", "PodDisruptionBudget gpu-portal-controller", "PodDisruptionBudget gpu-portal-web",
			"PodMonitor gpu-portal-agent",
			"PrometheusRule gpu-portal", "Role gpu-portal-agents", "RoleBinding gpu-portal-agents", "Route gpu-portal",
			"Route gpu-portal-apps", "Service gpu-portal",
			"Service gpu-portal-metrics", "ServiceAccount gpu-portal",
			"ServiceAccount gpu-portal-agent", "ServiceAccount gpu-portal-controller", "ServiceMonitor gpu-portal",
			"ValidatingAdmissionPolicy gpu-gpu-portal", "ValidatingAdmissionPolicyBinding gpu-gpu-portal",
		},
		"scaling": {
			"ClusterRole gpu-gpu-portal-controller", "ClusterRole gpu-gpu-portal-logs", "ClusterRole gpu-gpu-portal-tenant",
			"ClusterRoleBinding gpu-gpu-portal-controller", "Cluster gpu-portal-db", "ConfigMap gpu-portal",
			"Deployment gpu-portal", "Deployment gpu-portal-controller", "HorizontalPodAutoscaler gpu-portal",
			"NetworkPolicy gpu-portal", "PodDisruptionBudget gpu-portal-controller", "PodDisruptionBudget gpu-portal-web",
			"Service gpu-portal", "Service gpu-portal-metrics", "ServiceAccount gpu-portal",
			"ServiceAccount gpu-portal-controller", "ValidatingAdmissionPolicy gpu-gpu-portal",
			"ValidatingAdmissionPolicyBinding gpu-gpu-portal",
		},
	}
	for site, values := range sites {
		objects := mustRender(t, values)
		slices.Sort(want[site])
		if diff := cmp.Diff(want[site], names(objects)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", site, diff)
		}
		for _, o := range objects {
			if make, ok := typed[o.GetKind()]; ok {
				text, _ := yaml.Marshal(o.Object)
				if err := yaml.UnmarshalStrict(text, make()); err != nil {
					t.Errorf("%s: %s %s: %v", site, o.GetKind(), o.GetName(), err)
				}
			} else if !slices.Contains(foreign, o.GetKind()) {
				t.Errorf("%s: nobody reads a %s", site, o.GetKind())
			}
			wantNamespace := namespace
			switch {
			case strings.HasPrefix(o.GetKind(), "ClusterRole"), strings.HasPrefix(o.GetKind(), "Validating"):
				wantNamespace = ""
			case o.GetLabels()["app.kubernetes.io/name"] == "gpu-portal-agent", o.GetName() == "gpu-portal-agents":
				wantNamespace = "gpu-agents"
			}
			if o.GetNamespace() != wantNamespace {
				t.Errorf("%s: %s %s lies in %q, want %q", site, o.GetKind(), o.GetName(), o.GetNamespace(), wantNamespace)
			}
		}
	}
}

// rules are those of a role.
func rules(t *testing.T, objects []*unstructured.Unstructured, kind, name string) []rbacv1.PolicyRule {
	t.Helper()
	return the[rbacv1.ClusterRole](t, objects, kind, name).Rules
}

// clusterOf is the chart's own cluster in the rendered settings.
func clusterOf(t *testing.T, objects []*unstructured.Unstructured) config.Cluster {
	t.Helper()
	var c config.Config
	text := the[corev1.ConfigMap](t, objects, "ConfigMap", "gpu-portal").Data["portal.yaml"]
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c.Clusters[0]
}

// TestRightsAreThoseOfThePortal and no others: what holds everywhere is bound to the controller's account alone, what
// holds in tenants' namespaces is bound to nobody by the chart, and the settings say the same.
func TestRightsAreThoseOfThePortal(t *testing.T) {
	all := maps.Clone(sites)
	all["KServe"] = needed + "rbac: {kserve: true}\n"
	all["JobSet"] = needed + "rbac: {jobset: true}\n"
	all["LeaderWorkerSet"] = needed + "rbac: {leaderworkerset: true}\n"
	all["KEDA"] = needed + "rbac: {keda: true}\n"
	all["snapshots"] = needed + "rbac: {snapshots: true}\n"
	all["a gateway for models"] = needed + "  clusters: [{name: main, modelGateway: {kind: embedded}}]\n"
	for _, kind := range []string{"inference-extension", "kuadrant", "envoy-ai-gateway"} {
		all[kind] = needed + "  clusters: [{name: main, modelGateway: {kind: " + kind + ", gateway: {namespace: gateways, " +
			"name: models}, address: \"https://models.example.org\"}}]\n"
	}
	all["an administrator binds"] = needed + "rbac: {bindings: admin}\n"
	for site, values := range all {
		objects := mustRender(t, values)
		access := clusterOf(t, objects).Access
		if asked := clusterOf(t, objects).Rights(); !cmp.Equal(asked, access) {
			t.Errorf("%s: the settings ask for the rights %+v, and the chart gives %+v", site, asked, access)
		}
		want := reconcile.RightsFor(access)
		want.Cluster, want.Runtimes = slices.Concat(want.Cluster, want.Runtimes), nil // in one role
		got := reconcile.Rights{Cluster: rules(t, objects, "ClusterRole", "gpu-gpu-portal-controller"),
			Tenant: rules(t, objects, "ClusterRole", access.Role), Proxy: want.Proxy,
			Logs: rules(t, objects, "ClusterRole", access.LogsRole), Terminal: want.Terminal,
			Agents: want.Agents}
		if access.TerminalRole != "" {
			got.Terminal = rules(t, objects, "ClusterRole", access.TerminalRole)
		}
		if access.ProxyRole != "" {
			got.Proxy = rules(t, objects, "ClusterRole", access.ProxyRole)
			got.Agents = the[rbacv1.Role](t, objects, "Role", "gpu-portal-agents").Rules
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the chart's rights (-reconcile.RightsFor +chart)\n%s", site, diff)
		}
		bound := map[string][]string{}
		for _, o := range objects {
			if kind := o.GetKind(); kind == "ClusterRoleBinding" || kind == "RoleBinding" {
				b := read[rbacv1.RoleBinding](t, o)
				for _, s := range b.Subjects {
					bound[kind+" of "+b.RoleRef.Kind+" "+b.RoleRef.Name] = append(bound[kind+" of "+b.RoleRef.Kind+" "+b.RoleRef.Name],
						s.Kind+" "+s.Namespace+"/"+s.Name)
				}
			}
		}
		controller := []string{"ServiceAccount gpu/gpu-portal-controller"}
		wantBound := map[string][]string{"ClusterRoleBinding of ClusterRole gpu-gpu-portal-controller": controller}
		if site == "everything" {
			wantBound["RoleBinding of Role gpu-portal-agents"] = controller
		}
		if diff := cmp.Diff(wantBound, bound); diff != "" {
			t.Errorf("%s: bound (-want +got)\n%s", site, diff)
		}
	}
	account := map[string]string{"gpu-portal": "gpu-portal", "gpu-portal-controller": "gpu-portal-controller"}
	for _, d := range deployments(t, mustRender(t, everything)) {
		if got := d.Spec.Template.Spec.ServiceAccountName; got != account[d.Name] {
			t.Errorf("%s runs as %s: pages and gateway need no rights of the controller", d.Name, got)
		}
	}
	without := names(mustRender(t, needed+"rbac: {create: false}\n"))
	for _, kind := range []string{"Role", "ClusterRole", "Validating"} {
		if slices.ContainsFunc(without, func(name string) bool { return strings.HasPrefix(name, kind) }) {
			t.Errorf("rbac.create: false makes a %s: %v", kind, without)
		}
	}
}

// TestNothingDangerousIsClusterWide: what is bound everywhere reads no Secret, writes nothing but namespaces and
// RoleBindings, and may bind the named roles; nothing escalates or impersonates.
func TestNothingDangerousIsClusterWide(t *testing.T) {
	written, reading := map[string]bool{"namespaces": true, "rolebindings": true}, []string{"get", "list", "watch"}
	for site, values := range sites {
		objects := mustRender(t, values)
		for _, r := range rules(t, objects, "ClusterRole", "gpu-gpu-portal-controller") {
			for _, resource := range r.Resources {
				reads := !slices.ContainsFunc(r.Verbs, func(v string) bool { return !slices.Contains(reading, v) })
				binds := resource == "clusterroles" && slices.Equal(r.Verbs, []string{"bind"}) && len(r.ResourceNames) > 0
				if resource == "secrets" || !reads && !binds && !written[resource] {
					t.Errorf("%s: %v on %s", site, r.Verbs, resource)
				}
			}
		}
		for _, o := range objects {
			if !strings.HasSuffix(o.GetKind(), "Role") {
				continue
			}
			for _, r := range read[rbacv1.Role](t, o).Rules {
				for _, verb := range []string{"*", "escalate", "impersonate", "deletecollection"} {
					if slices.Contains(r.Verbs, verb) || slices.Contains(r.Resources, "*") || slices.Contains(r.APIGroups, "*") {
						t.Errorf("%s: %s %s has %+v", site, o.GetKind(), o.GetName(), r)
					}
				}
			}
		}
	}
}

// TestPolicyKnowsWhatIsWritten: the admission policy lets the portal write the kinds that its roles do, and no others.
func TestPolicyKnowsWhatIsWritten(t *testing.T) {
	for site, values := range map[string]string{"self": needed, "admin": needed + "rbac: {bindings: admin}\n",
		"KServe":               needed + "rbac: {kserve: true}\n",
		"JobSet":               needed + "rbac: {jobset: true}\n",
		"LeaderWorkerSet":      needed + "rbac: {leaderworkerset: true}\n",
		"KEDA":                 needed + "rbac: {keda: true}\n",
		"snapshots":            needed + "rbac: {snapshots: true}\n",
		"a gateway for models": needed + "  clusters: [{name: main, modelGateway: {kind: embedded}}]\n"} {
		objects := mustRender(t, values)
		rights := reconcile.RightsFor(clusterOf(t, objects).Access)
		policy := the[admissionv1.ValidatingAdmissionPolicy](t, objects, "ValidatingAdmissionPolicy", "gpu-gpu-portal")
		first := policy.Spec.Validations[0].Expression
		for _, r := range slices.Concat(rights.Cluster, rights.Runtimes, rights.Tenant) {
			for _, resource := range r.Resources {
				name := "'" + r.APIGroups[0] + "/" + resource + "'"
				if resource == "namespaces" {
					name = "variables.isNamespace"
				}
				want := slices.Contains(r.Verbs, "patch")
				if !want && (resource == "rolebindings" || resource == "namespaces") {
					continue // read by one rule, written by another
				}
				if got := strings.Contains(first, name); got != want {
					t.Errorf("%s: %s may be written: role %v, policy %v: %s", site, name, want, got, first)
				}
			}
		}
	}
}

// TestNoPolicyNoSelfBinding: where the API server has no admission policies, the chart lets the portal bind itself only
// on an explicit word.
func TestNoPolicyNoSelfBinding(t *testing.T) {
	for values, want := range map[string]string{
		"":                                 "rbac.bindings",
		"rbac: {bindings: admin}\n":        "",
		"rbac: {admissionPolicy: false}\n": "",
	} {
		_, err := charts.Render(charts.Release, namespace, needed+values, charts.Capabilities("1.29"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: want a problem with %q, got %v", values, want, err)
		}
	}
}

// TestSettingsAreWhatThePortalReads: portal.yaml of the chart has no unknown name and nothing wrong but files that only
// a pod has.
func TestSettingsAreWhatThePortalReads(t *testing.T) {
	for site, values := range sites {
		settings := the[corev1.ConfigMap](t, mustRender(t, values), "ConfigMap", "gpu-portal").Data["portal.yaml"]
		file := filepath.Join(t.TempDir(), "portal.yaml")
		if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		env := func(name string) string {
			if name == "PORTAL_DATABASE" && site != "the least" {
				return "postgres://portal@db/portal"
			}
			return ""
		}
		c, err := config.Load(file, env, nil)
		for _, line := range strings.Split(errorText(err), "\n") {
			if line != "" && !strings.HasPrefix(line, "oidc.clientSecretFile: open /etc/gpu-portal/oidc/client-secret: ") {
				t.Errorf("%s: %s\n%s", site, line, settings)
			}
		}
		if c.Listen != ":8080" || c.MetricsListen != ":9090" || c.Clusters[0].GatewayNamespace != namespace {
			t.Errorf("%s: listens on %s and %s, gateway in %s", site, c.Listen, c.MetricsListen, c.Clusters[0].GatewayNamespace)
		}
		if site == "everything" {
			want := config.Agents{Namespace: "gpu-agents", Port: 9410, TokenFile: "/etc/gpu-portal/agent/token"}
			if diff := cmp.Diff(want, c.Clusters[0].Agents); diff != "" || !cmp.Equal(config.Agents{}, c.Clusters[1].Agents) {
				t.Errorf("agents are those of the chart's own cluster: %s", diff)
			}
		} else if site == "the least" && c.Database != "sqlite:/data/portal.db" {
			t.Errorf("database %s", c.Database)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func deployments(t *testing.T, objects []*unstructured.Unstructured) []*appsv1.Deployment {
	t.Helper()
	var list []*appsv1.Deployment
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			list = append(list, read[appsv1.Deployment](t, o))
		}
	}
	return list
}

// TestPodsAreRestricted: the portal's pods pass Pod Security's level restricted; the agent's only exception is hostPID,
// and it holds no token of the cluster.
func TestPodsAreRestricted(t *testing.T) {
	for site, values := range sites {
		objects := mustRender(t, values)
		for _, d := range deployments(t, objects) {
			if bad := unrestricted(d.Spec.Template.Spec); len(bad) > 0 {
				t.Errorf("%s: %s: %v", site, d.Name, bad)
			}
		}
	}
	agent := the[appsv1.DaemonSet](t, mustRender(t, everything), "DaemonSet", "gpu-portal-agent").Spec.Template.Spec
	if bad := unrestricted(agent); !slices.Equal(bad, []string{"host namespaces"}) {
		t.Errorf("agent: want hostPID and nothing else, got %v", bad)
	}
	if agent.AutomountServiceAccountToken == nil || *agent.AutomountServiceAccountToken || agent.HostNetwork ||
		agent.HostIPC {
		t.Error("the agent has a token, or more of the host than its processes")
	}
	without := the[appsv1.DaemonSet](t, mustRender(t, needed+"agent: {enabled: true, hostPID: false, tokenSecret: "+
		"{existingSecret: x}}\n"), "DaemonSet", "gpu-portal-agent")
	if bad := unrestricted(without.Spec.Template.Spec); len(bad) > 0 {
		t.Errorf("agent without hostPID: %v", bad)
	}
}

// TestPodsOutliveTheirEndpoints: T-UPG. A pod that is to stop still answers what the Service sends to it until every
// node knows that it is gone, and has its grace time (10 s) after that.
func TestPodsOutliveTheirEndpoints(t *testing.T) {
	for site, values := range sites {
		for _, d := range deployments(t, mustRender(t, values)) {
			spec := d.Spec.Template.Spec
			stop := spec.Containers[0].Lifecycle
			if stop == nil || stop.PreStop == nil || stop.PreStop.Sleep == nil || stop.PreStop.Sleep.Seconds < 5 {
				t.Errorf("%s: %s: want a pause before the signal to stop, got %+v", site, d.Name, stop)
				continue
			}
			if left := *spec.TerminationGracePeriodSeconds - stop.PreStop.Sleep.Seconds; left < 15 {
				t.Errorf("%s: %s: %d s are left for calls in hand", site, d.Name, left)
			}
		}
	}
}

// unrestricted lists what a pod has against the level restricted, and against what we ask for beyond it.
func unrestricted(spec corev1.PodSpec) []string {
	var bad []string
	add := func(wrong bool, what string) {
		if wrong {
			bad = append(bad, what)
		}
	}
	add(spec.HostPID || spec.HostNetwork || spec.HostIPC, "host namespaces")
	p := spec.SecurityContext
	add(p == nil || p.RunAsNonRoot == nil || !*p.RunAsNonRoot, "may be root")
	add(p == nil || p.SeccompProfile == nil || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault,
		"no seccomp profile")
	for _, v := range spec.Volumes {
		s := v.VolumeSource
		add(s.ConfigMap == nil && s.Secret == nil && s.EmptyDir == nil && s.PersistentVolumeClaim == nil, "volume "+v.Name)
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		s := c.SecurityContext
		add(s == nil || s.Privileged != nil && *s.Privileged, "privileged")
		add(s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation, "may escalate")
		add(s == nil || s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) ||
			len(s.Capabilities.Add) > 0, "keeps capabilities")
		add(s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem, "may write to its image")
		add(s == nil || s.RunAsUser == nil || *s.RunAsUser == 0, "root")
		add(c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero(), "no memory limit")
		for _, port := range c.Ports {
			add(port.HostPort != 0, "host port")
		}
	}
	return bad
}

// TestSelectorsFindTheirPods: services, budgets and policies select what they are meant for, and workloads' policies
// find the gateway by the label that they ask for.
func TestSelectorsFindTheirPods(t *testing.T) {
	objects := mustRender(t, everything)
	pods := map[string]labels.Set{}
	for _, d := range deployments(t, objects) {
		pods[d.Name] = d.Spec.Template.Labels
		if !matches(d.Spec.Selector, pods[d.Name]) {
			t.Errorf("%s does not find its own pods", d.Name)
		}
		if pods[d.Name]["app.kubernetes.io/name"] != "gpu-portal" {
			t.Errorf("%s: workloads let in pods that are named gpu-portal", d.Name)
		}
	}
	agent := the[appsv1.DaemonSet](t, objects, "DaemonSet", "gpu-portal-agent")
	pods["agent"] = agent.Spec.Template.Labels
	if pods["agent"]["app.kubernetes.io/name"] != "gpu-portal-agent" { // what the portal looks for, config.Agents
		t.Error("the portal does not find the agents")
	}
	both := []string{"gpu-portal", "gpu-portal-controller"}
	for _, c := range []struct {
		what     string
		selector *metav1.LabelSelector
		want     []string
	}{
		{"service", &metav1.LabelSelector{MatchLabels: the[corev1.Service](t, objects, "Service",
			"gpu-portal").Spec.Selector}, both[:1]},
		{"metrics service", &metav1.LabelSelector{MatchLabels: the[corev1.Service](t, objects, "Service",
			"gpu-portal-metrics").Spec.Selector}, both},
		{"budget of web", the[policyv1.PodDisruptionBudget](t, objects, "PodDisruptionBudget",
			"gpu-portal-web").Spec.Selector, both[:1]},
		{"budget of controller", the[policyv1.PodDisruptionBudget](t, objects, "PodDisruptionBudget",
			"gpu-portal-controller").Spec.Selector, both[1:]},
		{"policy", &the[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy", "gpu-portal").Spec.PodSelector, both},
		{"policy of the agent", &the[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy",
			"gpu-portal-agent").Spec.PodSelector, []string{"agent"}},
		{"daemon set", agent.Spec.Selector, []string{"agent"}},
	} {
		var got []string
		for _, name := range slices.Sorted(maps.Keys(pods)) {
			if matches(c.selector, pods[name]) {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if !slices.Equal(c.want, got) {
			t.Errorf("%s: want %v, got %v", c.what, c.want, got)
		}
	}
	monitor := the[unstructured.Unstructured](t, objects, "ServiceMonitor", "gpu-portal")
	wanted, _, _ := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	for _, name := range []string{"gpu-portal", "gpu-portal-metrics"} {
		found := labels.SelectorFromSet(wanted).Matches(labels.Set(the[corev1.Service](t, objects, "Service", name).Labels))
		if found != (name == "gpu-portal-metrics") {
			t.Errorf("the ServiceMonitor and the service %s: found %v", name, found)
		}
	}
	let := the[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy", "gpu-portal-agent").Spec.Ingress[0].From[0]
	if !matches(let.PodSelector, pods["gpu-portal-controller"]) {
		t.Error("the agents do not let the portal in")
	}
}

func matches(selector *metav1.LabelSelector, set labels.Set) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(set)
}

// TestPortsAndSecretsAreThere: every named port is a container's, and what the settings read is mounted.
func TestPortsAndSecretsAreThere(t *testing.T) {
	objects := mustRender(t, everything)
	for _, d := range deployments(t, objects) {
		c := d.Spec.Template.Spec.Containers[0]
		var mounts, ports []string
		for _, m := range c.VolumeMounts {
			mounts = append(mounts, m.MountPath)
			if !slices.ContainsFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
				t.Errorf("%s: there is no volume %s", d.Name, m.Name)
			}
		}
		for _, want := range []string{"/etc/gpu-portal/portal.yaml", "/etc/gpu-portal/key", "/etc/gpu-portal/oidc",
			"/etc/gpu-portal/agent", "/etc/gpu-portal/ca", "/etc/gpu-portal/far", "/tmp"} {
			if !slices.Contains(mounts, want) {
				t.Errorf("%s: %s is not mounted", d.Name, want)
			}
		}
		for _, p := range c.Ports {
			ports = append(ports, p.Name)
		}
		if !slices.Equal(ports, []string{"http", "metrics"}) {
			t.Errorf("%s: ports %v", d.Name, ports)
		}
		if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
			return e.Name == "PORTAL_DATABASE" && e.ValueFrom.SecretKeyRef.Name == "portal-database"
		}) {
			t.Errorf("%s: no database", d.Name)
		}
	}
	for _, name := range []string{"gpu-portal", "gpu-portal-metrics"} {
		if got := the[corev1.Service](t, objects, "Service", name).Spec.Ports[0].TargetPort.StrVal; got != "http" &&
			got != "metrics" {
			t.Errorf("%s leads to %q", name, got)
		}
	}
	hosts := []string{}
	for _, rule := range the[networkingv1.Ingress](t, objects, "Ingress", "gpu-portal").Spec.Rules {
		hosts = append(hosts, rule.Host)
	}
	if want := []string{"gpu.example.org", "*.apps.example.net"}; !slices.Equal(want, hosts) {
		t.Errorf("the way in serves %v, want %v", hosts, want)
	}
}

// TestNoSecretIsMade: they are named, never held.
func TestNoSecretIsMade(t *testing.T) {
	for _, o := range mustRender(t, everything) {
		if o.GetKind() == "Secret" {
			t.Errorf("Secret %s", o.GetName())
		}
	}
}

// TestAgentAsksForItsNodes: GPU nodes that the operator lets clients of the driver on, with the driver's library and no
// other part of it.
func TestAgentAsksForItsNodes(t *testing.T) {
	spec := the[appsv1.DaemonSet](t, mustRender(t, everything), "DaemonSet", "gpu-portal-agent").Spec.Template.Spec
	if !spec.HostPID || spec.NodeSelector["nvidia.com/gpu.deploy.client"] != "true" || *spec.RuntimeClassName != "nvidia" {
		t.Errorf("hostPID %v, nodes %v, runtime %v", spec.HostPID, spec.NodeSelector, spec.RuntimeClassName)
	}
	env := map[string]string{}
	for _, e := range spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	want := map[string]string{"NODE_NAME": "", "NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "utility",
		"NVIDIA_MIG_MONITOR_DEVICES": "all"}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Error(diff)
	}
	if got := spec.Containers[0].Args; !slices.Equal(got,
		[]string{"-listen=:9410", "-token-file=/etc/gpu-portal-agent/token", "-interval=10s"}) {
		t.Errorf("args %v", got)
	}
}

// TestWrongValuesAreRefused before anything is sent to a cluster, each with a word that helps.
func TestWrongValuesAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		"": "config",
		strings.Replace(needed, "https://gpu.example.org", "gpu.example.org", 1): "url",
		needed + "replicas: 3\n":                                      "replicas",
		needed + "web: {replicas: 0}\n":                               "replicas",
		needed + "agent: {enabled: true}\n":                           "agent.tokenSecret.existingSecret",
		needed + "database: {existingSecret: x}\n":                    "secrets.key.existingSecret",
		needed + "metrics: {rules: {licensePoolRatio: 90}}\n":         "licensePoolRatio",
		needed + "gateway: {enabled: true}\n":                         "parentRefs",
		needed + "rbac: {bindings: nobody}\n":                         "bindings",
		needed + "  tenantNamespaces: [\"*\"]\n":                      "tenantNamespaces",
		needed + "  clusters: [{name: main, podAccess: apiserver}]\n": "rbac.proxy",
		needed + "  database: sqlite:here.db\n":                       "database",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want a problem with %s, got %v", values, want, err)
		}
	}
}

// TestEveryValueIsInTheSchema and has its type there: the schema refuses names that it does not know.
func TestEveryValueIsInTheSchema(t *testing.T) {
	var schema struct {
		Properties map[string]json.RawMessage
	}
	if err := json.Unmarshal(load(t).Schema, &schema); err != nil {
		t.Fatal(err)
	}
	for name := range load(t).Values {
		if _, ok := schema.Properties[name]; !ok {
			t.Errorf("the schema does not know %s", name)
		}
	}
}
