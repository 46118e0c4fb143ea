package cost

import (
	"cmp"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	usageview "github.com/gpu-portal/gpu-portal/views/usage"
)

// prices answers: what costs how much, since when, and what changes for what runs.
func (w *Pages) prices(k page.Call) (page.View, error) {
	var d usage.PriceDraft
	if s, ok := w.Site().Catalog.Size(k.Get("size")); ok {
		d.Kind, d.Subject = string(usage.PriceSize), s.Name
	}
	return w.pricesView(k, typedPrices{drafts: []usage.PriceDraft{d}})
}

// typedPrices are prices to add as they were typed: one in the form, or several as text.
type typedPrices struct {
	drafts   []usage.PriceDraft
	asText   bool
	text     string
	problems []fault.Field
	unread   bool          // the text is none of prices
	impact   []usage.Price // what is shown of these; nil before somebody asked
}

// typed reports whether somebody began with the form.
func (t typedPrices) typed() bool {
	return t.asText || t.impact != nil || len(t.problems) > 0 || len(t.drafts) > 0 && t.drafts[0] != usage.PriceDraft{}
}

func (w *Pages) pricesView(k page.Call, d typedPrices) (page.View, error) {
	list, err := w.Prices.Read(k.Ctx, k.Actor)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	m := usageview.PricesModel{Header: ui.HeaderModel{Title: say.S("prices.title"), Lead: say.S("prices.lead", "Currency",
		w.Prices.Currency(), "Zone", w.Prices.Zone().String())}}
	changes := identity.Can(k.Actor, identity.ChangePrices, identity.Resource{})
	for _, p := range list {
		m.Rows = append(m.Rows, w.priceModel(say, p, changes))
	}
	order := []usageview.PriceState{usageview.PriceCounts, usageview.PriceComing, usageview.PriceOver}
	slices.SortStableFunc(m.Rows, func(a, b usageview.PriceModel) int {
		return slices.Index(order, a.State) - slices.Index(order, b.State)
	})
	m.Sizes = w.effective(say, list, changes)
	if m.Next, err = w.pricesNext(k, list); err != nil {
		return page.View{}, err
	}
	if changes {
		m.Enter = w.priceForm(say, d)
		m.Enter.Open = len(m.Rows) == 0 || d.typed()
		if len(d.problems) > 0 && !d.asText {
			m.Errors = page.FormErrors(say, d.problems)
		}
	}
	if d.impact != nil {
		if m.Impact, err = w.priceImpact(k, list, d.impact); err != nil {
			return page.View{}, err
		}
	}
	return page.View{Title: m.Header.Title, Nav: page.PricesPath, Wide: true, Body: usageview.PricesPage(m),
		Parts: []page.Part{{ID: "prices", Draw: func(page.Words) templ.Component { return usageview.Prices(m) }}}}, nil
}

func (w *Pages) priceModel(say page.Words, p usage.Price, changes bool) usageview.PriceModel {
	m := usageview.PriceModel{What: w.priceOf(say, p.Kind, p.Subject), Amount: w.rate(say, p.Kind, p.Rate),
		Team: say.S("prices.everybody"), From: w.priceTime(say, p.From), Until: "–", Who: p.AuthorName}
	if p.Tenant != "" {
		m.Team = w.TeamTitle(p.Tenant)
	}
	if !p.Until.IsZero() {
		m.Until = w.priceTime(say, p.Until)
	}
	over := !p.Until.IsZero() && !say.Now.Before(p.Until)
	switch {
	case over || p.Until.Equal(p.From):
		m.State = usageview.PriceOver
	case p.Counts(say.Now):
		m.State = usageview.PriceCounts
	default:
		m.State = usageview.PriceComing
	}
	if changes && m.State != usageview.PriceOver {
		m.ID, m.End = page.Slug(p.ID), page.PricesPath+"/"+p.ID+"/end"
	}
	return m
}

// priceOf is what a price is for, in words.
func (w *Pages) priceOf(say page.Words, kind usage.PriceKind, subject string) ui.StackModel {
	m := ui.StackModel{Title: say.Say(i18n.T("prices.kind_" + string(kind)))}
	if subject != "" {
		m.Title, m.Detail = subject, m.Title
	}
	if size, ok := w.Site().Catalog.Size(subject); ok && kind == usage.PriceSize {
		m.Title = say.SizeTitle(size)
	}
	if kind == usage.PriceSeat {
		m.Title = w.poolTitle(subject)
	}
	return m
}

func (w *Pages) rate(say page.Words, kind usage.PriceKind, m usage.UnitPrice) string {
	return say.S("prices.per_"+string(kind), "Money", say.UnitPrice(m, w.Prices.Currency()))
}

// priceTime is a moment by the clocks of the site: prices begin on its days.
func (w *Pages) priceTime(say page.Words, t time.Time) string {
	return say.Moment(t, w.Prices.Zone())
}

// pricesNext is what the sizes that run now will cost when the list changes: one row for each size and team.
func (w *Pages) pricesNext(k page.Call, list usage.PriceList) ([]usageview.NextModel, error) {
	if list.Change(k.Words.Now).IsZero() {
		return nil, nil
	}
	sizes, err := w.heldSizes(k)
	if err != nil {
		return nil, err
	}
	say := k.Words
	var rows []usageview.NextModel
	for _, h := range sizes {
		if at, then := list.Next(h.size.SKU(), h.tenant, say.Now); !at.IsZero() {
			row := w.nextModel(say, h, list.PerHour(h.size.SKU(), h.tenant, say.Now), then, at)
			row.NowHow, row.ThenHow = w.made(say, list, h, say.Now), w.made(say, list, h, at)
			rows = append(rows, row)
		}
	}
	return inOrder(rows), nil
}

// effective is what an hour of each size costs everyone now, and what that is made of.
func (w *Pages) effective(say page.Words, list usage.PriceList, changes bool) (rows []usageview.EffectiveModel) {
	for _, s := range w.Site().Catalog.Sizes {
		m := usageview.EffectiveModel{What: ui.StackModel{Title: say.SizeTitle(s)},
			Price: say.MoneyPerHour(list.PerHour(s.SKU(), "", say.Now)), How: w.made(say, list, heldSize{size: s}, say.Now)}
		if at, then := list.Next(s.SKU(), "", say.Now); !at.IsZero() {
			m.Next, m.From = say.MoneyPerHour(then), w.priceTime(say, at)
		}
		if changes {
			m.Change = page.WithQuery(page.PricesPath, url.Values{"size": {s.Name}}) + "#price-enter"
		}
		rows = append(rows, m)
	}
	return rows
}

// heldSize is a size that workloads of a team have now.
type heldSize struct {
	size   catalog.Size
	tenant string
	count  int
}

func (w *Pages) heldSizes(k page.Call) ([]heldSize, error) {
	items, _, err := w.Workloads.List(k.Ctx, k.Actor, false, workload.Filter{Limit: 500})
	if err != nil {
		return nil, err
	}
	type key struct {
		size, tenant string
		price        usage.Money
	}
	var list []heldSize
	at := map[key]int{}
	for _, item := range items {
		if !item.Holds() {
			continue
		}
		of := key{item.Size.Name, item.Tenant, item.Size.PricePerHour}
		n, known := at[of]
		if !known {
			n, at[of] = len(list), len(list)
			list = append(list, heldSize{size: item.Size, tenant: item.Tenant})
		}
		list[n].count++
	}
	return list, nil
}

func (w *Pages) nextModel(say page.Words, h heldSize, now, then usage.Money, at time.Time) usageview.NextModel {
	return usageview.NextModel{What: ui.StackModel{Title: say.SizeTitle(h.size),
		Detail: say.S("usage.workloads", "Count", h.count)}, Team: w.TeamTitle(h.tenant), Now: say.MoneyPerHour(now),
		Then: say.MoneyPerHour(then), At: w.priceTime(say, at), Begins: at}
}

// made says what a price per hour comes from: a price of the size, the prices of its parts, or the catalog.
func (w *Pages) made(say page.Words, list usage.PriceList, h heldSize, at time.Time) string {
	var words []string
	for _, p := range list.Made(h.size.SKU(), h.tenant, at) {
		switch amount := partOf(say, p.Amount); {
		case p.Kind == "":
			words = append(words, say.S("prices.made_catalog"))
		case p.Kind == usage.PriceSize:
			words = append(words, say.S("prices.made_size"))
		default:
			words = append(words, say.S("prices.made_"+string(p.Kind), "Money", say.UnitPrice(p.Rate, w.Prices.Currency())+
				amount))
		}
	}
	return strings.Join(words, " + ")
}

// parts is into how many parts a card is cut at most.
const parts = 16

// partOf is how often a price counts: "" once, " / 7" for a seventh, " × 3 / 7" for three of them.
func partOf(say page.Words, n float64) string {
	whole := func(n float64) bool { return n > 0 && math.Abs(n-math.Round(n)) < 1e-4 }
	switch {
	case whole(n) && math.Round(n) == 1:
		return ""
	case n > 0 && n < 1 && whole(1/n):
		return " / " + strconv.Itoa(int(math.Round(1/n)))
	case whole(n):
		return " × " + strconv.Itoa(int(math.Round(n)))
	}
	for of := 2; of <= parts; of++ {
		if whole(n * float64(of)) {
			return " × " + strconv.Itoa(int(math.Round(n*float64(of)))) + " / " + strconv.Itoa(of)
		}
	}
	return " × " + ui.Number(say.Localizer, n, 3)
}

func inOrder(rows []usageview.NextModel) []usageview.NextModel {
	slices.SortFunc(rows, func(a, b usageview.NextModel) int {
		return cmp.Or(a.Begins.Compare(b.Begins), strings.Compare(a.What.Title, b.What.Title),
			strings.Compare(a.Team, b.Team), strings.Compare(a.Now, b.Now))
	})
	return rows
}

// priceImpact is what prices would change: of the list, and of what runs now, at the moments when they begin.
func (w *Pages) priceImpact(k page.Call, list usage.PriceList, added []usage.Price) (*usageview.ImpactModel, error) {
	sizes, err := w.heldSizes(k)
	if err != nil {
		return nil, err
	}
	say, after := k.Words, list.With(added...)
	m := &usageview.ImpactModel{}
	for _, p := range added {
		team := say.S("prices.everybody")
		if p.Tenant != "" {
			team = w.TeamTitle(p.Tenant)
		}
		c := ui.ChangeModel{New: w.rate(say, p.Kind, p.Rate), Name: say.S("prices.change_of", "What",
			w.priceOf(say, p.Kind, p.Subject).Title, "Team", team, "From", w.priceTime(say, p.From))}
		if was, ok := list.Before(p); ok {
			c.Old = w.rate(say, p.Kind, was)
		}
		m.Changes = append(m.Changes, c)
	}
	last := slices.MaxFunc(added, func(a, b usage.Price) int { return a.From.Compare(b.From) }).From
	count, was, then := 0, int64(0), int64(0)
	for _, h := range sizes {
		sku := h.size.SKU()
		for _, at := range beginnings(added) {
			if a, b := list.PerHour(sku, h.tenant, at), after.PerHour(sku, h.tenant, at); a != b {
				row := w.nextModel(say, h, a, b, at)
				row.NowHow, row.ThenHow = w.made(say, list, h, at), w.made(say, after, h, at)
				m.Rows = append(m.Rows, row)
				break
			}
		}
		if a, b := list.PerHour(sku, h.tenant, last), after.PerHour(sku, h.tenant, last); a != b {
			count += h.count
			was, then = was+a.Minor*int64(h.count), then+b.Minor*int64(h.count)
		}
	}
	m.Rows = inOrder(m.Rows)
	currency := w.Prices.Currency()
	m.Touches, m.Title = count > 0, say.S("prices.impact_none")
	if m.Touches {
		m.Title = say.S("prices.impact", "Count", count)
		m.Body = say.S("prices.impact_sum", "Now", say.Money(usage.Money{Minor: was, Currency: currency}), "Then",
			say.Money(usage.Money{Minor: then, Currency: currency}))
	}
	return m, nil
}

// beginnings are the moments at which prices begin, in order.
func beginnings(list []usage.Price) []time.Time {
	var times []time.Time
	for _, p := range list {
		times = append(times, p.From)
	}
	slices.SortFunc(times, time.Time.Compare)
	return slices.CompactFunc(times, time.Time.Equal)
}

func (w *Pages) priceForm(say page.Words, typed typedPrices) *usageview.EnterModel {
	var d usage.PriceDraft
	if len(typed.drafts) > 0 {
		d = typed.drafts[0]
	}
	problems := typed.problems
	field := func(name, value string) usageview.TypedModel {
		return usageview.TypedModel{Value: value, Error: page.WrongIn(say, problems, name)}
	}
	known := w.Prices.Known()
	m := &usageview.EnterModel{Path: page.PricesPath, Check: pricesCheckPath, AsText: typed.asText, Text: typed.text,
		Single: len(typed.drafts) < 2, Currency: w.Prices.Currency(),
		What: field("subject", d.Kind+":"+d.Subject), Team: field("tenant", d.Tenant), Amount: field("amount", d.Amount),
		From: field("from", d.From)}
	if typed.asText {
		m.Problems = typed.wrongLines(say)
		return m
	}
	m.What.Error = cmp.Or(page.WrongIn(say, problems, "kind"), m.What.Error)
	option := func(kind usage.PriceKind, subject, title string) {
		m.Whats = append(m.Whats, ui.OptionModel{Value: string(kind) + ":" + subject, Label: title})
	}
	for _, size := range known.Sizes {
		option(usage.PriceSize, size, say.S("prices.option_size", "Title", w.priceOf(say, usage.PriceSize, size).Title))
	}
	for _, model := range known.Models {
		option(usage.PriceCard, model, say.S("prices.option_card", "Title", model))
	}
	for _, pool := range known.Pools {
		option(usage.PriceSeat, pool, say.S("prices.option_seat", "Title", w.poolTitle(pool)))
	}
	for _, kind := range []usage.PriceKind{usage.PriceCPU, usage.PriceMemory, usage.PriceStorage} {
		option(kind, "", say.Say(i18n.T("prices.kind_"+string(kind))))
	}
	for _, name := range known.Tenants {
		m.Teams = append(m.Teams, ui.OptionModel{Value: name, Label: w.TeamTitle(name)})
	}
	return m
}

const pricesCheckPath = page.PricesPath + "/check"

func readPrices(c echo.Context) (t typedPrices, err error) {
	values, err := c.FormParams()
	if err != nil {
		return t, err
	}
	if t.asText = values.Has("text"); !t.asText {
		kind, subject, _ := strings.Cut(values.Get("subject"), ":")
		t.drafts = []usage.PriceDraft{{Kind: kind, Subject: subject, Tenant: values.Get("tenant"),
			Amount: values.Get("amount"), From: values.Get("from")}}
		return t, nil
	}
	t.text = strings.ReplaceAll(values.Get("text"), "\r\n", "\n")
	drafts, read := usage.ReadDrafts(t.text)
	for _, p := range read.Problems {
		t.problems = append(t.problems, fault.Field{Name: p.Path, Reason: p.Reason})
	}
	t.drafts, t.unread = drafts, len(read.Problems) > 0
	return t, nil
}

// wrongLines are the problems of a text, or else what is wrong with its prices, each on its line.
func (t typedPrices) wrongLines(say page.Words) []ui.ProblemModel {
	drafts, read := usage.ReadDrafts(t.text)
	if len(read.Problems) == 0 {
		fields := slices.Clone(t.problems)
		for i := range fields {
			if len(drafts) == 1 {
				fields[i].Name = "0." + fields[i].Name
			}
		}
		read.Place(fields)
	}
	return page.TextProblems(say, "text", read)
}

// checkedPrices reads what was typed, and says what is wrong with it.
func (w *Pages) checkedPrices(c echo.Context, k page.Call) (typedPrices, []usage.Price, error) {
	t, err := readPrices(c)
	if err != nil {
		return t, nil, err
	}
	prices, err := w.Prices.Check(k.Actor, t.drafts)
	if !fault.Is(err, fault.Invalid) {
		return t, prices, err
	}
	if !t.unread {
		t.problems = fault.As(err).Fields
	}
	return t, nil, nil
}

func (w *Pages) pricesAgain(c echo.Context, k page.Call, t typedPrices, status int) error {
	v, err := w.pricesView(k, t)
	if err != nil {
		return err
	}
	return w.Reply(c, k, w.pricesPage(), v, status)
}

// priceCheck writes nothing: it says what prices would change, what is wrong while somebody types them, or shows them
// in the other way.
func (w *Pages) priceCheck(c echo.Context) error {
	k := w.CallOf(c)
	t, prices, err := w.checkedPrices(c, k)
	if err != nil {
		return err
	}
	validating, err := w.Validating(c)
	switch {
	case err != nil:
		return err
	case validating && t.asText:
		return w.Validated(c, "price-form", t.wrongLines(k.Words))
	case validating:
		return w.Validated(c, "price-form", page.FieldProblems(k.Words, formFields(t.problems)))
	case c.FormValue("turn") == "text" && !t.asText:
		return w.pricesAgain(c, k, typedPrices{asText: true, drafts: t.drafts, text: usage.DraftsYAML(t.drafts)},
			http.StatusOK)
	case c.FormValue("turn") == "form" && !t.unread && len(t.drafts) == 1:
		return w.pricesAgain(c, k, typedPrices{drafts: t.drafts}, http.StatusOK)
	case len(t.problems) > 0:
		return w.pricesAgain(c, k, t, http.StatusUnprocessableEntity)
	}
	t.impact = prices
	return w.pricesAgain(c, k, t, http.StatusOK)
}

// formFields names problems by the fields of the form: kind and subject are one there.
func formFields(problems []fault.Field) []fault.Field {
	list := slices.Clone(problems)
	for i := range list {
		if list[i].Name == "kind" {
			list[i].Name = "subject"
		}
	}
	return list
}

// priceAdd keeps what an administrator typed.
func (w *Pages) priceAdd(c echo.Context) error {
	k := w.CallOf(c)
	t, _, err := w.checkedPrices(c, k)
	switch {
	case err != nil:
		return err
	case len(t.problems) > 0:
		return w.pricesAgain(c, k, t, http.StatusUnprocessableEntity)
	}
	if _, err := w.Prices.AddAll(k.Ctx, k.Actor, t.drafts); err != nil {
		return err
	}
	return w.Done(c, "price-added", page.PricesPath)
}

func (w *Pages) priceEnd(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Prices.End(k.Ctx, k.Actor, c.Param("id")); err != nil {
		return err
	}
	return w.Done(c, "price-ended", page.PricesPath)
}
