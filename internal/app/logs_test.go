package app

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/config"
)

// linesWith are those of the log that have all of the words.
func (w *world) linesWith(words ...string) (found []string) {
	for line := range strings.Lines(w.log.String()) {
		has := true
		for _, word := range words {
			has = has && strings.Contains(" "+strings.TrimSpace(line)+" ", " "+word+" ")
		}
		if has {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// TestACallIsOneLineWithWhoAndWhich: the line of a call, to the portal and to a workload, names it as its answer does.
func TestACallIsOneLineWithWhoAndWhich(t *testing.T) {
	w := newWorld(t)
	asked := w.call(w.token(developer), http.MethodGet, "/api/v1/me", nil)
	id, person := asked.header.Get("X-Request-Id"), string(w.person(developer).ID)
	w.until("the call is logged", func() bool { return len(w.linesWith("msg=call", "request="+id)) > 0 })
	lines := w.linesWith("msg=call", "request="+id, "actor="+person, "path=/api/v1/me", "status=200")
	if len(lines) != 1 || strings.Count(lines[0], "request=") != 1 {
		t.Errorf("want one line that names call and person once, got %q of %q", lines, w.linesWith("request="+id))
	}

	b := w.browser()
	b.signIn(developer)
	item := w.running(developer, "vision")
	if got := w.atNotebook(item.Name, w.gatewayCookie(b, string(item.ID))); got == http.StatusUnauthorized {
		t.Fatalf("the gateway answers %d", got)
	}
	at := []string{`msg="gateway`, "workload=" + string(item.ID)}
	w.until("the gateway logs the call", func() bool { return len(w.linesWith(at...)) > 0 })
	lines = w.linesWith(append(at, "actor="+person, "cluster=main", "method=GET")...)
	if len(lines) != 1 || !strings.Contains(lines[0], "request=") {
		t.Errorf("want person, workload and cluster, got %q of %q", lines, w.linesWith(at...))
	}
}

// TestTheLogLevelChangesAtRunTime: by the API, for a time, and then the settings' level is back.
func TestTheLogLevelChangesAtRunTime(t *testing.T) {
	level := new(slog.LevelVar)
	w := newWorldWith(t, []Option{WithLogLevel(level)}, func(c *config.Config) { c.Log.Level = "error" })
	if level.Level() != slog.LevelError {
		t.Fatalf("want the settings' level, got %s", level.Level())
	}
	adm := w.token(admin)
	a := w.call(adm, http.MethodPut, "/api/v1/log-level", map[string]any{"level": "debug", "for": "30m"})
	if a.status != http.StatusOK || !strings.Contains(a.body, `"configured":"error"`) || level.Level() != slog.LevelDebug {
		t.Errorf("want debug at once, got %s, %d %s", level.Level(), a.status, a.body)
	}
	if !strings.Contains(w.log.String(), "log level changed") {
		t.Error("the change is not in the log")
	}
	w.clock.pass(31 * time.Minute)
	w.until("the settings' level is back", func() bool { return level.Level() == slog.LevelError })
	if a := w.call(adm, http.MethodGet, "/api/v1/log-level", nil); strings.Contains(a.body, "until") {
		t.Errorf("the override is over, got %s", a.body)
	}
	record := w.call(adm, http.MethodGet, "/api/v1/audit?kind=loglevel.set", nil)
	if !strings.Contains(record.body, "loglevel.set") {
		t.Errorf("want it on record, got %d %s", record.status, record.body)
	}
}
