#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs that foretell import puts into the store become models, with a running agent
# and with an agent that starts later.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

import() {
  "$foretell" import --state="$state" "$@" | tail -n 1
}

# predicted APP [UID]: "runs p50" in MiB, "none" without an interval
predicted() {
  "$foretell" predict --state="$state" --json --app="$1" --user="${2:-$(id -u)}" 2>/dev/null |
    python3 -c 'import json, sys
d = json.load(sys.stdin)
p = d["peak_memory_bytes"]
ok = p and 0 < p["p05"] <= p["p50"] <= p["p95"]
print(d["runs"], round(p["p50"] / 2**20) if ok else "none")'
}

predicts() {
  [ "$(predicted "$1" "${3-}")" = "$2" ]
}

# table APP MIB COUNT JOB: a CSV file of runs, with job ids from JOB on
table() {
  echo "app,job_id,peak_mib,runtime,end"
  for ((i = 0; i < $3; i++)); do
    echo "$1,$(($4 + i)),$2,60,$((1700000000 + i))"
  done
}

# accounting COUNT JOB: sacct's output for jobs like the fixture's, with job ids from JOB on
accounting() {
  echo "JobID|JobName|User|UID|Cluster|State|ExitCode|Submit|Start|End|NNodes|NTasks|NodeList|MaxRSS|TRESUsageInTot"
  for ((i = 0; i < $1; i++)); do
    local times="2026-07-21T10:0$i:00|2026-07-21T10:0$i:05|2026-07-21T10:0$i:45"
    echo "$(($2 + i))|train|alice|1000|cl1|COMPLETED|0:0|$times|1||node01||"
    echo "$(($2 + i)).batch|batch|||cl1|COMPLETED|0:0|$times|1|1|node01|2097152K|mem=2097152K"
  done
}

# file_of APP [UID]: identifies the model's file, which changes with each publication
file_of() {
  stat -c '%i %y' "$(model "$1" "${2-}")"
}

fresh() {
  [ "$(file_of "$1" "${3-}")" != "$2" ]
}

models() {
  find "$state/models" -name "$1-*.model" | wc -l
}

# counts RULE: the quiet agent has scanned its store under this memory rule
counts() {
  [ "$(rows "$quiet/store.db" "SELECT value FROM meta WHERE key = 'rule'" 2>/dev/null)" = "$1" ]
}

# ---- a learner of its own, which gets no run and no signal until the end

quiet=$scratch/quiet
printf '%s\n' "state_dir = \"$quiet\"" "learner_socket = \"$scratch/quiet.sock\"" \
  "slurm_bin = \"$programs\"" >"$scratch/quiet.conf"
"$learner" -c "$scratch/quiet.conf" 2>"$scratch/quiet.log" &
pids="$pids $!"
wait_until 20 test -S "$scratch/quiet.sock"
wait_until 20 counts rss
table idle 300 12 1 >"$scratch/idle.csv"
state=$quiet import "$scratch/idle.csv" >/dev/null

# ---- no agent

mkdir "$state"
like "$(import --timezone=+02:00 "$fixtures/sacct/slurm-22.05-full.txt")" \
  '^[0-9]+ apps have new runs; foretell-learnd publishes their models when it starts$' \
  "without an agent import states when there will be models"
is "$(import --json --timezone=+02:00 "$fixtures/sacct/slurm-22.05-full.txt" |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["agent_runs"])')" False "the JSON states it, too"
config 'max_apps = 0'
start
wait_until 20 model alicetrain 1000
ok $? "an agent publishes the models when it starts"
is "$(predicted alice/train 1000)" "3 1282" "three runs give a number"
wait_until 20 log_has '3 models published from the store'
ok $? "the log has the number of models"
accounting 9 500 >"$scratch/sacct.txt"
import --timezone=UTC "$scratch/sacct.txt" >/dev/null
reload
wait_until 20 predicts alice/train "12 2048" 1000
ok $? "twelve runs give a prediction"

accounting 9 700 | sed "s/alice|1000/$(id -un)|$(id -u)/; s/|train|/|nightly|/" >"$scratch/sacct.txt"
import --timezone=UTC "$scratch/sacct.txt" >/dev/null
reload
wait_until 20 predicts "$(id -un)/nightly" "9 2048"
printf '%s\n' '#!/bin/sh' './new_program' >"$scratch/new.sh"
like "$("$foretell" predict --state="$state" --mem=1G --job-name=nightly "$scratch/new.sh")" \
  'new_program-[0-9a-f]+ needs .*\(9 imported runs of jobs named nightly\)' "a new app with that job name uses the imported runs"
like "$("$foretell" predict --state="$state" --mem=1G --job-name=nightly --json "$scratch/new.sh")" \
  '"imported_from": ?"nightly"' "the JSON states it, too"

# ---- with an agent

alice=$(file_of alicetrain 1000)
table net 500 40 100 >"$scratch/net.csv"
like "$(import "$scratch/net.csv")" \
  '^1 app has new runs; foretell-learnd is running and publishes their models within about a minute$' \
  "with an agent import states that models follow within a minute"
reload
wait_until 20 model net
ok $? "SIGHUP publishes them at once"
is "$(predicted net)" "40 500" "all runs are in the model"
fresh alicetrain "$alice" 1000
is $? 1 "models without new runs stay"
net=$(file_of net)
table net 700 60 100 >"$scratch/net.csv"
import "$scratch/net.csv" >/dev/null
reload
wait_until 20 predicts net "60 700"
ok $? "changed runs are learned again"
table other 700 60 100 >"$scratch/net.csv"
import "$scratch/net.csv" >/dev/null
reload
wait_until 20 predicts other "60 700"
ok $? "runs that another import assigns to another app move there"
model net
is $? 1 "the first app has no model then"

stop
other=$(file_of other)
rm "$scratch/log"
start
"$announce" "$socket" job=59 app=hog -- true
wait_until 20 log_has 'job 59: hog, completed'
fresh other "$other"
is $? 1 "a restart publishes no model again"
log_has 'models published'
is $? 1 "its log does not mention any"

# ---- many apps

python3 - >"$scratch/many.csv" <<'END'
print("app,job_id,peak_mib,runtime,end")
for app in range(1000):
    for run in range(20):
        print("many%d,%d,%d,60,%d" % (app, 10000 + 20 * app + run, 100 + run, 1700000000 + run))
END
import "$scratch/many.csv" >/dev/null
reload
wait_until 10 model many0
"$announce" "$socket" job=60 app=hog -- true
wait_until 20 log_has 'job 60: hog, completed'
# hog's model is published once more: its run's mark waits behind the other apps
wait_until 120 log_has '100[01] models published from the store'
ok $? "1000 apps are published"
is "$(models 'many*')" 1000 "each has a model"
is "$(grep -Eo 'job 60: hog, completed|100[01] models published' "$scratch/log" | head -n 1)" \
  "job 60: hog, completed" "a job's observation does not wait for them"
is "$(predicted many999 | cut -d' ' -f1)" 20 "their models have all runs"

# ---- another memory rule: other peaks

other=$(file_of other)
: >"$scratch/log"
cp "$fixtures/scontrol/cgroup-config" "$FT_SCONTROL/config"
reload
wait_until 20 log_has "memory accounting rule is cgroup: all models are rebuilt"
ok $? "the log reports another memory rule"
wait_until 120 log_has '[0-9]+ models published from the store'
ok $? "every model is rebuilt"
fresh other "$other"
ok $? "a model without a job is rebuilt, too"

# ---- a long import

python3 - "$state/store.db" "$scratch/go" <<'END' &
import os, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
open(sys.argv[2] + ".locked", "w")
while os.path.exists(sys.argv[1]) and not os.path.exists(sys.argv[2]):
    time.sleep(0.05)
db.execute("COMMIT")
END
pids="$pids $!"
wait_until 10 test -e "$scratch/go.locked"
"$announce" "$socket" job=61 app=waiting -- true
wait_until 20 log_has 'job 61: waiting, completed'
wait_until 10 spooled 1
ok $? "while another process writes, observations wait in the spool"
touch "$scratch/go"
wait_until 20 model waiting
ok $? "they are learned once the process is done"
wait_until 10 spooled 0
ok $? "the spool is then empty"
stop

# ---- without a signal

state=$quiet
wait_until 75 model idle
ok $? "the agent scans its store within about a minute"
is "$(predicted idle)" "12 300" "it publishes the model"
tap_done
