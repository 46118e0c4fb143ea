package notify

import (
	"cmp"
	"embed"
	"fmt"
	"strings"
	"text/template"
	"time"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

//go:embed words/*.yaml
var files embed.FS

// Languages are those that notices come in, the first is the fallback: those of the pages.
func Languages() []string {
	tags := make([]string, len(i18n.Languages))
	for n, tag := range i18n.Languages {
		tags[n] = tag.String()
	}
	return tags
}

// Args are what the words of a notice are filled with. Every one is one line of bounded length when it gets there.
type Args struct {
	Name, Tenant, Who, Asker, Size, Reason, Note, Until, Volume, Month string
	// how long it was idle, and when it will be stopped
	For, Ends string
	Totals    string // of a month: sentences of the portal's own, so they may be longer
}

// Words are the templates of all languages.
type Words struct {
	bundle    *i18n.Bundle
	templates map[string]map[string]*template.Template // by language and id
}

// LoadWords reads the templates. The bundle puts notes and reasons of other packages into words.
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

// say puts a text of another package into words, with the times and lengths of time in it as people read them.
func (w *Words) say(lang string, t i18n.Text) string {
	l := w.bundle.Exactly(lang)
	return l.Say(readable(l, t))
}

// readable is a text whose arguments are put as people read them: they travel as machines write them.
func readable(l *i18n.Localizer, t i18n.Text) i18n.Text {
	args := make(map[string]any, len(t.Args))
	for name, value := range t.Args {
		switch v := value.(type) {
		case i18n.Text:
			value = readable(l, v)
		case string:
			value = argument(l, name, v)
		}
		args[name] = value
	}
	return i18n.Text{ID: t.ID, Args: args}
}

// argument tells by its name what may be a length of time: "2d" may be what somebody called a workload. What somebody
// wrote stays as it is.
func argument(l *i18n.Localizer, name, value string) string {
	switch name {
	case "Words", "Note", "Name":
		return value
	case "For", "Left", "Lease":
		return span(l, value)
	case "Month":
		return month(l, value)
	}
	return cmp.Or(moment(l, value), value)
}

// moment is a time that an event's detail tells; "" where it tells none.
func moment(l *i18n.Localizer, arg any) string {
	text, _ := arg.(string)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return ""
	}
	return l.Moment(at, time.UTC)
}

// span is a length of time that an event's detail tells, or whatever else it tells.
func span(l *i18n.Localizer, text string) string {
	d, err := catalog.ParseDuration(text)
	if err != nil {
		return text
	}
	return l.Duration(d.Std())
}

func month(l *i18n.Localizer, text string) string {
	m, err := usage.ParseMonth(text)
	if err != nil {
		return text
	}
	return l.Say(m.Text())
}

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
	for _, arg := range []*string{&args.Reason, &args.Note} { // sentences
		*arg = oneLine(*arg, 600)
	}
	for _, arg := range []*string{&args.Name, &args.Tenant, &args.Who, &args.Asker, &args.Size, &args.Until, &args.Volume,
		&args.For, &args.Ends, &args.Month} {
		*arg = oneLine(*arg, 200)
	}
	args.Totals = oneLine(args.Totals, 1000)
	n := Notice{Kind: kind, Language: lang, Link: portal + path}
	for id, into := range map[string]*string{words + ".title": &n.Title, words + ".body": &n.Body, "open": &n.Open,
		"footer": &n.Footer} {
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

// oneLine keeps what somebody typed from becoming a header, a line of its own or a command to a terminal: names come
// from sign-in providers, reasons from people and clusters.
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
