package secret

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Kind is what a secret is for.
type Kind string

// The kinds.
const (
	Variables   Kind = "variables"
	File        Kind = "file"
	S3          Kind = workload.S3Kind
	Git         Kind = "git"
	HuggingFace Kind = "huggingface"
	NGC         Kind = "ngc"
	// Registry is a pull secret: of teams alone, used by itself for each image of its host.
	Registry Kind = workload.PullKind
)

// Field is one thing that a kind takes.
type Field struct {
	Name     string
	Secret   bool // never shown again
	Optional bool
	Lines    bool // may have several
	Example  string
}

// label is what pages call the field.
func (f Field) label() i18n.Text { return i18n.T("secrets.field." + f.Name) }

// Kinds lists every kind, in the order in which they are offered.
func Kinds() []Kind { return []Kind{Variables, File, S3, Git, HuggingFace, NGC, Registry} }

// KindsFor are those that an owner may have.
func KindsFor(o Owner) []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return k == Registry && !o.OfTeam() })
}

var fields = map[Kind][]Field{
	Variables: {{Name: "lines", Secret: true, Lines: true, Example: "WANDB_API_KEY=…"}},
	File:      {{Name: "file", Example: "service-account.json"}, {Name: "content", Secret: true, Lines: true}},
	S3: {{Name: "accessKey", Secret: true}, {Name: "secretKey", Secret: true},
		{Name: "endpoint", Optional: true, Example: "https://s3.example.org"},
		{Name: "region", Optional: true, Example: "eu-central-1"}},
	Git:         {{Name: "host", Example: "github.com"}, {Name: "user", Example: "ada"}, {Name: "token", Secret: true}},
	HuggingFace: {{Name: "token", Secret: true, Example: "hf_…"}},
	NGC:         {{Name: "token", Secret: true, Example: "nvapi-…"}},
	Registry: {{Name: "host", Example: "registry.example.org"}, {Name: "user", Example: "robot"},
		{Name: "password", Secret: true}},
}

// Fields are what a kind takes; none for a kind that there is not.
func (k Kind) Fields() []Field { return slices.Clone(fields[k]) }

// GitCredentials is the file of a git secret in the form of git-credential-store.
const GitCredentials = "git-credentials"

// MaxValue bounds all that one secret holds, in bytes: a Kubernetes Secret holds 1 MiB, and a workload has several.
const MaxValue = 64 << 10

// maxLine bounds a field of one line.
const maxLine = 4 << 10

// Draft is a secret as somebody typed it.
type Draft struct {
	Name   string
	Kind   Kind
	Values map[string]string // by Field.Name
}

// contents are what workloads get of a secret.
type contents struct {
	Env   map[string]string
	Files map[string]string
}

var (
	fileNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	hosts     = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[0-9]{1,5})?$`)
)

// checked is a draft whose fields are right: trimmed, and what follows from them.
type checked struct {
	values map[string]string
	about  map[string]string
	contents
}

// check says what is wrong with the values of a draft. No reason repeats a value.
func (d Draft) check() (checked, []fault.Field) {
	var problems []fault.Field
	add := func(field, id string, pairs ...any) {
		problems = append(problems, fault.Field{Name: field, Reason: i18n.T(id, pairs...)})
	}
	c := checked{values: map[string]string{}, about: map[string]string{}}
	known := d.Kind.Fields()
	if len(known) == 0 {
		add("kind", "secrets.kind_unknown")
		return c, problems
	}
	for name := range d.Values {
		if !slices.ContainsFunc(known, func(f Field) bool { return f.Name == name }) {
			add("values", "secrets.field_unknown", "Field", clip(name))
		}
	}
	total := 0
	for _, f := range known {
		value := d.Values[f.Name]
		if !f.Lines {
			value = strings.TrimSpace(value)
		}
		total += len(value)
		switch {
		case strings.TrimSpace(value) == "":
			if !f.Optional {
				add(f.Name, "secrets.missing", "Field", f.label())
			}
			continue
		case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
			add(f.Name, "secrets.not_text")
		case !f.Lines && len(value) > maxLine:
			add(f.Name, "secrets.too_long", "KiB", maxLine>>10)
		case !f.Lines && strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
			add(f.Name, "secrets.one_word", "Field", f.label())
		default:
			c.values[f.Name] = value
		}
	}
	if total > MaxValue {
		add(known[len(known)-1].Name, "secrets.too_long", "KiB", MaxValue>>10)
	}
	if len(problems) > 0 {
		return c, problems
	}
	problems = append(problems, c.form(d.Kind)...)
	if len(problems) > 0 {
		return c, problems
	}
	c.contents = deliver(d.Kind, c.values)
	c.describe(d.Kind, known)
	return c, nil
}

// form looks at what a kind wants of its fields.
func (c *checked) form(k Kind) (problems []fault.Field) {
	add := func(field, id string, pairs ...any) {
		problems = append(problems, fault.Field{Name: field, Reason: i18n.T(id, pairs...)})
	}
	switch k {
	case Variables:
		if _, wrong := variables(c.values["lines"]); wrong != nil {
			problems = append(problems, *wrong)
		}
	case File:
		if !fileNames.MatchString(c.values["file"]) {
			add("file", "secrets.file_name")
		}
	case S3:
		if at := c.values["endpoint"]; at != "" {
			u, err := url.Parse(at)
			if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
				add("endpoint", "secrets.endpoint_wrong")
			}
		}
	case Git, Registry:
		if c.values["host"] = strings.ToLower(c.values["host"]); !hosts.MatchString(c.values["host"]) {
			add("host", "secrets.host_wrong")
		}
	}
	return problems
}

// describe keeps what may be shown: fields that are no secret, the first characters of those that are and are long
// enough that those tell nothing, and the names of variables.
func (c *checked) describe(k Kind, known []Field) {
	for _, f := range known {
		value := c.values[f.Name]
		switch {
		case value == "" || f.Lines:
		case !f.Secret:
			c.about[f.Name] = value
		case f.Name != "secretKey" && k != Git && k != Registry && len(value) >= 16:
			c.about[f.Name] = value[:4] + "…"
		}
	}
	if k == Variables {
		c.about["lines"] = strings.Join(slices.Sorted(maps.Keys(c.Env)), ", ")
	}
}

// variables reads NAME=value lines. Values may contain anything but line breaks.
func variables(lines string) (map[string]string, *fault.Field) {
	wrong := func(id string, pairs ...any) (map[string]string, *fault.Field) {
		return nil, &fault.Field{Name: "lines", Reason: i18n.T(id, pairs...)}
	}
	env, n := map[string]string{}, 0
	for line := range strings.Lines(lines) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		_, twice := env[name]
		switch {
		case !found || !catalog.VariableName(name) || strings.ContainsRune(name, '.'):
			return wrong("secrets.line_wrong", "Line", n)
		case catalog.ReservedVariable(name):
			return wrong("secrets.variable_reserved", "Line", n)
		case twice:
			return wrong("secrets.variable_twice", "Line", n)
		}
		env[name] = value
	}
	if len(env) > mostVariables {
		return wrong("secrets.too_many_variables", "Most", mostVariables)
	}
	return env, nil
}

// mostVariables bounds what one secret of variables sets.
const mostVariables = 50

// deliver is what a workload gets of checked values: variables for programs that read those, and files, which show a
// new value while the workload runs.
func deliver(k Kind, v map[string]string) contents {
	c := contents{Env: map[string]string{}, Files: map[string]string{}}
	switch k {
	case Variables:
		env, _ := variables(v["lines"]) // was checked
		for name, value := range env {
			c.Env[name], c.Files[name] = value, value
		}
	case File:
		c.Files[v["file"]] = v["content"]
	case S3:
		c.Env["AWS_ACCESS_KEY_ID"], c.Env["AWS_SECRET_ACCESS_KEY"] = v["accessKey"], v["secretKey"]
		c.Files["credentials"] = fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n",
			v["accessKey"], v["secretKey"])
		if v["endpoint"] != "" {
			c.Env["AWS_ENDPOINT_URL"] = v["endpoint"]
		}
		if v["region"] != "" {
			c.Env["AWS_REGION"], c.Env["AWS_DEFAULT_REGION"] = v["region"], v["region"]
		}
	case Git:
		u := url.URL{Scheme: "https", Host: v["host"], User: url.UserPassword(v["user"], v["token"])}
		c.Files[GitCredentials] = u.String() + "\n"
		host, _, _ := strings.Cut(v["host"], ":")
		c.Files["netrc"] = fmt.Sprintf("machine %s\nlogin %s\npassword %s\n", host, v["user"], v["token"])
	case Registry:
		c.Files[DockerConfig] = dockerConfig(v)
	case HuggingFace:
		c.Env["HF_TOKEN"], c.Files["token"] = v["token"], v["token"]
	case NGC:
		c.Env["NGC_API_KEY"], c.Env["NGC_CLI_API_KEY"], c.Files["token"] = v["token"], v["token"], v["token"]
	}
	return c
}

// given are the names of variables and files of a kind with these contents. They stay the same permanently, since a pod
// cannot be given others while it runs: what may be left out today may be filled in tomorrow.
func (c contents) given(k Kind) (env, files []string) {
	if k == S3 {
		env = []string{"AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_SECRET_ACCESS_KEY"}
		return env, []string{"credentials"}
	}
	return slices.Sorted(maps.Keys(c.Env)), slices.Sorted(maps.Keys(c.Files))
}

// seen are the parts of the values that must be masked wherever text of a workload is shown.
func (c contents) seen(k Kind, values map[string]string) []string {
	var list []string
	add := func(text string) {
		if len(text) >= leastMasked {
			list = append(list, text)
		}
	}
	for _, f := range k.Fields() {
		if !f.Secret {
			continue
		}
		if k == Variables {
			for _, value := range c.Env {
				add(strings.TrimSpace(value))
			}
			continue
		}
		if !f.Lines {
			add(values[f.Name])
			continue
		}
		for line := range strings.Lines(values[f.Name]) { // a log has it line by line
			if line = strings.TrimSpace(line); len(line) >= leastMaskedLine {
				add(line)
			}
		}
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) }) // what contains another goes first
	return slices.Compact(list)
}

// Shorter values and lines are left in texts: a log in which each "1" or "}" is masked can be read by nobody, and tells
// the value all the same.
const (
	leastMasked     = 4
	leastMaskedLine = 8
)

func encode(values map[string]string) (string, error) {
	text, err := json.Marshal(values)
	return string(text), err
}

func decode(text string) (values map[string]string, err error) {
	err = json.Unmarshal([]byte(text), &values)
	return values, err
}

// clip keeps what a person typed short enough to repeat it to them.
func clip(text string) string {
	if r := []rune(text); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return text
}
