package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-portal/gpu-portal/internal/apiclient"
)

// volumes lists storage; its sub-commands make, grow, snapshot and delete it.
func (c *cli) volumes() *cobra.Command {
	var all bool
	cmd := &cobra.Command{Use: "volumes", Aliases: []string{"volume"}, Short: "Manage volumes and their snapshots",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			scope := apiclient.ListVolumesParamsScopeMine
			if all {
				scope = apiclient.ListVolumesParamsScopeAll
			}
			l, err := listVolumes(cmd.Context(), client, scope)
			if err != nil {
				return err
			}
			return c.printVolumes(l, all)
		}}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "include those of others that you may see")
	cmd.AddCommand(c.addVolume(), c.expandVolume(), c.deleteVolume(), c.snapshots(), c.takeSnapshot(), c.deleteSnapshot())
	return cmd
}

func listVolumes(ctx context.Context, client *apiclient.Client,
	scope apiclient.ListVolumesParamsScope) (listed[apiclient.Volume], error) {
	return pages[apiclient.Volume](everything, func(*string) (apiclient.Answer[page], error) {
		return apiclient.Read[page](client.ListVolumes(ctx, &apiclient.ListVolumesParams{Scope: &scope}))
	})
}

// ownName is what a person has called a personal volume; "" for any other.
func ownName(v apiclient.Volume) string {
	if value(v.Path) == "" {
		return ""
	}
	return path.Base(*v.Path)
}

// findVolume is the volume with a name, or with the name that its owner gave it. Of several the team says which is
// meant.
func findVolume(ctx context.Context, client *apiclient.Client, name, team string) (apiclient.Volume, error) {
	l, err := listVolumes(ctx, client, apiclient.ListVolumesParamsScopeAll)
	if err != nil {
		return apiclient.Volume{}, err
	}
	var named []apiclient.Volume
	for _, v := range l.items {
		switch {
		case team != "" && v.Tenant != team:
		case v.Name == name:
			return v, nil
		case ownName(v) == name:
			named = append(named, v)
		}
	}
	switch len(named) {
	case 0:
		return apiclient.Volume{}, exitf(denied, "No volume %q is visible to you. gpuctl volumes lists yours.", name)
	case 1:
		return named[0], nil
	}
	names := make([]string, len(named))
	for i, v := range named {
		names[i] = v.Name
	}
	return apiclient.Volume{}, exitf(wrong, "Several volumes are named %s: %s. Use one of these names.", name,
		strings.Join(names, ", "))
}

func (c *cli) printVolumes(l listed[apiclient.Volume], owners bool) error {
	r := rendered{value: l.value(), head: []string{"NAME", "SIZE", "STATE", "TEAM", "PATH", "USED BY", "SNAPSHOTS",
		"KEPT UNTIL"}}
	if owners {
		r.head = append(r.head, "OWNER")
	}
	for _, v := range l.items {
		row := []string{v.Name, v.Storage, claimed(v), v.Tenant, value(v.Path), strings.Join(usersOf(v), ", "),
			strconv.Itoa(len(v.Snapshots)), c.keptUntil(v)}
		if owners {
			row = append(row, v.Owner)
		}
		r.names, r.rows = append(r.names, v.Name), append(r.rows, row)
	}
	return c.print(r)
}

func (c *cli) keptUntil(v apiclient.Volume) string {
	if v.KeptUntil == nil {
		return "always"
	}
	return c.at(*v.KeptUntil)
}

func usersOf(v apiclient.Volume) []string {
	if w := value(v.Workload); w != "" {
		return append([]string{w}, v.UsedBy...)
	}
	return v.UsedBy
}

// claimed is the phase of its claim, and why it is not as it should be.
func claimed(v apiclient.Volume) string {
	switch {
	case v.NotExpanded != nil:
		return "not expanded: " + v.NotExpanded.Reason
	case v.State == nil:
		return ""
	case value(v.State.Reason) != "":
		return string(v.State.Phase) + ": " + *v.State.Reason
	}
	return string(v.State.Phase)
}

func (c *cli) printVolume(a apiclient.Answer[apiclient.Volume]) error {
	v := a.Value
	return c.print(rendered{value: a.JSON, names: []string{v.Name}, rows: [][]string{{"Name", v.Name}, {"Size", v.Storage},
		{"State", claimed(v)}, {"Team", v.Tenant}, {"Owner", v.Owner}, {"Cluster", v.Cluster}, {"Path", value(v.Path)},
		{"Made from", value(v.From) + value(v.FromSnapshot)}, {"Used by", strings.Join(usersOf(v), ", ")},
		{"Kept until", c.keptUntil(v)}}})
}

// gibibytes reads a size as storage has it in Kubernetes; the portal sells whole GiB.
func gibibytes(text string) (int64, error) {
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() <= 0 || q.Value()%(1<<30) != 0 {
		return 0, exitf(wrong, "%q is not a size. Use whole GiB, such as 20Gi.", text)
	}
	return q.Value() >> 30, nil
}

func (c *cli) addVolume() *cobra.Command {
	var team, cluster, from, snapshot string
	cmd := &cobra.Command{Use: "add NAME SIZE", Short: "Create a volume, empty or from existing files: add data 20Gi",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			size, err := gibibytes(args[1])
			if err != nil {
				return err
			}
			client, err := c.portal()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			b := apiclient.AddVolumeInputBody{Name: args[0], Gib: size, Tenant: team, Cluster: some(cluster)}
			source, id := from, ""
			if snapshot != "" {
				dot := strings.LastIndexByte(snapshot, '.') // the name of a snapshot has none
				if dot < 0 {
					return exitf(wrong, "--snapshot %s: want VOLUME.SNAPSHOT. gpuctl volumes snapshots lists them.", snapshot)
				}
				source, id = snapshot[:dot], snapshot[dot+1:]
			}
			if source != "" {
				v, err := findVolume(ctx, client, source, team)
				if err != nil {
					return err
				}
				b.Tenant, b.Cluster = v.Tenant, &v.Cluster
				if id != "" {
					b.Snapshot = some(v.Name + "." + id)
				} else {
					b.From = &v.Name
				}
			}
			if b.Tenant == "" {
				if b.Tenant, err = onlyTeam(ctx, client); err != nil {
					return err
				}
			}
			a, err := apiclient.Read[apiclient.Volume](client.AddVolume(ctx, b))
			if err != nil {
				return err
			}
			return c.printVolume(a)
		}}
	f := cmd.Flags()
	f.StringVar(&team, "team", "", "team that pays (default: that of the source, or yours, if there is one)")
	f.StringVar(&cluster, "cluster", "", "cluster of the volume, if there are several")
	f.StringVar(&from, "from", "", "volume to clone, not in use")
	f.StringVar(&snapshot, "snapshot", "", "snapshot to create it from, VOLUME.SNAPSHOT")
	cmd.MarkFlagsMutuallyExclusive("from", "snapshot")
	return cmd
}

// volumeCommand acts on one volume.
func (c *cli) volumeCommand(use, short string, arguments int, act func(ctx context.Context, client *apiclient.Client,
	v apiclient.Volume, args []string) error) *cobra.Command {
	var team string
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(arguments), ValidArgsFunction: c.completeVolumes,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			v, err := findVolume(ctx, client, args[0], team)
			if err != nil {
				return err
			}
			return act(ctx, client, v, args[1:])
		}}
	cmd.Flags().StringVar(&team, "team", "", "team of the volume, if several have the name")
	return cmd
}

func (c *cli) completeVolumes(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.completeNames(func(ctx context.Context, client *apiclient.Client) (names []string, err error) {
		l, err := listVolumes(ctx, client, apiclient.ListVolumesParamsScopeMine)
		for _, v := range l.items {
			names = append(names, v.Name)
			if own := ownName(v); own != "" {
				names = append(names, own)
			}
		}
		slices.Sort(names)
		return slices.Compact(names), err
	})(cmd, args, typed)
}

func (c *cli) expandVolume() *cobra.Command {
	return c.volumeCommand("expand VOLUME SIZE", "Expand a volume; it cannot be shrunk", 2,
		func(ctx context.Context, client *apiclient.Client, v apiclient.Volume, args []string) error {
			size, err := gibibytes(args[0])
			if err != nil {
				return err
			}
			has, err := gibibytes(v.Storage)
			if err != nil {
				return err
			}
			a, err := apiclient.Read[apiclient.Volume](client.ExpandVolume(ctx, v.Name,
				apiclient.ExpandVolumeInputBody{From: has, Gib: size}))
			if err != nil {
				return err
			}
			return c.printVolume(a)
		})
}

func (c *cli) deleteVolume() *cobra.Command {
	var yes bool
	cmd := c.volumeCommand("delete VOLUME", "Delete a volume that is not in use, with all its files", 1,
		func(ctx context.Context, client *apiclient.Client, v apiclient.Volume, _ []string) error {
			question := fmt.Sprintf("Delete %s of %s with all its files?", v.Name, v.Owner)
			if n := len(v.Snapshots); n > 0 {
				question = fmt.Sprintf("Delete %s of %s with all its files and snapshots (%d)?", v.Name, v.Owner, n)
			}
			if !yes {
				if err := c.confirm(question); err != nil {
					return err
				}
			}
			resp, err := client.DeleteVolume(ctx, v.Name)
			return c.printDeleted(resp, err, v.Name)
		})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

func (c *cli) printDeleted(resp *http.Response, err error, name string) error {
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := apiclient.Refused(resp); err != nil {
		return err
	}
	return c.print(rendered{value: map[string]string{"deleted": name}, names: []string{name},
		rows: [][]string{{"Deleted", name}}})
}

func (c *cli) snapshots() *cobra.Command {
	return c.volumeCommand("snapshots VOLUME", "List the snapshots of a volume, oldest first", 1,
		func(_ context.Context, _ *apiclient.Client, v apiclient.Volume, _ []string) error {
			if v.Snapshots == nil {
				v.Snapshots = []apiclient.VolumeSnapshot{}
			}
			r := rendered{value: map[string]any{"items": v.Snapshots}, head: []string{"NAME", "STATE", "LEAST SIZE", "TAKEN",
				"REASON"}}
			for _, s := range v.Snapshots {
				r.names, r.rows = append(r.names, s.Id), append(r.rows, []string{s.Name, string(s.State), leastSize(s),
					c.taken(s), reasonOf(s)})
			}
			return c.print(r)
		})
}

func leastSize(s apiclient.VolumeSnapshot) string {
	if value(s.RestoreGiB) == 0 {
		return ""
	}
	return fmt.Sprintf("%dGi", *s.RestoreGiB)
}

func (c *cli) taken(s apiclient.VolumeSnapshot) string {
	if s.TakenAt == nil {
		return ""
	}
	return c.at(*s.TakenAt)
}

// reasonOf is why it is not ready, with the cluster's words behind.
func reasonOf(s apiclient.VolumeSnapshot) string {
	if detail := value(s.Detail); detail != "" {
		return value(s.Reason) + " (" + detail + ")"
	}
	return value(s.Reason)
}

func (c *cli) takeSnapshot() *cobra.Command {
	var wait bool
	within := 15 * time.Minute
	cmd := c.volumeCommand("snapshot VOLUME NAME", "Take a snapshot of a volume", 2,
		func(ctx context.Context, client *apiclient.Client, v apiclient.Volume, args []string) error {
			a, err := apiclient.Read[apiclient.VolumeSnapshot](client.TakeSnapshot(ctx, v.Name,
				apiclient.TakeSnapshotInputBody{Name: args[0]}))
			if err == nil && wait {
				a, err = c.snapshotDone(ctx, client, v.Name, a, within)
			}
			if err != nil {
				return err
			}
			if err := c.printSnapshot(a); err != nil || !wait || a.Value.State == apiclient.VolumeSnapshotStateReady {
				return err
			}
			return exitf(unmet, "%s is %s.", a.Value.Name, a.Value.State)
		})
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until it is ready")
	cmd.Flags().DurationVar(&within, "wait-timeout", within, "timeout of --wait")
	return cmd
}

func (c *cli) printSnapshot(a apiclient.Answer[apiclient.VolumeSnapshot]) error {
	s := a.Value
	return c.print(rendered{value: a.JSON, names: []string{s.Id}, rows: [][]string{{"Snapshot", s.Id},
		{"Volume", s.Volume}, {"State", string(s.State)}, {"Reason", reasonOf(s)}, {"Least size", leastSize(s)},
		{"Taken", c.taken(s)}}})
}

// snapshotDone looks until a snapshot is no longer being taken. A portal that is away for a while is asked again.
func (c *cli) snapshotDone(ctx context.Context, client *apiclient.Client, volume string,
	a apiclient.Answer[apiclient.VolumeSnapshot],
	within time.Duration) (apiclient.Answer[apiclient.VolumeSnapshot], error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	said := ""
	for a.Value.State == apiclient.VolumeSnapshotStateTaking {
		if now := strings.TrimSpace(string(a.Value.State) + " " + reasonOf(a.Value)); now != said {
			fmt.Fprintf(c.err, "%s: %s\n", clean(a.Value.Name), clean(now))
			said = now
		}
		if err := pause(ctx, c.every); err != nil {
			return a, c.late(err, within)
		}
		v, err := again(ctx, c.every, func() (apiclient.Volume, error) { return findVolume(ctx, client, volume, "") })
		if err != nil {
			return a, c.late(err, within)
		}
		i := slices.IndexFunc(v.Snapshots, func(s apiclient.VolumeSnapshot) bool { return s.Id == a.Value.Id })
		if i < 0 {
			return a, exitf(unmet, "%s was deleted in the meantime.", a.Value.Name)
		}
		a.Value = v.Snapshots[i]
	}
	raw, err := json.Marshal(a.Value)
	a.JSON = raw
	return a, err
}

func (c *cli) deleteSnapshot() *cobra.Command {
	var yes bool
	cmd := c.volumeCommand("delete-snapshot VOLUME NAME", "Delete a snapshot; volumes created from it are kept", 2,
		func(ctx context.Context, client *apiclient.Client, v apiclient.Volume, args []string) error {
			if !yes {
				if err := c.confirm(fmt.Sprintf("Delete the snapshot %s of %s?", args[0], v.Name)); err != nil {
					return err
				}
			}
			resp, err := client.DeleteSnapshot(ctx, v.Name, args[0])
			return c.printDeleted(resp, err, v.Name+"."+args[0])
		})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}
