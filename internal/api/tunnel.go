package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/coder/websocket"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/tunnel"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// SSH is the SSH server of an image.
type SSH struct {
	Port int32  `json:"port"`
	User string `json:"user" doc:"Who signs in, with a key that the image takes"`
}

// Ports are numbers of TCP ports by name.
type Ports map[string]int32

func sshView(s *catalog.SSH) *SSH {
	if s == nil {
		return nil
	}
	return &SSH{Port: s.Port, User: s.User}
}

func (a *API) registerTunnel() {
	const path = "/workloads/{id}/tunnel"
	o := op(http.MethodGet, path, "open-workload-tunnel", "Connect to a TCP port of it by WebSocket, as gpuctl does",
		"Workloads")
	o.Description = "A WebSocket (RFC 6455) with an API token. Binary messages are the bytes of the TCP connection, in " +
		"both directions, each of at most 1 MiB. When the portal ends the connection, its last message is the text " +
		"`{\"end\": \"…\"}`, which says why; when the server in the workload does, there is none. Refusals come before the " +
		"upgrade, as problems. 409 where the workload does not run, or its image has no such port; 403 where tunnels " +
		"are off."
	add(a, o, identity.OpenWorkload, a.tunnel)
	responses := a.huma.OpenAPI().Paths["/api/v1"+path].Get.Responses
	delete(responses, "200")
	responses[strconv.Itoa(http.StatusSwitchingProtocols)] = &huma.Response{Description: "The WebSocket is open"}
}

// tunnel refuses by a problem as long as there is no WebSocket: programs can read it.
func (a *API) tunnel(ctx context.Context, actor identity.Actor, in *tunnelInput) (*huma.StreamResponse, error) {
	if _, err := a.deps.Tunnels.Permit(ctx, actor, workload.ID(in.ID)); err != nil {
		return nil, err
	}
	if !strings.EqualFold(in.Upgrade, "websocket") {
		return nil, fault.New(fault.Conflict, i18n.T("tunnel.websocket"))
	}
	session, err := a.deps.Tunnels.Open(ctx, actor, workload.ID(in.ID), in.Port)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		r, w := humago.Unwrap(hctx)
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
		if err != nil {
			session.Close()
			return // Accept has answered
		}
		_, _ = session.Run(ctx, tunnel.NewSocket(ctx, conn, i18n.From(ctx).Say)) // the client and the log know
	}}, nil
}

type tunnelInput struct {
	ID      string `path:"id" maxLength:"64"`
	Port    string `query:"port" maxLength:"15" doc:"Name or number of a port of its image; its SSH server where absent"`
	Upgrade string `header:"Upgrade" maxLength:"20" doc:"websocket"`
}
