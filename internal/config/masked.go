package config

import (
	"encoding/json"
	"net/url"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// mask stands for a secret in what is shown.
const mask = "********"

// Masked is the settings as YAML with every secret replaced: for a support bundle.
func (c Config) Masked() (string, error) {
	tree, _, err := c.masked()
	if err != nil {
		return "", err
	}
	text, err := yaml.Marshal(tree)
	return string(text), err
}

// Secrets are the secrets that the settings hold or name a file of, so that they can be taken out of messages. A file
// that cannot be read has none to give.
func (c Config) Secrets() []string {
	_, m, err := c.masked()
	if err != nil {
		return nil
	}
	for _, k := range c.Clusters {
		if k.Added != nil {
			m.found = append(m.found, k.Added.Secrets...)
		}
	}
	return m.found
}

func (c Config) masked() (any, *masker, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, nil, err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, nil, err
	}
	m := &masker{}
	if c.SecretKeyFile == "" { // see secretKey of internal/app
		if path, embedded := strings.CutPrefix(c.Database, "sqlite:"); embedded {
			m.file(keyBeside(path))
		}
	}
	return m.value("", tree), m, nil
}

func keyBeside(database string) string {
	if i := strings.LastIndexByte(database, '/'); i >= 0 {
		return database[:i+1] + "portal.key"
	}
	return "portal.key"
}

type masker struct{ found []string }

// secretParts are what a key of the settings has in its name whose value is a secret, publicFiles the files that are
// none.
var (
	secretParts = []string{"secret", "password", "apikey", "token", "credential"}
	publicFiles = []string{"cafile", "catalogfile"}
	// maps whose values are the site's own, such as {X-Scope-OrgID: gpu}, and may be credentials
	secretMaps = []string{"headers", "params"}
)

func (m *masker) value(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if slices.Contains(secretMaps, strings.ToLower(key)) {
				v[name] = m.all(inner)
				continue
			}
			v[name] = m.value(name, inner)
		}
		return v
	case []any:
		for i := range v {
			v[i] = m.value(key, v[i])
		}
		return v
	case string:
		return m.text(strings.ToLower(key), v)
	}
	return v
}

// all masks everything below.
func (m *masker) all(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = m.all(v[i])
		}
		return v
	case string:
		m.note(v)
		return mask
	}
	return v
}

func (m *masker) text(key, text string) string {
	if text == "" {
		return ""
	}
	secret := slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(key, part) })
	switch {
	case strings.HasSuffix(key, "file"):
		if !slices.Contains(publicFiles, key) {
			m.file(text)
		}
		return text
	case key == "kubeconfig":
		return text // a path; what is in it is not told by the API server
	case secret:
		m.note(text)
		return mask
	}
	return m.address(text)
}

// address masks the password of an address, and every parameter that looks like one.
func (m *masker) address(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		m.note(text)
		return mask
	}
	changed := false
	if password, has := u.User.Password(); has {
		m.note(password)
		u.User, changed = url.UserPassword(u.User.Username(), mask), true
	}
	q := u.Query()
	for name, values := range q {
		if slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(strings.ToLower(name), part) }) {
			for i := range values {
				m.note(values[i])
				values[i] = mask
			}
			changed = true
		}
	}
	if !changed {
		return text
	}
	u.RawQuery = q.Encode()
	return strings.NewReplacer(url.QueryEscape(mask), mask, url.PathEscape(mask), mask).Replace(u.String())
}

func (m *masker) note(secret string) {
	if secret = strings.TrimSpace(secret); secret != "" && secret != mask {
		m.found = append(m.found, secret)
	}
}

// file notes what is in a file of one secret.
func (m *masker) file(path string) {
	info, err := os.Stat(path)
	if err != nil || info.Size() > 64<<10 {
		return
	}
	if text, err := os.ReadFile(path); err == nil {
		m.note(string(text))
	}
}
