#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The agent keeps working without free descriptors, after a kill at its start, and with a crash's remains.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

# used: the CPU time of the agent in clock ticks
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
ok $? "an agent killed while it reads the node's topology leaves no lock"
[ ! -e "$state/live/77" ] && [ ! -e "$state/live/77.part" ]
ok $? "an empty journal of a run is removed"

if command -v prlimit >/dev/null; then
  prlimit --pid "$pid" --nofile="$(find "/proc/$pid/fd" -mindepth 1 | wc -l):"
  "$announce" "$socket" job=7 app=starved -- true
  before=$(used)
  sleep 2
  after=$(used)
  test $((after - before)) -lt $(($(getconf CLK_TCK) / 2))
  ok $? "without a free descriptor the agent waits ($((after - before)) ticks in 2 s)"
  prlimit --pid "$pid" --nofile=1024:
  wait_until 60 log_has 'job 7: starved, completed'
  ok $? "it receives the announcements once it has descriptors"
else
  skip "without a free descriptor the agent waits" "prlimit is not installed"
fi

# ---- scontrol suspend: Slurm does not count the time of suspension

echo "JobId=8 JobName=test UserId=x($(id -u)) GroupId=x(0) JobState=COMPLETED Restarts=0" \
  "RunTime=00:00:01 SubmitTime=2026-01-02T03:04:05 StartTime=2026-01-02T03:04:05" \
  "EndTime=2026-01-02T03:04:08 Partition=main" >"$scratch/job_8"
"$announce" "$socket" job=8 app=paused -- sh -c "echo \$\$ >$scratch/child; sleep 0.5; kill -STOP \$\$" &
client=$!
wait_until 20 test -s "$scratch/child"
sleep 2.8
mv "$scratch/job_8" "$FT_SCONTROL/job_8"
kill -CONT "$(cat "$scratch/child")"
wait "$client"
wait_until 60 log_has 'job 8: paused, completed in [01]\.[0-9] s'
ok $? "the time of suspension is no run time"
grep 'job 8: paused' "$scratch/log" | diag
stop
tap_done
