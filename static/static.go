package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

//go:embed console css dist js vendor icons.svg favicon.svg favicon.ico
var files embed.FS

// cssOrder is the order of the cascade: tokens, bare elements, the page, then one sheet a control.
var cssOrder = []string{
	"tokens", "base", "layout",
	"button", "field", "table", "state", "meter", "glyph", "sparkline", "time", "copy", "notice", "steps", "empty",
	"dialog",
	"tabs", "code", "deflist", "pagination", "filter", "tiles", "busy", "card", "menu", "auth", "lines", "areas",
	"overview", "map", "start", "palette", "manual", "reference", "welcome", "tour", "toast", "terminal", "files", "print",
}

// contentTypes are named here, because what the machine knows about file endings differs from machine to machine.
var contentTypes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".mjs":   "text/javascript; charset=utf-8",
	".svg":   "image/svg+xml",
	".ico":   "image/x-icon",
	".woff2": "font/woff2",
	".json":  "application/json",
	"":       "text/plain; charset=utf-8",
}

const prefix = "/static/"

var (
	contents = load()
	hash     = hashOf(contents)
	icons    = parseIcons(contents["icons.svg"])
)

// load reads every embedded file and adds css/app.css.
func load() map[string][]byte {
	all := map[string][]byte{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[name], err = files.ReadFile(name)
		return err
	})
	if err != nil {
		panic("static: " + err.Error())
	}
	var app bytes.Buffer
	for _, sheet := range cssOrder {
		content, ok := all["css/"+sheet+".css"]
		if !ok {
			panic("static: css/" + sheet + ".css is missing")
		}
		app.Write(content)
		app.WriteByte('\n')
	}
	all["css/app.css"] = app.Bytes()
	return all
}

func hashOf(all map[string][]byte) string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	sum := sha256.New()
	for _, name := range names {
		fmt.Fprintf(sum, "%s %d\n", name, len(all[name]))
		sum.Write(all[name])
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// Path is the address of a file, "css/app.css" for example. An unknown name is a slip in code and panics.
func Path(name string) string {
	if _, ok := contents[name]; !ok {
		panic("static: no file " + name)
	}
	return prefix + hash + "/" + name
}

// Bytes is the content of a file, for those who put it elsewhere (the console plugin takes css/app.css). Nil when
// unknown.
func Bytes(name string) []byte { return contents[name] }

// Handler answers GET /static/<hash>/<name>. The hash of an older build still finds today's file, so that a page
// opened before an update keeps working, but such an answer is not cached.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, prefix), "/")
		content, found := contents[name]
		if !ok || !found {
			http.NotFound(w, r)
			return
		}
		if asked == hash {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		} else {
			w.Header().Set("Cache-Control", "no-cache")
		}
		if path.Ext(name) == ".css" {
			// A panel within a page of another site may be in a sandbox and has no origin then; it still has its style.
			w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		}
		serve(w, r, name, content)
	})
}

// Favicon answers GET /favicon.ico, which browsers ask for without being told to.
func Favicon() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=86400")
		serve(w, r, "favicon.ico", contents["favicon.ico"])
	})
}

func serve(w http.ResponseWriter, r *http.Request, name string, content []byte) {
	kind, ok := contentTypes[path.Ext(name)]
	if !ok {
		kind = "application/octet-stream"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// Icon is one drawing of icons.svg.
type Icon struct {
	// Line icons are drawn with a stroke, the others are filled.
	Line bool
	// Body is the markup inside the symbol.
	Body string
}

var symbol = regexp.MustCompile(`<symbol id="([a-z-]+)" viewBox="0 0 24 24"( class="line")?>(.*?)</symbol>`)

func parseIcons(sprite []byte) map[string]Icon {
	all := map[string]Icon{}
	for _, m := range symbol.FindAllSubmatch(sprite, -1) {
		all[string(m[1])] = Icon{Line: len(m[2]) > 0, Body: string(m[3])}
	}
	return all
}

// IconNamed finds an icon. Components write it into the page, so that a fragment brings its icons along wherever it is
// shown, also inside the OpenShift console, where our addresses have another prefix.
func IconNamed(name string) (Icon, bool) {
	icon, ok := icons[name]
	return icon, ok
}

// IconNames lists all icons, for the storybook.
func IconNames() []string {
	names := make([]string, 0, len(icons))
	for name := range icons {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
