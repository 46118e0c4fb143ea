package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/internal/apiclient"
)

// asked is what the flags of start say.
type asked struct {
	file, kind, size, image, lease, name, team, reason string
	storage, volume, model, timeLimit, key             string
	imageRef, like                                     string
	mounts, data, datasets, secrets                    []string
	env                                                []string
	retries, nodes                                     int64
	dryRun, wait                                       bool
	within                                             time.Duration
}

func (c *cli) start() *cobra.Command {
	a := &asked{}
	cmd := &cobra.Command{Use: "start [flags] [-- COMMAND ARGUMENTS…]", Short: "Start a notebook, an endpoint or a job",
		Long: "Start a notebook, an endpoint or a job. Arguments after -- are the command of a job.\n\n" +
			"--file takes a request as for the REST API; flags override it.",
		Example: "  gpuctl start --size mig-1g.10gb --image jupyterlab --lease 8h --wait\n" +
			"  gpuctl start --kind job --size h100 --image pytorch-job --reason train -- python train.py",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return fmt.Errorf("unexpected argument %q: put the command of a job after --", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			body, err := a.body(ctx, c, client, args)
			if err != nil {
				return err
			}
			if a.dryRun {
				return c.dryRun(ctx, client, body)
			}
			if a.key == "" {
				a.key = newKey()
			}
			q, err := apiclient.Read[apiclient.Request](client.SubmitRequest(ctx,
				&apiclient.SubmitRequestParams{IdempotencyKey: &a.key}, body))
			if err != nil {
				return err
			}
			if !a.wait {
				return c.printStarted(q)
			}
			return c.wait(cmd.Context(), client, q.Value, a.within)
		}}
	a.flags(c, cmd)
	return cmd
}

func (a *asked) flags(c *cli, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&a.file, "file", "f", "", "request in JSON or YAML, - for stdin")
	f.StringVar(&a.kind, "kind", "", "notebook, endpoint or job (default notebook)")
	f.StringVar(&a.size, "size", "", "size; gpuctl sizes lists them")
	f.StringVar(&a.image, "image", "", "image; gpuctl images lists them")
	f.StringVar(&a.imageRef, "image-ref", "", "custom image instead of --image: registry/repository:tag")
	f.StringVar(&a.like, "like", "", "catalog image that --image-ref is based on")
	f.StringVar(&a.lease, "lease", "", "lease, such as 8h (default: the size's)")
	f.StringVar(&a.name, "name", "", "part of the address (default: generated)")
	f.StringVar(&a.team, "team", "", "team that pays (default: yours, if there is one)")
	f.StringVar(&a.reason, "reason", "", "reason, for the approver")
	f.StringVar(&a.storage, "storage", "", "new storage, such as 10Gi")
	f.StringVar(&a.volume, "volume", "", "existing storage to use instead of new")
	f.StringArrayVar(&a.mounts, "mount", nil, "volume of the team to have at /shared/NAME; may be repeated")
	f.StringArrayVar(&a.data, "data", nil, "personal volume to have at /data/NAME, NAME:ro to read alone; may be repeated")
	f.StringArrayVar(&a.datasets, "dataset", nil, "data set of the team to read at /datasets/NAME; may be repeated")
	f.StringArrayVar(&a.secrets, "secret", nil, "secret that it gets, team:NAME for one of the team; may be repeated")
	f.StringVar(&a.model, "model", "", "model that an endpoint serves, such as owner/name")
	f.StringArrayVar(&a.env, "env", nil, "variable of a job, NAME=VALUE; may be repeated")
	f.Int64Var(&a.retries, "retries", 0, "how often a job is started again after a failure")
	f.Int64Var(&a.nodes, "nodes", 0, "pods that begin together, for images on JobSet and LeaderWorkerSet (default 1)")
	f.StringVar(&a.timeLimit, "time-limit", "", "how long a job may run, such as 2h")
	f.StringVar(&a.key, "key", "", "idempotency key: requests with the same key count once")
	f.BoolVar(&a.dryRun, "dry-run", false, "show the decision, cost and start time without sending a request")
	f.BoolVar(&a.wait, "wait", false, "wait until it runs; for a job, until it ends")
	f.DurationVar(&a.within, "wait-timeout", 30*time.Minute, "timeout of --wait")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "wait")
	cmd.MarkFlagsMutuallyExclusive("image", "image-ref")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"notebook", "endpoint", "job"},
		cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("size", c.completeNames(func(ctx context.Context,
		client *apiclient.Client) (names []string, err error) {
		l, err := listSizes(ctx, client, a.team)
		for _, s := range l.items {
			names = append(names, s.Name+"\t"+clean(s.Title))
		}
		return names, err
	}))
	images := c.completeNames(func(ctx context.Context,
		client *apiclient.Client) (names []string, err error) {
		l, err := listImages(ctx, client, a.team)
		for _, i := range l.items {
			if a.kind == "" || a.kind == string(i.Kind) {
				names = append(names, i.Name+"\t"+clean(i.Title))
			}
		}
		return names, err
	})
	_ = cmd.RegisterFlagCompletionFunc("image", images)
	_ = cmd.RegisterFlagCompletionFunc("like", images)
}

// body is what is sent: the file, flags above it, and what is the only choice.
func (a *asked) body(ctx context.Context, c *cli, client *apiclient.Client,
	command []string) (apiclient.RequestBody, error) {
	b := apiclient.RequestBody{}
	if err := a.read(c, &b); err != nil {
		return b, err
	}
	for _, f := range []struct {
		flag  string
		field *string
	}{{a.kind, (*string)(&b.Kind)}, {a.size, &b.Size}, {a.team, &b.Tenant}} {
		if f.flag != "" {
			*f.field = f.flag
		}
	}
	for _, f := range []struct {
		flag  string
		field **string
	}{{a.image, &b.Image}, {a.lease, &b.Lease}, {a.name, &b.Name}, {a.reason, &b.Reason}, {a.storage, &b.Storage},
		{a.volume, &b.Volume}, {a.timeLimit, &b.TimeLimit}} {
		if f.flag != "" {
			*f.field = &f.flag
		}
	}
	switch {
	case a.image != "":
		b.CustomImage = nil
	case a.imageRef != "":
		b.CustomImage, b.Image = &apiclient.CustomImage{Reference: a.imageRef}, nil
	}
	if a.like != "" {
		if b.CustomImage == nil {
			return b, exitf(wrong, "--like is for --image-ref.")
		}
		b.CustomImage.Like = a.like
	}
	if a.retries != 0 {
		b.Retries = &a.retries
	}
	if a.nodes != 0 {
		b.Nodes = &a.nodes
	}
	if a.model != "" {
		b.Model = &apiclient.Model{Name: &a.model}
	}
	b.Mounts, b.Secrets = append(b.Mounts, a.mounts...), append(b.Secrets, a.secrets...)
	b.Datasets = append(b.Datasets, a.datasets...)
	for _, text := range a.data {
		name, readOnly := strings.CutSuffix(text, ":ro")
		b.Volumes = append(b.Volumes, apiclient.VolumeUse{Name: name, ReadOnly: &readOnly})
	}
	if len(command) > 0 {
		b.Command, b.Args = command, nil
	}
	for _, text := range a.env {
		name, value, found := strings.Cut(text, "=")
		if !found {
			return b, exitf(wrong, "--env %s: want NAME=VALUE", text)
		}
		if b.Env == nil {
			b.Env = map[string]string{}
		}
		b.Env[name] = value
	}
	return b, complete(ctx, client, &b)
}

func (a *asked) read(c *cli, b *apiclient.RequestBody) error {
	var text []byte
	var err error
	switch a.file {
	case "":
		return nil
	case "-":
		text, err = readToken(c.in)
	default:
		text, err = os.ReadFile(a.file)
	}
	if err != nil {
		return usage(err)
	}
	if err := yaml.UnmarshalStrict(text, b); err != nil {
		return exitf(wrong, "%s: %w", a.file, err)
	}
	return nil
}

// complete fills in what leaves no choice: a notebook is meant, there is one team, there is one image of the kind.
func complete(ctx context.Context, client *apiclient.Client, b *apiclient.RequestBody) error {
	if b.Kind == "" {
		b.Kind = apiclient.RequestBodyKindNotebook
	}
	if b.Size == "" {
		return exitf(wrong, "--size is missing. gpuctl sizes lists them.")
	}
	if b.Tenant == "" {
		team, err := onlyTeam(ctx, client)
		if err != nil {
			return err
		}
		b.Tenant = team
	}
	missing, flag := value(b.Image) == "", "--image"
	if b.CustomImage != nil {
		missing, flag = b.CustomImage.Like == "", "--like"
	}
	if missing {
		l, err := listImages(ctx, client, b.Tenant)
		if err != nil {
			return err
		}
		var names []string
		for _, i := range l.items {
			own := strings.Contains(i.Name, ".") // of a team; the catalog alone says how an image is started
			if string(i.Kind) == string(b.Kind) && !(own && b.CustomImage != nil) {
				names = append(names, i.Name)
			}
		}
		if len(names) != 1 {
			return exitf(wrong, "%s is missing. Choose for a %s: %s", flag, b.Kind, strings.Join(names, ", "))
		}
		if b.CustomImage != nil {
			b.CustomImage.Like = names[0]
		} else {
			b.Image = &names[0]
		}
	}
	return nil
}

// onlyTeam is the team of somebody who is in one.
func onlyTeam(ctx context.Context, client *apiclient.Client) (string, error) {
	me, err := apiclient.Read[apiclient.Me](client.Me(ctx))
	if err != nil {
		return "", err
	}
	teams := slices.Sorted(maps.Keys(me.Value.Tenants))
	if len(teams) != 1 {
		return "", exitf(wrong, "--team is missing. You are in %d teams: %s", len(teams), strings.Join(teams, ", "))
	}
	return teams[0], nil
}

// printStarted is printRequest, whose name is that of the workload.
func (c *cli) printStarted(a apiclient.Answer[apiclient.Request]) error {
	if c.format == asName {
		return c.print(rendered{names: []string{a.Value.Name}})
	}
	return c.printRequest(a)
}

func (c *cli) dryRun(ctx context.Context, client *apiclient.Client, body apiclient.RequestBody) error {
	a, err := apiclient.Read[apiclient.Preview](client.PreviewRequest(ctx, body))
	if err != nil {
		return err
	}
	p := a.Value
	r := rendered{value: a.JSON}
	refused := len(p.Problems) > 0
	if d := p.Decision; d != nil {
		r.rows = append(r.rows, []string{"Decision", string(value(d.Outcome))}, []string{"Because", d.Sentence},
			[]string{"Approval by", value(d.Needs)})
		refused = refused || value(d.Outcome) == apiclient.DecisionOutcomeRefuse
	}
	now := "at once"
	if !p.StartsNow {
		now = c.expected(p.Forecast)
	}
	r.rows = append(r.rows, []string{"Starts", now}, []string{"Price", money(p.Price)}, []string{"Until", c.at(p.Until)},
		[]string{"Free", free(p.Capacity)}, []string{"Quota", fmt.Sprintf("%d of %d used", p.Quota.Used, p.Quota.Limit)},
		[]string{"Can start now", value(p.Instead)}, []string{"Note", value(p.Note)})
	for _, problem := range p.Problems {
		r.rows = append(r.rows, []string{"Problem", problem.Name + ": " + problem.Reason})
	}
	if err := c.print(r); err != nil {
		return err
	}
	if refused {
		return exitf(unmet, "This would be refused.")
	}
	return nil
}

// wait looks until a workload runs, or a job has ended. A portal that is away for a while is asked again.
func (c *cli) wait(ctx context.Context, client *apiclient.Client, q apiclient.Request, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	w, err := c.granted(ctx, client, q)
	if err != nil {
		return c.late(err, within)
	}
	said := ""
	for {
		a, err := again(ctx, c.every, func() (apiclient.Answer[apiclient.Workload], error) {
			return apiclient.Read[apiclient.Workload](client.GetWorkload(ctx, w))
		})
		if err != nil {
			return c.late(err, within)
		}
		if now := string(a.Value.State) + " " + a.Value.Reason; now != said {
			fmt.Fprintf(c.err, "%s: %s\n", clean(a.Value.Name), clean(strings.TrimSpace(now)))
			said = now
		}
		if over, good := ended(a.Value); over {
			if err := c.printWorkload(a); err != nil || good {
				return err
			}
			return exitf(unmet, "%s is %s.", a.Value.Name, a.Value.State)
		}
		if err := pause(ctx, c.every); err != nil {
			return c.late(err, within)
		}
	}
}

// granted waits for the decision, and gives the ID of the workload.
func (c *cli) granted(ctx context.Context, client *apiclient.Client, q apiclient.Request) (string, error) {
	said := false
	for {
		switch {
		case q.Workload != nil && *q.Workload != "":
			return *q.Workload, nil
		case q.State != apiclient.RequestStatePending && q.WaitsForSeatOf == nil:
			return "", exitf(unmet, "The request %s is %s. %s", q.Id, q.State, value(q.Decision.Note))
		}
		if !said {
			fmt.Fprintf(c.err, "Request %s waits for %s.\n", clean(q.Id), clean(waitsFor(q)))
			said = true
		}
		if err := pause(ctx, c.every); err != nil {
			return "", err
		}
		a, err := again(ctx, c.every, func() (apiclient.Answer[apiclient.Request], error) {
			return apiclient.Read[apiclient.Request](client.GetRequest(ctx, q.Id))
		})
		if err != nil {
			return "", err
		}
		q = a.Value
	}
}

// ended reports whether there is nothing more to wait for, and whether that is what was wanted.
func ended(w apiclient.Workload) (over, good bool) {
	switch w.State {
	case apiclient.WorkloadStateRunning, apiclient.WorkloadStateAsleep:
		return w.Kind != apiclient.WorkloadKindJob, true
	case apiclient.WorkloadStateSucceeded:
		return true, true
	case apiclient.WorkloadStateFailed, apiclient.WorkloadStateStopped, apiclient.WorkloadStateEnded:
		return true, false
	}
	return false, false
}

// again repeats a call while the portal is away.
func again[T any](ctx context.Context, every time.Duration, call func() (T, error)) (T, error) {
	for {
		v, err := call()
		if err == nil || codeOf(err) != failed {
			return v, err
		}
		var p *apiclient.ProblemError
		if errors.As(err, &p) && p.RetryAfter > every {
			every = p.RetryAfter
		}
		if pause(ctx, every) != nil {
			return v, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (c *cli) late(err error, within time.Duration) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return exitf(unmet, "Not within %s. It continues without this command.", within)
	}
	return err
}
