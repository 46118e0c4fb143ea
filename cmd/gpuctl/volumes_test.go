package main

import (
	"strings"
	"testing"
)

// TestStorageAtTheTerminal is the life of a volume and of its snapshots, compared with testdata/storage.txt.
func TestStorageAtTheTerminal(t *testing.T) {
	p := newPortal(t)
	dora, otto := p.signedIn("dora"), p.signedIn("otto")
	dora.typed = "y\n"
	var all strings.Builder
	say := func(term *terminal, commands ...string) {
		for _, command := range commands {
			all.WriteString(term.transcript(command))
		}
	}
	say(dora, "volumes", "volumes add data 20", "volumes add data 20Gi", "volumes", "volumes snapshot data before")
	p.bound()
	say(dora, "volumes snapshot data before", "volumes snapshot data before", "volumes snapshots data",
		"volumes add again 20Gi --snapshot data.before")
	p.taken("before", `{"uid":"u-1","ready":true,"bytes":21474836480,"takenAt":"2026-11-25T12:00:00Z"}`)
	say(dora, "volumes snapshots data", "volumes add again 10Gi --snapshot data.before",
		"volumes add again 20Gi --snapshot data.before", "volumes add third 20Gi --snapshot before",
		"volumes add third 20Gi --from data", "volumes expand data 10Gi", "volumes expand data 30Gi", "volumes -o name",
		"volumes delete-snapshot data before", "volumes delete data")
	say(otto, "volumes --all", "volumes snapshots data", "volumes delete data --yes")
	dora.person = false
	say(dora, "volumes delete again", "volumes delete again --yes", "volumes delete third --yes", "volumes",
		"volumes delete data --yes", "volumes")
	golden(t, "storage.txt", all.String())
}

// TestSnapshotIsWaitedFor: the end of the wait is that of the snapshot.
func TestSnapshotIsWaitedFor(t *testing.T) {
	for _, test := range []struct {
		name, state, words string
		code               int
	}{
		{"ready", `{"uid":"u","ready":true,"bytes":1}`, "taking", done},
		{"failed", `{"uid":"u","failed":true,"detail":"no space"}`, "failed", unmet},
		{"gone", `{"uid":"u","gone":true}`, "gone", unmet},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPortal(t)
			dora := p.signedIn("dora")
			dora.ok("volumes", "add", "data", "20Gi")
			p.bound()
			s := dora.watch(func(all string) {
				if strings.Contains(all, "before: taking") {
					p.taken("before", test.state)
				}
			}, "volumes", "snapshot", "data", "before", "--wait")
			if s.code != test.code || !strings.Contains(s.out+s.err, test.words) {
				t.Errorf("want %d with %q, got %d\n%s%s", test.code, test.words, s.code, s.out, s.err)
			}
		})
	}
	p := newPortal(t)
	dora := p.signedIn("dora")
	dora.ok("volumes", "add", "data", "20Gi")
	p.bound()
	dora.fails(unmet, "Not within 20ms", "volumes", "snapshot", "data", "late", "--wait", "--wait-timeout", "20ms")
}
