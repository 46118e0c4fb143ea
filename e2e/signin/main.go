// Signin is an OpenID Connect provider for one machine: it asks people who they are instead of for a password, so that
// the whole portal can be tried out and tested without a company's provider. Its inside is internal/identity/oidctest.
//
//	signin --listen 127.0.0.1:9200 --issuer http://localhost:9200 --users users.json \
//	       --client-id gpu-portal --client-secret secret --keys keys.json
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "signin:", err)
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	listen, issuer, users, clientID, clientSecret, keys string
}

func parse(args []string, out io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("signin", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&s.listen, "listen", "127.0.0.1:9200", "loopback address to listen on")
	flags.StringVar(&s.issuer, "issuer", "", "URL of this provider as clients name it (default http:// and the listen "+
		"address)")
	flags.StringVar(&s.users, "users", "", "JSON `file` with the people: an array of sub, name, email, groups, what")
	flags.StringVar(&s.clientID, "client-id", "gpu-portal", "id of the one client")
	flags.StringVar(&s.clientSecret, "client-secret", "", "secret of the one client")
	flags.StringVar(&s.keys, "keys", "", "`file` that keeps the signing keys over restarts (default: fresh keys each "+
		"time)")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	if flags.NArg() > 0 {
		return settings{}, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if s.issuer == "" {
		s.issuer = "http://" + s.listen
	}
	if s.users == "" || s.clientSecret == "" {
		return settings{}, errors.New("--users and --client-secret are needed")
	}
	return s, nil
}

// run serves until ctx ends. It fails when a file cannot be read or the address is taken or not a loopback one.
func run(ctx context.Context, args []string, out io.Writer) error {
	s, err := parse(args, out)
	if err != nil {
		return err
	}
	provider, err := provider(s)
	if err != nil {
		return err
	}
	listener, err := listen(s.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: provider, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	fmt.Fprintf(out, "signin: %s listens on %s\n", s.issuer, listener.Addr())
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return server.Shutdown(last)
}

func provider(s settings) (*oidctest.Provider, error) {
	users, err := oidctest.ReadUsers(s.users)
	if err != nil {
		return nil, err
	}
	options := oidctest.Options{Issuer: s.issuer, ClientID: s.clientID, ClientSecret: s.clientSecret, Users: users}
	if s.keys != "" {
		if options.Keys, err = oidctest.LoadKeys(s.keys); err != nil {
			return nil, err
		}
	}
	return oidctest.New(options)
}

// listen opens the address if it is on this machine only: who reaches this program can be anybody.
func listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen address: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen address %q is not a loopback address", address)
	}
	return net.Listen("tcp", address)
}
