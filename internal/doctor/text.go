package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// marks are what a line of text begins with.
var marks = map[State]string{OK: "ok", Warning: "WARNING", Failed: "FAILED", NotApplicable: "-"}

// Write prints findings, each in a line, what is to be mended with lines below it, and the counts last.
func Write(out io.Writer, l *i18n.Localizer, list []Finding) error {
	titles, width := make([]string, len(list)), 0
	for i, f := range list {
		if titles[i] = l.Say(f.Title()); f.Subject != "" {
			titles[i] += " (" + f.Subject + ")"
		}
		width = max(width, len([]rune(titles[i])))
	}
	var b strings.Builder
	for i, f := range list {
		pad := strings.Repeat(" ", width-len([]rune(titles[i])))
		fmt.Fprintf(&b, "%-8s %s%s  %s\n", marks[f.State], titles[i], pad, oneLine(l.Say(f.Found)))
		indent := strings.Repeat(" ", 9)
		for _, d := range f.Detail {
			fmt.Fprintf(&b, "%s  %s\n", indent, oneLine(d))
		}
		for _, line := range []struct {
			label string
			text  i18n.Text
		}{{"doctor.label_cost", f.Cost}, {"doctor.label_mend", f.Mend}} {
			if !line.text.IsZero() && (f.State == Warning || f.State == Failed) {
				fmt.Fprintf(&b, "%s%s %s\n", indent, l.S(line.label), oneLine(l.Say(line.text)))
			}
		}
	}
	n := Count(list)
	fmt.Fprintf(&b, "\n%s\n", l.S("doctor.counts", "Failed", n[Failed], "Warnings", n[Warning], "OK", n[OK]))
	_, err := io.WriteString(out, b.String())
	return err
}

// oneLine keeps what a server said from looking like a line of ours.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Line is a finding as JSON, in words.
type Line struct {
	Check    string   `json:"check"`
	Subject  string   `json:"subject,omitempty" doc:"Cluster, license server or registry"`
	State    State    `json:"state" enum:"ok,warning,failed,notApplicable"`
	Title    string   `json:"title"`
	Found    string   `json:"found"`
	Detail   []string `json:"detail"`
	Cost     string   `json:"cost,omitempty" doc:"What does not work because of it"`
	Mend     string   `json:"mend,omitempty" doc:"How to mend it"`
	Optional bool     `json:"optional,omitempty" doc:"The portal can do without; cost says what is lost"`
	Process  string   `json:"process,omitempty" doc:"The one process where it is so; absent: everywhere"`
}

// Lines puts findings into words.
func Lines(l *i18n.Localizer, list []Finding) []Line {
	out := make([]Line, len(list))
	for i, f := range list {
		out[i] = Line{Check: f.Check, Subject: f.Subject, State: f.State, Title: l.Say(f.Title()), Found: l.Say(f.Found),
			Detail: append([]string{}, f.Detail...), Cost: l.Say(f.Cost), Mend: l.Say(f.Mend), Optional: f.Optional,
			Process: f.Process}
	}
	return out
}
