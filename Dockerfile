# The portal as a small image: one static program, no shell, no root.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /portal ./cmd/portal

# The node agent (--target agent). NVML is loaded at run time, so it needs cgo and a libc, and no driver to build.
FROM build AS build-agent
RUN CGO_ENABLED=1 go build -trimpath -ldflags "-s -w -X main.version=${VERSION} -extldflags '-Wl,-z,lazy'" -o /agent ./cmd/agent

FROM debian:stable-slim AS agent
COPY --from=build-agent /agent /agent
USER 65532:65532
EXPOSE 9410
ENTRYPOINT ["/agent"]

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# in the PATH of a container runtime, for kubectl exec … -- portal rbac
COPY --from=build /portal /usr/bin/portal
USER 65532:65532
EXPOSE 8080 9090
ENTRYPOINT ["/usr/bin/portal"]
CMD ["serve", "--config", "/etc/gpu-portal/portal.yaml"]
