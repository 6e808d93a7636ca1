# SPDX-License-Identifier: MIT
#
# Targets of the benchmark, included by the Makefile. See bench/README.md.

# More options of bench/run and bench/profile: make bench BENCH='--only char64'
BENCH	?=

.PHONY: bench bench-quick profile
bench: module tools
	@bench/run $(BENCH)

bench-quick: module tools
	@bench/run --quick $(BENCH)

profile: module tools
	@bench/profile $(BENCH)
