package podlogs

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/logstore"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Store keeps logs longer than the cluster does; see logstore.Store.
type Store interface {
	Name() string
	Exact() bool
	Ask(ctx context.Context, q logstore.Question) (logstore.Answer, error)
}

// Notes before the lines of a log store.
const (
	noteKept         = "podlogs.kept"
	noteKeptPrevious = "podlogs.kept_previous"
	noteKeptNone     = "podlogs.kept_none"
	notePartial      = "podlogs.kept_partial"
	noteOlder        = "podlogs.kept_older"
	noteUnclear      = "podlogs.kept_unclear"
)

// FromStore reports whether a line says what the lines of a log store are.
func (l Line) FromStore() bool {
	return slices.Contains([]string{noteKept, noteKeptPrevious, noteKeptNone, notePartial, noteOlder, noteUnclear},
		l.Note.ID)
}

// containerName is an RFC 1123 label, as Kubernetes wants it.
var containerName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// kept opens what the log store has of a workload: of all its pods, or up to the restart before which the cluster has
// nothing. Why is what the cluster said.
func (s *Service) kept(ctx context.Context, store Store, w workload.Workload, q Query, before *restarted, why error) (
	*Reader, error) {
	now := s.o.Now()
	ask := logstore.Question{Cluster: w.Cluster, Namespace: w.Namespace, Pod: w.PodPattern(),
		Container: cmp.Or(q.Container, kube.MainContainer(w)), Workload: string(w.ID), From: w.CreatedAt, Until: now,
		Lines: q.tail()}
	if q.Pod != "" {
		ask.Pod = regexp.QuoteMeta(q.Pod)
	}
	note := noteKept
	switch {
	case before != nil:
		ask.Container, ask.Until, note = before.container, before.since, noteKeptPrevious
	case !containerName.MatchString(ask.Container):
		return nil, noContainer(ask.Container)
	case w.State == workload.Ended:
		ask.Until = w.UpdatedAt.Add(slack)
	}
	if since := now.Add(-q.Since); q.Since > 0 && since.After(ask.From) {
		ask.From = since
	}
	secrets, err := s.hidden(ctx, w)
	if err != nil {
		return nil, err
	}
	answer, err := store.Ask(ctx, ask)
	if err != nil {
		return nil, err
	}
	if q.Pod != "" { // a query by the workload gives those of its other pods too
		answer.Lines = slices.DeleteFunc(answer.Lines, func(l logstore.Line) bool { return l.Pod != q.Pod })
	}
	lines, left, err := s.own(ctx, store, w, answer.Lines)
	switch {
	case err != nil:
		return nil, err
	case len(lines) == 0 && before != nil:
		return nil, why
	case len(lines) == 0:
		note = noteKeptNone
	}
	text, cut := textOf(lines)
	r := &Reader{Container: ask.Container, kept: true, leave: func() {}, lines: newScanner(text, secrets),
		first: []i18n.Text{i18n.T(note, "Store", store.Name())}}
	for id, so := range map[string]bool{notePartial: answer.Partial, noteOlder: cut, noteUnclear: left > 0} {
		if so {
			r.first = append(r.first, i18n.T(id, "Store", store.Name(), "MiB", mostBytes>>20, "Count", left))
		}
	}
	slices.SortFunc(r.first[1:], func(a, b i18n.Text) int { return cmp.Compare(a.ID, b.ID) })
	r.ctx, r.end = context.WithCancelCause(ctx)
	return r, nil
}

// own leaves out, and counts, lines of which it cannot be told that a pod of this workload wrote them: names of pods
// are made of names of workloads, people choose these, and they are free again when a workload has ended.
func (s *Service) own(ctx context.Context, store Store, w workload.Workload, lines []logstore.Line) (
	own []logstore.Line, left int, err error) {
	if store.Exact() || len(lines) == 0 {
		return lines, 0, nil
	}
	names := map[string]bool{}
	for _, l := range lines {
		for _, list := range workload.NamesOfPod(l.Pod) {
			for _, name := range list {
				names[name] = true
			}
		}
	}
	var others []workload.Namesake
	if len(names) > 0 {
		if others, err = s.o.Namesakes(ctx, w.Cluster, w.Namespace, slices.Sorted(maps.Keys(names))); err != nil {
			return nil, 0, err
		}
	}
	for _, l := range lines {
		if w.Owns(l.Pod, l.At, others) {
			own = append(own, l)
		}
	}
	return own, len(lines) - len(own), nil
}

// textOf is lines as an API server sends them: the newest of them within the bounds of one answer, and one in any case.
// Cut says that older ones were left out.
func textOf(lines []logstore.Line) (text io.Reader, cut bool) {
	size, from := 0, len(lines)
	for from > 0 {
		size += len(lines[from-1].Text)
		if size > mostBytes && from < len(lines) {
			break
		}
		from--
	}
	var out bytes.Buffer
	for _, l := range lines[from:] {
		at := l.At.UTC().Format(time.RFC3339Nano)
		for part := range strings.SplitSeq(strings.TrimRight(l.Text, "\r\n"), "\n") {
			out.WriteString(at + " " + part + "\n")
		}
	}
	return &out, from > 0
}
