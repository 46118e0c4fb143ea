package reconcile_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/internal/reconcile"
)

// rendered and the additions are YAML; "kubectl" owns what is said to be its.
const (
	renderedSet = `
metadata:
  labels: {app.kubernetes.io/managed-by: gpu-portal}
spec:
  replicas: 1
  template:
    metadata: {labels: {a: b}}
    spec:
      serviceAccountName: portal-workload
      automountServiceAccountToken: false
      securityContext: {runAsNonRoot: true}
      containers:
      - name: main
        image: jupyter
        env:
        - {name: A, value: "1"}
        ports: [{containerPort: 8888, protocol: TCP, name: http}]
        readinessProbe: {httpGet: {path: /, port: http}}
      volumes:
      - {name: tmp, emptyDir: {}}
`
	renderedPolicy = `
spec:
  podSelector: {}
  policyTypes: [Ingress, Egress]
`
	renderedService = `
spec:
  type: ClusterIP
  selector: {w: a}
  ports: [{name: http, port: 80, protocol: TCP, targetPort: http}]
`
	renderedQuota = `{spec: {hard: {pods: "4"}}}`
)

func content(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// fields is a managedFields entry of somebody.
func fields(manager, set string) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(set)}
}

// edited replaces text in the rendered object.
func edited(of string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(of) }

func TestDrift(t *testing.T) {
	const own = "gpu-portal.github.io/"
	for sentence, c := range map[string]struct {
		kind, rendered, live string
		owners               string // of kubectl, FieldsV1
		want                 []string
	}{
		"nothing": {"StatefulSet", renderedSet, renderedSet, "", nil},
		"the defaults of the API server": {"StatefulSet", renderedSet, edited(renderedSet,
			"image: jupyter", "image: jupyter, imagePullPolicy: IfNotPresent",
			"        image", "        terminationMessagePath: /dev/termination-log\n        terminationMessagePolicy: File\n"+
				"        image",
			", imagePullPolicy: IfNotPresent", "",
			"httpGet: {path: /, port: http}", "httpGet: {path: /, port: http, scheme: HTTP}, timeoutSeconds: 1, "+
				"periodSeconds: 10, successThreshold: 1, failureThreshold: 3",
			"      volumes:", "      restartPolicy: Always\n      dnsPolicy: ClusterFirst\n"+
				"      schedulerName: default-scheduler\n      serviceAccount: portal-workload\n      volumes:"), "", nil},
		"a default with another value": {"StatefulSet", renderedSet, edited(renderedSet, "      volumes:",
			"      dnsPolicy: Default\n      volumes:"), "", []string{"strict added spec.template.spec.dnsPolicy by ?"}},
		"another container": {"StatefulSet", renderedSet, edited(renderedSet, "      - name: main",
			"      - {name: miner, image: x}\n      - name: main"),
			`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"miner\"}":{".":{},"f:image":{}}}}}}}`,
			[]string{"strict added spec.template.spec.containers[miner] by kubectl"}},
		"an init container": {"StatefulSet", renderedSet, edited(renderedSet, "      containers:",
			"      initContainers: [{name: x, image: x}]\n      containers:"), "",
			[]string{"strict added spec.template.spec.initContainers by ?"}},
		"a variable": {"StatefulSet", renderedSet, edited(renderedSet, `        - {name: A, value: "1"}`,
			"        - {name: LD_PRELOAD, value: /x.so}\n        - {name: A, value: \"1\"}"), "",
			[]string{"strict added spec.template.spec.containers[main].env[LD_PRELOAD] by ?"}},
		"a variable twice": {"StatefulSet", renderedSet, edited(renderedSet, `        - {name: A, value: "1"}`,
			"        - {name: A, value: \"1\"}\n        - {name: A, value: \"2\"}"), "",
			[]string{"strict added spec.template.spec.containers[main].env[A] by ?"}},
		"another value, and the record of it removed": {"StatefulSet", renderedSet, edited(renderedSet, "image: jupyter",
			"image: other"), "", []string{"strict altered spec.template.spec.containers[main].image by ?"}},
		"the token of the account": {"StatefulSet", renderedSet, edited(renderedSet,
			"automountServiceAccountToken: false", "automountServiceAccountToken: true"), "",
			[]string{"strict altered spec.template.spec.automountServiceAccountToken by ?"}},
		"a field that was rendered is gone": {"StatefulSet", renderedSet, edited(renderedSet,
			"      automountServiceAccountToken: false\n", ""), "",
			[]string{"strict altered spec.template.spec.automountServiceAccountToken by ?"}},
		"root": {"StatefulSet", renderedSet, edited(renderedSet, "{runAsNonRoot: true}",
			"{runAsNonRoot: true, runAsUser: 0}"), "",
			[]string{"strict added spec.template.spec.securityContext.runAsUser by ?"}},
		"host, node, volume": {"StatefulSet", renderedSet, edited(renderedSet, "      volumes:\n",
			"      hostNetwork: true\n      nodeSelector: {a: b}\n      volumes:\n      - {name: h, hostPath: {path: /}}\n"), "",
			[]string{"strict added spec.template.spec.hostNetwork by ?", "strict added spec.template.spec.nodeSelector by ?",
				"strict added spec.template.spec.volumes[h] by ?"}},
		"labels of others are shown, those of Kubernetes not": {"StatefulSet", renderedSet, edited(renderedSet,
			"app.kubernetes.io/managed-by: gpu-portal", "app.kubernetes.io/managed-by: gpu-portal, team: x, "+
				"apps.kubernetes.io/y: z"),
			`{"f:metadata":{"f:labels":{"f:team":{},"f:apps.kubernetes.io/y":{}}}}`,
			[]string{"shown added metadata.labels.team by kubectl"}},
		"a label that nobody owns is nothing": {"StatefulSet", renderedSet, edited(renderedSet,
			"app.kubernetes.io/managed-by: gpu-portal", "app.kubernetes.io/managed-by: gpu-portal, team: x"), "", nil},
		"Kueue's queue in the template": {"StatefulSet", renderedSet, edited(renderedSet, "{a: b}",
			"{a: b, kueue.x-k8s.io/queue-name: q}"),
			`{"f:spec":{"f:template":{"f:metadata":{"f:labels":{"f:kueue.x-k8s.io/queue-name":{}}}}}}`,
			[]string{"shown added spec.template.metadata.labels[kueue.x-k8s.io/queue-name] by kubectl"}},
		"a label of the portal's own domain": {"StatefulSet", renderedSet, edited(renderedSet, "{a: b}",
			"{a: b, "+own+"exposed: x}"), "",
			[]string{"strict added spec.template.metadata.labels[" + own + "exposed] by ?"}},
		"the portal's own nudge": {"StatefulSet", renderedSet, edited(renderedSet, "metadata:\n  labels",
			"metadata:\n  annotations: {"+own+"nudged: now}\n  labels"), "", nil},
		"the portal's own checkpoint": {"Namespace", `{metadata: {labels: {a: b}}}`,
			`{metadata: {labels: {a: b}, annotations: {` + own + `checkpoint: "{}"}}}`, "", nil},
		"a finalizer": {"StatefulSet", renderedSet, edited(renderedSet, "metadata:\n  labels",
			"metadata:\n  finalizers: [example.org/hold, kubernetes.io/pvc-protection]\n  labels"),
			`{"f:metadata":{"f:finalizers":{".":{},"v:\"example.org/hold\"":{}}}}`,
			[]string{"shown added metadata.finalizers[example.org/hold] by kubectl"}},
		"an owner, by which the garbage collector deletes": {"PersistentVolumeClaim", `{}`,
			`{metadata: {ownerReferences: [{uid: x}]}, spec: {volumeName: pv}}`, "",
			[]string{"strict added metadata.ownerReferences by ?"}},
		"rules in the policy that denies all": {"NetworkPolicy", renderedPolicy, renderedPolicy +
			"  ingress: [{}]\n  egress: [{}]\n", `{"f:spec":{"f:egress":{},"f:ingress":{}}}`,
			[]string{"strict added spec.egress by kubectl", "strict added spec.ingress by kubectl"}},
		"whom a policy is for": {"NetworkPolicy", renderedPolicy, edited(renderedPolicy, "podSelector: {}",
			"podSelector: {matchLabels: {a: b}}"), "", []string{"strict added spec.podSelector.matchLabels by ?"}},
		"addresses that the API server allocated": {"Service", renderedService, renderedService +
			"  clusterIP: 10.0.0.1\n  clusterIPs: [10.0.0.1]\n  ipFamilies: [IPv4]\n  ipFamilyPolicy: SingleStack\n" +
			"  internalTrafficPolicy: Cluster\n  sessionAffinity: None\n", "", nil},
		"addresses outside, another port, no wait for ready": {"Service", renderedService, edited(renderedService,
			"targetPort: http}]", "targetPort: http}, {port: 22, protocol: TCP}]\n  externalIPs: [192.0.2.1]\n"+
				"  publishNotReadyAddresses: true"), "",
			[]string{"strict added spec.externalIPs by ?", "strict added spec.ports[22/TCP] by ?",
				"strict added spec.publishNotReadyAddresses by ?"}},
		"whom a Service leads to": {"Service", renderedService, edited(renderedService, "{w: a}", "{w: a, x: y}"), "",
			[]string{"strict added spec.selector.x by ?"}},
		"a line in the quota": {"ResourceQuota", renderedQuota,
			`{spec: {hard: {pods: "4", cpu: "1"}, scopes: [Terminating]}}`,
			"", []string{"strict added spec.hard.cpu by ?", "strict added spec.scopes by ?"}},
		"pull secrets of OpenShift": {"ServiceAccount", `{automountServiceAccountToken: false}`,
			`{automountServiceAccountToken: false, imagePullSecrets: [{name: a}]}`, "", nil},
		"a key of a Secret": {"Secret", `{data: {token: abc}}`, `{data: {token: AA==, more: AA==}}`, "",
			[]string{"strict added data.more by ?"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var entries []metav1.ManagedFieldsEntry
			if c.owners != "" {
				entries = append(entries, fields("kubectl", c.owners))
			}
			var got []string
			for _, e := range reconcile.Drift(c.kind, content(t, c.rendered), content(t, c.live), entries) {
				line := map[bool]string{true: "strict ", false: "shown "}[e.Strict] + string(e.Change) + " " + e.Path + " by "
				if e.By == "" {
					line += "?"
				}
				got = append(got, line+e.By)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Later items of a list go first, so that what remains to be removed keeps its index.
func TestRemoval(t *testing.T) {
	live := content(t, edited(renderedSet, "      - name: main", "      - {name: x}\n      - name: main",
		"      volumes:\n",
		"      - {name: y}\n      hostNetwork: true\n      volumes:\n"))
	edits := reconcile.Drift("StatefulSet", content(t, renderedSet), live, nil)
	body, err := reconcile.Removal(edits, "u-1", "7")
	if err != nil {
		t.Fatal(err)
	}
	var ops []map[string]any
	if err := json.Unmarshal(body, &ops); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"op": "remove", "path": "/spec/template/spec/hostNetwork"},
		{"op": "remove", "path": "/spec/template/spec/containers/2"},
		{"op": "remove", "path": "/spec/template/spec/containers/0"},
		{"op": "replace", "path": "/metadata/uid", "value": "u-1"},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}}
	if diff := cmp.Diff(want, ops); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if body, err := reconcile.Removal(nil, "u-1", "7"); err != nil || body != nil {
		t.Errorf("nothing to remove: %s, %v", body, err)
	}
}
