#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every error by its errno, more often than there are slots, and a full load
# after each group of them.

. "$(dirname "$0")/lib.sh"

guest 'malformed commands and bad memory' --timeout 200 \
	--disk raw,qsize=16 --disk 4k,qsize=16 <<'END'
prog malformed vda
prog malformed vdb
prog badmem vda
END

limit=dev.max-discard-sectors=2048,dev.max-write-zeroes-sectors=1024
guest 'wrong ranges' --timeout 200 \
	--disk "raw,qsize=16,$limit" --disk "4k,qsize=16,$limit" \
	--disk raw,qsize=16,dev.discard=off,dev.write-zeroes=off <<'END'
prog ranges vda
prog ranges vdb
prog ranges vdc none
END

done_testing
