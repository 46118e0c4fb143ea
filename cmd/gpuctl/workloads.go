package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpu-portal/gpu-portal/internal/apiclient"
)

const pageSize = 500 // the most that the API gives at once

// listWorkloads reads living workloads, unless the filter wants others too.
func listWorkloads(ctx context.Context, client *apiclient.Client, most int,
	f apiclient.ListWorkloadsParams) (listed[apiclient.Workload], error) {
	f.Limit = new(int64(min(most, pageSize)))
	return pages[apiclient.Workload](most, func(cursor *string) (apiclient.Answer[page], error) {
		f.Cursor = cursor
		return apiclient.Read[page](client.ListWorkloads(ctx, &f))
	})
}

// find is the workload with an ID or, of those that have not ended, with a name: mine first, names being unique.
func find(ctx context.Context, client *apiclient.Client, name string) (apiclient.Answer[apiclient.Workload], error) {
	if strings.HasPrefix(name, "w-") {
		a, err := apiclient.Read[apiclient.Workload](client.GetWorkload(ctx, name))
		if !isMissing(err) {
			return a, err
		}
	}
	for _, scope := range []apiclient.ListWorkloadsParamsScope{apiclient.ListWorkloadsParamsScopeMine,
		apiclient.ListWorkloadsParamsScopeAll} {
		all, err := listWorkloads(ctx, client, everything, apiclient.ListWorkloadsParams{Scope: &scope})
		if err != nil {
			return apiclient.Answer[apiclient.Workload]{}, err
		}
		for _, w := range all.items {
			if w.Name == name {
				return apiclient.Read[apiclient.Workload](client.GetWorkload(ctx, w.Id))
			}
		}
	}
	return apiclient.Answer[apiclient.Workload]{}, exitf(denied, "No workload %q is visible to you. gpuctl list "+
		"--all lists them; use the ID for deleted ones.", name)
}

const everything = 1 << 30

func isMissing(err error) bool {
	var p *apiclient.ProblemError
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}

func (c *cli) list() *cobra.Command {
	var all, ended bool
	var team, state string
	most := 500
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List workloads", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			scope := apiclient.ListWorkloadsParamsScopeMine
			if all {
				scope = apiclient.ListWorkloadsParamsScopeAll
			}
			l, err := listWorkloads(ctx, client, most, apiclient.ListWorkloadsParams{Scope: &scope, Tenant: some(team),
				State: some(apiclient.ListWorkloadsParamsState(state)), Ended: some(ended)})
			if err != nil {
				return err
			}
			return c.printWorkloads(l, all)
		}}
	f := cmd.Flags()
	f.BoolVarP(&all, "all", "a", false, "include those of others that you may see")
	f.BoolVar(&ended, "ended", false, "include deleted ones")
	f.StringVar(&team, "team", "", "only this team")
	f.StringVar(&state, "state", "", "only in this state: queued, starting, running, stopped, failed …")
	f.IntVar(&most, "limit", most, "maximum number")
	return cmd
}

func (c *cli) printWorkloads(l listed[apiclient.Workload], owners bool) error {
	r := rendered{value: l.value(), head: []string{"NAME", "KIND", "SIZE", "STATE", "TEAM", "UNTIL", "COST"}}
	if owners {
		r.head = append(r.head, "OWNER")
	}
	for _, w := range l.items {
		row := []string{w.Name, string(w.Kind), w.Size, string(w.State), w.Tenant, c.at(w.Lease.Until), money(w.Cost)}
		if owners {
			row = append(row, w.Owner)
		}
		r.names, r.rows = append(r.names, w.Name), append(r.rows, row)
	}
	return c.finish(r, l.more)
}

// finish prints a list, and says where it was cut.
func (c *cli) finish(r rendered, more bool) error {
	err := c.print(r)
	if more {
		fmt.Fprintln(c.err, "There are more: use --limit to list them.")
	}
	return err
}

func (c *cli) printWorkload(a apiclient.Answer[apiclient.Workload]) error {
	w := a.Value
	r := rendered{value: a.JSON, names: []string{w.Name}, rows: [][]string{{"Name", w.Name}, {"ID", w.Id},
		{"Kind", string(w.Kind)}, {"State", string(w.State)}, {"Reason", w.Reason}, {"Detail", value(w.Detail)},
		{"Ready", c.expected(w.Forecast)}, {"Team", w.Tenant}, {"Owner", w.Owner}, {"Size", w.Size}, {"Image", w.Image},
		{"Until", c.at(w.Lease.Until)}, {"Cost so far", money(w.Cost)}, {"Storage", value(w.Volume)}, {"Address", w.Url}}}
	if ports := portNames(w); len(ports) > 0 {
		r.rows = append(r.rows, []string{"Ports", strings.Join(ports, ", ")})
	}
	if w.ExitCode != nil {
		r.rows = append(r.rows, []string{"Exit code", strconv.Itoa(int(*w.ExitCode))})
	}
	return c.print(r)
}

// expected says when something should be ready, "" where nothing is awaited.
func (c *cli) expected(f *apiclient.Forecast) string {
	switch {
	case f == nil:
		return ""
	case f.From != nil && f.Until != nil:
		return fmt.Sprintf("between %s and %s: %s", c.at(*f.From), c.at(*f.Until), f.Rationale)
	}
	return "no estimate: " + f.Rationale
}

// command acts on one workload.
func (c *cli) command(use, short string, act func(ctx context.Context, client *apiclient.Client,
	w apiclient.Answer[apiclient.Workload]) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: c.completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			w, err := find(ctx, client, args[0])
			if err != nil {
				return err
			}
			return act(ctx, client, w)
		}}
}

func (c *cli) get() *cobra.Command {
	return c.command("get WORKLOAD", "Show state, reason, lease, cost and address of a workload",
		func(_ context.Context, _ *apiclient.Client, w apiclient.Answer[apiclient.Workload]) error {
			return c.printWorkload(w)
		})
}

func (c *cli) open() *cobra.Command {
	return c.command("open WORKLOAD", "Print the address to open in a browser",
		func(_ context.Context, _ *apiclient.Client, w apiclient.Answer[apiclient.Workload]) error {
			if w.Value.Url == "" && len(portNames(w.Value)) > 0 {
				return exitf(denied, "%s has no pages. Use gpuctl forward for its ports: %s.", w.Value.Name,
					strings.Join(portNames(w.Value), ", "))
			}
			if w.Value.Url == "" {
				return exitf(denied, "%s is a %s: there is nothing to open.", w.Value.Name, w.Value.Kind)
			}
			_, err := fmt.Fprintln(c.out, clean(w.Value.Url))
			return err
		})
}

func (c *cli) stop() *cobra.Command {
	return c.command("stop WORKLOAD", "Stop a workload and release its GPU; its storage is kept",
		func(ctx context.Context, client *apiclient.Client, w apiclient.Answer[apiclient.Workload]) error {
			a, err := apiclient.Read[apiclient.Workload](client.StopWorkload(ctx, w.Value.Id))
			if err != nil {
				return err
			}
			return c.printWorkload(a)
		})
}

func (c *cli) resume() *cobra.Command {
	var reason string
	var ask bool
	cmd := c.command("resume WORKLOAD", "Start a stopped workload again within its lease",
		func(ctx context.Context, client *apiclient.Client, w apiclient.Answer[apiclient.Workload]) error {
			if ask {
				a, err := apiclient.Read[apiclient.Request](client.AskToResume(ctx, w.Value.Id,
					apiclient.ResumeInputBody{Reason: reason}))
				if err != nil {
					return err
				}
				return c.printRequest(a)
			}
			a, err := apiclient.Read[apiclient.Workload](client.StartWorkload(ctx, w.Value.Id))
			if err != nil {
				return err
			}
			return c.printWorkload(a)
		})
	cmd.Flags().BoolVar(&ask, "ask", false, "request approval if the team's budget requires it")
	cmd.Flags().StringVar(&reason, "reason", "", "for the approver")
	return cmd
}

func (c *cli) extend() *cobra.Command {
	var reason, key string
	cmd := &cobra.Command{Use: "extend WORKLOAD TIME", Short: "Extend the lease: gpuctl extend train 4h",
		Args: cobra.ExactArgs(2), ValidArgsFunction: c.completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			w, err := find(ctx, client, args[0])
			if err != nil {
				return err
			}
			if key == "" {
				key = newKey()
			}
			a, err := apiclient.Read[apiclient.Request](client.ExtendWorkload(ctx, w.Value.Id,
				&apiclient.ExtendWorkloadParams{IdempotencyKey: &key},
				apiclient.ExtendInputBody{Lease: args[1], Reason: some(reason)}))
			if err != nil {
				return err
			}
			return c.printRequest(a)
		}}
	cmd.Flags().StringVar(&reason, "reason", "", "for the approver")
	cmd.Flags().StringVar(&key, "key", "", "idempotency key: requests with the same key count once")
	return cmd
}

func (c *cli) remove() *cobra.Command {
	var yes, storage bool
	cmd := c.command("delete WORKLOAD", "Delete a workload permanently; its storage is kept unless --with-storage",
		func(ctx context.Context, client *apiclient.Client, w apiclient.Answer[apiclient.Workload]) error {
			with, fate := apiclient.DeleteWorkloadParamsStorageKeep, "Its storage is kept."
			if storage {
				with, fate = apiclient.DeleteWorkloadParamsStorageDelete, "Its storage is deleted with all its files."
			}
			if !yes {
				question := fmt.Sprintf("Delete the %s %s of %s? %s", w.Value.Kind, w.Value.Name, w.Value.Owner, fate)
				if err := c.confirm(question); err != nil {
					return err
				}
			}
			a, err := apiclient.Read[apiclient.Workload](client.DeleteWorkload(ctx, w.Value.Id,
				&apiclient.DeleteWorkloadParams{Storage: &with}))
			if err != nil {
				return err
			}
			return c.printWorkload(a)
		})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&storage, "with-storage", false, "also delete its storage")
	return cmd
}

// confirm asks a person; without one there is no yes.
func (c *cli) confirm(question string) error {
	if !c.interactive() {
		return exitf(wrong, "%s No terminal to ask: use --yes to confirm.", question)
	}
	fmt.Fprintf(c.err, "%s [y/N] ", clean(question))
	line, err := bufio.NewReader(c.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return exitf(unmet, "Canceled.")
}

func (c *cli) logs() *cobra.Command {
	var follow, previous, timestamps bool
	var container, since string
	var tail int64
	cmd := &cobra.Command{Use: "logs WORKLOAD", Short: "Print the log of its container", Args: cobra.ExactArgs(1),
		ValidArgsFunction: c.completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			w, err := find(cmd.Context(), client, args[0])
			if err != nil {
				return err
			}
			p := apiclient.GetWorkloadLogsParams{Container: some(container), Since: some(since), Tail: some(tail),
				Follow: some(follow), Previous: some(previous), Timestamps: some(timestamps)}
			err = c.copyLog(cmd.Context(), w.Value.Id, p)
			if follow && errors.Is(err, context.Canceled) {
				return nil // Ctrl-C is how one leaves
			}
			return err
		}}
	f := cmd.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "stream new lines")
	f.BoolVar(&previous, "previous", false, "log of the container before its last restart")
	f.BoolVar(&timestamps, "timestamps", false, "start each line with its time")
	f.StringVar(&container, "container", "", "container other than the workload's own")
	f.StringVar(&since, "since", "", "only lines since then, such as 15m")
	f.Int64Var(&tail, "tail", 0, "the newest lines, at most 5000 (default 500)")
	return cmd
}

// copyLog passes a log on as it comes: the portal has taken escape sequences out.
func (c *cli) copyLog(ctx context.Context, id string, p apiclient.GetWorkloadLogsParams) error {
	a, err := c.access()
	if err != nil {
		return err
	}
	client, err := c.connect(a, 0)
	if err != nil {
		return err
	}
	resp, err := client.GetWorkloadLogs(ctx, id, &p)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := apiclient.Refused(resp); err != nil {
		return err
	}
	_, err = io.Copy(c.out, resp.Body)
	return err
}

func (c *cli) events() *cobra.Command {
	return c.command("events WORKLOAD", "List Kubernetes events of its pod and its storage, newest first",
		func(ctx context.Context, client *apiclient.Client, w apiclient.Answer[apiclient.Workload]) error {
			l, err := pages[apiclient.KubernetesEvent](everything, func(*string) (apiclient.Answer[page], error) {
				return apiclient.Read[page](client.GetWorkloadEvents(ctx, w.Value.Id))
			})
			if err != nil {
				return err
			}
			r := rendered{value: l.value(), head: []string{"LAST", "TYPE", "OBJECT", "REASON", "MESSAGE"}}
			for _, e := range l.items {
				says := value(e.Sentence)
				if says == "" {
					says = e.Message
				}
				r.names = append(r.names, e.Object)
				r.rows = append(r.rows, []string{c.at(e.Last), string(e.Type), e.Object, e.Reason, says})
			}
			return c.print(r)
		})
}

// completeWorkloads gives the names of my workloads to the shell.
func (c *cli) completeWorkloads(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	client, err := c.portal()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	l, err := listWorkloads(ctx, client, pageSize, apiclient.ListWorkloadsParams{
		Scope: some(apiclient.ListWorkloadsParamsScopeMine)})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names := make([]string, len(l.items))
	for i, w := range l.items {
		names[i] = w.Name
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
