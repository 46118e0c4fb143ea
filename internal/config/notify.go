package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/notify"
)

// Notify says how people are told of things.
type Notify struct {
	Language string `json:"language,omitempty"` // of messages to those who chose none: en, de, zh, ko; default en
	Mail     *Mail  `json:"mail,omitempty"`     // the mail server; default none, and no mail is sent
	// hosts that chat and webhook addresses may name, "hooks.slack.com" or "*.example.org"; default every public one
	Hosts []string `json:"hosts,omitempty"`
	// private CIDRs that such addresses may lead to, also without TLS; default none
	Networks []string `json:"networks,omitempty"`
}

// Mail is the site's mail server.
type Mail struct {
	Host         string `json:"host"`                   // name of the server; needed
	Port         int    `json:"port,omitempty"`         // TCP port; default 587, with tls 465, with none 25
	From         string `json:"from"`                   // sender, "GPU Portal <gpu@example.org>"; needed
	Username     string `json:"username,omitempty"`     // for SMTP authentication; default none, no authentication
	Password     string `json:"password,omitempty"`     // for tests; use passwordFile
	PasswordFile string `json:"passwordFile,omitempty"` // file with the password
	TLS          string `json:"tls,omitempty"`          // starttls, tls or none; default starttls
}

func (n Notify) problems() []error {
	var all []error
	add := func(format string, args ...any) { all = append(all, fmt.Errorf("notify."+format, args...)) }
	if n.Language != "" && !slices.Contains(notify.Languages(), n.Language) {
		add("language: %q is none of %v", n.Language, notify.Languages())
	}
	for _, h := range n.Hosts {
		if h == "" || strings.ContainsAny(h, "/: ") || strings.Contains(strings.TrimPrefix(h, "*."), "*") {
			add("hosts: %q is not a name such as hooks.example.org or *.example.org", h)
		}
	}
	for _, cidr := range n.Networks {
		if _, err := netip.ParsePrefix(cidr); err != nil {
			add("networks: %q is not a network such as 10.0.0.0/8", cidr)
		}
	}
	if n.Mail == nil {
		return all
	}
	if n.Mail.Host == "" {
		add("mail.host: it is missing")
	}
	if from, err := mail.ParseAddress(n.Mail.From); err != nil || !strings.Contains(from.Address, "@") {
		add("mail.from: %q is not an address such as GPU Portal <gpu@example.org>", n.Mail.From)
	}
	if n.Mail.Port < 0 || n.Mail.Port > 65535 {
		add("mail.port: %d is no port", n.Mail.Port)
	}
	if !slices.Contains([]string{"", "starttls", "tls", "none"}, n.Mail.TLS) {
		add("mail.tls: %q is none of starttls, tls, none", n.Mail.TLS)
	}
	if _, err := n.Mail.secret(); err != nil {
		add("mail.%w", err)
	}
	if n.Mail.TLS == "none" && n.Mail.Username != "" {
		add("mail.tls: with none the password would cross the network in the clear")
	}
	return all
}

func (m Mail) secret() (string, error) {
	if m.PasswordFile == "" {
		return m.Password, nil
	}
	if m.Password != "" {
		return "", errors.New("password and passwordFile: only one of them can be meant")
	}
	text, err := os.ReadFile(m.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("passwordFile: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Server is the mail server as notify takes it, nil for none; the settings were checked before.
func (n Notify) Server() *notify.MailServer {
	if n.Mail == nil {
		return nil
	}
	secret, _ := n.Mail.secret()
	tls := cmp.Or(n.Mail.TLS, "starttls")
	port := cmp.Or(n.Mail.Port, map[string]int{"starttls": 587, "tls": 465, "none": 25}[tls])
	return &notify.MailServer{Host: n.Mail.Host, Port: port, From: n.Mail.From, Username: n.Mail.Username,
		Password: secret, TLS: tls}
}

// Guard is which addresses of people may be called.
func (n Notify) Guard() notify.Guard {
	g := notify.Guard{Hosts: n.Hosts}
	for _, cidr := range n.Networks {
		if p, err := netip.ParsePrefix(cidr); err == nil {
			g.Networks = append(g.Networks, p.Masked())
		}
	}
	return g
}
