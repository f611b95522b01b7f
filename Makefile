# SPDX-License-Identifier: Apache-2.0
#
# The front door: `make help` says what there is. Meson and Ninja do the work.

PREFIX ?= /usr/local

# The system's own meson and python, also where others come first on the path.
export PATH := /usr/bin:$(PATH)

SANITIZED := -Db_sanitize=address,undefined -Db_lto=false -Db_lundef=false -Dtests=enabled \
             -Dc_args=-fno-sanitize-recover=all
THREADED := -Db_sanitize=thread -Db_lto=false -Db_lundef=false -Dtests=enabled
# Adding nothing to a null pointer is called undefined by this compiler alone, and harmless.
FUZZED := -Dfuzzers=true -Dtests=disabled -Db_sanitize=address,undefined -Db_lto=false \
          -Db_lundef=false -Dwerror=false \
          "-Dc_args=-fsanitize=fuzzer-no-link -fno-sanitize-recover=all -fno-sanitize=pointer-overflow"

# $(call quietly,COMMAND): shows what it printed only if it fails.
quietly = out=$$($(1) 2>&1) || { printf '%s\n' "$$out"; exit 1; }

# $(call configure,DIRECTORY,OPTIONS,ENVIRONMENT): the first time, when the sources have moved, and
# when a script was added or removed, which Meson does not notice (lua/meson.build, sql/meson.build).
define configure
	@[ "$$(cat $(1)/.source 2>&1)" = "$(CURDIR)" ] || rm -rf $(1)
	@[ -e $(1) ] || tools/install-packages --check build
	@[ -e $(1) ] || { $(call quietly,env $(3) meson setup $(1) $(2)); }
	@echo "$(CURDIR)" >$(1)/.source
	@[ -z "$$(find lua sql -type d -newer $(1)/build.ninja)" ] || \
		{ $(call quietly,meson setup --reconfigure $(1)); }
	@$(call quietly,ninja -C $(1) build.ninja)
endef

# $(call compile,DIRECTORY,OPTIONS): configures it if need be, then builds what has changed.
define compile
	$(call configure,$(1),$(2))
	@$(if $(MAKE_TERMOUT),ninja -C $(1),$(call quietly,ninja --quiet -C $(1)))
	@cd $(1) && ln -sf src/holdfast src/libholdfast.a src/libholdfast.so src/libholdfast.so.? .
endef

.DEFAULT_GOAL := build
.PHONY: bench bench-checkout bench-cycle bench-ledger bench-redis bench-server bench-stall build clean clients deb docs format fuzz fuzz-parsers fuzz-server fuzzers help install instructions lint model mutate run sanitized sim test test-front-door test-image test-install test-quick threaded uninstall with-tests

build: ## build build/holdfast and libholdfast
	$(call compile,build)

run: ## install what building needs, build, and serve
	@tools/install-packages build
	@$(MAKE) --no-print-directory build
	@echo 'In another terminal, try:'
	@echo '    build/holdfast call SEATS.OPEN gala floor 500'
	@echo '    build/holdfast call SEATS.RESERVE gala floor b-1 ann 2 4'
	@echo '    curl http://127.0.0.1:4654/v1/events/gala/zones/floor'
	@echo 'and look at http://127.0.0.1:4654/ in a browser.'
	@exec build/holdfast serve

test: ## install what the tests need and run them all, as released and under sanitizers
	@tools/install-packages build test
	@$(MAKE) --no-print-directory with-tests sanitized threaded fuzzers
	@tools/run-tests build build-asan build-tsan build-fuzz

test-quick: ## the quick part of it: unit tests, a few of the others, a short run of the model
	@tools/install-packages build quick
	@$(MAKE) --no-print-directory with-tests
	@tools/run-tests --quick build

lint: ## install the linters and run them all
	@tools/install-packages build test lint
	@$(MAKE) --no-print-directory with-tests
	@tools/lint build

bench: ## measure what it costs
	@tools/install-packages build bench
	@$(MAKE) --no-print-directory build
	@build/bench/core
	@build/bench/durable build/durable
	@build/holdfast bench
	@bench/slow_disk.py build
	@bench/server.py --build build
	@bench/server.py --build build --only memory
	@bench/redis_engine.py --build build
	@bench/ledger.py --build build

bench-ledger: ## measure guarded purchases beside SQL by hand on the same databases: [BENCH_FLAGS="--only sqlite"]
	@tools/install-packages build test bench
	@$(MAKE) --no-print-directory build
	@bench/ledger.py --build build $(BENCH_FLAGS)

bench-checkout: ## measure checkouts beside the same steps by hand on Redis and PostgreSQL: [BENCH_FLAGS="--rounds 1"]
	@tools/install-packages build test bench
	@$(MAKE) --no-print-directory build
	@bench/checkout.py --build build $(BENCH_FLAGS)

bench-cycle: ## measure what the server keeps of events that came and left: [BENCH_FLAGS="--events 100"]
	@tools/install-packages build bench
	@$(MAKE) --no-print-directory build
	@bench/cycle.py --build build $(BENCH_FLAGS)

bench-redis: ## measure the engine on Redis beside redis-benchmark, on the same Redis in the same run
	@tools/install-packages build bench
	@$(MAKE) --no-print-directory build
	@bench/redis_engine.py --build build $(BENCH_FLAGS)

bench-server: ## measure the server beside Redis and nginx in the same run: [VALKEY=program] [POGOCACHE=program]
	@tools/install-packages build bench
	@$(MAKE) --no-print-directory build
	@bench/server.py --build build $(BENCH_FLAGS)

bench-stall: ## measure how long the server's loop looks at nobody else: [BENCH_FLAGS="--scale 0.1 --only due"]
	@tools/install-packages build bench
	@$(MAKE) --no-print-directory build
	@bench/stall.py --build build $(BENCH_FLAGS)

instructions: ## count the instructions of each command, and record them in bench/instructions.txt
	@tools/install-packages build test
	@$(MAKE) --no-print-directory build
	@bench/instructions.py --build build --record

model: ## compare the rules with a model of them: [SEED=n] [COMMANDS=n]
	@tools/install-packages build test
	@$(MAKE) --no-print-directory build
	@python3 tests/model/run.py --driver build/tests/model_driver \
		$(if $(SEED),--seed $(SEED)) $(if $(COMMANDS),--commands $(COMMANDS))

sim: ## simulate disks and crashes at length: [SEEDS=n] [IMAGES=n]
	@tools/install-packages build test
	@$(MAKE) --no-print-directory with-tests
	@HOLDFAST_SIM_SEEDS=$(or $(SEEDS),5000) build/tests/simulation
	@HOLDFAST_SIM_IMAGES=$(or $(IMAGES),10000) build/tests/power_loss
	@HOLDFAST_CRASH=long HOLDFAST_BUILD=build python3 -m pytest -q -p no:cacheprovider tests/crash

fuzz: ## look for inputs that break something: [SECONDS=n] [TARGET=name, or server]
	@tools/install-packages build test
	@[ "$(TARGET)" = server ] || $(MAKE) --no-print-directory fuzz-parsers
	@[ -n "$(filter-out server,$(TARGET))" ] || $(MAKE) --no-print-directory fuzz-server

mutate: ## change the sources on purpose and count who notices: [MINUTES=n] [SEED=n] [MUTATE_FLAGS="--only core"]
	@tools/install-packages build test
	@tools/mutate --minutes $(or $(MINUTES),20) --seed $(or $(SEED),1) $(MUTATE_FLAGS)

docs: build ## write docs/commands.md from the program's own help
	@build/holdfast help --markdown >build/commands.md
	@mv build/commands.md docs/commands.md

clients: with-tests ## write what clients/ has of the command table
	@tools/make-clients build

format: ## lay out the sources as the linters want them
	@tools/install-packages lint
	@find $(wildcard include src tests examples bench) -name '*.[ch]' -exec clang-format-14 -i {} +
	@tools/check-text --fix

install: build ## install under PREFIX (/usr/local); DESTDIR is put in front
	@$(call quietly,meson configure build -Dprefix=$(abspath $(PREFIX)))
	@$(call quietly,env DESTDIR=$(abspath $(DESTDIR)) meson install -C build)
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig
	@echo "Installed under $(abspath $(DESTDIR))$(abspath $(PREFIX))"

uninstall: ## remove what the last make install put in place
	@$(call quietly,ninja -C build uninstall)
	@[ "$$(id -u)" != 0 ] || ldconfig

deb: ## make Debian packages in build-deb, and let lintian look at them
	@tools/install-packages build package
	@tools/make-deb build-deb

test-install: deb ## install the packages in a fresh Debian, serve, and purge them: needs root and a mirror
	@tools/install-packages install
	@tools/test-install build-deb

test-front-door: ## make run and make test-quick in a fresh Debian: needs root and a mirror
	@tools/install-packages install
	@tools/test-front-door

test-image: ## build contrib/docker/Dockerfile and run it, without Docker: needs root and a mirror
	@tools/install-packages install image
	@tools/test-image

clean: ## remove all that was built
	@rm -rf build build-asan build-deb build-fresh build-tsan build-fuzz build-mutate

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The plain build with its tests, which `make build` leaves out where cmocka is not installed.
with-tests:
	$(call compile,build,-Dtests=enabled)
	@[ -e build/.with-tests ] || \
		{ $(call quietly,meson configure build -Dtests=enabled && ninja -C build); }
	@touch build/.with-tests

sanitized:
	$(call compile,build-asan,$(SANITIZED))

threaded:
	$(call configure,build-tsan,$(THREADED))
	@$(call quietly,ninja --quiet -C build-tsan threaded)

# Each parser for so many seconds, by libFuzzer.
fuzz-parsers: fuzzers
	@tools/fuzz --seconds $(or $(SECONDS),600) build-fuzz $(TARGET)

# A whole server for so many seconds in all, half of them under each sanitizer.
fuzz-server: sanitized threaded
	@for build in build-asan build-tsan; do \
		tests/fuzz/whole_server.py --build $$build \
			--seconds $$(( $(or $(SECONDS),600) / 2 )) || exit 1; \
	done

fuzzers:
	$(call configure,build-fuzz,$(FUZZED),CC=clang-14)
	@$(call quietly,ninja --quiet -C build-fuzz fuzzers)
