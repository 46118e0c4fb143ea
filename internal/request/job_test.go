package request

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var torch = catalog.Image{Name: "torch", Title: "PyTorch", Kind: catalog.Job, Command: []string{"train"}, Home: "/data"}

// jobDraft is a valid draft of a job; the change is made to what only a job has.
func jobDraft(change func(*JobDraft)) Draft {
	d := draft()
	d.Kind, d.Image = catalog.Job, "torch"
	change(&d.JobDraft)
	return d
}

func jobOffering() Offering {
	o := offering()
	o.Catalog.Images = append(o.Catalog.Images, torch)
	return o
}

func TestAJobsDraft(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*JobDraft)
		image  string // torch where empty
		want   workload.Job
		wrong  string // fields, sorted
	}{
		"the image's own command": {func(*JobDraft) {}, "", workload.Job{}, ""},
		"everything": {func(d *JobDraft) {
			d.Command, d.Args, d.Env = []string{"python"}, []string{"train.py"}, map[string]string{"A": "b=c"}
			d.Retries, d.TimeLimit = 20, "8h"
		}, "", workload.Job{Command: []string{"python"}, Args: []string{"train.py"}, Env: map[string]string{"A": "b=c"},
			Retries: 20, TimeLimit: hours(8)}, ""},
		"as a form has it": {func(d *JobDraft) {
			d.CommandLine, d.EnvLines = `python "my train.py" --name='a b' $EPOCHS *.csv`, "A=b=c\r\n\r\n B =\n"
		}, "", workload.Job{Command: []string{"python", "my train.py", "--name=a b", "$(EPOCHS)", "*.csv"},
			Env: map[string]string{"A": "b=c", "B": ""}}, ""},
		"in a notebook's image": {func(d *JobDraft) { d.CommandLine = "python x.py" }, "lab",
			workload.Job{Command: []string{"python", "x.py"}}, ""},
		"a notebook's image alone": {func(*JobDraft) {}, "lab", workload.Job{}, "command"},
		"a pipe":                   {func(d *JobDraft) { d.CommandLine = "a | b" }, "", workload.Job{}, "command"},
		"an open quote":            {func(d *JobDraft) { d.CommandLine = `a "b` }, "lab", workload.Job{}, "command"},
		"a command in a command":   {func(d *JobDraft) { d.CommandLine = "a $(date)" }, "", workload.Job{}, "command"},
		"no program":               {func(d *JobDraft) { d.Command = []string{" ", "x"} }, "", workload.Job{}, "command"},
		"too long": {func(d *JobDraft) { d.Args = []string{strings.Repeat("x", 17<<10)} }, "", workload.Job{},
			"command"},
		"a NUL":               {func(d *JobDraft) { d.Args = []string{"a\x00"} }, "", workload.Job{}, "command"},
		"a line without =":    {func(d *JobDraft) { d.EnvLines = "A" }, "", workload.Job{}, "env"},
		"a name twice":        {func(d *JobDraft) { d.EnvLines = "A=1\nA=2" }, "", workload.Job{}, "env"},
		"a name that is none": {func(d *JobDraft) { d.EnvLines = "2A=1" }, "", workload.Job{}, "env"},
		"what chooses the GPU": {func(d *JobDraft) { d.EnvLines = "nvidia_visible_devices=all" }, "", workload.Job{},
			"env"},
		"values too long": {func(d *JobDraft) { d.Env = map[string]string{"A": strings.Repeat("x", 33<<10)} }, "",
			workload.Job{}, "env"},
		"retries for ever":        {func(d *JobDraft) { d.Retries = 1000000 }, "", workload.Job{}, "retries"},
		"fewer than no retries":   {func(d *JobDraft) { d.Retries = -1 }, "", workload.Job{}, "retries"},
		"beyond the lease":        {func(d *JobDraft) { d.TimeLimit = "9h" }, "", workload.Job{}, "timeLimit"},
		"a limit of a second":     {func(d *JobDraft) { d.TimeLimit = "1s" }, "", workload.Job{}, "timeLimit"},
		"a limit that is no time": {func(d *JobDraft) { d.TimeLimit = "soon" }, "", workload.Job{}, "timeLimit"},
	} {
		t.Run(name, func(t *testing.T) {
			d := jobDraft(c.change)
			if c.image != "" {
				d.Image = c.image
			}
			spec, problems := Check(d, jobOffering())
			var wrong []string
			for _, p := range problems {
				wrong = append(wrong, p.Name)
			}
			if got := strings.Join(wrong, " "); got != c.wrong {
				t.Fatalf("want %q to be wrong, got %v", c.wrong, problems)
			}
			if c.wrong != "" {
				return
			}
			if diff := cmp.Diff(c.want.Command, spec.Job.Command); diff != "" || !maps.Equal(c.want.Env, spec.Job.Env) ||
				!slices.Equal(c.want.Args, spec.Job.Args) || spec.Job.Retries != c.want.Retries ||
				spec.Job.TimeLimit != c.want.TimeLimit {
				t.Errorf("want %+v, got %+v", c.want, *spec.Job)
			}
			if i := spec.Image; i.Kind != catalog.Job || i.Port != 0 || i.TokenEnv != "" {
				t.Errorf("want nothing of a server left, got %+v", i)
			}
		})
	}
}

func TestOnlyJobsHaveACommand(t *testing.T) {
	d := draft()
	d.Retries = 1
	if _, problems := Check(d, jobOffering()); len(problems) != 1 || problems[0].Name != "kind" {
		t.Errorf("want the kind to be wrong, got %v", problems)
	}
	d = draft()
	d.Image = "torch"
	if _, problems := Check(d, jobOffering()); len(problems) != 1 || problems[0].Name != "image" {
		t.Errorf("want the image to be wrong, got %v", problems)
	}
}

// TestACommandComesBackAsItWas: what a page fills in again is what was typed, to the program.
func TestACommandComesBackAsItWas(t *testing.T) {
	for _, words := range [][]string{{"python", "train.py"}, {"sh", "-c", "a | b; echo 'x y' \"z\""}, {"a", "", "b c", "é",
		"*"},
		{"a", "line\nbreak"}, {"a", "$HOME", "`date`", `\`}} {
		got, err := splitCommand(CommandLine(workload.Job{Command: words[:1], Args: words[1:]}))
		if diff := cmp.Diff(words, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", words, err, diff)
		}
	}
	env := map[string]string{"A": "b=c", "B": ""}
	var c checker
	if got := c.envLines(EnvLines(workload.Job{Env: env})); !maps.Equal(env, got) || len(c.fields) > 0 {
		t.Errorf("want %v, got %v", env, got)
	}
}

func FuzzSplitCommand(f *testing.F) {
	for _, line := range []string{"python x.py", `a "b c" 'd' \e`, "${a", "a | b", "$((1+1))", "<(x)", "{1..1000000000}",
		"~x"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if words, err := splitCommand(line); err == nil && len(words) > len(line) {
			t.Errorf("%q became %d words", line, len(words))
		}
	})
}
