package i18n

import "encoding/json"

// Text is one message that a person will read: the id of a message in locales/ and its arguments. It is a plain
// value: it can be stored as JSON and read later in another language. The zero Text says nothing.
type Text struct {
	ID   string         `json:"id"`
	Args map[string]any `json:"args,omitempty"`
}

// T makes a Text from an id and pairs of argument name and value. An argument may itself be a Text, which is
// put into words first; "Count" chooses the plural form. It panics on an odd number of pairs: that is a slip in code.
func T(id string, pairs ...any) Text {
	if len(pairs)%2 != 0 {
		panic("i18n: T(" + id + ") wants name and value pairs")
	}
	t := Text{ID: id}
	for i := 0; i < len(pairs); i += 2 {
		if t.Args == nil {
			t.Args = make(map[string]any, len(pairs)/2)
		}
		t.Args[pairs[i].(string)] = pairs[i+1]
	}
	return t
}

// Literal carries words that are not ours and so have no translation: an administrator's own sentence, a note typed by
// a person, a raw message of the cluster.
func Literal(words string) Text {
	if words == "" {
		return Text{}
	}
	return Text{ID: literalID, Args: map[string]any{"Words": words}}
}

const literalID = "literal"

// Titled is a name that an administrator gave, with what it is called in other languages: the reader's is shown, and
// the usual one where there is none. As an argument of a Text it is chosen when the Text is put into words.
func Titled(usual string, in map[string]string) Text {
	if len(in) == 0 {
		return Literal(usual)
	}
	t := Text{ID: titledID, Args: map[string]any{"Words": usual}}
	for lang, words := range in {
		t.Args[lang] = words
	}
	return t
}

const titledID = "titled"

// IsZero reports whether the Text says nothing.
func (t Text) IsZero() bool { return t.ID == "" }

// UnmarshalJSON restores nested Texts, which JSON alone would give back as maps.
func (t *Text) UnmarshalJSON(data []byte) error {
	var raw struct {
		ID   string                     `json:"id"`
		Args map[string]json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*t = Text{ID: raw.ID}
	for name, value := range raw.Args {
		if t.Args == nil {
			t.Args = make(map[string]any, len(raw.Args))
		}
		arg, err := decodeArg(value)
		if err != nil {
			return err
		}
		t.Args[name] = arg
	}
	return nil
}

func decodeArg(value json.RawMessage) (any, error) {
	if len(value) > 0 && value[0] == '{' {
		var nested Text
		if err := json.Unmarshal(value, &nested); err != nil {
			return nil, err
		}
		return nested, nil
	}
	var plain any
	err := json.Unmarshal(value, &plain)
	return plain, err
}
