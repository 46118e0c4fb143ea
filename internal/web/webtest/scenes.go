package webtest

import "net/url"

var platformScenes = []Scene{
	{"platform", "a working day", Dora, Busy, "/platform", nil},
	{"platform", "cards fail, a budget is used up", Dora, pressed, "/platform", nil},
	{"platform", "an auditor's look", Eli, edited, "/platform", nil},
	{"platform", "Prometheus never answered", Dora, dark, "/platform", nil},
	{"platform", "nothing runs", Dora, fresh, "/platform", nil},
	{"platform", "no cluster was read", Dora, vanished, "/platform", nil},
}

var helpScenes = []Scene{
	{"help", "the documents", Dora, Busy, "/help", nil},
	{"help", "what is new", Anna, Busy, "/help/new", nil},
	{"help", "what is new, to an administrator", Dora, Busy, "/help/new", nil},
	{"help", "the user guide", Anna, Busy, "/help/users", nil},
	{"help", "the reference of the API", Anna, Busy, "/api/docs", nil},
	{"help", "an operation", Anna, Busy, "/api/docs/submit-request", nil},
	{"help", "an operation, to a visitor", Visitor, Busy, "/api/docs/get-catalog", nil},
}

var searchScenes = []Scene{
	{"search", "a developer's", Anna, Busy, "/search?q=train", nil},
	{"search", "an administrator's", Dora, Busy, "/search?q=a", nil},
	{"search", "nothing typed", Dora, Busy, "/search", nil},
	{"search", "nothing found", Anna, Busy, "/search?q=zzz", nil},
}

var homeScenes = []Scene{
	{"home", "busy", Anna, Busy, "/", nil},
	{"home", "team, as its owner", Ben, Busy, "/?scope=team", nil},
	{"home", "empty", Anna, fresh, "/", nil},
	{"home", "guided tour", Anna, fresh, "/?tour=1", nil},
	{"home", "nobody's member", Nemo, Busy, "/", nil},
	{"home", "approver", Carla, Busy, "/", nil},
	{"home", "many", Anna, many, "/", nil},
	{"home", "many, of everybody, by cost", Dora, many, "/?scope=all&sort=-cost&p=2", nil},
	{"home", "many, none that match", Anna, many, "/?q=nowhere", nil},
	{"home", "long texts", Anna, long, "/", nil},
	{"home", "cluster and metrics away", Anna, unreachable, "/", nil},
}

var startScenes = []Scene{
	{"start", "first visit", Anna, fresh, "/start", nil},
	{"start", "whole card, needs an approval", Anna, Busy, "/start?size=h100", nil},
	{"start", "vgpu, takes a seat", Ben, Busy, "/start?size=vgpu-12q", nil},
	{"start", "came back with problems", Anna, Busy, "/start", wrong},
	{"start", "nothing known of the cluster", Anna, vanished, "/start", nil},
	{"start", "all sizes compared", Anna, Busy, "/start?all=1", nil},
	{"start", "many sizes", Anna, EverySize, "/start", nil},
	{"start", "many sizes compared", Anna, EverySize, "/start?all=1", nil},
	{"start", "two sizes", Anna, twoSizes, "/start", nil},
	{"start", "all taken", Anna, allTaken, "/start?size=mig-1g.10gb", nil},
	{"start", "no quota left", Anna, noQuota, "/start?size=h100&all=1", nil},
	{"start", "refused by a rule", Anna, allRefused, "/start", nil},
	{"start", "endpoint", Anna, Busy, "/start?kind=endpoint", nil},
	{"start", "endpoint, model too large", Anna, Busy, "/start?kind=endpoint&size=mig-1g.10gb&model.name=" +
		"meta-llama/Llama-3.1-8B-Instruct&model.contextLength=16384&model.quantization=fp8", nil},
	{"start", "endpoint, scales by itself", Anna, Busy, "/start?kind=endpoint&size=mig-1g.10gb&replicas.min=0&" +
		"replicas.max=4&scaling.metric=concurrency", nil},
	{"start", "endpoint, several replicas", Anna, Busy, "/start?kind=endpoint&size=mig-1g.10gb&replicas.min=2&" +
		"replicas.max=4", nil},
	{"start", "endpoint, came back with problems", Anna, Busy, "/start", wrongModel},
	{"start", "endpoint, an image with its model", Anna, Busy, "/start?kind=endpoint&image=model-demo", nil},
	{"start", "job", Anna, Busy, "/start?kind=job", nil},
	{"start", "job, once more", Anna, batch, "/start?like=w-pretrain", nil},
	{"start", "job, after a notebook", Anna, batch, "/start?like=w-train-resnet", nil},
	{"start", "job, came back with problems", Anna, Busy, "/start", wrongJob},
	{"start", "sizing, questions", Anna, Busy, "/start/size?tenant=vision&reason=kept", nil},
	{"start", "sizing, answered", Anna, Busy,
		"/start/size?tenant=vision&work=inference&model=Llama+3.1+8B&precision=fp16&sharing=tenants&lease=8h", nil},
	{"start", "sizing, nothing will do", Anna, Busy,
		"/start/size?tenant=vision&work=train&billions=70&sharing=alone&lease=7d", nil},
	{"start", "sizing, the ways on a platform", Anna, Busy,
		"/start/size?tenant=vision&work=inference&sharing=tenants&lease=8h&platform=cloud&latency=on", nil},
	{"start", "sizing, came back with problems", Anna, Busy,
		"/start/size?tenant=vision&work=train&billions=many&memory=-1", nil},
	{"start", "not allowed", Nemo, Busy, "/start", nil},
	{"start", "with shared storage", Anna, sharing, "/start?size=mig-1g.10gb&mounts=data", nil},
	{"start", "a size that goes", Anna, edited, "/start?size=vgpu-12q", nil},
	{"start", "a size that is hidden", Anna, edited, "/start?size=gpu-shared", nil},
}

var workloadScenes = []Scene{
	{"workload", "running", Anna, Busy, "/workloads/w-train-resnet", nil},
	{"workload", "connect, notebook", Anna, Busy, "/workloads/w-train-resnet/connect", nil},
	{"workload", "connect, endpoint", Ben, Busy, "/workloads/w-llm-chat/connect", nil},
	{"workload", "try it", Anna, Busy, "/workloads/w-llm-chat/try", nil},
	{"workload", "connect, job", Anna, batch, "/workloads/w-pretrain/connect", nil},
	{"workload", "endpoint, shared, ending", Anna, Busy, "/workloads/w-llm-chat", nil},
	{"workload", "share", Anna, Granted, "/workloads/w-train-resnet/share", nil},
	{"workload", "share, a wrong address", Anna, Granted, "/workloads/w-train-resnet/grants", url.Values{"to": {"person"},
		"person": {"nobody@example.org"}, "permission": {"use"}}},
	{"workload", "share, a new link", Anna, Busy, "/workloads/w-train-resnet/grants", url.Values{"to": {"link"},
		"permission": {"use"}, "until": {"7d"}}},
	{"workload", "connect, shared", Anna, Granted, "/workloads/w-train-resnet/connect", nil},
	{"workload", "invited by a link", Ben, Busy, "/workloads/w-train-resnet/join?invite=secret", nil},
	{"workload", "endpoint, replicas", Anna, Scaled, "/workloads/w-ranker", nil},
	{"workload", "endpoint, scales by itself", Anna, Scaling, "/workloads/w-assistant", nil},
	{"workload", "endpoint, asleep", Anna, Scaling, "/workloads/w-summaries", nil},
	{"workload", "endpoint, scaling", Anna, Scaling, "/workloads/w-assistant/scaling", nil},
	{"home", "an endpoint sleeps", Anna, Scaling, "/", nil},
	{"workload", "endpoint, a version is starting", Anna, Versioned, "/workloads/w-search", nil},
	{"workload", "endpoint, a version has failed", Anna, Versioned, "/workloads/w-rerank", nil},
	{"workload", "endpoint, another version", Anna, Versioned, "/workloads/w-rerank/versions", nil},
	{"workload", "endpoint, other replicas", Anna, Scaled, "/workloads/w-ranker/replicas", nil},
	{"workload", "endpoint, traffic", Anna, Called, "/workloads/w-llm-chat/traffic", nil},
	{"workload", "endpoint, traffic of a day", Anna, Called, "/workloads/w-llm-chat/traffic?range=24h", nil},
	{"workload", "endpoint, no traffic", Anna, Keyed, "/workloads/w-llm-chat/traffic", nil},
	{"workload", "endpoint, with keys", Anna, Keyed, "/workloads/w-llm-chat", nil},
	{"workload", "endpoint, a key was made", Anna, Keyed, "/workloads/w-llm-chat/keys",
		url.Values{"name": {"evening batch"}, "expires": {"30d"}}},
	{"workload", "endpoint, new key", Anna, Keyed, "/workloads/w-llm-chat/keys", nil},
	{"workload", "endpoint, new key came back", Anna, Keyed, "/workloads/w-llm-chat/keys",
		url.Values{"expires": {"soon"}, "limits.requestsPerMinute": {"many"}}},
	{"workload", "queued", Anna, Busy, "/workloads/w-sweep-lr", nil},
	{"workload", "failed", Anna, Busy, "/workloads/w-vlm-test", nil},
	{"workload", "stopped", Anna, Busy, "/workloads/w-old-notes", nil},
	{"workload", "ended", Anna, ended, "/workloads/w-gone", nil},
	{"workload", "job, runs", Anna, batch, "/workloads/w-finetune", nil},
	{"workload", "job, succeeded", Anna, batch, "/workloads/w-eval-sweep", nil},
	{"workload", "job, failed", Anna, batch, "/workloads/w-pretrain", nil},
	{"workload", "some readings unknown", Anna, quiet, "/workloads/w-train-resnet", nil},
	{"workload", "metrics away", Anna, unreachable, "/workloads/w-train-resnet", nil},
	{"workload", "a colleague's", Ben, Busy, "/workloads/w-llm-chat", nil},
	{"workload", "an auditor's look", Eli, Busy, "/workloads/w-train-resnet", nil},
	{"workload", "changed by others", Anna, changed, "/workloads/w-segment-cells", nil},
	{"workload", "logs", Anna, Busy, "/workloads/w-train-resnet/logs", nil},
	{"workload", "logs, searched", Anna, Busy, "/workloads/w-train-resnet/logs?q=EPOCH&lines=scroll", nil},
	{"workload", "logs of several containers", Anna, Busy, "/workloads/w-vlm-test/logs", nil},
	{"workload", "logs, no pod", Anna, Busy, "/workloads/w-old-notes/logs", nil},
	{"workload", "logs, right missing", Anna, unlogged, "/workloads/w-train-resnet/logs", nil},
	{"workload", "events", Anna, Busy, "/workloads/w-vlm-test/events", nil},
	{"workload", "events, none", Anna, Busy, "/workloads/w-train-resnet/events", nil},
	{"workload", "events, right missing", Anna, unlogged, "/workloads/w-train-resnet/events", nil},
	{"workload", "objects", Anna, Busy, "/workloads/w-train-resnet/objects", nil},
	{"workload", "metrics", Anna, Busy, "/workloads/w-train-resnet/metrics", nil},
	{"workload", "metrics, nothing measured", Anna, Busy, "/workloads/w-llm-chat/metrics?range=30d&pause=1", nil},
	{"workload", "metrics, still being read", Anna, slow, "/workloads/w-train-resnet/metrics?range=90d", nil},
	{"workload", "history", Anna, Busy, "/workloads/w-train-resnet/history", nil},
	{"workload", "extend", Anna, Busy, "/workloads/w-train-resnet/extend", nil},
	{"workload", "extend, came back", Anna, Busy, "/workloads/w-train-resnet/extend",
		url.Values{"lease": {"90d"}, "reason": {"why not"}}},
	{"workload", "delete", Anna, Busy, "/workloads/w-train-resnet/delete", nil},
	{"workload", "stop", Anna, Busy, "/workloads/w-train-resnet/stop", nil},
	{"workload", "on a bad node", Anna, Ill, "/workloads/w-llm-chat", nil},
}

var requestsScenes = []Scene{
	{"requests", "mine", Anna, Busy, "/requests", nil},
	{"requests", "none", Anna, fresh, "/requests", nil},
	{"requests", "one, waiting", Anna, Busy, "/requests/r-anna1", nil},
	{"requests", "one, rejected", Anna, Busy, "/requests/r-anna0", nil},
	{"requests", "one, approved", Anna, Busy, "/requests/r-anna2", nil},
	{"requests", "approvals", Carla, Busy, "/approvals", nil},
	{"requests", "approvals, an endpoint with its model", Carla, serving, "/approvals/r-serve", nil},
	{"requests", "approvals, long reason", Carla, long, "/approvals", nil},
	{"requests", "approvals, none", Carla, fresh, "/approvals", nil},
	{"requests", "approvals, in line for a seat", Carla, seatQueue, "/approvals", nil},
	{"requests", "delegations, none", Carla, Busy, "/approvals/delegations", nil},
	{"requests", "delegations, found", Carla, Busy, "/approvals/delegations?find=an", nil},
	{"requests", "delegations, nobody found", Carla, Busy, "/approvals/delegations?find=zz", nil},
	{"requests", "delegations, both ways", Carla, covered, "/approvals/delegations", nil},
	{"requests", "delegations, decides nothing", Anna, covered, "/approvals/delegations", nil},
	{"requests", "delegations, came back", Carla, Busy, "/approvals/delegations",
		url.Values{"find": {"anna"}, "from": {"soon"}, "until": {"2026-11-30"}}},
	{"requests", "change", Anna, Busy, "/requests/r-anna1/edit", nil},
	{"requests", "change, came back", Anna, Busy, "/requests/r-anna1/edit",
		url.Values{"size": {"h100"}, "lease": {"soon"}, "reason": {"why not"}}},
	{"requests", "give to another approver", Carla, Busy, "/approvals/r-anna1/reassign", nil},
	{"requests", "give to another approver, came back", Carla, Busy, "/approvals/r-anna1/reassign",
		url.Values{"person": {"p-anna"}, "seen": {"1"}}},
	{"requests", "approvals, given away", Carla, given, "/approvals/r-anna1", nil},
	{"requests", "approvals, given to me", Dora, given, "/approvals/r-anna1", nil},
	{"requests", "approvals, all ticked", Carla, Busy, "/approvals?tick=all", nil},
	{"requests", "approvals, changed while it was read", Carla, Busy, "/approvals/r-anna1?seen=7", nil},
	{"requests", "approvals, more than was asked", Carla, Busy, "/approvals/r-anna1/approve",
		url.Values{"lease": {"9h"}, "seen": {"1"}}},
	{"requests", "approvals, several decided", Carla, Busy, "/approvals/bulk",
		url.Values{"verb": {"approve"}, "request": {"r-anna1@1", "r-olaf1@1"}}},
	{"requests", "approvals, can be undone", Carla, answered("approve", "r-anna1"), "/approvals", nil},
	{"requests", "approvals, the last one can be undone", Carla, answered("reject", "r-anna1", "r-olaf1"),
		"/approvals", nil},
	{"requests", "approvals, decided by another one just now", Dora, answered("approve", "r-anna1"),
		"/approvals/r-anna1", nil},
	{"requests", "one, answered just now", Anna, answered("approve", "r-anna1"), "/requests/r-anna1", nil},
	{"requests", "approvals, many", Carla, crowded, "/approvals", nil},
	{"requests", "approvals, nothing matches", Carla, crowded, "/approvals?q=zzz", nil},
	{"requests", "list, many", Carla, crowded, "/requests?scope=all", nil},
	{"requests", "list, what rules decided too", Carla, crowded, "/requests?scope=all&by=all&sort=oldest", nil},
	{"requests", "list, nothing matches", Carla, crowded, "/requests?scope=all&q=zzz", nil},
	{"requests", "approvals, decided already", Carla, Busy, "/approvals/r-anna0", nil},
}

var storageScenes = []Scene{
	{"storage", "many", Anna, many, "/storage?sort=-size&p=2", nil},
	{"storage", "mine", Anna, Busy, "/storage", nil},
	{"storage", "none", Anna, fresh, "/storage", nil},
	{"storage", "delete", Anna, Busy, "/storage/datasets-kept/delete", nil},
	{"storage", "with the team's", Ben, sharing, "/storage?scope=team", nil},
}

var usageScenes = []Scene{
	{"usage", "many workloads", Anna, many, "/usage?by=workload&usage-sort=use&usage-p=2", nil},
	{"usage", "mine, this month", Anna, Busy, "/usage", nil},
	{"usage", "the team by person", Ben, Busy, "/usage?scope=team&by=person", nil},
	{"usage", "everybody by size", Dora, lost, "/usage?scope=all&by=size", nil},
	{"usage", "idle GPUs, seats and storage have their cost", Ben, charged, "/usage?scope=team&by=workload", nil},
	{"usage", "everybody by team", Eli, Busy, "/usage?scope=all&by=team", nil},
	{"usage", "use by the hour and top spenders", Dora, Mixed, "/usage?scope=all&by=team", nil},
	{"usage", "use by the hour, still being read", Dora, slow, "/usage?scope=all&by=team", nil},
	{"usage", "before the first recorded hour", Dora, unrecorded, "/usage?by=workload", nil},
	{"usage", "a month in which nothing was held", Anna, Busy, "/usage?month=2025-01", nil},
}

var budgetsScenes = []Scene{
	{"budgets", "many teams", Dora, many, "/admin/budgets?sort=left", nil},
	{"budgets", "every team", Dora, budgeted, "/admin/budgets", nil},
	{"budgets", "one, with its book", Dora, budgeted, "/admin/budgets/vision", nil},
	{"budgets", "one, a member's look", Anna, budgeted, "/admin/budgets/vision", nil},
	{"budgets", "one, overdrawn", Dora, overdrawn, "/admin/budgets/vision", nil},
	{"budgets", "every team, one overdrawn", Dora, overdrawn, "/admin/budgets", nil},
	{"budgets", "one, in GPU-hours", Dora, counting, "/admin/budgets/vision", nil},
	{"budgets", "one, not set", Dora, Busy, "/admin/budgets/vision", nil},
	{"budgets", "one, came back", Dora, Busy, "/admin/budgets/vision", url.Values{"amount": {"1,2,3"}, "unit": {"EUR"},
		"atLimit": {"stop"}, "version": {"0"}}},
}

var fleetScenes = []Scene{
	{"fleet", "a developer's look", Anna, Busy, "/fleet", nil},
	{"fleet", "an administrator's look", Dora, Busy, "/fleet", nil},
	{"fleet", "old", Anna, unreachable, "/fleet", nil},
	{"fleet", "map", Dora, Mixed, "/fleet/use", nil},
	{"fleet", "map, by team", Eli, Mixed, "/fleet/use?by=team", nil},
	{"fleet", "map, by health", Dora, Mixed, "/fleet/use?by=health", nil},
	{"fleet", "map, by idle cost", Dora, Mixed, "/fleet/use?by=money", nil},
	{"fleet", "map, an hour of yesterday", Dora, Mixed, "/fleet/use?ago=26", nil},
	{"fleet", "map, an hour nobody knows of", Dora, Mixed, "/fleet/use?ago=150", nil},
	{"fleet", "map, small, paused", Dora, Busy, "/fleet/use?pause=1", nil},
	{"fleet", "map, as a developer sees it", Anna, Mixed, "/fleet/use?by=team", nil},
	{"fleet", "map, health as a developer sees it", Anna, Mixed, "/fleet/use?by=health", nil},
	{"fleet", "map, of nothing", Dora, vanished, "/fleet/use", nil},
	{"fleet", "map, old", Dora, unreachable, "/fleet/use", nil},
	{"fleet", "map, Prometheus never answered", Anna, dark, "/fleet/use", nil},
	{"fleet", "map of 5,000 nodes", Dora, huge, "/fleet/use", nil},
	{"fleet", "map of 5,000 nodes, a group", Dora, huge, "/fleet/use?cluster=local&group=gfho23t", nil},
	{"fleet", "card in slices", Dora, Mixed, "/fleet/use/node?cluster=local&node=gpu-01&card=0", nil},
	{"fleet", "card, shared", Dora, Mixed, "/fleet/use/node?cluster=local&node=l4-1&card=0", nil},
	{"fleet", "card, as a developer sees it", Anna, Mixed, "/fleet/use/node?cluster=local&node=h100-1&card=0", nil},
	{"fleet", "holders, by workload", Dora, Busy, "/fleet/use/holders", nil},
	{"fleet", "holders, many", Dora, many, "/fleet/use/holders?sort=use&p=2", nil},
	{"fleet", "holders, by team, paused", Eli, Busy, "/fleet/use/holders?group=team&pause=1", nil},
	{"fleet", "holders, as a developer sees it", Anna, Busy, "/fleet/use/holders", nil},
	{"fleet", "health", Dora, Ill, "/fleet/health", nil},
	{"fleet", "health, every card", Dora, Ill, "/fleet/health?state=all", nil},
	{"fleet", "health, an auditor's look", Eli, Ill, "/fleet/health?state=quarantined", nil},
	{"fleet", "health, nothing found", Dora, Ill, "/fleet/health?q=zz", nil},
	{"fleet", "health, nobody speaks", Dora, unanswered, "/fleet/health", nil},
	{"fleet", "quarantine a node", Dora, Ill, "/fleet/health/quarantine?cluster=local&kind=node&name=gpu-01", nil},
	{"fleet", "quarantine a card", Dora, Ill, "/fleet/health/quarantine?cluster=local&kind=card&name=GPU-2", nil},
	{"fleet", "quarantine a node, came back", Dora, Ill, "/fleet/health/quarantine",
		url.Values{"cluster": {"local"}, "kind": {"node"}, "name": {"gpu-01"}, "note": {" "}}},
	{"fleet", "nothing known", Anna, vanished, "/fleet", nil},
}

var adviceScenes = []Scene{
	{"advice", "sizes that do not suit", Anna, advised, "/usage/advice", nil},
	{"advice", "one was put away", Anna, putAway, "/usage/advice", nil},
	{"advice", "everybody's, an auditor's look", Eli, advised, "/usage/advice", nil},
	{"advice", "nothing is known yet", Anna, Busy, "/usage/advice", nil},
	{"advice", "on the page of a workload", Anna, advised, "/workloads/w-digits", nil},
}

var idleScenes = []Scene{
	{"idle", "nothing is set", Dora, Busy, "/admin/idle", nil},
	{"idle", "a setting", Dora, idling, "/admin/idle", nil},
	{"idle", "an auditor's look", Eli, idling, "/admin/idle", nil},
	{"idle", "what another setting would do", Dora, idling, "/admin/idle/preview", idleTried},
	{"idle", "what it would do is not known", Dora, idleUnknown, "/admin/idle/preview", idleTried},
	{"idle", "with problems", Dora, idling, "/admin/idle", url.Values{"base": {"1"}, "for-0": {"all"},
		"action-0": {"stop"}, "after-0": {"soon"}, "below-0": {"99"}, "keepAlive-0": {""}}},
	{"idle", "as text", Dora, idling, "/admin/idle/preview", url.Values{"base": {"1"}, "text": {"all:\n  action: stop\n" +
		"  after: 2h\nteams:\n  vision:\n    action: \"off\"\n"}}},
	{"idle", "as text, with problems", Dora, idling, "/admin/idle", url.Values{"base": {"1"}, "text": {"all:\n" +
		"  action: stop\n  after: soon\n"}}},
	{"idle", "a workload is stopped soon", Anna, idling, "/workloads/w-train-resnet", nil},
	{"idle", "a workload that is kept", Anna, needed, "/workloads/w-train-resnet", nil},
}

var demandScenes = []Scene{
	{"demand", "nothing is missing", Dora, Busy, "/usage/demand", nil},
	{"demand", "what was not to be had", Dora, unmet, "/usage/demand", nil},
}

var reconciliationScenes = []Scene{
	{"reconciliation", "nothing was counted", Dora, Busy, "/usage/reconciliation", nil},
	{"reconciliation", "three weeks", Dora, counted, "/usage/reconciliation", nil},
	{"reconciliation", "three weeks of one model", Eli, counted,
		"/usage/reconciliation?cluster=west&model=NVIDIA-H100-80GB-HBM3", nil},
}

var pricesScenes = []Scene{
	{"prices", "what the catalog says counts", Dora, Busy, "/admin/prices", nil},
	{"prices", "in force, to come and over", Dora, priced, "/admin/prices", nil},
	{"prices", "an auditor's look", Eli, priced, "/admin/prices", nil},
	{"prices", "what a price would change", Dora, priced, "/admin/prices/check",
		url.Values{"subject": {"size:mig-1g.10gb"}, "amount": {"7.77"}}},
	{"prices", "as text, with problems", Dora, priced, "/admin/prices", url.Values{"text": {"- kind: size\n" +
		"  subject: mig-1g.10gb\n  amount: much\n- kind: cpu\n  price: 1\n"}}},
	{"prices", "with problems", Dora, priced, "/admin/prices", url.Values{"subject": {"cpu:"}, "amount": {"much"},
		"from": {"2020-01-01"}}},
}

var licensesScenes = []Scene{
	{"licenses", "a developer's look", Anna, Busy, "/licenses", nil},
	{"licenses", "an administrator's look", Dora, Busy, "/licenses", nil},
	{"licenses", "paused", Dora, Busy, "/licenses?pause=1", nil},
	{"licenses", "import, to be kept", Dora, Busy, "/licenses/import",
		url.Values{"csv": {"feature;quantity;until;reference;colour\nnvidia-vws;7;2027-11-30;PO-2026-0117;red\n"}}},
	{"licenses", "import, refused", Dora, Busy, "/licenses/import",
		url.Values{
			"csv": {
				"feature,quantity,until,reference\nnvidia-vws,7,2027-11-30,PO-2026-0117\nnvidia-vws,-4,,PO-2026-0118\nunknown " +
					"product,2,,PO-2026-0119\n"}}},
}

var teamScenes = []Scene{
	{"team", "mine", Ben, Busy, "/team", nil},
	{"team", "none", Nemo, Busy, "/team", nil},
	{"team", "one, an owner's look", Ben, budgeted, "/team/vision", nil},
	{"team", "one, a member's look", Anna, Busy, "/team/vision", nil},
	{"team", "images, an owner's look", Ben, imaged, "/team/vision/images", nil},
	{"team", "images, one is edited", Ben, imaged, "/team/vision/images?edit=train", nil},
	{"team", "images, none", Ben, Busy, "/team/vision/images", nil},
	{"team", "images, came back", Ben, imaged, "/team/vision/images",
		url.Values{"title": {"Our own"}, "reference": {"quay.io/somebody/train:latest"}, "like": {"pytorch"}}},
	{"team", "images, a member's look", Anna, imaged, "/team/vision/images", nil},
	{"team", "shared storage, an owner's look", Ben, sharing, "/team/vision/volumes", nil},
	{"team", "shared storage, came back", Ben, sharing, "/team/vision/volumes", url.Values{"name": {"Data Sets"},
		"class": {"local/nfs"}, "gib": {"9000"}}},
	{"team", "shared storage, a member's look", Anna, sharing, "/team/vision/volumes", nil},
	{"team", "shared storage, none", Ben, Busy, "/team/vision/volumes", nil},
	{"team", "shared storage, every state", Ben, states, "/team/vision/volumes", nil},
	{"team", "shared storage, make larger", Ben, states, "/team/vision/volumes/data/grow", nil},
	{"team", "shared storage, make larger, came back", Ben, states, "/team/vision/volumes/growing/grow",
		url.Values{"from": {"100"}, "gib": {"9000"}}},
	{"team", "shared storage, delete", Ben, sharing, "/team/vision/volumes/scratch/delete", nil},
	{"team", "shared storage, delete what is in use", Ben, sharing, "/team/vision/volumes/data/delete",
		url.Values{"confirm": {"data"}}},
	{"team", "more quota", Anna, Busy, "/team/vision/quota?size=h100", nil},
	{"team", "more quota, came back", Anna, Busy, "/team/vision/quota", url.Values{"size": {"h100"}, "amount": {"0"}}},
}

var tenantsScenes = []Scene{
	{"tenants", "every team", Dora, Busy, "/admin/tenants", nil},
	{"tenants", "many teams", Dora, many, "/admin/tenants?p=2", nil},
	{"tenants", "an auditor's look", Eli, Busy, "/admin/tenants", nil},
	{"tenants", "a new one", Dora, Busy, "/admin/tenants/edit", nil},
	{"tenants", "a new one, came back", Dora, Busy, "/admin/tenants/edit", url.Values{"name": {"Kube System"},
		"groups.owner": {"*"}, "quota": {"h100: many"}}},
	{"tenants", "one", Dora, Busy, "/admin/tenants/edit?name=vision", nil},
	{"tenants", "one, another quota tried", Dora, Busy, "/admin/tenants/check",
		url.Values{"name": {"vision"}, "base": {"0"}, "quota": {"h100: 0"}}},
	{"tenants", "one, a quota in a table tried", Dora, Busy, "/admin/tenants/check",
		url.Values{"name": {"vision"}, "base": {"0"}, "quota.h100": {"1"}, "quota.mig-1g.10gb": {"0"}, "quota.cpu": {"4"},
			"quota.*": {"2"}}},
	{"tenants", "one, a limit that is none", Dora, Busy, "/admin/tenants/edit",
		url.Values{"name": {"vision"}, "base": {"0"}, "quota.h100": {"many"}, "quota.cpu": {"4"}}},
	{"tenants", "one, its quota as text", Dora, Busy, "/admin/tenants/edit",
		url.Values{"name": {"speech"}, "base": {"0"}, "turn": {"text"}, "quota.h100": {"1"}, "quota.cpu": {"2"}}},
	{"tenants", "people", Dora, Busy, "/admin/people", nil},
	{"tenants", "many people", Dora, many, "/admin/people?sort=-seen", nil},
	{"tenants", "people, nobody found", Dora, Busy, "/admin/people?q=zz", nil},
}

var accountScenes = []Scene{
	{"account", "a person, for administrators", Dora, Busy, "/admin/people/" + string(Anna.ID), nil},
	{"account", "a person, an auditor's look", Eli, Busy, "/admin/people/" + string(Anna.ID), nil},
	{"account", "a person who is disabled", Dora, left, "/admin/people/" + string(Anna.ID), nil},
	{"account", "the only owner of a team", Dora, Busy, "/admin/people/" + string(Ben.ID), nil},
	{"account", "a person who has nothing", Dora, Busy, "/admin/people/" + string(Nemo.ID), nil},
	{"account", "oneself cannot be disabled", Dora, Busy, "/admin/people/" + string(Dora.ID) + "/disable",
		url.Values{"note": {"a try"}}},
	{"account", "with a token", Anna, Busy, "/account", nil},
	{"account", "without", Carla, Busy, "/account", nil},
	{"account", "token just made", Anna, Busy, "/account/tokens", url.Values{"name": {"evening batch"},
		"lasts": {"30d"}}},
	{"account", "token without a name", Anna, Busy, "/account/tokens", url.Values{"lasts": {"30d"}}},
	{"account", "notifications", Anna, Busy, "/account/notifications", nil},
	{"account", "notifications of an owner", Dora, noticed, "/account/notifications", nil},
	{"account", "messages", Dora, noticed, "/admin/notifications", nil},
	{"account", "messages, none failed", Dora, Busy, "/admin/notifications?state=failed", nil},
}

var metricsScenes = []Scene{
	{"metrics", "with troubles", Dora, Troubled, "/admin/metrics", nil},
	{"metrics", "away", Eli, unanswered, "/admin/metrics", nil},
	{"metrics", "none set up", Dora, Busy, "/admin/metrics", nil},
}

var systemScenes = []Scene{
	{"system", "some things to mend", Dora, ailing, "/admin/system", nil},
	{"system", "an auditor's look, being checked", Eli, examined, "/admin/system", nil},
	{"system", "all is well", Dora, healthy, "/admin/system", nil},
	{"system", "not looked at yet", Dora, Busy, "/admin/system", nil},
}

var sizesScenes = []Scene{
	{"sizes", "as configured", Dora, Busy, "/admin/sizes", nil},
	{"sizes", "edited", Dora, edited, "/admin/sizes", nil},
	{"sizes", "an auditor's look", Eli, edited, "/admin/sizes", nil},
	{"sizes", "nothing known of the cluster", Dora, vanished, "/admin/sizes", nil},
	{"sizes", "the newest cannot be used", Dora, unreadable, "/admin/sizes", nil},
	{"sizes", "images", Dora, edited, "/admin/images", nil},
	{"sizes", "editor", Dora, edited, "/admin/sizes/edit", nil},
	{"sizes", "editor, checked", Dora, Busy, "/admin/sizes/edit", dearer},
	{"sizes", "editor, came back with problems", Dora, edited, "/admin/sizes/edit", broken},
	{"sizes", "editor, somebody was faster", Dora, edited, "/admin/sizes/edit", stale},
	{"sizes", "form of a size", Dora, edited, "/admin/sizes/form?list=sizes&name=mig-3g.40gb", nil},
	{"sizes", "form of an image", Dora, edited, "/admin/sizes/form?list=images&name=vllm", nil},
	{"sizes", "form of a new size", Dora, edited, "/admin/sizes/form?list=sizes", nil},
	{"sizes", "form of a size, checked", Dora, Busy, "/admin/sizes/form", shorter},
	{"sizes", "form of a size, came back with problems", Dora, Busy, "/admin/sizes/form", misfit},
	{"sizes", "deprecate a size", Dora, edited, "/admin/sizes/deprecate?list=sizes&name=h100", nil},
	{"sizes", "one version", Dora, edited, "/admin/sizes/versions/1", nil},
	{"sizes", "the first version", Eli, edited, "/admin/sizes/versions/0", nil},
}

var rulesScenes = []Scene{
	{"rules", "form of a rule", Dora, Busy, "/admin/rules/rule?name=not-to-share", nil},
	{"rules", "form of a new rule, with a problem", Dora, Busy, "/admin/rules/rule", url.Values{"name": {"night"},
		"outcome": {"refuse"}, "fact-0": {"request.hour"}, "op-0": {">="}, "value-0": {"ten"}, "action": {"check"}}},
}

var differencesScenes = []Scene{
	{"differences", "none", Dora, Busy, "/admin/differences", nil},
	{"differences", "after a restore", Dora, drifted, "/admin/differences", nil},
	{"differences", "an auditor's look", Eli, drifted, "/admin/differences", nil},
	{"differences", "adopt", Dora, drifted, "/admin/differences/d-1/adopt", nil},
	{"differences", "apply", Dora, drifted, "/admin/differences/d-1/apply", nil},
	{"differences", "all", Dora, drifted, "/admin/differences/all/resume?cluster=local", nil},
	{"differences", "a held cluster, for everybody", Anna, drifted, "/", nil},
}

var auditScenes = []Scene{
	{"audit", "all", Eli, Busy, "/audit", nil},
	{"audit", "nothing found", Eli, Busy, "/audit?kind=token.revoked", nil},
}
