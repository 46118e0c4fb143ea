package i18n

import (
	"errors"
	"testing"
	"time"
)

// TestPhrasesSayWhatTemplatesSay puts every message of every language into words in both ways.
func TestPhrasesSayWhatTemplatesSay(t *testing.T) {
	values := []any{"words", "", "a {{.Name}} & <b>", 7, int64(-3), 2.5, true, []string{"a", "b"}, time.Minute,
		errors.New("no"), T("ui.day", "Day", 3, "Month", "May"), nil, new("pointed at")}
	counts := []any{0, 1, 2, int64(1), 1.0, 1.5, "1", "12", " 1", "many", -1, uint8(1), 1_000_000, nil}
	for _, l := range MustLoad().speakers {
		if len(l.phrases) < 1000 {
			t.Errorf("%s: %d messages are simple", l.Lang(), len(l.phrases))
		}
		i := 0
		for id, m := range l.phrases {
			forms := []phrase{m.other}
			for _, form := range m.forms {
				forms = append(forms, form)
			}
			for round := range values {
				said := Text{ID: id, Args: map[string]any{}}
				for _, form := range forms {
					for _, p := range form.parts {
						if p.argument != "" && (round > 0 || p.argument != "Name") {
							said.Args[p.argument] = values[i%len(values)]
							i++
						}
					}
				}
				if m.forms != nil {
					said.Args["Count"] = counts[i%len(counts)]
					i++
				}
				if got, want := l.Say(said), l.executed(said); got != want {
					t.Errorf("%s: %s with %v is %q, by its template %q", l.Lang(), id, said.Args, got, want)
				}
			}
		}
	}
}

func TestPairsAreTheArgumentsOfAText(t *testing.T) {
	l := MustLoad().For("de")
	for _, pairs := range [][]any{{"Day", 3, "Month", "Mai"}, {"Day", 3, "Day", 4, "Month", "Mai"}, {"Day", 3}} {
		if got, want := l.S("ui.day", pairs...), l.executed(T("ui.day", pairs...)); got != want {
			t.Errorf("%v: %q, want %q", pairs, got, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("an odd number of pairs is taken")
		}
	}()
	l.S("ui.day", "Day")
}

func TestOnlyArgumentsAreSimple(t *testing.T) {
	for text, want := range map[string]bool{"": true, "words": true, "{{.By}} and {{ .Name }}": true, "a }} b": true,
		"{{with .Note}} {{.}}{{end}}": false, "{{.}}": false, "{{.A.B}}": false, "{{.A | x}}": false, "{{.A": false,
		"{{- .A}}": false, "{{/* . */}}": false} {
		if _, plain := parse(text); plain != want {
			t.Errorf("%q: %v, want %v", text, plain, want)
		}
	}
}

func TestAPreferenceIsChosenOnce(t *testing.T) {
	b := MustLoad()
	for range mostChoices + 5 {
		for wanted, want := range map[string]string{"": "en", "de": "de", "fr, ko;q=0.5": "ko", "zh-CN,zh;q=0.9": "zh"} {
			if got := b.For("", wanted).Lang(); got != want {
				t.Fatalf("%q: %s, want %s", wanted, got, want)
			}
		}
	}
	if b.For("", "de") != b.For("de") || b.Exactly("ko") != b.For("ko") {
		t.Error("a language has several speakers")
	}
	for i := range 2 * mostChoices {
		b.chosen.put(string(rune('a'+i%26))+string(rune('a'+i/26)), 0)
	}
	if n := len(b.chosen.made); n > mostChoices {
		t.Errorf("%d choices are kept", n)
	}
}
