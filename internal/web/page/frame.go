package page

// TeamTitle is the name of a team as people read it; that of the directory where nobody gave it one.
func (w *Frame) TeamTitle(name string) string {
	if t, ok := w.Site().Directory.ByName(name); ok {
		return t.Display()
	}
	return name
}
