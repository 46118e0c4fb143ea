package notify_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const machineTime = "2026-11-21T14:02:00Z"

// english are the messages of the pages, by id.
func english(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	files, err := filepath.Glob("../i18n/locales/*.en.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no messages: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var entries map[string]any
		if err := yaml.Unmarshal(data, &entries); err != nil {
			t.Fatal(err)
		}
		for id, words := range entries {
			all[id] = fmt.Sprint(words)
		}
	}
	return all
}

var argument = regexp.MustCompile(`\.([A-Z][A-Za-z]*)`)

// filled is a text with arguments that are in no language.
func filled(id, words string) i18n.Text {
	text := i18n.T(id)
	text.Args = map[string]any{}
	for _, found := range argument.FindAllStringSubmatch(words, -1) {
		text.Args[found[1]] = "№7"
	}
	if strings.Contains(words, ".Count") {
		text.Args["Count"] = 3
	}
	return text
}

// reasons are all the sentences that a workload may have when somebody is told of it: what the controller finds, and
// what a request writes.
func reasons(t *testing.T) (list []i18n.Text) {
	t.Helper()
	all := english(t)
	for id, words := range all {
		if strings.HasPrefix(id, "explain.") || strings.HasPrefix(id, "reconcile.") {
			list = append(list, filled(id, words))
		}
	}
	if len(list) < 100 {
		t.Fatalf("only %d reasons were found", len(list))
	}
	for _, id := range ids(t, regexp.MustCompile(
		`Reason = i18n\.T\("([a-z._]+)"|State, w\.Reason = Stopping, i18n\.T\("([a-z._]+)"`), "../workload/*.go") {
		list = append(list, filled(id, all[id]))
	}
	return append(list, i18n.T("workload.stopped_idle", "For", "1d2h"), i18n.T("workload.stopped_unused", "For", "1d2h"))
}

// ids are those that a pattern finds in files of the code.
func ids(t *testing.T, pattern *regexp.Regexp, glob string) (found []string) {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range pattern.FindAllStringSubmatch(string(data), -1) {
			found = append(found, strings.Join(match[1:], ""))
		}
	}
	if len(found) == 0 {
		t.Fatalf("nothing in %s", glob)
	}
	return found
}

// totals is a month's sentence with everything that it may hold.
func totals() i18n.Text {
	rest := i18n.Text{}
	for _, s := range []i18n.Text{i18n.T("usage.monthly_idle_unknown"), i18n.T("usage.monthly_idle", "Cost",
		usage.Money{Minor: 123456, Currency: "EUR"}.Text(), "Known", 80), i18n.T("usage.monthly_storage", "Cost",
		usage.Money{Minor: 100, Currency: "EUR"}.Text()),
		i18n.T("usage.monthly_seats", "Cost", i18n.T("usage.monthly_sum", "First", usage.Number(1), "Rest", usage.Number(2))),
		i18n.T("usage.monthly_unknown", "Hours", usage.Number(1234.5)),
		i18n.T("usage.monthly_gpu", "Hours", i18n.T("usage.monthly_list", "First", i18n.T("usage.monthly_hours", "Hours",
			usage.Number(2), "Kind", i18n.T("usage.kind_unknown")), "Rest", i18n.T("usage.monthly_kind", "Technology",
			catalog.TechnologyWord(catalog.TimeSlicing), "Profile", i18n.Text{})))} {
		rest = i18n.T("usage.monthly_then", "Sentence", s, "Rest", rest)
	}
	return i18n.T("usage.monthly", "Month", "2026-11", "Cost", i18n.T("usage.monthly_free"), "Rest", rest)
}

// notes are what other packages write into the events that people are told of; where a list is empty it is always
// something that somebody typed, or nothing.
func notes() map[audit.Kind][]i18n.Text {
	typed := i18n.Literal("№8")
	node, card := i18n.T("health.the_node", "Node", "№1"), i18n.T("health.the_card", "Card", "№2", "Node", "№1")
	by := i18n.T("request.approved_by", "Name", i18n.T("request.for", "Name", "№3", "For", "№4"))
	moved := func(to workload.State) i18n.Text {
		return i18n.T("workload.moved", "From", i18n.T("state.starting"), "To", i18n.T("state."+string(to)))
	}
	m := map[audit.Kind][]i18n.Text{
		audit.RequestSubmitted: nil, audit.RequestEdited: nil, audit.RequestConsented: nil, audit.RequestEscalated: nil,
		audit.RequestReassigned: nil, audit.RequestTakenBack: nil, audit.RequestReturned: nil,
		audit.RequestAutoApproved: nil,
		audit.RequestApproved: {typed, i18n.T("request.granted_less", "Asked", "№1", "For", "2d", "Size", "№2", "Lease",
			"8h", "Note", "№9")},
		audit.RequestRejected: {typed},
		audit.RequestExpired:  nil,
		audit.RequestQueued: {i18n.T("request.waits_for_seat", "Pool", "№1"), i18n.T("request.approved_waits", "By", by,
			"Pool", "№1", "Note", typed)},
		audit.WorkloadObserved: {moved(workload.Running), moved(workload.Failed)},
		audit.ScheduleWarned:   {i18n.T("schedule.warned", "At", "2026-11-23T19:00:00Z")},
		audit.ScheduleMissed:   {i18n.T("workload.gone")},
		audit.LeaseWarned:      nil, audit.LeaseEnded: nil, audit.WorkloadStopped: nil, audit.WorkloadDeleted: nil,
		audit.WorkloadExited: nil,
		audit.WorkloadIdle: {i18n.T("idle.facts_end", "For", "1d2h", "At", machineTime),
			i18n.T("idle.facts", "For", "45m"), i18n.T("idle.pod_facts_end", "For", "1d2h", "At", machineTime),
			i18n.T("idle.pod_facts", "For", "45m")},
		audit.WorkloadIdleStopped: {i18n.T("idle.facts", "For", "45m"), i18n.T("idle.pod_facts", "For", "45m")},
		audit.BudgetWarned:        {budgetWarned(budget.GPUHours), budgetWarned("EUR")},
		audit.StatementSent: {totals(), i18n.T("usage.monthly", "Month", "2026-11", "Cost",
			usage.Money{Minor: 5, Currency: "EUR"}.Text(), "Rest", i18n.Text{})},
		audit.LicenseLost: {i18n.T("licenses.lost_detail", "Node", "№1", "Cluster", "№2", "Count", 2)},
		audit.HardwareQuarantined: {i18n.T("health.affected", "Place", node, "Note", "№9"),
			i18n.T("health.perhaps_affected",
				"Place", card, "Note", "№9")},
		audit.ObjectRepaired:  {i18n.T("reconcile.object_repaired", "Object", "№1", "Paths", "№2", "By", "№3")},
		audit.ObjectContested: {i18n.T("reconcile.object_contested", "Object", "№1", "Paths", "№2", "By", "№3")},
		audit.ObjectAltered:   {i18n.T("reconcile.object_altered", "Object", "№1", "Paths", "№2", "By", "№3")},
		audit.ObjectSpoofed:   {i18n.T("reconcile.object_spoofed", "Object", "№1", "Cluster", "№2")},
		audit.VolumeWarned:    {i18n.T("volume.warned", "Left", "7d", "Until", machineTime)},
		audit.VolumeEnding:    {i18n.T("volume.ending", "Until", machineTime)},
		audit.VolumeNotExpanded: {i18n.T("volume.refused_class", "GiB", 20, "Class", "№6"), i18n.T("volume.refused_quota"),
			i18n.T("volume.refused", "GiB", 20)},
		audit.VolumeReclaimed: nil, audit.VolumeDeleted: nil, audit.VolumeRestored: nil,
		audit.DelegationCreated: {i18n.T("delegation.audit", "Name", "№3", "From", machineTime, "Until", machineTime)},
		audit.DelegationEnded:   {i18n.T("delegation.audit", "Name", "№3", "From", machineTime, "Until", machineTime)},
		audit.TokenExpiring:     {i18n.T("accounts.audit_expiring", "Name", "№4", "At", machineTime)},
	}
	for _, technology := range []catalog.Technology{catalog.Full, catalog.Passthrough, catalog.MIG, catalog.VGPU,
		catalog.TimeSlicing, catalog.MPS, catalog.DRA, catalog.CPUOnly} {
		m[audit.StatementSent] = append(m[audit.StatementSent], i18n.T("usage.monthly", "Month", "2026-11", "Cost",
			i18n.T("usage.monthly_model", "Model", "№5", "Technology", catalog.TechnologyWord(technology), "Profile",
				i18n.Text{}), "Rest", i18n.Text{}))
	}
	return m
}

func budgetWarned(u budget.Unit) i18n.Text {
	return i18n.T("budget.warned", "Level", 80, "Month", "2026-11", "Left", u.Say(123456), "Amount", u.Say(1234567))
}

// composed are all notices that follow from an event of a kind with each note and each reason, in one language.
func composed(t *testing.T, lang string, kind audit.Kind, words *notify.Words, notes,
	reasons []i18n.Text) (list []notify.Notice) {
	t.Helper()
	dana := identity.Actor{Person: identity.Person{ID: "p-dana", Name: "№10", Email: "dana@example.org"},
		Tenants: map[string][]identity.Role{"№11": {identity.Owner}}}
	every := map[notify.Kind][]notify.Channel{}
	for _, k := range notify.Kinds() {
		every[k] = []notify.Channel{notify.Mail}
	}
	f := notify.Facts{People: []identity.Actor{dana},
		Preferences: map[identity.PersonID]notify.Preferences{"p-dana": {Language: lang, Channels: every}}, Mail: true,
		Language: lang, URL: "https://gpu.example.org", Now: noon,
		Addresses: []notify.Address{{ID: "na-1", Channel: notify.Webhook, Tenant: "№11", Kinds: notify.Kinds()}},
		Volume:    &workload.Volume{Name: "№12", Owner: "p-dana"}}
	size := catalog.Size{Name: "h100", Title: "№13"}
	for _, state := range []request.State{request.Pending, request.Approved} {
		f.Request = &request.Request{ID: "r-1", Asker: "p-dana", AskerName: "№14", State: state,
			ExpiresAt: noon.Add(time.Hour), Spec: request.Spec{Tenant: "№11", Name: "№15", Size: size, Reason: "№16"}}
		if state == request.Pending { // nobody decides their own
			f.Request.Asker = "p-adam"
			f.Request.Decision.Steps = []policy.Step{{From: []identity.Approvers{{Role: identity.Approver}},
				Then: []identity.Approvers{{Role: identity.Owner}}}}
		}
		for _, reason := range reasons {
			f.Workload = &workload.Workload{ID: "w-1", Name: "№17", Owner: "p-dana", Tenant: "№11", Size: size, Reason: reason,
				Lease: workload.Lease{Until: noon}}
			for _, note := range notes {
				e := audit.By(identity.System(), kind, noon)
				e.Tenant, e.Request, e.Workload, e.Volume, e.Detail = "№11", "r-1", "w-1", "№12", note
				for _, field := range []string{audit.ReassignedTo, audit.Delegate, audit.TokenHolder} {
					e.Changes = append(e.Changes, audit.Change{Field: field, New: "p-dana"})
				}
				got, err := notify.Compose(e, f, words)
				if err != nil {
					t.Fatalf("%s %s: %v", lang, kind, err)
				}
				for _, d := range got {
					list = append(list, d.Notice)
				}
			}
		}
	}
	return list
}

var (
	latin     = regexp.MustCompile(`[A-Za-z]+`)
	key       = regexp.MustCompile(`[a-z]+\.[a-z]+`)
	command   = regexp.MustCompile(`portal rbac( --tenant)?|CUDA_VISIBLE_DEVICES`) // as it is typed
	functions = regexp.MustCompile(`\b(the|is|are|it|this|that|and|with|of|its|your)\b`)
	machine   = regexp.MustCompile(`\d{4}-\d{2}|\d[dhm]\b|<no value>`)
	// What people write so in every language: names of things and of the portal, currencies, the zone.
	everywhere = []string{"GPU", "vGPU", "CPU", "MIG", "MPS", "DRA", "NVIDIA", "Kubernetes", "Pod", "root", "GiB", "UTC",
		"EUR", "Portal", "API", "Git", "KServe", "JobSet", "LeaderWorkerSet", "KEDA", "ScaledObject", "Kueue",
		"Kuadrant", "InferenceService",
		"Gateway",
		"ClusterStorageContainer", "Inference", "Extension", "Envoy", "AI", "CUDA", "Python"}
)

// foreign is what stands in a message and belongs into no message of that language; "" for nothing.
func foreign(lang, text string) string {
	if found := key.FindString(text) + machine.FindString(text); found != "" {
		return found
	}
	switch lang {
	case "de":
		return functions.FindString(text)
	case "zh", "ko":
		for _, word := range latin.FindAllString(command.ReplaceAllString(text, ""), -1) {
			if !slices.Contains(everywhere, word) {
				return word
			}
		}
	}
	return ""
}

// TestNoNoticeMixesLanguages composes each kind of notice with all that other packages put into it. Chinese and Korean
// messages had English sentences in them, for only the frame was in the reader's language.
func TestNoNoticeMixesLanguages(t *testing.T) {
	words, err := notify.LoadWords(i18n.MustLoad())
	if err != nil {
		t.Fatal(err)
	}
	all := notes()
	for _, kind := range audit.Kinds() {
		if _, known := all[kind]; notify.Notifies(kind) != known {
			t.Errorf("%s: people are told of it (%v), and the notes of this test know it (%v)", kind, notify.Notifies(kind),
				known)
		}
	}
	why := reasons(t)
	for _, lang := range notify.Languages() {
		for kind, list := range all {
			because := why
			if !slices.Contains([]audit.Kind{audit.WorkloadObserved, audit.WorkloadStopped}, kind) {
				because = why[:1]
			}
			if list == nil {
				list = []i18n.Text{{}}
			}
			got := composed(t, lang, kind, words, list, because)
			if len(got) == 0 {
				t.Errorf("%s %s: nobody was told", lang, kind)
			}
			for _, n := range got {
				for _, text := range []string{n.Title, n.Body, n.Open,
					strings.TrimSuffix(n.Footer, " https://gpu.example.org/account/notifications")} {
					if found := foreign(lang, text); found != "" {
						t.Errorf("%s %s: %q in %q", lang, kind, found, text)
					}
				}
				if strings.IndexFunc(n.Body, letterOf[lang]) < 0 {
					t.Errorf("%s %s: not a word in %q", lang, kind, n.Body)
				}
			}
		}
	}
}

var letterOf = map[string]func(rune) bool{"en": unicode.IsLetter, "de": unicode.IsLetter,
	"zh": func(r rune) bool { return unicode.Is(unicode.Han, r) },
	"ko": func(r rune) bool { return unicode.Is(unicode.Hangul, r) }}

// TestWhatTellsOfItselfIsInEveryLanguage: in these files each text may get into a notice, so none can be added in
// English alone.
func TestWhatTellsOfItselfIsInEveryLanguage(t *testing.T) {
	bundle, all := i18n.MustLoad(), english(t)
	for _, glob := range []string{"../explain/*.go", "../reconcile/apply_error.go", "../usage/statement_mail.go",
		"../license/loss.go"} {
		for _, id := range ids(t, regexp.MustCompile(`"((?:explain|reconcile|usage|licenses)\.[a-z_]+)"`), glob) {
			text := filled(id, all[id])
			for _, lang := range []string{"zh", "ko"} {
				if got := bundle.Exactly(lang).Say(text); foreign(lang, got) != "" {
					t.Errorf("%s: %s is %q", lang, id, got)
				}
			}
		}
	}
}

// TestNumbersAndTimesAreThoseOfTheLanguage: as people write them, not as machines do.
func TestNumbersAndTimesAreThoseOfTheLanguage(t *testing.T) {
	words, err := notify.LoadWords(i18n.MustLoad())
	if err != nil {
		t.Fatal(err)
	}
	for lang, want := range map[string][]string{
		"en": {"November 2026", "1,234.56 EUR of 12,345.67 EUR", "for 1 d 2 h.", "at 21 Nov 2026, 14:02 UTC",
			"ends at 21 Nov 2026, 12:00 UTC"},
		"de": {"November 2026", "1.234,56 EUR von 12.345,67 EUR", "seit 1 d 2 h ungenutzt", "um 21. Nov. 2026, 14:02 UTC",
			"endet um 21. Nov. 2026, 12:00 UTC"},
		"zh": {"2026 年 11 月的预算", "12,345.67 EUR 中还剩 1,234.56 EUR", "已有 1 天 2 小时 没有", "于 2026 年 11 月 21 日 14:02 UTC 停止",
			"于 2026 年 11 月 21 日 12:00 UTC 结束"},
		"ko": {"2026년 11월 예산", "12,345.67 EUR 중 1,234.56 EUR", "1일 2시간 동안", "2026년 11월 21일 14:02 UTC에 중지",
			"2026년 11월 21일 12:00 UTC에 끝납니다"},
	} {
		var got string
		for _, kind := range []audit.Kind{audit.BudgetWarned, audit.WorkloadIdle, audit.LeaseWarned} {
			list := notes()[kind]
			if list == nil {
				list = []i18n.Text{{}}
			}
			for _, n := range composed(t, lang, kind, words, list, []i18n.Text{{}}) {
				got += n.Body + "\n"
			}
		}
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: want %q in\n%s", lang, w, got)
			}
		}
	}
}

// TestWhatSomebodyWroteStaysAsItIs, also where it looks like something of ours.
func TestWhatSomebodyWroteStaysAsItIs(t *testing.T) {
	words, err := notify.LoadWords(i18n.MustLoad())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range composed(t, "ko", audit.RequestRejected, words, []i18n.Text{i18n.Literal(machineTime)},
		[]i18n.Text{{}}) {
		if !strings.Contains(n.Body, machineTime) {
			t.Errorf("got %q", n.Body)
		}
	}
}
