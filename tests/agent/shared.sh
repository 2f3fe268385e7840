#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# An app that foretell.conf declares has a pooled model of all users' runs. Its users may read the
# model, but not the runs.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
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
reload
wait_until 20 model blast 4294967295
wait_until 20 model blast 1002
is "$(shared_model blast)" "" "runs of two users make no pooled model"
{
  echo "app,job_id,peak_mib,runtime,end,uid,platform"
  for i in 1 2 3 4; do
    echo "blast,$((400 + i)),305,60,$((1700000200 + i)),1004,new"
  done
} >"$scratch/third.csv"
"$foretell" import --state="$state" "$scratch/third.csv" >/dev/null 2>&1
reload
wait_until 20 predicts_from 12
ok $? "twelve runs of three users predict a fourth user's"
diag "$(predicts 1003)"
like "$(predicts 1001)" '\(12 runs of all users\)' "a user with too few runs gets the pooled prediction"
is "$(stat -c %a "$(shared_model blast)" "$state/models/site" | tr '\n' ' ')" "644 755 " "all users may read the pooled model"
is "$(stat -c %a "$state/models/4294967295")" 700 "only the agent may read the runs behind it"
is "$(shared_model alone)" "" "an app that the site does not declare has no pooled model"
before=$(stat -c %s "$(ls "$state"/models/4294967295/blast-*.model)")
[ "$before" -gt "$(stat -c %s "$(shared_model blast)")" ]
ok $? "the pooled model has no single runs"

is "$(grep -lawE 'old|new' "$state"/models/*/*.model | sed "s,.*models/,,; s,-[^-]*model,,")" "1001/blast
1002/alone
1002/blast
1004/blast
4294967295/blast
site/blast" "every model has run times beside the memory"

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
ok $? "a run of the declared command is learned at once"
is "$("$foretell" export --state="$state" --app=blast | python3 -c 'import csv, sys
for row in csv.DictReader(sys.stdin):
    if row["job_id"] in ("58", "59", "101"):
        print(row["job_id"], row["command_ran"])' | sort | tr '\n' ';')" "101 ;58 0;59 1;" \
  "the store records whether the declared command ran"
diag "$(predicts 1003)"

for i in 5 6 7; do
  echo "app,job_id,peak_mib,runtime,end,uid"
  echo "blast,$((100 + i)),900,60,$((1700000000 + i)),1001"
done | sed '3d;5d' >"$scratch/more.csv"
"$foretell" import --state="$state" "$scratch/more.csv" >/dev/null 2>&1
reload
wait_until 20 predicts_from 16
ok $? "later imports are learned"
like "$(predicts 1001)" '\(7 runs\)' "a user's own model has precedence once it has enough runs"

stop
start
like "$(predicts 1003)" '\(16 runs of all users\)' "the pooled model outlasts a restart"
config
reload
gone() { [ -z "$(shared_model blast)" ]; }
wait_until 20 gone
ok $? "an app that is no longer declared has no pooled model"
config "$declared"
reload
wait_until 20 predicts_from 16
ok $? "an app that is declared again has a pooled model"

# ---- the influence of one user

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
before=$(stat -c %i "$(shared_model blast)")
"$foretell" import --state="$state" "$scratch/flood.csv" >/dev/null 2>&1
reload
wait_until 20 model blast 1005
rebuilt() { [ "$(stat -c %i "$(shared_model blast)")" != "$before" ]; }
wait_until 60 rebuilt
ok $? "the pooled model is made again with 104 runs of one user"
near "$median" "$(needs p50)" && near "$high" "$(needs p95)"
ok $? "104 runs of one user change another user's prediction by at most 5 %"
diag "$median $high, then $(needs p50) $(needs p95)"

# ---- foretell.conf names the platforms of nodes that have runs already

# runtime USER PARTITION: the recorded run time on a partition
runtime() {
  "$foretell" predict --json --perf --state="$state" --mem=1G --app=blast --user="$1" -p "$2" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["runtime_seconds"] is not None)'
}
runtimes() { echo "$(runtime 1001 big)" "$(runtime 1003 big)" "$(runtime 1001 free)"; }
runtimes_known() { [ "$(runtimes)" = "True True True" ]; }
named() { grep -qa "$1" "$state"/models/1001/blast-*.model && ! grep -qa 'Chip' "$state"/models/*/blast-*.model; }
chip='Chip(R) 8480+; 2 packages, 112 cores, 2 threads a core; L3 105 MiB; 512 GiB'
cut=$(cut -c -63 <<<"$chip")
{
  echo "app,job_id,peak_mib,runtime,end,uid,node,platform,fingerprint"
  for i in $(seq 30); do
    echo "blast,$((2000 + i)),310,60,$((1700002000 + i)),$((1001 + i % 3)),one,\"$cut\",\"$chip\""
    echo "blast,$((3000 + i)),310,30,$((1700002000 + i)),$((1001 + i % 3)),three,\"$cut\",\"$chip\""
  done
} >"$scratch/nodes.csv"
stop
"$foretell" import --state="$state" "$scratch/nodes.csv" >/dev/null 2>&1
start
wait_until 20 runtimes_known
ok $? "runs on nodes without a section have run times by the nodes' hardware"
diag "$(runtimes)"
config "$declared" 'platform "milan" { nodes = "one*,tw*" }' 'platform "rome" { nodes = "th*" }'
reload
wait_until 20 named milan
ok $? "the runs get the names that sections give to their nodes"
runtimes_known
ok $? "the run times of users, and the pooled ones, stay"
diag "$(runtimes)"
stop
tap_done
