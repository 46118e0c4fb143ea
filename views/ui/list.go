package ui

// ListModel is which part of a list is shown, in which order, and where its other parts and orders are. Everything is
// an address: a list can be sent, and needs no scripts.
type ListModel struct {
	// Orders are the columns that the list can be sorted by.
	Orders map[string]OrderModel
	Pages  PaginationModel
	// Count says how much there is: "1–25 of 312", or "one entry".
	Count string
	// Whole is set where everything there is stands on the page, and nothing was filtered out.
	Whole bool
	// Kept is the order, for the form of a filter.
	Kept []HiddenModel
}

// OrderModel is one column's: the address that sorts by it, or turns its order around.
type OrderModel struct {
	URL    string
	Sorted string // as ColumnModel.Sorted
}

// Head is the head of a column that the list can be sorted by; one that it cannot stays as it is.
func (m ListModel) Head(column string, c ColumnModel) ColumnModel {
	if o, ok := m.Orders[column]; ok {
		c.SortURL, c.Sorted = o.URL, o.Sorted
	}
	return c
}

// FilterBar is m with the order kept and the rows counted. While the page has the whole list, its rows are filtered
// there, as one types.
func (m ListModel) FilterBar(f FilterBarModel, table string) FilterBarModel {
	f.Hidden, f.Count = append(f.Hidden, m.Kept...), m.Count
	if m.Whole {
		f.Client = table
	}
	return f
}
