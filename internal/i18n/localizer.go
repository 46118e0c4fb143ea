package i18n

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	goi18n "github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
	"gopkg.in/yaml.v3"
)

// messages are files <package>.<language>.yaml.
var messages fs.FS

// Register gives the message files before they are loaded. Package locales does so when it is imported.
func Register(files fs.FS) { messages = files }

// messageFiles are the names of all files.
func messageFiles() ([]string, error) {
	if messages == nil {
		return nil, errors.New("no messages: this program or test does not import internal/i18n/locales")
	}
	return fs.Glob(messages, "*.yaml")
}

// Languages are the ones offered, the first is the fallback.
var Languages = []language.Tag{language.English, language.German, language.Chinese, language.Korean}

// names are written in the languages themselves, for those who look for theirs.
var names = map[language.Tag]string{language.English: "English", language.German: "Deutsch", language.Chinese: "简体中文",
	language.Korean: "한국어"}

// Name is the name of a language that is offered, written in itself.
func Name(tag language.Tag) string { return names[tag] }

// Bundle holds the messages of all languages.
type Bundle struct {
	speakers []*Localizer // of Languages
	chosen   choices
}

// Load is the messages of all languages, read once a process from the registered files, a quarter of a second of CPU.
// An error names the file that cannot be read.
func Load() (*Bundle, error) { return loaded() }

var loaded = sync.OnceValues(load)

func load() (*Bundle, error) {
	b := goi18n.NewBundle(language.English)
	b.RegisterUnmarshalFunc("yaml", yaml.Unmarshal)
	names, err := messageFiles()
	if err != nil {
		return nil, err
	}
	files := make([]*goi18n.MessageFile, len(names))
	for i, name := range names {
		if files[i], err = b.LoadMessageFileFS(messages, name); err != nil {
			return nil, fmt.Errorf("read messages %s: %w", name, err)
		}
	}
	bundle := &Bundle{}
	for _, tag := range Languages {
		bundle.speakers = append(bundle.speakers, &Localizer{loc: goi18n.NewLocalizer(b, tag.String()), tag: tag,
			phrases: phrasesIn(files, tag)})
	}
	return bundle, nil
}

// MustLoad is Load for programs and tests, where the files are known to be good.
func MustLoad() *Bundle {
	b, err := Load()
	if err != nil {
		panic(err)
	}
	return b
}

// Localizer puts Texts into one language. It does not change, and all who read the language share it.
type Localizer struct {
	loc     *goi18n.Localizer
	tag     language.Tag
	phrases map[string]phrases // by id; loc speaks what is not in it
}

var matcher = language.NewMatcher(Languages)

// For chooses the language: the first of the given preferences (a cookie value, an Accept-Language header) that is
// offered.
func (b *Bundle) For(preferences ...string) *Localizer {
	wanted := strings.Join(preferences, "\n")
	index, known := b.chosen.get(wanted)
	if !known {
		index = preferred(preferences)
		b.chosen.put(wanted, index)
	}
	return b.speakers[index]
}

// preferred is the place in Languages of what somebody prefers.
func preferred(preferences []string) int {
	var wanted []language.Tag
	for _, p := range preferences {
		tags, _, err := language.ParseAcceptLanguage(p)
		if err == nil {
			wanted = append(wanted, tags...)
		}
	}
	_, index, _ := matcher.Match(wanted...)
	return index
}

// choices keep what was chosen for preferences: each call of a browser has the same ones, and matching them takes tens
// of microseconds.
type choices struct {
	mu   sync.RWMutex
	made map[string]int
}

const (
	// mostChoices is far more than browsers of one site differ in; when it is reached, everything is forgotten.
	mostChoices = 500
	// longestChoice is in bytes; nobody's browser sends more.
	longestChoice = 200
)

func (c *choices) get(wanted string) (int, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	index, known := c.made[wanted]
	return index, known
}

func (c *choices) put(wanted string, index int) {
	if len(wanted) > longestChoice {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil || len(c.made) >= mostChoices {
		c.made = map[string]int{}
	}
	c.made[strings.Clone(wanted)] = index
}

// Exactly is the Localizer of one language. One that is none of ours is English.
func (b *Bundle) Exactly(lang string) *Localizer {
	tag, err := language.Parse(lang)
	if err != nil {
		return b.speakers[0]
	}
	return b.speakers[max(0, slices.Index(Languages, tag))]
}

// Tag is the language of this Localizer.
func (l *Localizer) Tag() language.Tag { return l.tag }

// Lang is the value of the html lang attribute.
func (l *Localizer) Lang() string { return l.tag.String() }

// Say puts a Text into words. An unknown id is shown as it is, so that nothing vanishes; a test keeps that from
// happening.
func (l *Localizer) Say(t Text) string {
	switch t.ID {
	case "":
		return ""
	case literalID:
		words, _ := t.Args["Words"].(string)
		return words
	case titledID:
		words, given := t.Args[l.Lang()].(string)
		if !given || words == "" {
			words, _ = t.Args["Words"].(string)
		}
		return words
	}
	if words, said := say(l, t.ID, named(t.Args)); said {
		return words
	}
	return l.executed(t)
}

// executed has go-i18n put a Text into words.
func (l *Localizer) executed(t Text) string {
	args := make(map[string]any, len(t.Args))
	for name, value := range t.Args {
		if nested, ok := value.(Text); ok {
			value = l.Say(nested)
		}
		args[name] = value
	}
	cfg := &goi18n.LocalizeConfig{MessageID: t.ID, TemplateData: args}
	if count, ok := args["Count"]; ok {
		cfg.PluralCount = pluralCount(count)
	}
	words, err := l.loc.Localize(cfg)
	if err != nil && words == "" {
		return t.ID
	}
	return words
}

// S is Say(T(id, pairs...)), for templates.
func (l *Localizer) S(id string, args ...any) string {
	if len(args)%2 == 0 {
		if words, said := say(l, id, pairs(args)); said {
			return words
		}
	}
	return l.Say(T(id, args...))
}

// pluralCount turns what JSON made of a whole number back into one.
func pluralCount(count any) any {
	if f, ok := count.(float64); ok && f == float64(int64(f)) {
		return int64(f)
	}
	return strings.TrimSpace(fmt.Sprint(count))
}
