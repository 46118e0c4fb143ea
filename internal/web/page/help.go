package page

import (
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/manual"
	"github.com/gpu-portal/gpu-portal/internal/news"
	"github.com/gpu-portal/gpu-portal/views/layout"
)

// Support has the site's links to support, by its settings; "" for none.
type Support struct{ StatusURL, ContactURL string }

// readers are the documents in the order of the list, and who looks for them: everybody, or those who see the platform.
// Texts that nobody looks for in the portal are reached by links.
var readers = []struct {
	name   string
	action identity.Action
}{{"users", identity.ReadCatalog}, {"api", identity.ReadCatalog}, {"glossary", identity.ReadCatalog},
	{"admins", identity.ReadPlatform}, {"install", identity.ReadPlatform}, {"configuration", identity.ReadPlatform},
	{"threats", identity.ReadPlatform}}

// Documents are the help texts for the reader's role.
func Documents(k Call) []manual.Document {
	var list []manual.Document
	for _, r := range readers {
		if d, ok := manual.Find(r.name); ok && identity.Can(k.Actor, r.action, identity.Resource{}) {
			list = append(list, d)
		}
	}
	return list
}

// help is what explains the portal, for the reader of a page.
func (w *Frame) help(k Call, tour, back string) layout.HelpModel {
	m := layout.HelpModel{News: NewsPath, Back: back, Tour: tour, Users: manual.Path("users"), All: HelpPath,
		API: ReferencePath, Status: w.Support.StatusURL, Contact: w.Support.ContactURL, Version: w.Version}
	if identity.Can(k.Actor, identity.ReadPlatform, identity.Resource{}) {
		m.Admins = manual.Path("admins")
	}
	if news.Unread(k.Actor.Person.Acknowledged) {
		m.Unread = news.Mark()
	}
	if k.Actor.Impersonator == nil {
		m.Read = "/settings/acknowledged"
	}
	return m
}
