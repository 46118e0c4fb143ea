package secret

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// DockerConfig is the file of a registry secret: what a kubelet reads of an imagePullSecret. It is not mounted.
const DockerConfig = "config.json"

// dockerHub has other names for its images, its API, and what kubelets look its password up by.
const (
	dockerHub    = "docker.io"
	dockerHubAPI = "registry-1.docker.io"
	dockerHubKey = "https://index.docker.io/v1/"
)

// dockerConfig is the password of one registry in the form of Docker's config.json.
func dockerConfig(v map[string]string) string {
	host := v["host"]
	if host == dockerHub {
		host = dockerHubKey
	}
	type auth struct {
		Username string `json:"username"`
		Password string `json:"password"`
		Auth     string `json:"auth"`
	}
	text, _ := json.Marshal(map[string]map[string]auth{"auths": {host: {v["user"], v["password"], // texts: never fails
		base64.StdEncoding.EncodeToString([]byte(v["user"] + ":" + v["password"]))}}})
	return string(text)
}

// RegistryOf is the host that an image is pulled from.
func RegistryOf(reference string) string {
	first, _, more := strings.Cut(reference, "/")
	if !more || !strings.ContainsAny(first, ".:") && first != "localhost" {
		return dockerHub
	}
	return strings.ToLower(first)
}

// ForImage is the team's secret with which an image is pulled; false for none.
func ForImage(ofTeam []Secret, reference string) (Secret, bool) {
	host := RegistryOf(reference)
	for _, s := range ofTeam {
		if s.OfTeam() && s.Kind == Registry && s.About["host"] == host {
			return s, true
		}
	}
	return Secret{}, false
}

// PullUse is the secret with which the image of a workload is pulled; false for none.
func PullUse(w workload.Workload) (workload.SecretUse, bool) {
	for _, u := range w.Secrets {
		if u.Pulls() {
			return u, true
		}
	}
	return workload.SecretUse{}, false
}

// What came of asking a registry.
var (
	errRefused = errors.New("the registry refuses user and password")
	errSilent  = errors.New("the registry gives no answer that can be used")
)

var challenge = regexp.MustCompile(`([a-z]+)="([^"]*)"`)

// signIn asks a registry whether it takes user and password, as the distribution specification has it: the API says
// where tokens are given, or takes the password itself. Nothing of the answers is told: they come from a host that
// somebody typed.
func signIn(ctx context.Context, client *http.Client, scheme string, v map[string]string) error {
	host := v["host"]
	if host == dockerHub {
		host = dockerHubAPI
	}
	api := scheme + "://" + host + "/v2/"
	status, header, err := ask(ctx, client, api, "", "")
	if err != nil {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	kind, parameters, _ := strings.Cut(header.Get("WWW-Authenticate"), " ")
	switch {
	case status == http.StatusOK:
		return nil // it asks nobody; some do so only for what is private
	case status != http.StatusUnauthorized:
		return errSilent
	case strings.EqualFold(kind, "Basic"):
		status, _, err = ask(ctx, client, api, v["user"], v["password"])
	case strings.EqualFold(kind, "Bearer"):
		given := map[string]string{}
		for _, pair := range challenge.FindAllStringSubmatch(parameters, -1) {
			given[pair[1]] = pair[2]
		}
		realm, parseErr := url.Parse(given["realm"])
		if parseErr != nil || realm.Host == "" || realm.User != nil || scheme == "https" && realm.Scheme != "https" {
			return errSilent // the password does not leave by another way than it came in
		}
		q := realm.Query()
		q.Set("account", v["user"])
		if given["service"] != "" {
			q.Set("service", given["service"])
		}
		realm.RawQuery = q.Encode()
		status, _, err = ask(ctx, client, realm.String(), v["user"], v["password"])
	default:
		return errSilent
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errSilent, err)
	case status == http.StatusOK:
		return nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusBadRequest:
		return errRefused
	}
	return errSilent
}

func ask(ctx context.Context, client *http.Client, address, user, password string) (int, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, errSilent
	}
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	return answer.StatusCode, answer.Header, nil
}
