package tenant

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Draft is a team as it was typed or posted.
type Draft struct {
	Name      string
	New       bool // make one; else change the one of that name
	Title     string
	Namespace string // for a new one; "" for gpu-<name>
	Groups    map[identity.Role][]string
	Quota     map[string]int
	Disabled  bool
	Base      int64 // the version that it was written from; 0 where nothing was saved
	Note      string
}

const (
	maxName    = 50 // as in the configuration: "gpu-" and this fit into a namespace
	maxTitle   = 80
	maxNote    = 300
	maxGroups  = 200 // of one role
	maxGroup   = 300 // characters; names of directories are long
	maxQuota   = 100_000
	fewLetters = 3 // that a group rule with "*" must have beside it, so that none means everybody
	maxEntries = 500
)

// QuotaField begins the name of the field of a size's limit.
const QuotaField = "quota."

// check lists what is wrong with a draft; d is what counts now.
func (f Draft) check(d Directory, known func(size string) bool, clusters []string) []fault.Field {
	var fields []fault.Field
	problem := func(name string, reason i18n.Text) { fields = append(fields, fault.Field{Name: name, Reason: reason}) }
	if f.New {
		fields = append(fields, f.checkNew(d)...)
	}
	if !readable(f.Title, maxTitle) {
		problem("title", i18n.T("tenant.text_too_long", "Most", maxTitle))
	}
	if !readable(f.Note, maxNote) {
		problem("note", i18n.T("tenant.text_too_long", "Most", maxNote))
	}
	for role, groups := range f.Groups {
		if !slices.Contains(MemberRoles, role) || len(groups) > maxGroups {
			problem("groups."+string(role), i18n.T("tenant.groups_wrong", "Most", maxGroups))
		}
		for _, g := range groups {
			if !groupRule(g) {
				problem("groups."+string(role), i18n.T("tenant.group_wrong", "Group", clip(g)))
			}
		}
	}
	was, _ := d.ByName(f.Name)
	for _, key := range slices.Sorted(maps.Keys(f.Quota)) {
		n := f.Quota[key]
		size, cluster := ParseQuotaKey(key)
		_, had := was.Quota[key]
		switch {
		case size != EverySize && !had && !known(size):
			problem(QuotaField+key, i18n.T("tenant.quota_size", "Size", clip(size)))
		case key != QuotaKey(size, cluster), cluster != "" && !had && !slices.Contains(clusters, cluster):
			problem(QuotaField+key, i18n.T("tenant.quota_cluster", "Cluster", clip(cluster)))
		case n < 0 || n > maxQuota:
			problem(QuotaField+key, i18n.T("tenant.quota_number", "Size", clip(key), "Most", maxQuota))
		}
	}
	if len(f.Quota) > maxEntries {
		problem("quota", i18n.T("tenant.quota_long", "Most", maxEntries))
	}
	return fields
}

// checkNew looks at what cannot be changed later.
func (f Draft) checkNew(d Directory) []fault.Field {
	t := Tenant{Name: f.Name, Namespace: f.Namespace}
	_, taken := d.ByName(f.Name)
	shared := slices.IndexFunc(d.Tenants, func(o Tenant) bool { return o.NamespaceName() == t.NamespaceName() })
	switch {
	case !Label(f.Name, maxName):
		return []fault.Field{{Name: "name", Reason: i18n.T("tenant.name_wrong", "Most", maxName)}}
	case taken:
		return []fault.Field{{Name: "name", Reason: i18n.T("tenant.name_taken", "Name", f.Name)}}
	case !d.Namespaces.Problem(t.NamespaceName()).IsZero():
		return []fault.Field{{Name: "namespace", Reason: d.Namespaces.Problem(t.NamespaceName())}}
	case shared >= 0:
		return []fault.Field{{Name: "namespace", Reason: i18n.T("tenant.namespace_taken", "Namespace", t.NamespaceName(),
			"Tenant", d.Tenants[shared].Display())}}
	}
	return nil
}

// groupRule: a name, or a pattern that says more than "everybody".
func groupRule(g string) bool {
	if g == "" || !readable(g, maxGroup) {
		return false
	}
	return !strings.Contains(g, "*") || utf8.RuneCountInString(strings.ReplaceAll(g, "*", "")) >= fewLetters
}

func readable(text string, most int) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= most && !strings.ContainsFunc(text, unicode.IsControl)
}

func clip(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return text
}

// Label reports whether a text is a DNS label of at most so many characters.
func Label(s string, most int) bool {
	if s == "" || len(s) > most || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' })
}

// ParseQuota reads "size: number", one a line. The error names the first line that is not one.
func ParseQuota(text string) (map[string]int, *fault.Field) {
	quota := map[string]int{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		size, number, found := strings.Cut(line, ":")
		n, err := strconv.Atoi(strings.TrimSpace(number))
		size = strings.TrimSpace(size)
		if _, twice := quota[size]; !found || err != nil || size == "" || twice {
			return nil, &fault.Field{Name: "quota", Reason: i18n.T("tenant.quota_line", "Line", i+1)}
		}
		quota[size] = n
	}
	return quota, nil
}

// ParseLimits reads limits by size as they were typed into a table; a size without one is not listed.
func ParseLimits(typed map[string]string) (map[string]int, []fault.Field) {
	quota := map[string]int{}
	var fields []fault.Field
	for _, size := range slices.Sorted(maps.Keys(typed)) {
		text := strings.TrimSpace(typed[size])
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			fields = append(fields, fault.Field{Name: QuotaField + size,
				Reason: i18n.T("tenant.quota_number", "Size", clip(size), "Most", maxQuota)})
		}
		quota[size] = n
	}
	return quota, fields
}

// ParseGroups reads one group a line.
func ParseGroups(text string) []string {
	groups, seen := []string{}, map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && !seen[line] {
			groups, seen[line] = append(groups, line), true
		}
	}
	return groups
}
