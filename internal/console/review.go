package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity/clusteruser"
)

const (
	reviewedFor   = time.Minute     // how long an answer of the API server counts
	streamsFor    = 2 * time.Minute // how long an open page follows changes without another call
	mostReviewed  = 10_000          // tokens that are remembered
	reviewsPerSec = 50              // of tokens that are not remembered
	reviewWithin  = 10 * time.Second
)

// Reviewer asks the API server whose a token is, with that token itself (SelfSubjectReview), which needs no right of
// the portal. It keeps hashes of tokens, never a token.
type Reviewer struct {
	cluster *rest.Config
	now     func() time.Time
	limit   *rate.Limiter

	mu    sync.Mutex
	known map[string]reviewed
}

type reviewed struct {
	user clusteruser.User
	at   time.Time
}

// NewReviewer asks the API server of this cluster; credentials in the configuration are not used.
func NewReviewer(cluster *rest.Config, now func() time.Time) *Reviewer {
	return &Reviewer{cluster: rest.AnonymousClientConfig(cluster), now: now, known: map[string]reviewed{},
		limit: rate.NewLimiter(reviewsPerSec, 2*reviewsPerSec)}
}

// sessionOf names a token in logs, streams and the audit record.
func sessionOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "console-" + hex.EncodeToString(sum[:16])
}

// Review says whom a token belongs to. Faults: Unauthenticated for a token that the API server refuses, TooMany,
// Unavailable.
func (v *Reviewer) Review(ctx context.Context, token string) (clusteruser.User, error) {
	session := sessionOf(token)
	if r, ok := v.recall(session); ok && v.now().Sub(r.at) < reviewedFor {
		return r.user, nil
	}
	if !v.limit.Allow() {
		f := fault.New(fault.TooMany, i18n.T("console.too_many"))
		f.RetryAfter = time.Second
		return clusteruser.User{}, f
	}
	u, err := v.ask(ctx, token)
	if err == nil {
		v.remember(session, u)
	} else {
		v.forget(session)
	}
	return u, err
}

// Until is until when an open page of a session may follow changes; ok is false for a token that was not seen lately.
func (v *Reviewer) Until(session string) (until time.Time, ok bool) {
	r, ok := v.recall(session)
	until = r.at.Add(streamsFor)
	return until, ok && v.now().Before(until)
}

func (v *Reviewer) ask(ctx context.Context, token string) (clusteruser.User, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewWithin)
	defer cancel()
	c := rest.CopyConfig(v.cluster)
	c.BearerToken = token
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return clusteruser.User{}, err
	}
	r, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	switch {
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		return clusteruser.User{}, fault.New(fault.Unauthenticated, i18n.T("console.token"))
	case err != nil:
		return clusteruser.User{}, fault.New(fault.Unavailable, i18n.T("console.no_api_server"))
	}
	u := clusteruser.User{Name: r.Status.UserInfo.Username, UID: r.Status.UserInfo.UID, Extra: map[string][]string{}}
	for key, values := range r.Status.UserInfo.Extra {
		u.Extra[key] = values
	}
	return u, nil
}

func (v *Reviewer) recall(session string) (reviewed, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r, ok := v.known[session]
	return r, ok
}

func (v *Reviewer) remember(session string, u clusteruser.User) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.known) >= mostReviewed {
		for s, r := range v.known {
			if v.now().Sub(r.at) >= streamsFor {
				delete(v.known, s)
			}
		}
	}
	if len(v.known) >= mostReviewed {
		clear(v.known) // everybody is asked about again
	}
	v.known[session] = reviewed{user: u, at: v.now()}
}

func (v *Reviewer) forget(session string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.known, session)
}
