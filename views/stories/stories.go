// Package stories shows the controls of views/ui, the frames of views/layout and the palette of views/search in each of
// their states. Only cmd/storybook imports it.
package stories

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/story"
)

type component struct {
	name   string
	render func(story.Setting) templ.Component
}

var uiStories = []component{
	{"Buttons", uiButtons},
	{"States and badges", uiStatesAndBadges},
	{"Fields", uiFields},
	{"Fields with problems", uiFieldsWithProblems},
	{"Choice of a size", uiChoiceOfASize},
	{"Share of a card", uiShareOfACard},
	{"Meters", uiMeters},
	{"Time, money, age", uiTimeMoneyAge},
	{"Sparklines", uiSparklines},
	{"Copy", uiCopy},
	{"Notices", uiNotices},
	{"Strips", uiStrips},
	{"Steps", uiSteps},
	{"Table, many", uiTableMany},
	{"Table, one, with filter", uiTableOneWithFilter},
	{"Table, empty", uiTableEmpty},
	{"Empty states", uiEmptyStates},
	{"Dialogs", uiDialogs},
	{"Tabs and switch", uiTabsAndSwitch},
	{"Code", uiCode},
	{"Facts", uiFacts},
	{"Tiles", uiTiles},
	{"Busy", uiBusy},
	{"Menu", uiMenu},
	{"Page header", uiPageHeader},
	{"List and detail", uiListAndDetail},
	{"Icons", uiIcons},
}

var searchStories = []component{
	{"Palette, results", searchPaletteResults},
	{"Palette, nothing found", searchPaletteNothingFound},
}

var layoutPages = []component{
	{"Page", layoutPage},
	{"Page, live", layoutPageLive},
	{"Page, strips and toast", layoutPageStripsAndToast},
	{"Page, one team, nothing to approve", layoutPageOneTeamNothingToApprove},
	{"Page, platform side", layoutPagePlatformSide},
	{"Page, navigation folded", layoutPageNavigationFolded},
	{"Sign in", layoutSignIn},
	{"Sign in, session over", layoutSignInSessionOver},
	{"Error, our fault", layoutErrorOurFault},
	{"Error, not found", layoutErrorNotFound},
	{"Error, in the frame", layoutErrorInTheFrame},
	{"Error, in the frame, conflict", layoutErrorConflict},
}

func init() {
	for _, c := range uiStories {
		story.AddFunc("ui", c.name, c.render)
	}
	for _, c := range searchStories {
		story.AddFunc("search", c.name, c.render)
	}
	for _, p := range layoutPages {
		story.AddPage("layout", p.name, p.render)
	}
}
