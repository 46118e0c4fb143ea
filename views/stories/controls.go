package stories

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/story"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func uiButtons(story.Setting) templ.Component {
	return stack(
		row(
			ui.Button(ui.ButtonModel{Label: "Start notebook", Kind: ui.Primary, Icon: "play"}),
			ui.Button(ui.ButtonModel{Label: "Extend", Kind: ui.Secondary, Icon: "extend"}),
			ui.Button(ui.ButtonModel{Label: "Cancel", Kind: ui.LinkLike}),
			ui.Button(ui.ButtonModel{Label: "Delete", Kind: ui.DangerPrimary, Icon: "trash"}),
			ui.Button(ui.ButtonModel{Label: "Stop", Kind: ui.DangerSecondary, Icon: "stop"}),
			ui.Button(ui.ButtonModel{Label: "More", Kind: ui.Plain, Icon: "more", IconOnly: true}),
			ui.LinkButton(ui.LinkButtonModel{Label: "Open", Href: "#", Kind: ui.Secondary, NewTab: true}),
		),
		row(
			ui.Button(ui.ButtonModel{Label: "Approve", Kind: ui.Primary, Small: true, Shortcut: "a"}),
			ui.Button(ui.ButtonModel{Label: "Reject", Kind: ui.Secondary, Small: true, Shortcut: "r"}),
			ui.Button(ui.ButtonModel{Label: "Starting", Kind: ui.Primary, Busy: true}),
			ui.Button(ui.ButtonModel{Label: "Send", Kind: ui.Primary, Disabled: true}),
			ui.Button(ui.ButtonModel{Label: "Start notebook", Kind: ui.Primary, Why: "Your team's quota of 4 GPUs is used up"}),
		),
	)
}

func uiFields(story.Setting) templ.Component {
	return within(ui.Form(ui.FormModel{Action: "#"}),
		ui.Field(ui.FieldModel{Name: "name", Label: "Name", Value: "segmentation",
			Hint:     "Lower-case letters, digits and dashes.",
			Required: true}),
		ui.Field(ui.FieldModel{Name: "hours", Label: "How long", Kind: ui.NumberField, Value: "8", Unit: "hours", Min: "1",
			Max:  "72",
			Hint: "At most 72 hours; you can extend later."}),
		ui.Field(ui.FieldModel{Name: "image", Label: "Image", Kind: ui.SelectField, Value: "b", Options: []ui.OptionModel{
			{Value: "a", Label: "PyTorch 2.9"}, {Value: "b", Label: "TensorFlow 2.21"}, {Value: "c", Label: "RAPIDS 26.10",
				Disabled: true, Why: "not allowed for your team"},
		}}),
		ui.Field(ui.FieldModel{Name: "why", Label: "Why", Kind: ui.TextareaField, Placeholder: "What will you do with it?",
			Hint: "The approvers read this."}),
		ui.Field(ui.FieldModel{Name: "keep", Label: "Keep my files when it ends", Kind: ui.CheckboxField, Checked: true,
			Hint: "Kept for 30 days under Storage."}),
		ui.Field(ui.FieldModel{Name: "kind", Label: "What do you want to run?", Kind: ui.RadiosField, Value: "notebook",
			Options: []ui.OptionModel{
				{Value: "notebook", Label: "Notebook", Hint: "Jupyter in your browser."},
				{Value: "endpoint", Label: "Inference endpoint", Hint: "A model behind an address that programs can call."},
				{Value: "vm", Label: "Virtual machine", Why: "Not offered on this cluster."},
			}}),
		ui.Field(ui.FieldModel{Name: "teams", Label: "Who may enter", Kind: ui.CheckboxesField,
			Options: []ui.OptionModel{{Value: "1", Label: "Anna Berg", Selected: true}, {Value: "2", Label: "Jonas Wolf"}}}),
		within(ui.FormActions(), ui.Button(ui.ButtonModel{Label: "Send request", Kind: ui.Primary}),
			ui.Button(ui.ButtonModel{Label: "Cancel", Kind: ui.LinkLike})),
	)
}

func uiFieldsWithProblems(story.Setting) templ.Component {
	return within(ui.Form(ui.FormModel{Action: "#"}),
		ui.FormErrors(ui.FormErrorsModel{Title: "2 fields need a change.",
			Items: []ui.FormErrorModel{{FieldID: "p-name", Words: "The name is taken."},
				{FieldID: "p-hours", Words: "At most 72 hours."}}}),
		ui.Field(ui.FieldModel{ID: "p-name", Name: "name", Label: "Name", Value: "segmentation", Error: "The name is taken.",
			Hint: "Lower-case letters, digits and dashes.", Required: true}),
		ui.Field(ui.FieldModel{ID: "p-hours", Name: "hours", Label: "How long", Kind: ui.NumberField, Value: "400",
			Unit:  "hours",
			Error: "At most 72 hours."}),
		ui.Field(ui.FieldModel{ID: "p-image", Name: "image", Label: "Image", Kind: ui.SelectField, Error: "Choose an image.",
			Options: []ui.OptionModel{{Value: "", Label: "Choose …"}}}),
		ui.Field(ui.FieldModel{ID: "p-kind", Name: "kind", Label: "What do you want to run?", Kind: ui.RadiosField,
			Error: "Choose one.", Required: true, Options: []ui.OptionModel{{Value: "n", Label: "Notebook"},
				{Value: "e", Label: "Endpoint"}}}),
		ui.Field(ui.FieldModel{ID: "p-ok", Name: "ok", Label: "I have read the rules of use", Kind: ui.CheckboxField,
			Error: "Please confirm."}),
	)
}

func uiChoiceOfASize(story.Setting) templ.Component {
	return within(ui.Form(ui.FormModel{Action: "#"}),
		ui.Field(ui.FieldModel{ID: "size", Name: "size", Label: "Size", Kind: ui.CardsField, Value: "mig1",
			Options: []ui.OptionModel{
				{Value: "cpu", Label: "CPU only", Glyph: &ui.ShareGlyphModel{Kind: ui.GlyphCPU},
					Facts: []string{"4 cores", "16 GB RAM"},
					Hint:  "For writing code before you ask for a GPU.", Aside: "free"},
				{Value: "ts", Label: "Shared L4", Glyph: &ui.ShareGlyphModel{Kind: ui.GlyphTimeSlice},
					Facts: []string{"24 GB, shared by 4", "no isolation"}, Aside: "0.21 EUR/h",
					State: &ui.StateModel{Kind: ui.OK, Word: "3 of 4 free"}},
				{Value: "mig1", Label: "Slice of an H100", Glyph: &ui.ShareGlyphModel{Kind: ui.GlyphSlice, Parts: 7, Filled: 1},
					Facts: []string{"10 GB", "hard isolation", "1/7 of the compute"}, Aside: "0.62 EUR/h",
					State: &ui.StateModel{Kind: ui.OK, Word: "5 of 14 free"}},
				{Value: "mig3", Label: "Big slice of an H100", Glyph: &ui.ShareGlyphModel{Kind: ui.GlyphSlice, Parts: 7, Filled: 3},
					Facts: []string{"40 GB", "hard isolation"}, Aside: "1.86 EUR/h", State: &ui.StateModel{Kind: ui.Waiting,
						Word: "in about 40 min"}},
				{Value: "full", Label: "Whole H100", Glyph: &ui.ShareGlyphModel{Kind: ui.GlyphWhole},
					Facts: []string{"80 GB", "needs approval"}, Aside: "4.10 EUR/h"},
				{Value: "four", Label: "Four H100 with NVLink", Glyph: &ui.ShareGlyphModel{Kind: ui.GlyphSeveral, Count: 4},
					Facts: []string{"4 × 80 GB"}, Aside: "16.40 EUR/h", Why: "Your team may hold 2 whole GPUs at most."},
			}}),
	)
}

func uiDialogs(story.Setting) templ.Component {
	return row(
		ui.Button(ui.ButtonModel{Label: "Delete …", Kind: ui.DangerSecondary, OpensDialog: "delete"}),
		ui.Dialog(ui.DialogModel{ID: "delete", Kind: ui.Danger, Title: "Delete segmentation?",
			Body:  "It runs since 2 h 10 min and worked until now.",
			Loses: []string{"What is in memory: running cells, open kernels", "Files outside of /home/jovyan"},
			Keeps: []string{"Your home volume, 12 GB, for 30 days"},
			Undo:  "The volume can be attached to a new notebook under Storage.", Action: "#",
			Confirm: ui.ButtonModel{Label: "Delete segmentation", Kind: ui.DangerPrimary}}),
		ui.Button(ui.ButtonModel{Label: "Reject …", Kind: ui.Secondary, OpensDialog: "reject"}),
		within(ui.Dialog(ui.DialogModel{ID: "reject", Title: "Reject this request", Action: "#",
			Confirm: ui.ButtonModel{Label: "Reject", Kind: ui.Primary}}),
			ui.Field(ui.FieldModel{ID: "note", Name: "note", Label: "Note to Anna Berg", Kind: ui.TextareaField, Required: true,
				Hint: "She reads this in her request and in the mail."})),
		dialogsFor("a", "b", "c", "d"),
	)
}

func dialogsFor(ids ...string) templ.Component {
	var all []templ.Component
	for _, id := range ids {
		all = append(all, ui.Dialog(ui.DialogModel{ID: "stop-" + id, Title: "Stop it?", Action: "#",
			Loses: []string{"What is in memory"}, Confirm: ui.ButtonModel{Label: "Stop", Kind: ui.DangerPrimary}}))
	}
	return templ.Join(all...)
}

func uiTabsAndSwitch(story.Setting) templ.Component {
	return stack(
		ui.Tabs(ui.TabsModel{Label: "Sides of segmentation",
			Items: []ui.TabModel{{Label: "Overview", Href: "#", Current: true},
				{Label: "Logs", Href: "#"}, {Label: "Events", Href: "#", Count: 3}, {Label: "Access", Href: "#"},
				{Label: "Objects", Href: "#"}, {Label: "History", Href: "#"}}}),
		ui.Switch(ui.TabsModel{Label: "Month", Items: []ui.TabModel{{Label: "Mine", Href: "#", Current: true, Icon: "user"},
			{Label: "Team", Href: "#", Icon: "team"}}}),
	)
}

func uiMenu(story.Setting) templ.Component {
	return row(
		ui.Menu(ui.MenuModel{Label: "Actions", Items: []ui.MenuItemModel{{Label: "This workload"},
			{Label: "Extend", Icon: "extend",
				Href: "#"}, {Label: "Share", Icon: "share", Href: "#", Detail: "Let somebody else in"},
			{Label: "Resize", Icon: "sizes", Why: "Only while it is stopped"}, {Label: "Stop", Icon: "stop", Danger: true,
				Action: "#"}}}),
	)
}

func uiCopy(story.Setting) templ.Component {
	return stack(
		row(ui.Copy(ui.CopyModel{Value: "wl-7f3c9a", Label: "workload id"}),
			ui.Copy(ui.CopyModel{Value: "GPU-5c0d4bb2-66c8-4c1f-9e0d-7d4a8f9f4f10", Shown: "GPU-5c0d…4f10", Label: "GPU id"})),
		ui.Copy(ui.CopyModel{Value: "curl -H 'Authorization: Bearer …' https://llama.apps.example/v1/chat/completions",
			Label: "command", Block: true}),
	)
}

func uiCode(story.Setting) templ.Component {
	return stack(
		ui.Code(ui.CodeModel{ID: "code-1", Title: "Pod", Language: "YAML", Text: yaml}),
		ui.CodeChoice(ui.CodeChoiceModel{ID: "code-language", Label: "Examples in", Items: []ui.CodeModel{
			{ID: "code-curl", Title: "curl", Text: "curl https://example.org"},
			{ID: "code-python", Title: "Python", Text: "import requests"}}}),
		ui.Code(ui.CodeModel{ID: "code-2", Title: "Manifest", Language: "YAML", Text: yaml, Folded: true}),
	)
}

var yaml = `apiVersion: v1
kind: Pod
metadata:
  name: notebook-anna-7f3c
  namespace: team-vision
spec:
  containers:
    - name: notebook
      resources:
        limits:
          nvidia.com/mig-1g.10gb: "1"
`
