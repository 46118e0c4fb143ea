package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gpu-portal/gpu-portal/internal/apiclient"
)

func (c *cli) requests() *cobra.Command {
	var inbox, all bool
	var team, state string
	most := 100
	cmd := &cobra.Command{Use: "requests [REQUEST]", Short: "List requests, or show one",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if len(args) == 1 {
				a, err := apiclient.Read[apiclient.Request](client.GetRequest(ctx, args[0]))
				if err != nil {
					return err
				}
				return c.printRequest(a)
			}
			scope := apiclient.ListRequestsParamsScopeMine
			switch {
			case inbox:
				scope = apiclient.ListRequestsParamsScopeInbox
			case all:
				scope = apiclient.ListRequestsParamsScopeAll
			}
			f := apiclient.ListRequestsParams{Scope: &scope, Tenant: some(team),
				State: some(apiclient.ListRequestsParamsState(state)), Limit: new(int64(min(most, pageSize)))}
			l, err := pages[apiclient.Request](most, func(cursor *string) (apiclient.Answer[page], error) {
				f.Cursor = cursor
				return apiclient.Read[page](client.ListRequests(ctx, &f))
			})
			if err != nil {
				return err
			}
			return c.printRequests(l)
		}}
	f := cmd.Flags()
	f.BoolVar(&inbox, "inbox", false, "requests that wait for your decision")
	f.BoolVarP(&all, "all", "a", false, "all requests you may see")
	f.StringVar(&team, "team", "", "only this team")
	f.StringVar(&state, "state", "", "pending, approved, rejected, withdrawn or expired")
	f.IntVar(&most, "limit", most, "maximum number, newest first")
	cmd.MarkFlagsMutuallyExclusive("inbox", "all")
	return cmd
}

func (c *cli) printRequests(l listed[apiclient.Request]) error {
	r := rendered{value: l.value(), head: []string{"ID", "KIND", "STATE", "ASKER", "TEAM", "NAME", "SIZE", "LEASE",
		"PRICE", "CREATED"}}
	for _, q := range l.items {
		r.names = append(r.names, q.Id)
		r.rows = append(r.rows, []string{q.Id, string(q.Kind), string(q.State), q.Asker, q.Tenant, q.Name, q.Size, q.Lease,
			money(q.Estimate), c.at(q.CreatedAt)})
	}
	return c.finish(r, l.more)
}

func (c *cli) printRequest(a apiclient.Answer[apiclient.Request]) error {
	q := a.Value
	r := rendered{value: a.JSON, names: []string{q.Id}, rows: [][]string{{"Request", q.Id}, {"Kind", string(q.Kind)},
		{"State", string(q.State)}, {"Decision", q.Decision.Sentence}, {"Rule", q.Decision.Rule},
		{"Decided by", value(q.Decision.By)}, {"Note", value(q.Decision.Note)}, {"Waits for", waitsFor(q)},
		{"Ready", c.expected(q.Forecast)}, {"Asked by", q.Asker}, {"Team", q.Tenant}, {"Name", q.Name}, {"Size", q.Size},
		{"Image", q.Image}, {"Lease", q.Lease}, {"Reason", q.Reason}, {"Price", money(q.Estimate)},
		{"Workload", value(q.Workload)}}}
	return c.print(r)
}

// waitsFor is whose approval or which seat a request waits for.
func waitsFor(q apiclient.Request) string {
	switch {
	case q.WaitsForSeatOf != nil:
		return "a license seat of " + *q.WaitsForSeatOf
	case q.State == apiclient.RequestStatePending:
		return value(q.Decision.Needs)
	}
	return ""
}

// verb is an answer of an approver.
type verb struct{ use, short string }

var (
	approve = verb{"approve", "Approve a request; --size and --lease grant less"}
	reject  = verb{"reject", "Reject a request; --note gives the reason"}
)

// decide answers a request as it is now: one that changes meanwhile is a conflict.
func (c *cli) decide(v verb) *cobra.Command {
	var note, size, lease string
	cmd := &cobra.Command{Use: v.use + " REQUEST", Short: v.short, Args: cobra.ExactArgs(1),
		ValidArgsFunction: c.completeInbox,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			q, err := apiclient.Read[apiclient.Request](client.GetRequest(ctx, args[0]))
			if err != nil {
				return err
			}
			var a apiclient.Answer[apiclient.Request]
			if v == approve {
				a, err = apiclient.Read[apiclient.Request](client.ApproveRequest(ctx, q.Value.Id,
					apiclient.ApproveInputBody{Seen: q.Value.Version, Note: some(note), Size: some(size), Lease: some(lease)}))
			} else {
				a, err = apiclient.Read[apiclient.Request](client.RejectRequest(ctx, q.Value.Id,
					apiclient.DecideInputBody{Seen: q.Value.Version, Note: some(note)}))
			}
			if err != nil {
				return err
			}
			return c.printRequest(a)
		}}
	cmd.Flags().StringVar(&note, "note", "", "note for the requester")
	if v == approve {
		cmd.Flags().StringVar(&size, "size", "", "grant this smaller size")
		cmd.Flags().StringVar(&lease, "lease", "", "grant this shorter lease")
	}
	return cmd
}

func (c *cli) withdraw() *cobra.Command {
	return &cobra.Command{Use: "withdraw REQUEST", Short: "Withdraw one of your requests", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			a, err := apiclient.Read[apiclient.Request](client.WithdrawRequest(ctx, args[0]))
			if err != nil {
				return err
			}
			return c.printRequest(a)
		}}
}

func (c *cli) completeInbox(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return c.completeNames(func(ctx context.Context, client *apiclient.Client) ([]string, error) {
		l, err := pages[apiclient.Request](pageSize, func(cursor *string) (apiclient.Answer[page], error) {
			return apiclient.Read[page](client.ListRequests(ctx, &apiclient.ListRequestsParams{Cursor: cursor,
				Scope: some(apiclient.ListRequestsParamsScopeInbox)}))
		})
		var names []string
		for _, q := range l.items {
			names = append(names, q.Id+"\t"+clean(q.Asker+" "+q.Name))
		}
		return names, err
	})(cmd, args, typed)
}
