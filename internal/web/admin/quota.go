package admin

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/rules"
	"github.com/gpu-portal/gpu-portal/views/tenants"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// quotaForm is a quota as it was typed: as text, or limits by size.
type quotaForm struct {
	asText bool
	text   string
	limits map[string]string
}

func quotaOf(quota map[string]int) quotaForm {
	f := quotaForm{text: quotaText(quota), limits: map[string]string{}}
	for size, n := range quota {
		f.limits[size] = strconv.Itoa(n)
	}
	return f
}

// readQuota takes the text where there is one, else the table.
func readQuota(c echo.Context) (quotaForm, map[string]int, []fault.Field) {
	values, err := c.FormParams()
	if err != nil {
		values = url.Values{}
	}
	if values.Has("quota") {
		f := quotaForm{asText: true, text: values.Get("quota")}
		quota, problem := tenant.ParseQuota(f.text)
		if problem != nil {
			return f, nil, []fault.Field{*problem}
		}
		f.limits = quotaOf(quota).limits
		return f, quota, nil
	}
	f := quotaForm{limits: map[string]string{}}
	for name := range values {
		if size, ok := strings.CutPrefix(name, tenant.QuotaField); ok {
			f.limits[size] = values.Get(name)
		}
	}
	quota, problems := tenant.ParseLimits(f.limits)
	f.text = quotaText(quota)
	return f, quota, problems
}

// quotaAnchors names problems by the ids of their fields: as text there is one.
func quotaAnchors(f quotaForm, problems []fault.Field) []fault.Field {
	list := slices.Clone(problems)
	for i := range list {
		if f.asText && strings.HasPrefix(list[i].Name, tenant.QuotaField) {
			list[i].Name = "quota"
		}
	}
	return list
}

// quotaModel is the part of the form that says how many of each size.
func (w *Pages) quotaModel(k page.Call, f tenantForm, problems []fault.Field) (tenants.QuotaModel, error) {
	say := k.Words
	m := tenants.QuotaModel{AsText: f.quota.asText, New: f.New, Text: tenants.FieldModel{Value: f.quota.text,
		Error: page.WrongIn(say, quotaAnchors(f.quota, problems), "quota")}}
	if m.AsText {
		return m, nil
	}
	e := tenant.Entry{Tenant: tenant.Tenant{Name: f.Name}}
	var held map[string]request.Quota
	if !f.New {
		var err error
		if e, err = w.Tenants.Entry(k.Actor, f.Name); err != nil {
			return m, err
		}
		if held, err = w.Quotas.Of(k.Ctx, e.Tenant); err != nil {
			return m, err
		}
	}
	row := func(name, title string) tenants.LimitModel {
		limit := e.QuotaOf(name)
		l := tenants.LimitModel{Name: name, Title: title, Code: name, Used: held[name].Used, Limit: limit,
			Value: f.quota.limits[name], Error: page.WrongIn(say, problems, tenant.QuotaField+name), Held: !f.New,
			From: limitSource(say, e, name), Overrides: overrides(e, name), Configured: asConfigured(e, name)}
		if _, cluster := tenant.ParseQuotaKey(name); cluster != "" { // without an entry there is no limit there
			_, l.Held = held[name]
			if _, listed := e.Quota[name]; !listed {
				l.Limit, l.From = l.Used, say.S("tenants.limit_unlimited")
			}
		}
		return l
	}
	every := row(tenant.EverySize, say.S("tenants.every_size"))
	every.Code, every.Held, every.Limit = "", false, 0
	add := func(list []ui.OptionModel, rest *[]tenants.LimitModel) {
		for _, s := range list {
			l := row(s.Value, s.Label)
			into := rest
			if _, listed := e.Quota[s.Value]; listed || l.Value != "" || l.Used > 0 || l.Error != "" {
				into = &m.Rows
			}
			*into = append(*into, l)
		}
	}
	sizes, onClusters := w.quotaSizes(say, f)
	add(sizes, &m.Rest)
	m.Rows = append(m.Rows, every)
	add(onClusters, &m.Clusters)
	return m, nil
}

// mostOnClusters bounds the table of limits on one cluster: beyond it sizes are limited there as text.
const mostOnClusters = 200

// quotaSizes are the sizes of the catalog, then those that only the quota still names; and where there are several
// clusters, or the quota names one, the sizes on each of them.
func (w *Pages) quotaSizes(say page.Words, f tenantForm) (sizes, onClusters []ui.OptionModel) {
	site := w.Site()
	known := map[string]bool{tenant.EverySize: true}
	titles := map[string]string{tenant.EverySize: say.S("tenants.every_size")}
	for _, s := range site.Catalog.Sizes {
		known[s.Name], titles[s.Name] = true, say.SizeTitle(s)
		sizes = append(sizes, ui.OptionModel{Value: s.Name, Label: titles[s.Name]})
	}
	on := func(size, cluster string) {
		key := tenant.QuotaKey(size, cluster)
		known[key] = true
		onClusters = append(onClusters, ui.OptionModel{Value: key,
			Label: sizeOn(say, cmp.Or(titles[size], size), cluster)})
	}
	if len(site.Clusters) > 1 {
		for _, cluster := range site.Clusters {
			on(tenant.EverySize, cluster)
			for _, s := range site.Catalog.Sizes {
				if s.OfferedOn(cluster) && len(site.Clusters)*len(sizes) <= mostOnClusters {
					on(s.Name, cluster)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.quota.limits)) {
		switch size, cluster := tenant.ParseQuotaKey(name); {
		case known[name]:
		case cluster != "":
			on(size, cluster)
		default:
			sizes = append(sizes, ui.OptionModel{Value: name, Label: name})
		}
	}
	return sizes, onClusters
}

// configuredLimit is the limit of a size that the configuration has.
func configuredLimit(e tenant.Entry, size string) (n int, there bool) {
	if e.Configured != nil {
		n, there = e.Configured.Quota[size]
	}
	return n, there
}

// overrides reports whether the limit of a size is another than that of the configuration. Only such limits are saved:
// one that is typed as the configuration has it follows its later changes.
func overrides(e tenant.Entry, size string) bool {
	n, listed := e.Quota[size]
	configured, there := configuredLimit(e, size)
	return listed && there && n != configured
}

// limitSource says where the limit that counts comes from, and what it is where the field beside it is empty.
func limitSource(say page.Words, e tenant.Entry, size string) string {
	configured, _ := configuredLimit(e, size)
	_, listed := e.Quota[size]
	switch {
	case overrides(e, size):
		return say.S("tenants.limit_over", "Limit", limitWords(say, configured))
	case asConfigured(e, size):
		return say.S("tenants.limit_config")
	case listed:
		return say.S("tenants.limit_here")
	case size == tenant.EverySize:
		return say.S("tenants.limit_none")
	}
	return say.S("tenants.limit_rest", "Limit", limitWords(say, e.QuotaOf(size)))
}

// asConfigured reports whether a team has the limit of the configuration file.
func asConfigured(e tenant.Entry, size string) bool {
	_, there := configuredLimit(e, size)
	_, listed := e.Quota[size]
	return listed && there && !overrides(e, size)
}

// limitWords is a limit, and that none is allowed where it is zero.
func limitWords(say page.Words, n int) string {
	if n <= 0 {
		return say.S("tenants.limit_blocked")
	}
	return strconv.Itoa(n)
}

// tenantTurned shows what was typed in the other way; what could not be read stays where it is.
func (w *Pages) tenantTurned(c echo.Context, k page.Call, f tenantForm, as string, problems []fault.Field) error {
	status := http.StatusUnprocessableEntity
	if len(problems) == 0 {
		f.quota.asText, status = as == "text", http.StatusOK
	}
	v, err := w.tenantView(k, f, problems)
	if err != nil {
		return err
	}
	return w.Reply(c, k, page.Page{Name: w.tenantEditPage().Name}, v, status)
}

// quotaChanges are the limits that differ from those that count.
func (w *Pages) quotaChanges(k page.Call, f tenantForm) ([]ui.ChangeModel, error) {
	e, err := w.Tenants.Entry(k.Actor, f.Name)
	if err != nil {
		return nil, err
	}
	titles := map[string]string{tenant.EverySize: k.Words.S("tenants.every_size")}
	for _, s := range w.Site().Catalog.Sizes {
		titles[s.Name] = k.Words.SizeTitle(s)
	}
	limit := func(quota map[string]int, size string) string {
		if n, ok := quota[size]; ok {
			return strconv.Itoa(n)
		}
		return ""
	}
	names := maps.Clone(e.Quota)
	maps.Copy(names, f.Quota)
	var list []ui.ChangeModel
	for _, size := range slices.Sorted(maps.Keys(names)) {
		of, cluster := tenant.ParseQuotaKey(size)
		c := ui.ChangeModel{Name: sizeOn(k.Words, cmp.Or(titles[of], of), cluster), Old: limit(e.Quota, size),
			New: limit(f.Quota, size)}
		if c.New == "" && e.Configured != nil {
			c.New = limit(e.Configured.Quota, size)
		}
		if c.Old != c.New {
			list = append(list, c)
		}
	}
	return list, nil
}

// sizeOn names a size, with the cluster where a limit counts it alone.
func sizeOn(say page.Words, title, cluster string) string {
	if cluster == "" {
		return title
	}
	return say.S("workload.size_on", "Size", title, "Cluster", cluster)
}

func (w *Pages) quotaComparedModel(say page.Words, q request.QuotaComparison) rules.ComparedModel {
	over := 0
	for _, o := range q.Excesses {
		over += o.Holds - o.Limit
	}
	m := rules.ComparedModel{Other: true,
		Past: rules.VerdictModel{Title: say.S("tenants.differ", "Differ", len(q.Refused)+len(q.Allowed), "Count", q.Seen),
			Body: say.S("tenants.differ_body"), Differs: len(q.Refused)+len(q.Allowed) > 0},
		Running: rules.VerdictModel{Title: say.S("tenants.over", "Over", over, "Count", q.Running),
			Differs: len(q.Excesses) > 0}}
	if q.Capped {
		m.Past.Items = append(m.Past.Items, say.S("rules.capped", "Count", q.Seen))
	}
	inside := ui.StateModel{Kind: ui.OK, Word: say.S("tenants.inside_quota")}
	outside := ui.StateModel{Kind: ui.Danger, Word: say.S("tenants.over_quota")}
	add := func(list []rules.DifferenceModel, compared []request.Compared,
		was, now ui.StateModel) []rules.DifferenceModel {
		for _, r := range compared[:max(0, min(len(compared), mostShown-len(list)))] {
			list = append(list, rules.DifferenceModel{Name: w.comparedName(say, r), Was: was, Now: now})
		}
		return list
	}
	m.Rows = add(add(nil, q.Refused, inside, outside), q.Allowed, outside, inside)
	if all := len(q.Refused) + len(q.Allowed); all > len(m.Rows) {
		m.Shown = say.S("rules.shown", "Shown", len(m.Rows), "Count", all)
	}
	for _, o := range q.Excesses {
		m.Running.Body = say.S("tenants.over_body")
		m.Running.Items = append(m.Running.Items, say.S("tenants.over_size", "Size",
			sizeOn(say, say.SizeTitle(o.Size), o.Cluster), "Holds", o.Holds, "Limit", o.Limit))
		m.Affected = add(m.Affected, o.Started, inside, outside)
	}
	m.Waiting = &rules.VerdictModel{Title: say.S("tenants.blocked", "Blocked", len(q.Blocked), "Count", q.Waiting),
		Differs: len(q.Blocked) > 0}
	if m.Waiting.Differs {
		m.Waiting.Body = say.S("tenants.blocked_body")
	}
	m.Blocked = add(nil, q.Blocked, ui.StateModel{Kind: ui.Waiting, Word: say.S("tenants.undecided")}, outside)
	return m
}
