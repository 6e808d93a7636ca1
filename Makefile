# SPDX-License-Identifier: MIT
#
# Every command a person needs; "make help" lists them. The module itself is
# defined by Kbuild, which the kernel's build system reads.

# Kernel to build for and to test with: a series or a release in the cache.
KERNEL	?= 6.12
# Tests that run side by side.
JOBS	?= 2
# One test, without folder and suffix: make test T=rw
T	?=
# Options of scripts/vm for "make shell".
VM	?= --disk raw --disk null

BUILD	:= build
CC	?= cc
CFLAGS	?= -O2 -g

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# What is below needs the kernel's release. Getting ready costs nothing if there
# is nothing to do.
no_setup := help clean distclean
ifneq ($(filter-out $(no_setup),$(MAKECMDGOALS)),)
ifneq ($(shell scripts/setup $(KERNEL) >&2 && echo done),done)
$(error set-up failed)
endif
KVER := $(shell scripts/kernel-release $(KERNEL))
export VBLK_KERNEL := $(KVER)
endif

.PHONY: help
help:
	@echo 'Try it:'
	@echo '  make demo       fio on /dev/vdac0 beside /dev/vda, in a guest'
	@echo '  make shell      a prompt in a guest with the driver loaded'
	@echo '                  (VM="--disk 4k ...": options of scripts/vm)'
	@echo 'Work on it:'
	@echo '  make test       all tests (T=name: one of tests/*.t)'
	@echo '  make check      checkpatch, sparse, shellcheck, warnings as errors'
	@echo 'Measure it:'
	@echo '  make bench      instructions per I/O, all rows (a quarter of an hour)'
	@echo '  make bench-quick  the main rows'
	@echo '  make profile    one command, function by function'
	@echo 'Parts:'
	@echo '  make setup      missing Debian packages, kernels for the guests'
	@echo '  make module     the driver: build/module/<release>/virtio_blk.ko'
	@echo '  make fio        fio with cmd_type=virtblk: build/fio/fio'
	@echo '  make tools      io_uring-vblk: build/tools/io_uring-vblk'
	@echo '  make guest      test programs that run in guests: build/guest/'
	@echo '  make clean      remove what was built'
	@echo '  make distclean  the same, and all that was fetched into the cache'
	@echo 'Variables: KERNEL=$(KERNEL) JOBS=$(JOBS) T= VM='

.PHONY: setup
setup:
	@echo 'ready: kernel $(KVER)'

# The driver

module_dir := $(BUILD)/module/$(KVER)
module	:= $(module_dir)/virtio_blk.ko
module_src := Kbuild $(shell find drivers include/uapi -type f ! -name '.*')

.PHONY: module
module: $(module)

$(module): $(module_src) scripts/build-module
	scripts/build-module $(KVER) $(module_dir)

# Test programs. Each tests/guest/*.c is one, but for those that all of them
# share. Static, so that guests need no libraries.

guest_shared := t
guest_names := $(filter-out $(guest_shared),\
	$(patsubst tests/guest/%.c,%,$(wildcard tests/guest/*.c)))
guest_obj := $(BUILD)/obj/guest
guest_flags := -std=gnu11 -Wall -Wextra -Werror -Iinclude -Iinclude/uapi

.PHONY: guest
guest: $(guest_names:%=$(BUILD)/guest/%)

$(BUILD)/guest/%: $(guest_obj)/%.o $(guest_shared:%=$(guest_obj)/%.o)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -static -s -pthread -o $@ $^ -luring

.PRECIOUS: $(guest_obj)/%.o
$(guest_obj)/%.o: tests/guest/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(guest_flags) -pthread -MMD -c -o $@ $<

-include $(wildcard $(guest_obj)/*.d)

# Parts that look after their own dependencies

.PHONY: fio
fio:
	@fio-engine/build.sh $(BUILD)/fio

.PHONY: tools
tools:
	@$(MAKE) --no-print-directory -C tools/io_uring-vblk \
		BUILD=$(CURDIR)/$(BUILD)/tools

# Use

.PHONY: shell
shell: module guest fio tools
	scripts/vm $(VM) --interactive

.PHONY: demo
demo: module fio
	@scripts/demo

.PHONY: test
test: module guest fio tools
	prove --timer -j $(JOBS) $(if $(T),tests/$(T).t,tests)

include bench/bench.mk

.PHONY: check
check:
	@scripts/check $(KVER)

.PHONY: clean
clean:
	rm -rf $(BUILD)

.PHONY: distclean
distclean: clean
	scripts/setup --forget
