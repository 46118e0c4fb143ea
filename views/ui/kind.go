package ui

// Kind is what a state, notice or bar means; it chooses colour and icon. The word beside it says the same.
type Kind string

// The kinds.
const (
	OK       Kind = "ok"
	Waiting  Kind = "waiting"
	Progress Kind = "progress"
	Warning  Kind = "warning"
	Danger   Kind = "danger"
	Off      Kind = "off"
	Info     Kind = "info"
	Unknown  Kind = "unknown"
)

// Kinds lists all, for tests and the storybook.
func Kinds() []Kind { return []Kind{OK, Waiting, Progress, Warning, Danger, Off, Info, Unknown} }

// status is PatternFly's word for it.
func (k Kind) status() string {
	switch k {
	case OK:
		return "success"
	case Warning:
		return "warning"
	case Danger:
		return "danger"
	}
	return "info"
}

// label is the colour of PatternFly's label.
func (k Kind) label() string {
	switch k {
	case OK:
		return "pf-m-success"
	case Warning:
		return "pf-m-warning"
	case Danger:
		return "pf-m-danger"
	case Info, Progress:
		return "pf-m-info"
	case Waiting:
		return "pf-m-purple"
	}
	return ""
}
