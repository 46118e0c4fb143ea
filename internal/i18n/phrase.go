package i18n

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	goi18n "github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// phrase is one form of a message, taken apart once: words, then an argument, then words. Pages put thousands of
// messages into words, and nearly all of them are no more than that; go-i18n and its templates speak the others.
type phrase struct {
	parts []part
	words int // bytes of all parts together
}

// part is words with the name of the argument that follows them; "" for none.
type part struct{ words, argument string }

// parse takes a message apart. False is for one with more than arguments between its braces.
func parse(text string) (p phrase, plain bool) {
	for {
		words, rest, more := strings.Cut(text, "{{")
		inside, after, closed := strings.Cut(rest, "}}")
		name, isArgument := strings.CutPrefix(strings.TrimSpace(inside), ".")
		if more && (!closed || !isArgument || !isName(name)) {
			return phrase{}, false
		}
		p.parts, p.words = append(p.parts, part{words, name}), p.words+len(words)
		if !more {
			return p, true
		}
		text = after
	}
}

func isName(text string) bool {
	for _, r := range text {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return text != ""
}

// phrases are the forms of one message: that for "other", which stands for those that it does not have, and for others.
type phrases struct {
	other phrase
	forms map[plural.Form]phrase // nil for a message that has no other
}

// phrasesOf takes a message apart; false is for one that go-i18n has to speak.
func phrasesOf(m *goi18n.Message) (p phrases, plain bool) {
	if p.other, plain = parse(m.Other); !plain || m.Other == "" {
		return phrases{}, false
	}
	for form, text := range map[plural.Form]string{plural.Zero: m.Zero, plural.One: m.One, plural.Two: m.Two,
		plural.Few: m.Few, plural.Many: m.Many} {
		if text == "" {
			continue
		}
		said, plain := parse(text)
		if !plain {
			return phrases{}, false
		}
		if p.forms == nil {
			p.forms = map[plural.Form]phrase{}
		}
		p.forms[form] = said
	}
	return p, true
}

// arguments are those of a Text, or the pairs that it would be made of.
type arguments interface{ get(name string) (any, bool) }

type named map[string]any

func (n named) get(name string) (any, bool) { value, ok := n[name]; return value, ok }

type pairs []any

func (p pairs) get(name string) (any, bool) {
	for i := len(p) - 2; i >= 0; i -= 2 { // of two with a name the later one counts
		if is, ok := p[i].(string); ok && is == name {
			return p[i+1], true
		}
	}
	return nil, false
}

// say puts a message into words; false where it is not as simple as that.
func say[A arguments](l *Localizer, id string, args A) (string, bool) {
	message, known := l.phrases[id]
	if !known {
		return "", false
	}
	said := message.other
	if count, counts := args.get("Count"); counts {
		n, whole := wholeNumber(count)
		if !whole {
			return "", false
		}
		if message.forms != nil {
			if form, has := message.forms[plural.Cardinal.MatchPlural(l.tag, n, 0, 0, 0, 0)]; has {
				said = form
			}
		}
	}
	if len(said.parts) == 1 {
		return said.parts[0].words, true
	}
	var b strings.Builder
	b.Grow(said.words + 16*len(said.parts))
	for _, p := range said.parts {
		b.WriteString(p.words)
		if p.argument == "" {
			continue
		}
		value, given := args.get(p.argument)
		if !given || !l.write(&b, value) {
			return "", false
		}
	}
	return b.String(), true
}

// write puts an argument into words as a template would; false for what a template treats in its own way.
func (l *Localizer) write(b *strings.Builder, value any) bool {
	switch v := value.(type) {
	case string:
		b.WriteString(v)
	case Text:
		b.WriteString(l.Say(v))
	case int:
		b.WriteString(strconv.Itoa(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	default:
		switch reflect.ValueOf(value).Kind() {
		case reflect.Invalid, reflect.Pointer, reflect.Interface, reflect.Chan, reflect.Func:
			return false
		}
		_, _ = fmt.Fprint(b, value)
	}
	return true
}

// wholeNumber is a count that has a plural form by itself, also one that was JSON in between or is written in digits.
func wholeNumber(count any) (int, bool) {
	var n int
	switch v := count.(type) {
	case int:
		n = v
	case int64:
		n = int(v)
	case float64:
		if n = int(v); float64(n) != v {
			return 0, false
		}
	case string:
		var err error
		if n, err = strconv.Atoi(v); err != nil {
			return 0, false
		}
	default:
		return 0, false
	}
	return max(n, -n), true
}

// phrasesIn are the messages of a language that are simple.
func phrasesIn(files []*goi18n.MessageFile, tag language.Tag) map[string]phrases {
	all := map[string]phrases{}
	for _, file := range files {
		if file.Tag != tag {
			continue
		}
		for _, m := range file.Messages {
			if p, plain := phrasesOf(m); plain {
				all[m.ID] = p
			}
		}
	}
	return all
}
