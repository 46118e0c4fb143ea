// Package account has the pages of one's own account: API tokens, sessions, notification channels (account.go,
// notices.go); and, for administrators, the deliveries of all.
package account

import (
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
)

// Pages are those of the area, with the services that they read from.
type Pages struct {
	*blocks.Blocks
	Accounts  *accounts.Service
	Notify    *notify.Service
	Embeds    *embed.Service
	PortalURL string
}
