package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpu-portal/gpu-portal/internal/app"
	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Exit statuses of portal doctor.
const (
	exitFindings = 1
	exitCannot   = 2 // the settings cannot be read or are wrong, so that there is nothing to look at
)

// exitStatus ends the program with a status and no further word.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// doctorCommand looks at what the portal stands on, before and after an installation.
func doctorCommand(s *settings) *cobra.Command {
	var output string
	var images bool
	cmd := &cobra.Command{Use: "doctor", Args: cobra.NoArgs,
		Short: "Look whether everything that the portal needs is there, and say how to mend what is not",
		Long: "Look at the configuration, the database, the sign-in provider, the names and certificates, and in each " +
			"cluster at versions, rights, GPUs, storage classes and metrics. Nothing is changed, and no secret is printed. " +
			"Exit status: 0 all is well, 1 there are findings, 2 the configuration cannot be used.",
		Example: "  portal doctor --config portal.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				fmt.Fprintf(cmd.ErrOrStderr(), "portal: --output: %q is neither text nor json\n", output)
				return exitStatus(exitCannot)
			}
			bundle, err := i18n.Load()
			if err != nil {
				return err
			}
			c, err := s.load()
			if err != nil {
				problems := strings.Split(doctor.Redactor(c.Secrets()).Replace(err.Error()), "\n")
				f := doctor.Facts{At: time.Now().UTC(), Settings: doctor.Settings{Problems: problems}}
				if err := printFindings(cmd.OutOrStdout(), output, bundle.For("en"), f, doctor.Judge(f)[:1]); err != nil {
					return err
				}
				return exitStatus(exitCannot)
			}
			f := app.Diagnose(cmd.Context(), c, version, images)
			list := doctor.Judge(f)
			if err := printFindings(cmd.OutOrStdout(), output, bundle.For("en"), f, list); err != nil {
				return err
			}
			if w := doctor.Worst(list); w == doctor.Warning || w == doctor.Failed {
				return exitStatus(exitFindings)
			}
			return nil
		}}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmd.Flags().BoolVar(&images, "images", false, "call the registries that images of the catalog come from, too")
	return cmd
}

func printFindings(out io.Writer, output string, l *i18n.Localizer, f doctor.Facts, list []doctor.Finding) error {
	if output == "text" {
		return doctor.Write(out, l, list)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(struct {
		Version  string        `json:"version"`
		At       time.Time     `json:"checkedAt"`
		State    doctor.State  `json:"state"`
		Findings []doctor.Line `json:"findings"`
	}{version, f.At, doctor.Worst(list), doctor.Lines(l, list)})
}

// exit ends the program as the error says.
func exit(err error) {
	if status, ok := err.(exitStatus); ok { //nolint:errorlint // it is never wrapped
		os.Exit(int(status))
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintln(os.Stderr, "portal:", line)
	}
	os.Exit(1)
}
