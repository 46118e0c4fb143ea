package workloads

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

const (
	keysListed  = 50 // the REST API lists all
	trafficDays = 7
)

// keyForm is what was typed to make a key.
type keyForm struct {
	Name, Lasts, Requests, Tokens, AtOnce string
	Also                                  []string // ids of further endpoints
}

// Draft asks for a key of this length from now. What is no number is none that the service takes.
func (f keyForm) Draft(now time.Time) endpointkey.Draft {
	lasts, _ := catalog.ParseDuration(f.Lasts) // what cannot be read is no length, which is a problem of its own
	var also []workload.ID
	for _, id := range f.Also {
		also = append(also, workload.ID(id))
	}
	return endpointkey.Draft{Name: f.Name, Also: also, Expires: now.Add(lasts.Std()), Limits: endpointkey.Limits{
		RequestsPerMinute: limitOf(f.Requests), TokensPerMinute: limitOf(f.Tokens), Concurrency: limitOf(f.AtOnce)}}
}

func limitOf(text string) int {
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// keysModel is nil for what is no endpoint, for those who may not change it, and when nothing can be called any more.
func (w *Pages) keysModel(k page.Call, s details) (*workloadview.KeysModel, error) {
	if !hasKeys(s) {
		return nil, nil
	}
	keys, err := w.Keys.List(k.Ctx, k.Actor, s.ID)
	if err != nil {
		return nil, err
	}
	since := k.Words.Now.Truncate(time.Hour).Add(-trafficDays * 24 * time.Hour)
	taken, err := w.Keys.Traffic(k.Ctx, k.Actor, s.ID, since)
	if err != nil {
		return nil, err
	}
	endpoints, err := w.endpointsBeside(k, s)
	if err != nil {
		return nil, err
	}
	m := &workloadview.KeysModel{Path: page.WorkloadPath(s.ID), Rows: keyRows(k.Words, keys, taken),
		All: len(keys), Form: w.keyFormModel(k, s, keyForm{Lasts: w.usualLife()}, nil, endpoints)}
	for i, key := range keys[:min(len(keys), keysListed)] {
		row := &m.Rows[i]
		row.Path = m.Path + "/keys/" + key.ID
		if key.Workload != s.ID {
			row.MadeAt = endpoints.nameOf(key.Workload)
		}
		for _, id := range key.Also {
			if id != s.ID {
				row.Also = append(row.Also, endpoints.nameOf(id))
			}
		}
		if len(key.Also) > 0 {
			m.BaseURL = w.modelsURL()
		}
	}
	return m, nil
}

// hasKeys reports whether the reader may make keys for programs that call it.
func hasKeys(s details) bool {
	return s.Kind == catalog.Endpoint && s.mayChange && s.State != workload.Ended && s.Desired != workload.WantDeleted
}

// keysPath is where keys are made.
func keysPath(id workload.ID) string { return page.WorkloadPath(id) + "#workload-keys" }

// modelsURL is where all models of a key answer.
func (w *Pages) modelsURL() string { return blocks.OpenAddress(w.AppURL(workload.ModelsHost), "/v1") }

// endpoints are the others of a team that somebody may read.
type endpoints []*workload.Workload

func (e endpoints) nameOf(id workload.ID) string {
	for _, w := range e {
		if w.ID == id {
			return w.Name
		}
	}
	return string(id) // it has ended
}

// endpointsBeside lists the other endpoints of the team, by name.
func (w *Pages) endpointsBeside(k page.Call, s details) (endpoints, error) {
	list, err := w.Workloads.Living(k.Ctx, k.Actor, func(other *workload.Workload) bool {
		return other.Kind == catalog.Endpoint && other.Tenant == s.Tenant && other.ID != s.ID && other.Answers()
	})
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *workload.Workload) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// keyRows lists keys, and the revoked ones with which something was taken of late.
func keyRows(say page.Words, keys []endpointkey.Key, taken []endpointkey.Traffic) []workloadview.KeyModel {
	used := map[string]endpointkey.Traffic{}
	for _, t := range taken {
		used[t.Key] = t
	}
	var rows []workloadview.KeyModel
	for _, k := range keys[:min(len(keys), keysListed)] {
		rows = append(rows, keyRow(say, k, used[k.ID]))
	}
	for _, t := range taken {
		if t.Revoked && len(rows) < keysListed {
			gone := endpointkey.Key{ID: t.Key, Name: t.Name, LastUsedAt: t.LastAt, RevokedAt: say.Now}
			rows = append(rows, keyRow(say, gone, t))
		}
	}
	return rows
}

func keyRow(say page.Words, k endpointkey.Key, t endpointkey.Traffic) workloadview.KeyModel {
	m := workloadview.KeyModel{ID: k.ID, Name: k.Name, Shown: k.Shown(), State: workloadview.KeyState(k.State(say.Now)),
		Limits: limitWords(say, k.Limits), Used: ui.TimeModel{Words: say.S("account.never")}, Unused: k.LastUsedAt.IsZero(),
		Created: ui.TimeModel{Words: "–"}, Ends: ui.TimeModel{Words: "–"}, // of a revoked one nobody knows any more
		Requests: say.Number(float64(t.Requests)), Tokens: say.Number(float64(t.Usage.Prompt + t.Usage.Completion))}
	if !k.CreatedAt.IsZero() {
		m.Created, m.Ends = say.Ago(k.CreatedAt), say.Around(k.ExpiresAt)
	}
	if !m.Unused {
		m.Used = say.Ago(k.LastUsedAt)
	}
	if m.State == workloadview.KeyReplaced {
		m.Until = say.At(k.FormerUntil).Words
	}
	if t.Refused > 0 {
		m.Refused = say.Number(float64(t.Refused))
	}
	return m
}

func limitWords(say page.Words, l endpointkey.Limits) []string {
	var words []string
	for _, limit := range []struct {
		value int
		key   string
	}{{l.RequestsPerMinute, "keys.limited_requests"}, {l.TokensPerMinute, "keys.limited_tokens"},
		{l.Concurrency, "keys.limited_at_once"}} {
		if limit.value > 0 {
			words = append(words, say.S(limit.key, "Number", say.Number(float64(limit.value))))
		}
	}
	return words
}

func (w *Pages) keyFormModel(k page.Call, s details, f keyForm, problems []fault.Field,
	others endpoints) workloadview.KeyFormModel {
	say := k.Words
	var also []ui.OptionModel
	for _, other := range others {
		if workload.Permit(k.Actor, identity.ChangeWorkload, *other) != nil {
			continue
		}
		also = append(also, ui.OptionModel{Value: string(other.ID), Label: other.Name,
			Selected: slices.Contains(f.Also, string(other.ID))})
	}
	field := func(value, name string) workloadview.FieldModel {
		return workloadview.FieldModel{Value: value, Error: page.WrongIn(say, problems, name)}
	}
	return workloadview.KeyFormModel{Title: say.S("keys.new_title", "Name", s.Name),
		Action: page.WorkloadPath(s.ID) + "/keys", MaxName: endpointkey.MaxName, Name: field(f.Name, "name"),
		Lasts: field(f.Lasts, "expires"), Lifetimes: w.keyLifetimes(say),
		Requests: field(f.Requests, "limits.requestsPerMinute"), Tokens: field(f.Tokens, "limits.tokensPerMinute"),
		AtOnce: field(f.AtOnce, "limits.concurrency"), Overlaps: overlaps(say), Also: also,
		AlsoError: page.WrongIn(say, problems, "endpoints")}
}

// keyLifetimes are offered up to the longest that the settings allow, and that one.
func (w *Pages) keyLifetimes(say page.Words) []ui.OptionModel {
	var options []ui.OptionModel
	most := catalog.Duration(w.Keys.MaxLife)
	for _, text := range []string{"1d", "7d", "30d", "90d", "180d", "365d"} {
		if d, _ := catalog.ParseDuration(text); d < most {
			options = append(options, ui.OptionModel{Value: text, Label: say.Duration(d.Std())})
		}
	}
	return append(options, ui.OptionModel{Value: most.String(), Label: say.Duration(most.Std())})
}

// usualLife is what the form begins with: 90 days, or the longest below.
func (w *Pages) usualLife() string {
	return catalog.Duration(min(w.Keys.MaxLife, 90*24*time.Hour)).String()
}

// overlaps are how long the previous secret may open after a rotation.
func overlaps(say page.Words) []ui.OptionModel {
	options := []ui.OptionModel{{Value: "0h", Label: say.S("keys.overlap_none")}}
	for _, d := range []time.Duration{time.Hour, endpointkey.DefaultOverlap, endpointkey.MaxOverlap} {
		options = append(options, ui.OptionModel{Value: catalog.Duration(d).String(),
			Label: say.S("keys.overlap_more", "Duration", say.Duration(d))})
	}
	return options
}

// newKeyAsk is the page with the form for a key.
func (w *Pages) newKeyAsk(k page.Call) (page.View, error) {
	return w.keyAsk(k, keyForm{Lasts: w.usualLife()}, nil)
}

func (w *Pages) keyAsk(k page.Call, f keyForm, problems []fault.Field) (page.View, error) {
	s, err := w.changeable(k)
	if err != nil {
		return page.View{}, err
	}
	if _, err := w.Keys.List(k.Ctx, k.Actor, s.ID); err != nil { // it says what has no keys
		return page.View{}, err
	}
	others, err := w.endpointsBeside(k, s)
	if err != nil {
		return page.View{}, err
	}
	m := workloadview.NewKeyModel{Path: page.WorkloadPath(s.ID), Errors: page.FormErrors(k.Words, problems),
		Form: w.keyFormModel(k, s, f, problems, others)}
	m.Header = ui.HeaderModel{Title: m.Form.Title, Crumbs: workloadCrumbs(k.Words, s.Workload, "keys.new")}
	return questionView(m.Header, workloadview.NewKeyPage(m)), nil
}

// keyCreate makes a key and answers with its secret, this once. It is no redirect: a secret belongs into no address and
// no cookie.
func (w *Pages) keyCreate(c echo.Context) error {
	k := w.CallOf(c)
	value := func(name string) string { return strings.TrimSpace(c.FormValue(name)) }
	f := keyForm{Name: value("name"), Lasts: value("expires"), Requests: value("limits.requestsPerMinute"),
		Tokens: value("limits.tokensPerMinute"), AtOnce: value("limits.concurrency")}
	if values, err := c.FormParams(); err == nil {
		f.Also = values["endpoints"]
	}
	made, secret, err := w.Keys.Create(k.Ctx, k.Actor, workload.ID(c.Param("id")), f.Draft(k.Words.Now))
	switch {
	case err == nil:
		fresh := workloadview.FreshKeyModel{Name: made.Name, Secret: secret}
		if len(made.Also) > 0 {
			fresh.BaseURL = w.modelsURL()
		}
		return w.showKey(c, k, fresh)
	case !page.Correctable(err):
		return err
	}
	v, viewErr := w.keyAsk(k, f, page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.newKeyPage().Name}, v, page.StatusOf(err))
}

func (w *Pages) showKey(c echo.Context, k page.Call, fresh workloadview.FreshKeyModel) error {
	v, err := w.overview(k, &fresh)
	if err != nil {
		return err
	}
	return w.Reply(c, k, w.workloadPage(), v, http.StatusOK)
}

// keyRotate answers with the new secret as keyCreate does.
func (w *Pages) keyRotate(c echo.Context) error {
	k := w.CallOf(c)
	overlap, err := catalog.ParseDuration(c.FormValue("overlap"))
	if err != nil {
		overlap = -1 // the service says what is wrong with that
	}
	made, secret, err := w.Keys.Rotate(k.Ctx, k.Actor, workload.ID(c.Param("id")), c.Param("key"), overlap.Std())
	if err != nil {
		return err
	}
	fresh := workloadview.FreshKeyModel{Name: made.Name, Secret: secret}
	if made.FormerUntil.After(made.RotatedAt) {
		fresh.Until = k.Words.At(made.FormerUntil).Words
	}
	return w.showKey(c, k, fresh)
}

func (w *Pages) keyRevoke(c echo.Context) error {
	k := w.CallOf(c)
	id := workload.ID(c.Param("id"))
	if err := w.Keys.Revoke(k.Ctx, k.Actor, id, c.Param("key")); err != nil {
		return err
	}
	return w.Done(c, "key-revoked", page.WorkloadPath(id))
}

// callsOf are programs that call the OpenAI routes below base.
func callsOf(base string) *workloadview.CallsModel {
	return &workloadview.CallsModel{
		Curl:   "curl -H \"Authorization: Bearer $ENDPOINT_KEY\" " + page.ShellQuote(base+"/models"),
		Python: fmt.Sprintf(pythonCall, base),
		Go:     fmt.Sprintf(goCall, base+"/models"),

		JavaScript: fmt.Sprintf(javaScriptCall, base),
	}
}

const pythonCall = `import os
from openai import OpenAI

client = OpenAI(base_url=%q, api_key=os.environ["ENDPOINT_KEY"])
model = client.models.list().data[0].id
answer = client.chat.completions.create(
    model=model, messages=[{"role": "user", "content": "Hello"}])
print(answer.choices[0].message.content)
`

const javaScriptCall = `import OpenAI from "openai";

const client = new OpenAI({ baseURL: %q, apiKey: process.env.ENDPOINT_KEY });
const models = await client.models.list();
const answer = await client.chat.completions.create({
  model: models.data[0].id, messages: [{ role: "user", content: "Hello" }] });
console.log(answer.choices[0].message.content);
`

const goCall = `package main

import (
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	call, err := http.NewRequest("GET", %q, nil)
	if err != nil {
		log.Fatal(err)
	}
	call.Header.Set("Authorization", "Bearer "+os.Getenv("ENDPOINT_KEY"))
	answer, err := http.DefaultClient.Do(call)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	io.Copy(os.Stdout, answer.Body)
}
`
