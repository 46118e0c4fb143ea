package start

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/start"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// sizes are the tiles and, once it was asked for, the table of all.
func (w *Pages) sizes(k page.Call, form blocks.StartForm, offers []request.Offer, problem string) start.SizesModel {
	m := start.SizesModel{Error: problem, Attrs: formAgain(k), Ages: w.snapshotAges(k)}
	tiles := blocks.TilesOf(offers, form.Size, form.Last)
	if form.All || len(tiles) == 0 {
		m.All = w.allSizes(k, form, offers, len(tiles) > 0)
		return m
	}
	for _, t := range tiles {
		m.Tiles = append(m.Tiles, w.tile(k, form, t))
	}
	m.All = start.AllModel{Count: len(offers), From: k.Words.MoneyPerHour(blocks.LowestPrice(offers)),
		Attrs: asking(k, "/start/form", "#start", "toggle once"),
		Show:  asking(k, "/start/form", "#start", "")}
	m.All.Attrs["hx-vals"] = `{"all": "1"}`
	return m
}

func (w *Pages) tile(k page.Call, form blocks.StartForm, t blocks.SizeTile) start.TileModel {
	say, o := k.Words, t.Offer
	m := start.TileModel{ID: page.Slug(o.Size.Name), Name: o.Size.Name, Title: t.Memory(say),
		Size: say.SizeTitle(o.Size), What: tileWhat(say, o.Size), Isolation: tileIsolation(say, o.Size),
		Glyph:   blocks.Glyph(o.Size),
		Checked: o.Size.Name == form.Size,
		Price:   say.MoneyPerHour(o.Size.PricePerHour), Free: tileFree(say, o), Needs: instantOr(say, o)}
	if m.Size == m.Title { // CPU only, both the class and the size
		m.Title = say.S("start.class_none")
	}
	if m.Why = whyNot(say, o); m.Why != "" {
		m.More = moreFor(form, o)
	}
	return m
}

// tileWhat is the card; without a GPU what comes with it.
func tileWhat(say page.Words, s catalog.Size) string {
	if s.Devices() == 0 {
		return say.S("web.cpu_size", "CPU", s.CPU, "Memory", say.Quantity(s.Memory))
	}
	return s.Accelerator.Model
}

// tileIsolation is what keeps neighbours on a card apart; "" without a GPU.
func tileIsolation(say page.Words, s catalog.Size) string {
	if s.Devices() == 0 {
		return ""
	}
	return say.S("start.tile." + string(s.Isolation))
}

// tileFree is what a tile has room for: the number alone.
func tileFree(say page.Words, o request.Offer) start.FreeModel {
	m := freeModel(say, o)
	m.ID, m.Detail = "tile-"+m.ID, ""
	if o.Fit.Known && o.Fit.Total > 0 {
		m.Words = say.S("start.available", "Free", o.Fit.Free, "Total", o.Fit.Total)
		if o.Fit.Free > 0 && o.Fit.Free <= o.QueueDepth {
			m.Words = say.S("start.available_but_waiting", "Free", o.Fit.Free, "Total", o.Fit.Total, "Count", o.QueueDepth)
		}
	}
	return m
}

func instantOr(say page.Words, o request.Offer) ui.StateModel {
	if o.Verdict.Outcome == policy.Approve {
		return ui.StateModel{Kind: ui.Waiting, Icon: "user", Word: say.S("start.needs_approval")}
	}
	if o.Fit.Known && o.Fit.Free == 0 {
		return ui.StateModel{Kind: ui.OK, Word: say.S("start.no_approval")}
	}
	return ui.StateModel{Kind: ui.OK, Icon: "bolt", Word: say.S("start.instant")}
}

// whyNot says why a size cannot be requested; "" where it can.
func whyNot(say page.Words, o request.Offer) string {
	switch {
	case !o.Problem.IsZero():
		return say.Text(o.Problem)
	case o.Verdict.Outcome == policy.Refuse:
		return say.Text(o.Verdict.Sentence)
	}
	return ""
}

// moreFor asks for more of a size, where only the quota stands against it.
func moreFor(form blocks.StartForm, o request.Offer) string {
	if o.Problem.IsZero() || !o.Quota.Full() {
		return ""
	}
	return blocks.MoreQuotaPath(form.Tenant, o.Size.Name)
}

// allSizes is the table. It is drawn only once it was asked for: it is by far the largest part of the page.
func (w *Pages) allSizes(k page.Call, form blocks.StartForm, offers []request.Offer, tiles bool) start.AllModel {
	say := k.Words
	m := start.AllModel{Count: len(offers), Open: true}
	if tiles {
		m.Fewer = asking(k, "/start/form", "#start", "")
		m.Fewer["hx-vals"] = `{"fewer": "1"}`
	}
	var requestable []request.Offer
	offers = slices.Clone(offers) // the tiles keep the order of the catalog
	slices.SortStableFunc(offers, func(a, b request.Offer) int {
		return cmp.Compare(b.Size.Accelerator.MemoryGiB, a.Size.Accelerator.MemoryGiB)
	})
	for _, o := range offers {
		if why := whyNot(say, o); why != "" {
			m.Refused = append(m.Refused, start.RefusedModel{Name: o.Size.Name, Title: say.SizeTitle(o.Size),
				Why: strings.TrimSpace(why + " " + freeModel(say, o).Detail), More: moreFor(form, o)})
			continue
		}
		m.Rows = append(m.Rows, w.sizeRow(k, form, o))
		requestable = append(requestable, o)
	}
	m.Levels = levels(say, requestable)
	if len(m.Rows) >= longTable {
		m.Memories = memories(say, requestable)
	}
	return m
}

// longTable is how many sizes are no longer found at a glance.
const longTable = 9

// memories are the classes of GPU memory of what is offered, to filter by.
func memories(say page.Words, offers []request.Offer) (list []ui.OptionModel) {
	sizes := make([]catalog.Size, len(offers))
	for i, o := range offers {
		sizes[i] = o.Size
	}
	for _, class := range blocks.MemoryClasses(sizes) {
		list = append(list, ui.OptionModel{Value: string(class.Class), Label: class.Title(say)})
	}
	return list
}

// sizeRow is a line of the table.
func (w *Pages) sizeRow(k page.Call, form blocks.StartForm, o request.Offer) start.SizeRowModel {
	say, s := k.Words, o.Size
	row := start.SizeRowModel{ID: page.Slug(s.Name), Name: s.Name, Size: blocks.SizeModel(say, s),
		Memory: "–", MemoryGiB: strconv.FormatFloat(s.Accelerator.MemoryGiB, 'f', -1, 64),
		Tech:  say.Say(w.Site().Catalog.TechnologyWord(s.Technology)),
		Level: page.UpperFirst(say.Say(catalog.IsolationWord(s.Isolation))),
		Free:  freeModel(say, o), FreeCount: strconv.Itoa(o.Fit.Free), Price: say.MoneyPerHour(s.PricePerHour),
		Class: blocks.SizeClass(s), Minor: strconv.FormatInt(s.PricePerHour.Minor, 10), Needs: needs(say, o),
		Checked: s.Name == form.Size}
	row.Size.Detail = rowDetail(say, s)
	if s.Accelerator.MemoryGiB > 0 {
		row.Memory = say.GiB(s.Accelerator.MemoryGiB)
	}
	if s.Devices() == 0 {
		row.Level = "–"
	}
	return row
}

// levels are the isolation levels of sizes with a GPU, without the unknown one, which says it by itself.
func levels(say page.Words, offers []request.Offer) (list []start.LevelModel) {
	for _, o := range offers {
		s := o.Size
		l := start.LevelModel{Level: page.UpperFirst(say.Say(catalog.IsolationWord(s.Isolation))),
			Meaning: say.S("start.isolation_" + string(s.Isolation))}
		if s.Devices() > 0 && s.Isolation != catalog.IsolationUnknown && !slices.Contains(list, l) {
			list = append(list, l)
		}
	}
	return list
}

// rowDetail is the card, and what comes with it.
func rowDetail(say page.Words, s catalog.Size) string {
	parts := []string{say.S("web.cpu_size", "CPU", s.CPU, "Memory", say.Quantity(s.Memory))}
	if s.Accelerator.Model != "" {
		parts = append([]string{s.Accelerator.Model}, parts...)
	}
	return strings.Join(parts, " · ")
}

// freeParts keep the free counts true while the page is open. They are drawn when something changes, not for the page.
func freeParts(offers []request.Offer, m start.SizesModel) []page.Part {
	var parts []page.Part
	for _, t := range m.Tiles {
		o := blocks.OfferNamed(offers, t.Name)
		parts = append(parts, page.Part{ID: t.Free.ID, Draw: func(say page.Words) templ.Component {
			return start.Free(tileFree(say, o))
		}})
	}
	for _, r := range m.All.Rows {
		o := blocks.OfferNamed(offers, r.Name)
		parts = append(parts, page.Part{ID: r.Free.ID, Draw: func(say page.Words) templ.Component {
			return start.Free(freeModel(say, o))
		}})
	}
	return parts
}

// snapshotAges say how old the free counts are, by cluster.
func (w *Pages) snapshotAges(k page.Call) (list []ui.AgeModel) {
	clusters := w.Site().Clusters
	for _, name := range clusters {
		s, ok := w.Snapshots.Snapshot(k.Ctx, name)
		if !ok {
			continue
		}
		source := k.Words.S("start.counted")
		if len(clusters) > 1 {
			source = k.Words.S("start.counted_in", "Cluster", name)
		}
		list = append(list, k.Words.Age(source, s.TakenAt, page.SnapshotEvery))
	}
	return list
}

func freeModel(say page.Words, o request.Offer) start.FreeModel {
	m := start.FreeModel{ID: "free-" + page.Slug(o.Size.Name), Kind: ui.Unknown, Words: say.S("web.unknown")}
	if !o.Why.IsZero() {
		m.Detail = say.Text(o.Why)
	}
	if !o.Fit.Known {
		return m
	}
	m.Kind, m.Words = ui.OK, say.S("start.free_of", "Free", o.Fit.Free, "Total", o.Fit.Total)
	if o.QueueDepth > 0 { // beside the number: a line of its own would make rows differ in height
		m.Words = say.S("start.available_waiting", "Free", o.Fit.Free, "Total", o.Fit.Total, "Count", o.QueueDepth)
	}
	switch {
	case o.Fit.Total == 0:
		m.Kind, m.Words = ui.Off, say.S("start.free_none")
	case o.Fit.Free <= o.QueueDepth:
		m.Kind = ui.Waiting
	}
	return m
}

// needs is what has to happen before it starts: nothing, an approval, a free license seat.
func needs(say page.Words, o request.Offer) ui.StateModel {
	switch {
	case o.Verdict.Outcome == policy.Approve:
		return ui.StateModel{Kind: ui.Waiting, Icon: "user", Word: say.S("start.needs_by", "By", o.Verdict.Who())}
	case o.Seats != nil:
		if !o.Seats.Has(o.AdditionalSeats) {
			return ui.StateModel{Kind: ui.Warning, Word: say.S("start.needs_seat"), Detail: blocks.SeatsFree(say, *o.Seats)}
		}
		return ui.StateModel{Kind: ui.OK, Word: say.S("start.needs_nothing"), Detail: say.S("start.seats_left", "Left",
			o.Seats.Free(), "Seats", o.Seats.Pool.Seats)}
	}
	return ui.StateModel{Kind: ui.OK, Word: say.S("start.needs_nothing")}
}
