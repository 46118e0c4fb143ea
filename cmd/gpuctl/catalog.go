package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpu-portal/gpu-portal/internal/apiclient"
)

// completeWithin is how long a shell waits for what can be typed next.
const completeWithin = 3 * time.Second

func (c *cli) whoami() *cobra.Command {
	return &cobra.Command{Use: "whoami", Short: "Show who is signed in, and their roles", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			me, err := apiclient.Read[apiclient.Me](client.Me(ctx))
			if err != nil {
				return err
			}
			var teams []string
			for _, name := range slices.Sorted(maps.Keys(me.Value.Tenants)) {
				teams = append(teams, fmt.Sprintf("%s (%s)", name, strings.Join(value(me.Value.Tenants[name]), ", ")))
			}
			return c.print(rendered{value: me.JSON, names: []string{me.Value.Name}, rows: [][]string{
				{"Portal", strings.TrimSuffix(client.Server, "/")}, {"Name", me.Value.Name}, {"Mail", me.Value.Email},
				{"Platform roles", strings.Join(me.Value.Roles, ", ")}, {"Teams", strings.Join(teams, ", ")}}})
		}}
}

func listSizes(ctx context.Context, client *apiclient.Client, team string) (listed[apiclient.Size], error) {
	return pages[apiclient.Size](everything, func(*string) (apiclient.Answer[page], error) {
		return apiclient.Read[page](client.ListSizes(ctx, &apiclient.ListSizesParams{Tenant: some(team)}))
	})
}

func listImages(ctx context.Context, client *apiclient.Client, team string) (listed[apiclient.Image], error) {
	return pages[apiclient.Image](everything, func(*string) (apiclient.Answer[page], error) {
		return apiclient.Read[page](client.ListImages(ctx, &apiclient.ListImagesParams{Tenant: some(team)}))
	})
}

func (c *cli) sizes() *cobra.Command {
	var team string
	cmd := &cobra.Command{Use: "sizes", Short: "List sizes: price, availability, approval",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			l, err := listSizes(ctx, client, team)
			if err != nil {
				return err
			}
			r := rendered{value: l.value(), head: []string{"NAME", "GPU MEMORY", "ISOLATION", "PRICE/HOUR", "FREE", "STARTS"}}
			for _, s := range l.items {
				r.names = append(r.names, s.Name)
				r.rows = append(r.rows, []string{s.Name, memory(s), string(s.Isolation), money(s.PricePerHour),
					free(s.Capacity), starts(s)})
			}
			return c.print(r)
		}}
	cmd.Flags().StringVar(&team, "team", "", "as offered to this team")
	return cmd
}

func memory(s apiclient.Size) string {
	if s.Devices == 0 {
		return "none"
	}
	return fmt.Sprintf("%g GiB", s.MemoryGiB)
}

func free(of apiclient.Capacity) string {
	if !of.Known {
		return "unknown"
	}
	return fmt.Sprintf("%d of %d", of.Free, of.Total)
}

func starts(s apiclient.Size) string {
	switch {
	case value(s.Problem) != "":
		return *s.Problem
	case s.StartsNow:
		return "at once"
	case s.Decision != nil && s.Decision.Needs != nil:
		return "after an approval: " + *s.Decision.Needs
	case s.Decision != nil && value(s.Decision.Outcome) == apiclient.DecisionOutcomeRefuse:
		return "not: " + s.Decision.Sentence
	}
	return "when one is free"
}

func (c *cli) images() *cobra.Command {
	var team, kind string
	cmd := &cobra.Command{Use: "images", Short: "List images", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			l, err := listImages(ctx, client, team)
			if err != nil {
				return err
			}
			var kept listed[apiclient.Image]
			r := rendered{head: []string{"NAME", "KIND", "TITLE"}}
			for i, image := range l.items {
				if kind != "" && string(image.Kind) != kind {
					continue
				}
				kept.raw = append(kept.raw, l.raw[i])
				r.names = append(r.names, image.Name)
				r.rows = append(r.rows, []string{image.Name, string(image.Kind), image.Title})
			}
			r.value = kept.value()
			return c.print(r)
		}}
	cmd.Flags().StringVar(&team, "team", "", "include this team's own images")
	cmd.Flags().StringVar(&kind, "kind", "", "notebook, endpoint or job")
	return cmd
}

// completeNames offers what a list has to the shell.
func (c *cli) completeNames(read func(context.Context, *apiclient.Client) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		client, err := c.portal()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		names, err := read(ctx, client)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
