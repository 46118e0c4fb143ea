package reconcile

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// trouble is what an error of applying means: whether anything can be said of the cluster at all, whether trying again
// helps, and what people are told.
type trouble struct {
	away    bool                // the cluster did not answer: nothing is concluded
	lasting bool                // refused: somebody must change something first
	own     bool                // the controller itself refused, and its sentence is the right one
	reason  i18n.Text           // zero for no trouble
	status  metav1.StatusReason // the API server's
	detail  string              // its words
}

func (t trouble) any() bool { return !t.reason.IsZero() }

// refusals are the API server's reasons that trying again does not change; its texts do not matter. What is not listed
// is tried again.
var refusals = map[metav1.StatusReason]bool{
	metav1.StatusReasonForbidden:             true,
	metav1.StatusReasonInvalid:               true,
	metav1.StatusReasonBadRequest:            true,
	metav1.StatusReasonRequestEntityTooLarge: true,
	metav1.StatusReasonMethodNotAllowed:      true,
}

// silences are the reasons that are no answer to what was asked.
var silences = map[metav1.StatusReason]bool{
	metav1.StatusReasonUnauthorized:       true,
	metav1.StatusReasonServiceUnavailable: true,
	metav1.StatusReasonTimeout:            true,
}

func troubleOf(err error) trouble {
	var foreign foreignError
	var rights noRightsError
	var space noNamespaceError
	var rendering renderError
	var busy busyError
	var unserved unservedError
	var answer apierrors.APIStatus
	switch {
	case err == nil:
		return trouble{}
	case errors.As(err, &foreign):
		reason := i18n.T("reconcile.foreign", "Kind", foreign.Kind, "Name", foreign.Name)
		return trouble{lasting: true, own: true, reason: reason, detail: foreign.Error()}
	case errors.As(err, &rights):
		return trouble{lasting: true, own: true, reason: i18n.T("reconcile.no_rights", "Namespace", rights.namespace),
			detail: rights.Error()}
	case errors.As(err, &space):
		return trouble{lasting: true, own: true, reason: i18n.T("reconcile.no_namespace", "Namespace", space.namespace,
			"Tenant", space.tenant), detail: space.Error()}
	case errors.Is(err, errNamespaceLeaving):
		return trouble{lasting: true, own: true, reason: i18n.T("reconcile.namespace_leaving"), detail: err.Error()}
	case errors.As(err, &unserved):
		return trouble{lasting: true, own: true, reason: i18n.T("reconcile.unserved", "Cluster", unserved.cluster),
			detail: unserved.Error()}
	case errors.As(err, &rendering):
		return trouble{lasting: true, own: true, reason: i18n.T("reconcile.unusable"), detail: rendering.Error()}
	case fault.Is(err, fault.NotFound):
		return trouble{lasting: true, own: true, reason: fault.As(err).Sentence}
	case errors.As(err, &answer):
		return answered(err, answer.Status())
	case errors.As(err, &busy):
		return trouble{own: true, reason: i18n.T("reconcile.retrying"), detail: err.Error()}
	}
	return trouble{away: true} // the network, the database, or the spec has changed meanwhile
}

func answered(err error, s metav1.Status) trouble {
	t := trouble{status: s.Reason, detail: s.Message, reason: i18n.T("reconcile.retrying")}
	switch {
	case silences[s.Reason]:
		return trouble{away: true}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		t.lasting, t.own, t.reason = true, true, i18n.T("reconcile.namespace_leaving")
	case refusals[s.Reason]:
		t.lasting, t.reason = true, i18n.T("reconcile.refused")
	}
	return t
}
