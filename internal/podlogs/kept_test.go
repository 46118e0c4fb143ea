package podlogs_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/logstore"
	"github.com/gpu-portal/gpu-portal/internal/podlogs"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// kept is a log store with some lines, and what was asked of it.
type kept struct {
	answer logstore.Answer
	err    error
	exact  bool
	asked  []logstore.Question
	others []workload.Namesake
}

func (k *kept) Name() string { return "Loki" }
func (k *kept) Exact() bool  { return k.exact }

func (k *kept) Ask(_ context.Context, q logstore.Question) (logstore.Answer, error) {
	k.asked = append(k.asked, q)
	return k.answer, k.err
}

var now = created.Add(2 * time.Hour)

// past is a world whose pod is gone, with a log store.
func past(t *testing.T, lines ...logstore.Line) (world, *kept) {
	t.Helper()
	k := &kept{answer: logstore.Answer{Lines: lines}}
	w := newWorld(t, func(o *podlogs.Options) {
		o.Stores = map[string]podlogs.Store{"main": k}
		o.Now = func() time.Time { return now }
		o.Namesakes = func(_ context.Context, cluster, namespace string, names []string) ([]workload.Namesake, error) {
			if cluster != "main" || namespace != "gpu-vision" {
				t.Errorf("namesakes in %s of %s", namespace, cluster)
			}
			var found []workload.Namesake
			for _, o := range k.others {
				if slices.Contains(names, o.Name) {
					found = append(found, o)
				}
			}
			return found, nil
		}
	})
	w.pod, w.w.PlacedAt = nil, created
	return w, k
}

// line is one of a pod, so many minutes after the workload was made.
func line(minutes int, pod, text string) logstore.Line {
	return logstore.Line{At: created.Add(time.Duration(minutes) * time.Minute), Pod: pod, Text: text}
}

const fromLoki = "[From Loki: the pod is gone.]\n"

// TestAPodThatIsGone: its log comes from the log store, says so, and has the same bounds and masks.
func TestAPodThatIsGone(t *testing.T) {
	w, k := past(t, line(1, "nb-a-0", "one \x1b[31mred\x1b[0m "+token), line(2, "nb-a-0", "two\nthree\r\n"),
		line(3, "nb-a-0", strings.Repeat("x", 1<<20)))
	got := w.text(t, podlogs.Query{Tail: 100000})
	want := fromLoki + "one red ********\ntwo\nthree\n" + strings.Repeat("x", 16<<10) + " […"
	if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " bytes omitted]\n") || len(got) > len(want)+40 {
		t.Errorf("want %.200q\n got %.200q", want, got)
	}
	ask := logstore.Question{Cluster: "main", Namespace: "gpu-vision", Pod: "nb-a-[0-9]+", Container: "main",
		Workload: "w-1", From: created, Until: now, Lines: 5000}
	if k.asked[0] != ask {
		t.Errorf("want %+v\n got %+v", ask, k.asked[0])
	}
	lines, err := w.Read(t.Context(), dana, "w-1", podlogs.Query{Container: "sidecar", Since: 15 * time.Minute, Tail: 7})
	if err != nil || !lines[0].FromStore() || lines[1].FromStore() || !lines[1].At.Equal(created.Add(time.Minute)) {
		t.Errorf("%v, %+v", err, lines[:min(2, len(lines))])
	}
	if q := k.asked[1]; q.Container != "sidecar" || !q.From.Equal(now.Add(-15*time.Minute)) || q.Lines != 7 {
		t.Errorf("%+v", q)
	}
	r, err := w.Open(t.Context(), dana, "w-1", podlogs.Query{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Next(); err == nil || r.Close() != nil {
		t.Error("a log of the past goes on")
	}
	containers, err := w.Containers(t.Context(), dana, "w-1")
	if err != nil || len(containers) != 1 || containers[0].Name != "main" {
		t.Errorf("%+v, %v", containers, err)
	}
}

// TestAWorkloadThatHasEnded is asked for up to its end: names are free again from then on.
func TestAWorkloadThatHasEnded(t *testing.T) {
	w, k := past(t, line(1, "nb-a-0", "one"))
	w.w.State, w.w.UpdatedAt, w.w.Observed = workload.Ended, created.Add(time.Hour), workload.Observation{}
	if got := w.text(t, podlogs.Query{}); got != fromLoki+"one\n" {
		t.Error(got)
	}
	if got := k.asked[0].Until; !got.Equal(created.Add(time.Hour + 5*time.Second)) {
		t.Errorf("until %s", got)
	}
}

// TestLinesOfOthersAreLeftOut: whoever names a workload so that its pods could be another one's sees nothing of that.
func TestLinesOfOthersAreLeftOut(t *testing.T) {
	endpoint := func(w *workload.Workload) { w.Kind, w.Name = catalog.Endpoint, "llm" }
	job := func(w *workload.Workload) { w.Kind, w.Name = catalog.Job, "llm-7d9c5b6f7c" }
	for what, c := range map[string]struct {
		is     func(*workload.Workload)
		lines  []logstore.Line
		others []workload.Namesake
		exact  bool
		want   string
	}{
		"an endpoint and the job of another": {endpoint, []logstore.Line{line(1, "llm-7d9c5b6f7c-5wq8z", "theirs"),
			line(2, "llm-6f7c7d9c5b-5wq8z", "mine")},
			[]workload.Namesake{{ID: "w-2", Kind: catalog.Job, Name: "llm-7d9c5b6f7c"}}, false, "mine\n"},
		"a job and the endpoint of another": {job, []logstore.Line{line(1, "llm-7d9c5b6f7c-5wq8z", "theirs")},
			[]workload.Namesake{{ID: "w-2", Kind: catalog.Endpoint, Name: "llm"}}, false, ""},
		"an endpoint of KServe": {job, []logstore.Line{line(1, "llm-7d9c5b6f7c-5wq8z", "mine")},
			[]workload.Namesake{{ID: "w-2", Kind: catalog.Endpoint, Name: "other"}}, false, "mine\n"},
		"who had the name before": {endpoint, []logstore.Line{line(-1, "llm-6f7c7d9c5b-5wq8z", "theirs"),
			line(1, "llm-6f7c7d9c5b-5wq8z", "mine")},
			[]workload.Namesake{{ID: "w-0", Kind: catalog.Endpoint, Name: "llm", CreatedAt: created.Add(-time.Hour)}}, false,
			"mine\n"},
		"who had the name afterwards": {endpoint, []logstore.Line{line(1, "llm-6f7c7d9c5b-5wq8z", "mine"),
			line(5, "llm-6f7c7d9c5b-5wq8z", "theirs")},
			[]workload.Namesake{{ID: "w-2", Kind: catalog.Endpoint, Name: "llm", CreatedAt: created.Add(4 * time.Minute)}},
			false, "mine\n"},
		"a query that was not anchored": {endpoint, []logstore.Line{line(1, "my-llm-6f7c7d9c5b-5wq8z", "theirs"),
			line(1, "llm-6f7c7d9c5b-5wq8z-x", "theirs")}, nil, false, ""},
		"a store that names no pods": {endpoint, []logstore.Line{line(1, "", "whose")}, nil, false, ""},
		"itself": {endpoint, []logstore.Line{line(1, "llm-6f7c7d9c5b-5wq8z", "mine")},
			[]workload.Namesake{{ID: "w-1", Kind: catalog.Endpoint, Name: "llm", CreatedAt: created}}, false, "mine\n"},
		"a query by the ID": {endpoint, []logstore.Line{line(1, "", "mine")}, nil, true, "mine\n"},
	} {
		w, k := past(t, c.lines...)
		c.is(w.w)
		k.others, k.exact = c.others, c.exact
		got := w.text(t, podlogs.Query{})
		switch left := len(c.lines) - strings.Count(c.want, "\n"); {
		case strings.Contains(got, "theirs") || !strings.HasSuffix(got, c.want):
			t.Errorf("%s: %s", what, got)
		case (left > 0) != strings.Contains(got, "omitted: another workload may have written"):
			t.Errorf("%s: %d lines are left out, and it says %s", what, left, got)
		}
	}
}

// TestTheContainerBeforeTheLast: what kubelet has thrown away is in the log store up to the present run.
func TestTheContainerBeforeTheLast(t *testing.T) {
	w, k := past(t, line(1, "nb-a-0", "before"))
	w.pod = podOf(portals())
	w.pod.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{
		StartedAt: metav1.NewTime(created.Add(time.Hour))}
	w.log = func(w http.ResponseWriter, _ *http.Request) {
		status(w, http.StatusBadRequest, metav1.StatusReasonBadRequest,
			`previous terminated container "main" in pod "nb-a-0" not found`)
	}
	got := w.text(t, podlogs.Query{Previous: true})
	if got != "[From Loki: output before the last restart.]\nbefore\n" {
		t.Error(got)
	}
	if q := k.asked[0]; !q.Until.Equal(created.Add(time.Hour)) || q.Container != "main" {
		t.Errorf("%+v", q)
	}
	k.answer.Lines = nil
	if _, err := w.Read(t.Context(), dana, "w-1", podlogs.Query{Previous: true}); !fault.Is(err, fault.Conflict) ||
		!strings.Contains(err.Error(), "podlogs.no_previous") {
		t.Errorf("%v", err)
	}
	w.log = written(stamp + "now\n")
	if got := w.text(t, podlogs.Query{}); got != "now\n" || len(k.asked) != 2 {
		t.Errorf("a log that the cluster has: %s, %d questions", got, len(k.asked))
	}
}

// TestWhatTheStoreDoesNotHave is said, and who may not read the log asks nothing.
func TestWhatTheStoreDoesNotHave(t *testing.T) {
	w, k := past(t)
	if got := w.text(t, podlogs.Query{}); got != "[The pod is gone, and Loki has no matching lines.]\n" {
		t.Error(got)
	}
	k.answer = logstore.Answer{Lines: []logstore.Line{line(1, "nb-a-0", "one")}, Partial: true}
	if got := w.text(t, podlogs.Query{}); got != fromLoki+"[Loki searched only in part: lines may be missing.]\none\n" {
		t.Error(got)
	}
	k.answer = logstore.Answer{Lines: slices.Repeat([]logstore.Line{line(1, "nb-a-0", strings.Repeat("x", 10<<10))}, 500)}
	lines, err := w.Read(t.Context(), dana, "w-1", podlogs.Query{})
	if err != nil || len(lines) != 2+4<<20/(10<<10) || lines[1].Note.ID != "podlogs.kept_older" {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	asked := len(k.asked)
	for who, a := range map[string]identity.Actor{"a colleague": actor("p-eli", identity.Developer, "vision"),
		"another team": actor("p-olaf", identity.Owner, "speech")} {
		if _, err := w.Read(t.Context(), a, "w-1", podlogs.Query{}); !fault.Is(err, fault.Forbidden) &&
			!fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", who, err)
		}
	}
	if _, err := w.Read(t.Context(), dana, "w-1", podlogs.Query{Container: `x"}`}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a container that cannot be: %v", err)
	}
	if len(k.asked) != asked {
		t.Errorf("%d questions of those who may not, or cannot, ask", len(k.asked)-asked)
	}
	k.err = fault.New(fault.Unavailable, i18n.T("logstore.away", "Store", "Loki"))
	if _, err := w.Read(t.Context(), dana, "w-1", podlogs.Query{}); err == nil ||
		!strings.Contains(err.Error(), "logstore.away") {
		t.Errorf("%v", err)
	}
	w.w.PlacedAt, w.w.Observed.Pod, asked = time.Time{}, "", len(k.asked)
	if _, err := w.Read(t.Context(), dana, "w-1", podlogs.Query{}); !fault.Is(err, fault.Conflict) ||
		len(k.asked) != asked {
		t.Errorf("what never ran: %v, %d questions", err, len(k.asked)-asked)
	}
}
