package config

import (
	"fmt"
	"net/mail"
	"net/url"
	"strings"
)

// Help is what the help menu of the pages leads to beside the documents.
type Help struct {
	// page that tells of outages and maintenance, https://status.example.org; default none
	StatusURL string `json:"statusURL,omitempty"`
	// whom to ask: an e-mail address, or the http or https address of a chat or a service desk; default none
	Contact string `json:"contact,omitempty"`
}

// ContactURL is Contact as a link.
func (h Help) ContactURL() string {
	if h.Contact == "" || webAddress(h.Contact) {
		return h.Contact
	}
	return "mailto:" + h.Contact
}

func (h Help) problems() []error {
	var all []error
	if h.StatusURL != "" && !webAddress(h.StatusURL) {
		all = append(all, fmt.Errorf("help.statusURL: %q is no http or https address", h.StatusURL))
	}
	if a, err := mail.ParseAddress(h.Contact); h.Contact != "" && !webAddress(h.Contact) &&
		(err != nil || a.Address != h.Contact || strings.ContainsAny(h.Contact, "?&")) {
		all = append(all, fmt.Errorf("help.contact: %q is neither an e-mail address nor an http or https address", h.Contact))
	}
	return all
}

func webAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil
}
