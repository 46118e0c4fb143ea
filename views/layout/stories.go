package layout

import (
	"context"
	"io"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/story"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// Sample is a frame as an administrator sees it, for stories of pages.
func Sample(s story.Setting, title string) PageModel {
	return PageModel{
		Title: title, Lang: s.Localizer.Lang(), Theme: s.Theme, Path: "/", AsOf: story.Now.Format(time.RFC3339),
		Languages: DefaultLanguages(), Waiting: 3,
		User: UserModel{Name: "Anna Berg", Detail: "anna.berg@example.org", Initials: "AB",
			Links: []ui.MenuItemModel{{Label: "API tokens", Icon: "key", Href: "#"}}},
		Teams: []TeamModel{{Name: "Vision", Value: "vision", Detail: "owner", Current: true},
			{Name: "Speech", Value: "speech", Detail: "developer"}},
		Sides: []SideModel{{ID: "user", Label: "User", Href: "#", Icon: "user", Current: true},
			{ID: "platform", Label: "Platform", Href: "#", Icon: "gear"}},
		Help: []ui.MenuItemModel{{Label: "REST API", Icon: "audit", Href: "#"}},
		Nav: []NavGroupModel{{Items: []NavItemModel{
			{Label: "My GPUs", Href: "#", Icon: "gpu", Current: true},
			{Label: "Requests", Href: "#", Icon: "requests", Count: 3, CountWords: "3 requests wait for you",
				CountID: "nav-requests"},
			{Label: "Storage", Href: "#", Icon: "storage"}, {Label: "Team", Href: "#", Icon: "team"},
			{Label: "Usage", Href: "#", Icon: "usage"}, {Label: "Capacity", Href: "#", Icon: "fleet"},
		}}},
	}
}

// Platform is the frame on the side of those who answer for the fleet.
func Platform(s story.Setting, title string) PageModel {
	m := Sample(s, title)
	m.Sides[0].Current, m.Sides[1].Current = false, true
	group := func(id, title string, folded bool, labels ...string) NavGroupModel {
		g := NavGroupModel{ID: id, Title: title, Folded: folded}
		for _, label := range labels {
			g.Items = append(g.Items, NavItemModel{Label: label, Href: "#", Icon: "gear", Current: label == "Approval rules"})
		}
		return g
	}
	m.Nav = []NavGroupModel{group("", "", false, "Overview"),
		group("infrastructure", "Infrastructure", false, "GPU map", "GPU health", "Licenses"),
		group("catalog", "Catalog", false, "Sizes", "Images", "Prices"),
		group("policies", "Policies", false, "Approval rules", "Idle GPUs"),
		group("organization", "Organization", false, "Teams", "People", "Budgets", "Usage and cost", "Unmet demand",
			"Reconciliation"),
		group("system", "System", true, "Metrics health", "Message delivery", "Differences", "Audit")}
	return m

}

func with(outer templ.Component, children ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return outer.Render(templ.WithChildren(ctx, templ.Join(children...)), w)
	})
}

func init() {
	home := func(s story.Setting) []templ.Component {
		l, now := s.Localizer, story.Now
		return []templ.Component{
			ui.Header(ui.HeaderModel{Title: "My GPUs", Lead: "What you have, whether it is well, and what ends soon."}),
			with(ui.Sections(),
				ui.Notice(ui.NoticeModel{Kind: ui.Warning, Title: "embeddings has done no GPU work for 52 min",
					Body:    "It stops at 14:10 so that others can use its GPU. Your files stay.",
					Actions: []ui.ActionModel{{Button: &ui.ButtonModel{Label: "Still working", Small: true}}}}),
				with(ui.Table(ui.TableModel{ID: "workloads", Caption: "Workloads", Columns: []ui.ColumnModel{{Label: "Workload"},
					{Label: "State"}, {Label: "GPU use"}, {Label: "Ends"}, {Label: "Cost so far", Numeric: true},
					{Label: "Actions", Hidden: true, Width: "fit"}}}),
					with(ui.Row(ui.RowModel{ID: "w-1"}),
						with(ui.Cell(ui.CellModel{Label: "Workload", Head: true}),
							ui.Stack(ui.StackModel{Title: "segmentation", Href: "#", Detail: "MIG slice, 10 GB, hard isolation",
								Icon: "notebook"})),
						with(ui.Cell(ui.CellModel{Label: "State"}), ui.State(ui.StateModel{Kind: ui.OK, Word: "Running"})),
						with(ui.Cell(ui.CellModel{Label: "GPU use"}),
							ui.Sparkline(ui.SparklineModel{Label: "GPU use, last hour", Value: "63 %", Values: []float64{.2, .3, .62, .71,
								.68, .8, .77, .74, .69, .63}, Max: 1})),
						with(ui.Cell(ui.CellModel{Label: "Ends"}), ui.Time(ui.At(l, now.Add(130*time.Minute), now, time.UTC))),
						with(ui.Cell(ui.CellModel{Label: "Cost so far", Numeric: true}), ui.Money(ui.Amount(l, 496, "EUR"))),
						with(ui.Cell(ui.CellModel{Actions: true}),
							ui.LinkButton(ui.LinkButtonModel{Label: "Open", Href: "#", Small: true})),
					),
					with(ui.Row(ui.RowModel{ID: "w-2", Kind: ui.Warning}),
						with(ui.Cell(ui.CellModel{Label: "Workload", Head: true}),
							ui.Stack(ui.StackModel{Title: "embeddings", Href: "#", Detail: "Whole H100, 80 GB", Icon: "endpoint"})),
						with(ui.Cell(ui.CellModel{Label: "State"}),
							ui.State(ui.StateModel{Kind: ui.Warning, Word: "Idle", Detail: "No GPU work for 52 min; stops at 14:10."})),
						with(ui.Cell(ui.CellModel{Label: "GPU use"}),
							ui.Sparkline(ui.SparklineModel{Label: "GPU use, last hour", Value: "0 %", Values: []float64{.4, .2, 0, 0, 0, 0,
								0}, Max: 1, Kind: ui.Warning})),
						with(ui.Cell(ui.CellModel{Label: "Ends"}), ui.Time(ui.At(l, now.Add(18*time.Minute), now, time.UTC))),
						with(ui.Cell(ui.CellModel{Label: "Cost so far", Numeric: true}), ui.Money(ui.Amount(l, 3820, "EUR"))),
						with(ui.Cell(ui.CellModel{Actions: true}),
							ui.LinkButton(ui.LinkButtonModel{Label: "Open", Href: "#", Small: true})),
					),
				),
				with(ui.Grid(),
					with(ui.Card(ui.CardModel{Title: "Quota of Vision"}),
						ui.Meter(ui.MeterModel{Label: "Slices of H100", Value: "6 of 8",
							Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: .75}}}),
						ui.Meter(ui.MeterModel{Label: "Whole H100", Value: "1 of 2",
							Segments: []ui.SegmentModel{{Fill: ui.FillIdle, Share: .5}}})),
					with(ui.Card(ui.CardModel{Title: "Budget in November"}),
						ui.Meter(ui.MeterModel{Label: "Used", Value: "1,204 of 2,000 EUR",
							Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: .6}}, Detail: "At this pace 1,720 EUR at the end of " +
								"the month"})),
				),
			),
		}
	}
	story.AddPage("layout", "Page", func(s story.Setting) templ.Component {
		return with(Page(Sample(s, "My GPUs")), home(s)...)
	})
	story.AddPage("layout", "Page, live", func(s story.Setting) templ.Component {
		m := Sample(s, "Live")
		m.LiveURL, m.AsOf = "/live", "2026-11-21T12:00:00Z"
		return with(Page(m), home(s)...)
	})
	story.AddPage("layout", "Page, strips and flash", func(s story.Setting) templ.Component {
		m := Sample(s, "My GPUs")
		m.Strips = []ui.StripModel{
			{Kind: ui.Danger, Words: "The cluster does not answer since 13:58. Nothing can be started; what runs keeps " +
				"running."},
			{Kind: ui.Warning, Words: "Prometheus does not answer since 14:02. GPU use is not shown."},
		}
		m.Flash = &ui.NoticeModel{Kind: ui.OK, Title: "Your request was sent",
			Body: "One of 3 approvers decides, usually within 25 min."}
		return with(Page(m), home(s)...)
	})
	story.AddPage("layout", "Page, one team, nothing to approve", func(s story.Setting) templ.Component {
		m := Sample(s, "My GPUs")
		m.Teams, m.Waiting, m.Sides, m.StartOff = m.Teams[:1], 0, nil, true
		return with(Page(m), home(s)...)
	})
	story.AddPage("layout", "Page, platform side", func(s story.Setting) templ.Component {
		return with(Page(Platform(s, "Approval rules")), home(s)...)
	})
	story.AddPage("layout", "Page, navigation folded", func(s story.Setting) templ.Component {
		m := Sample(s, "My GPUs")
		m.NavFolded = true
		return with(Page(m), home(s)...)
	})
	languages := []LanguageLinkModel{{"en", "English", "?lang=en", true}, {"de", "Deutsch", "?lang=de", false}}
	story.AddPage("layout", "Sign in", func(s story.Setting) templ.Component {
		return SignIn(SignInModel{Lang: s.Localizer.Lang(), Theme: s.Theme,
			Providers: []ProviderModel{{Name: "Example Keycloak", Action: "/sign-in"}}, Languages: languages,
			Foot: "Questions? platform@example.org"})
	})
	story.AddPage("layout", "Sign in, session over", func(s story.Setting) templ.Component {
		return SignIn(SignInModel{Lang: s.Localizer.Lang(), Theme: s.Theme,
			Providers: []ProviderModel{{Name: "Example Keycloak", Action: "/sign-in"},
				{Name: "Partner login", Action: "/sign-in/partner"}}, Languages: languages,
			Notice: &ui.NoticeModel{Kind: ui.Info, Title: "You were signed out", Body: "Nothing happened for 8 hours. What " +
				"runs keeps running."}})
	})
	story.AddPage("layout", "Error, our fault", func(s story.Setting) templ.Component {
		return ErrorPage(ErrorModel{Lang: s.Localizer.Lang(), Theme: s.Theme, Kind: ui.Danger,
			Title: "Something went wrong on our side",
			Body:  "The request could not be saved.", Kept: []string{"Nothing that was confirmed to you is lost. What runs " +
				"keeps running."},
			Todo:      []string{"Try again in a minute.", "If it happens again, send the request id to platform@example.org."},
			RequestID: "0192f8c4-7d1a-7c3e-9b1f-6f1e2d3c4b5a"})
	})
	story.AddPage("layout", "Error, not found", func(s story.Setting) templ.Component {
		return ErrorPage(ErrorModel{Lang: s.Localizer.Lang(), Theme: s.Theme, Kind: ui.Info, Title: "There is no such page",
			Body: "The address may have a slip, or what was here was deleted.", RequestID: "0192f8c4"})
	})
}
