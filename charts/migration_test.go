package charts_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
)

const migrating = `
database: {existingSecret: portal-database, migration: {existingSecret: portal-owner, grantTo: portal}}
secrets: {key: {existingSecret: portal-key}}
`

// TestTheMigrationIsAHook: it runs before the release with nothing of it, restricted, and its pod is none that the
// Service sends to.
func TestTheMigrationIsAHook(t *testing.T) {
	objects := mustRender(t, merged(t, needed, migrating))
	job := the[batchv1.Job](t, objects, "Job", "gpu-portal-migrate")
	if got := job.Annotations["helm.sh/hook"]; got != "pre-install,pre-upgrade" {
		t.Errorf("hook: %q", got)
	}
	if got := job.Annotations["helm.sh/hook-delete-policy"]; !strings.Contains(got, "before-hook-creation") {
		t.Errorf("a second run finds the Job of the first: %q", got)
	}
	pod := job.Spec.Template.Spec
	if bad := unrestricted(pod); len(bad) > 0 {
		t.Errorf("%v", bad)
	}
	if pod.ServiceAccountName != "" || *pod.AutomountServiceAccountToken {
		t.Error("it needs an account that is not there yet")
	}
	for _, v := range pod.Volumes {
		if v.ConfigMap != nil || v.Secret != nil {
			t.Errorf("it needs %s, which is not there yet", v.Name)
		}
	}
	if got := job.Spec.Template.Labels["app.kubernetes.io/component"]; got == "web" || got == "controller" {
		t.Errorf("component %q has callers", got)
	}
	for values, want := range map[string]string{
		"database: {migration: {existingSecret: x}}\n": "database.migration",
		"database: {cloudNativePG: {enabled: true}, migration: {existingSecret: x}}\nsecrets: {key: {existingSecret: k}}\n": "database.migration",
	} {
		if _, err := render(t, merged(t, needed, values)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want a problem with %s, got %v", values, want, err)
		}
	}
}

// TestTheMigrationRunsTwice: what the Job runs, run as it stands on a new database and again on the same one, as an
// upgrade that was stopped half way does.
func TestTheMigrationRunsTwice(t *testing.T) {
	job := the[batchv1.Job](t, mustRender(t, merged(t, needed, migrating)), "Job", "gpu-portal-migrate")
	owner := storetest.EmptyPostgres(t)
	account := madeAccount(t, owner)
	program := filepath.Join(t.TempDir(), "portal")
	if said, err := exec.Command("go", "build", "-o", program, "../cmd/portal").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	container := job.Spec.Template.Spec.Containers[0]
	if container.Env[0].Name != "PORTAL_DATABASE" || container.Env[0].ValueFrom.SecretKeyRef.Name != "portal-owner" {
		t.Fatalf("%+v", container.Env)
	}
	args := slices.Clone(container.Args)
	if !slices.Equal(args, []string{"migrate", "--grant-to", "portal"}) {
		t.Fatalf("%q", args)
	}
	args[2] = account
	for range 2 {
		run := exec.Command(program, args...)
		run.Env = append(os.Environ(), "PORTAL_DATABASE="+owner)
		said, err := run.CombinedOutput()
		if err != nil || !strings.Contains(string(said), "up to date") ||
			!strings.Contains(string(said), account+" may run") {
			t.Fatalf("%v\n%s", err, said)
		}
	}
}

// madeAccount is an account of the server without rights, for the length of the test.
func madeAccount(t *testing.T, owner string) string {
	t.Helper()
	u, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	account := "portal_" + strings.ReplaceAll(strings.Trim(u.Path, "/"), "-", "_")
	c, err := pgx.Connect(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), "CREATE ROLE "+account); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_, _ = c.Exec(ctx, "DROP OWNED BY "+account)
		_, _ = c.Exec(ctx, "DROP ROLE "+account)
		_ = c.Close(ctx)
	})
	return account
}
