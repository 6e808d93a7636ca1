#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Data goes where it should: every combination of form, buffer, ring and flags,
# through both nodes; every length and place of buffers; the page cache.

. "$(dirname "$0")/lib.sh"

guest 'every way to read and write' --timeout 300 \
	--param poll_queues=1 --disk raw,queues=2 --disk 4k <<'END'
prog rw vda irq
prog rw vda poll
prog sizes vda
prog sizes vdb
prog coherence vda
END

done_testing
