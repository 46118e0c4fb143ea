package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// operatorView is a view for people at a database console. Nothing in the portal reads it.
type operatorView struct {
	name    string
	columns []string
	from    string
}

// operatorViews show what the tables keep as microseconds and minor units in timestamptz and units of the currency.
// A later version only appends columns: CREATE OR REPLACE VIEW refuses every other change.
func operatorViews() []operatorView {
	return []operatorView{
		{"operator_workloads", append([]string{"id", "name", "kind", "tenant", "owner", "owner_name", "size_name AS size",
			"cluster", "namespace", "volume", "storage_gib", "desired", "state"}, timestamps("lease_from", "lease_until",
			"placed_at", "created_at", "updated_at")...), "workloads"},
		{"operator_requests", append([]string{"id", "kind", "asker", "asker_name", "tenant", "name", "workload",
			"size_name AS size", "state", units("estimate_minor", "estimate_currency") + " AS estimate",
			"estimate_currency AS currency"}, timestamps("created_at", "expires_at", "decided_at")...), "requests"},
		{"operator_meter_intervals", append([]string{"m.workload", "w.name", "m.tenant", "w.owner", "w.owner_name",
			"m.cluster", "m.size_name AS size", units("m.price_minor", "m.price_currency") + " AS price_per_hour",
			"m.price_currency AS currency", "m.seat_pool", "m.seats",
			fmt.Sprintf("ROUND(m.parts / %d.0, 6) AS cards", usage.Parts),
			"ROUND((m.until_at - m.from_at) / 3600000000.0, 6) AS hours"},
			timestamps("m.from_at", "m.until_at", "m.unknown_until")...),
			"meter_intervals AS m LEFT JOIN workloads AS w ON w.id = m.workload"},
		{"operator_audit", append(append([]string{"seq"}, timestamps("at")...), "kind", "actor", "actor_name", "address",
			"tenant",
			"request", "workload", "volume", "rule", "detail", "behalf", "behalf_name", "via", "credential",
			"credential_name", "changes", "link"), "audit_events"},
	}
}

// timestamps are columns of microseconds since 1970 as timestamptz, under their own names. Interval arithmetic is exact
// there, to_timestamp of a fraction is not.
func timestamps(columns ...string) []string {
	list := make([]string, len(columns))
	for i, c := range columns {
		_, name, qualified := strings.Cut(c, ".")
		if !qualified {
			name = c
		}
		list[i] = "TIMESTAMPTZ 'epoch' + " + c + " * INTERVAL '1 microsecond' AS " + name
	}
	return list
}

// units is an amount of minor units in units of its currency, with as many digits as ISO 4217 gives it.
func units(minor, currency string) string {
	codes := map[int][]string{}
	for _, code := range allCodes() {
		if digits := usage.Digits(code); digits != 2 {
			codes[digits] = append(codes[digits], "'"+code+"'")
		}
	}
	b := strings.Builder{}
	b.WriteString("CASE")
	for digits := range 5 {
		if list := codes[digits]; len(list) > 0 {
			fmt.Fprintf(&b, " WHEN %s IN (%s) THEN ROUND(%s / %d.0, %d)", currency, strings.Join(list, ", "), minor,
				pow10(digits), digits)
		}
	}
	fmt.Fprintf(&b, " ELSE ROUND(%s / 100.0, 2) END", minor)
	return b.String()
}

// allCodes are the three-letter words that a currency can be called by.
func allCodes() []string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	var codes []string
	for _, a := range letters {
		for _, b := range letters {
			for _, c := range letters {
				codes = append(codes, string([]rune{a, b, c}))
			}
		}
	}
	return codes
}

func pow10(n int) (power int) {
	power = 1
	for range n {
		power *= 10
	}
	return power
}

// createOperatorViews makes or renews the views. An account that does not own the tables leaves them to the owner.
func (p *postgresServer) createOperatorViews(ctx context.Context, db *sql.DB) error {
	var owner bool
	if err := db.QueryRowContext(ctx, `SELECT pg_has_role(current_user, relowner, 'USAGE') FROM pg_class
		WHERE oid = 'workloads'::regclass`).Scan(&owner); err != nil || !owner {
		return err
	}
	for _, v := range operatorViews() {
		if _, err := db.ExecContext(ctx, "CREATE OR REPLACE VIEW "+v.name+" AS SELECT "+strings.Join(v.columns, ", ")+
			" FROM "+v.from); err != nil {
			return fmt.Errorf("create the view %s: %w", v.name, err)
		}
	}
	return nil
}

// operatorViewNames are for GRANT and REVOKE.
func operatorViewNames() string {
	var names []string
	for _, v := range operatorViews() {
		names = append(names, v.name)
	}
	return strings.Join(names, ", ")
}
