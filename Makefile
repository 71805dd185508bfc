# Everything a newcomer types. Each target says first what it will install.

SUDO  := $(if $(filter 0,$(shell id -u)),,sudo)
# Cargo builds as the caller and starts what it built as root.
AS_ROOT := $(if $(SUDO),env CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=$(SUDO) \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=$(SUDO))
CARGO ?= cargo
XWAY  := target/release/xway

# What `make test` needs beyond cargo, gcc, make and git; `cargo build` needs none of it.
PACKAGES := g++ bpftool clang-19 llvm-19 libelf-dev zlib1g-dev pkg-config groff-base iproute2 procps \
	python3-venv tshark tcpdump libpcap0.8 nftables iptables nginx-light libnginx-mod-stream \
	chromium systemd traceroute mtr-tiny iputils-tracepath iputils-ping bird2 frr curl
MISSING   = $(shell for p in $(PACKAGES); do \
	dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'install ok installed' || echo $$p; done)

.PHONY: build demo test setup lint unit loom fuzz-targets root-tests python-tests install-check \
	bench bpf cargo-fuzz fuzz soak clean install uninstall install-c deb deb-test reboot-test \
	libxdp-test libxdp-bench route-vm-test balance-vm-test

build:
	$(CARGO) build --release

demo:
	@echo "make demo: installs nothing; builds $(XWAY). As root, or where sudo asks for no password, it"
	@echo "floods a service in namespaces of its own; else it replays the story in user space."
	$(CARGO) build --release --package xway
	$(shell test -n "$(SUDO)" && sudo -n true 2>/dev/null && echo sudo) $(XWAY) demo

test: setup lint unit loom fuzz-targets root-tests python-tests install-check
	@echo "make test: all passed"

setup:
	@if [ -n "$(MISSING)" ]; then \
	    echo "make test: installs these Debian packages: $(MISSING)"; \
	    $(SUDO) sh .ci/apt-install $(MISSING); \
	else echo "make test: installs nothing; every package it needs is here."; fi

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml > /dev/null
	$(CARGO) xtask tidy
	$(CARGO) xtask bpf --check
	$(CARGO) xtask abi --check
	$(CARGO) xtask header --check

# With a limit, because a test that waits for ever would name nothing.
unit:
	timeout --kill-after=10 2400 $(CARGO) test

# Every order in which threads can act on the rings and the memory of AF_XDP sockets. In a folder of
# its own, because the flag is for all crates.
loom:
	RUSTFLAGS="--cfg loom" $(CARGO) test --release --target-dir target/loom \
	    --package xway-xsk --lib loom

# The fuzz targets, with libFuzzer and without a nightly compiler's instrumentation, replay what is
# in fuzz/corpus. `cargo test` does the same without libFuzzer.
FUZZ_TARGETS = $(notdir $(wildcard fuzz/corpus/*))
FUZZ_BUILD   = target/fuzz

fuzz-targets:
	RUSTFLAGS="--cfg fuzzing" $(CARGO) build --locked --manifest-path fuzz/Cargo.toml \
	    --target-dir $(FUZZ_BUILD)
	@set -e; for target in $(FUZZ_TARGETS); do \
	    $(FUZZ_BUILD)/debug/$$target -runs=0 -timeout=60 fuzz/corpus/$$target \
	        2> $(FUZZ_BUILD)/replay.log || { cat $(FUZZ_BUILD)/replay.log; exit 1; }; \
	done; echo "fuzz: the corpus of $(words $(FUZZ_TARGETS)) targets is handled"

# These make namespaces, load programs and attach them.
root-tests:
	$(CARGO) build --package xway --package xway-xsk-c --package xway-examples
	$(if $(SUDO),XWAY_ROOT_RUNNER=$(SUDO)) $(CARGO) xtask root-tests
	$(AS_ROOT) $(CARGO) xtask conformance tests/conformance/everywhere --tables \
	    --engine kernel

# Into a virtual environment below target/; pip fetches maturin and pytest.
python-tests:
	python3 -m venv target/venv
	target/venv/bin/pip install --quiet --disable-pip-version-check pytest .
	target/venv/bin/pytest --quiet -p no:cacheprovider examples/python

# The command into PREFIX (and DESTDIR below which packages are built): binary, manual pages,
# completions, systemd units, an example, an entry in Wireshark's list of interfaces, and an empty
# $(SYSCONFDIR)/xway. PROFILE=dev builds it quicker.
PREFIX     ?= /usr/local
SYSCONFDIR ?= /etc
PROFILE    ?= release
BUILT       = $(or $(CARGO_TARGET_DIR),target)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))
ROOT        = $(DESTDIR)$(PREFIX)
MAN_PAGES   = $(or $(CARGO_TARGET_DIR),target)/man
UNITS       = xway.service xway@.service xway-daemon.service
BASH_DIR    = share/bash-completion/completions
FISH_DIR    = share/fish/vendor_completions.d
ZSH_DIR     = share/zsh/vendor-completions
# Where Wireshark of the same PREFIX finds programs that capture.
MULTIARCH   = $(shell gcc -print-multiarch 2> /dev/null)
EXTCAP_DIR  = lib/$(if $(MULTIARCH),$(MULTIARCH)/)wireshark/extcap

install:
	$(CARGO) build --package xway --profile $(PROFILE)
	rm -rf $(MAN_PAGES)
	$(BUILT)/xway man $(MAN_PAGES)
	$(CARGO) xtask man $(MAN_PAGES)
	install -D -m 755 $(BUILT)/xway $(ROOT)/bin/xway
	strip $(ROOT)/bin/xway
	install -d $(ROOT)/share/man/man1 $(ROOT)/share/man/man5 $(ROOT)/$(BASH_DIR) \
	    $(ROOT)/$(FISH_DIR) $(ROOT)/$(ZSH_DIR) $(ROOT)/lib/systemd/system
	install -m 644 $(MAN_PAGES)/*.1 $(ROOT)/share/man/man1/
	install -m 644 $(MAN_PAGES)/*.5 $(ROOT)/share/man/man5/
	$(BUILT)/xway completions bash > $(ROOT)/$(BASH_DIR)/xway
	$(BUILT)/xway completions fish > $(ROOT)/$(FISH_DIR)/xway.fish
	$(BUILT)/xway completions zsh > $(ROOT)/$(ZSH_DIR)/_xway
	for unit in $(UNITS); do \
	    sed 's|@PREFIX@|$(PREFIX)|g; s|@SYSCONFDIR@|$(SYSCONFDIR)|g' dist/systemd/$$unit.in \
	        > $(ROOT)/lib/systemd/system/$$unit || exit 1; \
	done
	install -d $(ROOT)/$(EXTCAP_DIR)
	sed 's|@PREFIX@|$(PREFIX)|g' dist/extcap/xway.in > $(ROOT)/$(EXTCAP_DIR)/xway
	chmod 755 $(ROOT)/$(EXTCAP_DIR)/xway
	install -D -m 644 dist/systemd/sysusers.conf $(ROOT)/lib/sysusers.d/xway.conf
	install -D -m 644 dist/systemd/tmpfiles.conf $(ROOT)/lib/tmpfiles.d/xway.conf
	install -D -m 644 dist/examples/eth1.toml $(ROOT)/share/doc/xway/examples/eth1.toml
	install -D -m 644 dist/examples/rules.toml $(ROOT)/share/doc/xway/examples/rules/eth1.toml
	install -D -m 644 dist/grafana/xway.json $(ROOT)/share/doc/xway/grafana/xway.json
	install -d $(DESTDIR)$(SYSCONFDIR)/xway/rules

# Leaves what is in $(SYSCONFDIR)/xway, and programs that are attached.
uninstall:
	rm -f $(ROOT)/bin/xway $(ROOT)/share/man/man1/xway.1 $(ROOT)/share/man/man1/xway-*.1 \
	    $(ROOT)/share/man/man5/xway-*.5 $(ROOT)/$(BASH_DIR)/xway $(ROOT)/$(FISH_DIR)/xway.fish \
	    $(ROOT)/$(ZSH_DIR)/_xway $(addprefix $(ROOT)/lib/systemd/system/,$(UNITS)) \
	    $(ROOT)/lib/sysusers.d/xway.conf $(ROOT)/lib/tmpfiles.d/xway.conf \
	    $(ROOT)/$(EXTCAP_DIR)/xway
	rm -rf $(ROOT)/share/doc/xway
	-rmdir $(DESTDIR)$(SYSCONFDIR)/xway/rules $(DESTDIR)$(SYSCONFDIR)/xway 2> /dev/null

# Installs below target/, and checks manual pages, completions and units.
install-check:
	dist/check-install

# The Debian package, as target/debian/xway_VERSION_ARCHITECTURE.deb.
CARGO_DEB = target/tools/bin/cargo-deb

$(CARGO_DEB):
	$(CARGO) install --locked --root target/tools cargo-deb

deb: $(CARGO_DEB)
	rm -rf target/deb-root
	$(MAKE) install DESTDIR=$(CURDIR)/target/deb-root PREFIX=/usr
	$(CARGO_DEB) --package xway --no-build --no-strip --output target/debian/

# Installs, upgrades, removes and purges the package in a fresh system. Root, and the package
# mmdebstrap.
deb-test: deb
	$(SUDO) dist/test-deb target/debian/*.deb

# Boots a virtual machine with the package and a declaration, which receives packets from the first
# moment. Root, and the packages mmdebstrap and qemu-system-x86.
reboot-test: deb
	$(SUDO) dist/test-reboot target/debian/*.deb

# Boots a virtual machine in which Debian's xdp-tools attach programs, which xway shows, protects and
# adopts. Root, and the packages mmdebstrap, qemu-system-x86 and binutils.
libxdp-test: build
	$(SUDO) dist/test-libxdp $(XWAY) bpf/prebuilt/test

# In such a machine, which has VLAN devices and bonds: the router between them.
route-vm-test: build
	$(SUDO) dist/test-route-vlan $(XWAY)

# In the same machine: the balancer on Linux 6.1, and beside IPVS.
balance-vm-test: build
	$(SUDO) dist/test-balance-ipvs $(XWAY)

# In the same machine: instructions that a packet costs in a chain and under libxdp's dispatcher.
libxdp-bench: build
	$(SUDO) dist/bench-libxdp $(XWAY) bpf/prebuilt/chain.o

# The C library: header, shared and static library, pkg-config file, manual pages.
C_BUILT  = $(BUILT)
C_ROOT   = $(ROOT)
VERSION  = $(shell sed -n '/^\[workspace.package\]/,/^version/s/^version = "\(.*\)"/\1/p' Cargo.toml)
C_SO     = libxway_xsk.so.$(firstword $(subst ., ,$(VERSION)))

install-c:
	$(CARGO) build --package xway-xsk-c --profile $(PROFILE)
	install -d $(C_ROOT)/include $(C_ROOT)/lib/pkgconfig $(C_ROOT)/share/man/man3
	install -m 644 crates/xsk-c/include/xway_xsk.h $(C_ROOT)/include/
	install -m 755 $(C_BUILT)/libxway_xsk.so $(C_ROOT)/lib/libxway_xsk.so.$(VERSION)
	ln -sf libxway_xsk.so.$(VERSION) $(C_ROOT)/lib/$(C_SO)
	ln -sf $(C_SO) $(C_ROOT)/lib/libxway_xsk.so
	install -m 644 $(C_BUILT)/libxway_xsk.a $(C_ROOT)/lib/
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' crates/xsk-c/xway_xsk.pc.in \
	    > $(C_ROOT)/lib/pkgconfig/xway_xsk.pc
	install -m 644 crates/xsk-c/man/xway_xsk.3 $(C_ROOT)/share/man/man3/

bench:
	$(CARGO) build --release --package xway
	$(SUDO) $(XWAY) bench run drop

bpf:
	$(CARGO) xtask bpf
	$(CARGO) xtask abi

# Coverage-guided, with a nightly compiler and AddressSanitizer. Inputs that were found go to
# target/soak/corpus; findings stay in fuzz/artifacts.
SOAK_SECONDS ?= 600

cargo-fuzz:
	@$(CARGO) fuzz --version > /dev/null 2>&1 || \
	    { echo "installs cargo-fuzz below $${CARGO_HOME:-~/.cargo}"; \
	      $(CARGO) install --locked cargo-fuzz; }

fuzz: cargo-fuzz
	$(CARGO) xtask soak --only fuzz --seconds 60

# All campaigns: fuzzing, faults of system calls, random rules, random routes, routing daemons, hostile
# packets, programs on both runtimes, AF_XDP; then the package in a fresh system, and after a reboot, and libxdp
# beside it. Root for all but fuzzing.
# Each fuzz target runs SOAK_SECONDS, and the sizes of the other campaigns are proportional to it.
soak: setup cargo-fuzz
	$(if $(SUDO),XWAY_ROOT_RUNNER=$(SUDO)) $(CARGO) xtask soak --seconds $(SOAK_SECONDS)
	$(SUDO) sh .ci/apt-install mmdebstrap qemu-system-x86
	$(MAKE) deb-test reboot-test libxdp-test route-vm-test balance-vm-test

clean:
	$(CARGO) clean
