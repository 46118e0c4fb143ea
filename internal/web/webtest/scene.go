package webtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/identity"
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
		systemScenes,
		sizesScenes, rulesScenes, differencesScenes, auditScenes)
}

// Render gives the page as the portal would send it.
func (s Scene) Render(lang, theme string) (*httptest.ResponseRecorder, error) {
	r := httptest.NewRequest(http.MethodGet, s.Path, nil)
	if s.Form != nil {
		r = httptest.NewRequest(http.MethodPost, s.Path, strings.NewReader(s.Form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if theme != "" {
		r.AddCookie(&http.Cookie{Name: edge.Theme, Value: theme})
	}
	var scope scope
	defer scope.end()
	answer := s.World(&scope).Do(s.Person, lang, r)
	if kind := answer.Header().Get("Content-Type"); !strings.HasPrefix(kind, "text/html") {
		return answer, fmt.Errorf("%s %s: %d %s", s.Area, s.Name, answer.Code, answer.Body)
	}
	return answer, nil
}

func init() {
	for _, s := range Scenes() {
		story.AddPage(s.Area, s.Name, func(setting story.Setting) templ.Component {
			return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
				answer, err := s.Render(setting.Localizer.Lang(), setting.Theme)
				if err != nil {
					return err
				}
				_, err = w.Write(answer.Body.Bytes())
				return err
			})
		})
	}
}
