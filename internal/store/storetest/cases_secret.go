package storetest

import (
	"context"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func secretOf(id, name string, o secret.Owner) secret.Secret {
	return secret.Secret{Owner: o, ID: id, Name: name, Kind: secret.HuggingFace,
		About: map[string]string{"token": "hf_a…"},
		Env:   []string{"HF_TOKEN"}, Files: []string{"token"}, Sealed: "k.sealed", CreatedBy: "p-ada",
		CreatorName: "Ada Lovelace", CreatedAt: later(0), ReplacedAt: later(1), UsedAt: later(2), Version: 1}
}

var ofAda, ofVision = secret.Owner{Person: "p-ada"}, secret.Owner{Tenant: "vision"}

// saved inserts a workload as an approval does.
func saved(t *testing.T, s *store.Store, w workload.Workload) {
	t.Helper()
	w.Version = 0
	must(t, s.DecideExclusively(context.Background(), func(tx request.Tx) error {
		return tx.SaveWorkload(context.Background(), w)
	}))
}

var secretCases = cases{
	"a secret is its owner's: a person's and a team's may have one name, two of one owner may not": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		own, teams := secretOf("s-1", "hub", ofAda), secretOf("s-2", "hub", ofVision)
		must(t, s.CreateSecret(ctx, own, 5, Event(0)))
		must(t, s.CreateSecret(ctx, teams, 5, Event(0)))
		fails(t, fault.Conflict, s.CreateSecret(ctx, secretOf("s-3", "hub", ofAda), 5, Event(0)))
		fails(t, fault.Conflict, s.CreateSecret(ctx, secretOf("s-4", "other", ofAda), 1, Event(0)))
		equal(t, own, got(s.Secret(ctx, "s-1"))(t))
		equal(t, []secret.Secret{own}, got(s.SecretsOf(ctx, ofAda))(t))
		equal(t, []secret.Secret{teams}, got(s.SecretsOf(ctx, ofVision))(t))
		equal(t, []secret.Secret{teams}, got(s.SecretsAfter(ctx, "s-1", 10))(t))
		equal(t, 0, len(got(s.SecretsOf(ctx, secret.Owner{Person: "p-bob"}))(t)))
		if _, err := s.SecretsOf(ctx, secret.Owner{}); err == nil {
			t.Error("the secrets of nobody were listed")
		}
	},
	"what replaces or deletes a secret names the version that was seen, and wakes the workloads with it": func(
		t *testing.T, s *store.Store) {
		ctx := context.Background()
		item := secretOf("s-0", "hub", ofVision)
		must(t, s.CreateSecret(ctx, item, 5, Event(0)))
		w := Workload("w-1")
		saved(t, s, w)
		with := got(s.WorkloadsWithSecrets(ctx, ofVision))(t)
		equal(t, 1, len(with))
		equal(t, 1, len(got(s.WorkloadsWithSecrets(ctx, ofAda))(t)))
		equal(t, 0, len(got(s.WorkloadsWithSecrets(ctx, secret.Owner{Tenant: "speech"}))(t)))
		equal(t, w.CreatedAt.UTC(), got(s.Secret(ctx, "s-0"))(t).UsedAt)

		last := got(s.LastChange(ctx))(t)
		next := item
		next.Sealed, next.ReplacedAt, next.About = "k.other", later(5), map[string]string{"token": "hf_b…"}
		must(t, s.ReplaceSecret(ctx, next, with, Event(5)))
		changes := got(s.ChangesAfter(ctx, last, 10))(t)
		equal(t, 1, len(changes))
		equal(t, live.TopicWorkload, changes[0].Topic)
		equal(t, "w-1", changes[0].ID)
		read := got(s.Secret(ctx, "s-0"))(t)
		next.Version, next.UsedAt = 2, read.UsedAt
		equal(t, next, read)

		fails(t, fault.Conflict, s.ReplaceSecret(ctx, item, nil, Event(6)))
		fails(t, fault.Conflict, s.ResealSecret(ctx, item))
		fails(t, fault.Conflict, s.DeleteSecret(ctx, item, nil, Event(6)))
		read.Sealed = "j.sealed"
		must(t, s.ResealSecret(ctx, read))
		read = got(s.Secret(ctx, "s-0"))(t)
		equal(t, "j.sealed", read.Sealed)
		must(t, s.DeleteSecret(ctx, read, with, Event(7)))
		_, err := s.Secret(ctx, "s-0")
		fails(t, fault.NotFound, err)
	},
}
