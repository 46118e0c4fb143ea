package hardware

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Names of vGPU types end in frame buffer and series, with the compute slices before them when they are backed by MIG:
// A40-12Q, H100XM-1-10CME. Source: Virtual GPU Client Licensing User Guide; checked against the 710 types of GPU
// operator v26.7.0.
var (
	timeSlicedVGPU = regexp.MustCompile(`[-_ ][0-9]+[ABCQ](ME|GFX|NOME)?$`)
	migBackedVGPU  = regexp.MustCompile(`[-_ ][1-7]-[0-9]+[ABCQ](ME|GFX|NOME)?$`)
	series         = regexp.MustCompile(`[0-9]([ABCQ])(?:[0-9]|ME|GFX|NOME)?$`)
)

// VGPUType reports whether a product, a resource or a driver's name of a card is that of a vGPU type, and whether MIG
// backs that type.
func VGPUType(name string) (is, mig bool) {
	mig = migBackedVGPU.MatchString(name)
	return mig || timeSlicedVGPU.MatchString(name), mig
}

// SeriesOf is the letter of a vGPU type's series: A, B, C or Q; "" where the name has none.
func SeriesOf(name string) string {
	if m := series.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}

// VGPU is a vGPU type taken apart.
type VGPU struct {
	Board   string
	Slices  int // compute slices of the MIG slice behind it; 0 for one that takes turns
	GB      float64
	Series  string
	Variant string // "ME", "GFX", "NOME"; "" for none
}

var vgpuType = regexp.MustCompile(`^([A-Za-z0-9-]+?)-(?:([1-7])-)?([0-9]+)([ABCQ])(ME|GFX|NOME)?$`)

// ParseVGPU reads the name of a vGPU type; false where it is none.
func ParseVGPU(name string) (VGPU, bool) {
	m := vgpuType.FindStringSubmatch(name)
	if m == nil {
		return VGPU{}, false
	}
	v := VGPU{Board: m[1], Series: m[4], Variant: m[5]}
	v.Slices, _ = strconv.Atoi(m[2])
	v.GB, _ = strconv.ParseFloat(m[3], 64)
	return v, true
}

// listed reports whether types of the kind are in the table: series C and Q.
func (v VGPU) listed() bool { return (v.Series == "C" || v.Series == "Q") && v.Variant != "NOME" }

// ParseListedVGPU is ParseVGPU for the kinds of types that the table lists.
func ParseListedVGPU(name string) (VGPU, bool) {
	v, ok := ParseVGPU(name)
	return v, ok && v.listed()
}

// TypesOf lists what may follow the board in a type.
func TypesOf(board string) (types []string, known bool) {
	for _, row := range facts().Boards {
		if !slices.Contains(row.Boards, board) {
			continue
		}
		for _, text := range row.Types {
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

// BoardMemory is the memory in GB of a card by the board in its vGPU types: that of the largest type. It is not known
// for types that two cards with different memory have.
func BoardMemory(board, profile string) (gb float64, known bool) {
	types, known := TypesOf(board)
	for _, t := range types {
		if v, ok := ParseVGPU(board + "-" + t); ok {
			gb = max(gb, v.GB)
		}
	}
	return gb, known && gb > 0 && !(board == sharedBoard && sharedType(profile))
}

// sharedBoard is the code that two cards have.
const sharedBoard = "DC"

func sharedType(profile string) bool {
	return slices.Contains(facts().SharedTypes, strings.TrimRight(profile, "ABCQMEGFXNO"))
}

// cardOf is the card behind a board, as the words that its name begins with: a code goes on with letters for the form,
// A100DX for the A100 SXM4 80GB.
func cardOf(board string) string {
	if card, found := facts().BoardCards[board]; found {
		return card
	}
	return cmp.Or(boardChip.FindString(board), board)
}

// boardChip leaves the S of L40S and V100S and takes the D, X, L, M and S that follow the chip elsewhere.
var boardChip = regexp.MustCompile(`^(L40S|V100S|[A-Z]+[0-9]+)`)

// OtherCard is the model when it names a card that has vGPU types, and not that of the board.
func OtherCard(model, board string) string {
	said := wordsOf(model)
	if holds(said, wordsOf(cardOf(board))) {
		return ""
	}
	for _, row := range facts().Boards {
		for _, b := range row.Boards {
			if holds(said, wordsOf(cardOf(b))) {
				return model
			}
		}
	}
	return ""
}

// OwnSlice reports whether a vGPU has a MIG slice to itself. On RTX PRO cards (DC) several may take turns in one slice:
// those with less memory than the slice.
func OwnSlice(profile string) bool {
	v, ok := ParseListedVGPU(profile)
	if !ok || v.Slices == 0 {
		return false
	}
	n := float64(v.Slices)
	return v.Board != sharedBoard || v.GB == 24*n || v.GB == 16*n && n < 4
}
