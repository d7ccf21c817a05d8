# SPDX-License-Identifier: BSD-3-Clause
# Copyright(c) 2026 The tapbatch authors
#
# Front door: each target does all its own set-up on a fresh Debian 12, as root.
# Behind it are meson and ninja; whoever has a DPDK with driver SDK uses them
# directly: PKG_CONFIG_PATH=... meson setup build && ninja -C build

MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
PATH := /usr/bin:/usr/sbin:/bin:/sbin:$(PATH)
export PATH

TAPBATCH_BUILD ?= build

.PHONY: all setup demo test test-unit test-build test-func test-vm test-vhost test-bench
.PHONY: bench bench-quick bench-doc
.PHONY: fuzz asan doc install lint check-format format clean

all: setup
	@ninja -C $(TAPBATCH_BUILD) --quiet

# Packages, DPDK, and a configured build folder.
setup:
	@devtools/setup.sh $(TAPBATCH_BUILD)

demo: all
	@devtools/install-packages.sh bench
	@. $(TAPBATCH_BUILD)/env.sh && test/demo.sh

test: all
	@devtools/install-packages.sh test bench vm
	@test/run unit build func bench vm
test-unit test-build test-func test-bench: all
	@devtools/install-packages.sh test bench
	@test/run $(@:test-%=%)
test-vm test-vhost: all
	@devtools/install-packages.sh test vm
	@test/run $(@:test-%=%)

# All experiments in less than 20 minutes, or a few steps of each in 2: build/bench/report.html,
# report.md, results.json. bench-doc then takes that over into doc/report and README.
bench: all
	@devtools/install-packages.sh bench
	@. $(TAPBATCH_BUILD)/env.sh && $(TAPBATCH_BUILD)/app/perf/dpdk-tapbatch-perf --report $(TAPBATCH_BUILD)/bench
bench-quick: all
	@devtools/install-packages.sh bench
	@. $(TAPBATCH_BUILD)/env.sh && $(TAPBATCH_BUILD)/app/perf/dpdk-tapbatch-perf --quick --report $(TAPBATCH_BUILD)/bench
bench-doc:
	@devtools/bench-doc.sh $(TAPBATCH_BUILD)/bench

# With address and undefined-behaviour sanitizers: test/run --sanitize GROUP
asan: TAPBATCH_BUILD := build-asan
asan:
	@devtools/install-packages.sh test
	@devtools/setup.sh build-asan -Db_sanitize=address,undefined -Db_lundef=false
	@ninja -C build-asan --quiet

# FUZZ_SECONDS for each fuzzer
fuzz:
	@devtools/fuzz.sh

doc:
	@devtools/install-packages.sh doc
	@$(MAKE) -C doc html

install: all
	@meson install -C $(TAPBATCH_BUILD) --no-rebuild

# Layout and static analysis; the layout alone; set the layout right.
lint:
	@devtools/lint.sh
check-format:
	@devtools/lint.sh check
format:
	@devtools/lint.sh format

clean:
	@rm -rf build build-asan build-fuzz build-clang
