# syntax=docker/dockerfile:1
# The portal as a small image: one static program, no shell, no root, nothing to write. It is compiled on the machine's own
# platform for the one that is asked for. `make image` builds it for several, with SBOM and provenance.
FROM --platform=$BUILDPLATFORM golang:1.26 AS source
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .

FROM --platform=$BUILDPLATFORM source AS build
ARG TARGETOS=linux TARGETARCH VERSION=dev
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /portal ./cmd/portal

# The node agent (--target agent). NVML is loaded at run time, so it needs cgo and a libc, and no driver to build.
FROM golang:1.26 AS build-agent
WORKDIR /src
COPY --from=source /go /go
COPY --from=source /src /src
ARG VERSION=dev
RUN CGO_ENABLED=1 go build -trimpath -ldflags "-s -w -X main.version=${VERSION} -extldflags '-Wl,-z,lazy'" -o /agent ./cmd/agent

# glibc and nothing else: no shell, no package manager
FROM gcr.io/distroless/base-debian13:nonroot AS agent
COPY --from=build-agent /agent /agent
USER 65532:65532
EXPOSE 9410
ENTRYPOINT ["/agent"]

FROM scratch AS portal
COPY --from=source /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# in the PATH of a container runtime, for kubectl exec … -- portal rbac
COPY --from=build /portal /usr/bin/portal
USER 65532:65532
EXPOSE 8080 9090 9443
ENTRYPOINT ["/usr/bin/portal"]
CMD ["serve", "--config", "/etc/gpu-portal/portal.yaml"]
