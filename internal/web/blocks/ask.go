package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// AskView is the page of a question that a dialog asks where scripts run.
func AskView(m workloadview.AskModel) page.View {
	return page.View{Title: m.Header.Title, Nav: "/", Body: workloadview.Ask(m)}
}
