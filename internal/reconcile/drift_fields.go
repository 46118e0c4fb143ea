package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/kube"
)

const (
	podSpec       = "spec.template.spec"
	predictorSpec = "spec.predictor" // of an InferenceService

	// of a LeaderWorkerSet
	leaderPart = "spec.leaderWorkerTemplate.leaderTemplate"
	workerPart = "spec.leaderWorkerTemplate.workerTemplate"
	leaderSpec = leaderPart + ".spec"
	workerSpec = workerPart + ".spec"
)

// strictFields are the fields of each kind below which an object is what the portal rendered, because what is added
// there runs, is reached or is allowed: pods' containers, volumes, environment, account, host access, security context
// and placement; rules of networks; addresses and ports of Services; quotas. metadata.ownerReferences is strict for
// every kind: with a reference the garbage collector deletes the object. Replicas are rendered, so an autoscaler that
// sets them is an edit too, unless it is KEDA by the portal's own ScaledObject: then they are rendered as KEDA has set
// them.
var strictFields = map[string][]string{
	"ServiceAccount":          {"automountServiceAccountToken"}, // OpenShift adds pull secrets, which are shown
	"ResourceQuota":           {"spec"},
	"LimitRange":              {"spec"},
	"NetworkPolicy":           {"spec"},
	"RoleBinding":             {"roleRef", "subjects"}, // who else is bound has the portal's rights
	"Secret":                  {"data", "type"},
	"Service":                 {"spec"},
	"StatefulSet":             {"spec.replicas", "spec.selector", podSpec},
	"Deployment":              {"spec.replicas", "spec.selector", podSpec},
	kube.InferenceServiceKind: {"spec"},
	// Kueue adds labels to the pods of a LeaderWorkerSet
	kube.LeaderWorkerSetKind: {"spec.replicas", "spec.leaderWorkerTemplate.size", leaderSpec, workerSpec},
	// KEDA adds nothing to the spec of what it is given
	kube.ScaledObjectKind: {"spec"}, kube.TriggerAuthenticationKind: {"spec"},
	kube.InferencePoolKind: {"spec"}, // who else is in it answers in the endpoint's name
	kube.HTTPRouteKind:     {"spec"}, // and who is led elsewhere
	// who may call, and how much
	kube.AuthPolicyKind: {"spec"}, kube.RateLimitPolicyKind: {"spec"}, kube.TokenRateLimitPolicyKind: {"spec"},
	kube.BackendKind: {"spec"}, kube.AIServiceBackendKind: {"spec"}, kube.AIGatewayRouteKind: {"spec"},
	kube.SecurityPolicyKind: {"spec"}, kube.BackendTrafficPolicyKind: {"spec"},
	// the template of a Job can never be changed
	kube.JobSetKind: {"spec.network", "spec.failurePolicy"}, // nor that of a JobSet, but by Kueue
	jobKind:         {"spec.suspend", "spec.activeDeadlineSeconds", "spec.parallelism"},
}

// shownFields may be added to by others: operators and people leave labels, annotations and finalizers.
var shownFields = []string{"metadata.labels", "metadata.annotations", finalizers}

var shownSpec = map[string][]string{
	"ServiceAccount": {"imagePullSecrets", "secrets"},
	"StatefulSet":    {"spec"},
	"Deployment":     {"spec"},
}

const finalizers = "metadata.finalizers"

var ancestors = []string{"metadata"}

// labelled are the maps in which a key of the portal's own domain is the portal's alone.
var labelled = []string{"metadata.labels.", "metadata.annotations.", "spec.template.metadata.labels.",
	"spec.template.metadata.annotations.", predictorSpec + ".labels.", predictorSpec + ".annotations.",
	leaderPart + ".metadata.labels.", leaderPart + ".metadata.annotations.",
	workerPart + ".metadata.labels.", workerPart + ".metadata.annotations."}

// Written under field managers of their own, by quota.go and checkpoint.go.
const (
	nudged       = "metadata.annotations." + nudgeNote
	checkpointed = "metadata.annotations." + kube.CheckpointKey
)

// ownKey is a label or annotation of the portal's own domain: rights of the gateway and the meter hang on some.
func ownKey(pattern string) bool {
	return slices.ContainsFunc(labelled, func(prefix string) bool {
		return strings.HasPrefix(pattern, prefix+kube.LabelPrefix)
	})
}

// platform is a label, annotation or finalizer of Kubernetes, OpenShift or kubectl: their controllers write them on
// every object.
func platform(pattern string) bool {
	for _, prefix := range append(slices.Clip(labelled), finalizers+".") {
		key, found := strings.CutPrefix(pattern, prefix)
		if !found {
			continue
		}
		domain, _, named := strings.Cut(key, "/")
		return named && slices.ContainsFunc([]string{"kubernetes.io", "k8s.io", "openshift.io"}, func(top string) bool {
			return (domain == top || strings.HasSuffix(domain, "."+top)) && domain != "kueue.x-k8s.io"
		})
	}
	return false
}

// keysOf are the fields that tell the items of a list apart, as in the schema of server-side apply; other lists are
// compared as a whole. A key that is missing in an item has its default, which all of ours write out.
var keysOf = listKeys(podSpec, predictorSpec, leaderSpec, workerSpec)

func listKeys(podSpecs ...string) map[string][]string {
	keys := map[string][]string{"spec.ports": {"port", "protocol"}}
	for _, spec := range podSpecs {
		for list, of := range map[string][]string{"containers": {"name"}, "containers[].env": {"name"},
			"containers[].ports": {"containerPort", "protocol"}, "containers[].volumeMounts": {"mountPath"},
			"containers[].resources.claims": {"name"}, "volumes": {"name"}, "resourceClaims": {"name"}} {
			keys[spec+"."+list] = of
		}
	}
	return keys
}

// defaults are what the API server fills in where nothing is rendered, by its version 1.36
// (pkg/apis/core/v1/defaults.go). What a later version or an admission plugin
// adds beyond that is learned: see ledger.keep.
var defaults = map[string]any{
	podSpec + ".restartPolicy":                                    "Always",
	podSpec + ".dnsPolicy":                                        "ClusterFirst",
	podSpec + ".schedulerName":                                    "default-scheduler",
	podSpec + ".serviceAccount":                                   kube.AccountName, // deprecated alias
	podSpec + ".containers[].terminationMessagePath":              "/dev/termination-log",
	podSpec + ".containers[].terminationMessagePolicy":            "File",
	podSpec + ".containers[].imagePullPolicy":                     "IfNotPresent",
	podSpec + ".containers[].env[].valueFrom.fieldRef.apiVersion": "v1",

	"metadata.labels.scaledobject.keda.sh/name": anything, // that KEDA puts on a ScaledObject

	"spec.clusterIP":             anything,
	"spec.clusterIPs":            anything,
	"spec.ipFamilies":            anything,
	"spec.ipFamilyPolicy":        anything,
	"spec.internalTrafficPolicy": "Cluster",
	"spec.sessionAffinity":       "None",
}

// probeDefaults are those of every probe.
var probeDefaults = map[string]any{"timeoutSeconds": 1., "periodSeconds": 10., "successThreshold": 1.,
	"failureThreshold": 3., "httpGet.scheme": "HTTP"}

// allocated stands for a value that the API server chooses.
type allocated struct{}

var anything = allocated{}

// usual reports whether a field that was not rendered has the value that the API server gives it, or says nothing.
func (c *comparison) usual(pattern string, value any) bool {
	if empty(value) {
		return true
	}
	for _, probe := range []string{".startupProbe.", ".readinessProbe.", ".livenessProbe."} {
		if field, found := strings.CutPrefix(pattern, podSpec+".containers[]"+probe); found {
			return reflect.DeepEqual(probeDefaults[field], value)
		}
	}
	want, known := defaults[pattern]
	return known && (want == anything || reflect.DeepEqual(want, value))
}

// hidden are values that the caches do not keep: the contents of Secrets. That somebody changed one is found by
// managedFields.
func hidden(kind, pattern string) bool { return kind == "Secret" && below(pattern, "data") }

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12])
}
