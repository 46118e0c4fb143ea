package usage

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// StatementMailStore remembers of which months the statements were sent. Faults: Unavailable when the database is away.
type StatementMailStore interface {
	StatementMailSent(ctx context.Context, m Month) (bool, error)
	// SendStatementMail writes the events and that the statements of the month were sent, both or neither; nothing where
	// they were already.
	SendStatementMail(ctx context.Context, m Month, events ...audit.Event) error
}

// StatementMail announces what the last month came to, once for each team that held anything in it. Who receives the
// events is decided by package notify.
type StatementMail struct {
	Store      StatementMailStore
	Statements *Service
	Technology func(name string) i18n.Text // in words: "MIG"
}

// mailAfter is how long after its end its statements are sent: by then clusters and metrics that were silent over the
// turn of the month have mostly said what became of its last hours.
const mailAfter = 6 * time.Hour

// Send tells of the last month, if it is over for long enough and nobody has sent it. It can be killed anywhere,
// called again at any time and run twice at once. A portal that was switched off over several months tells of the last
// one only.
func (m *StatementMail) Send(ctx context.Context) error {
	s, month := m.Statements, m.Statements.Month().Add(-1)
	if s.Now().Before(month.Span(s.Zone).Until.Add(mailAfter)) {
		return nil
	}
	if sent, err := m.Store.StatementMailSent(ctx, month); err != nil || sent {
		return err
	}
	st, err := s.statement(ctx, Filter{}, month)
	if err != nil {
		return err
	}
	return m.Store.SendStatementMail(ctx, month, m.events(st)...)
}

// events are one for each team, in the order of their names. Time that nobody can tell of is neither held nor charged,
// so it alone is nothing to tell.
func (m *StatementMail) events(st Statement) []audit.Event {
	var list []audit.Event
	for _, team := range st.By(Groupings["team"]) {
		if team.Key == "" || !slices.ContainsFunc(team.Lines, func(l Line) bool { return l.Held > 0 }) {
			continue
		}
		e := audit.By(identity.System(), audit.StatementSent, m.Statements.Now())
		e.Tenant, e.Detail = team.Key, m.totals(st.Month, team)
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b audit.Event) int { return strings.Compare(a.Tenant, b.Tenant) })
	return list
}

// mostKinds is how many kinds of GPU are told one by one: a message is to be read at a glance, the page has them all.
const mostKinds = 3

// totals are what a month came to, in a few sentences. What was not there is left out.
func (m *StatementMail) totals(month Month, s Sum) i18n.Text {
	cost, rest := i18n.T("usage.monthly_free"), []i18n.Text(nil)
	some := charged(s.Cost)
	if some {
		cost = amounts(s.Cost)
	}
	if n := len(s.GPU); n > 0 && n <= mostKinds {
		hours := make([]i18n.Text, n)
		for i, t := range s.GPU {
			hours[i] = i18n.T("usage.monthly_hours", "Hours", decimal(strconv.FormatFloat(t.Time.Hours(), 'f', 1, 64)), "Kind",
				m.kind(t.Kind))
		}
		rest = append(rest, i18n.T("usage.monthly_gpu", "Hours", joined("usage.monthly_list", hours)))
	}
	switch {
	case !some || s.Use.Held == 0:
	case !s.Use.Known():
		rest = append(rest, i18n.T("usage.monthly_idle_unknown"))
	default:
		rest = append(rest, i18n.T("usage.monthly_idle", "Cost", amounts(s.Idle), "Known", known(s.Use)))
	}
	if storage := partCost(s, func(l Line) bool { return l.Volume != "" }); charged(storage) {
		rest = append(rest, i18n.T("usage.monthly_storage", "Cost", amounts(storage)))
	}
	if seats := partCost(s, func(l Line) bool { return l.Seats.Pool != "" }); charged(seats) {
		rest = append(rest, i18n.T("usage.monthly_seats", "Cost", amounts(seats)))
	}
	if s.Unknown > 0 {
		rest = append(rest, i18n.T("usage.monthly_unknown", "Hours",
			decimal(strconv.FormatFloat(s.Unknown.Hours(), 'f', 1, 64))))
	}
	var more i18n.Text
	for _, sentence := range slices.Backward(rest) {
		more = i18n.T("usage.monthly_then", "Sentence", sentence, "Rest", more)
	}
	return i18n.T("usage.monthly", "Month", month.String(), "Cost", cost, "Rest", more)
}

// kind is "H100 80GB · MIG 1g.10gb".
func (m *StatementMail) kind(k Kind) i18n.Text {
	if !k.Known {
		return i18n.T("usage.kind_unknown")
	}
	profile := i18n.Text{}
	if k.Profile != "" {
		profile = i18n.Literal(" " + k.Profile)
	}
	if k.Model == "" {
		return i18n.T("usage.monthly_kind", "Technology", m.Technology(k.Technology), "Profile", profile)
	}
	return i18n.T("usage.monthly_model", "Model", k.Model, "Technology", m.Technology(k.Technology), "Profile", profile)
}

// known is the part of the time, in whole per cent, for which the use of GPUs was measured: 100 only where it is all of
// it, and 0 never, for something was.
func known(u CardUse) int { return max(1, min(100, int(100*u.Coverage()+1e-6))) }

func partCost(s Sum, which func(Line) bool) []Money {
	var lines []Line
	for _, l := range s.Lines {
		if which(l) {
			lines = append(lines, l)
		}
	}
	return sum("", lines).Cost
}

func charged(list []Money) bool {
	return slices.ContainsFunc(list, func(m Money) bool { return m.Minor != 0 })
}

// amounts are "12.40 EUR + 3.00 USD", with the decimal sign of the reader's language. A currency of which nothing is
// charged is left out where there is another.
func amounts(list []Money) i18n.Text {
	if charged(list) {
		list = slices.DeleteFunc(slices.Clone(list), func(m Money) bool { return m.Minor == 0 })
	}
	texts := make([]i18n.Text, len(list))
	for i, m := range list {
		texts[i] = m.Text()
	}
	return joined("usage.monthly_sum", texts)
}

// Text is "1,234.40 EUR" with the signs of the reader's language.
func (m Money) Text() i18n.Text {
	return i18n.T("usage.monthly_amount", "Number", decimal(m.Amount()), "Currency", m.Currency)
}

// MoneyOf is the number and the currency of what Text made; ok is false for any other text.
func MoneyOf(t i18n.Text) (number i18n.Text, currency string, ok bool) {
	if t.ID != "usage.monthly_amount" {
		return number, "", false
	}
	number, ok = t.Args["Number"].(i18n.Text)
	currency, named := t.Args["Currency"].(string)
	return number, currency, ok && named
}

// Number is "1,234.5" with the signs of the reader's language.
func Number(v float64) i18n.Text { return decimal(strconv.FormatFloat(v, 'f', -1, 64)) }

func decimal(number string) i18n.Text {
	whole, part, found := strings.Cut(number, ".")
	if !found {
		return thousands(whole)
	}
	return i18n.T("usage.monthly_decimal", "Whole", thousands(whole), "Part", part)
}

// thousands sets a sign between groups of three digits, from the right.
func thousands(digits string) i18n.Text {
	n := len(digits) - 3
	if n <= 0 || digits[:n] == "-" {
		return i18n.Literal(digits)
	}
	return i18n.T("usage.monthly_thousands", "First", thousands(digits[:n]), "Rest", digits[n:])
}

// joined puts texts one after the other, two at a time, as a message says.
func joined(id string, list []i18n.Text) i18n.Text {
	if len(list) == 0 {
		return i18n.Text{}
	}
	all := list[len(list)-1]
	for _, t := range slices.Backward(list[:len(list)-1]) {
		all = i18n.T(id, "First", t, "Rest", all)
	}
	return all
}
