package offer

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

func TestEntriesThatDiffer(t *testing.T) {
	t.Parallel()
	old, new := catalog.Default(), catalog.Default()
	new.Sizes = append([]catalog.Size{}, new.Sizes...)
	new.Sizes[1].PricePerHour.Minor, new.Sizes[1].Hidden = 60, true
	new.Sizes = append(new.Sizes[:2], new.Sizes[3:]...)
	new.Sizes = append(new.Sizes, catalog.Size{Name: "new", Title: "New"})
	want := []EntryChange{
		{List: "sizes", Name: "mig-1g.10gb", Title: "MIG slice 10 GB", Kind: Changed,
			Fields: []FieldChange{{"hidden", "", "true"}, {"pricePerHour.minor", "55", "60"}}},
		{List: "sizes", Name: "new", Title: "New", Kind: Added},
		{List: "sizes", Name: "mig-3g.40gb", Title: "MIG slice 40 GB", Kind: Removed},
	}
	if diff := cmp.Diff(want, Compare(old, new)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := Compare(old, catalog.Default()); got != nil {
		t.Errorf("the same: want nothing, got %v", got)
	}
}

func TestLinesThatDiffer(t *testing.T) {
	t.Parallel()
	if got := Lines("a\nb\n", "a\nb"); got != nil {
		t.Errorf("the same: want nothing, got %v", got)
	}
	want := []Line{{Op: "…"}, {" ", 3, 3, "3"}, {" ", 4, 4, "4"}, {" ", 5, 5, "5"}, {Op: "-", Old: 6, Text: "6"},
		{Op: "+", New: 6, Text: "six"}, {" ", 7, 7, "7"}}
	if diff := cmp.Diff(want, Lines("1\n2\n3\n4\n5\n6\n7", "1\n2\n3\n4\n5\nsix\n7")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The lines with "-" and " " are the old text, those with "+" and " " the new one, apart from what was left out; equal
// lines are at their numbers in both.
func TestADifferenceTellsBothTexts(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(1))
	for range 300 {
		text := func() []string {
			lines := make([]string, 1+random.Intn(25))
			for i := range lines {
				lines[i] = fmt.Sprint(random.Intn(5))
			}
			return lines
		}
		a, b := text(), text()
		olds, news := 0, 0
		for _, l := range Lines(strings.Join(a, "\n"), strings.Join(b, "\n")) {
			if l.Old > 0 && a[l.Old-1] != l.Text || l.New > 0 && b[l.New-1] != l.Text {
				t.Fatalf("%v is not in %v and %v", l, a, b)
			}
			switch l.Op {
			case "-":
				olds++
			case "+":
				news++
			}
		}
		if len(a)-olds != len(b)-news {
			t.Fatalf("%d of %v and %d of %v: what is left is not as long", olds, a, news, b)
		}
	}
}
