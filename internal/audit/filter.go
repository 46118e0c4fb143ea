package audit

// Filter chooses events. Lists are newest first; Cursor is what the last page gave as next.
type Filter struct {
	Kinds    []Kind
	Tenant   string
	Person   string
	Workload string
	Request  string
	Cursor   string
	Limit    int
}
