package page

import "strings"

// TickParam is what a list with a form of several calls the rows that are ticked when it comes; TickAll are those of
// the page.
const (
	TickParam = "tick"
	TickAll   = "all"
)

// Ticked are the rows that the address asks to have ticked; ids are those of the page. The stream of the page gets
// their names, so that a row that comes later is never ticked by itself.
func Ticked(k Call, ids []string) []string {
	switch tick := k.Get(TickParam); tick {
	case "":
		return nil
	case TickAll:
		k.Query.Set(TickParam, strings.Join(ids, ","))
		return ids
	default:
		return strings.Split(tick, ",")
	}
}
