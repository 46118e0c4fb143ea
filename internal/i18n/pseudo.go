package i18n

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"

	goi18n "github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
	"gopkg.in/yaml.v3"
)

// PseudoLanguage is the tag of stretched English (CLDR calls accented English so). It is not among Languages: only the
// storybook and tests speak it.
const PseudoLanguage = "en-XA"

// Pseudo speaks English with accents, two fifths longer, and between brackets: "⟦Sáavée⟧" for "Save". What is cut on a
// page, or stands outside of brackets without being data, shows at once.
//
// It is put together once a process: a fifth of a second of CPU, and the storybook asks for it with each page.
func Pseudo() (*Localizer, error) { return pseudo() }

var pseudo = sync.OnceValues(loadPseudo)

func loadPseudo() (*Localizer, error) {
	b := goi18n.NewBundle(language.English)
	files, err := messageFiles()
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if !strings.HasSuffix(name, ".en.yaml") {
			continue
		}
		data, err := fs.ReadFile(messages, name)
		if err != nil {
			return nil, err
		}
		var entries map[string]any
		if err := yaml.Unmarshal(data, &entries); err != nil {
			return nil, fmt.Errorf("read messages %s: %w", name, err)
		}
		for id, value := range entries {
			if err := b.AddMessages(language.English, pseudoMessage(id, value)); err != nil {
				return nil, fmt.Errorf("message %s: %w", id, err)
			}
		}
	}
	return &Localizer{loc: goi18n.NewLocalizer(b, "en"), tag: language.MustParse(PseudoLanguage)}, nil
}

// pseudoMessage stretches a message: words, or a map of plural forms.
func pseudoMessage(id string, value any) *goi18n.Message {
	m := &goi18n.Message{ID: id}
	switch v := value.(type) {
	case string:
		m.Other = stretch(v)
	case map[string]any:
		for form, words := range v {
			text := stretch(fmt.Sprint(words))
			switch form {
			case "one":
				m.One = text
			case "other":
				m.Other = text
			}
		}
	}
	return m
}

// accents keep a text readable, and no wider than its letters are.
var accents = strings.NewReplacer("a", "áa", "e", "ée", "i", "íi", "o", "óo", "u", "úu", "A", "ÁA", "E", "ÉE", "I",
	"ÍI", "O", "ÓO", "U", "ÚU", "y", "ýy", "n", "ñ", "c", "ç", "N", "Ñ", "C", "Ç")

// stretch leaves what stands between braces as it is: arguments, which are data.
func stretch(words string) string {
	if words == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("⟦")
	for words != "" {
		from := strings.Index(words, "{{")
		to := strings.Index(words, "}}")
		if from < 0 || to < from {
			break
		}
		b.WriteString(accents.Replace(words[:from]))
		b.WriteString(words[from : to+2])
		words = words[to+2:]
	}
	b.WriteString(accents.Replace(words))
	b.WriteString("⟧")
	return b.String()
}
