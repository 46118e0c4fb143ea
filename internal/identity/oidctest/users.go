package oidctest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
)

// ReadUsers reads a JSON array of users from a file.
func ReadUsers(file string) ([]User, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	var users []User
	if err := json.Unmarshal(data, &users); err != nil {
		return nil, fmt.Errorf("read users from %s: %w", file, err)
	}
	return users, nil
}

// user finds a person by subject; false when the provider does not know them (any more).
func (p *Provider) user(subject string) (User, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.users, func(u User) bool { return u.Subject == subject })
	if at < 0 {
		return User{}, false
	}
	u := p.users[at]
	u.Groups = slices.Clone(u.Groups)
	return u, true
}

func (p *Provider) everybody() []User {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.users)
}

// SetUser adds a person, or replaces the one with the same subject: another e-mail address, other groups.
func (p *Provider) SetUser(user User) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.users, func(u User) bool { return u.Subject == user.Subject })
	if at < 0 {
		p.users = append(p.users, user)
		return
	}
	p.users[at] = user
}

// SetGroups changes the groups of a person from now on. Nothing happens when the provider does not know them.
func (p *Provider) SetGroups(subject string, groups ...string) {
	if u, ok := p.user(subject); ok {
		u.Groups = append([]string{}, groups...)
		p.SetUser(u)
	}
}

// DisableUser switches an account off at the provider, or on again: no refresh, told in Keycloak's words.
func (p *Provider) DisableUser(subject string, disabled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disabled[subject] = disabled
}

func (p *Provider) isDisabled(subject string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.disabled[subject]
}

// RefreshTokens are those that are good now, for tests that look where they went.
func (p *Provider) RefreshTokens() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.refresh))
}

// EndSignIns makes all refresh tokens that were given so far worthless, as when the provider's own sessions end.
func (p *Provider) EndSignIns() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.refresh)
}

// RemoveUser makes the provider forget a person: no new sign-in, no refresh, no answer for their access tokens.
func (p *Provider) RemoveUser(subject string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users = slices.DeleteFunc(p.users, func(u User) bool { return u.Subject == subject })
}
