package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	embedview "github.com/gpu-portal/gpu-portal/views/embed"
)

// EmbedList is the panels that somebody shows in pages of other sites; embed.Me for the reader. Another's are listed to
// those who may see them, without their addresses.
func EmbedList(k page.Call, s *embed.Service, person identity.PersonID) (embedview.ListModel, error) {
	m, path := embedview.ListModel{Own: person == embed.Me}, "/embeds/"
	if m.Own {
		person = k.Actor.Person.ID
	} else {
		path = page.PersonPath(person) + path
	}
	if m.Own && k.Actor.Impersonator != nil {
		m.Hidden = true
		return m, nil
	}
	list, err := s.List(k.Ctx, k.Actor, person)
	for _, e := range list {
		row := embedview.RowModel{ID: e.ID, Panel: embedview.Panel(e.Panel), Title: e.Title,
			Created: k.Words.Ago(e.CreatedAt), Ends: k.Words.At(e.ExpiresAt), Ended: !k.Words.Now.Before(e.ExpiresAt)}
		if !row.Ended && identity.Can(k.Actor, identity.ManageEmbeds, identity.Resource{Owner: person}) {
			row.Revoke = path + e.ID + "/revoke"
		}
		if m.Own && !row.Ended {
			if row.Address, err = s.Address(e); err != nil {
				return m, err
			}
		}
		m.Rows = append(m.Rows, row)
	}
	return m, err
}
