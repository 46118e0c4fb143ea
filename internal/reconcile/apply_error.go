package reconcile

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/kube"
)

// applyError is what an error of applying means: whether anything can be said of the cluster at all, whether trying
// again helps, and what people are told.
type applyError struct {
	unreachable bool                // the cluster did not answer: nothing is concluded
	terminal    bool                // refused: somebody must change something first
	own         bool                // the controller itself refused, and its sentence is the right one
	reason      i18n.Text           // zero for no trouble
	status      metav1.StatusReason // the API server's
	detail      string              // its words
}

func (t applyError) any() bool { return !t.reason.IsZero() }

// terminalReasons are the API server's reasons that trying again does not change; its texts do not matter. What is not
// listed is tried again.
var terminalReasons = map[metav1.StatusReason]bool{
	metav1.StatusReasonForbidden:             true,
	metav1.StatusReasonInvalid:               true,
	metav1.StatusReasonBadRequest:            true,
	metav1.StatusReasonRequestEntityTooLarge: true,
	metav1.StatusReasonMethodNotAllowed:      true,
}

// unreachableReasons are the reasons that are no answer to what was asked.
var unreachableReasons = map[metav1.StatusReason]bool{
	metav1.StatusReasonUnauthorized:       true,
	metav1.StatusReasonServiceUnavailable: true,
	metav1.StatusReasonTimeout:            true,
}

func applyErrorOf(err error) applyError {
	var foreign foreignError
	var rights noRightsError
	var space noNamespaceError
	var rendering renderError
	var busy busyError
	var unserved unservedError
	var answer apierrors.APIStatus
	switch {
	case err == nil:
		return applyError{}
	case errors.As(err, &foreign):
		reason := i18n.T("reconcile.foreign", "Kind", foreign.Kind, "Name", foreign.Name)
		return applyError{terminal: true, own: true, reason: reason, detail: foreign.Error()}
	case errors.As(err, &rights):
		return applyError{terminal: true, own: true, reason: i18n.T("reconcile.no_rights", "Namespace", rights.namespace),
			detail: rights.Error()}
	case errors.As(err, &space):
		return applyError{terminal: true, own: true, reason: i18n.T("reconcile.no_namespace", "Namespace", space.namespace,
			"Tenant", space.tenant), detail: space.Error()}
	case errors.Is(err, errNamespaceLeaving):
		return applyError{terminal: true, own: true, reason: i18n.T("reconcile.namespace_leaving"), detail: err.Error()}
	case errors.As(err, &unserved) && unserved.Kind == kube.InferenceServiceKind:
		return applyError{terminal: true, own: true, reason: i18n.T("reconcile.no_kserve", "Cluster", unserved.cluster),
			detail: unserved.Error()}
	case errors.As(err, &unserved) && unserved.Kind == kube.JobSetKind:
		return applyError{terminal: true, own: true, reason: i18n.T("reconcile.no_jobset", "Cluster", unserved.cluster),
			detail: unserved.Error()}
	case errors.As(err, &unserved) && unserved.api() == kube.KEDAAPI:
		return applyError{terminal: true, own: true, detail: unserved.Error(),
			reason: i18n.T("reconcile.no_keda", "Cluster", unserved.cluster)}
	case errors.As(err, &unserved) && unserved.Kind == kube.LeaderWorkerSetKind:
		return applyError{terminal: true, own: true, detail: unserved.Error(),
			reason: i18n.T("reconcile.no_leaderworkerset", "Cluster", unserved.cluster)}
	case errors.As(err, &unserved) && (unserved.Kind == kube.InferencePoolKind || unserved.Kind == kube.HTTPRouteKind):
		return applyError{terminal: true, own: true, detail: unserved.Error(),
			reason: i18n.T("reconcile.no_model_gateway", "Cluster", unserved.cluster)}
	case errors.As(err, &unserved) && (unserved.api() == kube.EnvoyAPI || unserved.api() == kube.EnvoyAIAPI):
		return applyError{terminal: true, own: true, detail: unserved.Error(),
			reason: i18n.T("reconcile.no_envoy_ai_gateway", "Cluster", unserved.cluster)}
	case errors.As(err, &unserved) && (unserved.api() == kube.KuadrantAPI || unserved.api() == kube.KuadrantTokensAPI):
		return applyError{terminal: true, own: true, detail: unserved.Error(),
			reason: i18n.T("reconcile.no_kuadrant", "Cluster", unserved.cluster)}
	case errors.As(err, &unserved):
		return applyError{terminal: true, own: true, reason: i18n.T("reconcile.unserved", "Cluster", unserved.cluster),
			detail: unserved.Error()}
	case errors.As(err, &rendering):
		return applyError{terminal: true, own: true, reason: i18n.T("reconcile.unusable"), detail: rendering.Error()}
	case fault.Is(err, fault.NotFound):
		return applyError{terminal: true, own: true, reason: fault.As(err).Sentence}
	case errors.As(err, &answer):
		return statusError(err, answer.Status())
	case errors.As(err, &busy):
		return applyError{own: true, reason: i18n.T("reconcile.retrying"), detail: err.Error()}
	}
	return applyError{unreachable: true} // the network, the database, or the spec has changed meanwhile
}

func statusError(err error, s metav1.Status) applyError {
	t := applyError{status: s.Reason, detail: s.Message, reason: i18n.T("reconcile.retrying")}
	switch {
	case unreachableReasons[s.Reason]:
		return applyError{unreachable: true}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		t.terminal, t.own, t.reason = true, true, i18n.T("reconcile.namespace_leaving")
	case terminalReasons[s.Reason]:
		t.terminal, t.reason = true, i18n.T("reconcile.refused")
	}
	return t
}
