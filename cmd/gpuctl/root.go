package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpu-portal/gpu-portal/internal/apiclient"
)

// cli holds what a command needs from outside, and the flags of all commands.
type cli struct {
	in          io.Reader
	out, err    io.Writer
	getenv      func(string) string
	home        func() (string, error)
	interactive func() bool // whether a person sits at the input
	secret      func(prompt string, to io.Writer) (string, error)
	program     func(ctx context.Context, args []string) error // runs ssh
	zone        *time.Location
	every       time.Duration // between two looks of --wait

	context, format string

	begun bool       // the arguments could be read
	says  sync.Mutex // one connection at a time says what is wrong
}

// What gpuctl exits with.
const (
	done     = 0
	failed   = 1 // portal away, answers with an error or with 429
	wrong    = 2 // arguments, or what the portal says of them: 422
	signIn   = 3 // no context, or a token that is refused: 401
	denied   = 4 // not there, or not allowed: 403, 404
	conflict = 5 // 409
	unmet    = 6 // --wait: rejected, failed or not in time; --dry-run: it would be refused
	broken   = 130
)

const help = `Start and manage workloads on a GPU Portal.

Exit codes: 0 done, 1 portal unreachable or error response, 2 wrong arguments,
3 not signed in, 4 not found or not allowed, 5 conflict, 6 refused, failed or timed out.

GPUCTL_URL and GPUCTL_TOKEN together replace a sign-in.`

// exit is an error with the exit code that it stands for.
type exit struct {
	code int
	error
}

func exitf(code int, format string, args ...any) error {
	return exit{code, fmt.Errorf(format, args...)}
}

// usage marks an error of arguments.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return exit{wrong, err}
}

func (c *cli) run(ctx context.Context, args []string) int {
	root := c.root()
	root.SetArgs(args)
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return done
	}
	if ctx.Err() != nil {
		return broken // a person pressed Ctrl-C
	}
	var q quiet
	if errors.As(err, &q) {
		return q.code
	}
	c.explain(err)
	if !c.begun {
		return wrong
	}
	return codeOf(err)
}

// explain writes an error for a person: what is wrong, with which field, and how the operators find the call.
func (c *cli) explain(err error) {
	fmt.Fprintf(c.err, "gpuctl: %s\n", clean(err.Error()))
	var p *apiclient.ProblemError
	if !errors.As(err, &p) {
		return
	}
	for _, f := range p.Fields {
		fmt.Fprintf(c.err, "  %s: %s\n", clean(f.Name), clean(f.Reason))
	}
	switch {
	case p.Status == http.StatusUnauthorized:
		fmt.Fprintln(c.err, "  Create a token under \"Account and API tokens\", then run: gpuctl login URL")
	case p.RetryAfter > 0:
		fmt.Fprintf(c.err, "  Try again in %s.\n", p.RetryAfter)
	}
	if p.Status >= http.StatusInternalServerError && p.Instance != nil {
		fmt.Fprintf(c.err, "  Request ID for your operators: %s\n", clean(*p.Instance))
	}
}

func codeOf(err error) int {
	var e exit
	var p *apiclient.ProblemError
	switch {
	case errors.As(err, &e):
		return e.code
	case !errors.As(err, &p):
		return failed
	}
	switch p.Status {
	case http.StatusUnauthorized:
		return signIn
	case http.StatusForbidden, http.StatusNotFound:
		return denied
	case http.StatusConflict:
		return conflict
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return wrong
	}
	return failed
}

func (c *cli) root() *cobra.Command {
	cmd := &cobra.Command{Use: "gpuctl", Short: "Use a GPU Portal from the command line", Long: help,
		Version: version, SilenceUsage: true, SilenceErrors: true}
	f := cmd.PersistentFlags()
	f.StringVar(&c.context, "context", "", "portal, by its name in gpuctl contexts; with login: its new name")
	f.StringVarP(&c.format, "output", "o", table, "table, json, yaml, or name for use in other commands")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("context", c.completeContexts)
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error {
		c.begun = true
		if !slices.Contains(formats, c.format) {
			return exitf(wrong, "--output %s: choose one of %s", c.format, strings.Join(formats, ", "))
		}
		return nil
	}
	cmd.AddCommand(c.login(), c.logout(), c.contexts(), c.use(), c.whoami(), c.sizes(), c.images(), c.start(), c.list(),
		c.get(), c.open(), c.stop(), c.resume(), c.extend(), c.remove(), c.logs(), c.events(), c.ssh(), c.proxy(),
		c.sshConfig(), c.forward(), c.volumes(), c.requests(),
		c.decide(approve), c.decide(reject), c.withdraw())
	return cmd
}

// portal is the API of the portal that the command is for.
func (c *cli) portal() (*apiclient.Client, error) {
	a, err := c.access()
	if err != nil {
		return nil, err
	}
	return c.connect(a, patience)
}

func (c *cli) connect(a access, timeout time.Duration) (*apiclient.Client, error) {
	client, err := apiclient.Connect(apiclient.Options{URL: a.URL, Token: a.Token, Agent: "gpuctl/" + version,
		Language: c.language(), Timeout: timeout})
	return client, usage(err)
}

// language is that of the portal's sentences: the one of the terminal.
func (c *cli) language() string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if text := c.getenv(name); text != "" {
			code, _, _ := strings.Cut(text, ".")
			code, _, _ = strings.Cut(code, "@")
			if code == "C" || code == "POSIX" {
				return "en"
			}
			return strings.ReplaceAll(code, "_", "-")
		}
	}
	return "en"
}

// patience is for one call; a log that is followed takes as long as it takes.
const patience = time.Minute

// newKey is an idempotency key.
func newKey() string { return "gpuctl-" + rand.Text() }

// some is nil for the zero value: the API leaves out what was not said.
func some[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
