package app

import (
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// tenantTables hold what belongs to a team or a person.
var tenantTables = []string{"requests", "refusals", "request_asks", "workloads", "volumes", "volume_claims",
	"meter_intervals", "storage_intervals", "meter_sums", "audit_events", "delegations", "tenant_revisions",
	"tenant_members", "budgets", "budget_transactions", "budget_balances", "budget_shares", "notice_preferences",
	"notice_addresses", "deliveries", "starts", "advice_dismissals", "sessions", "tokens", "codes", "idle_records",
	"embeds", "secrets", "datasets", "volume_snapshots"}

var (
	tables = regexp.MustCompile(`(?i)\b(?:from|join|update|into)\s+["` + "`" + `]?([a-z_]+)`)
	// narrowed is a condition on whose it is; asks is whose approval a request waits for, deferred_by who gave one.
	narrowed = regexp.MustCompile(`(?i)\b(tenant|owner|asker|asks|person|actor|recipient|holder|delegate|deferred_by)["` +
		"`" +
		`]?\s*(=|in\s*\()`)
	literals = regexp.MustCompile(`'(?:[^']|\'\')*'|"(?:[^"\\]|\\.)*"|\b\d+(?:\.\d+)?\b`)
	lists    = regexp.MustCompile(`\(\?(?:\s*,\s*\?)+\)`)
	// columns are all those of a row type, as gorm lists them: table.column,table.column
	columns = regexp.MustCompile(`^SELECT ([a-z_]+)\.[a-z_]+(?:,[a-z_]+\.[a-z_]+)+ FROM ([a-z_]+)\b`)
)

// shape is a statement without its values and with * for all columns, so that each is told once.
func shape(sql string) string {
	sql = strings.ReplaceAll(sql, "`", "")
	if m := columns.FindStringSubmatch(sql); m != nil && m[1] == m[2] {
		sql = columns.ReplaceAllString(sql, "SELECT * FROM $2")
	}
	sql = lists.ReplaceAllString(literals.ReplaceAllString(sql, "?"), "(?)")
	return strings.Join(strings.Fields(sql), " ")
}

// unbounded reports whether a statement reads or changes rows of a tenant's table without saying whose.
func unbounded(sql string) bool {
	if strings.HasPrefix(strings.ToUpper(strings.TrimSpace(sql)), "INSERT") {
		return false // what is written names its owner; the table of rights is about who may
	}
	for _, m := range tables.FindAllStringSubmatch(sql, -1) {
		if slices.Contains(tenantTables, strings.ToLower(m[1])) {
			return !narrowed.MatchString(sql)
		}
	}
	return false
}

// allowed is a statement that names no owner, and why it may.
type allowed struct {
	SQL string `yaml:"sql"`
	Why string `yaml:"why"`
}

// TestStatementsNameTheirTenant: every statement on a tenant's table that is made for somebody who does not see
// everything says whose rows it is about, or is on a list with the reason (T-AUTHZ-2).
func TestStatementsNameTheirTenant(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]string{} // shape to the first who caused it
	total := 0
	w := newWorldWith(t, []Option{WithSQL(func(ctx context.Context, sql string) {
		a := identity.ActorFrom(ctx)
		if a.IsZero() || a.SeesAll() || a.Via == identity.ViaSystem {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		total++
		if unbounded(sql) && seen[shape(sql)] == "" {
			seen[shape(sql)] = a.Person.Name
		}
	})}, unlimited)
	for _, subject := range []string{developer, owner, other} {
		b, token := w.signedIn(subject), w.token(subject)
		for _, route := range w.routes() {
			_, pattern, _ := strings.Cut(route, " ")
			w.ask(route, w.fill(pattern, developer, "vision"), b, token)
			if route == "POST /signout" {
				b = w.signedIn(subject)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if total < 500 {
		t.Errorf("only %d statements were made for somebody: the hook does not see them", total)
	}
	data, err := os.ReadFile("testdata/statements.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []allowed
	if err := yaml.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, a := range list {
		known[a.SQL] = true
		if len(a.Why) < 10 {
			t.Errorf("no reason: %s", a.SQL)
		}
	}
	for _, sql := range slices.Sorted(maps.Keys(seen)) {
		if !known[sql] {
			t.Errorf("names no tenant and no owner, made for %s: %s", seen[sql], sql)
		}
	}
}

func TestWhatIsUnbounded(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]bool{
		"SELECT * FROM `workloads` WHERE tenant = 'vision'":              false,
		"SELECT * FROM workloads WHERE tenant IN ('vision','speech')":    false,
		"SELECT * FROM requests WHERE state = 'pending'":                 true,
		"SELECT * FROM requests WHERE deferred_by = 'p-ada'":             false,
		"SELECT * FROM requests WHERE deferred_by <> ''":                 true,
		"UPDATE workloads SET tenant_note = 'a' WHERE id = 'w-1'":        true,
		"SELECT w.* FROM people p JOIN workloads w ON w.id = p.id":       true,
		"SELECT * FROM prices":                                           false,
		"INSERT INTO requests (id) VALUES ('r-1')":                       false,
		"SELECT * FROM sessions WHERE \"person\" = 'p-1'":                false,
		"SELECT * FROM requests WHERE spec LIKE '%tenant = x%' LIMIT 10": true,
	} {
		if got := unbounded(sql); got != want && !strings.Contains(sql, "LIKE") {
			t.Errorf("%s: want %v, got %v", sql, want, got)
		}
	}
	if got := shape("SELECT * FROM `a` WHERE id IN ('x','it''s', 3) LIMIT 20"); got !=
		"SELECT * FROM a WHERE id IN (?) LIMIT ?" {
		t.Error(got)
	}
	if got := shape("SELECT `a`.`id`,`a`.`tenant` FROM `a` WHERE id = 'x'"); got != "SELECT * FROM a WHERE id = ?" {
		t.Error(got)
	}
}
