package podlogs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/podlogs"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// token is what the portal mounted.
const token = "s3cr3t-TOKEN-of-the-notebook_0123456789"

// cluster stands in for an API server, with the statuses and the words of a real one and its kubelets.
type cluster struct {
	*httptest.Server
	pod    *corev1.Pod
	log    http.HandlerFunc
	events []corev1.Event
	open   atomic.Int32 // streams
	asked  atomic.Value // query of the last log
}

func newCluster(t testing.TB) *cluster {
	c := &cluster{pod: podOf(portals())}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/gpu-vision/pods/nb-a-0", func(w http.ResponseWriter, _ *http.Request) {
		if c.pod == nil {
			status(w, http.StatusNotFound, metav1.StatusReasonNotFound, `pods "nb-a-0" not found`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(c.pod)
	})
	mux.HandleFunc("GET /api/v1/namespaces/gpu-vision/pods/nb-a-0/log", func(w http.ResponseWriter, r *http.Request) {
		c.open.Add(1)
		defer c.open.Add(-1)
		c.asked.Store(r.URL.RawQuery)
		c.log(w, r)
	})
	mux.HandleFunc("GET /api/v1/namespaces/gpu-vision/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"},
			Items: c.events})
	})
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

// status answers as the API server does.
func status(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message})
}

// written answers with a text.
func written(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// following answers with what comes, line by line, until the caller goes away.
func following(lines <-chan string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					return
				}
				_, _ = io.WriteString(w, line)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
}

var created = time.Date(2026, 11, 23, 7, 0, 0, 0, time.UTC)

// portals is Dana's notebook.
func portals() workload.Workload {
	return workload.Workload{ID: "w-1", Name: "nb-a", Kind: catalog.Notebook, Tenant: "vision", Owner: "p-dana",
		OwnerName: "Dana", Cluster: "main", Namespace: "gpu-vision", Volume: "nb-a-home", CreatedAt: created,
		Image:    catalog.Image{TokenEnv: "JUPYTER_TOKEN"},
		Observed: workload.Observation{Pod: "nb-a-0", PodPresent: true}}
}

func podOf(w workload.Workload) *corev1.Pod {
	return &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: w.Observed.Pod, Namespace: w.Namespace, Labels: kube.PodSelector(w)},
		Spec: corev1.PodSpec{NodeName: "gpu-1", Containers: []corev1.Container{{Name: "sidecar"}, {Name: "main"}},
			InitContainers: []corev1.Container{{Name: "clone"}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main", RestartCount: 2,
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}}}}
}

// workloads answers by the rights table, as workload.Service does.
type workloads struct{ w *workload.Workload }

func (s workloads) Get(_ context.Context, a identity.Actor, id workload.ID) (workload.Workload, error) {
	if id != s.w.ID {
		return workload.Workload{}, fault.New(fault.NotFound, i18n.T("workload.not_found"))
	}
	return *s.w, workload.Permit(a, identity.ReadWorkload, *s.w)
}

// world is a service on a cluster.
type world struct {
	*podlogs.Service
	*cluster
	w *workload.Workload
}

func newWorld(t testing.TB, adjust ...func(*podlogs.Options)) world {
	c, w := newCluster(t), portals()
	client, err := podlogs.Client(&rest.Config{Host: c.URL})
	if err != nil {
		t.Fatal(err)
	}
	o := podlogs.Options{Workloads: workloads{&w}, Clusters: map[string]kubernetes.Interface{"main": client},
		Token: func(workload.Workload) string { return token }, Every: 10 * time.Millisecond}
	for _, change := range adjust {
		change(&o)
	}
	s := podlogs.New(o)
	t.Cleanup(s.Close)
	return world{s, c, &w}
}

func actor(id identity.PersonID, role identity.Role, tenant string) identity.Actor {
	return identity.Actor{Person: identity.Person{ID: id}, Via: identity.ViaSession,
		Tenants: map[string][]identity.Role{tenant: {role}}}
}

var dana = actor("p-dana", identity.Developer, "vision")

// lines reads a log to its end, as the API sends it.
func (w world) text(t *testing.T, q podlogs.Query) string {
	t.Helper()
	lines, err := w.Read(t.Context(), dana, "w-1", q)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, l := range lines {
		if err := l.Write(&out, i18n.MustLoad().For("en").Say, false); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

var until = waittest.For

const stamp = "2026-11-23T07:15:01.123456789Z "

// TestWhatIsNoText: of bytes that no terminal and no browser takes well, text is left.
func TestWhatIsNoText(t *testing.T) {
	w := newWorld(t)
	for in, want := range map[string]string{
		"plain\n":                     "plain\n",
		"windows\r\n":                 "windows\n",
		"10%\r20%\r100% done\n":       "100% done\n",
		"\x1b[31mred\x1b[0m \x1b[2Kx": "red x\n",
		"\x1b]0;title\x07shell\n":     "shell\n",
		"a\x00b\x07c\n":               "a\ufffdb\ufffdc\n",
		"\xff\xfe\xfdbytes\n":         "\ufffdbytes\n",
		"un\u202egnp.exe\n":           "un\ufffdgnp.exe\n",
		"tab\there\n":                 "tab\there\n",
		"<script>alert(1)</script>\n": "<script>alert(1)</script>\n",
	} {
		w.log = written(stamp + in)
		if got := w.text(t, podlogs.Query{}); got != want {
			t.Errorf("%q: want %q, got %q", in, want, got)
		}
	}
}

// TestSecretsAreHidden: what the portal mounted is in no answer, also where colours or the cut run through it.
func TestSecretsAreHidden(t *testing.T) {
	w := newWorld(t)
	for what, line := range map[string]string{
		"plain":   "http://127.0.0.1:8888/lab?token=" + token + " ready",
		"twice":   token + " " + token,
		"colours": "\x1b[1m" + token[:9] + "\x1b[0m" + token[9:],
		"the cut": strings.Repeat("x", 16<<10-10) + token + " and more",
	} {
		w.log = written(stamp + line + "\n")
		got := w.text(t, podlogs.Query{})
		if strings.Contains(got, token[:10]) || !strings.Contains(got, "********") {
			t.Errorf("%s: %.200q", what, got[max(0, len(got)-200):])
		}
	}
	w.w.Image.TokenEnv = "" // it has no secret of its own
	w.log = written(stamp + "plain\n")
	if got := w.text(t, podlogs.Query{}); got != "plain\n" {
		t.Error(got)
	}
}

// TestLongLines: a line of a megabyte is cut with a mark, its neighbours are whole, and memory stays bounded by the
// line that is shown.
func TestLongLines(t *testing.T) {
	w := newWorld(t)
	w.log = written(stamp + "before\n" + stamp + strings.Repeat("ä", 1<<19) + "\n" + stamp + "after\n")
	lines, err := w.Read(t.Context(), dana, "w-1", podlogs.Query{})
	if err != nil || len(lines) != 3 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	long := lines[1]
	if lines[0].Text != "before" || lines[2].Text != "after" || len(long.Text) > 16<<10 || !utf8.ValidString(long.Text) {
		t.Errorf("%q, %d bytes, %q", lines[0].Text, len(long.Text), lines[2].Text)
	}
	if cut := 1<<20 - len(long.Text); long.Cut < cut || long.Cut > cut+1+len(stamp) {
		t.Errorf("cut %d bytes, want %d", long.Cut, cut)
	}
	if want := time.Date(2026, 11, 23, 7, 15, 1, 123456789, time.UTC); !long.At.Equal(want) {
		t.Errorf("at %s", long.At)
	}
	if got := w.text(t, podlogs.Query{}); !strings.Contains(got, "bytes omitted]\nafter\n") {
		t.Errorf("no mark: …%q", got[len(got)-100:])
	}
}

// TestBounds: what is asked of the API server, and the mark where its bound of bytes was reached.
func TestBounds(t *testing.T) {
	w := newWorld(t)
	w.log = written(strings.Repeat(stamp+strings.Repeat("x", 1000)+"\n", 5000)[:4<<20])
	lines, err := w.Read(t.Context(), dana, "w-1", podlogs.Query{Tail: 100000, Since: 90 * time.Second, Previous: true,
		Container: "sidecar"})
	if err != nil {
		t.Fatal(err)
	}
	if last := lines[len(lines)-1]; last.Note.ID != "podlogs.limited" {
		t.Errorf("want a mark at the end, got %+v", last)
	}
	want := "container=sidecar&limitBytes=4194304&previous=true&sinceSeconds=90&tailLines=5000&timestamps=true"
	if got := w.asked.Load(); got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	w.log = written("")
	if _, err := w.Read(t.Context(), dana, "w-1", podlogs.Query{}); err != nil {
		t.Fatal(err)
	}
	if got := w.asked.Load(); got != "container=main&limitBytes=4194304&tailLines=500&timestamps=true" {
		t.Error(got)
	}
}

// TestWhyThereIsNoLog: each cause is a sentence of its own, with a kind that callers can act on.
func TestWhyThereIsNoLog(t *testing.T) {
	bad := func(message string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			status(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, message)
		}
	}
	for what, c := range map[string]struct {
		change func(world)
		query  podlogs.Query
		kind   fault.Kind
		id     string
	}{
		"no pod yet": {change: func(w world) { w.w.Observed.Pod = "" }, kind: fault.Conflict, id: "podlogs.no_pod"},
		"pod gone":   {change: func(w world) { w.pod = nil }, kind: fault.Conflict, id: "podlogs.gone"},
		"pod of somebody else": {change: func(w world) { w.pod.Labels[kube.WorkloadKey] = "w-2" }, kind: fault.Conflict,
			id: "podlogs.gone"},
		"gone in between": {change: func(w world) {
			w.log = func(w http.ResponseWriter, _ *http.Request) {
				status(w, http.StatusNotFound, metav1.StatusReasonNotFound, `pods "nb-a-0" not found`)
			}
		}, kind: fault.Conflict, id: "podlogs.gone"},
		"no such pod":       {query: podlogs.Query{Pod: "nb-b-0"}, kind: fault.Invalid, id: "fault.fields"},
		"no such container": {query: podlogs.Query{Container: "nope"}, kind: fault.Invalid, id: "fault.fields"},
		"never restarted": {change: func(w world) {
			w.log = bad(`previous terminated container "main" in pod "nb-a-0" not found`)
		}, query: podlogs.Query{Previous: true}, kind: fault.Conflict, id: "podlogs.no_previous"},
		"image missing": {change: func(w world) {
			w.log = bad(`container "main" in pod "nb-a-0" is waiting to start: trying and failing to pull image`)
		}, kind: fault.Conflict, id: "podlogs.no_image"},
		"starts": {change: func(w world) {
			w.log = bad(`container "main" in pod "nb-a-0" is waiting to start: ContainerCreating`)
		}, kind: fault.Conflict, id: "podlogs.not_started"},
		"no right": {change: func(w world) {
			w.log = func(w http.ResponseWriter, _ *http.Request) {
				status(w, http.StatusForbidden, metav1.StatusReasonForbidden, `pods "nb-a-0" is forbidden: cannot get pods/log`)
			}
		}, kind: fault.Unavailable, id: "podlogs.no_right"},
		"kubelet away": {change: func(w world) {
			w.log = func(w http.ResponseWriter, _ *http.Request) {
				status(w, http.StatusInternalServerError, metav1.StatusReasonInternalError,
					"Get https://10.63.0.1:10250/containerLogs: dial tcp: connect: connection refused")
			}
		}, kind: fault.Unavailable, id: "podlogs.node_away"},
		"cluster away":    {change: func(w world) { w.Server.Close() }, kind: fault.Unavailable, id: "podlogs.away"},
		"unknown cluster": {change: func(w world) { w.w.Cluster = "x" }, kind: fault.Unavailable, id: "podlogs.away"},
	} {
		for _, follow := range []bool{false, true} {
			w := newWorld(t)
			w.log = written("")
			if c.change != nil {
				c.change(w)
			}
			c.query.Follow = follow
			r, err := w.Open(t.Context(), dana, "w-1", c.query)
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != c.kind || f.Sentence.ID != c.id {
				t.Errorf("%s, follow %v: want %s %s, got %v", what, follow, c.kind, c.id, err)
			}
			if r != nil {
				t.Errorf("%s: a log beside an error", what)
			}
			if n := w.Following(); n != 0 {
				t.Errorf("%s: %d streams are counted", what, n)
			}
		}
	}
}

// TestWhoMayReadLogs: the owner, colleagues once it is shared, the team's owner and administrators. Who may not see the
// workload does not learn that there is one.
func TestWhoMayReadLogs(t *testing.T) {
	admin := identity.Actor{Person: identity.Person{ID: "p-ada"}, Global: []identity.Role{identity.Admin}}
	auditor := identity.Actor{Person: identity.Person{ID: "p-aud"}, Global: []identity.Role{identity.Auditor}}
	looking := dana
	looking.Impersonator = &identity.Person{ID: "p-ada"}
	colleague := actor("p-col", identity.Developer, "vision")
	for what, c := range map[string]struct {
		who    identity.Actor
		shared bool
		kind   fault.Kind // "" for yes
	}{
		"owner": {who: dana}, "team's owner": {who: actor("p-own", identity.Owner, "vision")}, "administrator": {who: admin},
		"colleague": {colleague, false, fault.Forbidden}, "shared with": {who: colleague, shared: true},
		"auditor":                {auditor, false, fault.Forbidden},
		"another team":           {actor("p-x", identity.Owner, "speech"), true, fault.NotFound},
		"nobody":                 {identity.Actor{}, true, fault.NotFound},
		"through another's eyes": {looking, true, fault.Forbidden},
	} {
		w := newWorld(t)
		if w.log = written(stamp + "line\n"); c.shared {
			w.w.Grants = []workload.Grant{{To: workload.ToTeam, Permission: workload.MayRead}}
		}
		_, err := w.Read(t.Context(), c.who, "w-1", podlogs.Query{})
		if c.kind == "" && err != nil || c.kind != "" && !fault.Is(err, c.kind) {
			t.Errorf("%s: want %q, got %v", what, c.kind, err)
		}
		if _, err := w.Containers(t.Context(), c.who, "w-1"); (err == nil) != (c.kind == "") {
			t.Errorf("%s: containers: %v", what, err)
		}
		if c.kind != "" && w.asked.Load() != nil {
			t.Errorf("%s: the cluster was asked", what)
		}
	}
}

// TestContainers: the workload's own first, then what stands beside it, then what ran before.
func TestContainers(t *testing.T) {
	w := newWorld(t)
	got, err := w.Containers(t.Context(), dana, "w-1")
	want := []podlogs.Container{{Name: "main", Restarts: 2, Previous: true}, {Name: "sidecar"},
		{Name: "clone", Init: true}}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v, %v", got, err)
	}
}

// follow opens a stream and reads in the background.
func (w world) follow(ctx context.Context, t *testing.T) (*podlogs.Reader, <-chan podlogs.Line) {
	t.Helper()
	r, err := w.Open(ctx, dana, "w-1", podlogs.Query{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan podlogs.Line, 100)
	go func() {
		defer close(lines)
		for {
			line, err := r.Next()
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	return r, lines
}

// TestFollow: lines come as they are written, and the stream at the API server ends with the reader.
func TestFollow(t *testing.T) {
	w := newWorld(t)
	source := make(chan string)
	w.log = following(source)
	ctx, goAway := context.WithCancel(t.Context())
	r, lines := w.follow(ctx, t) // nothing is written yet: the API server has not even sent its status
	for i := range 3 {
		source <- fmt.Sprintf("%sline %d\n", stamp, i)
		if got := <-lines; got.Text != fmt.Sprintf("line %d", i) {
			t.Fatalf("got %+v", got)
		}
	}
	if w.Following() != 1 || w.open.Load() != 1 {
		t.Errorf("%d followed, %d open", w.Following(), w.open.Load())
	}
	goAway()
	if line, open := <-lines; open {
		t.Errorf("a last line %+v", line)
	}
	_ = r.Close()
	until(t, "the stream at the API server ends", func() bool { return w.open.Load() == 0 })
	if w.Following() != 0 {
		t.Error("the stream is still counted")
	}
}

// TestFollowEnds: with the container, with the portal, and with the right to see it; the last line says which.
func TestFollowEnds(t *testing.T) {
	var gone atomic.Bool
	for want, end := range map[string]func(w world, source chan string){
		"podlogs.over":      func(_ world, source chan string) { close(source) },
		"podlogs.stopping":  func(w world, _ chan string) { w.Service.Close() },
		"podlogs.no_longer": func(world, chan string) { gone.Store(true) },
	} {
		gone.Store(false)
		w := newWorld(t, func(o *podlogs.Options) { o.Alive = func(context.Context) bool { return !gone.Load() } })
		source := make(chan string, 1)
		w.log = following(source)
		source <- stamp + "first\n"
		r, lines := w.follow(t.Context(), t)
		if got := <-lines; got.Text != "first" {
			t.Fatalf("%+v", got)
		}
		end(w, source)
		if got := <-lines; got.Note.ID != want {
			t.Errorf("want %s, got %+v", want, got)
		}
		_ = r.Close()
		until(t, "the stream at the API server ends", func() bool { return w.open.Load() == 0 })
	}
}

// TestFollowsAreCounted: one person has a bound; who closes one may open another.
func TestFollowsAreCounted(t *testing.T) {
	w := newWorld(t, func(o *podlogs.Options) { o.Most = 2 })
	source := make(chan string, 2)
	w.log = following(source)
	source <- stamp + "a\n"
	source <- stamp + "b\n"
	first, _ := w.follow(t.Context(), t)
	second, _ := w.follow(t.Context(), t)
	if _, err := w.Open(t.Context(), dana, "w-1", podlogs.Query{Follow: true}); !fault.Is(err, fault.TooMany) {
		t.Errorf("a third: %v", err)
	}
	_ = first.Close()
	third, _ := w.follow(t.Context(), t)
	_ = second.Close()
	_ = third.Close()
	_ = third.Close()
	if n := w.Following(); n != 0 {
		t.Errorf("%d are counted", n)
	}
}

// event is one of the cluster's.
func event(kind, name, reason, message string, at time.Time) corev1.Event {
	return corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, Namespace: "gpu-vision"},
		Reason: reason, Message: message, Type: corev1.EventTypeWarning, Count: 3, FirstTimestamp: metav1.NewTime(at),
		LastTimestamp: metav1.NewTime(at.Add(time.Minute))}
}

// TestEvents: of the workload's own objects, newest first, each with what it means and with the cluster's words; what
// the portal mounted is hidden.
func TestEvents(t *testing.T) {
	w := newWorld(t)
	later := created.Add(time.Hour)
	newer := event("Pod", "nb-a-0", "Scheduled", "assigned", time.Time{})
	newer.LastTimestamp, newer.Count, newer.Type = metav1.Time{}, 0, corev1.EventTypeNormal
	newer.EventTime = metav1.NewMicroTime(later.Add(time.Hour))
	w.events = []corev1.Event{
		event("Pod", "nb-a-0", "BackOff", "Back-off restarting failed container, token "+token, created),
		event("StatefulSet", "nb-a", "FailedCreate", "exceeded quota", later),
		event("PersistentVolumeClaim", "nb-a-home", "Odd", "something new", created),
		newer,
		event("Pod", "nb-a-0", "Killing", "of a namesake before", created.Add(-time.Hour)),
		event("Pod", "nb-ab-0", "Killing", "of another", later),
		event("PersistentVolumeClaim", "nb-b-home", "Killing", "of another", later),
		event("Deployment", "nb-a", "ScalingReplicaSet", "of another kind", later),
	}
	got, err := w.Events(t.Context(), dana, "w-1")
	if err != nil || len(got) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []string{"podlogs.event.scheduled", "podlogs.event.pod_refused", "podlogs.event.crashes", ""} {
		if got[i].Words.ID != want {
			t.Errorf("%d: want %q, got %+v", i, want, got[i])
		}
	}
	if crash := got[2]; crash.Count != 3 || !crash.Warning || strings.Contains(crash.Message, token) ||
		!crash.Last.Equal(created.Add(time.Minute)) {
		t.Errorf("%+v", crash)
	}
	if got[0].Count != 1 || got[0].Warning {
		t.Errorf("%+v", got[0])
	}
	if _, err := w.Events(t.Context(), actor("p-x", identity.Owner, "speech"), "w-1"); !fault.Is(err, fault.NotFound) {
		t.Errorf("another team: %v", err)
	}
}

// TestSend: what the API answers with.
func TestSend(t *testing.T) {
	w := newWorld(t)
	w.log = written(stamp + "one\n" + stamp + "two\n")
	r, err := w.Open(t.Context(), dana, "w-1", podlogs.Query{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	answer := httptest.NewRecorder()
	if err := podlogs.Send(answer, r, i18n.MustLoad().For("en").Say,
		podlogs.Form{Timestamps: true, File: "nb-a.log"}); err != nil {
		t.Fatal(err)
	}
	if got := answer.Body.String(); got != stamp+"one\n"+stamp+"two\n" {
		t.Errorf("%q", got)
	}
	if h := answer.Header(); h.Get("Content-Type") != "text/plain; charset=utf-8" ||
		h.Get("Content-Disposition") != `attachment; filename="nb-a.log"` {
		t.Errorf("%v", h)
	}
}

// TestSince: what is a time span.
func TestSince(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "15m": 15 * time.Minute, "24h": 24 * time.Hour} {
		if got, err := podlogs.ParseSince(text); err != nil || got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "-5m", "1ms", "5"} {
		if _, err := podlogs.ParseSince(text); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
