package docs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/strvals"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/charts"
	"github.com/gpu-portal/gpu-portal/internal/config"
)

// standIns are programs that this test binary plays when it is called by their name.
var standIns = map[string]func(args []string) error{
	"helm": helm, "kubectl": kubectl, "portal": portal, "make": makeTarget, "withstack": withstack,
	"gpuctl":  gpuctl,
	"pg_dump": client("pg_dump"), "pg_restore": client("pg_restore"), "sleep": func([]string) error { return nil },
}

func TestMain(m *testing.M) {
	if play, is := standIns[filepath.Base(os.Args[0])]; is {
		if err := play(os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if programs != "" {
		_ = os.RemoveAll(programs)
	}
	os.Exit(code)
}

// arguments are a command line, split into words and options. Options are those that take a value.
type arguments struct {
	words   []string
	options map[string][]string
}

// parse reads a command line; known says which options there are, and whether they take a value.
func parse(args []string, known map[string]bool) (arguments, error) {
	a := arguments{options: map[string][]string{}}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		switch takes, is := known[name]; {
		case !strings.HasPrefix(args[i], "-") || args[i] == "-":
			a.words = append(a.words, args[i])
		case !is:
			return a, fmt.Errorf("unknown option %s", args[i])
		case !takes || joined:
			a.options[name] = append(a.options[name], value)
		case i+1 == len(args):
			return a, fmt.Errorf("%s needs a value", name)
		default:
			i++
			a.options[name] = append(a.options[name], args[i])
		}
	}
	return a, nil
}

func (a arguments) last(option string) string {
	values := a.options[option]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// helm renders a chart of this repository, and keeps what a release consists of for the commands that follow.
func helm(args []string) error {
	a, err := parse(args, map[string]bool{"-n": true, "-f": true, "--set": true, "-s": true, "--create-namespace": false,
		"--api-versions": true})
	if err != nil {
		return err
	}
	if len(a.words) != 3 || !slices.Contains([]string{"install", "upgrade", "template"}, a.words[0]) {
		return fmt.Errorf("want install, upgrade or template with a release and a chart, got %q", a.words)
	}
	if _, err := os.Stat(filepath.Join(a.words[2], "Chart.yaml")); err != nil {
		return err
	}
	values := map[string]any{}
	for _, file := range a.options["-f"] {
		more, err := chartutil.ReadValuesFile(file)
		if err != nil {
			return err
		}
		values = chartutil.CoalesceTables(more, values)
	}
	for _, set := range a.options["--set"] {
		if err := strvals.ParseInto(set, values); err != nil {
			return err
		}
	}
	for _, template := range a.options["-s"] {
		if _, err := os.Stat(filepath.Join(a.words[2], template)); err != nil {
			return err
		}
	}
	text, err := yaml.Marshal(values)
	if err != nil {
		return err
	}
	served := charts.Capabilities("1.36")
	served.APIVersions = append(slices.Clone(served.APIVersions), a.options["--api-versions"]...)
	objects, err := charts.Render(a.words[1], a.last("-n"), string(text), served)
	if err != nil {
		return err
	}
	return release(objects, a.words[0] == "template")
}

// release notes the objects and the settings of a release; the settings must be such that the portal would start.
func release(objects []*unstructured.Unstructured, show bool) error {
	var names strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&names, "%s/%s\n", strings.ToLower(o.GetKind()), o.GetName())
		if show {
			text, err := yaml.Marshal(o.Object)
			if err != nil {
				return err
			}
			fmt.Printf("---\n%s", text)
		}
		if o.GetKind() == "ConfigMap" && o.GetName() == "gpu-portal" {
			text, _, _ := unstructured.NestedString(o.Object, "data", "portal.yaml")
			if err := start(text); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(os.Getenv("DOCS_STATE"), "release"), []byte(names.String()), 0o600)
}

// start reads settings as the portal does in its pod, where the files are that Secrets bring.
func start(text string) error {
	file := filepath.Join(os.Getenv("DOCS_STATE"), "rendered.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	_, err := config.Load(file, func(name string) string {
		return map[string]string{"PORTAL_SECRET_KEY_FILE": "secret.key"}[name]
	}, nil)
	if err == nil {
		return nil
	}
	var wrong []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !strings.Contains(line, "no such file or directory") {
			wrong = append(wrong, errors.New(line))
		}
	}
	return errors.Join(wrong...)
}

// kubectlCommands are those that the pages use, word by word; what is in brackets is a Deployment.
var kubectlCommands = []*regexp.Regexp{
	regexp.MustCompile(`^create namespace [a-z0-9-]+$`),
	regexp.MustCompile(`^create secret generic [a-z0-9-]+$`),
	regexp.MustCompile(`^create clusterrolebinding [a-z0-9-]+$`),
	regexp.MustCompile(`^rollout status (\S+)$`),
	regexp.MustCompile(`^scale (\S+)(?: (\S+))?$`),
	regexp.MustCompile(`^apply$`),
	regexp.MustCompile(`^exec (\S+)$`),
	regexp.MustCompile(`^patch clusterpolicy gpu-cluster-policy$`),
	regexp.MustCompile(`^patch consoles.operator.openshift.io cluster$`),
}

// kubectl checks a command: its words, its options, and that a Deployment it names is one of the last release.
func kubectl(args []string) error {
	args, inner := beforeDashes(args)
	a, err := parse(args, map[string]bool{"-n": true, "-f": true, "--from-literal": true, "--from-file": true,
		"--replicas": true, "--clusterrole": true, "--serviceaccount": true, "--type": true, "-p": true})
	if err != nil {
		return err
	}
	line := strings.Join(a.words, " ")
	i := slices.IndexFunc(kubectlCommands, func(r *regexp.Regexp) bool { return r.MatchString(line) })
	if i < 0 {
		return fmt.Errorf("%q is no command that is known here", line)
	}
	for _, object := range kubectlCommands[i].FindStringSubmatch(line)[1:] {
		if err := deployed(object); err != nil {
			return err
		}
	}
	switch {
	case a.last("-p") != "" && !json.Valid([]byte(a.last("-p"))):
		return fmt.Errorf("%q is no JSON", a.last("-p"))
	case inner != nil:
		return portal(inner[1:])
	case a.last("-f") == "-":
		return applied(os.Stdin)
	}
	return nil
}

func beforeDashes(args []string) (before, after []string) {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i], args[i+1:]
	}
	return args, nil
}

// deployed looks whether the last release has what is named: deploy/NAME.
func deployed(object string) error {
	name, is := strings.CutPrefix(object, "deploy/")
	if object == "" {
		return nil
	}
	objects, err := os.ReadFile(filepath.Join(os.Getenv("DOCS_STATE"), "release"))
	if err != nil {
		return err
	}
	// one on SQLite has no Deployment of the controller's own; the page says which it speaks of
	if !is || !strings.Contains(string(objects), "deployment/"+strings.TrimSuffix(name, "-controller")+"\n") {
		return fmt.Errorf("the chart makes no %s", object)
	}
	return nil
}

// applied reads objects as the API server does: each has a kind and a name.
func applied(in io.Reader) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	found := 0
	for part := range strings.SplitSeq("\n"+string(text), "\n---\n") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		o := unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(part), &o.Object); err != nil {
			return err
		}
		if o.GetKind() == "" || o.GetName() == "" || o.GetAPIVersion() == "" {
			return fmt.Errorf("%q is no object", part)
		}
		found++
		fmt.Printf("kind: %s\n%s/%s configured\n", o.GetKind(), strings.ToLower(o.GetKind()), o.GetName())
	}
	if found == 0 {
		return errors.New("no objects passed to apply")
	}
	return nil
}

// portal is the real program. `serve` runs already and `doctor` would call the machines of a site, so that of both the
// options alone are read; the settings of the pod are those that helm rendered.
func portal(args []string) error {
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "/etc/gpu-portal/portal.yaml" {
			args[i] = filepath.Join(os.Getenv("DOCS_STATE"), "rendered.yaml")
		}
	}
	grants := slices.Contains(args, "--grant-to") // SQLite has no accounts
	if len(args) > 0 && (args[0] == "serve" || args[0] == "doctor") || grants {
		args = append(args, "--help")
	}
	return program(os.Getenv("DOCS_PORTAL"), args...)
}

// gpuctl is the real program. The site of the pages is the portal that is served here.
func gpuctl(args []string) error {
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "https://gpu.example.org", os.Getenv("PORTAL_URL"))
	}
	return program(os.Getenv("DOCS_GPUCTL"), args...)
}

func program(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// makeTarget says what make would do.
func makeTarget(args []string) error {
	found, err := exec.LookPath("/usr/bin/make")
	if err != nil {
		return err
	}
	out, err := exec.Command(found, append([]string{"-C", os.Getenv("DOCS_ROOT"), "-n"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, tail(string(out), 1000))
	}
	return nil
}

// withstack would start a world: the command that runs in it must be go test with packages that are there.
func withstack(args []string) error {
	_, inner := beforeDashes(args)
	if len(inner) < 3 || inner[0] != "go" || inner[1] != "test" {
		return fmt.Errorf("want -- go test …, got %q", inner)
	}
	for _, arg := range inner {
		if strings.HasPrefix(arg, "./") {
			if _, err := os.Stat(filepath.Join(os.Getenv("DOCS_ROOT"), arg)); err != nil {
				return err
			}
		}
	}
	return nil
}

// client is a program of PostgreSQL whose options are looked up in its own --help: there is no server to speak to.
func client(name string) func([]string) error {
	return func(args []string) error {
		found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
		if err != nil || len(found) == 0 {
			return fmt.Errorf("%s is missing: apt-get install postgresql", name)
		}
		help, err := exec.Command(found[len(found)-1], "--help").Output()
		if err != nil {
			return err
		}
		for _, arg := range args {
			option, _, _ := strings.Cut(arg, "=")
			if strings.HasPrefix(option, "-") && !strings.Contains(string(help), " "+option) {
				return fmt.Errorf("%s has no option %s", name, option)
			}
		}
		return nil
	}
}
