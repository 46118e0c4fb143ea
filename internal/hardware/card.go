package hardware

import (
	_ "embed"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed hardware.json
var data []byte

// Card is a card of NVIDIA's that MIG can cut.
type Card struct {
	Names    []string  `json:"names"` // words of the card's name, each enough
	GB       float64   `json:"gb"`    // of memory, as the name of the card tells it
	Profiles []Profile `json:"profiles"`

	words [][]string // of the names
}

// Profile is a kind of MIG instance of a card.
type Profile struct {
	Name   string `json:"name"`   // as nvidia-smi spells it: "1g.10gb+me"
	Slices int    `json:"slices"` // of compute
	Size   int    `json:"size"`   // in memory slices
	Starts []int  `json:"starts"` // memory slices at which an instance may begin
	Max    int    `json:"max"`    // at most so many on one card
}

type boardRow struct {
	Boards []string `json:"boards"`
	Types  []string `json:"types"`
}

type table struct {
	Sources     map[string]string  `json:"sources"`
	Cards       []Card             `json:"cards"`
	Uncut       []string           `json:"uncut"`
	Boards      []boardRow         `json:"boards"`
	BoardCards  map[string]string  `json:"boardCards"`
	SharedTypes []string           `json:"sharedTypes"`
	Memory      map[string]float64 `json:"memory"`
}

// facts is the table; that it can be read is tested.
var facts = sync.OnceValue(func() (t table) {
	if err := json.Unmarshal(data, &t); err != nil {
		panic("hardware.json: " + err.Error())
	}
	for i := range t.Cards {
		for _, name := range t.Cards[i].Names {
			t.Cards[i].words = append(t.Cards[i].words, wordsOf(name))
		}
	}
	return t
})

// Sources say where each part of the table is from.
func Sources() map[string]string { return facts().Sources }

// Cards are all that can be cut. Callers must not change them.
func Cards() []Card { return facts().Cards }

// ProfileNames are those of the card, in the order of the table.
func (c Card) ProfileNames() []string {
	names := make([]string, len(c.Profiles))
	for i, p := range c.Profiles {
		names[i] = p.Name
	}
	return names
}

var memoryWord = regexp.MustCompile(`^([0-9]+)(GB?)?$`)

// CardsOf finds the cards that a name may mean: all of the chip, or those with the memory that the name tells.
func CardsOf(name string) (cards []Card, known bool) {
	said := wordsOf(name)
	var exact []Card
	for _, c := range facts().Cards {
		if !slices.ContainsFunc(c.words, func(words []string) bool { return holds(said, words) }) {
			continue
		}
		cards = append(cards, c)
		for _, word := range said {
			if m := memoryWord.FindStringSubmatch(word); m != nil && m[1] == strconv.FormatFloat(c.GB, 'f', -1, 64) {
				exact = append(exact, c)
				break
			}
		}
	}
	if len(exact) > 0 {
		return exact, true
	}
	return cards, len(cards) > 0
}

// Uncut is the card that a name means, where it is one that has no MIG; "" for all others.
func Uncut(name string) string {
	said := wordsOf(name)
	best := ""
	for _, u := range facts().Uncut {
		if holds(said, wordsOf(u)) && len(u) > len(best) {
			best = u
		}
	}
	if _, cuttable := CardsOf(name); cuttable {
		return ""
	}
	return best
}

// usualSlices is how many compute slices a card is taken for that is not in the table.
const usualSlices = 7

// SlicesOf is into how many compute slices a card can be cut: as many as its largest slice has. Cards that are not in
// the table are taken for the usual seven.
func SlicesOf(card string) int {
	if n, known := Slices(card); known {
		return n
	}
	return usualSlices
}

// Slices is SlicesOf for cards of the table; not known for others.
func Slices(card string) (n int, known bool) {
	cards, known := CardsOf(card)
	for _, c := range cards {
		for _, p := range c.Profiles {
			n = max(n, p.Slices)
		}
	}
	return n, known
}

// MemoryOf is the memory in GB of a whole card of another maker, by the product as its label names it; 0 where that is
// not known.
func MemoryOf(product string) float64 {
	for name, gb := range facts().Memory {
		if strings.EqualFold(name, product) {
			return gb
		}
	}
	return 0
}

// wordsOf splits the name of a card at everything that is neither letter nor digit.
func wordsOf(name string) []string {
	return strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool {
		return (r < 'A' || r > 'Z') &&
			(r < '0' || r > '9')
	})
}

// holds reports whether the words of one name stand in another, one after the other.
func holds(said, name []string) bool {
	for i := 0; i+len(name) <= len(said); i++ {
		if slices.Equal(said[i:i+len(name)], name) {
			return true
		}
	}
	return false
}

// Has reports whether the card has a MIG profile. Drivers differ by a little in the memory that a slice is named after
// (3g.39gb for 3g.40gb under driver 535), so 1 GB or 3 % more or less is the same.
func (c Card) Has(profile string) bool {
	slice, gb, kind := profileParts(profile)
	return slices.ContainsFunc(c.Profiles, func(p Profile) bool {
		s, g, k := profileParts(p.Name)
		return s == slice && k == kind && (g == gb || g > 12 && math.Abs(g-gb) <= max(1, 0.03*g))
	})
}

// profileParts takes "1g.10gb+me" apart, whether it is spelled as nvidia-smi does or as a resource.
func profileParts(profile string) (slice string, gb float64, kind string) {
	slice, rest, _ := strings.Cut(profile, "g.")
	size, kind, _ := strings.Cut(rest, "gb")
	gb, _ = strconv.ParseFloat(size, 64)
	return slice, gb, strings.Replace(kind, "+", ".", 1)
}

// MIGName is a MIG profile taken apart.
type MIGName struct {
	Slices     float64 // of compute
	GB         float64
	Attributes string // "me" of 1g.10gb+me
}

// resourceProfile finds what comes after the memory in a profile as resource names spell it: "1g.5gb.me" for
// nvidia-smi's "1g.5gb+me".
var resourceProfile = regexp.MustCompile(`^([0-9]+)g\.([0-9]+)gb(?:\.(.+))?$`)

// ParseResourceProfile reads a profile as resource names spell it; false where it is none.
func ParseResourceProfile(spelled string) (name MIGName, ok bool) {
	parts := resourceProfile.FindStringSubmatch(spelled)
	if parts == nil {
		return MIGName{}, false
	}
	name.Slices, _ = strconv.ParseFloat(parts[1], 64)
	name.GB, _ = strconv.ParseFloat(parts[2], 64)
	name.Attributes = parts[3]
	return name, true
}

// String is the profile as nvidia-smi spells it.
func (m MIGName) String() string {
	text := strconv.FormatFloat(m.Slices, 'f', -1, 64) + "g." + strconv.FormatFloat(m.GB, 'f', -1, 64) + "gb"
	if m.Attributes != "" {
		text += "+" + m.Attributes
	}
	return text
}

// ComputeSlices reads the number of compute slices from the name of a MIG profile: 3 from "3g.20gb", and from
// "1c.3g.20gb". 0 where it says none.
func ComputeSlices(profile string) int {
	for part := range strings.SplitSeq(profile, ".") {
		if g, ok := strings.CutSuffix(part, "g"); ok {
			if n, err := strconv.Atoi(g); err == nil && n > 0 && n <= usualSlices {
				return n
			}
		}
	}
	return 0
}
