package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Hooks sends webhooks that are signed as https://www.standardwebhooks.com says, version 1.0.0: over id, time and body,
// with HMAC-SHA256.
type Hooks struct {
	Client *http.Client
	Now    func() time.Time
}

const secretPrefix = "whsec_"

// NewSecret draws a key to sign with.
func NewSecret() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails, see crypto/rand
	return secretPrefix + base64.StdEncoding.EncodeToString(key[:])
}

// payload is the body of a webhook.
type payload struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // of the event
	Data      Notice    `json:"data"`
}

// Send posts a webhook. Each attempt has the time of its own and the same id.
func (h Hooks) Send(ctx context.Context, m Message) error {
	body, err := json.Marshal(payload{"notice." + string(m.Kind), m.At.UTC(), m.Notice})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.Target.URL, bytes.NewReader(body))
	if err != nil {
		return refusal{errNotAllowed}
	}
	at := strconv.FormatInt(h.Now().Unix(), 10)
	signatures, err := Sign(m.Target.Secrets, m.ID, at, body)
	if err != nil {
		return refusal{err}
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "User-Agent": "gpu-portal",
		"webhook-id": m.ID, "webhook-timestamp": at, "webhook-signature": signatures} {
		r.Header.Set(name, value)
	}
	answer, err := h.Client.Do(r)
	if err != nil {
		return plainly(err, m.Target.URL)
	}
	_ = answer.Body.Close()
	return judge(answer.StatusCode)
}

// Sign gives the signatures of a body, one for each secret, so that a receiver that still has the old one goes on
// during a rotation.
func Sign(secrets []string, id, at string, body []byte) (string, error) {
	var all []string
	for _, s := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, secretPrefix))
		if err != nil || len(key) < 24 || !strings.HasPrefix(s, secretPrefix) {
			return "", newDeliveryError("the secret of the webhook cannot be read", "notify.failed.secret")
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + at + "."))
		mac.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if len(all) == 0 {
		return "", newDeliveryError("the webhook has no secret", "notify.failed.secret")
	}
	return strings.Join(all, " "), nil
}
