package charts_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/cmd/create"
	"k8s.io/kubectl/pkg/cmd/rollout"
	"k8s.io/kubectl/pkg/cmd/util"

	"github.com/gpu-portal/gpu-portal/charts"
)

// page is a part of docs/install.md.
type page struct{ text string }

// installPage is the part under a heading.
func installPage(t *testing.T, heading string) page {
	t.Helper()
	text, err := os.ReadFile("../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("docs/install.md has no %q", heading)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	return page{part}
}

var block = regexp.MustCompile("(?s)```(\\w+)\n(.*?)```")

// block is the text of the first block of a language.
func (p page) block(t *testing.T, language string) string {
	t.Helper()
	for _, m := range block.FindAllStringSubmatch(p.text, -1) {
		if m[1] == language {
			return m[2]
		}
	}
	t.Fatalf("no block of %s in\n%s", language, p.text)
	return ""
}

// shell runs the lines of a page on the devstack: kubectl with its own commands, helm with its library, in a folder
// that looks like the repository with the page's site.yaml.
type shell struct {
	helm
	dir string
	ran []string
}

func newShell(t *testing.T, site string) *shell {
	t.Helper()
	s := &shell{helm: newHelm(t), dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(s.dir, "site.yaml"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(here, filepath.Join(s.dir, "charts")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.d.Client.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), charts.Release,
			metav1.DeleteOptions{})
	})
	return s
}

func (s *shell) run(script string) {
	s.t.Helper()
	for line := range strings.Lines(script) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		var err error
		switch words[0] {
		case "kubectl":
			err = s.kubectl(words[1:])
		case "helm":
			err = s.chart(words[1:])
		case "curl":
			s.runs() // and asks /readyz?verbose
		default:
			err = fmt.Errorf("not known here")
		}
		if err != nil {
			s.t.Fatalf("%s: %v", strings.TrimSpace(line), err)
		}
		s.ran = append(s.ran, strings.Join(words[:min(len(words), 4)], " "))
	}
}

func (s *shell) flags(namespace *string) *genericclioptions.ConfigFlags {
	flags := genericclioptions.NewConfigFlags(false)
	flags.APIServer, flags.Namespace = &s.d.Config.Host, namespace
	flags.WrapConfigFn = func(*rest.Config) *rest.Config { return rest.CopyConfig(s.d.Config) }
	return flags
}

// kubectl is the real create and rollout; exec runs the program of the release as a process.
func (s *shell) kubectl(args []string) error {
	namespace := ""
	if args[0] == "-n" {
		namespace, args = args[1], args[2:]
	}
	if args[0] == "exec" {
		return s.doctor(args)
	}
	var out bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
	factory := util.NewFactory(s.flags(&namespace))
	kubectl := &cobra.Command{Use: "kubectl", SilenceUsage: true, SilenceErrors: true}
	kubectl.AddCommand(create.NewCmdCreate(factory, streams), rollout.NewCmdRollout("kubectl", factory, streams))
	kubectl.SetArgs(args)
	var failed error
	util.BehaviorOnFatal(func(message string, code int) { panic(fmt.Errorf("exit status %d: %s", code, message)) })
	defer util.DefaultBehaviorOnFatal()
	func() {
		defer func() {
			if cause := recover(); cause != nil {
				failed = fmt.Errorf("%v\n%s", cause, &out)
			}
		}()
		ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Minute)
		defer cancel()
		failed = kubectl.ExecuteContext(ctx)
	}()
	return failed
}

// chart is helm install and helm upgrade, with -n and -f.
func (s *shell) chart(args []string) error {
	verb, name, folder := args[0], args[1], args[2]
	values := map[string]any{}
	for i, a := range args {
		switch a {
		case "-n":
			s.namespace = args[i+1]
		case "-f":
			more, err := chartutil.ReadValuesFile(filepath.Join(s.dir, args[i+1]))
			if err != nil {
				return err
			}
			values = chartutil.CoalesceTables(more, values)
		}
	}
	files, err := loader.Load(filepath.Join(s.dir, folder))
	if err != nil {
		return err
	}
	s.actions = new(action.Configuration)
	if err := s.actions.Init(s.flags(&s.namespace), s.namespace, "secret", func(string, ...any) {}); err != nil {
		return err
	}
	if verb == "upgrade" {
		upgrade := action.NewUpgrade(s.actions)
		upgrade.Namespace = s.namespace
		_, err = upgrade.RunWithContext(s.t.Context(), name, files, values)
		return err
	}
	install := action.NewInstall(s.actions)
	install.ReleaseName, install.Namespace = name, s.namespace
	_, err = install.RunWithContext(s.t.Context(), files, values)
	return err
}

// doctor runs what the page runs in the pod, with the settings and the account of the release. Findings are what a
// machine without the site's names and sign-in provider must have; those of the cluster are well.
func (s *shell) doctor(args []string) error {
	if i := slices.Index(args, "--"); i < 0 || !slices.Equal(args[i+1:i+3], []string{"portal", "doctor"}) ||
		args[1] != "deploy/"+charts.Release || args[len(args)-1] != "/etc/gpu-portal/portal.yaml" {
		return fmt.Errorf("want portal doctor in the deployment, got %q", args)
	}
	program, settings, _ := s.prepare()
	out, err := exec.Command(program, "doctor", "--config", settings).CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return fmt.Errorf("%w: %s", err, out)
	}
	for _, want := range []string{"ok       Configuration", "ok       API server (main)",
		"ok       Cluster permissions (main)"} {
		if !strings.Contains(string(out), want) {
			return fmt.Errorf("want %q in\n%s", want, out)
		}
	}
	return nil
}

// TestDevstackInstallPage does what docs/install.md says: installation, check and upgrade, line by line.
func TestDevstackInstallPage(t *testing.T) {
	install := installPage(t, "## Kubernetes")
	s := newShell(t, install.block(t, "yaml"))
	s.run(install.block(t, "sh"))
	s.run(installPage(t, "## Check").block(t, "sh"))
	s.run(installPage(t, "## Upgrade").block(t, "sh"))
	t.Cleanup(func() { _, _ = action.NewUninstall(s.actions).Run(charts.Release) })
	for _, want := range []string{"kubectl create namespace gpu-portal", "helm install gpu-portal charts/gpu-portal",
		"helm upgrade gpu-portal charts/gpu-portal", "kubectl -n gpu-portal rollout", "kubectl -n gpu-portal exec"} {
		if !slices.Contains(s.ran, want) {
			t.Errorf("the page has no %q any more, it has %q", want, s.ran)
		}
	}
}
