package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// apis are what a cluster may serve beside Kubernetes' own, and the group by which it is known.
var apis = []struct{ name, group string }{
	{"dra", "resource.k8s.io"}, {"gpu", "nvidia.com"}, {"kueue", "kueue.x-k8s.io"}, {"kserve", "serving.kserve.io"},
	{"jobset", "jobset.x-k8s.io"}, {"leaderworkerset", "leaderworkerset.x-k8s.io"},
	{"snapshots", "snapshot.storage.k8s.io"},
	{"gateway", "gateway.networking.k8s.io"}, {"inference", "inference.networking.k8s.io"},
	{"kuadrant", "kuadrant.io"}, {"envoyaigateway", "aigateway.envoyproxy.io"}, {"keda", "keda.sh"},
	{"route", "route.openshift.io"},
}

func (j *judge) cluster(c Cluster) {
	if c.Err != "" {
		j.add(Finding{Check: "cluster", Subject: c.Name, State: Failed, Found: i18n.T("doctor.no_answer"),
			Detail: []string{c.Err}, Cost: i18n.T("doctor.cluster_cost"), Mend: i18n.T("doctor.cluster_mend")})
		j.prometheus(c)
		j.logStore(c)
		return
	}
	if tooOld(c.Version) {
		j.add(Finding{Check: "cluster", Subject: c.Name, State: Warning, Found: i18n.Literal(c.Version),
			Cost: i18n.T("doctor.cluster_old"), Mend: i18n.T("doctor.cluster_old_mend", "Least", fmt.Sprint("1.", leastMinor))})
	} else {
		j.ok("cluster", c.Name, i18n.Literal(c.Version))
	}
	j.clock("clock.cluster", c.Name, c.Skew)
	for _, r := range c.Rights {
		j.rights(c.Name, r)
	}
	j.apis(c)
	j.nodes(c)
	j.storage(c)
	j.prometheus(c)
	j.logStore(c)
}

// tooOld reports whether a version such as v1.29.4+k3s1 is below what is tested.
func tooOld(version string) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return false
	}
	minor, err := strconv.Atoi(strings.TrimRight(parts[1], "+"))
	return err == nil && parts[0] == "1" && minor < leastMinor
}

func (j *judge) rights(cluster string, r RightsOf) {
	check := "rights." + r.Role
	switch {
	case r.Absent:
		j.skip(check, cluster, i18n.T("doctor.rights_later", "Namespace", r.Namespace))
	case r.Err != "":
		j.add(Finding{Check: check, Subject: cluster, State: Warning, Found: i18n.T("doctor.no_answer"),
			Detail: []string{r.Err}, Optional: r.Optional, Mend: i18n.T("doctor.rights_ask_mend")})
	case len(r.Missing) == 0:
		j.add(Finding{Check: check, Subject: cluster, State: OK, Optional: r.Optional,
			Found: i18n.T("doctor.rights_ok", "Count", r.Asked)})
	default:
		f := Finding{Check: check, Subject: cluster, State: Failed, Optional: r.Optional, Detail: r.Missing,
			Found: i18n.T("doctor.rights_missing", "Count", len(r.Missing), "All", r.Asked),
			Cost:  i18n.T("doctor.rights_cost." + r.Role), Mend: i18n.T("doctor.rights_mend." + r.Role)}
		if r.Optional {
			f.State = Warning
		}
		j.add(f)
	}
}

func (j *judge) apis(c Cluster) {
	if c.APIsErr != "" {
		j.add(Finding{Check: "api.dra", Subject: c.Name, State: Warning, Found: i18n.T("doctor.no_answer"),
			Detail: []string{c.APIsErr}, Mend: i18n.T("doctor.cluster_mend")})
		return
	}
	for _, a := range apis {
		check := "api." + a.name
		if version := c.APIs[a.group]; version != "" {
			j.add(Finding{Check: check, Subject: c.Name, State: OK, Found: i18n.T("doctor.api_there", "Version",
				a.group+"/"+version, "Opens", i18n.T("doctor.api_opens."+a.name))})
			continue
		}
		if f, wanted := c.absent(a.name); wanted {
			f.Check, f.Subject, f.State = check, c.Name, Failed
			j.add(f)
			continue
		}
		j.skip(check, c.Name, i18n.T("doctor.api_none", "Opens", i18n.T("doctor.api_opens."+a.name)))
	}
}

// absent says of an API that is not there what that costs, where the settings ask for it.
func (c Cluster) absent(api string) (f Finding, wanted bool) {
	finding := func(found, cost, mend string) Finding {
		return Finding{Found: i18n.T(found), Cost: i18n.T(cost), Mend: i18n.T(mend)}
	}
	const calls = "doctor.model_gateway_cost"
	switch api {
	case "kserve":
		return finding("doctor.kserve_absent", "doctor.kserve_cost", "doctor.kserve_mend"), c.KServe
	case "jobset":
		return finding("doctor.jobset_absent", "doctor.jobset_cost", "doctor.jobset_mend"), c.JobSet
	case "leaderworkerset":
		return finding("doctor.leaderworkerset_absent", "doctor.leaderworkerset_cost",
			"doctor.leaderworkerset_mend"), c.LeaderWorkerSet
	case "keda":
		return finding("doctor.keda_absent", "doctor.keda_cost", "doctor.keda_mend"), c.KEDA
	case "snapshots":
		return finding("doctor.snapshots_absent", "doctor.snapshots_cost", "doctor.snapshots_mend"), c.Snapshots
	case "gateway", "inference":
		return finding("doctor.model_gateway_absent", calls, "doctor.model_gateway_mend"), c.ModelGateway
	case "kuadrant":
		return finding("doctor.kuadrant_absent", calls, "doctor.kuadrant_mend"), c.Kuadrant
	case "envoyaigateway":
		return finding("doctor.envoyaigateway_absent", calls, "doctor.envoyaigateway_mend"), c.EnvoyAIGateway
	}
	return Finding{}, false
}

func (j *judge) nodes(c Cluster) {
	n := c.Nodes
	switch {
	case !n.Asked:
		j.skip("nodes", c.Name, i18n.T("doctor.other_process"))
	case n.Err != "":
		j.add(Finding{Check: "nodes", Subject: c.Name, State: Warning, Found: i18n.T("doctor.no_answer"),
			Detail: []string{n.Err}, Cost: i18n.T("doctor.nodes_cost"), Mend: i18n.T("doctor.rights_mend.cluster")})
	case n.WithGPU == 0 && n.Slices == 0:
		j.add(Finding{Check: "nodes", Subject: c.Name, State: Failed, Detail: n.Unplugged,
			Found: i18n.T("doctor.nodes_none", "Count", n.All), Cost: i18n.T("doctor.nodes_cost"),
			Mend: i18n.T("doctor.nodes_mend")})
	case len(n.Unplugged) > 0:
		j.add(Finding{Check: "nodes", Subject: c.Name, State: Warning, Detail: n.Unplugged,
			Found: i18n.T("doctor.nodes_unplugged", "Count", len(n.Unplugged)), Cost: i18n.T("doctor.nodes_cost"),
			Mend: i18n.T("doctor.nodes_mend")})
	default:
		f := Finding{Check: "nodes", Subject: c.Name, State: OK, Found: i18n.T("doctor.nodes_ok", "Count", n.WithGPU)}
		for _, name := range slices.Sorted(maps.Keys(n.Resources)) {
			f.Detail = append(f.Detail, fmt.Sprintf("%d × %s", n.Resources[name], name))
		}
		if n.Slices > 0 {
			f.Detail = append(f.Detail, fmt.Sprintf("%d × ResourceSlice", n.Slices))
		}
		j.add(f)
	}
}

func (j *judge) storage(c Cluster) {
	s := c.Storage
	switch {
	case !s.Asked:
		j.skip("storage", c.Name, i18n.T("doctor.other_process"))
	case s.Denied:
		j.skip("storage", c.Name, i18n.T("doctor.storage_denied"))
	case s.Err != "":
		j.add(Finding{Check: "storage", Subject: c.Name, State: Warning, Found: i18n.T("doctor.no_answer"),
			Detail: []string{s.Err}, Mend: i18n.T("doctor.cluster_mend")})
	case len(s.Missing) > 0:
		j.add(Finding{Check: "storage", Subject: c.Name, State: Failed, Found: i18n.T("doctor.storage_missing"),
			Detail: s.Missing, Cost: i18n.T("doctor.storage_cost"), Mend: i18n.T("doctor.storage_mend")})
	case len(s.Wanted) == 0 && s.Default == "":
		j.add(Finding{Check: "storage", Subject: c.Name, State: Warning, Found: i18n.T("doctor.storage_none"),
			Cost: i18n.T("doctor.storage_cost"), Mend: i18n.T("doctor.storage_mend")})
	case len(s.Wanted) == 0:
		j.ok("storage", c.Name, i18n.Literal(s.Default))
	default:
		j.ok("storage", c.Name, i18n.Literal(strings.Join(s.Wanted, ", ")))
	}
}

func (j *judge) logStore(c Cluster) {
	s := c.LogStore
	switch {
	case s.Name == "":
		j.skip("logstore", c.Name, i18n.T("doctor.logstore_none"))
	case s.Err != "":
		j.add(Finding{Check: "logstore", Subject: c.Name, State: Warning, Found: i18n.T("doctor.no_answer"),
			Detail: []string{s.Err}, Cost: i18n.T("doctor.logstore_cost"), Mend: i18n.T("doctor.logstore_mend")})
	default:
		j.ok("logstore", c.Name, i18n.T("doctor.logstore_ok", "Store", s.Name))
	}
}

func (j *judge) prometheus(c Cluster) {
	m := c.Metrics
	switch {
	case !m.Set:
		j.add(Finding{Check: "prometheus", Subject: c.Name, State: Warning, Found: i18n.T("doctor.prometheus_none"),
			Cost: i18n.T("doctor.prometheus_cost"), Mend: i18n.T("doctor.prometheus_none_mend")})
		return
	case m.Err != "":
		j.add(Finding{Check: "prometheus", Subject: c.Name, State: Warning, Found: i18n.T("doctor.no_answer"),
			Detail: []string{m.Err}, Cost: i18n.T("doctor.prometheus_cost"), Mend: i18n.T("doctor.prometheus_mend")})
		return
	}
	j.ok("prometheus", c.Name, i18n.T("doctor.prometheus_ok", "Count", m.Cards))
	j.clock("clock.prometheus", c.Name, m.Skew)
	whole := true
	for _, v := range m.Views {
		if v.State == string(gpumetrics.Whole) || v.State == string(gpumetrics.Idle) {
			continue
		}
		whole = false
		j.add(Finding{Check: "series", Subject: c.Name, State: Warning, Detail: v.Missing,
			Found: seriesFound(v),
			Cost:  i18n.T("doctor.series_cost", "View", i18n.T("gpumetrics.view."+v.Name)), Mend: i18n.T("doctor.series_mend")})
	}
	if whole {
		j.ok("series", c.Name, i18n.T("doctor.series_ok"))
	}
}

// seriesFound says what a view lacks. Utilization has words of its own: it is what most often lacks on some devices.
func seriesFound(v View) i18n.Text {
	if v.State == string(gpumetrics.Partly) && v.Name == "work" {
		return i18n.T("doctor.series_partly_work")
	}
	return i18n.T("doctor.series_"+v.State, "View", i18n.T("gpumetrics.view."+v.Name))
}
