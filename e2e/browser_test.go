package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/playwright-community/playwright-go"

	"github.com/gpu-portal/gpu-portal/internal/chromium"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
)

// The driver and Chromium are started once, when the first browser test asks.
var (
	browserOnce sync.Once
	browser     playwright.Browser
	driver      *playwright.Playwright
	browserErr  error
)

// flags keep Chromium from calling anywhere: this machine's tests speak with loopback only. Optimizing compilers pay
// off in pages that stay; here each page is new, so that scripts, axe-core's above all, run as Sparkplug compiles them.
// The young generation is large enough (MiB) to hold what one look at a page leaves behind.
var flags = []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
	"--disable-background-networking",
	"--disable-component-update", "--disable-sync",
	"--js-flags=--no-maglev --no-turbofan --min-semi-space-size=16"}

func startBrowser() {
	dir := filepath.Join(root, ".cache", "playwright")
	if browserErr = os.MkdirAll(dir, 0o755); browserErr != nil {
		return
	}
	link := filepath.Join(dir, "package")
	_ = os.Remove(link)
	if browserErr = os.Symlink(filepath.Join(root, "e2e", "node_modules", "playwright-core"), link); browserErr != nil {
		return
	}
	node, err := exec.LookPath("node")
	if err != nil {
		browserErr = err
		return
	}
	_ = os.Setenv("PLAYWRIGHT_NODEJS_PATH", node)
	program, err := chromium.Find()
	if err != nil {
		browserErr = err
		return
	}
	if driver, browserErr = playwright.Run(&playwright.RunOptions{DriverDirectory: dir,
		SkipInstallBrowsers: true}); browserErr != nil {
		return
	}
	browser, browserErr = driver.Chromium.Launch(playwright.BrowserTypeLaunchOptions{
		ExecutablePath: playwright.String(program), Args: flags})
}

func closeBrowser() {
	if browser != nil {
		_ = browser.Close()
	}
	if driver != nil {
		_ = driver.Stop()
	}
}

// patience is how long a page may take to show what is waited for, in milliseconds: what is right shows at once, and on
// a busy machine nothing does.
const patience = 60_000

// look is how a person has their browser.
type look struct {
	Language string // "en-GB" where empty
	Dark     bool
	Width    int // 1280 where 0
	NoScript bool
}

// person is somebody in front of a browser of their own.
type person struct {
	t       *testing.T
	context playwright.BrowserContext
	page    playwright.Page
	assert  playwright.PlaywrightAssertions
	who     string
	within  string // what axe looks at, as a selector; "" for the whole page

	mu     sync.Mutex
	faults []string
	expect []string        // parts of console messages that a test provokes on purpose
	asked  map[string]bool // origins that pages asked for anything
}

// visit opens a browser that nobody is signed in at. Script errors, breaches of the content security policy, and calls
// to another machine than this one fail the test.
func visit(t *testing.T, l look) *person {
	t.Helper()
	browserOnce.Do(startBrowser)
	if browserErr != nil {
		t.Fatal(browserErr)
	}
	if l.Language == "" {
		l.Language = "en-GB"
	}
	if l.Width == 0 {
		l.Width = 1280
	}
	scheme := playwright.ColorSchemeLight
	if l.Dark {
		scheme = playwright.ColorSchemeDark
	}
	context, err := browser.NewContext(playwright.BrowserNewContextOptions{Locale: playwright.String(l.Language),
		ColorScheme:       scheme,
		JavaScriptEnabled: playwright.Bool(!l.NoScript), ReducedMotion: playwright.ReducedMotionReduce,
		Viewport: &playwright.Size{Width: l.Width, Height: 900}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = context.Close() })
	if err := context.AddInitScript(playwright.Script{Content: playwright.String(leaving)}); err != nil {
		t.Fatal(err)
	}
	context.SetDefaultTimeout(patience)
	p := &person{t: t, context: context, assert: playwright.NewPlaywrightAssertions(patience), asked: map[string]bool{}}
	context.OnRequest(func(r playwright.Request) { p.asks(r.URL()) })
	p.page = p.newPage()
	t.Cleanup(p.noFaults)
	return p
}

// leaving makes no fault of a call that the browser breaks off because its page is being left: whether a summary is
// still under way when its form is sent is a matter of milliseconds. A call that fails on a page that stays is one.
const leaving = `(() => {
	let leaving = false
	addEventListener('beforeunload', () => { leaving = true })
	const error = console.error
	console.error = (...said) => leaving && said.some(s => String(s).includes('Failed to fetch')) ? console.info(...said) : error(...said)
})()`

func (p *person) newPage() playwright.Page {
	page, err := p.context.NewPage()
	if err != nil {
		p.t.Fatal(err)
	}
	page.OnConsole(func(m playwright.ConsoleMessage) {
		if m.Type() == "error" {
			where := ""
			if l := m.Location(); l != nil {
				where = " (" + l.URL + ")"
			}
			p.fault("console: " + m.Text() + where)
		}
	})
	page.OnPageError(func(err error) { p.fault("script: " + err.Error()) })
	return page
}

func (p *person) fault(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, part := range p.expect {
		if strings.Contains(text, part) {
			return
		}
	}
	p.faults = append(p.faults, text)
}

func (p *person) noFaults() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		p.t.Errorf("%s's browser: %s", p.who, f)
	}
}

// expecting says that a console message with this part in it is what the test provokes.
func (p *person) expecting(part string) { p.expect = append(p.expect, part) }

// sessions are the cookies of those that people have at portals, by sessionOf.
var sessions = map[string]playwright.OptionalCookie{}

func sessionOf(who string) string { return portal.URL + " " + who }

// signIn goes the whole way through the sign-in provider, unless an earlier story has done so and that session lasts.
func signIn(t *testing.T, who string, l look) *person {
	t.Helper()
	p := visit(t, l)
	p.who = who
	key := sessionOf(who)
	if kept, ok := sessions[key]; ok {
		p.do(p.context.AddCookies([]playwright.OptionalCookie{kept}))
	}
	p.open("/")
	if n, err := p.at("[data-test=user-menu]").Count(); err == nil && n > 0 {
		return p
	}
	p.click("[data-test=sign-in]")
	u, _ := world.User(who)
	p.do(p.page.GetByRole("button", playwright.PageGetByRoleOptions{Name: u.Name}).First().Click())
	p.sees("[data-test=user-menu]")
	cookies, err := p.context.Cookies()
	p.do(err)
	for _, c := range cookies {
		if c.Name == edge.Session {
			sessions[key] = c.ToOptionalCookie()
		}
	}
	return p
}

func (p *person) do(err error) {
	p.t.Helper()
	if err != nil {
		p.shot("failed")
		p.t.Fatalf("%v\n%s", err, p.shown())
	}
}

// shown is where a person is and the beginning of what they read there: what one asks for first when a story fails on
// a machine that one cannot look at.
func (p *person) shown() string {
	text, err := p.at("body").InnerText(playwright.LocatorInnerTextOptions{Timeout: playwright.Float(5_000)})
	if err != nil {
		text = err.Error()
	}
	text = strings.Join(strings.Fields(text), " ")
	return fmt.Sprintf("%s at %s reads: %.1500s", p.who, p.page.URL(), text)
}

// open goes to a page of the portal.
func (p *person) open(path string) {
	p.t.Helper()
	address := path
	if strings.HasPrefix(path, "/") {
		address = portal.URL + path
	}
	_, err := p.page.Goto(address, playwright.PageGotoOptions{WaitUntil: playwright.WaitUntilStateDomcontentloaded})
	p.do(err)
}

func (p *person) at(selector string) playwright.Locator { return p.page.Locator(selector) }

// The driver gives each act 30 s whatever its context says, so that click and fill name their time.

func (p *person) click(selector string) {
	p.t.Helper()
	p.do(p.at(selector).First().Click(playwright.LocatorClickOptions{Timeout: playwright.Float(patience)}))
}

func (p *person) fill(selector, text string) {
	p.t.Helper()
	p.do(p.at(selector).First().Fill(text, playwright.LocatorFillOptions{Timeout: playwright.Float(patience)}))
}

// sees waits until something is visible.
func (p *person) sees(selector string) {
	p.t.Helper()
	p.do(p.assert.Locator(p.at(selector).First()).ToBeVisible())
}

// reads waits until something holds a text.
func (p *person) reads(selector, text string) {
	p.t.Helper()
	p.do(p.assert.Locator(p.at(selector).First()).ToContainText(text))
}

// accessible runs axe-core over the page: no violation is accepted.
func (p *person) accessible() {
	p.t.Helper()
	p.axe(`{type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}`)
}

// contrasts is the part of accessible that other colours can change.
func (p *person) contrasts() {
	p.t.Helper()
	p.axe(`{type: 'rule', values: ['color-contrast']}`)
}

// inTheDark looks at the open page with the colours of a dark system.
func (p *person) inTheDark(look func()) {
	p.t.Helper()
	p.do(p.page.EmulateMedia(playwright.PageEmulateMediaOptions{ColorScheme: playwright.ColorSchemeDark}))
	_, err := p.page.Evaluate(`async () => { // colours change by transitions, and those of parents begin others
		const changing = () => document.getAnimations().some((a) => a instanceof CSSTransition)
		for (let i = 0; i < 100 && changing(); i++) await new Promise((done) => setTimeout(done, 10))
	}`)
	p.do(err)
	look()
	p.do(p.page.EmulateMedia(playwright.PageEmulateMediaOptions{ColorScheme: playwright.ColorSchemeLight}))
}

func (p *person) axe(only string) {
	p.t.Helper()
	if there, err := p.page.Evaluate(`typeof axe !== 'undefined'`); err != nil || there != true { // once for each page
		source, err := os.ReadFile(filepath.Join(root, "e2e", "node_modules", "axe-core", "axe.min.js"))
		p.do(err)
		_, err = p.page.Evaluate(string(source) + ";0")
		p.do(err)
	}
	within := "document"
	if p.within != "" {
		within = strconv.Quote(p.within)
	}
	found, err := p.page.Evaluate(`async () => JSON.stringify((await axe.run(` + within + `, {runOnly: ` + only +
		`, resultTypes: ['violations'], selectors: false})).violations
		.map(v => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 200))})))`)
	p.do(err)
	var violations []map[string]any
	if err := json.Unmarshal([]byte(fmt.Sprint(found)), &violations); err != nil {
		p.t.Fatal(err)
	}
	for _, v := range violations {
		p.t.Errorf("%s: %v: %v %v", p.page.URL(), v["id"], v["help"], v["nodes"])
	}
}

// pictures says whether stories take pictures: only people look at them, and they take a quarter of a story's time.
var pictures = os.Getenv("PICTURES") != ""

// shot takes a picture into .shots/ where PICTURES is set.
func (p *person) shot(name string) {
	if !pictures {
		return
	}
	dir := filepath.Join(root, ".shots")
	_ = os.MkdirAll(dir, 0o755)
	file := filepath.Join(dir, strings.ReplaceAll(p.t.Name(), "/", "_")+"-"+name+".png")
	_, _ = p.page.Screenshot(playwright.PageScreenshotOptions{Path: playwright.String(file),
		FullPage: playwright.Bool(true)})
}
