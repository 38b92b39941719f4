# fibchurn: build, run, test.
#
# The only things needed beforehand are Go and make; `make test` installs
# Debian's packages of the tools its tests use, where they are missing.

GO      ?= go
SUDO    := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)
AS_ROOT := $(if $(SUDO),$(SUDO) env "PATH=$$PATH" "HOME=$$HOME" "CI=$$CI")
TOOLS   := strace jq prove perf qemu-system-x86_64 chromium zsh fish mandoc groff rpm patch gcc flex bison bc xz
PACKAGES := strace jq perl linux-perf qemu-system-x86 chromium zsh fish mandoc groff-base rpm patch gcc libc6-dev flex bison bc xz-utils
GOTEST  := $(GO) test -timeout 60m
# Tests that time the kernel must not disturb each other: one package at a time. Those of
# these packages only compute.
COMPUTING := ./internal/lctrie ./internal/prefixes ./internal/usage ./results/...

BUILD   ?= bin
VERSION ?= $(shell git describe --always --dirty 2>/dev/null)

.PHONY: build run test lint bench truth fuzz death nightly tools kernels clean

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-X main.version=$(VERSION)" -o $(BUILD)/fibchurn ./cmd/fibchurn

# Installation and packages: docs/install.md.
include internal/packaging/install.mk

# The main job. Without root and sudo, fibchurn runs in a user namespace of its own.
run: build
	$(SUDO) bin/fibchurn delete-iface --subnets 8192

test: lint tools kernels
	@failed=; \
	$(AS_ROOT) $(GOTEST) $(TESTFLAGS) $(COMPUTING) || failed=1; \
	$(AS_ROOT) $(GOTEST) -p 1 $(TESTFLAGS) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(COMPUTING))") || failed=1; \
	[ -z "$$failed" ]

lint:
	@unformatted=$$(gofmt -l cmd churn internal lookup ns results vm); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

bench: build
	$(SUDO) env "PATH=$$PATH" "HOME=$$HOME" $(GO) run ./internal/bench

# Every fuzz target for FUZZTIME, one after the other.
FUZZTIME ?= 1m
fuzz:
	@grep -rn --include='*_test.go' '^func Fuzz' . | sed 's/^\(.*\)\/[^/]*:[0-9]*:func \(Fuzz[A-Za-z0-9]*\)(.*/\1 \2/' | sort -u | \
	while read -r package target; do \
		echo "$$package $$target"; \
		$(GO) test "$$package" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) || exit 1; \
	done

# Commands are ended at MOMENTS random moments.
MOMENTS ?= 200
death:
	$(SUDO) env "PATH=$$PATH" "HOME=$$HOME" "FIBCHURN_MOMENTS=$(MOMENTS)" $(GOTEST) -count 1 -run '^TestDeath$$' ./cmd/fibchurn

# That the verdicts hold: about an hour and a half on a machine with nothing else to do.
# TRUTHFLAGS="-parts equal,planted -soak 5m" does less.
truth: build kernels
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BUILD)/truth ./internal/truth
	$(SUDO) env "PATH=$$PATH" "HOME=$$HOME" $(BUILD)/truth $(TRUTHFLAGS)

# The nightly comparison of two kernels, in virtual machines: docs/nightly.md.
nightly: build
	@.ci/nightly

tools:
	@for tool in $(TOOLS); do command -v $$tool >/dev/null || missing=1; done; \
	if [ -n "$$missing" ]; then \
		$(SUDO) apt-get update -q && $(SUDO) apt-get install -q -y --no-install-recommends $(PACKAGES); \
	fi

# The kernels that the tests boot: unpacked Debian packages, no root needed.
kernels:
	@vm/testdata/fetch-kernels.sh || { $(SUDO) apt-get update -q && vm/testdata/fetch-kernels.sh; }

clean:
	rm -rf $(BUILD)
