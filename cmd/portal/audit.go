package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/gpu-portal/gpu-portal/internal/app"
	"github.com/gpu-portal/gpu-portal/internal/audit"
)

func auditCommand(s *settings) *cobra.Command {
	parent := &cobra.Command{Use: "audit", Short: "Export and check the audit record"}
	parent.AddCommand(
		&cobra.Command{Use: "export", Short: "Write the whole record, one JSON object a line", Args: cobra.NoArgs,
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
				chain, err := audit.ExportRecords(cmd.Context(), st, cmd.OutOrStdout())
				return tell(cmd.ErrOrStderr(), chain, err)
			}},
		&cobra.Command{Use: "verify FILE", Short: "Check an exported record without a database; - is standard input",
			Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
				var dump io.Reader = cmd.InOrStdin()
				if args[0] != "-" {
					f, err := os.Open(args[0])
					if err != nil {
						return err
					}
					defer f.Close()
					dump = f
				}
				chain, err := audit.Verify(dump)
				return tell(cmd.OutOrStdout(), chain, err)
			}})
	return parent
}

// tell says what a chain is worth: what it covers, and the head to note down.
func tell(out io.Writer, c audit.Chain, err error) error {
	var broken *audit.Break
	if errors.As(err, &broken) {
		return fmt.Errorf("the record is broken at %w", broken)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d events, %d to %d: every link holds.\n", c.Count, c.First, c.Last)
	if c.First > 1 {
		fmt.Fprintln(out, "What came before the first one is not in this file.")
	}
	fmt.Fprintf(out, "Head %s: kept elsewhere, it shows later whether the end was cut off.\n", c.Head)
	return nil
}
