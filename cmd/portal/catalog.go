package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// catalog is what an administrator needs before a catalog goes live: a file to begin with, and everything that is
// wrong with their own.
func catalogCommand(s *settings) *cobra.Command {
	parent := &cobra.Command{Use: "catalog", Short: "Sizes and images on offer"}
	parent.AddCommand(catalogCheck(s), catalogExample())
	return parent
}

func catalogCheck(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Short: "List everything that is wrong with a catalog file", Args: cobra.ExactArgs(1),
		Long: "List everything that is wrong with a catalog file, with its lines. License pools are those of the " +
			"configuration, or without --config those of the examples.",
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("read the catalog: %w", err)
			}
			pools := catalog.EveryPools()
			if s.file != "" {
				c, err := s.loadDatabase()
				if err != nil {
					return err
				}
				pools = c.LicensePools
			}
			c, found := catalog.Parse(data, pools...)
			problems := make([]error, len(found))
			for i, p := range found {
				problems[i] = fmt.Errorf("%s: %w", args[0], p)
			}
			if err := errors.Join(problems...); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "No problems: %d sizes, %d images.\n", len(c.Sizes), len(c.Images))
			return err
		}}
}

func catalogExample() *cobra.Command {
	var all bool
	cmd := &cobra.Command{Use: "example", Short: "Print a catalog to begin with", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			data := catalog.DefaultYAML()
			if all {
				data = catalog.EveryRowYAML()
			}
			_, err := cmd.OutOrStdout().Write(data)
			return err
		}}
	cmd.Flags().BoolVar(&all, "all", false, "one size for every technology that the portal knows")
	return cmd
}
