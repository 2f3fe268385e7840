#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# max_age and max_apps: unused apps leave the store and the models, even if the agent is killed
# meanwhile; apps in use stay.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
now=$(date +%s)

# runs UID APP COUNT DAYS JOB: one run a day, the first almost DAYS days ago, with job ids from JOB on
runs() {
  for ((i = 0; i < $3; i++)); do
    echo "$2,$(($5 + i)),300,60,$((now - ($4 - i) * 86400 + 3600)),$1"
  done
}

# import: imports standard input as if each run had been stored when it ended
import() {
  { echo "app,job_id,peak_mib,runtime,end,uid"; cat; } >"$scratch/runs.csv"
  "$foretell" import --state="$state" "$scratch/runs.csv" >/dev/null && python3 - "$state/store.db" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=20)
db.execute("UPDATE observation SET put_time = end_time")
db.commit()
END
}

# model_runs APP UID: the number of runs in the model
model_runs() {
  "$foretell" predict --state="$state" --json --app="$1" --user="$2" 2>/dev/null |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["runs"])'
}
has_model_runs() {
  [ "$(model_runs "$1" "$2")" = "$3" ]
}
stored() {
  rows "$state/store.db" "SELECT COUNT(*) FROM observation WHERE app = '$1'"
}
# apps UID: the user's apps that have a model
apps() {
  find "$state/models/$1" -name '*.model' -printf '%f\n' | cut -d- -f1 | sort | tr '\n' ' '
}
has_apps() {
  [ "$(apps "$1")" = "$2 " ]
}
rebuilt() {
  [ "$(stat -c %i "$shared")" != "$before" ]
}
gone() {
  ! [ -e "$1" ]
}

declared='app shared { command = "shared *" }'
config "$declared"
start
{
  runs 1001 used 40 40 1000
  runs 1001 unused 9 90 2000
  runs 1002 unused 9 90 3000
  runs 1002 shared 9 90 4000
  runs 1003 shared 9 9 5000
  runs 1007 shared 9 9 6000
  runs 1006 shared 9 9 7000
} | import
reload
wait_until 20 has_model_runs used 1001 40
wait_until 20 has_model_runs unused 1002 9
ok $? "with the default of two years nothing is removed"
shared=$(ls "$state"/models/site/shared-*.model)
before=$(stat -c %i "$shared")

config "$declared" 'max_age = "30 days"'
reload
wait_until 20 log_has '37 runs removed from the store by max_age or max_apps, and 3 apps without remaining runs'
ok $? "runs older than max_age are removed, and the log reports their number"
wait_until 20 has_model_runs used 1001 30
ok $? "a model is rebuilt from the remaining runs"
wait_until 20 gone "$state/models/1002"
ok $? "a user without apps has no directory"
is "$(find "$state/models/1001" -name 'unused*')" "" "an app without runs has no files"
is "$(stored unused)" 0 "an app without recent runs has none in the store"
wait_until 20 rebuilt
is "$("$foretell" predict --state="$state" --mem=1G --app=shared --user=1009 2>&1 | grep -o '[0-9]* runs of all' | sort -u)" \
  "27 runs of all" "the model of all users has only the remaining runs"

# ---- killed at any time

stop
{
  for ((app = 0; app < 20; app++)); do
    runs 1004 "many$app" 30 $((99 - app)) $((10000 + 100 * app))
  done
  runs 1004 last 3 3 20000
} | import
config "$declared" 'max_age = 30days'
for delay in 0 0.02 0.05 0.1 0.2; do
  "$agent" -c "$scratch/foretell.conf" 2>/dev/null &
  pid=$!
  sleep "$delay"
  stop KILL 2>/dev/null
done
start
wait_until 20 has_apps 1004 last
ok $? "a killed agent continues the removal at its next start"
is "$(model_runs last 1004)" 3 "an app in use keeps its runs"
is "$(stored many7)" 0 "an unused app has no runs"

# ---- too many apps

for ((app = 0; app < 12; app++)); do
  runs 1005 "app$app" 5 $((20 - app)) $((30000 + 100 * app))
done | import
config "$declared" 'max_apps = 4'
reload
wait_until 20 has_apps 1005 "app10 app11 app8 app9"
ok $? "beyond max_apps the apps that ran longest ago are removed"
is "$(model_runs used 1001)" 30 "max_apps applies to each user separately"

# ---- wrong values

config 'max_age = 30'
reload
wait_until 20 log_has 'line 5: max_age: expected 0 or a period such as "400 days" or 2years'
ok $? "a period without a unit is rejected"
stop
tap_done
