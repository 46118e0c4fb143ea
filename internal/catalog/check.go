package catalog

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/currency"
	"golang.org/x/text/language"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
)

// checker asks of a catalog that has been read whether it makes sense. Problems go to the reader, which knows the
// lines.
type checker struct {
	*reader
	pools []license.Pool
	own   []TechnologyRule // technologies that the catalog adds
}

// sizeName is a DNS label that may also hold dots, as slices are called: mig-1g.10gb. It is a label value too, so it
// ends as it begins.
var sizeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

func (k *checker) catalog(c Catalog) {
	if len(k.problems) > 0 && len(c.Sizes)+len(c.Images) == 0 {
		return // nothing was read; that has been said
	}
	if len(c.Sizes) == 0 {
		k.at("sizes", "at least one size is needed")
	}
	if len(c.Images) == 0 {
		k.at("images", "at least one image is needed")
	}
	k.own = c.Technologies
	k.technologies("technologies", c.Technologies, brought())
	k.sizes(c)
	k.images(c)
}

func (k *checker) sizes(c Catalog) {
	seen, money := map[string]bool{}, ""
	entries := make([]entry, len(c.Sizes))
	for i, s := range c.Sizes {
		at := fmt.Sprintf("sizes[%d]", i)
		if s.Name != "" && seen[s.Name] {
			k.at(at+".name", "%q is the name of another size", s.Name)
		}
		seen[s.Name] = true
		k.size(at, s)
		if money == "" {
			money = s.PricePerHour.Currency
		}
		if s.PricePerHour.Currency != money {
			k.at(at+".pricePerHour.currency", "all prices must be in one currency, this one is not in %s: amounts of "+
				"different currencies are never added", money)
		}
		entries[i] = entry{at, s.Name, s.Hidden, s.Deprecated}
	}
	k.successors("size", entries)
}

func (k *checker) images(c Catalog) {
	seen := map[string]bool{}
	entries := make([]entry, len(c.Images))
	for i, image := range c.Images {
		at := fmt.Sprintf("images[%d]", i)
		if image.Name != "" && seen[image.Name] {
			k.at(at+".name", "%q is the name of another image", image.Name)
		}
		seen[image.Name] = true
		k.image(at, image)
		entries[i] = entry{at, image.Name, image.Hidden, image.Deprecated}
	}
	k.successors("image", entries)
}

// entry is what sizes and images have in common when one follows the other.
type entry struct {
	at, name   string
	hidden     bool
	deprecated *Deprecation
}

// successors asks that what is to be taken instead can be taken: it exists, is on offer, and does not lead back.
func (k *checker) successors(kind string, entries []entry) {
	byName := map[string]entry{}
	for _, e := range entries {
		byName[e.name] = e
	}
	back := circles(byName)
	for _, e := range entries {
		if e.deprecated == nil {
			continue
		}
		if message := e.deprecated.Message; strings.TrimSpace(message) == "" || len(message) > 500 {
			k.at(e.at+".deprecated.message", "a sentence is wanted that says why, at most 500 characters")
		}
		at, name := e.at+".deprecated.successor", e.deprecated.Successor
		next, found := byName[name]
		switch {
		case name == "":
		case name == e.name:
			k.at(at, "%q is the %s itself", name, kind)
		case !found:
			k.at(at, "there is no %s %q", kind, name)
		case next.hidden:
			k.at(at, "the %s %q is hidden: nobody can take it", kind, name)
		case back[e.name]:
			k.at(at, "the successors of %q lead back to it", e.name)
		}
	}
}

// circles are the names that lead back to themselves. Each has one successor at most, so each is walked once.
func circles(byName map[string]entry) map[string]bool {
	in, walk := map[string]bool{}, map[string]int{} // number of the walk that came by first
	n := 0
	for start := range byName {
		n++
		for name := start; ; {
			e, found := byName[name]
			if !found || walk[name] != 0 {
				if found && walk[name] == n {
					closeCircle(byName, name, in)
				}
				break
			}
			walk[name] = n
			if e.deprecated == nil {
				break
			}
			name = e.deprecated.Successor
		}
	}
	return in
}

func closeCircle(byName map[string]entry, name string, in map[string]bool) {
	for !in[name] {
		in[name] = true
		name = byName[name].deprecated.Successor
	}
}

func (k *checker) size(at string, s Size) {
	if !sizeName.MatchString(s.Name) {
		k.at(at+".name", "%q is not a name: small letters, digits, dots and dashes, at most 63, begun and ended by a "+
			"letter or digit", s.Name)
	}
	k.title(at, s.Title)
	k.titles(at, s.Titles)
	cpu := k.quantity(at+".cpu", s.CPU, true)
	memory := k.quantity(at+".memory", s.Memory, true)
	shared := k.quantity(at+".sharedMemory", s.SharedMem, false)
	if !cpu.IsZero() && cpu.MilliValue() > 10_000_000 {
		k.at(at+".cpu", "%q is more than any machine has", s.CPU)
	}
	if !memory.IsZero() && shared.Cmp(memory) > 0 {
		k.at(at+".sharedMemory", "%s does not fit into the memory of %s, against which it counts", s.SharedMem, s.Memory)
	}
	if s.PricePerHour.Minor < 0 {
		k.at(at+".pricePerHour.minor", "a price is not below zero")
	}
	if unit, err := currency.ParseISO(s.PricePerHour.Currency); err != nil || unit.String() != s.PricePerHour.Currency {
		k.at(at+".pricePerHour.currency", "%q is not an ISO 4217 currency such as EUR", s.PricePerHour.Currency)
	}
	k.leases(at, s)
	k.technology(at, s)
	k.placement(at+".placement", s.Placement)
	k.preemptible(at, s)
	if s.LicensePool != "" && !slices.ContainsFunc(k.pools, func(p license.Pool) bool { return p.Name == s.LicensePool }) {
		k.at(at+".licensePool", "there is no license pool %q; known are: %s", s.LicensePool, poolNames(k.pools))
	}
	k.labels(at+".clusters", s.Clusters)
	k.labels(at+".tenants", s.Tenants)
}

func (k *checker) title(at, title string) {
	if strings.TrimSpace(title) == "" || len(title) > 100 || strings.ContainsFunc(title, unicode.IsControl) {
		k.at(at+".title", "a title is wanted: what people read, at most 100 characters on one line")
	}
}

func (k *checker) titles(at string, titles Titles) {
	for _, lang := range slices.Sorted(maps.Keys(titles)) {
		if !slices.ContainsFunc(i18n.Languages, func(tag language.Tag) bool { return tag.String() == lang }) {
			k.at(at+".titles."+lang, "%q is none of the languages of the pages: %v", lang, i18n.Languages)
		}
		k.title(at+".titles."+lang, titles[lang])
	}
}

func (k *checker) quantity(at, text string, needed bool) resource.Quantity {
	if text == "" && !needed {
		return resource.Quantity{}
	}
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() <= 0 {
		k.at(at, "%q is not a quantity above zero, such as 4, 500m or 16Gi", text)
		return resource.Quantity{}
	}
	return q
}

func (k *checker) leases(at string, s Size) {
	switch {
	case s.DefaultLease <= 0:
		k.at(at+".defaultLease", "a length of time above zero is needed, such as 8h")
	case s.MaxLease <= 0:
		k.at(at+".maxLease", "a length of time above zero is needed, such as 7d")
	case s.DefaultLease > s.MaxLease:
		k.at(at+".defaultLease", "%s is longer than the longest lease, %s", s.DefaultLease, s.MaxLease)
	}
}

func (k *checker) labels(at string, names []string) {
	for i, name := range names {
		switch {
		case len(validation.IsDNS1123Label(name)) > 0:
			k.at(fmt.Sprintf("%s[%d]", at, i), "%q is not a DNS label", name)
		case slices.Contains(names[:i], name):
			k.at(fmt.Sprintf("%s[%d]", at, i), "%q stands here twice", name)
		}
	}
}

// reference is an image at a registry that is named, without user, pinned by digest: what was approved is what runs.
// The grammar is that of the distribution project, narrower where it would allow a host to be guessed.
var (
	reference = regexp.MustCompile(`^` + nameAndTag + digest + `$`)
	tagged    = regexp.MustCompile(`^` + nameAndTag + `$`)
)

const (
	nameAndTag = `(localhost|[a-z0-9]+([.-][a-z0-9]+)*\.[a-z0-9]+|[a-z0-9]+([.-][a-z0-9]+)*:[0-9]{1,5})(:[0-9]{1,5})?` +
		`(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)+(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?`
	digest = `@sha256:[0-9a-f]{64}`
)

// Pinned reports whether a text names an image with registry and digest.
func Pinned(text string) bool { return len(text) <= 400 && reference.MatchString(text) }

// Tagged reports whether a text names an image with registry and, but for the latest, tag, and without digest.
func Tagged(text string) bool { return len(text) <= 400 && tagged.MatchString(text) }

// Repository is the part of a reference that names registry and repository, without tag and digest.
func Repository(ref string) string {
	name, _, _ := strings.Cut(ref, "@")
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		name = name[:i]
	}
	return name
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (k *checker) image(at string, i Image) {
	if len(validation.IsDNS1123Label(i.Name)) > 0 {
		k.at(at+".name", "%q is not a name: small letters, digits and dashes, at most 63", i.Name)
	}
	k.title(at, i.Title)
	k.titles(at, i.Titles)
	if !slices.Contains(WorkloadKinds(), i.Kind) {
		k.at(at+".kind", "%q is none of notebook, endpoint, job", i.Kind)
	}
	if !Pinned(i.Reference) && (i.Reference != "" || !i.OnServingRuntime()) {
		k.at(at+".reference", "%q does not name an image with registry and digest, such as "+
			"quay.io/jupyter/base-notebook:tag@sha256:…", i.Reference)
	}
	for _, name := range slices.Sorted(maps.Keys(i.Env)) {
		k.variable(at+".env."+name, name)
		if name == i.TokenEnv {
			k.at(at+".env."+name, "the workload's own secret goes into this variable")
		}
	}
	if i.TokenEnv != "" {
		k.variable(at+".tokenEnv", i.TokenEnv)
	}
	switch {
	case i.Auth != "" && i.Auth != "token" && i.Auth != "bearer":
		k.at(at+".auth", "%q is none of token, bearer", i.Auth)
	case (i.Auth == "") != (i.TokenEnv == ""):
		k.at(at+".auth", "auth and tokenEnv belong together: the program must know the secret that the gateway shows")
	}
	k.answers(at, i)
	k.ssh(at+".ssh", i)
	k.ports(at+".ports", i)
	k.runtime(at, i)
	k.backend(at+".backend", i)
	if i.Home != "" && !homeAllowed(i.Home) {
		k.at(at+".home", "%q is not a directory where storage can be mounted", i.Home)
	}
	if i.RunAsUser != nil && *i.RunAsUser < 1 || i.FSGroup != nil && *i.FSGroup < 1 {
		k.at(at+".runAsUser", "user and group must be above 0: nothing runs as root")
	}
	k.labels(at+".tenants", i.Tenants)
}

// variable refuses those by which an image reaches past its share: what the NVIDIA runtime injects, and what the loader
// loads first.
func (k *checker) variable(at, name string) {
	switch {
	case !VariableName(name):
		k.at(at, "%q is not the name of a variable", name)
	case ReservedVariable(name):
		k.at(at, "%s must not be set here: it decides which GPUs and libraries a container gets", name)
	}
}

// VariableName reports whether a text can name a variable.
func VariableName(name string) bool { return len(name) <= 200 && variable.MatchString(name) }

// ReservedVariable reports whether a variable decides which GPUs and libraries a container gets.
func ReservedVariable(name string) bool {
	upper := strings.ToUpper(name)
	return strings.HasPrefix(upper, "NVIDIA_") || strings.HasPrefix(upper, "LD_")
}

// backend is what makes the pods of a job; that of an endpoint is its runtime's.
func (k *checker) backend(at string, i Image) {
	switch {
	case i.Backend == "":
	case i.Kind != Job:
		k.at(at, "only an image of kind job has a backend of its own; that of an endpoint stands in its runtime")
	case !slices.Contains(JobBackends(), i.Backend):
		k.at(at, "%q is none of %s", i.Backend, listed(JobBackends()))
	}
}

func (k *checker) answers(at string, i Image) {
	if i.Kind == Job {
		if i.Port != 0 || i.HealthPath != "" || i.OpenPath != "" || i.TokenEnv != "" || i.Auth != "" {
			k.at(at+".port", "a job answers nowhere: leave out port, healthPath, openPath, tokenEnv and auth")
		}
		return
	}
	if i.Port == 0 && len(i.PortNames()) > 0 && i.Kind == Notebook {
		if i.HealthPath != "" || i.OpenPath != "" || i.Auth != "" {
			k.at(at+".port", "healthPath, openPath and auth are of an image with pages: say on which port")
		}
		return
	}
	if i.Port < 1 || i.Port > 65535 {
		k.at(at+".port", "%d is not a port: 1 to 65535", i.Port)
	}
	if !localPath(i.HealthPath) && (i.HealthPath != "" || !i.OnServingRuntime()) {
		k.at(at+".healthPath", "%q is not a path such as /health", i.HealthPath)
	}
	if i.OpenPath != "" && !localPath(i.OpenPath) {
		k.at(at+".openPath", "%q is not a path such as /lab", i.OpenPath)
	}
}

// account is a name that needs no quoting in a command line or in the configuration of ssh.
var account = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`)

func (k *checker) ssh(at string, i Image) {
	switch {
	case i.SSH == nil:
	case i.Kind != Notebook:
		k.at(at, "only a notebook can have an SSH server")
	case i.SSH.Port < 1 || i.SSH.Port > 65535:
		k.at(at+".port", "%d is not a port: 1 to 65535", i.SSH.Port)
	case i.SSH.Port == i.Port:
		k.at(at+".port", "%d is the port of its pages: an SSH server has another one", i.SSH.Port)
	case !account.MatchString(i.SSH.User):
		k.at(at+".user", "%q is not the name of an account, such as jovyan", i.SSH.User)
	}
}

// mostPorts of an image are few enough for a page and a network policy.
const mostPorts = 16

// ports have names as those of a Service have, and numbers of their own.
func (k *checker) ports(at string, i Image) {
	switch {
	case len(i.Ports) == 0:
		return
	case i.Kind != Notebook:
		k.at(at, "only a notebook can have further TCP ports")
		return
	case len(i.Ports) > mostPorts:
		k.at(at, "these are %d, and at most %d are possible", len(i.Ports), mostPorts)
	}
	taken := map[int32]bool{i.Port: true}
	if i.SSH != nil {
		taken[i.SSH.Port] = true
	}
	for _, name := range slices.Sorted(maps.Keys(i.Ports)) {
		port := i.Ports[name]
		switch {
		case len(validation.IsValidPortName(name)) > 0:
			k.at(at+"."+name, "%q cannot name a port: small letters, digits and dashes, at most 15, a letter among them", name)
		case slices.Contains(reservedPorts, name):
			k.at(at+"."+name, "%q is the name of a port that the image has otherwise", name)
		case port < 1 || port > 65535:
			k.at(at+"."+name, "%d is not a port: 1 to 65535", port)
		case taken[port]:
			k.at(at+"."+name, "%d is another port of the image as well", port)
		}
		taken[port] = true
	}
}

// reservedPorts are the names of ports that pods have for what else an image says.
var reservedPorts = []string{"http", "metrics", SSHPort}

// localPath is a path on the same host: it begins with one slash, and neither it nor a browser that reads it can lead
// elsewhere.
func localPath(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "" && u.Host == "" && u.User == nil && len(text) <= 200 &&
		strings.HasPrefix(text, "/") &&
		!strings.HasPrefix(text, "//") && !strings.Contains(text, "..") && !strings.ContainsAny(text, "\\ ") &&
		!strings.ContainsFunc(text, unicode.IsControl)
}

// taken are directories that belong to the system or that the portal mounts itself.
var taken = []string{"/dev", "/proc", "/sys", "/etc", "/tmp", "/bin", "/sbin", "/lib", "/lib64", "/usr", "/boot",
	"/run", "/var", "/shared"}

func homeAllowed(dir string) bool {
	if !path.IsAbs(dir) || path.Clean(dir) != dir || dir == "/" || strings.ContainsAny(dir, ": ") ||
		strings.ContainsFunc(dir, unicode.IsControl) {
		return false
	}
	return !slices.ContainsFunc(taken, func(t string) bool { return dir == t || strings.HasPrefix(dir, t+"/") })
}

func poolNames(pools []license.Pool) string {
	if len(pools) == 0 {
		return "none"
	}
	names := make([]string, len(pools))
	for i, p := range pools {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}
