package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/internal/apiclient"
)

// access is a portal and the token for it.
type access struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

// signIns is the file that login writes.
type signIns struct {
	Current  string            `json:"current"`
	Contexts map[string]access `json:"contexts"`
}

func (c *cli) file() (string, error) {
	dir, err := c.home()
	return filepath.Join(dir, "config.yaml"), err
}

func (c *cli) load() (signIns, error) {
	s := signIns{Contexts: map[string]access{}}
	file, err := c.file()
	if err != nil {
		return s, err
	}
	text, err := private(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return s, err
	}
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return s, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// private reads a file that holds a token. It refuses one that others on the machine can read.
func private(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if open := info.Mode().Perm() & 0o077; open != 0 && runtime.GOOS != "windows" && info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s has a token and is accessible to other users of this machine: run chmod 600 %[1]s", file)
	}
	return readToken(f)
}

// save replaces the file; whoever reads it meanwhile has the old one or the new one.
func (c *cli) save(s signIns) error {
	file, err := c.file()
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(file), "config-*") // CreateTemp makes it 0600
	if err != nil {
		return err
	}
	_, err = part.Write(text)
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		_ = os.Remove(part.Name())
	}
	return err
}

// access is the one that the command is for: --context, else the environment, else the current one.
func (c *cli) access() (access, error) {
	given := access{URL: c.getenv("GPUCTL_URL"), Token: c.getenv("GPUCTL_TOKEN")}
	if c.context == "" && given.URL != "" && given.Token != "" {
		return given, nil
	}
	s, err := c.load()
	if err != nil {
		return access{}, err
	}
	name := c.context
	if name == "" {
		name = s.Current
	}
	a, there := s.Contexts[name]
	switch {
	case there:
		return a, nil
	case name == "":
		return a, exitf(signIn, "Not signed in. Create a token under \"Account and API tokens\" and run: gpuctl login URL")
	}
	return a, exitf(signIn, "Unknown context %q. gpuctl contexts lists them.", name)
}

func (c *cli) contexts() *cobra.Command {
	return &cobra.Command{Use: "contexts", Short: "List the portals you are signed in to", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := c.load()
			if err != nil {
				return err
			}
			names := slices.Sorted(maps.Keys(s.Contexts))
			rows, items := [][]string{}, []contextView{}
			for _, name := range names {
				v := contextView{Name: name, URL: s.Contexts[name].URL, Current: name == s.Current}
				mark := ""
				if v.Current {
					mark = "*"
				}
				items, rows = append(items, v), append(rows, []string{mark, name, v.URL})
			}
			return c.print(rendered{value: map[string]any{"items": items}, names: names,
				head: []string{"", "NAME", "URL"}, rows: rows})
		}}
}

// contextView is a context without its token.
type contextView struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	Current bool   `json:"current"`
}

func (c *cli) use() *cobra.Command {
	return &cobra.Command{Use: "use CONTEXT", Short: "Switch to this portal", Args: cobra.ExactArgs(1),
		ValidArgsFunction: c.completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := c.load()
			if err != nil {
				return err
			}
			if _, there := s.Contexts[args[0]]; !there {
				return exitf(denied, "Unknown context %q. gpuctl contexts lists them.", args[0])
			}
			s.Current = args[0]
			return c.save(s)
		}}
}

func (c *cli) logout() *cobra.Command {
	return &cobra.Command{Use: "logout [CONTEXT]", Short: "Remove a local token; it stays valid until revoked",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: c.completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := c.load()
			if err != nil {
				return err
			}
			name := s.Current
			if len(args) == 1 {
				name = args[0]
			}
			if _, there := s.Contexts[name]; !there {
				return exitf(denied, "Unknown context %q. gpuctl contexts lists them.", name)
			}
			delete(s.Contexts, name)
			if s.Current == name {
				s.Current = ""
			}
			if err := c.save(s); err != nil {
				return err
			}
			fmt.Fprintf(c.err, "The token for %s is removed locally. To revoke it: \"Account and API tokens\".\n", name)
			return nil
		}}
}

func (c *cli) login() *cobra.Command {
	var file string
	cmd := &cobra.Command{Use: "login URL", Short: "Save a token for a portal and switch to it",
		Long: "Save a token for a portal and switch to it.\n\nThe token comes from --token-file, from " +
			"GPUCTL_TOKEN, or a prompt.\nCreate one in the browser under \"Account and API tokens\".",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, err := apiclient.Address(args[0])
			if err != nil {
				return usage(err)
			}
			token, err := c.token(file)
			if err != nil {
				return err
			}
			name := c.context
			if name == "" {
				_, name, _ = strings.Cut(address, "://")
			}
			return c.signIn(cmd, name, access{URL: address, Token: token})
		}}
	cmd.Flags().StringVar(&file, "token-file", "", "file with the token, - for stdin; only its owner may read it")
	return cmd
}

// signIn keeps a token once the portal has taken it.
func (c *cli) signIn(cmd *cobra.Command, name string, a access) error {
	client, err := c.connect(a, patience)
	if err != nil {
		return err
	}
	me, err := apiclient.Read[apiclient.Me](client.Me(cmd.Context()))
	if err != nil {
		return err
	}
	s, err := c.load()
	if err != nil {
		return err
	}
	s.Contexts[name], s.Current = a, name
	if err := c.save(s); err != nil {
		return err
	}
	fmt.Fprintf(c.err, "Signed in to %s as %s.\n", a.URL, clean(me.Value.Name))
	return nil
}

func (c *cli) token(file string) (string, error) {
	var text []byte
	var err error
	switch given := c.getenv("GPUCTL_TOKEN"); {
	case file == "-":
		text, err = readToken(c.in)
	case file != "":
		text, err = private(file)
	case given != "":
		text = []byte(given)
	case c.interactive():
		var line string
		line, err = c.secret("Token: ", c.err)
		text = []byte(line)
	default:
		return "", exitf(wrong, "No terminal to paste a token: use --token-file or GPUCTL_TOKEN.")
	}
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", exitf(wrong, "This is not a token: it must be one line that starts with gpup_.")
	}
	return token, nil
}

func (c *cli) completeContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	s, err := c.load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.Sorted(maps.Keys(s.Contexts)), cobra.ShellCompDirectiveNoFileComp
}
