package ui

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
)

// MenuModel is a button that opens a list of links and actions.
type MenuModel struct {
	Label string
	Icon  string
	// IconOnly shows the icon alone, "more" when none is named; Label is its name.
	IconOnly bool
	Items    []MenuItemModel
	// Mark puts a dot on the button and says why: "New".
	Mark string
	// End aligns the list with the far edge of the button.
	End  bool
	ID   string
	Test string
}

func (m MenuModel) name() string {
	if m.Mark == "" {
		return m.Label
	}
	return m.Label + ": " + m.Mark
}

// MenuItemModel is a link (Href), a post (Action), or with neither a heading of a group.
type MenuItemModel struct {
	Label   string
	Detail  string
	Icon    string
	Href    string
	Action  string
	Hidden  []HiddenModel
	Current bool
	Danger  bool
	// Badge is a word behind the label: "New".
	Badge string
	// OpensDialog is the id of a Dialog; Href is the page that asks the same where no script runs.
	OpensDialog string
	// Why says why it cannot be used now.
	Why  string
	Test string
}

// Menu is a details element: it opens without scripts; a script closes it when one goes elsewhere.
func Menu(m MenuModel) templ.Component {
	return markup.Component(func(h *markup.Writer) {
		h.Raw(`<details class="gp-menu`)
		h.RawIf(m.End, " gp-menu--end")
		h.Raw(`" data-menu`)
		h.Attr("id", m.ID)
		h.Attr("data-test", m.Test)
		if m.IconOnly {
			h.Raw(`><summary class="pf-v6-c-button pf-m-plain"`)
			h.Always("aria-label", m.name())
			h.Always("title", m.name())
			h.Raw(`><span class="pf-v6-c-button__icon">`)
			icon(h, orWords(m.Icon, "more"))
			h.RawIf(m.Mark != "", `<span class="gp-menu__mark" data-test="menu-mark"></span>`)
			h.Raw("</span>")
		} else {
			h.Raw(`><summary class="pf-v6-c-button pf-m-secondary">`)
			if m.Icon != "" {
				h.Raw(`<span class="pf-v6-c-button__icon pf-m-start">`)
				icon(h, m.Icon)
				h.Raw("</span>")
			}
			h.Raw(` <span class="pf-v6-c-button__text">`)
			h.Text(m.Label)
			h.Raw(`</span> <span class="pf-v6-c-button__icon pf-m-end">`)
			icon(h, "down")
			h.Raw("</span>")
		}
		h.Raw("</summary>")
		menuList(h, m.Items)
		h.Raw("</details>")
	})
}

// MenuList is the list inside a Menu.
func MenuList(items []MenuItemModel) templ.Component {
	return markup.Component(func(h *markup.Writer) { menuList(h, items) })
}

func menuList(h *markup.Writer, items []MenuItemModel) {
	h.Raw(`<ul class="gp-menu__list" role="list">`)
	for i := range items {
		h.Raw(`<li class="gp-menu__item">`)
		items[i].write(h)
		h.Raw("</li>")
	}
	h.Raw("</ul>")
}

func (m *MenuItemModel) write(h *markup.Writer) {
	switch {
	case m.Why != "":
		h.Raw(`<span class="gp-menu__link gp-menu__link--off">`)
		m.words(h)
		h.Raw("</span>")
	case m.OpensDialog != "" && m.Href == "":
		m.begin(h, "<button")
		h.Raw(` type="button"`)
		h.Attr("commandfor", m.OpensDialog)
		h.Raw(` command="show-modal" aria-haspopup="dialog"`)
		m.end(h, "</button>")
	case m.Action != "":
		h.Raw(`<form method="post"`)
		h.URL("action", m.Action)
		h.Raw(">")
		for _, hidden := range m.Hidden {
			hidden.write(h)
			h.Raw(" ")
		}
		m.begin(h, "<button")
		h.Raw(` type="submit"`)
		h.RawIf(m.Current, ` aria-current="true"`)
		m.end(h, "</button></form>")
	case m.Href != "":
		m.begin(h, "<a")
		h.URL("href", m.Href)
		if m.OpensDialog != "" {
			h.Attr("data-dialog", m.OpensDialog)
			h.Raw(` aria-haspopup="dialog"`)
		}
		h.RawIf(m.Current, ` aria-current="true"`)
		m.end(h, "</a>")
	default:
		h.Raw(`<span class="gp-menu__heading">`)
		h.Text(m.Label)
		h.Raw("</span>")
	}
}

func (m *MenuItemModel) begin(h *markup.Writer, tag string) {
	h.Raw(tag)
	h.Raw(` class="gp-menu__link`)
	h.RawIf(m.Danger, " gp-menu__link--danger")
	h.Raw(`"`)
}

// end is the last attribute, the words, and the end of the element.
func (m *MenuItemModel) end(h *markup.Writer, tag string) {
	h.Attr("data-test", m.Test)
	h.Raw(">")
	m.words(h)
	h.Raw(tag)
}

func (m *MenuItemModel) words(h *markup.Writer) {
	if m.Icon != "" {
		h.Raw(`<span class="gp-menu__icon">`)
		icon(h, m.Icon)
		h.Raw("</span> ")
	}
	h.Raw(`<span class="gp-menu__words"><span>`)
	h.Text(m.Label)
	h.Raw(" ")
	h.Element("span", "pf-v6-c-badge pf-m-unread gp-menu__badge", m.Badge)
	h.Raw("</span> ")
	h.Element("span", "gp-menu__detail", m.Detail+m.Why)
	h.Raw("</span> ")
	if m.Current {
		h.Raw(`<span class="gp-menu__check">`)
		icon(h, "check")
		h.Raw("</span>")
	}
}
