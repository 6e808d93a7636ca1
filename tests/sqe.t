#!/bin/sh
# SPDX-License-Identifier: MIT
#
# SQEs that change under the driver's hands, and random ones.

. "$(dirname "$0")/lib.sh"

guest 'hostile submission queues' --timeout 240 \
	--disk small --disk raw,qsize=16 <<'END'
prog reuse vda
prog flip vdb 4
prog fuzz vdb 20000
END

done_testing
