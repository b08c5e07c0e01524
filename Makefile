# fedgrid. `make help` lists the targets.
# Builds may share a target folder through CARGO_TARGET_DIR.

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
FEDGRID := $(TARGET)/release/fedgrid

.PHONY: help demo build test pages python wheel bench docs site r data figures soak deny lint-release image

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

build: ## build the command in release
	$(CARGO) build --release --locked

demo: ## train the bundled example; leaves fedgrid-demo/report.html
	$(CARGO) build --profile demo --locked -p fedgrid-cli --no-default-features
	$(TARGET)/demo/fedgrid demo --force
	@echo "The command without federations is $(TARGET)/demo/fedgrid; all of it at full speed: cargo install --locked --path crates/fedgrid-cli"

test: ## everything that CI checks
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --workspace --locked
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked
	$(MAKE) pages
	$(MAKE) python

PYTHON ?= python3
# The wheel and the workspace share what they compile if both know that it is an extension.
export PYO3_BUILD_EXTENSION_MODULE := 1

# The command, as tests have built it, or else a release.
COMMAND = $(firstword $(wildcard $(abspath $(TARGET))/debug/fedgrid $(abspath $(TARGET))/release/fedgrid))

pages: ## links, commands and settings of all pages; needs Python 3.11 and nothing from PyPI
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "skipped: pages are not tested: $(PYTHON) is not Python 3.11 or later"; exit 0; } \
	  && FEDGRID="$(COMMAND)" $(PYTHON) -m unittest discover website/tests

python: ## the wheel in .venv and its tests; skipped with a reason where PyPI cannot be reached
	FEDGRID="$(COMMAND)" PYTHON=$(PYTHON) python/test.sh

wheel: ## the wheel in release, in target/wheels
	cd python && ../.venv/bin/maturin build --release --locked --out $(abspath $(TARGET))/wheels

bench: ## measure, as ratios in one run; the peers run in .venv
	@test -x .venv/bin/python || $(PYTHON) -m venv .venv || echo "no virtual environment: peers are skipped"
	@test ! -x .venv/bin/python || .venv/bin/pip install --quiet numpy scikit-learn scipy networkx cvxpy \
	  || echo "the peers cannot be installed: they are skipped"
	FEDGRID_PYTHON=$(CURDIR)/.venv/bin/python $(CARGO) bench -p fedgrid --benches --locked
	$(CARGO) bench -p fedgrid-lab --benches --locked
	$(CARGO) bench -p fedgrid-cli --benches --locked
	$(CARGO) bench -p fedgrid-zenoh --benches --locked
	@test ! -x .venv/bin/maturin || WHEEL_PROFILE=release python/bench.sh

data: build ## the comparison on every dataset of FEDGRID_DATA (default ../shared/data)
	$(CARGO) test --release --locked -p fedgrid-cli --test command -- --nocapture --include-ignored datasets:: baselines:: new_nodes::

figures: build ## every figure of the papers; leaves fedgrid-reproduce/index.html
	$(FEDGRID) reproduce --all --force

soak: ## the longer checks
	$(CARGO) test --release --workspace --locked -- --include-ignored

docs: ## build the API documentation
	$(CARGO) doc --workspace --no-deps --locked

r: ## check the R package and run its tests; skipped with a reason where R is not installed
	FEDGRID="$(COMMAND)" r/check.sh

site: ## the documentation as pages in target/site/html; skipped with a reason where PyPI cannot be reached
	PYTHON=$(PYTHON) website/make.sh $(TARGET)/site $(COMMAND)

deny: ## check licences and sources of dependencies; needs cargo-deny
	@command -v cargo-deny >/dev/null || { echo "skipped: cargo-deny is not installed"; exit 0; } \
	  && $(CARGO) deny check licenses bans sources

lint-release: ## check what a release is made of; says which tools are missing
	PYTHON=$(PYTHON) packaging/lint.sh

image: ## build the container image and run a federation in it; needs podman, docker or buildah
	packaging/image.sh
