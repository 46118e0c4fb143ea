package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// catalogAsItWas puts version 0 back, so that other stories find the world as they know it.
func catalogAsItWas(t *testing.T) {
	t.Cleanup(func() {
		p := signIn(t, "pat", look{NoScript: true})
		p.open("/admin/sizes/versions/0")
		if n, err := p.at("[data-test=revert]").Count(); err != nil || n == 0 {
			return // it counts already
		}
		p.expecting("422")
		p.click("[data-test=revert]")
		if n, _ := p.at("[data-test=confirm]").Count(); n > 0 {
			p.do(p.at("[data-test=confirm]").Check())
			p.click("[data-test=revert]")
		}
	})
}

// TestCatalogOffersWhatTheNodesHave: an administrator sees cards that nobody can ask for and offers them with one
// click; a developer finds the size in the price list, and nobody has started anything anew.
func TestCatalogOffersWhatTheNodesHave(t *testing.T) {
	catalogAsItWas(t)
	dana := signIn(t, "dana", look{})
	dana.expecting("404")
	for _, path := range []string{"/admin/sizes", "/admin/images", "/admin/sizes/edit", "/admin/sizes/versions/0"} {
		dana.open(path)
		dana.sees("[data-test=error]")
	}
	pat := signIn(t, "pat", look{})
	pat.open("/admin/sizes")
	pat.sees("[data-test=finding-unoffered]")
	pat.accessible()
	proposed := pat.at("[data-test=finding-unoffered]").First()
	pat.do(proposed.Locator("summary").Click())
	text, err := proposed.Locator("code").First().InnerText()
	pat.do(err)
	_, after, _ := strings.Cut(text, "name: ")
	name, _, _ := strings.Cut(after, "\n")
	name = strings.Trim(name, `"' `)
	if name == "" {
		t.Fatalf("no name in the proposal %q", text)
	}
	pat.do(proposed.Locator("[data-test=offer-it]").Click())
	pat.sees("[data-test=flash]")
	pat.open("/admin/sizes?q=" + name)
	pat.sees("[data-test=entry][data-name='" + name + "']")
	pat.reads("[data-test=history]", "Added, as proposed from the nodes")
	dana.open("/start?all=1")
	// it is offered: in the table, or folded with the reason why the team may not have it now
	dana.do(dana.assert.Locator(dana.at("[data-test=compare] [data-size='" + name + "']").First()).ToBeAttached())
	pat.accessible()
}

// TestCatalogEditing: what is wrong is said with its line and nothing is saved; of two who edit the second learns of
// the first; a size that goes says what to take instead; the way back is a new version.
func TestCatalogEditing(t *testing.T) {
	catalogAsItWas(t)
	pat := signIn(t, "pat", look{})
	pat.expecting("422")
	pat.expecting("409")
	pat.open("/admin/sizes")
	pat.click("[data-test=edit]")
	pat.sees("[data-test=text]")
	pat.sees(".gp-lines__gutter")
	good, err := pat.at("[data-test=text]").InputValue()
	pat.do(err)
	pat.fill("[data-test=text]", strings.Replace(good, "isolation: hard", "isolation: steel", 1))
	pat.click("[data-test=save]")
	pat.reads("[data-test=problem]", "Nothing was saved")
	pat.reads("[data-test=problems]", "isolation: steel")
	pat.accessible()
	pat.click("[data-test=problems] a")
	chosen,
		err := pat.page.Evaluate(
		`() => { const t = document.getElementById('text'); return document.activeElement === t ? t.value.slice(t.selectionStart, t.selectionEnd) : 'no focus'; }`)
	pat.do(err)
	if chosen != "  isolation: steel" {
		t.Errorf("want the wrong line chosen, got %q", chosen)
	}

	saved(t, "pat", "", strings.Replace(good, "minor: 55", "minor: 56", 1)) // the same administrator at another desk
	pat.fill("[data-test=text]", strings.Replace(good, "minor: 55", "minor: 60", 1))
	pat.fill("[data-test=note]", "dearer power")
	pat.click("[data-test=save]")
	pat.reads("[data-test=problem]", "in the meantime")
	pat.accessible()
	pat.click("[data-test=save]") // after a look at it, what was typed can be saved
	pat.sees("[data-test=diff]")
	pat.reads("[data-test=diff]", "pricePerHour.minor")
	pat.reads("h1", "Version")
	pat.accessible()

	pat.open("/admin/sizes?q=mig-3g.40gb")
	row := pat.at("[data-test=entry][data-name='mig-3g.40gb']")
	pat.do(row.Locator("summary").Click())
	pat.do(row.Locator("[data-test=do-deprecate]").Click())
	pat.fill("[data-test=message]", "The large slices go in May.")
	_, err = pat.at("[data-test=successor]").SelectOption(
		playwright.SelectOptionValues{Values: playwright.StringSlice("mig-1g.10gb")})
	pat.do(err)
	pat.accessible()
	pat.click("[data-test=deprecate-confirm]")
	pat.sees("[data-test=flash]")
	dana := signIn(t, "dana", look{})
	dana.open("/start?kind=notebook&size=mig-3g.40gb")
	dana.reads("[data-test=deprecated-size]", "The large slices go in May.")
	dana.accessible()
	dana.click("[data-test=deprecated-size-instead]")
	dana.do(dana.assert.Locator(dana.at("[data-test='size-mig-1g.10gb']")).ToBeChecked())

	pat.open("/admin/sizes?q=mig-1g.10gb")
	pat.click("[data-test=entry][data-name='mig-1g.10gb'] a") // the form of the same text
	pat.do(pat.assert.Locator(pat.at("[data-test='field-pricePerHour']")).ToHaveValue("0.60"))
	pat.fill("[data-test='field-cpu']", "lots")
	pat.click("[data-test=save]")
	pat.reads("[id='cpu-error']", "lots")
	pat.accessible()
	pat.fill("[data-test='field-cpu']", "5")
	pat.fill("[data-test='field-maxLease']", "8h")
	pat.click("[data-test=check]")
	pat.reads("[data-test=diff]", "maxLease")
	pat.sees("[data-test=preview]")
	pat.accessible()
	pat.shot("form-checked")
	pat.click("[data-test=as-yaml]")
	pat.reads("[data-test=from-form]", "not saved")
	text, err := pat.at("[data-test=text]").InputValue()
	pat.do(err)
	if !strings.Contains(text, "# ") || !strings.Contains(text, `cpu: "5"`) || !strings.Contains(text, "maxLease: 8h") {
		t.Errorf("want the form's changes in the text as it was written, got %.300s", text)
	}
	pat.click("[data-test=save]")
	pat.reads("[data-test=diff]", "maxLease")

	pat.open("/admin/sizes?q=gpu-shared")
	row = pat.at("[data-test=entry][data-name='gpu-shared']")
	pat.do(row.Locator("summary").Click())
	pat.do(row.Locator("[data-test=do-hide]").Click())
	pat.sees("[data-test=flash]")
	pat.open("/admin/sizes?q=gpu-shared")
	pat.reads("[data-test=entry][data-name='gpu-shared'] [data-test=state]", "hidden")
	dana.open("/start?size=gpu-shared")
	dana.reads("[data-test=verdict]", "no longer offered")
}

// TestCatalogInEveryLook: the pages in light, dark, narrow and each language.
func TestCatalogInEveryLook(t *testing.T) {
	catalogAsItWas(t)
	good := str(as(t, "pat").ok(http.StatusOK, http.MethodGet, "/catalog", nil)["text"])
	saved(t, "pat", "?note=Dearer+power", strings.Replace(good, "minor: 55", "minor: 61", 1))
	newest := strings.Trim(as(t, "pat").call(http.MethodGet, "/catalog", nil).Header.Get("ETag"), `"`)
	for name, l := range looks {
		t.Run(name, func(t *testing.T) {
			p := signIn(t, "pat", l)
			p.expecting("422")
			for _, path := range []string{"/admin/sizes", "/admin/images", "/admin/sizes/edit", "/admin/sizes/versions/" +
				newest, "/admin/sizes/deprecate?list=sizes&name=h100"} {
				p.open(path)
				p.sees("h1")
				p.fitsTheWindow()
				p.shot(name + strings.NewReplacer("/", "_", "?", "_", "&", "_", "=", "_", newest, "N").Replace(path))
				p.inLightAndDark(l)
			}
			p.open("/admin/sizes/edit")
			text, err := p.at("[data-test=text]").InputValue()
			p.do(err)
			p.fill("[data-test=text]", strings.NewReplacer("isolation: hard", "isolation: steel", "memory: 8Gi",
				"memory: lots").Replace(text))
			p.click("[data-test=check]")
			p.sees("[data-test=problems]")
			p.fitsTheWindow()
			p.shot(name + "-problems")
			p.inLightAndDark(l)
		})
	}
}

// inLightAndDark looks for violations in a wide window, light and dark, and in the narrowest; the others differ in
// words.
func (p *person) inLightAndDark(l look) {
	p.t.Helper()
	switch l.Width {
	case 0:
		p.accessible()
		p.inTheDark(p.contrasts)
	case looks["narrow-german"].Width:
		p.accessible()
	}
}

// saved sends a catalog as YAML, from the version that counts now, and insists that it is saved.
func saved(t *testing.T, who, query, text string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPut, portal.URL+"/api/v1/catalog"+query, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+portal.Tokens[who])
	r.Header.Set("Content-Type", "application/yaml")
	r.Header.Set("If-Match", as(t, who).call(http.MethodGet, "/catalog", nil).Header.Get("ETag"))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("save a catalog as %s: %d", who, answer.StatusCode)
	}
}
