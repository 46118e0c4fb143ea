// Package registry asks OCI registries two questions: does it take this password (Client.SignIn), and which digest is
// behind this tag (Client.Resolve). Both speak as the OCI distribution specification has it
// (https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md): the API says where tokens are given, or
// takes the password itself. Nothing that a registry writes is shown to anybody: its host is one that somebody typed.
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

// answerWithin bounds a question, which is up to five calls: somebody waits for it in front of a form.
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
	Digest string // "sha256:" and 64 hexadecimal digits
	// Platforms are what it runs on, "linux/amd64"; none where the registry does not say, as of an image for one platform
	Platforms []string
}

// kinds are the media types of manifests that container runtimes take.
var kinds = []string{"application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json",
	"application/vnd.docker.distribution.manifest.list.v2+json", "application/vnd.docker.distribution.manifest.v2+json"}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Resolve asks for the digest of a tag: "registry.example.org/team/image:1.4", "latest" where no tag is named.
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
	switch {
	case err != nil:
		return Manifest{}, fmt.Errorf("%w: %w", ErrSilent, err)
	case answer.status == http.StatusNotFound:
		return Manifest{}, ErrMissing
	case refuses(answer.status) && a.User == "":
		return Manifest{}, ErrMissing // to those without a password what is private is not there
	case refuses(answer.status):
		return Manifest{}, ErrRefused
	case answer.status != http.StatusOK || !digestForm.MatchString(answer.header.Get("Docker-Content-Digest")):
		return Manifest{}, ErrSilent
	}
	m := Manifest{Digest: answer.header.Get("Docker-Content-Digest")}
	if answer, err = c.ask(ctx, http.MethodGet, address+m.Digest, header); err == nil && answer.status == http.StatusOK {
		m.Platforms = platforms(answer.body, m.Digest)
	}
	return m, nil
}

// parts are a reference's host, repository and tag.
func parts(reference string) (host, repository, tag string) {
	host = HostOf(reference)
	repository = reference
	if first, rest, _ := strings.Cut(reference, "/"); strings.EqualFold(first, host) {
		repository = rest
	}
	repository, _, _ = strings.Cut(repository, "@")
	tag = "latest"
	if i := strings.LastIndex(repository, ":"); i > strings.LastIndex(repository, "/") {
		repository, tag = repository[:i], repository[i+1:]
	}
	if host == DockerHub && !strings.Contains(repository, "/") {
		repository = "library/" + repository
	}
	return host, repository, tag
}

// platforms are those of an index; none of what is no index, or not what the digest says.
func platforms(body []byte, digest string) []string {
	sum := sha256.Sum256(body)
	if "sha256:"+hex.EncodeToString(sum[:]) != digest {
		return nil
	}
	var index struct {
		Manifests []struct {
			Platform struct {
				OS           string `json:"os"`
				Architecture string `json:"architecture"`
			} `json:"platform"`
		} `json:"manifests"`
	}
	if json.Unmarshal(body, &index) != nil {
		return nil
	}
	var list []string
	for _, m := range index.Manifests {
		// attestations stand beside the images, as of an unknown platform
		if m.Platform.OS != "" && m.Platform.OS != "unknown" {
			list = append(list, m.Platform.OS+"/"+m.Platform.Architecture)
		}
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

// mostAnswer bounds what is read of an answer: manifests have a few KiB.
const mostAnswer = 64 << 10

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
