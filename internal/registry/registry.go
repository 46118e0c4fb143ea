// Package registry asks OCI registries two questions: does it take this password (Client.SignIn), and what is behind
// this tag (Client.Resolve): digest, platforms, user and ports of an image. Both speak as the OCI distribution
// specification has it (https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md): the API says where
// tokens are given, or takes the password itself. Of what a registry writes only these parts of an image are shown to
// people: its host is one that somebody typed.
package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DockerHub has other names for its images, its API, and what kubelets look its password up by.
const (
	DockerHub    = "docker.io"
	dockerHubAPI = "registry-1.docker.io"
)

// What came of asking a registry.
var (
	ErrRefused = errors.New("the registry refuses user and password")
	ErrSilent  = errors.New("the registry gives no answer that can be used")
	ErrMissing = errors.New("the registry has no such image, or shows it to others only")
)

// HostOf is the host that an image is pulled from.
func HostOf(reference string) string {
	first, _, more := strings.Cut(reference, "/")
	if !more || !strings.ContainsAny(first, ".:") && first != "localhost" {
		return DockerHub
	}
	return strings.ToLower(first)
}

// Account is who asks; without a user anybody.
type Account struct{ User, Password string }

// Client asks registries. HTTP must call nothing inside that is not meant, and follow no redirect.
type Client struct {
	HTTP   *http.Client
	Scheme string // https where empty; http is for tests
}

// answerWithin bounds a question, which is up to seven calls: somebody waits for it in front of a form.
const answerWithin = 20 * time.Second

// SignIn asks a registry whether it takes user and password: ErrRefused or ErrSilent where not.
func (c Client) SignIn(ctx context.Context, host string, a Account) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	answer, err := c.ask(ctx, http.MethodGet, c.api(host), nil)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrSilent, err)
	case answer.status == http.StatusOK:
		return nil // it asks nobody; some do so only for what is private
	case answer.status != http.StatusUnauthorized:
		return ErrSilent
	}
	credentials, err := c.credentials(ctx, answer.header, a, "")
	if err != nil || strings.HasPrefix(credentials, "Bearer") {
		return err
	}
	answer, err = c.ask(ctx, http.MethodGet, c.api(host), http.Header{"Authorization": {credentials}})
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrSilent, err)
	case answer.status == http.StatusOK:
		return nil
	case refuses(answer.status):
		return ErrRefused
	}
	return ErrSilent
}

// refuses reports whether a status is a registry's no to a password.
func refuses(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusBadRequest
}

// Manifest is what a tag leads to.
type Manifest struct {
	Digest    string   // "sha256:" and 64 hexadecimal digits
	Platforms []string // what it runs on, "linux/amd64"; none where the registry does not say
	Config    *Config  // of the image for linux/amd64, or the first for Linux; nil where it could not be read
}

// Config is what an image says of how it is run. Source:
// https://github.com/opencontainers/image-spec/blob/v1.1.1/config.md
type Config struct {
	User     string  // "1000", "1000:100", "jovyan"; "" is root
	Ports    []int32 // TCP ports that it exposes, in order; what listens may be others
	Platform string  // "linux/amd64"
}

// kinds are the media types of manifests that container runtimes take.
var kinds = []string{"application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json",
	"application/vnd.docker.distribution.manifest.list.v2+json", "application/vnd.docker.distribution.manifest.v2+json"}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Resolve asks for the digest of a tag: "registry.example.org/team/image:1.4", "latest" where no tag is named, or about
// the digest that is.
// ErrMissing, ErrRefused or ErrSilent where there is none.
func (c Client) Resolve(ctx context.Context, reference string, a Account) (Manifest, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	host, repository, tag := parts(reference)
	address := c.api(host) + repository + "/manifests/"
	header := http.Header{"Accept": kinds}
	answer, err := c.ask(ctx, http.MethodHead, address+tag, header)
	if err == nil && answer.status == http.StatusUnauthorized {
		var credentials string
		if credentials, err = c.credentials(ctx, answer.header, a, "repository:"+repository+":pull"); err != nil {
			return Manifest{}, err
		}
		header.Set("Authorization", credentials)
		answer, err = c.ask(ctx, http.MethodHead, address+tag, header)
	}
	m := Manifest{Digest: tag}
	if !digestForm.MatchString(tag) {
		m.Digest = answer.header.Get("Docker-Content-Digest")
	}
	switch {
	case err != nil:
		return Manifest{}, fmt.Errorf("%w: %w", ErrSilent, err)
	case answer.status == http.StatusNotFound:
		return Manifest{}, ErrMissing
	case refuses(answer.status) && a.User == "":
		return Manifest{}, ErrMissing // to those without a password what is private is not there
	case refuses(answer.status):
		return Manifest{}, ErrRefused
	case answer.status != http.StatusOK || !digestForm.MatchString(m.Digest):
		return Manifest{}, ErrSilent
	}
	text, ok := c.content(ctx, address+m.Digest, m.Digest, header)
	if !ok {
		return m, nil
	}
	images := imagesOf(text)
	m.Platforms = platforms(images)
	if i := slices.IndexFunc(images, wanted(images)); i >= 0 {
		if text, ok = c.content(ctx, address+images[i].Digest, images[i].Digest, header); !ok {
			return m, nil
		}
	}
	var image struct {
		Config struct {
			Digest string `json:"digest"`
		} `json:"config"`
	}
	if json.Unmarshal(text, &image) == nil && digestForm.MatchString(image.Config.Digest) {
		if text, ok = c.content(ctx, c.api(host)+repository+"/blobs/"+image.Config.Digest, image.Config.Digest,
			header); ok {
			m.Config = configOf(text)
		}
	}
	if m.Config != nil && len(m.Platforms) == 0 {
		m.Platforms = []string{m.Config.Platform}
	}
	return m, nil
}

// content is what a digest names; false where it is not to be had, or is something else.
func (c Client) content(ctx context.Context, address, digest string, header http.Header) ([]byte, bool) {
	answer, err := c.ask(ctx, http.MethodGet, address, header)
	if to := elsewhere(answer, address); err == nil && to != "" {
		answer, err = c.ask(ctx, http.MethodGet, to, nil) // to the store of blobs, which needs no credentials of ours
	}
	sum := sha256.Sum256(answer.body)
	return answer.body, err == nil && answer.status == http.StatusOK && "sha256:"+hex.EncodeToString(sum[:]) == digest
}

// elsewhere is where a registry says that a blob is; "" where it has sent it, or says nothing that may be followed.
func elsewhere(a answer, from string) string {
	if a.status != http.StatusTemporaryRedirect && a.status != http.StatusFound && a.status != http.StatusSeeOther &&
		a.status != http.StatusPermanentRedirect && a.status != http.StatusMovedPermanently {
		return ""
	}
	base, err := url.Parse(from)
	if err != nil {
		return ""
	}
	to, err := base.Parse(a.header.Get("Location"))
	if err != nil || to.Host == "" || to.User != nil || to.Scheme != base.Scheme {
		return ""
	}
	return to.String()
}

// configOf reads the configuration of an image; nil where it is none.
func configOf(text []byte) *Config {
	var image struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
		Config       struct {
			User         string              `json:"User"`
			ExposedPorts map[string]struct{} `json:"ExposedPorts"`
		} `json:"config"`
	}
	if json.Unmarshal(text, &image) != nil || image.OS == "" {
		return nil
	}
	c := Config{User: image.Config.User, Platform: image.OS + "/" + image.Architecture}
	for exposed := range image.Config.ExposedPorts { // "8888/tcp", "53/udp", "8080"
		number, protocol, _ := strings.Cut(exposed, "/")
		if n, err := strconv.ParseUint(number, 10, 16); err == nil && n > 0 && (protocol == "" || protocol == "tcp") {
			c.Ports = append(c.Ports, int32(n))
		}
	}
	slices.Sort(c.Ports)
	return &c
}

// RootUser says why a kubelet refuses to start the image where runAsNonRoot is set and no user is given: it names none
// or root, or a user by a name, of which the kubelet cannot know that it is not root. Source: verifyRunAsNonRoot in
// https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/kuberuntime/security_context.go
func (c Config) RootUser() bool {
	user, _, _ := strings.Cut(c.User, ":")
	id, err := strconv.ParseInt(user, 10, 64)
	return err != nil || id == 0
}

// parts are a reference's host, repository, and digest or else tag.
func parts(reference string) (host, repository, tag string) {
	host = HostOf(reference)
	repository = reference
	if first, rest, _ := strings.Cut(reference, "/"); strings.EqualFold(first, host) {
		repository = rest
	}
	repository, digest, _ := strings.Cut(repository, "@")
	tag = "latest"
	if i := strings.LastIndex(repository, ":"); i > strings.LastIndex(repository, "/") {
		repository, tag = repository[:i], repository[i+1:]
	}
	if host == DockerHub && !strings.Contains(repository, "/") {
		repository = "library/" + repository
	}
	if digest != "" {
		tag = digest
	}
	return host, repository, tag
}

// indexed is one image of an index.
type indexed struct {
	Digest   string `json:"digest"`
	Platform struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
	} `json:"platform"`
}

func (i indexed) platform() string { return i.Platform.OS + "/" + i.Platform.Architecture }

// imagesOf are those of an index; none of what is no index.
func imagesOf(text []byte) []indexed {
	var index struct {
		Manifests []indexed `json:"manifests"`
	}
	_ = json.Unmarshal(text, &index)
	// attestations stand beside the images, as of an unknown platform
	return slices.DeleteFunc(index.Manifests, func(i indexed) bool {
		return i.Platform.OS == "" || i.Platform.OS == "unknown"
	})
}

// wanted finds the image that most clusters would run.
func wanted(images []indexed) func(indexed) bool {
	const most = "linux/amd64"
	hasMost := slices.ContainsFunc(images, func(i indexed) bool { return i.platform() == most })
	return func(i indexed) bool {
		return digestForm.MatchString(i.Digest) && (i.platform() == most || !hasMost && i.Platform.OS == "linux")
	}
}

func platforms(images []indexed) []string {
	var list []string
	for _, i := range images {
		list = append(list, i.platform())
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (c Client) api(host string) string {
	if host == DockerHub {
		host = dockerHubAPI
	}
	return c.scheme() + "://" + host + "/v2/"
}

func (c Client) scheme() string {
	if c.Scheme != "" {
		return c.Scheme
	}
	return "https"
}

var challenge = regexp.MustCompile(`([a-z]+)="([^"]*)"`)

// credentials are the Authorization header that a challenge asks for: the password itself, or a token for a scope.
func (c Client) credentials(ctx context.Context, asked http.Header, a Account, scope string) (string, error) {
	kind, parameters, _ := strings.Cut(asked.Get("WWW-Authenticate"), " ")
	switch {
	case strings.EqualFold(kind, "Basic"):
		if a.User == "" {
			return "", ErrMissing
		}
		return basic(a), nil
	case !strings.EqualFold(kind, "Bearer"):
		return "", ErrSilent
	}
	given := map[string]string{}
	for _, pair := range challenge.FindAllStringSubmatch(parameters, -1) {
		given[pair[1]] = pair[2]
	}
	realm, err := url.Parse(given["realm"])
	if err != nil || realm.Host == "" || realm.User != nil || c.scheme() == "https" && realm.Scheme != "https" {
		return "", ErrSilent // the password does not leave by another way than it came in
	}
	q, header := realm.Query(), http.Header{}
	if a.User != "" {
		q.Set("account", a.User)
		header.Set("Authorization", basic(a))
	}
	if given["service"] != "" {
		q.Set("service", given["service"])
	}
	if scope != "" {
		q.Set("scope", scope)
	}
	realm.RawQuery = q.Encode()
	answer, err := c.ask(ctx, http.MethodGet, realm.String(), header)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrSilent, err)
	case refuses(answer.status) && a.User == "":
		return "", ErrMissing
	case refuses(answer.status):
		return "", ErrRefused
	case answer.status != http.StatusOK:
		return "", ErrSilent
	}
	return bearer(answer.body), nil
}

// bearer is the header with a token of a token server, which may call it by either of two names. An
// answer without a token is a header too, which the registry then refuses.
func bearer(body []byte) string {
	var given struct {
		Token  string `json:"token"`
		Access string `json:"access_token"`
	}
	_ = json.Unmarshal(body, &given)
	if given.Token == "" {
		given.Token = given.Access
	}
	return "Bearer " + given.Token
}

func basic(a Account) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(a.User, a.Password)
	return r.Header.Get("Authorization")
}

// mostAnswer bounds what is read of an answer: manifests have a few KiB, the configuration of an image with its history
// some hundred.
const mostAnswer = 1 << 20

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (c Client) ask(ctx context.Context, method, address string, header http.Header) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return answer{}, ErrSilent
	}
	for name, values := range header {
		r.Header[name] = values
	}
	response, err := c.HTTP.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	return answer{response.StatusCode, response.Header, body}, err
}
