package oidctest

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

//go:embed page.html style.css
var files embed.FS

var page = template.Must(template.ParseFS(files, "page.html"))

// pageModel is one page: people to choose from, or a message.
type pageModel struct {
	Style   string
	Title   string
	Message string
	Action  string
	Client  string
	Hidden  []field
	People  []personModel
}

type field struct{ Name, Value string }

type personModel struct {
	User
	Initials string
}

// choose shows everybody the provider knows, one button each.
func (p *Provider) choose(w http.ResponseWriter, form url.Values, redirect *url.URL) {
	m := pageModel{Title: "Choose who you are", Action: p.path + AuthorizePath, Client: redirect.Host}
	for _, name := range []string{"client_id", "redirect_uri", "response_type", "scope", "state", "nonce",
		"code_challenge", "code_challenge_method"} {
		if form.Has(name) {
			m.Hidden = append(m.Hidden, field{Name: name, Value: form.Get(name)})
		}
	}
	for _, user := range p.everybody() {
		m.People = append(m.People, personModel{User: user, Initials: initials(user.Name)})
	}
	// Browsers hold form-action against the redirect that follows the form, too.
	p.render(w, http.StatusOK, m, redirect.Scheme+"://"+redirect.Host)
}

// initials are the first letters of the first and the last word.
func initials(name string) string {
	words := strings.Fields(name)
	if len(words) == 0 {
		return "?"
	}
	first, _ := utf8.DecodeRuneInString(words[0])
	if len(words) == 1 {
		return string(first)
	}
	last, _ := utf8.DecodeRuneInString(words[len(words)-1])
	return string(first) + string(last)
}

func (p *Provider) home(w http.ResponseWriter, _ *http.Request) {
	p.say(w, http.StatusOK, "Sign-in provider", "It works. Begin at the program that you want to use; it sends you here "+
		"to say who you are.")
}

func (p *Provider) problem(w http.ResponseWriter, status int, message string) {
	p.say(w, status, "This does not work", message)
}

func (p *Provider) say(w http.ResponseWriter, status int, title, message string) {
	p.render(w, status, pageModel{Title: title, Message: message}, "")
}

func (p *Provider) render(w http.ResponseWriter, status int, m pageModel, formTarget string) {
	m.Style = p.path + stylePath
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, "page.html", m); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src data:; form-action 'self' "+formTarget+
		"; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the reader has gone: nothing to be done
}

func (p *Provider) style(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, files, "style.css")
}
