#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Apps with runs on two platforms train the model of run times across platforms, for an app with runs on the
# first one only. A new platform needs a few runs, and an app's own runs there correct its estimate.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

# has_platform PLATFORM: the run times of app "alone" include this platform
has_platform() {
  grep -qa "$1" "$state"/models/"$(id -u)"/alone-*.model
}

awk -v uid="$(id -u)" 'BEGIN {
  print "app,job_id,peak_mib,runtime,end,uid,platform,cpu_seconds"
  for (i = 0; i < 48; i++) {
    c = 1 + i % 16 / 15; n = 1700000000 + i
    printf "app%d,%d,100,%.3f,%d,7,broad,%.3f\napp%d,%d,100,%.3f,%d,7,narrow,%.3f\n", i % 16, 2 * i + 1, 10, n, 10 * c, i % 16, 2 * i + 2, 10 * c, n, 10 * c
  }
  printf "alone,999,100,10,1700001000,%d,broad,18\n", uid
  for (i = 0; i < 150; i++)
    printf "many%d,%d,100,10,1700000500,%d,broad,18\n", i, 2000 + i, 8 + i % 3
}' >"$scratch/runs.csv"
cp "$fixtures/scontrol/rss-config" "$FT_SCONTROL/config" 2>/dev/null
config
start
"$foretell" import --state="$state" "$scratch/runs.csv" >/dev/null 2>&1
reload
wait_until 20 has_platform broad
ok $? "an app on one platform has run times"
wait_until 120 test -e "$state/relative.model"
ok $? "the site's model is trained"
is "$(stat -c %a "$state/relative.model")" 600 "only the agent may read it"
wait_until 30 has_platform narrow
ok $? "the app has a run time for the other platform"
diag "$(grep -E "estimated for other|cross-platform" "$scratch/log" | tail -3)"
# several children apply the model, for several users
all_have_narrow() {
  [ "$(grep -la narrow "$state"/models/*/many*.model | wc -l)" = 150 ]
}
wait_until 150 all_have_narrow
ok $? "every app has one in the end"

# ---- a new platform: four apps run once each there, in 0.4 of their time on the narrow platform
stop
awk 'BEGIN {
  print "app,job_id,peak_mib,runtime,end,uid,platform,cpu_seconds"
  for (i = 0; i < 16; i += 5)
    printf "app%d,%d,100,%.3f,1700002000,7,late,%.3f\n", i, 5000 + i, 4 * (1 + i / 15), 10 * (1 + i / 15)
  for (i = 0; i < 16; i++)
    printf "app%d,%d,100,10,1700002001,7,broad,%.3f\n", i, 5100 + i, 10 * (1 + i / 15)
}' >"$scratch/late.csv"
"$foretell" import --state="$state" "$scratch/late.csv" >/dev/null 2>&1
start
wait_until 120 has_platform late
ok $? "a new platform is estimated from four runs of other apps"

# late KEY: a field of the app's estimate for platform "late"; its speed is relative to "broad"
late() {
  "$foretell" predict --json --state="$state" --app=alone 2>/dev/null |
    /usr/bin/python3 -c 'import json, sys
of = {r["platform"]: r for r in json.load(sys.stdin)["relative"]}
print(of["late"][sys.argv[1]] / of["broad"]["speed"] if "late" in of else "")' "$1"
}
# within KEY LOW HIGH: the field is in this interval
within() {
  awk -v v="$(late "$1")" -v low="$2" -v high="$3" 'BEGIN { exit !(v != "" && v >= low && v <= high) }'
}
print_late() { diag "late: $(late speed), 90 % from $(late p05) to $(late p95)"; }
print_late
within speed 1.1 1.75
ok $? "the app's speed there is about that of the other apps, 10 / 7.2"
transferred=$(late speed)

# ---- the estimate is wrong for the app: it takes 14.4 s there
# import_own_runs JOB COUNT: runs of the app on platform "late"
import_own_runs() {
  awk -v uid="$(id -u)" -v first="$1" -v count="$2" 'BEGIN {
    print "app,job_id,peak_mib,runtime,end,uid,platform,cpu_seconds"
    for (i = 0; i < count; i++)
      printf "alone,%d,100,14.4,%d,%d,late,18\n", first + i, 1700003000 + first + i, uid
  }' >"$scratch/own.csv"
  "$foretell" import --state="$state" "$scratch/own.csv" >/dev/null 2>&1
  reload
}
between_both() { within speed 0.7 "$(awk -v t="$transferred" 'BEGIN { print t - 0.05 }')"; }
import_own_runs 6000 1
wait_until 60 between_both
ok $? "the app's first own run there corrects the estimate, with shrinkage"
print_late
import_own_runs 6100 16
wait_until 60 within speed 0.68 0.7
ok $? "many own runs outweigh the estimate: 10 / 14.4"
print_late
stop
tap_done
