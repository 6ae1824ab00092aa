# What people run. Each target installs what it needs, builds what it needs, and says what it does.

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 300
CAIRN_DATA ?= $(HOME)/.cairn

.DEFAULT_GOAL := help
.NOTPARALLEL:  # ninja and ctest use all cores; installing packages takes turns
.PHONY: help setup build run test tsan redis-suite bench fmt lint fuzz clean packages-build packages-run \
        packages-test packages-lint

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

setup:  ## install the Debian packages that are missing, for everything below
	@scripts/setup.sh build run test lint

build: build/build.ninja  ## the release binary, build/cairn
	@ninja -C build -j $(JOBS)

run: packages-run build  ## build, then serve from CAIRN_DATA (default: ~/.cairn)
	@build/cairn serve --data "$(CAIRN_DATA)"

# One ctest runs the tests of all build types, so that one line counts them.
test: build-asan/build.ninja build-tsan/build.ninja build-fuzz/build.ninja build  ## all tests: ASan and UBSan, TSan, a short run of each fuzzer
	@ninja -C build-asan -j $(JOBS)
	@ninja -C build-tsan -j $(JOBS)
	@ninja -C build-fuzz -j $(JOBS)
	@mkdir -p build-test
	@echo 'subdirs(../build-asan ../build-tsan ../build-fuzz)' > build-test/CTestTestfile.cmake
	@ctest --test-dir build-test --output-on-failure --no-tests=error -j $(JOBS)

# Not among the tests: it compiles the whole server once more.
tsan: build-tsan/build.ninja  ## clients of all layers at once, against the server under ThreadSanitizer
	@ninja -C build-tsan -j $(JOBS) cairn tests_concurrency
	@CAIRN_BINARY=$(CURDIR)/build-tsan/cairn build-tsan/tests/tests_concurrency

# Not among the tests: it fetches Redis's source package, for which apt needs a deb-src entry.
redis-suite: build  ## the Redis project's own tests against Cairn
	@scripts/setup.sh suite
	@scripts/redis_suite.sh

bench: packages-test build/build.ninja  ## Cairn beside Redis and pgbench, and the store alone
	@$(configure) -B build  # Google Benchmark may have been installed since
	@ninja -C build -j $(JOBS) cairn bench_store bench_seats bench_jobs
	@bench/kv/run.py
	@bench/data/run.py
	@bench/data/run.py --large
	@bench/postgres/run.py
	@bench/seats/run.py
	@bench/jobs/run.py
	@bench/stall/run.py
	@build/bench/bench_store

fmt: packages-lint  ## lay out the code
	@scripts/lint.sh fix

lint: packages-lint  ## check layout and code, warnings as errors
	@scripts/lint.sh

fuzz: build-fuzz/build.ninja  ## run each fuzzer for FUZZ_SECONDS (default 300)
	@ninja -C build-fuzz -j $(JOBS)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh build-fuzz

clean:  ## remove all build directories
	rm -rf build build-asan build-tsan build-fuzz build-lint build-test build-npm build-npm-bench build-npm-cadence build-redis-suite

# Each group of packages contains what its targets need to build.
packages-build:
	@scripts/setup.sh build
packages-run:
	@scripts/setup.sh build run
packages-test:
	@scripts/setup.sh build test
	@scripts/npm_test_packages.sh
	@scripts/npm_test_packages.sh tests/functions/cadence build-npm-cadence
packages-lint:
	@scripts/setup.sh build lint

# A build directory is configured once; from then on ninja runs CMake when it is needed.
configure = cmake -S . -G Ninja --log-level=WARNING
build/build.ninja: | packages-build
	@$(configure) -B build -DCMAKE_BUILD_TYPE=Release
build-asan/build.ninja: | packages-test
	@$(configure) -B build-asan -DCMAKE_BUILD_TYPE=Asan -DCAIRN_RELEASE_BINARY=$(CURDIR)/build/cairn
build-tsan/build.ninja: | packages-test
	@$(configure) -B build-tsan -DCMAKE_BUILD_TYPE=Tsan
build-fuzz/build.ninja: | packages-test
	@$(configure) -B build-fuzz -DCMAKE_BUILD_TYPE=Fuzz -DCMAKE_CXX_COMPILER=clang++-16
