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
  wait_until 60 log_has 'job 7: starved, completed'
  ok $? "and hears what was said meanwhile when it has some"
else
  skip "without a descriptor to spare it waits" "prlimit is not installed"
fi

# ---- scontrol suspend: Slurm counts neither the time nor asks of the node to

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
wait_until 60 log_has 'job 8: paused, completed, .* in [01]\.[0-9] s'
ok $? "time for which a job was suspended is no run time"
grep 'job 8: paused' "$scratch/log" | diag
stop
tap_done
