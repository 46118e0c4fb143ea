package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/views/search"
)

// Bounds of one search. What is in the database is asked for from two characters on.
const (
	longest       = 100 // characters
	mostWords     = 5
	fewestStored  = 2
	fewestInside  = 3
	mostInPalette = 5 // of each kind
	mostOnPage    = 20
	fewOnPage     = 3 // of each kind, until one is chosen
)

// query is what somebody searches for.
type query struct {
	text  string
	words []string // in lower case; each must be found
}

func parse(text string) query {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest])
	}
	text = strings.TrimSpace(text)
	words := strings.Fields(strings.ToLower(text))
	return query{text: text, words: words[:min(len(words), mostWords)]}
}

// stored reports whether the database is asked: one letter would find nearly everything.
func (q query) stored() bool { return len([]rune(q.text)) >= fewestStored }

// hit is one result; the higher its score, the better.
type hit struct {
	search.HitModel
	score int
}

// group is the results of one kind.
type group struct {
	kind search.Kind
	hits []hit
}

// Where a word is found in a title counts more than that it is found at all. A title that is the query comes first.
const (
	foundElsewhere = 1 + iota
	foundInside
	beginsWord
	beginsTitle
	isTitle = 10
)

// score is how well a title, or what else is known of a thing, answers a query; 0 where a word is found nowhere.
func (q query) score(title string, also ...string) int {
	return q.scoreLower(strings.ToLower(title), strings.ToLower(strings.Join(also, "\n")))
}

// named is how well the name of something that was found answers, or the name of whose it is: that counts as a word of
// it. It is found by its id otherwise.
func (q query) named(name, owner string) int {
	return max(foundElsewhere, q.score(name), min(q.score(owner), beginsWord))
}

// scoreLower is score of what is in lower case already.
func (q query) scoreLower(title, rest string) int {
	sum := 0
	for _, word := range q.words {
		found := place(title, word)
		if found == 0 && (long(word) && strings.Contains(rest, word) || place(rest, word) > 0) {
			found = foundElsewhere
		}
		if found == 0 {
			return 0
		}
		sum += found
	}
	if title == strings.Join(q.words, " ") {
		sum += isTitle
	}
	return sum
}

// place says where a word stands in a title. One or two letters inside another word are no answer: "an" does not ask
// for "demand".
func place(title, word string) int {
	best := 0
	inside := foundInside
	if !long(word) {
		inside = 0
	}
	for from := 0; ; {
		at := strings.Index(title[from:], word)
		if at < 0 {
			return best
		}
		at += from
		switch {
		case at == 0:
			return beginsTitle
		case !endsInWord(title[:at]):
			best = max(best, beginsWord)
		default:
			best = max(best, inside)
		}
		from = at + len(word)
	}
}

// long reports whether a word is an answer also inside of another one.
func long(word string) bool {
	return utf8.RuneCountInString(word) >= fewestInside || strings.ContainsFunc(word, ideograph)
}

// ideograph reports whether a character is of a script that does not separate its words.
func ideograph(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana)
}

// endsInWord reports whether the last character is a letter or a digit.
func endsInWord(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// ranked leaves the best of each kind, and puts the kind with the best hit first. Equal ones stay in their order.
func ranked(groups []group, most int) []group {
	best := func(g group) int { return g.hits[0].score }
	groups = slices.DeleteFunc(groups, func(g group) bool { return len(g.hits) == 0 })
	for i, g := range groups {
		slices.SortStableFunc(g.hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
		groups[i].hits = g.hits[:min(len(g.hits), most)]
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(best(b), best(a)) })
	return groups
}
