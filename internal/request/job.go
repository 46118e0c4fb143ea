package request

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// JobDraft has the fields of a draft that only a job has. Forms give CommandLine and EnvLines, programs the fields that
// those are parsed into.
type JobDraft struct {
	Command     []string          `json:",omitempty"`
	Args        []string          `json:",omitempty"`
	Env         map[string]string `json:",omitempty"`
	Retries     int               `json:",omitempty"`
	TimeLimit   string            `json:",omitempty"` // "2h"; "" for the whole lease
	CommandLine string            `json:",omitempty"` // in place of Command and Args: one line as a shell reads it
	EnvLines    string            `json:",omitempty"` // in place of Env: NAME=value, one on each line
}

// zero reports whether nothing was said of a job.
func (d JobDraft) zero() bool {
	return len(d.Command)+len(d.Args)+len(d.Env) == 0 && d.Retries == 0 &&
		strings.TrimSpace(d.TimeLimit) == "" &&
		strings.TrimSpace(d.CommandLine) == "" && strings.TrimSpace(d.EnvLines) == ""
}

// Bounds of a job. Command and environment travel in one call of 64 KiB, and in an annotation.
const (
	maxCommand      = 16 << 10 // bytes of command and arguments
	maxWords        = 1000     // of them
	maxVariables    = 200
	maxEnv          = 32 << 10 // bytes of names and values
	maxRetries      = 20
	leastTimeLimit  = catalog.Duration(10 * time.Second)
	exampleVariable = "EPOCHS=3"
)

// job checks what is said of a job; nil for everything else, which must say nothing of it.
func (c *checker) job(d Draft, w Spec) *workload.Job {
	if d.Kind != catalog.Job {
		if !d.JobDraft.zero() {
			c.problem("kind", i18n.T("request.job_only"))
		}
		return nil
	}
	j := workload.Job{Command: slices.Clone(d.Command), Args: slices.Clone(d.Args), Env: maps.Clone(d.Env),
		Retries: d.Retries}
	readable := true
	if line := strings.TrimSpace(d.CommandLine); line != "" {
		words, err := splitCommand(line)
		if readable = err == nil; !readable {
			c.problem("command", i18n.T("request.command_unreadable", "Cause", clip(err.Error())))
		}
		j.Command, j.Args = words, nil
	}
	if readable {
		c.command(j, w.Image)
	}
	if strings.TrimSpace(d.EnvLines) != "" {
		j.Env = c.envLines(d.EnvLines)
	}
	c.env(j.Env)
	if j.Retries < 0 || j.Retries > maxRetries {
		c.problem("retries", i18n.T("request.retries_range", "Most", maxRetries))
	}
	j.TimeLimit = c.timeLimit(d.TimeLimit, w.Lease)
	return &j
}

// nodes is how many pods a job or an endpoint has, all at once; the zero Range for one.
func (c *checker) nodes(d Draft, w Spec) workload.Range {
	most := cmp.Or(c.offering.Limits.MaxReplicas, DefaultLimits().MaxReplicas)
	if w.Image.NeedsLeaderWorkerSet() {
		most = min(most, w.Image.Runtime.MaxNodes)
	}
	switch {
	case d.Nodes == 0 || d.Nodes == 1:
		return workload.Range{}
	case d.Nodes < 0 || d.Nodes > most:
		c.problem("nodes", i18n.T("request.nodes_range", "Most", most))
		return workload.Range{}
	case w.Image.Name != "" && !w.Image.NeedsJobSet() && !w.Image.NeedsLeaderWorkerSet():
		c.problem("nodes", i18n.T("request.nodes_one", "Image", w.Image.Title))
		return workload.Range{}
	}
	c.shared("nodes", w)
	return workload.Range{Min: d.Nodes, Max: d.Nodes}
}

// jobSet refuses what JobSet cannot do: it is not on every cluster, and it calls its own Jobs and their pods after
// jobs.
func (c *checker) jobSet(w Spec) {
	if w.Kind != catalog.Job {
		return
	}
	if w.Image.NeedsJobSet() && w.Cluster != "" && !slices.Contains(c.offering.JobSet, w.Cluster) {
		c.problem("image", i18n.T("request.no_jobset", "Image", w.Image.Title, "Cluster", w.Cluster))
	}
	if jobSetName.MatchString(w.Name) {
		c.problem("name", i18n.T("request.jobset_name", "Suffix", workload.NodesSuffix))
	}
}

var jobSetName = regexp.MustCompile(workload.NodesSuffix + `(-[0-9]+)?$`)

func (c *checker) command(j workload.Job, image catalog.Image) {
	words := slices.Concat(j.Command, j.Args)
	size := 0
	for _, word := range words {
		size += len(word) + 1
		if !plain(word) {
			c.problem("command", i18n.T("request.command_characters"))
			return
		}
	}
	switch {
	case size > maxCommand || len(words) > maxWords:
		c.problem("command", i18n.T("request.command_too_long", "KiB", maxCommand>>10))
	case len(j.Command) > 0 && strings.TrimSpace(j.Command[0]) == "":
		c.problem("command", i18n.T("request.command_empty"))
	case len(words) == 0 && image.Name != "" && image.Kind != catalog.Job:
		c.problem("command", i18n.T("request.command_missing", "Image", image.Title))
	}
}

// plain: a NUL cannot be handed to a program.
func plain(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func (c *checker) envLines(text string) map[string]string {
	env := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		switch _, twice := env[name]; {
		case !found:
			c.problem("env", i18n.T("request.env_line", "Line", clip(line), "Example", exampleVariable))
			return env
		case twice:
			c.problem("env", i18n.T("request.env_twice", "Name", clip(name)))
			return env
		}
		env[name] = value
	}
	return env
}

func (c *checker) env(env map[string]string) {
	size := 0
	for _, name := range slices.Sorted(maps.Keys(env)) {
		size += len(name) + len(env[name])
		switch {
		case !catalog.VariableName(name):
			c.problem("env", i18n.T("request.env_name", "Name", clip(name)))
			return
		case catalog.ReservedVariable(name):
			c.problem("env", i18n.T("request.env_reserved", "Name", clip(name)))
			return
		case !plain(env[name]):
			c.problem("env", i18n.T("request.env_characters", "Name", clip(name)))
			return
		}
	}
	if size > maxEnv || len(env) > maxVariables {
		c.problem("env", i18n.T("request.env_too_much", "KiB", maxEnv>>10, "Most", maxVariables))
	}
}

// timeLimit is within the lease: that ends the job anyway.
func (c *checker) timeLimit(text string, lease catalog.Duration) catalog.Duration {
	if strings.TrimSpace(text) == "" {
		return 0
	}
	limit, err := catalog.ParseDuration(text)
	switch {
	case err != nil:
		c.problem("timeLimit", i18n.T("request.lease_unreadable", "Example", "2h"))
	case limit < leastTimeLimit:
		c.problem("timeLimit", i18n.T("request.lease_too_short", "Least", leastTimeLimit.String()))
	case lease > 0 && limit > lease:
		c.problem("timeLimit", i18n.T("request.time_limit_beyond", "Lease", lease.String()))
	}
	return limit
}

// splitCommand reads one line as a shell reads the words of a command. What only a shell can do (pipes, redirections,
// several commands) is an error: nothing is between the line and the program. A variable is left to Kubernetes, which
// puts in those that the container has.
func splitCommand(line string) ([]string, error) {
	var words []*syntax.Word
	parser := syntax.NewParser(syntax.Variant(syntax.LangPOSIX))
	for w, err := range parser.WordsSeq(strings.NewReader(line)) {
		if err != nil {
			return nil, fmt.Errorf("%s", strings.TrimLeft(err.Error(), "0123456789: "))
		}
		words = append(words, w)
	}
	config := &expand.Config{Env: expand.FuncEnviron(func(name string) string {
		if name == "IFS" || name == "HOME" || !catalog.VariableName(name) {
			return ""
		}
		return "$(" + name + ")"
	})}
	return expand.Fields(config, words...)
}

// CommandLine joins arguments into one line, quoted for a shell: the inverse of parsing a form's line.
func CommandLine(j workload.Job) string {
	var words []string
	for _, word := range slices.Concat(j.Command, j.Args) {
		quoted, err := syntax.Quote(word, syntax.LangPOSIX)
		if err != nil || strings.ContainsAny(word, "\n\r\t") { // which it leaves as they are, or refuses
			quoted = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, quoted)
	}
	return strings.Join(words, " ")
}

// EnvLines writes environment variables as a form has them, NAME=value a line.
func EnvLines(j workload.Job) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(j.Env)) {
		b.WriteString(name + "=" + j.Env[name] + "\n")
	}
	return b.String()
}
