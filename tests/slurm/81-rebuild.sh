#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell rebuild --slurm: equations are searched in a job array, the learner adopts them, and a task that is
# killed leaves its models without one and is reported.
. "$(dirname "$0")/play.sh"
FT_PLUGIN=none
play_begin

# runs APP SLOPE JOB: a table of runs, with job ids from JOB on, whose peak is an equation of two features
runs() {
  local i edge batch noise
  echo "app,job_id,peak_bytes,runtime,end,edge,batch"
  for ((i = 0; i < 60; i++)); do
    edge=$((8 * (1 + i * 7 % 12))) batch=$((1 + i * 5 % 16)) noise=$((i * 37 % 81 - 40))
    echo "$1,$(($3 + i)),$(((536870912 + $2 * edge * edge * batch) / 2000 * (2000 + noise))),60,$((1700000000 + i)),$edge,$batch"
  done
}

# equation APP: the one in the app's model; empty: none
equation() {
  "$foretell" history --state="$FT_STATE" --fit --json "$1" |
    python3 -c 'import json, sys
d = json.load(sys.stdin)
print((d.get("fit", d).get("equation") or {}).get("equation") or "")'
}

has_equation() {
  [ -n "$(equation "$1")" ]
}

rebuild() {
  "$foretell" rebuild --state="$FT_STATE" "$@"
}

# stop_search: stops the child of the learner that searches, and sets child
stop_search() {
  child=$(pgrep -x -P "$(cluster_pid foretell-learnd)" foretell-learnd | tail -n 1)
  [ -n "$child" ] && kill -STOP "$child" 2>/dev/null && grep -q '^State:.T' "/proc/$child/status" 2>/dev/null
}

# array_job: the id of the queued job array
array_job() {
  squeue --noheader --name=foretell-rebuild --format=%F | head -n 1
}

queued() {
  [ -n "$(array_job)" ]
}

runs net 262144 1 >"$cluster_work/net.csv"
runs lean 327680 101 >"$cluster_work/lean.csv"
runs fat 393216 201 >"$cluster_work/fat.csv"
"$foretell" import --state="$FT_STATE" --features=edge,batch "$cluster_work"/*.csv >/dev/null
cluster_reload_agent
for app in net lean fat; do
  wait_until 300 has_equation $app
done
ok $? "the learner's own searches find equations"
own="$(equation net) $(equation lean) $(equation fat)"

# ---- the learner does not find them a second time

is "$(rebuild)" "rebuilt 3 models" "a rebuild makes models of the stored runs"
wait_until 60 stop_search
ok $? "the learner's next search is stopped"
is "$(rebuild)" "rebuilt 3 models" "another one while the learner's search is stopped"
is "$(equation net)$(equation lean)$(equation fat)" "" "its models have no equations"

out=$(rebuild --slurm --tasks=2 -- --cpus-per-task=1 2>&1)
is "$? $out" "0 rebuilt 3 models, searched 3 equations" "a job array searches them"
is "$(equation net) $(equation lean) $(equation fat)" "$own" "they are those that the learner finds itself"
is "$(ls -d foretell-rebuild-* 2>/dev/null)$(find "$FT_STATE" -name '*searched*')" "" "no file is left"

# ---- a task of the array is killed

rebuild --slurm --tasks=3 -- --hold >"$scratch/out" 2>"$scratch/err" &
command=$!
wait_until 60 queued
id=$(array_job)
scancel "${id}_1"
scontrol release "$id"
wait $command
is "$? $(cat "$scratch/out")" "3 rebuilt 3 models, searched 2 equations" "the equations of other tasks are adopted"
like "$(cat "$scratch/err")" '1 equations were not searched: tasks of the job array did not complete' \
  "the command says that one is missing"
left=0
for app in net lean fat; do
  has_equation $app || left=$((left + 1))
done
is "$left" 1 "the model of the killed task has none, and a search of it is due"
kill -CONT "$child"
is "$(rebuild --slurm -- --no-such-option 2>/dev/null | tail -n 1)" "rebuilt 3 models, searched 0 equations" \
  "without a job array models are rebuilt"
is "$(setpriv --reuid=65534 --clear-groups "$foretell" rebuild --state="$FT_STATE" --slurm >/dev/null 2>&1; echo $?)" 3 \
  "only who may rebuild may do so on the cluster"
play_end
