// Package account is one's own account: tokens, sessions, notifications; and the deliveries of all.
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
