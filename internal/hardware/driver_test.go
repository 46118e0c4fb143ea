package hardware

import (
	"cmp"
	"os"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/agent"
)

// What a real driver says of a card is what the table says: the agent's report of an H100 with 80 GB under driver
// 580.159.04 on 2026-11-27, under load and with MIG off. Only the numbers that name the card and its node are made up.
func TestTheTableAgreesWithADriver(t *testing.T) {
	file, err := os.Open("../agent/testdata/h100-80gb-580.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	report, err := agent.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	gpus := report.GPUs.Or(nil)
	if len(gpus) != 1 {
		t.Fatalf("want one card, got %d", len(gpus))
	}
	gpu := gpus[0]
	name := gpu.Name.Or("")
	cards, known := CardsOf(name)
	if !known || len(cards) != 1 {
		t.Fatalf("%q: want one card, got %v", name, cards)
	}
	var said []Profile
	for _, p := range gpu.MIG.Profiles.Or(nil) {
		profile := Profile{Name: p.Name.Or(""), Slices: p.Slices, Max: p.MaxInstances}
		for _, at := range p.Placements.Or(nil) {
			profile.Starts, profile.Size = append(profile.Starts, at.Start), at.Size
		}
		said = append(said, profile)
	}
	byName := func(a, b Profile) int { return cmp.Compare(a.Name, b.Name) }
	want := slices.Clone(cards[0].Profiles)
	slices.SortFunc(said, byName)
	slices.SortFunc(want, byName)
	if diff := gocmp.Diff(want, said); diff != "" {
		t.Errorf("profiles of the driver differ (-table +driver):\n%s", diff)
	}
}
