#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What foretell import puts into the store becomes models that predict, with an agent that runs
# and with one that starts later.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
foretell=$FT_TOP_BUILDDIR/predictor/cli/foretell

import() {
  "$foretell" import --state="$state" "$@" | tail -n 1
}

# what is predicted for app $1 of user $2: "runs p50 in MiB", "none" without an interval
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

# app, MiB, how many runs, first job
table() {
  echo "app,job_id,peak_mib,runtime,end"
  for ((i = 0; i < $3; i++)); do
    echo "$1,$(($4 + i)),$2,60,$((1700000000 + i))"
  done
}

# what sacct prints of $1 jobs like those of the fixture, the first being $2
accounting() {
  echo "JobID|JobName|User|UID|Cluster|State|ExitCode|Submit|Start|End|NNodes|NTasks|NodeList|MaxRSS|TRESUsageInTot"
  for ((i = 0; i < $1; i++)); do
    local times="2026-07-21T10:0$i:00|2026-07-21T10:0$i:05|2026-07-21T10:0$i:45"
    echo "$(($2 + i))|train|alice|1000|cl1|COMPLETED|0:0|$times|1||node01||"
    echo "$(($2 + i)).batch|batch|||cl1|COMPLETED|0:0|$times|1|1|node01|2097152K|mem=2097152K"
  done
}

# which file a model is: another after it was published again
file_of() {
  stat -c '%i %y' "$(model "$1" "${2-}")"
}

fresh() {
  [ "$(file_of "$1" "${3-}")" != "$2" ]
}

models() {
  find "$state/models" -name "$1-*.model" | wc -l
}

# whether the quiet agent has looked at its store since it knew that memory counts by rule $1
counts() {
  python3 - "$quiet/store.db" "$1" <<'END'
import sqlite3, sys
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
rule = db.execute("SELECT value FROM meta WHERE key = 'rule'").fetchone()
sys.exit(rule is None or rule[0] != sys.argv[2])
END
}

# ---- an agent of its own, which nobody tells anything until the end

quiet=$scratch/quiet
printf '%s\n' "state_dir = \"$quiet\"" "socket = \"$scratch/quiet.sock\"" \
  "slurm_bin = \"$FT_TOP_SRCDIR/tests/agent\"" >"$scratch/quiet.conf"
"$agent" -c "$scratch/quiet.conf" 2>"$scratch/quiet.log" &
pids="$pids $!"
wait_until 20 test -S "$scratch/quiet.sock"
wait_until 20 counts rss
table idle 300 12 1 >"$scratch/idle.csv"
state=$quiet import "$scratch/idle.csv" >/dev/null
quiet_since=$SECONDS

# ---- no agent

mkdir "$state"
like "$(import --timezone=+02:00 "$fixtures/sacct/slurm-22.05-full.txt")" \
  '^[0-9]+ apps have new runs; foretelld publishes their models when it is started$' \
  "without an agent, it is said when there will be models"
is "$(import --json --timezone=+02:00 "$fixtures/sacct/slurm-22.05-full.txt" |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["agent_runs"])')" False "in JSON, too"
config 'max_apps = 0'
start
wait_until 20 model alicetrain 1000
ok $? "an agent that starts publishes them"
is "$(predicted alice/train 1000)" "3 none" "three runs do not predict"
wait_until 20 log_has '3 models published from the store'
ok $? "and says so"
accounting 9 500 >"$scratch/sacct.txt"
import --timezone=UTC "$scratch/sacct.txt" >/dev/null
kill -HUP "$pid"
wait_until 20 predicts alice/train "12 2048" 1000
ok $? "twelve do"

accounting 9 700 | sed "s/alice|1000/$(id -un)|$(id -u)/; s/|train|/|nightly|/" >"$scratch/sacct.txt"
import --timezone=UTC "$scratch/sacct.txt" >/dev/null
kill -HUP "$pid"
wait_until 20 predicts "$(id -un)/nightly" "9 2048"
printf '%s\n' '#!/bin/sh' './new_program' >"$scratch/new.sh"
like "$("$foretell" predict --state="$state" --mem=1G --job-name=nightly "$scratch/new.sh")" \
  'new_program-[0-9a-f]+ needs .*\(9 imported runs of jobs named nightly\)' "an app of that job name borrows them"
like "$("$foretell" predict --state="$state" --mem=1G --job-name=nightly --json "$scratch/new.sh")" \
  '"imported_from": ?"nightly"' "and says so in JSON"

# ---- an agent that runs

alice=$(file_of alicetrain 1000)
table net 500 40 100 >"$scratch/net.csv"
like "$(import "$scratch/net.csv")" \
  '^1 app has new runs; foretelld, which runs, publishes their models within a minute or so$' \
  "with one that runs, it is said so"
kill -HUP "$pid"
wait_until 20 model net
ok $? "SIGHUP makes it publish at once"
is "$(predicted net)" "40 500" "all runs are behind the model"
fresh alicetrain "$alice" 1000
is $? 1 "models whose runs did not change stay"
net=$(file_of net)
table net 700 60 100 >"$scratch/net.csv"
import "$scratch/net.csv" >/dev/null
kill -HUP "$pid"
wait_until 20 predicts net "60 700"
ok $? "runs that were changed are learnt anew"
table other 700 60 100 >"$scratch/net.csv"
import "$scratch/net.csv" >/dev/null
kill -HUP "$pid"
wait_until 20 predicts other "60 700"
ok $? "runs that turn out to be another app's are that one's"
model net
is $? 1 "and the first one has no model any more"

stop
other=$(file_of other)
rm "$scratch/log"
start
"$announce" "$socket" job=59 app=hog -- true
wait_until 20 log_has 'job 59: hog, completed'
fresh other "$other"
is $? 1 "a start publishes nothing that was published"
log_has 'models published'
is $? 1 "nor does it say so"

# ---- many apps

python3 - >"$scratch/many.csv" <<'END'
print("app,job_id,peak_mib,runtime,end")
for app in range(1000):
    for run in range(20):
        print("many%d,%d,%d,60,%d" % (app, 10000 + 20 * app + run, 100 + run, 1700000000 + run))
END
import "$scratch/many.csv" >/dev/null
kill -HUP "$pid"
wait_until 10 model many0
"$announce" "$socket" job=60 app=hog -- true
wait_until 20 log_has 'job 60: hog, completed'
# and hog's once more: the mark of its run waited behind theirs
wait_until 120 log_has '100[01] models published from the store'
ok $? "1000 apps are published"
is "$(models 'many*')" 1000 "each of them"
is "$(grep -Eo 'job 60: hog, completed|100[01] models published' "$scratch/log" | head -n 1)" \
  "job 60: hog, completed" "and jobs do not wait for that"
is "$(predicted many999 | cut -d' ' -f1)" 20 "with all their runs"

# ---- another rule: what counts is another peak

other=$(file_of other)
: >"$scratch/log"
cp "$fixtures/scontrol/cgroup-config" "$FT_SCONTROL/config"
kill -HUP "$pid"
wait_until 20 log_has "memory counts by rule cgroup: every app's model is made anew"
ok $? "another rule of the site is seen"
wait_until 120 log_has '[0-9]+ models published from the store'
ok $? "and every model made anew"
fresh other "$other"
ok $? "those that no job runs of, too"

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
ok $? "and are learnt when it is done"
wait_until 10 spooled 0
ok $? "all of them"
stop

# ---- nobody said anything

state=$quiet
wait_until $((75 + quiet_since - SECONDS)) model idle
ok $? "within about a minute it looks by itself"
is "$(predicted idle)" "12 300" "and publishes"
tap_done
