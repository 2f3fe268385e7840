#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The memory of an idle agent does not grow with the number of jobs that it has observed.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
if grep -q __asan_init "$agent"; then
  skip "an idle agent's memory does not grow with its jobs" "built with sanitizers"
  tap_done
  exit
fi

# play COUNT: more jobs; each is queried from Slurm and complete
jobs=0
play() {
  local end=$((jobs + $1))
  while [ $jobs -lt $end ]; do
    jobs=$((jobs + 1))
    "$announce" "$socket" job=$jobs app=brief feature=batch:$((1 + jobs % 16)) step=batch -- true
  done
  wait_until 60 log_has "job $jobs: brief, completed"
  sleep 1.5 # for the query of the last job and a child that may search an equation
}

kib() {
  awk -v name="$1:" '$1 == name { print $2 }' "/proc/$pid/status"
}

config
if ! start; then
  ok 1 "the agent starts"
  tap_done
  exit
fi
wait_until 20 grep -q 22.05.8 "$state/site"
play 40
before=$(kib RssAnon)
play 200
# it is idle again when the last job's query and a search for an equation have ended
has_settled() {
  after=$(kib RssAnon)
  [ -n "$before" ] && [ "$after" -lt $((before + 400)) ]
}
wait_until 15 has_settled
ok $? "200 more jobs leave an idle agent at ${after:-?} KiB of its own, from ${before:-?}"
echo "# $(kib VmRSS) KiB resident"
stop
tap_done
