package notify

import (
	"embed"
	"fmt"
	"strings"
	"text/template"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

//go:embed words/*.yaml
var files embed.FS

// Languages are those that notices come in, the first is the fallback. The pages have fewer.
func Languages() []string { return []string{"en", "de", "zh", "ko"} }

// Args are what the words of a notice are filled with. Every one is one line of bounded length when it gets there.
type Args struct {
	Name, Tenant, Who, Asker, Size, Reason, Note, Until, Volume, Month string
	For, Ends                                                          string // how long it was idle, and when it will be stopped
	Totals                                                             string // of a month: sentences of the portal's own, so they may be longer
}

// Words are the templates of all languages.
type Words struct {
	bundle    *i18n.Bundle
	templates map[string]map[string]*template.Template // by language and id
}

// LoadWords reads the templates. The bundle puts notes and reasons of other rooms into words; languages that it lacks get the English ones.
func LoadWords(bundle *i18n.Bundle) (*Words, error) {
	w := &Words{bundle: bundle, templates: map[string]map[string]*template.Template{}}
	for _, lang := range Languages() {
		data, err := files.ReadFile("words/" + lang + ".yaml")
		if err != nil {
			return nil, err
		}
		var texts map[string]string
		if err := yaml.Unmarshal(data, &texts); err != nil {
			return nil, fmt.Errorf("words/%s.yaml: %w", lang, err)
		}
		w.templates[lang] = map[string]*template.Template{}
		for id, text := range texts {
			t, err := template.New(id).Option("missingkey=error").Parse(text)
			if err != nil {
				return nil, fmt.Errorf("words/%s.yaml: %s: %w", lang, id, err)
			}
			w.templates[lang][id] = t
		}
	}
	return w, nil
}

func (w *Words) say(lang string, t i18n.Text) string { return w.bundle.For(lang).Say(t) }

func (w *Words) fill(lang, id string, args Args) (string, error) {
	texts, ok := w.templates[lang]
	if !ok {
		texts = w.templates[Languages()[0]]
	}
	t, ok := texts[id]
	if !ok {
		return "", fmt.Errorf("no words for %s in %s", id, lang)
	}
	var b strings.Builder
	err := t.Execute(&b, args)
	return strings.TrimSpace(b.String()), err
}

// Notice puts a notice into words.
func (w *Words) Notice(lang string, kind Kind, words string, args Args, portal, path string) (Notice, error) {
	for _, arg := range []*string{&args.Name, &args.Tenant, &args.Who, &args.Asker, &args.Size, &args.Reason, &args.Note, &args.Until, &args.Volume, &args.For, &args.Ends, &args.Month} {
		*arg = oneLine(*arg, 200)
	}
	args.Totals = oneLine(args.Totals, 1000)
	n := Notice{Kind: kind, Language: lang, Link: portal + path}
	for id, into := range map[string]*string{words + ".title": &n.Title, words + ".body": &n.Body, "open": &n.Open, "footer": &n.Footer} {
		text, err := w.fill(lang, id, args)
		if err != nil {
			return n, err
		}
		*into = text
	}
	n.Title = oneLine(n.Title, 160)
	n.Footer += " " + portal + "/account/notifications"
	return n, nil
}

// oneLine keeps what somebody typed from becoming a header, a line of its own or a command to a terminal: names come from sign-in providers, reasons from people and clusters.
func oneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most-1]) + "…"
	}
	return text
}
