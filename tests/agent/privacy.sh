#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Two users on one node: each has access to their own runs by the command, the socket and the model
# files, and to nothing of the other user's; root and SlurmUser have access to both.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
[ "$(id -u)" = 0 ] || { skip "users have access only to their own runs" "not root"; tap_done; exit; }
command -v setpriv >/dev/null || { skip "users have access only to their own runs" "no setpriv"; tap_done; exit; }
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
alice=61001 bob=61002 slurm=61003
export FORETELL_CONFIG=$scratch/foretell.conf

# as UID ARGUMENT...: foretell's output; its error messages are in $scratch/err
as() {
  local uid=$1
  shift
  setpriv --reuid="$uid" --regid="$uid" --clear-groups "$foretell" "$@" 2>"$scratch/err"
}
values() {
  python3 -c 'import json, sys
d = json.load(sys.stdin)
print(*eval(sys.argv[1]))' "$1"
}

sed -i 's/^SlurmUser .*/SlurmUser               = slurm(61003)/' "$FT_SCONTROL/config"
config
start
for job in 1 2 3 4 5 6; do
  "$announce" "$socket" job=1$job uid=$alice app=alice-fold feature=batch:$job -- true
done
"$announce" "$socket" job=21 uid=$bob app=bob-secret feature=batch:1 -- true
array_task 23 22 4 $bob
"$announce" "$socket" job=23 array=22 task=4 uid=$bob app=bob-secret feature=batch:2 -- true
wait_until 60 model alice-fold $alice
ok $? "one user's runs are learned"
all_stored() {
  [ "$(stored_jobs "$state/store.db")" = "11 12 13 14 15 16 21 23" ]
}
wait_until 60 all_stored
ok $? "another user's runs are learned"

# ---- a user's own runs

out=$(as $alice history)
is "$(printf '%s\n' "$out" | awk '{ print $1 }' | tr '\n' ' '):$(cat "$scratch/err")" "APP alice-fold :" \
  "history lists a user's own apps, without an error"
is "$(as $alice history alice-fold | grep -cE 'completed +[0-9]'):$(cat "$scratch/err")" "6:" "history lists their runs"
is "$(as $alice history fold --limit=2 | grep older)" "older ones not shown; --limit=0 shows all" "--limit limits the number of runs"
is "$(as $alice history --json alice-fold | values '[r["job_id"] for r in d["runs"]]')" "16 15 14 13 12 11" \
  "runs are listed newest first"
is "$(as $bob history 22_4 | awk 'NR == 2 { print $2 }')" 22_4 "history finds tasks of job arrays"
like "$(as $bob job 22)" '^job 22_4 of bob-secret' "job describes tasks of job arrays"
like "$(as $alice job 11)" '^job 11 of alice-fold' "job describes jobs"
is "$(as $alice report --json | values '[d["total"]["runs"]] + [a["app"] for a in d["apps"]]')" "6 alice-fold" \
  "report has the user's own runs only"
is "$(as $alice export --format=jsonl | grep -c alice-fold):$(as $alice export | grep -c secret)" "6:0" "export has the user's own runs only"
is "$(as $alice history --since=2999-01-01 --json)" '{"apps": []}' "--since applies"

# ---- another user's runs

for words in "history bob-secret" "history secret" "history 21" "history 22_4" "job 21" "job 22_4" "job 23"; do
  out=$(as $alice $words)
  is "$?:$out:$(grep -c 61002 "$scratch/err")" "1::0" "nothing of another user's is printed: $words"
done
for words in "history --user=$bob" "history --user=0" "history --user=$bob bob-secret" "report --user=$bob" \
  "report --app=bob-secret --user=$bob" "export --user=$bob"; do
  out=$(as $alice $words)
  status=$?
  [ "$status" != 0 ] && ! printf '%s' "$out" | grep -q -e secret -e " 2[13] "
  ok $? "nothing is printed if that user is named: $words ($status)"
done
like "$(as $alice report --user=$bob; cat "$scratch/err")" "only root and SlurmUser may read the runs of other users" \
  "the message has the reason"
out=$(as $alice report --app=bob-secret --json)
is "$? $out" "1 " "the app's name alone gives no access"
for words in history "history batch" "history 2"; do
  is "$(as $alice $words | grep -c secret)" 0 "names of another user's apps do not leak: $words"
done
out=$(as $alice predict --app=bob-secret --user=$bob --params=batch=1)
is "$(printf '%s' "$out" | grep -c -e MiB -e run)" "$(as $alice predict --app=nothing --user=$bob | grep -c -e MiB -e run)" \
  "a prediction for another user has no runs"
is "$(setpriv --reuid=$alice --regid=$alice --clear-groups ls "$state/models/$bob" 2>/dev/null | wc -l)" 0 \
  "another user's models cannot be listed"
find "$state/models/$bob" -name '*.model' >"$scratch/models"
[ -s "$scratch/models" ]
ok $? "that user has models"
cat_fails() {
  ! setpriv --reuid=$alice --regid=$alice --clear-groups cat "$(head -n 1 "$scratch/models")" >/dev/null 2>&1
}
cat_fails
ok $? "another user's model cannot be read by its name"
setpriv --reuid=$alice --regid=$alice --clear-groups "$announce" "$socket" job=31 uid=$bob app=forged -- true 2>/dev/null
log_has 'job 31'
is $? 1 "a user cannot send announcements on the plugin's socket"

# ---- running jobs

"$announce" "$socket" job=41 uid=$alice app=alice-fold -- \
  python3 -S -c 'import os, time
a, parent = bytes(1) * (80 << 20), os.getppid()
while os.getppid() == parent:
    time.sleep(0.1)' &
running=$!
pids="$pids $running"
runs_now() {
  as $alice job 41 --json | values '[d["running"], d["used"]["now_bytes"] > 80e6]' | grep -q "1 True"
}
wait_until 20 runs_now
ok $? "a user sees the memory of their running job"
like "$(as $alice job 41)" '  used:      [0-9.]+ MiB now, at most .*running for' "the output has the present and the largest memory"
out=$(as $bob job 41)
is "$?:$out" "1:" "another user does not see it"
like "$(as 0 job 41)" ' now, at most ' "root sees it"
kill "$running" 2>/dev/null

# ---- root and SlurmUser

is "$("$foretell" history --json | values 'sorted(a["app"] for a in d["apps"])')" "alice-fold bob-secret" "root sees all apps"
sees_all() {
  [ "$(as $slurm history --json | values 'sorted(a["app"] for a in d["apps"])')" = "alice-fold bob-secret" ]
}
wait_until 20 sees_all
ok $? "SlurmUser sees all apps"
is "$(as $slurm report --json --user=$bob | values '[d["total"]["runs"]]')" 2 "SlurmUser sees one user's runs"
like "$(as $slurm job 21)" '^job 21 of bob-secret' "SlurmUser sees a user's job"

# ---- a state directory that users cannot enter, and no agent

chmod 700 "$state"
is "$(as $alice history | awk '{ print $1 }' | tr '\n' ' '):$(cat "$scratch/err")" "APP alice-fold :" \
  "without access to the state directory the agent answers"
is "$(as $alice report --json | values '[d["total"]["runs"]]')" 6 "without access to the state directory there is a report"
chmod 755 "$state"
out=$(as $alice history --state=/)
like "$(cat "$scratch/err")" 'store.db: No such file' "the agent does not answer for another state directory"
stop
is "$(as $alice history | awk '{ print $1 }' | tr '\n' ' ')" "APP alice-fold " "without an agent the output comes from model files"
like "$(cat "$scratch/err")" "foretell-learnd did not answer: .*; showing model files instead" "the message states that it comes from model files"
as $alice report >/dev/null
is $? 3 "without an agent there is no report"
tap_done
