# `make` lists the targets. Needs Go 1.26, Node 20.19 or later, and make.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X github.com/weir-analytics/weir/cmd.version=$(VERSION) -X github.com/weir-analytics/weir/cmd.commit=$(COMMIT)
PKG     ?= ./...
FUZZTIME ?= 10s
CLIENTS ?= .
DAMAGE_STEP ?= 23
BENCH   ?=
WEIR_CORPUS ?= $(abspath ../shared/corpus)
export WEIR_CORPUS

FRONT_SOURCES := $(shell find dashboards -path dashboards/node_modules -prune -o -path dashboards/dist -prune -o -path dashboards/test -prune -o -type f -print 2>/dev/null)
FRONT   := dashboards/dist/index.html
MODULES := dashboards/node_modules/.package-lock.json

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build, start on ./data, print the address and the set-up link
	bin/weir serve

.PHONY: demo
demo: build ## start on ./data-demo with made-up traffic: a year of history and a live trickle
	bin/weir demo

.PHONY: build
build: bin/weir ## one static binary with dashboard and country database inside: bin/weir

# Go decides by itself what has changed, so the binary is always asked for.
.PHONY: bin/weir
bin/weir: $(FRONT)
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/weir ./cmd/weir

.PHONY: dashboards
dashboards: $(FRONT) ## the front end, the tracker and the country database

$(MODULES): dashboards/package-lock.json
	cd dashboards && npm ci --no-audit --no-fund
	@touch $@

$(FRONT): $(MODULES) $(FRONT_SOURCES)
	cd dashboards && npm run build

.PHONY: tools
tools: # Debian packages of the tests: kcat, a browser, a C compiler, Maven. Without root the tests that need them skip and say so.
	@missing=; command -v kcat >/dev/null || missing="kcat"; command -v chromium >/dev/null || missing="$$missing chromium"; \
	command -v cc >/dev/null || missing="$$missing gcc libc6-dev"; command -v mvn >/dev/null || missing="$$missing maven default-jdk-headless"; \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    (apt-get install -y --no-install-recommends $$missing || { apt-get update && apt-get install -y --no-install-recommends $$missing; }) >/dev/null || echo "could not install:$$missing; tests that need them skip"; \
	  else echo "missing: $$missing; tests that need them skip"; fi; fi

.PHONY: test
test: tools build foreign ## everything the tests need, and all tests
	go vet ./...
	set -o pipefail; WEIR_BIN=$(abspath bin/weir) go test -timeout 20m ./... 2>&1 | tee go-test.out
	cd clients/go && WEIR_BIN=$(abspath bin/weir) go test -short -v -parallel 4 -timeout 20m -run '^Test(FranzGo|Sarama|Segmentio|Confluent|Kcat|Node|Java|KafkaTools|DumpLogSegments)$$' . 2>&1 | tee -a $(abspath go-test.out)
	cd dashboards && npm run check && npm test
	cd dashboards && WEIR_BIN=$(abspath bin/weir) npm run e2e
	$(MAKE) fuzz FUZZTIME=500x

.PHONY: check
check: ## format, vet, staticcheck, unit tests, layout: before each commit
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "gofmt -w $$unformatted"; exit 1; fi
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	go test -short ./...

.PHONY: race
race: ## unit tests under the race detector
	CGO_ENABLED=1 go test -race -short $(PKG)

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (10s; 500x is 500 inputs, which no slow machine ends early)
	@grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r dir; do \
	  grep -ho '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | cut -d' ' -f2 | while read -r target; do \
	    echo "$$dir $$target"; go test $$dir -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x </dev/null || exit 1; done || exit 1; done

.PHONY: crash
crash: build ## kill -9 under load, ten times: what was acknowledged is counted once
	WEIR_BIN=$(abspath bin/weir) WEIR_CRASH_ROUNDS=10 go test -count=1 -v -timeout 20m -run 'KillUnderLoad' ./cmd

.PHONY: damage
damage: build ## truncation and flipped bits in every file; one through the binary for each kind (DAMAGE_STEP=1 for every bit)
	WEIR_DAMAGE_STEP=$(DAMAGE_STEP) go test -count=1 -timeout 30m -run 'Damage|EveryByte|EveryBit|EveryFlipped|Inspect' ./broker/seglog ./broker/replica ./raftfsm/... ./rollup/table
	WEIR_BIN=$(abspath bin/weir) go test -count=1 -timeout 20m -run 'OneFlippedBit|Damaged|Verify' ./cmd

.PHONY: foreign
foreign: # the clients that are not written in Go. Without npm or mvn the tests that need them skip and say so.
	@if command -v npm >/dev/null; then cd clients/node && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error; else echo "npm is not installed; the Node clients skip"; fi
	@if command -v mvn >/dev/null; then cd clients/java && (mvn -q -B compile || echo "mvn could not build clients/java; what needs it skips"); else echo "mvn is not installed; the Java client and Kafka's tools skip"; fi

.PHONY: clients
clients: tools build foreign ## unmodified Kafka clients of others against the binary (docs/compatibility.md)
	cd clients/go && WEIR_BIN=$(abspath bin/weir) go test -count=1 -v -timeout 60m -run '$(CLIENTS)' .

# The sources of librdkafka, tests included, come in the npm package of its Node client.
RDKAFKA_NPM := @confluentinc/kafka-javascript@1.10.1
RDKAFKA     := bin/librdkafka

$(RDKAFKA)/tests/test-runner:
	rm -rf $(RDKAFKA) && mkdir -p $(RDKAFKA)
	cd $(RDKAFKA) && npm pack --silent $(RDKAFKA_NPM) && tar -xzf *.tgz --strip-components=3 package/deps/librdkafka && rm *.tgz
	cd $(RDKAFKA) && ./configure --disable-gssapi --disable-curl >build.log && $(MAKE) -j2 libs >>build.log 2>&1 && $(MAKE) -C tests -j2 build >>build.log 2>&1

.PHONY: librdkafka
librdkafka: build foreign $(RDKAFKA)/tests/test-runner ## librdkafka's own numbered tests against the binary; needs a C and C++ compiler and Java (CLIENTS=/plaintext/0103: one)
	cd clients/go && LIBRDKAFKA=$(abspath $(RDKAFKA)) WEIR_BIN=$(abspath bin/weir) go test -count=1 -v -timeout 60m -run 'TestLibrdkafkaOwnTests$(filter-out .,$(CLIENTS))' .

.PHONY: e2e
e2e: tools build ## a real browser against the binary
	cd dashboards && WEIR_BIN=$(abspath bin/weir) npm run e2e

.PHONY: bench
bench: build ## hits/s one by one and in batches, seconds from hit to visible, beside a bare handler
	bin/weir bench

.PHONY: bench-broker
bench-broker: build ## produce, consume and fetch beside kfake, Apache Kafka and NATS JetStream (docs/benchmarks.md)
	@if command -v mvn >/dev/null; then cd clients/java && mvn -q -B compile; else echo "mvn is not installed; Apache Kafka is left out"; fi
	cd clients/bench && go vet . && go test . && CGO_ENABLED=0 go build -o $(abspath bin/bench-broker) .
	bin/bench-broker -weir bin/weir $(if $(shell command -v mvn),-java-lib clients/java/target/lib) $(BENCH)

.PHONY: clean
clean: ## remove what make built; data directories stay
	rm -rf bin dashboards/dist/* dashboards/node_modules clients/node/node_modules clients/java/target go-test.out
