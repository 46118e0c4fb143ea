package catalog

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/license"
)

// migCard is a card that can be cut, with the names of its slices.
type migCard struct {
	names    []string // words of the card's name, each enough
	gb       float64  // of memory, as the name of the card tells it
	profiles string
}

// migCards: NVIDIA MIG user guide (r580 to r610), "Supported MIG Profiles"; mig-parted v0.15.0, config-default.yaml;
// output of nvidia-smi mig -lgip where the guide has no table (GB200, GB300, RTX PRO). The H100 with 64 GB is read off
// its vGPU types, for no other source was found.
var migCards = []migCard{
	{[]string{"A30"}, 24, "1g.6gb 1g.6gb+me 2g.12gb 2g.12gb+me 4g.24gb"},
	{[]string{"A100", "A800"}, 40, "1g.5gb 1g.5gb+me 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb"},
	{[]string{"A100", "A800"}, 80, "1g.10gb 1g.10gb+me 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb"},
	{[]string{"H100"}, 64, "1g.8gb 1g.8gb+me 1g.16gb 2g.16gb 3g.32gb 4g.32gb 7g.64gb"},
	{[]string{"H100", "H800"}, 80, "1g.10gb 1g.10gb+me 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb"},
	{[]string{"H100", "H800"}, 94, "1g.12gb 1g.12gb+me 1g.24gb 2g.24gb 3g.47gb 4g.47gb 7g.94gb"},
	{[]string{"GH200", "H100", "H20"}, 96, "1g.12gb 1g.12gb+me 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb"},
	{[]string{"H200", "H20"}, 141, "1g.18gb 1g.18gb+me 1g.35gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb"},
	{[]string{"GH200"}, 144, "1g.18gb 1g.18gb+me 1g.36gb 2g.36gb 3g.72gb 4g.72gb 7g.144gb"},
	{[]string{"B200"}, 180, "1g.23gb 1g.23gb+me 1g.45gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb"},
	{[]string{"GB200"}, 186, "1g.23gb 1g.23gb+me 1g.47gb 2g.47gb 3g.93gb 4g.93gb 7g.186gb"},
	{[]string{"B300"}, 269, "1g.34gb 1g.34gb+me 1g.67gb 2g.67gb 3g.135gb 4g.135gb 7g.269gb"},
	{[]string{"GB300"}, 278, "1g.35gb 1g.35gb+me 1g.70gb 2g.70gb 3g.139gb 4g.139gb 7g.278gb"},
	{[]string{"RTX PRO 6000"}, 96, "1g.24gb 1g.24gb+me 1g.24gb+gfx 1g.24gb+me.all 1g.24gb-me 2g.48gb 2g.48gb+gfx " +
		"2g.48gb+me.all 2g.48gb-me 4g.96gb 4g.96gb+gfx"},
	{[]string{"RTX PRO 5000"}, 48, "1g.24gb 1g.24gb+me 1g.24gb+gfx 1g.24gb+me.all 1g.24gb-me 2g.48gb 2g.48gb+gfx"},
	{[]string{"RTX PRO 4500"}, 32, "1g.16gb 1g.16gb+gfx 1g.16gb+me.all 1g.16gb-me 2g.32gb 2g.32gb+gfx"},
}

// uncut are cards of NVIDIA that people meet in data centres and that have no MIG: NVIDIA MIG user guide, "Supported
// GPUs".
var uncut = []string{"T4", "V100", "P100", "A2", "A10", "A10G", "A16", "A40", "L2", "L4", "L20", "L40", "L40S",
	"RTX A5000", "RTX A5500", "RTX A6000", "RTX 6000 Ada"}

// vgpuBoards are boards by the name that they have in vGPU types, and what may follow it: "4CQ" is -4C and -4Q,
// "1-6CME" is -1-6CME, on a MIG slice of one. Source: vGPU device manager of GPU Operator v26.7.0; series C and Q. The
// series A and B are not offered for pods and not listed.
var vgpuBoards = []struct{ boards, types string }{
	{"T4 V100 V100X V100L A2 A16", "1Q 2Q 4CQ 8CQ 16CQ"},
	{"V100D V100DX V100S RTX5000-Ada", "1Q 2Q 4CQ 8CQ 16CQ 32CQ"},
	{"A10 L2 L4 RTX6000P RTXA5000 RTXA5500", "1Q 2Q 3Q 4CQ 6CQ 8CQ 12CQ 24CQ"},
	{"A40 L20 L40 L40S RTX5880-Ada RTX6000-Ada RTX8000P RTXA6000", "1Q 2Q 3Q 4CQ 6CQ 8CQ 12CQ 16CQ 24CQ 48CQ"},
	{"A30", "4C 6C 8C 12C 24C 1-6C 1-6CME 2-12C 2-12CME 4-24C"},
	{"A100 A100X A800", "4C 5C 8C 10C 20C 40C 1-5C 1-5CME 1-10C 2-10C 3-20C 4-20C 7-40C"},
	{"A100D A100DX A800D A800DX", "4C 8C 10C 16C 20C 40C 80C 1-10C 1-10CME 1-20C 2-20C 3-40C 4-40C 7-80C"},
	{"H100 H100XM H800 H800XM", "4C 5C 8C 10C 16C 20C 40C 80C 1-10C 1-10CME 1-20C 2-20C 3-40C 4-40C 7-80C"},
	{"H100L H100XL H800L", "4C 6C 11C 15C 23C 47C 94C 1-12C 1-12CME 1-24C 2-24C 3-47C 4-47C 7-94C"},
	{"H100XS", "4C 8C 16C 32C 64C 1-8C 1-8CME 1-16C 2-16C 3-32C 4-32C 7-64C"},
	{"H20", "4C 6C 8C 12C 16C 24C 32C 48C 96C 1-12C 1-12CME 1-24C 2-24C 3-48C 4-48C 7-96C"},
	{"H20X H200 H200X", "4C 7C 8C 14C 17C 28C 35C 70C 141C 1-18C 1-18CME 1-35C 2-35C 3-71C 4-71C 7-141C"},
	{"GH200", "96C 1-12C 1-12CME 1-24C 2-24C 3-48C 4-48C 7-96C"},
	{"GH200L", "144C 1-18C 1-18CME 1-36C 2-36C 3-72C 4-72C 7-144C"},
	{"B200X", "180C 1-23C 1-23CME 1-45C 2-45C 3-90C 4-90C 7-180C"},
	{"GB200", "189C 1-24C 1-24CME 1-47C 2-47C 3-95C 4-95C 7-189C"},
	{"B300X", "269C 1-34C 1-34CME 1-67C 2-67C 3-135C 4-135C 7-269C"},
	{"6000D", "84CQ 1-42CQ 1-42CQGFX 2-84CQ 2-84CQGFX"},
	// RTX PRO 6000 and RTX PRO 4500, which share the code.
	{"DC", "3Q 4Q 6Q 8CQ 12CQ 16CQ 24CQ 32CQ 48CQ 96CQ 1-2Q 1-2QGFX 1-3Q 1-3QGFX 1-4Q 1-4QGFX 1-6Q 1-6QGFX 1-8CQ " +
		"1-8CQGFX 1-12CQ 1-12CQGFX 1-16CQ " +
		"1-24CQ 1-24CQGFX 2-8CQ 2-12CQ 2-12CQGFX 2-16CQ 2-16CQGFX 2-24CQ 2-24CQGFX 2-32CQ 2-48CQ 2-48CQGFX " +
		"4-24CQ 4-24CQGFX 4-32CQ 4-32CQGFX 4-48CQ 4-48CQGFX 4-96CQ 4-96CQGFX"},
}

// boardCards are the cards behind boards whose code is not the beginning of the card's name.
var boardCards = map[string]string{"DC": "RTX PRO", "6000D": "RTX 6000D", "RTXA5000": "RTX A5000",
	"RTXA5500": "RTX A5500", "RTXA6000": "RTX A6000",
	"RTX5000-Ada": "RTX 5000 Ada", "RTX5880-Ada": "RTX 5880 Ada", "RTX6000-Ada": "RTX 6000 Ada", "RTX6000P": "RTX 6000",
	"RTX8000P": "RTX 8000"}

// hardware asks whether the card has what the size says of it. Cards that are not in the tables are believed.
func (k *checker) hardware(at string, s Size) {
	a := s.Accelerator
	profile := a.Profile
	if s.Technology == TimeSlicing {
		profile = strings.TrimSuffix(strings.TrimPrefix(a.Resource, "nvidia.com/mig-"), ".shared")
	}
	switch {
	case s.Technology == VGPU || s.LicenseKind() == license.SharedVGPU:
		k.vgpu(at, a)
	case (s.Technology == MIG || s.Technology == TimeSlicing || s.Technology == DRA) && migProfile.MatchString(profile):
		k.slice(at, a.Model, profile)
		for _, selector := range s.Placement.selectors() {
			product, _, _ := strings.Cut(selector[productLabel], "-MIG-")
			k.slice(at, strings.TrimSuffix(product, "-SHARED"), profile)
		}
	}
}

func (k *checker) slice(at, card, profile string) {
	if name := uncutCard(card); name != "" {
		k.at(at+".profile", "a %s cannot be cut into slices", name)
		return
	}
	fits, known := cardsOf(card)
	if known && !slices.ContainsFunc(fits, func(c migCard) bool { return c.has(profile) }) {
		var names []string
		for _, c := range fits {
			names = append(names, c.profiles)
		}
		k.at(at+".profile", "%s has no slice %s; it has %s", card, profile, strings.ReplaceAll(strings.Join(names, ", or "),
			" ", ", "))
	}
}

var memoryWord = regexp.MustCompile(`^([0-9]+)(GB?)?$`)

// cardsOf finds the cards that a name may mean: all of the chip, or those with the memory that the name tells.
func cardsOf(name string) (cards []migCard, known bool) {
	said := wordsOf(name)
	var exact []migCard
	for _, c := range migCards {
		if !slices.ContainsFunc(c.names, func(n string) bool { return holds(said, wordsOf(n)) }) {
			continue
		}
		cards = append(cards, c)
		for _, word := range said {
			if m := memoryWord.FindStringSubmatch(word); m != nil && m[1] == strconv.FormatFloat(c.gb, 'f', -1, 64) {
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

func uncutCard(name string) string {
	said := wordsOf(name)
	best := ""
	for _, u := range uncut {
		if holds(said, wordsOf(u)) && len(u) > len(best) {
			best = u
		}
	}
	if _, cuttable := cardsOf(name); cuttable {
		return ""
	}
	return best
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

// has: drivers differ by a little in the memory that a slice is named after (3g.39gb for 3g.40gb under driver 535), so
// 1 GB or 3 % more or less is the same.
func (c migCard) has(profile string) bool {
	slice, gb, kind := profileParts(profile)
	return slices.ContainsFunc(strings.Fields(c.profiles), func(p string) bool {
		s, g, k := profileParts(p)
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

// vgpuType is a type of series C or Q: board, compute slices of the MIG slice behind it (none for one that takes
// turns), memory in GB, series, variant.
var vgpuType = regexp.MustCompile(`^(.+?)-(?:([1-7])-)?([0-9]+)([CQ])(ME|GFX)?$`)

// otherVGPU are the series that are not in the table.
var otherVGPU = regexp.MustCompile(`^[A-Za-z0-9-]+-[0-9]+[AB][0-9]?$`)

func (k *checker) vgpu(at string, a Accelerator) {
	m := vgpuType.FindStringSubmatch(a.Profile)
	if a.Profile == "" || otherVGPU.MatchString(a.Profile) {
		return
	}
	if m == nil {
		k.at(at+".profile", "%q is not a vGPU type such as L40S-24Q or H100-1-10C", a.Profile)
		return
	}
	board, rest := m[1], strings.TrimPrefix(a.Profile, m[1]+"-")
	types, known := typesOf(board)
	if !known {
		return
	}
	if !slices.Contains(types, rest) {
		k.at(at+".profile", "there is no vGPU type %s; for %s there are -%s", a.Profile, board, strings.Join(types, ", -"))
	}
	if other := otherCard(a.Model, board); other != "" {
		k.at(at+".profile", "%s is a type of another card than %s", a.Profile, other)
	}
}

// typesOf lists what may follow the board in a type.
func typesOf(board string) (types []string, known bool) {
	for _, row := range vgpuBoards {
		if !slices.Contains(strings.Fields(row.boards), board) {
			continue
		}
		for _, text := range strings.Fields(row.types) {
			size := strings.TrimRight(text, "CQMEGFX")
			series, variant := strings.TrimPrefix(text, size), ""
			for _, v := range []string{"ME", "GFX"} {
				if cut, found := strings.CutSuffix(series, v); found {
					series, variant = cut, v
				}
			}
			for _, letter := range series {
				types = append(types, fmt.Sprintf("%s%c%s", size, letter, variant))
			}
		}
		return types, true
	}
	return nil, false
}

// cardOf is the card behind a board, as the words that its name begins with: a code goes on with letters for the form,
// A100DX for the A100 SXM4 80GB.
func cardOf(board string) string {
	if card, found := boardCards[board]; found {
		return card
	}
	return cmp.Or(boardChip.FindString(board), board)
}

// boardChip leaves the S of L40S and V100S and takes the D, X, L, M and S that follow the chip elsewhere.
var boardChip = regexp.MustCompile(`^(L40S|V100S|[A-Z]+[0-9]+)`)

// otherCard is the model when it names a card that has vGPU types, and not that of the board.
func otherCard(model, board string) string {
	said := wordsOf(model)
	if holds(said, wordsOf(cardOf(board))) {
		return ""
	}
	for _, row := range vgpuBoards {
		for b := range strings.FieldsSeq(row.boards) {
			if holds(said, wordsOf(cardOf(b))) {
				return model
			}
		}
	}
	return ""
}

// ownSlice reports whether a vGPU has a MIG slice to itself. On RTX PRO cards (DC) several may take turns in one slice:
// those with less memory than the slice.
func ownSlice(profile string) bool {
	m := vgpuType.FindStringSubmatch(profile)
	if m == nil || m[2] == "" {
		return false
	}
	n, _ := strconv.Atoi(m[2])
	gb, _ := strconv.Atoi(m[3])
	return m[1] != "DC" || gb == 24*n || gb == 16*n && n < 4
}

// SlicesOf is into how many compute slices a card can be cut: as many as its largest slice has. Cards that are not in
// the table are taken for the usual seven.
func SlicesOf(card string) int {
	most := 0
	cards, _ := cardsOf(card)
	for _, c := range cards {
		for _, p := range strings.Fields(c.profiles) {
			slice, _, _ := profileParts(p)
			n, _ := strconv.Atoi(slice)
			most = max(most, n)
		}
	}
	if most == 0 {
		return 7
	}
	return most
}
