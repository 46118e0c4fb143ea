package app

import "github.com/gpu-portal/gpu-portal/internal/budget"

// team says whether there is a team of this name, and its display name.
func (a *App) team(name string) (title string, ok bool) {
	t, ok := a.siteNow().Directory.ByName(name)
	return t.Display(), ok
}

// currency is that of the catalog's prices; a catalog has one. A catalog without a size has none, and then a
// budget counts GPU-hours.
func (a *App) currency() budget.Unit {
	for _, size := range a.offer.Catalog().Sizes {
		return budget.Unit(size.PricePerHour.Currency)
	}
	return budget.GPUHours
}
