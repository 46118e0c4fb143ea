package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/static"
	"github.com/gpu-portal/gpu-portal/views/layout"
	"github.com/gpu-portal/gpu-portal/views/story"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// policy is the same as the portal's.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

var bundle = i18n.MustLoad()

func handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /static/", static.Handler())
	mux.Handle("GET /favicon.ico", static.Favicon())
	mux.HandleFunc("GET /live", live)
	mux.HandleFunc("POST /preferences/theme", chooseTheme)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/area/ui", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /area/{area}", area)
	mux.HandleFunc("GET /story/{area}/{name}", one)
	return mux
}

func setting(r *http.Request) story.Setting {
	theme := r.URL.Query().Get("theme")
	if cookie, err := r.Cookie("theme"); theme == "" && err == nil && cookie.Value != "auto" {
		theme = cookie.Value
	}
	return story.Setting{Localizer: localizer(r.URL.Query().Get("lang")), Theme: theme}
}

func localizer(lang string) *i18n.Localizer {
	if lang == i18n.PseudoLanguage {
		if l, err := i18n.Pseudo(); err == nil {
			return l
		}
	}
	return bundle.For(lang, "en")
}

// chooseTheme does what the portal does with the theme form.
func chooseTheme(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: "theme", Value: r.PostFormValue("theme"), Path: "/", HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
	back := r.PostFormValue("back")
	if !strings.HasPrefix(back, "/") || strings.HasPrefix(back, "//") {
		back = "/"
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
}

// area shows all components of an area on one page, and links to its whole pages.
func area(w http.ResponseWriter, r *http.Request) {
	s, name := setting(r), r.PathValue("area")
	var parts []templ.Component
	for _, st := range story.All() {
		if st.Area == name {
			parts = append(parts, entry(st, s, r.URL.RawQuery))
		}
	}
	if len(parts) == 0 {
		http.NotFound(w, r)
		return
	}
	parts = append([]templ.Component{ui.Header(ui.HeaderModel{Title: name, Lead: "Every state, as it is."})}, parts...)
	reply(w, r, s, framed(s, name, r.URL, parts...))
}

// one shows a single story, or a whole page as it is.
func one(w http.ResponseWriter, r *http.Request) {
	s := setting(r)
	for _, st := range story.All() {
		if st.Slug() == r.PathValue("area")+"/"+r.PathValue("name") {
			if st.Page {
				reply(w, r, s, st.Render(s))
			} else {
				reply(w, r, s, framed(s, st.Area, r.URL, ui.Header(ui.HeaderModel{Title: st.Name}), st.Render(s)))
			}
			return
		}
	}
	http.NotFound(w, r)
}

func entry(st story.Story, s story.Setting, query string) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		href := "/story/" + st.Slug()
		if query != "" {
			href += "?" + query
		}
		fmt.Fprintf(w, `<section class="gp-story"><h2 class="gp-story__title"><a href="%s">%s</a></h2>`,
			templ.EscapeString(href), templ.EscapeString(st.Name))
		if !st.Page {
			if err := st.Render(s).Render(ctx, w); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, `</section>`)
		return err
	})
}

// framed puts parts into the portal's own frame, with the areas as navigation.
func framed(s story.Setting, current string, at *url.URL, parts ...templ.Component) templ.Component {
	var items []layout.NavItemModel
	seen := map[string]bool{}
	for _, st := range story.All() {
		if !seen[st.Area] {
			seen[st.Area] = true
			href := "/area/" + st.Area
			if at.RawQuery != "" {
				href += "?" + at.RawQuery
			}
			items = append(items, layout.NavItemModel{Label: st.Area, Href: href, Icon: "sizes", Current: st.Area == current})
		}
	}
	m := layout.PageModel{
		Title: current, AsOf: story.Now.Format(time.RFC3339), Product: "Storybook", Lang: s.Localizer.Lang(), Theme: s.Theme,
		Path: at.RequestURI(), StartOff: true,
		Nav: []layout.NavGroupModel{{Title: "Areas", Items: items}}, User: layout.UserModel{Name: "Storybook", Initials: "S"},
	}
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return layout.Page(m).Render(templ.WithChildren(ctx, templ.Join(parts...)), w)
	})
}

func reply(w http.ResponseWriter, r *http.Request, s story.Setting, c templ.Component) {
	var page bytes.Buffer
	if err := c.Render(ui.WithLocalizer(r.Context(), s.Localizer), &page); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy)
	_, _ = page.WriteTo(w)
}

// live is a stream as layout's package comment describes it: a row whose detail counts, a count that grows, and beats.
func live(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	flusher := http.NewResponseController(w)
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for n := 1; ; n++ {
		fmt.Fprintf(w, "event: fragments\ndata: [{\"id\":\"nav-requests\",\"html\":%q}]\n\n",
			fmt.Sprintf("<span class='gp-count' id='nav-requests'><span class='pf-v6-c-badge pf-m-unread "+
				"gp-count__badge'>%d</span></span>", n))
		fmt.Fprintf(w, "event: beat\ndata: {\"at\":%q}\n\n", time.Now().UTC().Format(time.RFC3339))
		if flusher.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-ticks.C:
		}
	}
}
