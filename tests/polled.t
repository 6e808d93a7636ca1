#!/bin/sh
# SPDX-License-Identifier: MIT
#
# IOPOLL rings: several on one poll queue, commands without data, killed tasks.

. "$(dirname "$0")/lib.sh"

guest 'polled rings' --param poll_queues=1 --timeout 200 \
	--disk raw,queues=2 <<'END'
prog pollrings vda
prog busy -p -t 3 -q 64 vda
END

done_testing
