# Installation, with the variables that GNU's coding standards name, and packages.
# docs/install.md has the whole of it. Included by the Makefile at the top.

PREFIX   ?= /usr/local
bindir   ?= $(PREFIX)/bin
datadir  ?= $(PREFIX)/share
mandir   ?= $(datadir)/man
docdir   ?= $(datadir)/doc/fibchurn
bashdir  ?= $(datadir)/bash-completion/completions
zshdir   ?= $(datadir)/zsh/site-functions
fishdir  ?= $(datadir)/fish/vendor_completions.d
INSTALL  ?= install

# Files of packages have the time of the commit, so that two builds are alike.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

# What packages are called: a tag's number, and 0~git and the day where there is none.
PACKAGE_VERSION ?= $(shell case "$(VERSION)" in \
	(v[0-9]*|[0-9]*.*) echo "$(VERSION)" | sed 's/^v//; s/-/+/; s/-/./g' ;; \
	(*) echo "0~git$$(date -u -d @$(SOURCE_DATE_EPOCH) +%Y%m%d).$(VERSION)" | tr - . ;; esac)

.PHONY: install uninstall generated dist packages

# What the program says of itself. It is built anew, but where sudo hides Go.
generated: $(if $(shell command -v $(GO)),build,$(BUILD)/fibchurn)
	$(BUILD)/fibchurn man >$(BUILD)/fibchurn.1
	$(BUILD)/fibchurn completion bash >$(BUILD)/fibchurn.bash
	$(BUILD)/fibchurn completion zsh >$(BUILD)/_fibchurn
	$(BUILD)/fibchurn completion fish >$(BUILD)/fibchurn.fish

install: generated
	$(INSTALL) -D -m 0755 $(BUILD)/fibchurn $(DESTDIR)$(bindir)/fibchurn
	$(INSTALL) -D -m 0644 $(BUILD)/fibchurn.1 $(DESTDIR)$(mandir)/man1/fibchurn.1
	$(INSTALL) -D -m 0644 $(BUILD)/fibchurn.bash $(DESTDIR)$(bashdir)/fibchurn
	$(INSTALL) -D -m 0644 $(BUILD)/_fibchurn $(DESTDIR)$(zshdir)/_fibchurn
	$(INSTALL) -D -m 0644 $(BUILD)/fibchurn.fish $(DESTDIR)$(fishdir)/fibchurn.fish
	$(INSTALL) -d -m 0755 $(DESTDIR)$(docdir)/docs
	$(INSTALL) -m 0644 README.md LICENSE $(DESTDIR)$(docdir)
	$(INSTALL) -m 0644 docs/*.md $(DESTDIR)$(docdir)/docs
	$(INSTALL) -d -m 0755 $(DESTDIR)$(docdir)/docs/lava
	$(INSTALL) -m 0644 docs/lava/* $(DESTDIR)$(docdir)/docs/lava
	$(INSTALL) -d -m 0755 $(DESTDIR)$(docdir)/docs/tour
	$(INSTALL) -m 0644 docs/tour/fib_trie.patch docs/tour/kernel.config $(DESTDIR)$(docdir)/docs/tour
	$(INSTALL) -m 0755 docs/tour/build-kernels.sh $(DESTDIR)$(docdir)/docs/tour

# With the variables that it was installed with.
uninstall:
	rm -f $(DESTDIR)$(bindir)/fibchurn $(DESTDIR)$(mandir)/man1/fibchurn.1
	rm -f $(DESTDIR)$(bashdir)/fibchurn $(DESTDIR)$(zshdir)/_fibchurn $(DESTDIR)$(fishdir)/fibchurn.fish
	rm -rf $(DESTDIR)$(docdir)

# The source of the last commit.
dist:
	mkdir -p $(BUILD)
	git archive --format=tar --prefix=fibchurn-$(PACKAGE_VERSION)/ HEAD | gzip -9n >$(BUILD)/fibchurn-$(PACKAGE_VERSION).tar.gz

# A .deb and an .rpm of this machine's architecture. nfpm is of a module of its own,
# so that what it needs is not what fibchurn needs.
packages: generated
	gzip -9nc $(BUILD)/fibchurn.1 >$(BUILD)/fibchurn.1.gz
	for packager in deb rpm; do \
		BUILD=$(abspath $(BUILD)) SOURCE=$(CURDIR) PACKAGE_VERSION='$(PACKAGE_VERSION)' GOARCH=$$($(GO) env GOARCH) \
		$(GO) -C internal/packaging tool nfpm package --config nfpm.yaml --packager $$packager --target $(abspath $(BUILD))/ || exit; \
	done
