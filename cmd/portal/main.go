// Portal is the self-service GPU portal: web pages, REST API, gateway and controller in one program.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // statements go by the site's time zone, and an image may hold no zones

	"github.com/spf13/cobra"

	"github.com/gpu-portal/gpu-portal/internal/api"
	"github.com/gpu-portal/gpu-portal/internal/app"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/gogc"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := root().ExecuteContext(ctx); err != nil {
		exit(err)
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{Use: "portal", Short: "Self-service GPU notebooks and endpoints on Kubernetes", Version: version,
		SilenceUsage: true, SilenceErrors: true}
	s := &settings{}
	cmd.PersistentFlags().StringVar(&s.file, "config", "", "configuration file (YAML)")
	cmd.PersistentFlags().StringVar(&s.database, "database", "", "sqlite:PATH or postgres://… (default sqlite:portal.db)")
	cmd.AddCommand(serve(s), migrate(s), token(s), auditCommand(s), catalogCommand(s), rbac(s),
		doctorCommand(s), openapi())
	return cmd
}

// settings are the flags that stand above file and environment.
type settings struct {
	file, database, kubeconfig, prometheus, issuer, listen, url, podAccess string
	logLevel, logFormat                                                    string
	roles                                                                  []string
}

func (s *settings) load() (config.Config, error) { return config.Load(s.file, os.Getenv, s.override) }

// override puts the flags above what file and environment say.
func (s *settings) override(c *config.Config) {
	for _, f := range []struct {
		flag  string
		field *string
	}{{s.database, &c.Database}, {s.issuer, &c.OIDC.Issuer}, {s.listen, &c.Listen}, {s.url, &c.URL},
		{s.logLevel, &c.Log.Level}, {s.logFormat, &c.Log.Format}} {
		if f.flag != "" {
			*f.field = f.flag
		}
	}
	if len(s.roles) > 0 {
		c.Roles = s.roles
	}
	s.cluster(c)
}

// cluster lets the flags describe the one cluster of a small site, or change the first of the file.
func (s *settings) cluster(c *config.Config) {
	if s.kubeconfig == "" && s.prometheus == "" && s.podAccess == "" {
		return
	}
	if len(c.Clusters) == 0 {
		c.Clusters = []config.Cluster{{Name: "main"}}
	}
	k := &c.Clusters[0]
	for _, f := range []struct {
		flag  string
		field *string
	}{{s.kubeconfig, &k.Kubeconfig}, {s.prometheus, &k.Prometheus}, {s.podAccess, &k.PodAccess}} {
		if f.flag != "" {
			*f.field = f.flag
		}
	}
}

func serve(s *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "serve", Short: "Run the portal", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.load()
			if err != nil {
				return err
			}
			defer gogc.AtLeast(gogc.Serving)()
			return app.Run(cmd.Context(), c, version, os.Stderr)
		}}
	f := cmd.Flags()
	f.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster")
	f.StringVar(&s.prometheus, "prometheus", "", "address of Prometheus, or of anything with its HTTP API")
	f.StringVar(&s.issuer, "oidc-issuer", "", "address of the sign-in provider")
	f.StringVar(&s.listen, "listen", "", "address to listen on (default 127.0.0.1:8080)")
	f.StringVar(&s.url, "url", "", "how browsers reach the portal (default http://localhost:PORT)")
	f.StringVar(&s.logLevel, "log-level", "", "debug, info, warn or error (default info)")
	f.StringVar(&s.logFormat, "log-format", "", "text or json (default text)")
	f.StringVar(&s.podAccess, "pod-access", "", "how the gateway reaches pods: direct, socks5://host:port or apiserver")
	f.StringSliceVar(&s.roles, "roles", nil, "what this process does: web, gateway, controller (default all)")
	return cmd
}

func migrate(s *settings) *cobra.Command {
	var account string
	cmd := &cobra.Command{Use: "migrate", Short: "Bring the database to this version's schema", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.loadDatabase()
			if err != nil {
				return err
			}
			st, err := app.OpenStore(cmd.Context(), c)
			if err != nil {
				return err
			}
			defer st.Close()
			fmt.Fprintln(cmd.OutOrStdout(), "The database is up to date.")
			if account == "" {
				return nil
			}
			if err := st.GrantTo(cmd.Context(), account); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s may run the portal on it, and only add to the audit record.\n", account)
			return nil
		}}
	cmd.Flags().StringVar(&account, "grant-to", "", "PostgreSQL account that runs the portal and does not own the tables")
	return cmd
}

// loadDatabase loads only what the database commands need, so that they work without a cluster and a sign-in provider.
func (s *settings) loadDatabase() (config.Config, error) {
	return config.LoadDatabase(s.file, os.Getenv, s.override)
}

func token(s *settings) *cobra.Command {
	parent := &cobra.Command{Use: "token", Short: "API tokens"}
	var p identity.Person
	var name string
	var life time.Duration
	create := &cobra.Command{Use: "create", Short: "Make a token for a person and print it once", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if p.Issuer == "" || p.Subject == "" {
				return errors.New("--issuer and --subject are needed: they say who the person is")
			}
			c, err := s.loadDatabase()
			if err != nil {
				return err
			}
			st, err := app.OpenStore(cmd.Context(), c)
			if err != nil {
				return err
			}
			defer st.Close()
			text, err := app.CreateToken(cmd.Context(), st, p, name, life, time.Now())
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), text)
			return nil
		}}
	f := create.Flags()
	f.StringVar(&p.Issuer, "issuer", "", "address of the sign-in provider that knows the person")
	f.StringVar(&p.Subject, "subject", "", "the provider's id of the person")
	f.StringVar(&p.Name, "name", "", "name of the person")
	f.StringVar(&p.Email, "email", "", "mail address of the person")
	f.StringSliceVar(&p.Groups, "groups", nil, "groups of the person, until the next sign-in tells anew")
	f.StringVar(&name, "label", "command line", "what the token is for")
	f.DurationVar(&life, "life", 30*24*time.Hour, "how long the token is valid; tokens.maxLifetime and "+
		"tokens.maxStandingAge bound it too")
	parent.AddCommand(create)
	return parent
}

func openapi() *cobra.Command {
	return &cobra.Command{Use: "openapi", Short: "Print the OpenAPI document", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			doc, err := api.New(api.Deps{Version: version}).Document()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), string(doc))
			return err
		}}
}
