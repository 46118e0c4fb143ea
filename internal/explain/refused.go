package explain

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refusals are the texts of admission, wherever they come up: in the error of an apply, in an event of the owner, in
// one of the pod. Sources: the API server's admission plugins (resourcequota, limitranger, priority, serviceaccount,
// lifecycle, podsecurity) and webhooks, v1.36; the pod webhook of KServe v0.20 for its storage initializer.
var refusals = []row{
	{[]string{"status unknown for quota:"}, "explain.preparing", false},
	{[]string{"failed quota:"}, "explain.size_incomplete", true}, // "must specify limits.memory for: main"
	{[]string{`(container "storage-initializer" must set`}, "explain.kserve_fetches", true},
	{[]string{"violates PodSecurity", "unable to validate against any security context constraint"}, "explain.rights",
		true},
	{[]string{"no PriorityClass with name", `RuntimeClass "`, "pod rejected: RuntimeClass"}, "explain.size_wrong", true},
	{[]string{"is being terminated"}, "explain.space_ending", false},
	{[]string{"scaling down is still in progress"}, "explain.still_stopping", false},
	{[]string{"failed calling webhook"}, "explain.platform_down", false},
	{[]string{"denied the request"}, "explain.rule_of_site", true},
	{[]string{"error looking up service account", "serviceaccount \""}, "explain.preparing", false},
	{[]string{"must be equal to", "must be an integer"}, "explain.size_wrong", true},
}

// refusal finds what an admission text means.
func refusal(f Facts, text string) finding {
	if strings.Contains(text, "exceeded quota:") {
		return quota(f, text)
	}
	if m := perContainer.FindStringSubmatch(text); m != nil {
		return newFinding(text, "explain.too_much", "Most", amount(m[2]), "Resource", name(m[1])).terminal()
	}
	if r, ok := match(refusals, text); ok {
		found := newFinding(text, r.id, "Size", f.size())
		found.failed = r.failed
		return found
	}
	return finding{}
}

var perContainer = regexp.MustCompile(`maximum (\S{1,80}) usage per (?:Container|Pod) is ([^,\s]{1,20})`)

// quota reads "exceeded quota: <name>, requested: a=1,b=2, used: a=4,b=0, limited: a=4,b=1". Only what is exceeded is
// listed.
func quota(f Facts, text string) finding {
	used, limited := amounts(text, "used: "), amounts(text, "limited: ")
	own := corev1.DefaultResourceRequestsPrefix + f.resource()
	if f.resource() != "" && limited[own] != "" {
		if limited[own] == "0" {
			return newFinding(text, "explain.quota_none", "Size", f.size())
		}
		return newFinding(text, "explain.quota_full", "Size", f.size(), "Used", amount(used[own]), "Limit",
			amount(limited[own]))
	}
	for _, key := range keys(text, "limited: ") {
		return newFinding(text, "explain.quota_other", "Resource",
			name(strings.TrimPrefix(key, corev1.DefaultResourceRequestsPrefix)),
			"Used", amount(used[key]), "Limit", amount(limited[key]))
	}
	return newFinding(text, "explain.quota_unknown")
}

// section is the list after a word in a quota denial, at most a few dozen entries.
func section(text, after string) []string {
	_, rest, ok := strings.Cut(text, after)
	if !ok {
		return nil
	}
	rest, _, _ = strings.Cut(rest, " ")
	return strings.SplitN(strings.TrimRight(rest, ",."), ",", 50)
}

func amounts(text, after string) map[string]string {
	list := map[string]string{}
	for _, pair := range section(text, after) {
		if key, value, ok := strings.Cut(pair, "="); ok {
			list[key] = value
		}
	}
	return list
}

func keys(text, after string) []string {
	var list []string
	for _, pair := range section(text, after) {
		if key, _, ok := strings.Cut(pair, "="); ok {
			list = append(list, key)
		}
	}
	return list
}

// byReason is what the API server's reason means when its text is none of the known.
var byReason = map[metav1.StatusReason]row{
	"":                                    {id: "explain.cluster_away"},
	metav1.StatusReasonAlreadyExists:      {id: "explain.foreign_object", failed: true},
	metav1.StatusReasonConflict:           {id: "explain.foreign_manager"},
	metav1.StatusReasonForbidden:          {id: "explain.portal_rights", failed: true},
	metav1.StatusReasonUnauthorized:       {id: "explain.portal_rights"},
	metav1.StatusReasonInvalid:            {id: "explain.size_wrong", failed: true},
	metav1.StatusReasonBadRequest:         {id: "explain.size_wrong", failed: true},
	metav1.StatusReasonNotFound:           {id: "explain.preparing"},
	metav1.StatusReasonTimeout:            {id: "explain.platform_down"},
	metav1.StatusReasonServerTimeout:      {id: "explain.platform_down"},
	metav1.StatusReasonInternalError:      {id: "explain.platform_down"},
	metav1.StatusReasonServiceUnavailable: {id: "explain.cluster_away"},
	metav1.StatusReasonTooManyRequests:    {id: "explain.platform_down"},
}

func refusedByAPI(f Facts) finding {
	if f.ApplyError == nil {
		return finding{}
	}
	text := f.ApplyError.Message
	if found := refusal(f, text); found.found() {
		return found
	}
	r, ok := byReason[f.ApplyError.Reason]
	if !ok {
		return newFinding(text, "explain.cluster_says")
	}
	found := newFinding(text, r.id, "Size", f.size())
	found.failed = r.failed
	return found
}

func namespaceTerminating(f Facts) finding {
	if f.Namespace == corev1.NamespaceTerminating {
		return newFinding("", "explain.space_ending", "Size", f.size())
	}
	return finding{}
}

// refusedByOwner: the pod was never made. What was made after the refusal proves that it is over.
func refusedByOwner(f Facts) finding {
	if f.Pod != nil || !f.wantsToRun() {
		return finding{}
	}
	newest := event(f.OwnerEvents, "FailedCreate", "SuccessfulCreate")
	if newest == nil || newest.Reason == "SuccessfulCreate" {
		return finding{}
	}
	if found := refusal(f, newest.Message); found.found() {
		return found
	}
	return newFinding(newest.Message, "explain.cluster_says")
}
