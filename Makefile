# GPU Portal. `make help` lists the targets.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
export CGO_ENABLED ?= 0
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo dev)
BIN     := .cache/bin
STACK   := .cache/devstack/bin
STAGE   := .ci/progress
LD      := -s -w -X main.version=$(VERSION)
PORT    ?=
NODES   ?= 29

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 14

.PHONY: demo
demo: build ## everything on one machine, ready to click
	@exec $(BIN)/demo --nodes $(NODES) $(if $(PORT),--port $(PORT))

.PHONY: demo-reset
demo-reset: ## forget the data of the demo
	@rm -rf .demo && echo "The demo has forgotten everything."

# Seconds the first time on two cores | what it makes | what it is | how; see .ci/steps.
WORLD := $(BIN)/devstack build --source e2e/devstack --out $(STACK) --only
define BUILD_STEPS
60|$(BIN)/portal|the portal|go build -ldflags '$(LD)' -o $(BIN)/ ./cmd/portal ./cmd/gpuctl ./e2e/signin ./e2e/demo ./e2e/withstack
10|$(BIN)/devstack|the devstack|cd e2e/devstack && go build -ldflags '-s -w' -o ../../$(BIN)/devstack ./cmd/devstack
230|$(STACK)/controlplane|the Kubernetes control plane|$(WORLD) controlplane
5|$(STACK)/kwok|KWOK, for simulated nodes|$(WORLD) kwok
50|$(STACK)/prometheus|Prometheus|$(WORLD) prometheus
40|$(STACK)/victoria-metrics|VictoriaMetrics|$(WORLD) victoria-metrics
10|$(STACK)/devstack|the devices of the nodes|$(WORLD) devstack
endef
export BUILD_STEPS

.PHONY: build
build: needs-go ## the programs: portal, sign-in provider, the world around them
	@mkdir -p $(BIN)
	@printf '%s\n' "$$BUILD_STEPS" | .ci/steps .cache/build.log

.PHONY: agent
agent: needs-go ## the node agent; NVML needs cgo (a C compiler, no NVIDIA driver)
	@mkdir -p $(BIN)
	CGO_ENABLED=1 CGO_CFLAGS="-O2 -g -w" go build -ldflags '$(LD) -extldflags "-Wl,-z,lazy"' -o $(BIN)/ ./cmd/agent

# Compilers, linkers, tests and the worlds beside them live for minutes: to collect later takes memory, and less of the
# processor, of which a whole run has too little. Demo and benchmarks keep Go's own 100 %.
test check: export GOGC ?= 200

.PHONY: test
test: needs build node_modules ## every test: unit, store on SQLite and PostgreSQL, real control plane, browser
	go vet ./... && (cd e2e/devstack && go vet ./...)
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=line test-packages test-stories-1 test-stories-2
	@$(MAKE) --no-print-directory verify

# The stories wait more than they compute, so they are dealt to two worlds that run beside the other tests. A world is a
# share's own, for stories stop its API server. The order within a share is shuffled: no story leans on another. The
# first share is smaller by the seconds that the tests after it take, so that all three lines end at about one time.
# go vet has run over all by then, so go test leaves it out.
ON_STACK := '^TestDevstack'
RECONCILE_SECONDS := 500
TESTS    := go test -vet=off
.PHONY: test-packages
test-packages:
	$(TESTS) -timeout 25m ./cmd/... ./internal/... ./views/... ./static/... ./migrations/... ./charts/... ./docs/... \
		./e2e/signin/... ./e2e/certified/...
	CGO_ENABLED=1 CGO_CFLAGS="-O2 -g -w" $(TESTS) ./internal/agent/... ./cmd/agent/...
	cd e2e/devstack && DEVSTACK_BIN=$(CURDIR)/$(STACK) DEVSTACK_SIGNIN=$(CURDIR)/$(BIN)/signin $(TESTS) ./...
	$(BIN)/withstack --nodes 29 -- $(TESTS) -count=1 -p 1 -timeout 20m -run $(ON_STACK) ./internal/inventory ./internal/kube # a node of each kind

.PHONY: test-stories-1 test-stories-2
test-stories-1 test-stories-2: test-stories-%:
	STORIES=$*/2+$(RECONCILE_SECONDS) $(BIN)/withstack -- $(TESTS) -count=1 -p 1 -timeout 60m -shuffle=on ./e2e
	$(if $(filter 1,$*),$(BIN)/withstack -- $(TESTS) -count=1 -p 1 -timeout 30m -run $(ON_STACK) ./internal/reconcile ./charts)

# Multi-arch images with SBOM and provenance are pushed as they are built: IMAGE=registry.example.org/gpu make image
IMAGE     ?=
PLATFORMS ?= linux/amd64,linux/arm64
.PHONY: image
image: ## the images for every platform, with SBOM and provenance, pushed to IMAGE=REGISTRY/PATH
	@IMAGE='$(IMAGE)' .ci/image-needs
	for image in portal:gpu-portal agent:gpu-portal-agent; do docker buildx build --platform $(PLATFORMS) --sbom=true \
		--provenance=mode=max --push --build-arg VERSION=$(VERSION) --target $${image%:*} --tag $(IMAGE)/$${image#*:}:$(VERSION) .; done

.PHONY: chart
chart: needs-go ## the Helm chart: rendered, read, and compared with what the programs need and export
	go test ./charts/...

.PHONY: check
check: needs-go ## the fast loop: format, vet, unit tests, generated files
	@test -z "$$(gofmt -l cmd internal views static migrations charts e2e | grep -v _templ.go)" || { gofmt -l cmd internal views static migrations charts e2e; echo "run make fmt"; exit 1; }
	go vet ./...
	@$(MAKE) --no-print-directory lint
	go test -short ./cmd/... ./internal/... ./views/... ./static/... ./migrations/... ./charts/... ./docs/...
	@$(MAKE) --no-print-directory verify

# The linter is built once from its module, apart from go.mod: its hundreds of modules are no part of the portal.
GOLANGCI_LINT := $(BIN)/golangci-lint-v2.15.0
$(GOLANGCI_LINT):
	@mkdir -p $(BIN)
	GOBIN=$(CURDIR)/$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(@:$(BIN)/golangci-lint-%=%)
	@mv $(BIN)/golangci-lint $@

.PHONY: lint
lint: needs-go $(GOLANGCI_LINT) ## golangci-lint: errcheck, staticcheck, unused, revive, lines of 120 columns
	@! LC_ALL=C.UTF-8 grep -nE '^.{121,}' $$(git ls-files 'views/*.templ') || { echo "lines of more than 120 columns"; exit 1; }
	$(GOLANGCI_LINT) run ./...

.PHONY: e2e
e2e: needs build node_modules ## the stories, with pictures in .shots/ (RUN=name picks)
	PICTURES=1 $(BIN)/withstack -- go test -count=1 -p 1 -v -timeout 30m -run '$(RUN)' ./e2e/...

.PHONY: bench
bench: build ## benchmarks; results in .bench/
	@mkdir -p .bench
	$(BIN)/withstack -- go test -run '^$$' -bench . -benchmem -timeout 40m ./internal/... | tee .bench/$(shell date +%Y%m%d-%H%M%S).txt

.PHONY: storybook
storybook: needs-go ## each page and part in each state, without a database
	go run ./cmd/storybook

.PHONY: pictures
pictures: needs-go ## the pictures of the documents, by a headless chromium
	go run ./cmd/storybook -pictures docs/pictures

GENERATED := views static/dist internal/api/openapi.json internal/apiclient docs/configuration.md

.PHONY: generate
generate: needs-go ## write the generated files: templ, scripts, OpenAPI, its Go client, docs/configuration.md
	@mkdir -p $(BIN)
	go tool templ generate -path views -log-level error
	go tool esbuild static/js/app.js --bundle --format=esm --target=es2022 --minify --log-level=warning \
		--banner:js='// Generated from static/js by make generate. DO NOT EDIT.' --outfile=static/dist/app.js
	go run ./cmd/portal openapi > $(BIN)/generated && mv $(BIN)/generated internal/api/openapi.json
	go tool oapi-codegen -config internal/apiclient/oapi-codegen.yaml internal/api/openapi.json
	go run ./internal/config/reference > $(BIN)/generated && mv $(BIN)/generated docs/configuration.md

.PHONY: verify
verify: needs-go ## generated files are what they would be if made anew
	@before=$$(git status --porcelain -- $(GENERATED) | sort; git diff -- $(GENERATED) | sha256sum); \
	$(MAKE) --no-print-directory generate >/dev/null; \
	after=$$(git status --porcelain -- $(GENERATED) | sort; git diff -- $(GENERATED) | sha256sum); \
	test "$$before" = "$$after" || { echo "generated files were out of date; they are written anew, commit them"; \
		git status --short -- $(GENERATED); exit 1; }

.PHONY: fmt
fmt: needs-go ## format the sources
	go tool templ fmt views
	gofmt -w cmd internal views static migrations e2e

node_modules: e2e/node_modules/.package-lock.json e2e/certified/node_modules/.package-lock.json \
	e2e/console/node_modules/.package-lock.json e2e/llama/node_modules/.package-lock.json

e2e/node_modules/.package-lock.json: e2e/package-lock.json
	@cd e2e && ../$(STAGE) "fetching the browser driver" npm ci --no-audit --no-fund

e2e/certified/node_modules/.package-lock.json: e2e/certified/package-lock.json
	@cd e2e/certified && ../../$(STAGE) "fetching the sign-in provider" npm ci --no-audit --no-fund

e2e/console/node_modules/.package-lock.json: e2e/console/package-lock.json
	@cd e2e/console && ../../$(STAGE) "fetching the console's plugin loader" npm ci --ignore-scripts --no-audit --no-fund

e2e/llama/node_modules/.package-lock.json: e2e/llama/package-lock.json
	@cd e2e/llama && ../../$(STAGE) "fetching llama.cpp" npm ci --ignore-scripts --no-audit --no-fund

.PHONY: needs-go
needs-go:
	@command -v go >/dev/null || { echo "Go is missing: install Go 1.26 or newer"; exit 1; }

.PHONY: needs
needs: needs-go ## what the tests need beside Go and Node; installed on Debian, named elsewhere
	@command -v node >/dev/null || { echo "Node is missing: install Node 20 or newer"; exit 1; }
	@.ci/needs
