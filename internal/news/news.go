// Package news holds the release notes for users: each Release with its Entries in every language of the pages, newest
// first. Unread tells by a person's acknowledgements whether the newest was shown to them.
package news

import (
	"bytes"
	_ "embed"
	"slices"
	"sync"
	"time"

	"gopkg.in/yaml.v3"
)

// Release is one version.
type Release struct {
	Version string
	Date    time.Time
	Entries []Entry
}

// Entry is one change. Platform says that it concerns those who see the platform's side alone.
type Entry struct {
	Href     string
	Platform bool
	Texts    map[string]Text // by language
}

// Text is an entry in one language.
type Text struct{ Title, Words string }

// In gives the text in a language, else in English.
func (e Entry) In(lang string) Text {
	if t, ok := e.Texts[lang]; ok {
		return t
	}
	return e.Texts["en"]
}

//go:embed news.yaml
var file []byte

// All are the releases, newest first.
var All = sync.OnceValue(func() []Release {
	var list []Release
	d := yaml.NewDecoder(bytes.NewReader(file))
	d.KnownFields(true)
	if err := d.Decode(&list); err != nil {
		panic(err) // it is compiled in: a test sees it first
	}
	return list
})

// Unread reports whether the newest release is not among a person's marks.
func Unread(marks []string) bool { return !slices.Contains(marks, Mark()) }

// Mark is what somebody has acknowledged who has read of the newest release.
func Mark() string { return "news-" + All()[0].Version }
