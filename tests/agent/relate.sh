#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Apps at home on two platforms teach how fast one is that has run on the first alone.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
foretell=$FT_TOP_BUILDDIR/predictor/cli/foretell

# whether the run times of APP speak of platform "narrow"
speaks() {
  grep -qa narrow "$state"/models/7/"$1"-*.perf
}

awk 'BEGIN {
  print "app,job_id,peak_mib,runtime,end,uid,platform,cpu_seconds"
  for (i = 0; i < 48; i++) {
    c = 1 + i % 16 / 15; n = 1700000000 + i
    printf "app%d,%d,100,%.3f,%d,7,broad,%.3f\napp%d,%d,100,%.3f,%d,7,narrow,%.3f\n", i % 16, 2 * i + 1, 10, n, 10 * c, i % 16, 2 * i + 2, 10 * c, n, 10 * c
  }
  print "alone,999,100,10,1700001000,7,broad,18"
  for (i = 0; i < 150; i++)
    printf "many%d,%d,100,10,1700000500,%d,broad,18\n", i, 2000 + i, 8 + i % 3
}' >"$scratch/runs.csv"
cp "$fixtures/scontrol/rss-config" "$FT_SCONTROL/config" 2>/dev/null
config
start
"$foretell" import --state="$state" "$scratch/runs.csv" >/dev/null 2>&1
kill -HUP "$pid"
published() { ls "$state"/models/7/alone-*.perf; }
wait_until 20 published
ok $? "an app on one platform has run times"
wait_until 120 test -e "$state/relative.model"
ok $? "the site's model is learnt"
is "$(stat -c %a "$state/relative.model")" 600 "and nobody else's to read"
wait_until 30 speaks alone
ok $? "the app is told of the other platform"
diag "$(grep -E "told of other|nothing is told" "$scratch/log" | tail -3)"
# more than one child tells, of several users
all_told() {
  [ "$(grep -la narrow "$state"/models/*/many*.perf | wc -l)" = 150 ]
}
wait_until 60 all_told
ok $? "so is every app, in the end"
stop
tap_done
