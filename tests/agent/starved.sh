#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Out of descriptors, killed while it starts, with what a crash left: the agent goes on.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

# clock ticks of CPU that the agent has used
used() {
  sed 's/.*) //' "/proc/$pid/stat" | awk '{ print $12 + $13 }'
}
child_of() {
  grep -qx "PPid:	$1" /proc/[0-9]*/status
}

config
mkfifo "$scratch/topology"
HWLOC_XMLFILE=$scratch/topology "$agent" -c "$scratch/foretell.conf" -v 2>>"$scratch/log" &
first=$!
pids="$pids $first"
wait_until 20 child_of "$first"
kill -KILL "$first"
wait "$first" 2>/dev/null
mkdir -p "$state/live"
: >"$state/live/77"
: >"$state/live/77.part"
start
ok $? "one that is killed while it reads the node's topology keeps no lock"
[ ! -e "$state/live/77" ] && [ ! -e "$state/live/77.part" ]
ok $? "an empty journal of a run goes"

if command -v prlimit >/dev/null; then
  prlimit --pid "$pid" --nofile="$(find "/proc/$pid/fd" -mindepth 1 | wc -l):"
  "$announce" "$socket" job=7 app=starved -- true
  before=$(used)
  sleep 2
  after=$(used)
  test $((after - before)) -lt $(($(getconf CLK_TCK) / 2))
  ok $? "without a descriptor to spare it waits ($((after - before)) ticks in 2 s)"
  prlimit --pid "$pid" --nofile=1024:
  wait_until 60 said 'job 7: starved, completed'
  ok $? "and hears what was said meanwhile when it has some"
else
  skip "without a descriptor to spare it waits" "prlimit is not installed"
fi
stop
tap_done
