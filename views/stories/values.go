package stories

import (
	"math"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/static"
	"github.com/gpu-portal/gpu-portal/views/story"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func uiStatesAndBadges(story.Setting) templ.Component {
	return stack(
		row(
			ui.State(ui.StateModel{Kind: ui.OK, Word: "Running"}),
			ui.State(ui.StateModel{Kind: ui.Progress, Word: "Starting"}),
			ui.State(ui.StateModel{Kind: ui.Waiting, Word: "Queued"}),
			ui.State(ui.StateModel{Kind: ui.Warning, Word: "Idle"}),
			ui.State(ui.StateModel{Kind: ui.Danger, Word: "Failed"}),
			ui.State(ui.StateModel{Kind: ui.Off, Word: "Stopped"}),
			ui.State(ui.StateModel{Kind: ui.Info, Word: "Planned"}),
			ui.State(ui.StateModel{Kind: ui.Unknown, Word: "Unknown"}),
		),
		ui.State(ui.StateModel{Kind: ui.Waiting, Word: "Queued", Detail: "Second in line for MIG 1g.10gb; first one is " +
			"free in " +
			"about 40 min."}),
		row(
			ui.Badge(ui.BadgeModel{Word: "hard isolation", Color: "green", Icon: "lock",
				About: "own memory and compute in hardware"}),
			ui.Badge(ui.BadgeModel{Word: "time-slicing", Color: "orange"}),
			ui.Badge(ui.BadgeModel{Word: "spot"}),
			ui.Badge(ui.BadgeModel{Word: "H100"}),
			ui.Count(ui.CountModel{Count: 3, Words: "3 requests wait for you"}),
			ui.Count(ui.CountModel{Count: 214, Words: "214 requests wait for you"}),
			ui.Count(ui.CountModel{Count: 0}),
		),
	)
}

func uiShareOfACard(story.Setting) templ.Component {
	return row(
		ui.ShareGlyph(ui.ShareGlyphModel{Kind: ui.GlyphSlice, Parts: 7, Filled: 1, Label: "1 of 7 slices", Large: true}),
		ui.ShareGlyph(ui.ShareGlyphModel{Kind: ui.GlyphSlice, Parts: 7, Filled: 3, Label: "3 of 7 slices", Large: true}),
		ui.ShareGlyph(ui.ShareGlyphModel{Kind: ui.GlyphTimeSlice, Label: "taking turns with others", Large: true}),
		ui.ShareGlyph(ui.ShareGlyphModel{Kind: ui.GlyphSoft, Parts: 10, Filled: 3,
			Label: "30 % of the memory, compute shared",
			Large: true}),
		ui.ShareGlyph(ui.ShareGlyphModel{Kind: ui.GlyphWhole, Label: "a whole card", Large: true}),
		ui.ShareGlyph(ui.ShareGlyphModel{Kind: ui.GlyphSeveral, Count: 4, Label: "four whole cards", Large: true}),
		ui.ShareGlyph(ui.ShareGlyphModel{Kind: ui.GlyphCPU, Label: "no GPU", Large: true}),
		ui.ShareGlyph(ui.ShareGlyphModel{Kind: ui.GlyphUnknown, Label: "share not known", Large: true}),
		ui.ShareGlyph(ui.ShareGlyphModel{Kind: ui.GlyphSlice, Parts: 7, Filled: 2, Label: "2 of 7 slices"}),
		ui.ShareGlyph(ui.ShareGlyphModel{Kind: ui.GlyphSeveral, Count: 8, Label: "eight whole cards"}),
	)
}

func uiMeters(story.Setting) templ.Component {
	return stack(
		ui.Meter(ui.MeterModel{Label: "Lease", Value: "2 h 10 min left",
			Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: .73}},
			Detail:   "Ends today at 14:10"}),
		ui.Meter(ui.MeterModel{Label: "Quota, slices of H100", Value: "6 of 8", Legend: true,
			Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: .5, Words: "4 in use"},
				{Fill: ui.FillIdle, Share: .25, Words: "2 idle"},
				{Fill: ui.FillThis, Share: .125, Words: "1 this request"}}}),
		ui.Meter(ui.MeterModel{Label: "Fleet, MIG 1g.10gb", Value: "5 free of 28", Large: true, Legend: true,
			Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: .5, Words: "14 working"},
				{Fill: ui.FillIdle, Share: .18, Words: "5 idle"},
				{Fill: ui.FillReserved, Share: .07, Words: "2 reserved"},
				{Fill: ui.FillBlocked, Share: .05, Words: "1 unavailable"},
				{Fill: ui.FillBroken, Share: .02, Words: "1 broken"}}}),
		ui.Meter(ui.MeterModel{Label: "Budget", Value: "1,950 of 2,000 EUR",
			Segments: []ui.SegmentModel{{Fill: ui.FillWarning, Share: .975}}, Detail: "At this pace used up on 24 November"}),
		ui.Meter(ui.MeterModel{Label: "Nothing used", Value: "0 of 8"}),
	)
}

func uiTimeMoneyAge(s story.Setting) templ.Component {
	l, now := s.Localizer, story.Now
	return row(
		ui.Time(ui.At(l, now.Add(130*time.Minute), now, time.UTC)),
		ui.Time(ui.At(l, now.Add(-12*time.Minute), now, time.UTC)),
		ui.Time(ui.Exact(l, now, time.UTC)),
		ui.Time(ui.TimeModel{Words: l.S("ui.unknown")}),
		ui.Money(ui.Amount(l, 123456, "EUR")),
		ui.Money(ui.MoneyModel{Amount: ui.Number(l, .62, 2), Currency: "EUR", Per: "/ h"}),
		ui.Age(ui.AgeModel{Source: "Prometheus", Time: ui.At(l, now.Add(-20*time.Second), now, time.UTC)}),
		ui.Age(ui.AgeModel{Source: "Prometheus", Time: ui.At(l, now.Add(-14*time.Minute), now, time.UTC), Old: true}),
	)
}

func uiSparklines(story.Setting) templ.Component {
	return stack(
		row(
			ui.Sparkline(ui.SparklineModel{Label: "GPU use, last hour", Value: "63 %", Values: yesterday, Max: 1}),
			ui.Sparkline(ui.SparklineModel{Label: "GPU use, last hour", Value: "2 %", Values: []float64{.4, .3, .1, .02, .01,
				.02, .02,
				.01, .02}, Max: 1, Kind: ui.Warning}),
			ui.Sparkline(ui.SparklineModel{Label: "GPU use, last hour", Value: "unknown",
				Values: []float64{math.NaN(), math.NaN()},
				Max:    1, Kind: ui.Off}),
			ui.Sparkline(ui.SparklineModel{Label: "GPU use, last hour", Value: "100 %", Values: []float64{1}, Max: 1}),
		),
		ui.Sparkline(ui.SparklineModel{Label: "GPU use, last hour", Value: "63 %", Values: percent(yesterday), Max: 100,
			Unit:  "%",
			Large: true, From: "11:00", To: "12:00", Threshold: 5}),
	)
}

var yesterday = []float64{.1, .12, .3, .62, .71, .68, .8, .77, .74, math.NaN(), math.NaN(), math.NaN(), .5, .42, .44,
	.61, .72, .7, .66, .69, .63}

func percent(shares []float64) []float64 {
	out := make([]float64, len(shares))
	for i, v := range shares {
		out[i] = v * 100
	}
	return out
}

func uiFacts(story.Setting) templ.Component {
	return list("gp-grid",
		within(ui.Card(ui.CardModel{ID: "facts", Title: "Details",
			Actions: []ui.ActionModel{{Button: &ui.ButtonModel{Label: "Edit", Kind: ui.LinkLike, Small: true, Icon: "edit"}}}}),
			ui.DefList(ui.DefListModel{Items: []ui.DefModel{
				{Term: "Size", Value: "Slice of an H100, 10 GB"},
				{Term: "Node", Component: ui.Copy(ui.CopyModel{Value: "gpu-node-07", Label: "node name"})},
				{Term: "Isolation", Value: "hard", About: "Own memory and compute in hardware."},
				{Term: "Who may enter", Value: "Anna Berg, Jonas Wolf"},
			}})),
		within(ui.Card(ui.CardModel{Title: "Side by side", Lead: "For wide places."}),
			ui.DefList(ui.DefListModel{Columns: true, Items: []ui.DefModel{
				{Term: "Price", Component: ui.Money(ui.MoneyModel{Amount: "0.62", Currency: "EUR", Per: "per hour"})},
				{Term: "Ends", Value: "today, 14:10"}, {Term: "Rule", Value: "small slices are free to take"},
			}})),
	)
}

func uiTiles(story.Setting) templ.Component {
	return ui.Tiles(ui.TilesModel{Label: "This month", Items: []ui.TileModel{
		{Label: "GPU-hours, whole H100", Value: "1,204", Unit: "h", Detail: "12 % more than in October"},
		{Label: "Cost", Value: "4,936.40", Unit: "EUR", Detail: "of 6,000 EUR budget", Meter: &ui.MeterModel{Label: "Budget",
			Value: "82 %", Bare: true, Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: .82}}}},
		{Label: "Held idle", Value: "311", Unit: "h", Detail: "1,275 EUR for nothing", Kind: ui.Warning, Href: "#"},
		{Label: "Waiting for you", Value: "3", Href: "#", Detail: "oldest 12 min"},
	}})
}

func uiIcons(story.Setting) templ.Component {
	return iconTable()
}

func iconTable() templ.Component {
	var all []templ.Component
	for _, name := range static.IconNames() {
		all = append(all, list("gp-icon-sample", ui.Icon(name), words(" "+name)))
	}
	return list("gp-icons", all...)
}
