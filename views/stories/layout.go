package stories

import (
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/layout"
	"github.com/gpu-portal/gpu-portal/views/story"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// frame is a frame as an administrator sees it, for stories of pages.
func frame(s story.Setting, title string) layout.PageModel {
	return layout.PageModel{
		Title: title, Lang: s.Localizer.Lang(), Theme: s.Theme, Path: "/", AsOf: story.Now.Format(time.RFC3339),
		Languages: layout.DefaultLanguages(), Waiting: 3,
		User: layout.UserModel{Name: "Anna Berg", Detail: "anna.berg@example.org", Initials: "AB",
			Links: []ui.MenuItemModel{{Label: "API tokens", Icon: "key", Href: "#"}}},
		Teams: []layout.TeamModel{{Name: "Vision", Value: "vision", Detail: "owner", Current: true},
			{Name: "Speech", Value: "speech", Detail: "developer"}},
		Sides: []layout.SideModel{{ID: "user", Label: "User", Href: "#", Icon: "user", Current: true},
			{ID: "platform", Label: "Platform", Href: "#", Icon: "gear"}},
		Help: []ui.MenuItemModel{{Label: "API reference", Icon: "audit", Href: "#"}},
		Nav: []layout.NavGroupModel{{Items: []layout.NavItemModel{
			{Label: "My GPUs", Href: "#", Icon: "gpu", Current: true},
			{Label: "Requests", Href: "#", Icon: "requests", Count: 3, CountWords: "3 requests wait for you",
				CountID: "nav-requests"},
			{Label: "Storage", Href: "#", Icon: "storage"}, {Label: "Team", Href: "#", Icon: "team"},
			{Label: "Usage", Href: "#", Icon: "usage"}, {Label: "Capacity", Href: "#", Icon: "fleet"},
		}}},
	}
}

// platformFrame is the frame on the side of those who answer for the fleet.
func platformFrame(s story.Setting, title string) layout.PageModel {
	m := frame(s, title)
	m.Sides[0].Current, m.Sides[1].Current = false, true
	group := func(id, title string, folded bool, labels ...string) layout.NavGroupModel {
		g := layout.NavGroupModel{ID: id, Title: title, Folded: folded}
		for _, label := range labels {
			g.Items = append(g.Items, layout.NavItemModel{Label: label, Href: "#", Icon: "gear",
				Current: label == "Approval rules"})
		}
		return g
	}
	m.Nav = []layout.NavGroupModel{group("", "", false, "Overview"),
		group("infrastructure", "Infrastructure", false, "GPU map", "GPU health", "Licenses"),
		group("catalog", "Catalog", false, "Sizes", "Images", "Prices"),
		group("policies", "Policies", false, "Approval rules", "Idle GPUs"),
		group("organization", "Organization", false, "Teams", "People", "Budgets", "Usage and cost", "Unmet demand",
			"Reconciliation"),
		group("system", "System", true, "Metrics health", "Message delivery", "Differences", "Audit")}
	return m
}

func layoutPage(s story.Setting) templ.Component {
	return within(layout.Page(frame(s, "My GPUs")), home(s)...)
}

func layoutPageLive(s story.Setting) templ.Component {
	m := frame(s, "Live")
	m.LiveURL, m.AsOf = "/live", "2026-11-21T12:00:00Z"
	return within(layout.Page(m), home(s)...)
}

func layoutPageStripsAndToast(s story.Setting) templ.Component {
	m := frame(s, "My GPUs")
	m.Strips = []ui.StripModel{
		{Kind: ui.Danger, Words: "The cluster has not responded since 13:58. Nothing can be started; what runs keeps " +
			"running."},
		{Kind: ui.Warning, Words: "Prometheus has not responded since 14:02. GPU use is not shown."},
	}
	m.Flash = &ui.NoticeModel{Kind: ui.OK, Title: "Your team can open it now.", Actions: []ui.ActionModel{{
		Post: &ui.PostButtonModel{Action: "#", Button: ui.ButtonModel{Label: "Undo", Icon: "undo", Small: true}}}}}
	return within(layout.Page(m), home(s)...)
}

func layoutPageOneTeamNothingToApprove(s story.Setting) templ.Component {
	m := frame(s, "My GPUs")
	m.Teams, m.Waiting, m.Sides, m.StartOff = m.Teams[:1], 0, nil, true
	return within(layout.Page(m), home(s)...)
}

func layoutPagePlatformSide(s story.Setting) templ.Component {
	return within(layout.Page(platformFrame(s, "Approval rules")), home(s)...)
}

func layoutPageNavigationFolded(s story.Setting) templ.Component {
	m := frame(s, "My GPUs")
	m.NavFolded = true
	return within(layout.Page(m), home(s)...)
}

func layoutSignIn(s story.Setting) templ.Component {
	return layout.SignIn(layout.SignInModel{Lang: s.Localizer.Lang(), Theme: s.Theme,
		Providers: []layout.ProviderModel{{Name: "Example Keycloak", Action: "/sign-in"}}, Languages: languages,
		Foot: "Questions? platform@example.org"})
}

func layoutSignInSessionOver(s story.Setting) templ.Component {
	return layout.SignIn(layout.SignInModel{Lang: s.Localizer.Lang(), Theme: s.Theme,
		Providers: []layout.ProviderModel{{Name: "Example Keycloak", Action: "/sign-in"},
			{Name: "Partner login", Action: "/sign-in/partner"}}, Languages: languages,
		Notice: &ui.NoticeModel{Kind: ui.Info, Title: "You were signed out", Body: "Nothing happened for 8 hours. What " +
			"runs keeps running."}})
}

func layoutErrorOurFault(s story.Setting) templ.Component {
	return layout.ErrorPage(layout.ErrorModel{Lang: s.Localizer.Lang(), Theme: s.Theme, Kind: ui.Danger,
		Title: "Something went wrong on our side",
		Body:  "The request could not be saved.", Kept: []string{"Nothing that was confirmed to you is lost. What runs " +
			"keeps running."},
		Todo:      []string{"Try again in a minute.", "If it happens again, send the request id to platform@example.org."},
		RequestID: "0192f8c4-7d1a-7c3e-9b1f-6f1e2d3c4b5a"})
}

func layoutErrorNotFound(s story.Setting) templ.Component {
	return layout.ErrorPage(layout.ErrorModel{Lang: s.Localizer.Lang(), Theme: s.Theme, Kind: ui.Info,
		Title: "There is no such page",
		Body:  "The address may have a slip, or what was here was deleted.", RequestID: "0192f8c4"})
}

func layoutErrorInTheFrame(s story.Setting) templ.Component {
	return within(layout.Page(frame(s, "My GPUs")), layout.ErrorBody(layout.Locked(s.Localizer,
		layout.ErrorModel{RequestID: "0192f8c4"}, "Approval rules", "mailto:platform@example.org")))
}

func layoutErrorConflict(s story.Setting) templ.Component {
	return within(layout.Page(frame(s, "My GPUs")), layout.ErrorBody(layout.ErrorModel{Kind: ui.Warning,
		Title: "Not possible now", Body: "train-resnet was stopped a moment ago.", RequestID: "0192f8c4",
		Todo: []string{s.Localizer.S("error.todo.reload")}}))
}

var languages = []layout.LanguageLinkModel{{Tag: "en", Name: "English", Href: "?lang=en", Current: true},
	{Tag: "de", Name: "Deutsch", Href: "?lang=de"}}

func home(s story.Setting) []templ.Component {
	return []templ.Component{
		ui.Header(ui.HeaderModel{Title: "My GPUs", Lead: "What you have, whether it is well, and what ends soon."}),
		within(ui.Sections(),
			ui.Notice(ui.NoticeModel{Kind: ui.Warning, Title: "embeddings has done no GPU work for 52 min",
				Body:    "It stops at 14:10 so that others can use its GPU. Your files stay.",
				Actions: []ui.ActionModel{{Button: &ui.ButtonModel{Label: "Still working", Small: true}}}}),
			homeTable(s), homeCards()),
	}
}

type homeRow struct {
	row   ui.RowModel
	name  ui.StackModel
	state ui.StateModel
	use   ui.SparklineModel
	ends  time.Duration // from now
	minor int64         // cost so far, in cents
}

var homeRows = []homeRow{
	{ui.RowModel{ID: "w-1"},
		ui.StackModel{Title: "segmentation", Href: "#", Detail: "MIG slice, 10 GB, hard isolation", Icon: "notebook"},
		ui.StateModel{Kind: ui.OK, Word: "Running"},
		ui.SparklineModel{Label: "GPU use, last hour", Value: "63 %",
			Values: []float64{.2, .3, .62, .71, .68, .8, .77, .74, .69, .63}, Max: 1},
		130 * time.Minute, 496},
	{ui.RowModel{ID: "w-2", Kind: ui.Warning},
		ui.StackModel{Title: "embeddings", Href: "#", Detail: "Whole H100, 80 GB", Icon: "endpoint"},
		ui.StateModel{Kind: ui.Warning, Word: "Idle", Detail: "GPU idle for 52 min; stops at 14:10."},
		ui.SparklineModel{Label: "GPU use, last hour", Value: "0 %", Values: []float64{.4, .2, 0, 0, 0, 0, 0}, Max: 1,
			Kind: ui.Warning},
		18 * time.Minute, 3820},
}

func homeTable(s story.Setting) templ.Component {
	var rows []templ.Component
	for _, r := range homeRows {
		rows = append(rows, r.render(s))
	}
	return within(ui.Table(ui.TableModel{ID: "workloads", Caption: "Workloads", Columns: []ui.ColumnModel{
		{Label: "Workload"}, {Label: "State"}, {Label: "GPU use"}, {Label: "Ends"}, {Label: "Cost so far", Numeric: true},
		{Label: "Actions", Hidden: true, Width: "fit"}}}), rows...)
}

func (r homeRow) render(s story.Setting) templ.Component {
	l, now := s.Localizer, story.Now
	return within(ui.Row(r.row),
		within(ui.Cell(ui.CellModel{Label: "Workload", Head: true}), ui.Stack(r.name)),
		within(ui.Cell(ui.CellModel{Label: "State"}), ui.State(r.state)),
		within(ui.Cell(ui.CellModel{Label: "GPU use"}), ui.Sparkline(r.use)),
		within(ui.Cell(ui.CellModel{Label: "Ends"}), ui.Time(ui.At(l, now.Add(r.ends), now, time.UTC))),
		within(ui.Cell(ui.CellModel{Label: "Cost so far", Numeric: true}), ui.Money(ui.Amount(l, r.minor, "EUR"))),
		within(ui.Cell(ui.CellModel{Actions: true}),
			ui.LinkButton(ui.LinkButtonModel{Label: "Open", Href: "#", Small: true})))
}

func homeCards() templ.Component {
	meter := func(label, value, detail string, fill ui.Fill, share float64) templ.Component {
		return ui.Meter(ui.MeterModel{Label: label, Value: value, Detail: detail,
			Segments: []ui.SegmentModel{{Fill: fill, Share: share}}})
	}
	return within(ui.Grid(),
		within(ui.Card(ui.CardModel{Title: "Quota of Vision"}),
			meter("Slices of H100", "6 of 8", "", ui.FillUsed, .75),
			meter("Whole H100", "1 of 2", "", ui.FillIdle, .5)),
		within(ui.Card(ui.CardModel{Title: "Budget in November"}),
			meter("Used", "1,204 of 2,000 EUR", "At this pace 1,720 EUR at the end of the month", ui.FillUsed, .6)))
}
