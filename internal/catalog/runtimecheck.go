package catalog

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
)

// metricName is what Prometheus takes.
var metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]{0,199}$`)

// runtime asks of an image whether models can be put into it. Templates are looked at as they would be filled, so that
// what is approved later is what was looked at here.
func (k *checker) runtime(at string, i Image) {
	if i.Runtime == nil {
		return
	}
	r, in := *i.Runtime, at+".runtime"
	if i.Kind != Endpoint {
		k.at(in, "only an image of kind endpoint has a runtime")
		return
	}
	if !slices.Contains(Engines(), r.Engine) {
		k.at(in+".engine", "%q is none of %s", r.Engine, listed(Engines()))
	}
	if r.Backend != "" && !slices.Contains(Backends(), r.Backend) {
		k.at(in+".backend", "%q is none of %s", r.Backend, listed(Backends()))
	}
	k.autoscaler(in, i)
	k.servingRuntime(at, i)
	k.group(at, i)
	k.templates(at, i.Args, i.Env)
	if _, has := i.Env[readByKServe]; has && i.NeedsKServe() {
		k.at(at+".env."+readByKServe, "KServe reads this variable itself; the model comes from the runtime's sources")
	}
	if len(r.Sources) == 0 {
		k.at(in+".sources", "at least one is needed; an image that has its model in it needs no runtime")
	}
	for n, s := range r.Sources {
		where := fmt.Sprintf("%s.sources[%d]", in, n)
		k.source(where, i, s)
		if slices.ContainsFunc(r.Sources[:n], func(o Source) bool { return o.Kind == s.Kind }) {
			k.at(where+".kind", "%q stands here twice", s.Kind)
		}
	}
	for n, q := range r.Quantizations {
		if !word.MatchString(q) || slices.Contains(r.Quantizations[:n], q) {
			k.at(fmt.Sprintf("%s.quantizations[%d]", in, n), "%q is not a word of its own", q)
		}
	}
	if r.Default != nil {
		k.defaultModel(in+".default", r.CheckModel(*r.Default, i.Home))
	}
	for field, path := range map[string]string{"readyPath": r.ReadyPath, "livePath": r.LivePath,
		"metrics.path": r.Metrics.Path} {
		if path != "" && !localPath(path) {
			k.at(in+"."+field, "%q is not a path such as /health", path)
		}
	}
	k.metrics(in+".metrics", r.Metrics)
	k.secrets(in+".secrets", i, r.Secrets)
}

// autoscaler asks whether something else than the portal can scale an endpoint. KServe and LeaderWorkerSet have numbers
// of their own.
func (k *checker) autoscaler(in string, i Image) {
	switch a := i.Runtime.Autoscaler; {
	case a != "" && !slices.Contains(Autoscalers(), a):
		k.at(in+".autoscaler", "%q is none of %s", a, listed(Autoscalers()))
	case a == ByKEDA && i.PodsBackend() != OnDeployment:
		k.at(in+".autoscaler", "KEDA scales a Deployment: it takes backend: %s", OnDeployment)
	}
}

// servingRuntime asks whether what the portal adds to a ServingRuntime of the cluster fits on it.
func (k *checker) servingRuntime(at string, i Image) {
	r, in := *i.Runtime, at+".runtime"
	switch {
	case r.ServingRuntime == "" && r.ModelFormat != "":
		k.at(in+".modelFormat", "a model format is that of a ServingRuntime; name it in servingRuntime")
	case r.ServingRuntime == "":
		return
	case r.Backend != OnKServe:
		k.at(in+".servingRuntime", "a ServingRuntime is run by KServe: it takes backend: kserve")
		return
	case len(validation.IsDNS1123Subdomain(r.ServingRuntime)) > 0:
		k.at(in+".servingRuntime", "%q is not the name of a ServingRuntime", r.ServingRuntime)
	case !word.MatchString(r.ModelFormat):
		k.at(in+".modelFormat", "one of the ServingRuntime's supportedModelFormats is wanted, such as huggingface")
	}
	if len(i.Command) > 0 {
		k.at(at+".command", "the ServingRuntime has a command of its own, which args are appended to")
	}
	if i.Home != "" {
		k.at(at+".home", "the container is the ServingRuntime's: it has no storage of its own; models come from volumes of "+
			"the team")
	}
	if i.HealthPath == "" && (r.ReadyPath != "" || r.LivePath != "") {
		k.at(at+".healthPath", "without it the probes are the ServingRuntime's own: leave out readyPath and livePath as well")
	}
	k.literal(at, i.Args, i.Env)
}

// MostNodes bounds maxNodes: a guess, LeaderWorkerSet has no bound of its own. A model over more nodes is none that
// people start by themselves.
const MostNodes = 64

// group asks of a runtime whether several pods can serve one model together: how many, and what all but the first run.
func (k *checker) group(at string, i Image) {
	r, in := *i.Runtime, at+".runtime"
	if i.NeedsLeaderWorkerSet() {
		if r.MaxNodes < 1 || r.MaxNodes > MostNodes {
			k.at(in+".maxNodes", "%d is not a number of nodes: 1 to %d", r.MaxNodes, MostNodes)
		}
		if len(r.WorkerCommand)+len(r.WorkerArgs) == 0 {
			k.at(in+".workerArgs", "all pods but the first need something to run: workerCommand, workerArgs or both")
		}
		k.templates(in, nil, nil, r.WorkerArgs...)
		return
	}
	for field, set := range map[string]bool{"maxNodes": r.MaxNodes != 0, "workerCommand": len(r.WorkerCommand) > 0,
		"workerArgs": len(r.WorkerArgs) > 0} {
		if set {
			k.at(in+"."+field, "several pods that serve one model are run by LeaderWorkerSet: it takes backend: %s",
				OnLeaderWorkerSet)
		}
	}
	for _, w := range []string{nodesWord, rankWord, leaderWord} {
		if mentions(w, i.Args, i.Env) || slices.ContainsFunc(r.Sources, func(s Source) bool {
			return mentions(w, s.Args, s.Env)
		}) {
			k.at(in+".backend", "%s is of a group of pods: it takes backend: %s", w, OnLeaderWorkerSet)
		}
	}
}

// fetched asks of a source whether KServe can fetch from it with its secrets: it reads one Secret, by keys of its own.
func (k *checker) fetched(at string, s Source) {
	k.literal(at, s.Args, s.Env)
	if s.Kind != FromHub && s.Kind != FromS3 {
		return
	}
	for n, v := range s.Secrets {
		if v.Secret != s.Secrets[0].Secret || v.Key != v.Env {
			k.at(fmt.Sprintf("%s.secrets[%d]", at, n), "KServe fetches the model with one Secret, whose keys are called "+
				"like the variables: HF_TOKEN, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
		}
	}
}

// literal refuses what KServe would read as a template of its own.
func (k *checker) literal(at string, args []string, env map[string]string) {
	wrong := func(at, text string) {
		if strings.Contains(text, "{{") {
			k.at(at, "%q begins a template of KServe's own", "{{")
		}
	}
	for n, text := range args {
		wrong(fmt.Sprintf("%s.args[%d]", at, n), text)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		wrong(at+".env."+name, env[name])
	}
}

// wrongModel says of a default model in a terminal what people read in their language.
var wrongModel = map[string]string{"source": "none of the runtime's sources", "name": "no model of the source",
	"revision": "no revision; only the hub has some", "contextLength": "out of bounds",
	"quantization": "none of the runtime's quantizations"}

func (k *checker) defaultModel(at string, problems []ModelProblem) {
	for _, p := range problems {
		before := len(k.problems)
		k.at(at+"."+p.Field, "%s", wrongModel[p.Field])
		if len(k.problems) > before {
			k.problems[before].Text = p.Reason
		}
	}
}

func (k *checker) metrics(at string, m RuntimeMetrics) {
	if m.Port < 0 || m.Port > 65535 {
		k.at(at+".port", "%d is not a port: 1 to 65535", m.Port)
	}
	for _, f := range []struct{ field, name string }{{"firstToken", m.FirstToken}, {"outputTokens", m.OutputTokens},
		{"queue", m.Queue}} {
		switch {
		case f.name == "":
		case !metricName.MatchString(f.name):
			k.at(at+"."+f.field, "%q is not the name of a metric", f.name)
		case m.Path == "":
			k.at(at+".path", "where are the metrics? A path is wanted, such as /metrics")
		}
	}
}

func (k *checker) source(at string, i Image, s Source) {
	if !slices.Contains(ModelSources(), s.Kind) {
		k.at(at+".kind", "%q is none of %s", s.Kind, listed(ModelSources()))
	}
	k.templates(at, s.Args, s.Env)
	for n, from := range s.From {
		if len(from) > maxModelName || strings.TrimSpace(from) == "" || strings.ContainsFunc(from, unicode.IsSpace) {
			k.at(fmt.Sprintf("%s.from[%d]", at, n), "the beginning of a name is wanted, such as Qwen or s3://models")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		k.serverVariable(at+".env."+name, i, name)
	}
	k.secrets(at+".secrets", i, s.Secrets)
	if i.OnServingRuntime() {
		k.fetched(at, s)
		return // a ServingRuntime knows where KServe puts the model
	}
	if !mentions(modelWord, slices.Concat(i.Args, s.Args), i.Env, s.Env) {
		k.at(at, "nothing tells the server of the model: %s is in no argument and no variable", modelWord)
	}
}

func (k *checker) secrets(at string, i Image, list []SecretVariable) {
	for n, v := range list {
		in := fmt.Sprintf("%s[%d]", at, n)
		k.serverVariable(in+".env", i, v.Env)
		if len(validation.IsDNS1123Subdomain(v.Secret)) > 0 {
			k.at(in+".secret", "%q is not the name of a Secret", v.Secret)
		}
		if len(validation.IsConfigMapKey(v.Key)) > 0 {
			k.at(in+".key", "%q is not a key of a Secret", v.Key)
		}
	}
}

// readByKServe is the variable of a container from which KServe takes the address of a model to download beside it.
const readByKServe = "STORAGE_URI"

func (k *checker) serverVariable(at string, i Image, name string) {
	k.variable(at, name)
	if name == readByKServe && i.NeedsKServe() {
		k.at(at, "KServe reads this variable itself; the model comes from the runtime's sources")
	}
	if name == i.TokenEnv && name != "" {
		k.at(at, "the workload's own secret goes into this variable")
	}
}

// templates may hold the words of Placeholders and no others. What Kubernetes would expand is refused: $(NAME) of a
// secret would end up in an argument, which everybody on the node can read.
func (k *checker) templates(at string, args []string, env map[string]string, worker ...string) {
	check := func(at, text string) {
		for _, w := range placeholder.FindAllString(text, -1) {
			if !slices.Contains(Placeholders(), w) {
				k.at(at, "%s is no placeholder; known are %s", w, strings.Join(Placeholders(), ", "))
			}
		}
	}
	each := func(field string, args []string) {
		for n, text := range args {
			where := fmt.Sprintf("%s.%s[%d]", at, field, n)
			check(where, text)
			if strings.Contains(text, "$(") {
				k.at(where, "%q would be expanded in an argument, which others can read; let the server read a variable", "$(…)")
			}
		}
	}
	each("args", args)
	each("workerArgs", worker)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		check(at+".env."+name, env[name])
	}
}

func mentions(word string, args []string, envs ...map[string]string) bool {
	holds := func(text string) bool { return strings.Contains(text, word) }
	if slices.ContainsFunc(args, holds) {
		return true
	}
	for _, env := range envs {
		for _, text := range env {
			if holds(text) {
				return true
			}
		}
	}
	return false
}

func listed[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}
