# Thin front of CMake: nothing is built here that `cmake` and `ctest` can't do alone. `make` says what there is.

BUILD_DIR  ?= build
BUILD_TYPE ?= Release
JOBS       ?= $(shell nproc 2>/dev/null || echo 2)

DEPS := g++ cmake ninja-build ccache antlr4 libantlr4-runtime-dev libcli11-dev nlohmann-json3-dev libspdlog-dev \
        libfmt-dev catch2 libflatbuffers-dev flatbuffers-compiler libhwy-dev python3 python3-numpy
BENCH_DEPS := $(DEPS) libopenblas-dev

# A Java virtual machine (the parser generator's) that finds one of these says so on every start.
unexport JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS

.DEFAULT_GOAL := help
.PHONY: help deps bench-deps build demo test bench install clean

help:
	@echo 'ptoc compiles .pto programs, ptorun runs what it made on a simulated accelerator.'
	@echo
	@echo '  make deps     install what is missing of the Debian packages needed (apt; sudo when not root)'
	@echo '  make build    deps, then compile into $(BUILD_DIR)/; programs are $(BUILD_DIR)/bin/ptoc and ptorun'
	@echo '  make demo     build, then compile and run every sample and show the results in a table'
	@echo '  make test     build, then run every test; prints what failed and a summary'
	@echo '  make bench    build, then measure the compiler and the simulator; also installs OpenBLAS'
	@echo '  make install  build, then install under PREFIX (default /usr/local)'
	@echo '  make clean    remove $(BUILD_DIR)/'
	@echo
	@echo 'Settings: BUILD_DIR=$(BUILD_DIR) BUILD_TYPE=$(BUILD_TYPE) JOBS=$(JOBS)'

deps:
	@sh cmake/install_deps.sh $(DEPS)

bench-deps:
	@sh cmake/install_deps.sh $(BENCH_DEPS)

# Configuring again costs a second and keeps a build directory of an older checkout right.
build: deps
	@echo 'make: configuring $(BUILD_DIR) ($(BUILD_TYPE))'
	@cmake -S . -B $(BUILD_DIR) -G Ninja -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) $(CMAKE_ARGS)
	@echo 'make: compiling with $(JOBS) jobs'
	@cmake --build $(BUILD_DIR) --parallel $(JOBS)

demo: build
	@sh samples/run_demo.sh --bin $(BUILD_DIR)/bin

test: build
	@echo 'make: running the tests with $(JOBS) jobs'
	@cd $(BUILD_DIR) && ctest --output-on-failure --parallel $(JOBS)

bench: bench-deps build
	@cmake -S . -B $(BUILD_DIR) -DPTO_BUILD_BENCH=ON
	@cmake --build $(BUILD_DIR) --parallel $(JOBS)
	@python3 tests/bench/run_bench.py --bin $(BUILD_DIR)/bin

install: build
	@cmake --install $(BUILD_DIR) --prefix $(or $(PREFIX),/usr/local)

clean:
	rm -rf $(BUILD_DIR)
