#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The apps that foretell.conf declares have a model of all users' runs, which any of them may
# read, and only they.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
foretell=$FT_TOP_BUILDDIR/predictor/cli/foretell
declared='app blast { command = "blastp *" number = {"--n"} }'

shared_model() {
  ls "$state"/models/site/"$1"-*.model 2>/dev/null
}
predicts() {
  "$foretell" predict --state="$state" --mem=1G --app=blast --user="$1" 2>&1
}
predicts_from() {
  predicts 1003 | grep -q "($1 runs of all users)"
}

{
  echo "app,job_id,peak_mib,runtime,end,uid,platform"
  for i in 1 2 3 4; do
    echo "blast,$((100 + i)),300,60,$((1700000000 + i)),1001,old"
    echo "blast,$((200 + i)),310,60,$((1700000100 + i)),1002,new"
    echo "alone,$((300 + i)),310,60,$((1700000200 + i)),1002,new"
  done
} >"$scratch/runs.csv"
cp "$fixtures/scontrol/rss-config" "$FT_SCONTROL/config" 2>/dev/null
config "$declared"
start
"$foretell" import --state="$state" "$scratch/runs.csv" >/dev/null 2>&1
kill -HUP "$pid"
wait_until 20 ls "$state"/models/4294967295/blast-*.model
wait_until 20 ls "$state"/models/1002/blast-*.model
is "$(shared_model blast)" "" "what two users ran, others are not told"
{
  echo "app,job_id,peak_mib,runtime,end,uid,platform"
  for i in 1 2 3 4; do
    echo "blast,$((400 + i)),305,60,$((1700000200 + i)),1004,new"
  done
} >"$scratch/third.csv"
"$foretell" import --state="$state" "$scratch/third.csv" >/dev/null 2>&1
kill -HUP "$pid"
wait_until 20 predicts_from 12
ok $? "twelve runs of three users predict a fourth one's"
diag "$(predicts 1003)"
like "$(predicts 1001)" '\(12 runs of all users\)' "who has too few of his own is told all users', too"
is "$(stat -c %a "$(shared_model blast)" "$state/models/site" | tr '\n' ' ')" "644 755 " "all may read it"
is "$(stat -c %a "$state/models/4294967295")" 700 "what it is learned on only the agent may"
is "$(shared_model alone)" "" "an app that the site does not declare is not shared"
before=$(stat -c %s "$(ls "$state"/models/4294967295/blast-*.model)")
[ "$before" -gt "$(stat -c %s "$(shared_model blast)")" ]
ok $? "single runs are not in what all may read"

is "$(ls "$state"/models/*/*.perf | sed "s,.*models/,,; s,-[^-]*perf,,")" "1001/blast
1002/alone
1002/blast
1004/blast
4294967295/blast
site/blast" "run times lie beside every model"

cat >"$scratch/blastp" <<'END'
import time
held = bytearray(296 << 20)
time.sleep(1.5)
END
cp "$scratch/blastp" "$scratch/other"
"$announce" "$socket" job=58 uid=1002 app=blast -- python3 -S "$scratch/other" --n 3
wait_until 20 log_has 'job 58: blast, completed'
"$announce" "$socket" job=59 uid=1002 app=blast -- python3 -S "$scratch/blastp" --n 3
wait_until 20 log_has 'job 59: blast, completed'
wait_until 20 predicts_from 13
ok $? "a run here is learned at once, if it ran the declared command"
is "$("$foretell" export --state="$state" --app=blast | python3 -c 'import csv, sys
for row in csv.DictReader(sys.stdin):
    if row["job_id"] in ("58", "59", "101"):
        print(row["job_id"], row["command_ran"])' | sort | tr '\n' ';')" "101 ;58 0;59 1;" \
  "which is noted of each run here"
diag "$(predicts 1003)"

for i in 5 6 7; do
  echo "app,job_id,peak_mib,runtime,end,uid"
  echo "blast,$((100 + i)),900,60,$((1700000000 + i)),1001"
done | sed '3d;5d' >"$scratch/more.csv"
"$foretell" import --state="$state" "$scratch/more.csv" >/dev/null 2>&1
kill -HUP "$pid"
wait_until 20 predicts_from 16
ok $? "and what is imported later"
like "$(predicts 1001)" '\(7 runs\)' "enough runs of one's own come first"

stop
start
like "$(predicts 1003)" '\(16 runs of all users\)' "an agent that starts again keeps it"
config
kill -HUP "$pid"
gone() { [ -z "$(shared_model blast)" ]; }
wait_until 20 gone
ok $? "an app that is declared no longer is shared no longer"
config "$declared"
kill -HUP "$pid"
wait_until 20 predicts_from 16
ok $? "and again when it is"

# ---- one user does not speak for another

needs() {
  "$foretell" predict --state="$state" --mem=1G --app=blast --user=1003 --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["peak_memory_bytes"]["'"$1"'"])'
}
near() {
  python3 -c 'import sys; was, now = map(float, sys.argv[1:]); sys.exit(abs(now / was - 1) > 0.05)' "$@"
}
median=$(needs p50)
high=$(needs p95)
{
  echo "app,job_id,peak_mib,runtime,end,uid,platform"
  for i in $(seq 104); do
    echo "blast,$((1000 + i)),3.8,60,$((1700001000 + i)),1005,new"
  done
} >"$scratch/flood.csv"
"$foretell" import --state="$state" "$scratch/flood.csv" >/dev/null 2>&1
kill -HUP "$pid"
wait_until 20 ls "$state"/models/1005/blast-*.model
sleep 2
near "$median" "$(needs p50)" && near "$high" "$(needs p95)"
ok $? "104 runs of one user move what another is told by 5 % at most"
diag "$median $high, then $(needs p50) $(needs p95)"
stop
tap_done
