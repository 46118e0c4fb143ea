package webtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/news"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/views/story"
)

// Scene is one page in one state, as one person sees it.
type Scene struct {
	Area, Name string
	Person     identity.Person
	World      func(Scope) *World
	Path       string
	Form       url.Values // posted where it is not nil
}

// Scenes are the states of every page; the storybook shows them, tests walk them.
func Scenes() []Scene {
	return slices.Concat(platformScenes, helpScenes, searchScenes, homeScenes, startScenes, workloadScenes, requestsScenes,
		storageScenes, usageScenes, budgetsScenes, fleetScenes, adviceScenes, idleScenes, demandScenes, reconciliationScenes,
		pricesScenes, licensesScenes, teamScenes, tenantsScenes, accountScenes, embedScenes, secretScenes, metricsScenes,
		systemScenes, clusterScenes,
		sizesScenes, rulesScenes, differencesScenes, auditScenes)
}

// Render gives the page as the portal would send it.
func (s Scene) Render(lang, theme string) (*httptest.ResponseRecorder, error) {
	var scope scope
	defer scope.end()
	return s.answer(s.World(&scope), lang, theme)
}

// EachLanguage gives the page in each language, from one world where the scene changes nothing in it.
func (s Scene) EachLanguage(got func(lang string, answer *httptest.ResponseRecorder, err error)) {
	var scope scope
	defer scope.end()
	w := s.World(&scope)
	for i, tag := range i18n.Languages {
		if s.Form != nil && i > 0 {
			w = s.World(&scope)
		}
		answer, err := s.answer(w, tag.String(), "")
		got(tag.String(), answer, err)
	}
}

// english are the pages of Read by scene, each built once: most of the time of a scene goes into its world.
var english sync.Map

// Read gives the page in English, for tests that change nothing.
func (s Scene) Read() (*goquery.Document, error) {
	type page struct {
		body []byte
		err  error
	}
	once, _ := english.LoadOrStore([3]string{s.Area, s.Name, s.Path}, sync.OnceValue(func() page {
		answer, err := s.Render("en", "")
		return page{answer.Body.Bytes(), err}
	}))
	p := once.(func() page)()
	if p.err != nil {
		return nil, p.err
	}
	return goquery.NewDocumentFromReader(bytes.NewReader(p.body))
}

func (s Scene) answer(w *World, lang, theme string) (*httptest.ResponseRecorder, error) {
	if s.Area != "help" && s.Person.ID != "" { // who has read what is new, as on all days but the first
		check(w.Store.Acknowledge(bg, s.Person.ID, news.Mark()))
	}
	r := httptest.NewRequest(http.MethodGet, s.Path, nil)
	if s.Form != nil {
		r = httptest.NewRequest(http.MethodPost, s.Path, strings.NewReader(s.Form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if theme != "" {
		r.AddCookie(&http.Cookie{Name: edge.Theme, Value: theme})
	}
	answer := w.Do(s.Person, lang, r)
	if kind := answer.Header().Get("Content-Type"); !strings.HasPrefix(kind, "text/html") {
		return answer, fmt.Errorf("%s %s: %d %s", s.Area, s.Name, answer.Code, answer.Body)
	}
	return answer, nil
}

// stage keeps the world of the scene that was shown last: a story is looked at in one language after another, and
// most of its time goes into its world.
type stage struct {
	mu    sync.Mutex
	shown [2]string // area and name
	world *World
	scope scope
}

func (g *stage) show(s Scene, lang, theme string) (*httptest.ResponseRecorder, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if shown := [2]string{s.Area, s.Name}; g.world == nil || s.Form != nil || g.shown != shown {
		g.scope.end()
		g.scope = nil
		g.world, g.shown = s.World(&g.scope), shown
	}
	return s.answer(g.world, lang, theme)
}

func init() {
	var g stage
	for _, s := range Scenes() {
		story.AddPage(s.Area, s.Name, func(setting story.Setting) templ.Component {
			return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
				answer, err := g.show(s, setting.Localizer.Lang(), setting.Theme)
				if err != nil {
					return err
				}
				_, err = w.Write(answer.Body.Bytes())
				return err
			})
		})
	}
}
