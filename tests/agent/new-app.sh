#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What is reported of an app without a run: how much of the memory that they request the user's other
# jobs use, what the runs of its program by five other users or more needed, and what its documentation states. Nobody can read whose
# runs these were, runs that are forgotten leave, and a site can switch it off.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
now=$(date +%s)
printf '#!/bin/sh\nbwa mem ref.fa reads.fq >out.sam\n' >"$scratch/align.sh"

# predicts UID [OPTION]...: the message about the script's job
predicts() {
  "$foretell" predict --state="$state" --user="$1" "${@:2}" "$scratch/align.sh" 2>"$scratch/err" |
    sed 's/^bwa-mem-[0-9a-f]*/APP/'
}
is_predicted() {
  [ "$(predicts "$1")" = "$2" ]
}
# runs UID APP PEAK_MIB REQUEST_MIB JOB: three runs
runs() {
  for i in 0 1 2; do
    echo "$2,$(($5 + i)),$3,60,$((now - 1000 + $5 + i)),$1,$(($4 << 20)),node"
  done
}
import() {
  { echo "app,job_id,peak_mib,runtime,end,uid,request_mem_bytes,request_mem_unit"; cat; } >"$scratch/runs.csv"
  "$foretell" import --state="$state" "$scratch/runs.csv" >/dev/null 2>&1
  reload
}

config
start
printf '#!/bin/sh\nbowtie2 -x index reads.fq\n' >"$scratch/common.sh"
is "$("$foretell" predict --state="$state" --user=1000 "$scratch/common.sh" 2>/dev/null | sed 's/^bowtie2-[0-9a-f]*/APP/')" \
  "APP: no recorded run yet; by its documentation bowtie2 needs 3.2 GB for the human genome" \
  "without any run a common program's documentation is quoted"
is "$(predicts 1000)" "APP: no recorded run yet" "without any run nothing is known"

# by the agent, from the first run on; the peaks are those of a small program
for user in 1 2 3 4; do
  "$announce" "$socket" job="$user" uid="100$user" app="bwa-mem-0000000$user" -- true
done
wait_until 60 model bwa-mem-00000004 1004
is "$(predicts 1000)" "APP: no recorded run yet" "the runs of four users are not reported"
is "$(ls "$state/programs")" "" "and are in no file that users can read"
"$announce" "$socket" job=5 uid=1005 app=bwa-mem-00000005 -- true
five_are_known() {
  predicts 1000 | grep -qE '^APP: no recorded run yet; runs of bwa-mem by 5 other users here used [0-9.]+ [KM]iB'
}
wait_until 60 five_are_known
ok $? "those of five users are"
is "$(predicts 1005)" "APP: no recorded run yet" "a user's own runs do not count"

# ---- imported runs, and requests

{
  for user in 1 2 3 4 5 6; do
    runs "100$user" "bwa-mem-0000000$user" $((user * 1024)) 10240 $((user * 100))
  done
  runs 1007 one 100 1000 700
  runs 1007 two 120 1000 710
  runs 1007 three 600 1000 720
  runs 1008 one 100 1000 800
  runs 1008 two 120 1000 810
} | import
others="runs of bwa-mem by 6 other users here used 2 GiB to 5 GiB"
wait_until 60 is_predicted 1000 "APP: no recorded run yet; $others"
ok $? "imported runs count: $(predicts 1000)"
requests="your other jobs used 12 % of the memory that they requested (median of 3 apps)"
wait_until 60 is_predicted 1007 "APP: no recorded run yet; $others; $requests"
ok $? "a user's requests are compared with what the jobs used: $(predicts 1007)"
is "$(predicts 1008)" "APP: no recorded run yet; $others" "two apps show no habit"
is "$(predicts 1006)" "APP: no recorded run yet; runs of bwa-mem by 5 other users here used 2 GiB to 4 GiB" \
  "the figures are the others'"
is "$(predicts 1007 --json | python3 -c 'import json, sys
d = json.load(sys.stdin)
d["new_app"]["own_requests"]["used_fraction"] = round(d["new_app"]["own_requests"]["used_fraction"], 6)
print(json.dumps(d["new_app"]), d["decision"]["action"], d["runs"])')" \
  '{"other_users": {"program": "bwa-mem", "users": 6, "low_bytes": 2147483648, "high_bytes": 5368709120}, "own_requests": {"apps": 3, "used_fraction": 0.12}, "documented": null} leave 0' \
  "--json has them, and nothing is decided"
for mode in set raise trim force; do
  is "$(predicts 1007 --mem=64G --mode="$mode")" "APP: no recorded run yet; $others; $requests" "mode $mode changes nothing"
done

# ---- who can read what

is "$(stat -c '%a %n' "$state/programs" "$state/program-users" | sed "s,$state/,,")" "755 programs
700 program-users" "users can read the figures, not their data"
is "$(grep -rla -e 1001 -e bwa "$state/programs")" "" "the figures have no user and no name"
is "$(stat -c '%a' "$state"/program-users/*)" 600 "the data are the learner's"

# ---- forgetting

is "$("$foretell" forget --state="$state" --user=1006 --before=0d)" "forgot 3 runs of 1 app (1 model removed)" \
  "one user's runs are forgotten"
# the agent's five runs and the imported ones of five users remain
wait_until 60 is_predicted 1000 "APP: no recorded run yet; runs of bwa-mem by 5 other users here used 2 GiB to 4 GiB"
ok $? "and leave the figures: $(predicts 1000)"
"$foretell" forget --state="$state" --user=1005 --before=0d >/dev/null
wait_until 60 is_predicted 1000 "APP: no recorded run yet"
ok $? "four users are too few again"
is "$(ls "$state/programs")" "" "their file is removed"
"$foretell" forget --state="$state" --user=1007 --before=0d >/dev/null
wait_until 60 is_predicted 1007 "APP: no recorded run yet"
ok $? "no request of a forgotten run counts"
[ ! -e "$state/models/1007" ]
ok $? "no file of that user's is left"

# ---- the site's policy

for user in 1 2 3 4 5 6; do
  runs "101$user" "bwa-mem-1000000$user" 1024 10240 $((900 + user * 10))
done | import
wait_until 60 is_predicted 1000 "APP: no recorded run yet; runs of bwa-mem by 10 other users here used 1 GiB to 2 GiB"
ok $? "runs that come later count: $(predicts 1000)"
config "other_users = no"
reload
is_off() {
  is_predicted 1000 "APP: no recorded run yet" && [ -z "$(ls "$state/programs" "$state/program-users" | grep -v :)" ]
}
wait_until 60 is_off
ok $? "other_users = no: nothing is reported, and nothing is kept"
tap_done
