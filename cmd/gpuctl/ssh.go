package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpu-portal/gpu-portal/internal/apiclient"
)

// suffix is what ssh knows workloads by: train.gpu.
const suffix = ".gpu"

// quiet is the exit code of another program, which has said itself what is wrong.
type quiet struct{ code int }

func (q quiet) Error() string { return fmt.Sprintf("exit status %d", q.code) }

// trust are options of ssh. The portal says over TLS which pod it is; the keys of a container change with each start,
// and asking about them each time would teach people to say yes.
var trust = []string{"StrictHostKeyChecking no", "UserKnownHostsFile /dev/null", "LogLevel ERROR"}

// program runs ssh at the person's terminal.
func program(ctx context.Context, args []string) error {
	path, err := exec.LookPath("ssh")
	if err != nil {
		return exitf(failed, "ssh is not installed on this machine. Install the OpenSSH client.")
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, args...) // Ctrl-C is for ssh
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return quiet{max(ended.ExitCode(), failed)}
	}
	return err
}

func (c *cli) ssh() *cobra.Command {
	var user string
	cmd := &cobra.Command{Use: "ssh WORKLOAD [-- ARGUMENTS…]",
		Short: "Open a shell in a workload whose image has an SSH server",
		Long: "Open a shell in a workload whose image has an SSH server, through the portal.\n\n" +
			"Arguments after -- go to ssh: options, or a command. The image defines which keys it accepts.",
		Example: "  gpuctl ssh train\n  gpuctl ssh train -- nvidia-smi\n  gpuctl ssh train -- -L 6006:localhost:6006",
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); len(args) == 0 || at != 1 && (at >= 0 || len(args) > 1) {
				return errors.New("name one workload; put arguments of ssh after --")
			}
			return nil
		},
		ValidArgsFunction: c.completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			w, err := reachable(cmd.Context(), client, args[0])
			if err != nil {
				return err
			}
			proxy, err := c.proxyCommand(w.Id)
			if err != nil {
				return err
			}
			if user == "" {
				user = w.Ssh.User
			}
			line := []string{"-o", "ProxyCommand " + proxy}
			for _, o := range trust {
				line = append(line, "-o", o)
			}
			line = append(line, "-l", user, w.Name+suffix)
			return c.program(cmd.Context(), append(line, args[1:]...))
		}}
	cmd.Flags().StringVarP(&user, "user", "l", "", "SSH user (default: from the image)")
	return cmd
}

// reachable is a workload with an SSH server that runs.
func reachable(ctx context.Context, client *apiclient.Client, name string) (apiclient.Workload, error) {
	a, err := find(ctx, client, strings.TrimSuffix(name, suffix))
	if err != nil {
		return apiclient.Workload{}, err
	}
	switch w := a.Value; {
	case w.Ssh == nil:
		return w, exitf(conflict, "The image %s of %s has no SSH server. Choose another one; gpuctl images -o json says "+
			"which.", w.Image, w.Name)
	default:
		return w, running(w)
	}
}

func running(w apiclient.Workload) error {
	if w.State != apiclient.WorkloadStateRunning {
		return exitf(conflict, "%s is not running: it is %s.", w.Name, w.State)
	}
	return nil
}

// plain needs no quoting in a shell or in the configuration of ssh.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=-]+$`)

// proxyCommand is the line by which ssh gets to a workload; %h is the host that it was asked for.
func (c *cli) proxyCommand(workload string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	words := []string{strings.ReplaceAll(self, "%", "%%")}
	if c.context != "" {
		words = append(words, "--context", strings.ReplaceAll(c.context, "%", "%%"))
	}
	words = append(words, "proxy", workload)
	for i, word := range words {
		if !plain.MatchString(word) {
			words[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(word) + `"`
		}
	}
	return strings.Join(words, " "), nil
}

func (c *cli) proxy() *cobra.Command {
	return &cobra.Command{Use: "proxy WORKLOAD", Short: "Connect stdin and stdout to its SSH server",
		Long: "Connect stdin and stdout to the SSH server of a workload: a ProxyCommand for ssh.",
		Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			w, err := reachable(ctx, client, args[0])
			if err != nil {
				return err
			}
			conn, err := apiclient.Tunnel(ctx, client, w.Id, "")
			if err != nil {
				return err
			}
			return pass(ctx, conn, c.in, c.out)
		}}
}

func (c *cli) sshConfig() *cobra.Command {
	return &cobra.Command{Use: "ssh-config", Short: "Print ~/.ssh/config lines for WORKLOAD.gpu in ssh and editors",
		Example: "  gpuctl ssh-config >> ~/.ssh/config\n  ssh train.gpu", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			text, err := c.hosts(cmd.Context(), client)
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.out, text)
			return err
		}}
}

// hosts has a block for all workloads, with the user that all images share. Where they share none, each workload that
// is there has a block with its own.
func (c *cli) hosts(ctx context.Context, client *apiclient.Client) (string, error) {
	images, err := listImages(ctx, client, "")
	if err != nil {
		return "", err
	}
	var users []string
	for _, i := range images.items {
		if i.Ssh != nil && !slices.Contains(users, i.Ssh.User) {
			users = append(users, i.Ssh.User)
		}
	}
	proxy, err := c.proxyCommand("%h")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if len(users) > 1 {
		mine := apiclient.ListWorkloadsParamsScopeMine
		l, err := listWorkloads(ctx, client, everything, apiclient.ListWorkloadsParams{Scope: &mine})
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, "# Images have different users: print this again for new workloads.")
		for _, w := range l.items {
			if w.Ssh != nil {
				fmt.Fprintf(&b, "Host %s%s\n  User %s\n", clean(w.Name), suffix, clean(w.Ssh.User))
			}
		}
	}
	fmt.Fprintf(&b, "Host *%s\n  ProxyCommand %s\n", suffix, proxy)
	if len(users) == 1 {
		fmt.Fprintf(&b, "  User %s\n", clean(users[0]))
	}
	for _, o := range trust {
		fmt.Fprintf(&b, "  %s\n", o)
	}
	return b.String(), nil
}
