package request

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var (
	now    = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	vision = tenant.Tenant{Name: "vision", Quota: map[string]int{"slice": 2, "whole": 1}}
	dana   = identity.Actor{Person: identity.Person{ID: "p-dana", Name: "Dana", Email: "dana@example.org"},
		Tenants: map[string][]identity.Role{"vision": {identity.Developer}}}
	ada   = identity.Actor{Person: identity.Person{ID: "p-ada", Name: "Ada"}, Global: []identity.Role{identity.Approver}}
	slice = catalog.Size{Name: "slice", Title: "Slice",
		Accelerator:  catalog.Accelerator{Resource: "nvidia.com/mig-1g.10gb", Share: 1.0 / 7},
		PricePerHour: usage.Money{Minor: 100, Currency: "EUR"}, DefaultLease: hours(8), MaxLease: hours(168)}
	whole = catalog.Size{Name: "whole", Title: "Whole", Technology: catalog.Full,
		Accelerator:  catalog.Accelerator{Resource: "nvidia.com/gpu", Share: 1},
		PricePerHour: usage.Money{Minor: 700, Currency: "EUR"}, DefaultLease: hours(8), MaxLease: hours(168)}
	lab = catalog.Image{Name: "lab", Title: "Lab", Kind: catalog.Notebook, Port: 8888, Home: "/home/jovyan"}
	llm = catalog.Image{Name: "llm", Title: "LLM", Kind: catalog.Endpoint, Port: 8000}
)

func hours(n int) catalog.Duration { return catalog.Duration(time.Duration(n) * time.Hour) }

func offering() Offering {
	return Offering{Catalog: catalog.Catalog{Sizes: []catalog.Size{slice, whole}, Images: []catalog.Image{lab, llm}},
		Tenant:   vision,
		Clusters: []string{"main"}, Limits: DefaultLimits()}
}

// draft is a valid draft; tests change what matters.
func draft() Draft {
	return Draft{Kind: catalog.Notebook, Tenant: "vision", Size: "slice", Image: "lab", Lease: "8h", Storage: "10Gi",
		Reason: "training"}
}

func facts(t *testing.T) Facts {
	t.Helper()
	p, problems := policy.Compile(policy.Defaults())
	if problems != nil {
		t.Fatal(problems)
	}
	return Facts{Now: now, ID: "r-1", Workload: "w-1", Namespace: "gpu-vision", Suffix: "ab12",
		Quota: Quota{Used: 0, Limit: 2}, Policy: p,
		Fit: inventory.Fit{Known: true, Total: 7, Free: 3}}
}

func TestCheckNamesTheFieldOfEveryProblem(t *testing.T) {
	cases := map[string]struct {
		change func(*Draft)
		field  string
		reason string
	}{
		"unknown size":             {func(d *Draft) { d.Size = "huge" }, "size", "request.size_unknown"},
		"no size":                  {func(d *Draft) { d.Size = " " }, "size", "request.size_missing"},
		"unknown image":            {func(d *Draft) { d.Image = "evil" }, "image", "request.image_unknown"},
		"image of the other kind":  {func(d *Draft) { d.Image = "llm" }, "image", "request.image_wrong_kind"},
		"lease of nothing":         {func(d *Draft) { d.Lease = "0h" }, "lease", "request.lease_too_short"},
		"lease of ten years":       {func(d *Draft) { d.Lease = "3650d" }, "lease", "request.lease_too_long"},
		"lease below zero":         {func(d *Draft) { d.Lease = "-5h" }, "lease", "request.lease_unreadable"},
		"lease in words":           {func(d *Draft) { d.Lease = "long" }, "lease", "request.lease_unreadable"},
		"storage below zero":       {func(d *Draft) { d.Storage = "-1Gi" }, "storage", "request.storage_unreadable"},
		"storage beyond the limit": {func(d *Draft) { d.Storage = "900Ti" }, "storage", "request.storage_too_much"},
		"storage in words":         {func(d *Draft) { d.Storage = "much" }, "storage", "request.storage_unreadable"},
		"unknown kind":             {func(d *Draft) { d.Kind = "vm" }, "kind", "request.kind_unknown"},
		"unknown cluster":          {func(d *Draft) { d.Cluster = "moon" }, "cluster", "request.cluster_unknown"},
		"a reason that is a book": {func(d *Draft) { d.Reason = strings.Repeat("x", 501) }, "reason",
			"request.reason_too_long"},
		"a reason that hides":     {func(d *Draft) { d.Reason = "ok\u202Egnp" }, "reason", "request.reason_characters"},
		"a name without a letter": {func(d *Draft) { d.Name = "42!" }, "name", "request.name_unusable"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := draft()
			c.change(&d)
			_, fields := Check(d, offering())
			for _, f := range fields {
				if f.Name == c.field && f.Reason.ID == c.reason {
					return
				}
			}
			t.Errorf("want %s: %s, got %+v", c.field, c.reason, fields)
		})
	}
	if _, fields := Check(draft(), offering()); len(fields) != 0 {
		t.Errorf("want no problem with a good draft, got %+v", fields)
	}
}

func TestSlugIsSafe(t *testing.T) {
	cases := map[string]string{
		"My Notebook":            "my-notebook",
		"Müller & Söhne":         "muller-sohne",
		"../../etc":              "etc",
		"a\nb: {{evil}}":         "a-b-evil",
		"-42-answer-":            "answer",
		"日本":                     "",
		strings.Repeat("a", 300): strings.Repeat("a", MaxName),
	}
	for in, want := range cases {
		if got := Slug(in); got != want {
			t.Errorf("Slug(%q): want %q, got %q", in, want, got)
		}
	}
}

func FuzzSlug(f *testing.F) {
	f.Add("My Notebook")
	f.Add("kube-system\x00")
	f.Fuzz(func(t *testing.T, text string) {
		slug := Slug(text)
		if Slug(slug) != slug {
			t.Errorf("not stable: %q", slug)
		}
		if len(slug) > MaxName || strings.Trim(slug, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" ||
			strings.HasPrefix(slug, "-") || strings.HasSuffix(slug, "-") {
			t.Errorf("not a name: %q", slug)
		}
	})
}

func TestASliceInsideQuotaStartsAtOnce(t *testing.T) {
	w, _ := Check(draft(), offering())
	out, err := Submit(w, dana, facts(t))
	if err != nil {
		t.Fatal(err)
	}
	if out.Request.State != Approved || out.Request.Decision.Rule != "shares-and-slices" || out.Workload == nil {
		t.Fatalf("want it approved by the rule, got %+v", out.Request)
	}
	if got := *out.Workload; got.Name != "nb-dana-ab12" || got.Volume != "nb-dana-ab12-home" ||
		got.Lease.Until != now.Add(8*time.Hour) || got.Size.Name != "slice" {
		t.Errorf("unexpected workload %+v", got)
	}
	if want := (usage.Money{Minor: 800, Currency: "EUR"}); out.Request.Estimate != want {
		t.Errorf("want %v, got %v", want, out.Request.Estimate)
	}
}

func TestAWholeGPUWaitsForAnApprover(t *testing.T) {
	d := draft()
	d.Size = "whole"
	w, _ := Check(d, offering())
	f := facts(t)
	out, err := Submit(w, dana, f)
	if err != nil || out.Request.State != Pending || out.Workload != nil ||
		!reflect.DeepEqual(out.Request.Steps(), policy.OneOf(identity.Approver)) {
		t.Fatalf("want it to wait, got %+v %v", out.Request, err)
	}
	t.Run("approved", func(t *testing.T) {
		done, err := Decide(out.Request, Answer{Verb: ApproveVerb, Note: "fine"}, ada, f)
		if err != nil || done.Request.State != Approved || done.Workload == nil || done.Request.Decision.ByName != "Ada" ||
			done.Request.Decision.Note != "fine" {
			t.Fatalf("want a workload, got %+v %v", done.Request, err)
		}
		if done.Workload.Owner != "p-dana" {
			t.Errorf("want it to be the asker's, got %s", done.Workload.Owner)
		}
		if _, err := Decide(done.Request, Answer{Verb: RejectVerb}, ada, f); !fault.Is(err, fault.Conflict) {
			t.Errorf("want no second decision, got %v", err)
		}
	})
	t.Run("rejected", func(t *testing.T) {
		done, err := Decide(out.Request, Answer{Verb: RejectVerb, Note: "too dear"}, ada, f)
		if err != nil || done.Request.State != Rejected || done.Workload != nil {
			t.Fatalf("want it rejected, got %+v %v", done.Request, err)
		}
	})
	t.Run("approved when the quota has gone", func(t *testing.T) {
		full := f
		full.Quota = Quota{Used: 2, Limit: 2}
		if _, err := Decide(out.Request, Answer{Verb: ApproveVerb}, ada, full); !fault.Is(err, fault.Conflict) {
			t.Errorf("want a conflict, got %v", err)
		}
	})
	t.Run("withdrawn twice", func(t *testing.T) {
		once, err := Withdraw(out.Request, dana, now)
		if err != nil || once.Request.State != Withdrawn {
			t.Fatal(once.Request, err)
		}
		if twice, err := Withdraw(once.Request, dana, now); err != nil || len(twice.Events) != 0 {
			t.Errorf("want nothing new, got %v %v", twice.Events, err)
		}
	})
	t.Run("expired", func(t *testing.T) {
		if got := Expire(out.Request, now.Add(TTL-time.Second)); got.Events != nil {
			t.Error("want it to live until the end")
		}
		if got := Expire(out.Request, now.Add(TTL)); got.Request.State != Expired {
			t.Errorf("want expired, got %s", got.Request.State)
		}
	})
}

func TestObstaclesSayWhatCanBeChanged(t *testing.T) {
	seats := &license.Seats{Pool: license.Pool{Name: "vws", Seats: 1}, Used: 1}
	cases := map[string]struct {
		change func(*Facts)
		field  string
		reason string
	}{
		"quota used up":   {func(f *Facts) { f.Quota = Quota{Used: 2, Limit: 2} }, "size", "request.quota_full"},
		"not allowed":     {func(f *Facts) { f.Quota = Quota{} }, "size", "request.size_not_allowed"},
		"no license seat": {func(f *Facts) { f.Seats = seats }, "size", "request.no_seat"},
		"name taken":      {func(f *Facts) { f.NameTaken = true }, "name", "request.name_taken"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w, _ := Check(draft(), offering())
			f := facts(t)
			c.change(&f)
			_, err := Submit(w, dana, f)
			if got := fault.As(err); got.Kind != fault.Invalid || len(got.Fields) != 1 || got.Fields[0].Name != c.field ||
				got.Fields[0].Reason.ID != c.reason {
				t.Errorf("want %s: %s, got %v", c.field, c.reason, err)
			}
		})
	}
}

func TestExtend(t *testing.T) {
	w := workload.Workload{ID: "w-1", Tenant: "vision", Size: slice, Desired: workload.WantRunning,
		State: workload.Running,
		Lease: workload.Lease{From: now.Add(-8 * time.Hour), Until: now.Add(time.Hour)}}
	f := facts(t)
	out, err := SubmitExtension(w, hours(4), "", dana, f)
	if err != nil || out.Request.State != Approved || out.Workload.Lease.Until != now.Add(5*time.Hour) {
		t.Fatalf("want four hours more, got %+v %v", out.Workload, err)
	}
	out, err = SubmitExtension(w, hours(100), "long run", dana, f)
	if err != nil || out.Request.State != Pending || out.Workload != nil {
		t.Fatalf("want a long one to wait, got %+v %v", out.Request, err)
	}
	f.Extends = &w
	done, err := Decide(out.Request, Answer{Verb: ApproveVerb}, ada, f)
	if err != nil || done.Workload.Lease.Until != now.Add(101*time.Hour) {
		t.Fatalf("want a hundred hours more, got %+v %v", done.Workload, err)
	}
	if _, err := SubmitExtension(w, hours(24*365), "", dana, f); !fault.Is(err, fault.Invalid) {
		t.Errorf("want a year to be refused, got %v", err)
	}
}

func TestRightsOnRequests(t *testing.T) {
	r := Request{Asker: "p-ada", Spec: Spec{Tenant: "vision"}, State: Pending}
	if err := mayAnswer(ApproveVerb, ada, r, now); !fault.Is(err, fault.Forbidden) {
		t.Errorf("want nobody to approve their own, got %v", err)
	}
	if err := mayAnswer(ApproveVerb, dana, r, now); !fault.Is(err, fault.Forbidden) {
		t.Errorf("want a developer to approve nothing, got %v", err)
	}
	r.Asker = "p-dana"
	if err := mayAnswer(ApproveVerb, ada, r, now); err != nil {
		t.Errorf("want an approver to decide, got %v", err)
	}
}
