#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# An app's runs justify an equation: a child of the agent searches it, and the next submission uses it.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

# table COUNT APP [MIN SLOPE]: runs with a peak of MIN (512 MiB) + SLOPE (256 KiB) * edge^3 * batch and 2 % noise.
# Products of features have powers up to 2 and do not explain it.
table() {
  local least=${3:-536870912} slope=${4:-262144}

  echo "app,job_id,peak_bytes,runtime,end,edge,batch"
  for ((i = 0; i < $1; i++)); do
    local edge=$((2 * (1 + i * 7 % 12))) batch=$((1 + i * 5 % 16)) noise=$((i * 37 % 81 - 40))
    echo "$2,$i,$(((least + slope * edge * edge * edge * batch) / 2000 * (2000 + noise))),60,$((1700000000 + i)),$edge,$batch"
  done
}

import() {
  table "$@" >"$scratch/runs.csv"
  "$foretell" import --state="$state" --features=edge,batch "$scratch/runs.csv" >"$scratch/import" 2>&1
  reload # the agent scans its store at once
}

# fitted APP KEY: a field of the app's fit
fitted() {
  "$foretell" history --state="$state" --fit --json "$1" |
    python3 -c 'import json, sys
d = json.load(sys.stdin)
d = d.get("fit", d)
for key in sys.argv[1].split("."): d = d[int(key)] if isinstance(d, list) else d[key]
print(d)' "$2"
}

# found PATTERN: wait for a search that logs PATTERN. Its child need not find a processor idle: while
# other tests run beside this one, none is.
found() {
  wait_until 300 hurry "$1" || bail "no search logged $1"
}

hurry() {
  pgrep -x -P "$learner_pid" foretell-learnd | xargs -r -n 1 chrt --other --pid 0 2>/dev/null
  log_has "$1"
}

config
start
ok $? "the agent listens"
import 15 few
wait_until 60 model few
import 60 net
found 'net: equation found in 60 runs, error [0-9.]+ %$'
ok $? "an equation is found once there are enough runs"
is "$(fitted net method)" equation "the model uses the equation"
like "$(fitted net equation.equation)" '^0\.000[0-9]+\*edge\^3\*batch \+ 0\.[0-9]+ \[GiB\]$' "the equation is printed with units"
like "$("$foretell" history --state="$state" --fit net)" "equation from 60 runs, error .* %: 0" \
  "foretell history prints its number of runs and its error"
p50=$("$foretell" predict --state="$state" --json --app=net --params=edge=24,batch=16 2>/dev/null |
  python3 -c 'import json, sys; print(round(json.load(sys.stdin)["peak_memory_bytes"]["p50"] / (2**29 + 2**18 * 24**3 * 16), 1))')
is "$p50" 1.0 "a submission is predicted by the equation"
log_has 'few: equation'
is $? 1 "an app with few runs has no equation"

# ---- half as many new runs: the search is repeated, and no submission waits for it

import 90 net
data_limit() {
  sed -nE 's/^Max data size +([0-9]+) .*/\1/p' "/proc/$1/limits" 2>/dev/null
}
# stop_search: stops a child, as on a busy node, once it has set its limits
stop_search() {
  child=$(pgrep -x -P "$learner_pid" foretell-learnd | tail -n 1)
  [ -n "$child" ] && [ -n "$(data_limit "$child")" ] && kill -STOP "$child"
}
wait_until 60 stop_search
is "$(ps -o cls= -p "$child" | tr -d ' ')" IDL "it runs while a processor is idle"
test "$(data_limit "$child")" -gt $((1 << 30))
ok $? "its memory is limited"
timeout 20 "$foretell" predict --state="$state" --app=net --params=edge=24,batch=16 >/dev/null 2>&1
is "$?" 0 "a submission is predicted while a child searches"
kill -CONT "$child"
found 'net: equation found in 90 runs, error [0-9.]+ %$'
ok $? "the search is repeated after half as many new runs"

# ---- an app changes: its equation becomes wrong, and the search is repeated long before half of
# the runs are new

# The interpreter itself: a shim in PATH (pyenv) starts twenty programs before it at the same
# time, and the peak is then known only as a bound.
python=$(python3 -c 'import sys; print(sys.executable)')

# run JOB APP N PERCENT: the N-th run, a process of PERCENT of (32 MiB + 768 B * edge^3 * batch)
run() {
  local edge=$((2 * (4 + $3 * 7 % 9))) batch=$((4 + $3 * 5 % 13))
  "$announce" "$socket" job="$1" app="$2" feature=edge:$edge feature=batch:$batch -- \
    "$python" -S -c 'import sys, time
own = int(open("/proc/self/statm").read().split()[1]) * 4096
a = b"x" * (int(sys.argv[1]) - own)
time.sleep(0.4)' $(((33554432 + 768 * edge * edge * edge * batch) * $4 / 100))
  wait_until 60 log_has "job $1: $2, completed"
}

import 60 lean 33554432 768
found 'lean: equation found in 60 runs, error [0-9.]+ %$'
ok $? "another app has an equation"
again='lean: equation found in (6[4-9]|[78][0-9]) runs, error [0-9.]+ %'
for ((i = 1; i <= 28; i++)); do
  run $((200 + i)) lean $i $((i <= 3 ? 100 : 75))
  [ $i -lt 12 ] || ! wait_until 8 log_has "$again" || break
done
found "$again"
ok $? "the search is repeated for an app that needs a quarter less memory"

# ---- the agent ends while a child searches

import 61 gone
wait_until 60 pgrep -x -P "$learner_pid" foretell-learnd >/dev/null
child=$(pgrep -x -P "$learner_pid" foretell-learnd | tail -n 1)
stop
is $? 0 "the agent ends while a child searches"
wait_until 10 test ! -e "/proc/${child:-0}"
ok $? "the child ends with it"
tap_done
