package stories

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/story"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func uiNotices(story.Setting) templ.Component {
	return stack(
		ui.Notice(ui.NoticeModel{Kind: ui.Warning, Title: "GPU idle for 52 min",
			Body: "segmentation stops at 14:10 so that " +
				"others can use its GPU. Your files stay.", Actions: []ui.ActionModel{
				{Button: &ui.ButtonModel{Label: "Still working", Kind: ui.Secondary, Small: true}},
				{Button: &ui.ButtonModel{Label: "Stop now", Kind: ui.LinkLike, Small: true}}}}),
		ui.Notice(ui.NoticeModel{Kind: ui.Danger, Title: "The image could not be fetched",
			Body: "The registry says that pytorch:2.9 does not exist. Choose another image or ask the platform team."}),
		ui.Notice(ui.NoticeModel{Kind: ui.OK, Title: "Your request was sent", Body: "One of 3 approvers decides, usually " +
			"within 25 " +
			"min."}),
		ui.Notice(ui.NoticeModel{Kind: ui.Info, Title: "A smaller size would do",
			Body:  "In the last week you used 6 of 80 GB.",
			Items: []string{"Slice of an H100, 10 GB: 0.62 instead of 4.10 EUR/h"}}),
	)
}

func uiStrips(story.Setting) templ.Component {
	return stack(
		ui.Strip(ui.StripModel{Kind: ui.Info, Words: "Cluster state from 14:02."}),
		ui.Strip(ui.StripModel{Kind: ui.Warning, Words: "Prometheus has not responded since 14:02. GPU use is not shown; " +
			"starting and " +
			"stopping work.", Actions: []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: "Metrics health", Href: "#",
			Kind:  ui.LinkLike,
			Small: true}}}}),
		ui.Strip(ui.StripModel{Kind: ui.Danger, Words: "The cluster has not responded since 13:58. Nothing can be started; " +
			"what runs " +
			"keeps running."}),
		ui.Strip(ui.StripModel{Kind: ui.OK, Words: "Connection restored."}),
	)
}

func uiSteps(story.Setting) templ.Component {
	return list("gp-grid",
		within(ui.Card(ui.CardModel{Title: "Starting"}),
			ui.Steps(ui.StepsModel{Label: "Start of segmentation", Items: []ui.StepModel{
				{Title: "Decided", State: ui.StepDone, TookWords: "at once", Time: &ui.TimeModel{Words: "14:02:10"}},
				{Title: "Created", State: ui.StepDone, TookWords: "1 s", Time: &ui.TimeModel{Words: "14:02:11"}},
				{Title: "Node found", State: ui.StepDone, TookWords: "4 s", Time: &ui.TimeModel{Words: "14:02:15"}},
				{Title: "Image", State: ui.StepCurrent, Took: &ui.TimeModel{Words: "38 s"}, Share: .6,
					Explanation: "8.4 of 14 GB; the first start on this node takes longest."},
				{Title: "Ready", State: ui.StepWaiting},
			}})),
		within(ui.Card(ui.CardModel{Title: "Hanging"}), ui.Steps(ui.StepsModel{Label: "Start of llama", Items: []ui.StepModel{
			{Title: "Decided", State: ui.StepDone, Time: &ui.TimeModel{Words: "13:40"}},
			{Title: "Queued", State: ui.StepStuck, Took: &ui.TimeModel{Words: "22 min"},
				Explanation: "All 28 slices of this kind are held. Two are idle and are taken back at 14:30.",
				Actions:     []ui.ActionModel{{Button: &ui.ButtonModel{Label: "Take a shared L4 now", Small: true}}}},
			{Title: "Ready", State: ui.StepWaiting},
		}})),
		within(ui.Card(ui.CardModel{Title: "Failed"}), ui.Steps(ui.StepsModel{Label: "Start of rapids", Items: []ui.StepModel{
			{Title: "Decided", State: ui.StepDone, Time: &ui.TimeModel{Words: "13:40"}},
			{Title: "Image", State: ui.StepFailed, TookWords: "12 s",
				Explanation: "The registry refuses the image: it does not exist or is not readable for this cluster."},
			{Title: "Ready", State: ui.StepWaiting},
		}})),
	)
}

func uiBusy(story.Setting) templ.Component {
	return stack(
		row(ui.Busy(ui.BusyModel{Words: "Fetching the image", Since: &ui.TimeModel{Words: "38 s",
			Machine: "2026-11-21T11:59:22Z",
			Mode:    ui.TimeElapsed}, Usual: "usually 2 min"}), ui.Spinner(ui.SpinnerModel{Label: "Loading"})),
		ui.Skeleton(ui.SkeletonModel{Lines: 4, Words: "The list is being fetched"}),
	)
}

func uiPageHeader(story.Setting) templ.Component {
	return ui.Header(ui.HeaderModel{Title: "segmentation", Lead: "Slice of an H100, 10 GB, hard " +
		"isolation · since 2 h 10 min", State: &ui.StateModel{Kind: ui.OK, Word: "Running"},
		Crumbs: []ui.CrumbModel{{Label: "My GPUs", Href: "#"}, {Label: "segmentation"}},
		Actions: []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: "Open", Href: "#", Kind: ui.Primary, NewTab: true}},
			{Button: &ui.ButtonModel{Label: "Extend", Icon: "extend"}},
			{Button: &ui.ButtonModel{Label: "Stop", Kind: ui.DangerSecondary}}}})
}

func uiListAndDetail(story.Setting) templ.Component {
	return ui.Split(ui.SplitModel{List: true, AsideLabel: "Detail",
		Main:  within(ui.Card(ui.CardModel{Title: "Waiting for you"}), words("The list.")),
		Aside: within(ui.Card(ui.CardModel{Title: "Anna Berg asks for a whole H100"}), words("The detail."))})
}
