package ui

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
)

// ButtonKind is how much a button asks for attention. One primary button a page.
type ButtonKind string

// The kinds of a button.
const (
	Primary         ButtonKind = "primary"
	Secondary       ButtonKind = "secondary"
	Tertiary        ButtonKind = "tertiary"
	LinkLike        ButtonKind = "link"
	Plain           ButtonKind = "plain"
	DangerPrimary   ButtonKind = "danger"
	DangerSecondary ButtonKind = "danger-secondary"
	DangerLink      ButtonKind = "danger-link"
)

// ButtonModel is a button of a form, or one that opens a dialog.
type ButtonModel struct {
	Label string
	Kind  ButtonKind // empty: Secondary
	Icon  string
	// IconOnly shows the icon alone; Label is then the accessible name and the tooltip.
	IconOnly bool
	Small    bool
	Block    bool
	// Busy shows a spinner; the button stays in place and does nothing.
	Busy     bool
	Disabled bool
	// Why says why the button cannot be used now. It then stays focusable and its reason is read out and shown.
	Why string
	// OpensDialog is the id of a Dialog that the button opens instead of submitting.
	OpensDialog string
	// ClosesDialog is the id of the Dialog that the button closes.
	ClosesDialog string
	// Type is "submit" when empty, or "button", "reset".
	Type  string
	Name  string
	Value string
	// Form is the id of a form elsewhere on the page, FormAction another address for it.
	Form       string
	FormAction string
	// Shortcut is the key that presses the button while its list has the focus: "a", "r".
	Shortcut string
	ID       string
	Test     string
	Attrs    templ.Attributes
}

// LinkButtonModel is a link that looks like a button, for going somewhere.
type LinkButtonModel struct {
	Label    string
	Href     string
	Kind     ButtonKind
	Icon     string
	IconOnly bool
	Small    bool
	Block    bool
	// NewTab opens another tab and says so.
	NewTab bool
	// OpensDialog is the id of a Dialog on this page to open instead, where scripts run; Href is the page that asks the
	// same.
	OpensDialog string
	Shortcut    string
	ID          string
	Test        string
	Attrs       templ.Attributes
}

// buttonClass begins the class; the caller ends it.
func buttonClass(h *markup.Writer, kind ButtonKind, small, block, iconOnly bool) {
	h.Raw(` class="pf-v6-c-button `)
	switch kind {
	case Primary, Tertiary, LinkLike, Plain:
		h.Raw("pf-m-")
		h.Raw(string(kind))
	case DangerPrimary:
		h.Raw("pf-m-danger")
	case DangerSecondary:
		h.Raw("pf-m-secondary pf-m-danger")
	case DangerLink:
		h.Raw("pf-m-link pf-m-danger")
	default:
		h.Raw("pf-m-secondary")
	}
	h.RawIf(iconOnly && kind != Plain, " gp-button--icon")
	h.RawIf(small, " pf-m-small")
	h.RawIf(block, " pf-m-block")
}

// Button is a real button.
func Button(m ButtonModel) templ.Component {
	return markup.Component(func(h *markup.Writer) { m.write(h) })
}

func (m ButtonModel) write(h *markup.Writer) {
	h.Raw("<button")
	buttonClass(h, m.Kind, m.Small, m.Block, m.IconOnly)
	h.RawIf(m.Busy, " pf-m-progress pf-m-in-progress")
	h.RawIf(m.Why != "", " pf-m-aria-disabled")
	h.Raw(`"`)
	h.Always("type", buttonType(m))
	h.Attr("id", m.ID)
	if m.Name != "" {
		h.Attr("name", m.Name)
		h.Always("value", m.Value)
	}
	h.Attr("form", m.Form)
	if m.FormAction != "" {
		h.URL("formaction", m.FormAction)
	}
	if m.OpensDialog != "" {
		h.Attr("commandfor", m.OpensDialog)
		h.Raw(` command="show-modal" aria-haspopup="dialog"`)
	}
	if m.ClosesDialog != "" {
		h.Attr("commandfor", m.ClosesDialog)
		h.Raw(` command="close"`)
	}
	buttonName(h, m.Label, m.IconOnly, m.Shortcut)
	h.RawIf(m.Disabled && m.Why == "", " disabled")
	if m.Why != "" {
		h.Raw(` aria-disabled="true"`)
		h.Attr("title", m.Why)
	}
	h.RawIf(m.Busy, ` aria-disabled="true"`)
	h.Attr("data-test", m.Test)
	h.Attrs(m.Attrs)
	h.Raw(">")
	buttonInside(h, m.Label, m.Icon, m.IconOnly, m.Busy, false, m.Shortcut)
	h.Element("span", "pf-v6-screen-reader", m.Why)
	h.Raw("</button>")
}

// buttonName is what a button without words is called, and the key that presses it.
func buttonName(h *markup.Writer, label string, iconOnly bool, shortcut string) {
	if iconOnly {
		h.Always("aria-label", label)
		h.Always("title", label)
	}
	h.Attr("data-key", shortcut)
	h.Attr("aria-keyshortcuts", shortcut)
}

func buttonType(m ButtonModel) string {
	switch {
	case m.Why != "" || m.Busy || m.OpensDialog != "" || m.ClosesDialog != "":
		return "button"
	case m.Type != "":
		return m.Type
	}
	return "submit"
}

// LinkButton is a real link.
func LinkButton(m LinkButtonModel) templ.Component {
	return markup.Component(func(h *markup.Writer) { m.write(h) })
}

func (m LinkButtonModel) write(h *markup.Writer) {
	h.Raw("<a")
	buttonClass(h, m.Kind, m.Small, m.Block, m.IconOnly)
	h.Raw(`"`)
	h.URL("href", m.Href)
	h.Attr("id", m.ID)
	h.RawIf(m.NewTab, ` target="_blank" rel="noopener"`)
	h.Attr("data-dialog", m.OpensDialog)
	buttonName(h, m.Label, m.IconOnly, m.Shortcut)
	h.Attr("data-test", m.Test)
	h.Attrs(m.Attrs)
	h.Raw(">")
	buttonInside(h, m.Label, m.Icon, m.IconOnly, false, m.NewTab, m.Shortcut)
	h.Raw("</a>")
}

func buttonInside(h *markup.Writer, label, name string, iconOnly, busy, newTab bool, shortcut string) {
	if busy {
		h.Raw(`<span class="pf-v6-c-button__progress">`)
		h.Put(Spinner(SpinnerModel{}))
		h.Raw("</span> ")
	}
	if name != "" && !busy {
		h.Raw(`<span class="pf-v6-c-button__icon`)
		h.RawIf(!iconOnly, " pf-m-start")
		h.Raw(`">`)
		icon(h, name)
		h.Raw("</span> ")
	}
	if !iconOnly {
		h.Raw(`<span class="pf-v6-c-button__text">`)
		h.Text(label)
		h.Raw("</span> ")
	}
	if shortcut != "" && !iconOnly {
		h.Raw(`<kbd class="gp-kbd" aria-hidden="true">`)
		h.Text(shortcut)
		h.Raw("</kbd> ")
	}
	if newTab {
		h.Raw(`<span class="pf-v6-c-button__icon pf-m-end">`)
		icon(h, "external")
		h.Raw(`</span> <span class="pf-v6-screen-reader">`)
		h.Text(L(h.Context()).S("ui.new-tab"))
		h.Raw("</span>")
	}
}

// HiddenModel is a value that a form sends along.
type HiddenModel struct {
	Name  string
	Value string
}

func (m HiddenModel) write(h *markup.Writer) {
	h.Raw(`<input type="hidden"`)
	h.Always("name", m.Name)
	h.Always("value", m.Value)
	h.Raw(">")
}

// PostButtonModel is a form with one button: the plain way to change something. Cross-origin posts are refused by the
// server, so it needs no token.
type PostButtonModel struct {
	Action string
	Hidden []HiddenModel
	Button ButtonModel
	// Attrs go on the form: hx-post, hx-target, hx-swap.
	Attrs templ.Attributes
}

// PostButton posts when pressed.
func PostButton(m PostButtonModel) templ.Component {
	return markup.Component(func(h *markup.Writer) { m.write(h) })
}

func (m PostButtonModel) write(h *markup.Writer) {
	h.Raw(`<form class="gp-post" method="post"`)
	h.URL("action", m.Action)
	h.Attrs(m.Attrs)
	h.Raw(">")
	for _, hidden := range m.Hidden {
		hidden.write(h)
	}
	m.Button.write(h)
	h.Raw("</form>")
}

// ActionsModel is a row of things one can do, the most likely first.
type ActionsModel struct {
	Items []ActionModel
	// End moves the row to the far side.
	End bool
}

// ActionModel is exactly one of the four.
type ActionModel struct {
	Button *ButtonModel
	Link   *LinkButtonModel
	Post   *PostButtonModel
	Menu   *MenuModel // of what is done rarely
	Other  templ.Component
}

// Actions shows them side by side, wrapping where there is no room.
func Actions(m ActionsModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		if len(m.Items) == 0 {
			return
		}
		h.Raw(`<div class="gp-actions`)
		h.RawIf(m.End, " gp-actions--end")
		h.Raw(`">`)
		for _, a := range m.Items {
			a.write(h)
		}
		h.Raw("</div>")
	})
}

func action(m ActionModel) templ.Component {
	return markup.Component(func(h *markup.Writer) { m.write(h) })
}

func (m ActionModel) write(h *markup.Writer) {
	switch {
	case m.Button != nil:
		m.Button.write(h)
	case m.Link != nil:
		m.Link.write(h)
	case m.Post != nil:
		m.Post.write(h)
	case m.Menu != nil:
		h.Put(Menu(*m.Menu))
	case m.Other != nil:
		h.Put(m.Other)
	}
}
