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
wait_until 20 predicts_from 8
ok $? "eight runs of two users predict a third one's"
diag "$(predicts 1003)"
like "$(predicts 1001)" '\(8 runs of all users\)' "who has too few of his own is told all users', too"
is "$(stat -c %a "$(shared_model blast)" "$state/models/site" | tr '\n' ' ')" "644 755 " "all may read it"
is "$(stat -c %a "$state/models/4294967295")" 700 "what it is learned on only the agent may"
is "$(shared_model alone)" "" "an app that the site does not declare is not shared"
before=$(stat -c %s "$(ls "$state"/models/4294967295/blast-*.model)")
[ "$before" -gt "$(stat -c %s "$(shared_model blast)")" ]
ok $? "single runs are not in what all may read"

is "$(ls "$state"/models/*/*.perf | sed "s,.*models/,,; s,-[^-]*perf,,")" "1001/blast
1002/alone
1002/blast
4294967295/blast
site/blast" "run times lie beside every model"

"$announce" "$socket" job=59 app=blast -- true
wait_until 20 said 'job 59: blast, completed'
wait_until 20 predicts_from 9
ok $? "a run here is learned at once"

for i in 5 6 7; do
  echo "app,job_id,peak_mib,runtime,end,uid"
  echo "blast,$((100 + i)),900,60,$((1700000000 + i)),1001"
done | sed '3d;5d' >"$scratch/more.csv"
"$foretell" import --state="$state" "$scratch/more.csv" >/dev/null 2>&1
kill -HUP "$pid"
wait_until 20 predicts_from 12
ok $? "and what is imported later"
like "$(predicts 1001)" '\(7 runs\)' "enough runs of one's own come first"

stop
start
like "$(predicts 1003)" '\(12 runs of all users\)' "an agent that starts again keeps it"
config
kill -HUP "$pid"
gone() { [ -z "$(shared_model blast)" ]; }
wait_until 20 gone
ok $? "an app that is declared no longer is shared no longer"
config "$declared"
kill -HUP "$pid"
wait_until 20 predicts_from 12
ok $? "and again when it is"
stop
tap_done
