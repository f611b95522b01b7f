#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Two seats, from the shell. A call without a command reads one per line from standard input; all of
# them go to the same engine, which lasts as long as the call.
set -eu
holdfast=${HOLDFAST:-$(dirname "$0")/../build/holdfast}

status=0
"$holdfast" call --engine embedded: --json <<'END' || status=$?
# event, zone, how many seats
SEATS.OPEN gala floor 2

# event, zone, booking, user, quantity, at most so many a user
SEATS.RESERVE gala floor b-1 ann 2 4 TTL 10m
SEATS.RESERVE gala floor b-2 bob 1 4
SEATS.CONFIRM gala b-1 PAYMENT "p-77"
SEATS.ZONE gala floor
END

# 0: all succeeded. 1: one was refused. 2: one was malformed.
[ "$status" = 1 ] || exit 1
echo "bob was refused, as he had to be"
