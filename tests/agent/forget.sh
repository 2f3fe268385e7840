#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell forget: no byte of forgotten runs stays in the state directory and nothing brings them back:
# for any user, with and without an agent, also if the agent is killed. Other users' runs stay.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
need python3 setpriv
now=$(date +%s)
[ "$(id -u)" = 0 ] || tap_skip_all "it takes root to be one user and another"
setpriv --reuid=1001 --clear-groups true 2>/dev/null || tap_skip_all "setpriv cannot change the user"

# forget ARGUMENT...: as root; as UID ARGUMENT...: as that user
forget() {
  "$foretell" forget --state="$state" "$@" 2>&1
}
as() {
  local uid=$1
  shift
  setpriv --reuid="$uid" --regid="$uid" --clear-groups "$foretell" forget --state="$state" "$@" 2>&1
}
# found WORD: the files of the state directory that contain WORD
found() {
  grep -rla "$1" "$state" | sed "s,$state/,," | sort | tr '\n' ' '
}
is_found() {
  [ -n "$(found "$1")" ]
}
is_gone() {
  [ -z "$(found "$1")" ]
}
# job ID UID APP: a run of this job
job() {
  "$announce" "$socket" job="$1" uid="$2" app="$3" feature="$3:1" -- true
}
stored() {
  rows "$state/store.db" "SELECT COUNT(*) FROM observation WHERE $1"
}
is_stored() {
  [ "$(stored "$1")" = "$2" ]
}
# lock_store: a process locks the store, as an import does, until unlock_store
lock_store() {
  mkfifo "$scratch/hold"
  python3 - "$state/store.db" "$scratch/hold" <<'END' &
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=20)
db.execute("BEGIN IMMEDIATE")
open(sys.argv[2], "w").close()
open(sys.argv[2]).read()
END
  holder=$!
  timeout 60 cat "$scratch/hold"
}
unlock_store() {
  open_fifo 60 "$scratch/hold"
  wait_child 60 "$holder"
  rm "$scratch/hold"
}
# runs UID APP COUNT JOB: recent runs, with job ids from JOB on
runs() {
  for ((i = 0; i < $3; i++)); do
    echo "$2,$(($4 + i)),300,60,$((now - ($3 - i) * 600)),$1,$2"
  done
}
import() {
  { echo "app,job_id,peak_mib,runtime,end,uid,job_name"; cat; } >"$scratch/runs.csv"
  "$foretell" import --state="$state" "$scratch/runs.csv" 2>&1
}

config
start
for id in 1 2 3; do
  job "$id" 1001 PLANTED
done
job 4 1002 PLANTED
job 5 1001 other
wait_until 60 is_stored "job_id <= 5" 5
wait_until 60 model PLANTED 1001
wait_until 60 model other 1001

# ---- permissions

is "$(as 1002 --user=1001)" \
  "foretell forget: only root, SlurmUser and the owner of the state directory may forget the runs of other users" \
  "a user cannot name another user's runs"
is "$(as 1002 other)" "forgot 0 runs of 0 apps (0 models removed)" "an app of another user is not forgotten"
is "$(as 1002 --job=1)" "forgot 0 runs of 0 apps (0 models removed)" "a job of another user is not forgotten"
is "$(as 1002 --before=0d)" "forgot 1 run of 1 app (1 model removed)" "--before forgets only the user's own runs"
is "$(stored 1)" 4 "the other user's runs stay"
is "$(as 1001 --dry-run PLANTED)" "would forget 3 runs of 1 app" "a dry run counts the runs"
is "$(stored 1)" 4 "a dry run removes nothing"
is "$(as 1001 PLANTED)" "forgot 3 runs of 1 app (1 model removed)" "a user forgets an app"
is "$(found PLANTED)" "" "no byte of it stays"
is "$(stored "app = 'other'")" 1 "the user's other app stays"
model other 1001 >/dev/null
ok $? "the other app keeps its model"

# ---- jobs without a stored run

tombstones() {
  rows "$state/store.db" "SELECT COUNT(*) FROM forgotten WHERE $1"
}
echo "JobId=500 JobName=test UserId=ada(1001) GroupId=x(0) JobState=RUNNING SubmitTime=2026-01-02T03:04:05" >"$FT_SCONTROL/job_500"
echo "slurm_load_jobs error: Invalid job id specified" >"$FT_SCONTROL/job_502"
is "$(as 1001 --job=500) $(tombstones "job_id = 500 AND uid = 1001")" "forgot 0 runs of 0 apps (0 models removed) 1" \
  "a job that Slurm says is the user's is forgotten before it is stored"
for id in 500 501 502; do
  is "$(as 1002 --job=$id) $(tombstones "uid = 1002 AND job_id > 400")" \
    "forgot 0 runs of 0 apps (0 models removed) 0" "job $id, which is not the user's, leaves no record"
done
forget --job=503 --user=1002 >/dev/null
is "$(tombstones "uid = 1002 AND job_id = 503")" 1 "root's requests need no Slurm"

# ---- what could bring runs back

is "$({ runs 1001 PLANTED 3 1; runs 1001 PLANTED 1 77; runs 1003 mine 1 78; } | import | head -1)" \
  "$scratch/runs.csv: 1 run, 4 forgotten runs skipped" "an import leaves out the same runs"
is "$(runs 1001 1001/train 3 1 | import | head -1)" "$scratch/runs.csv: 0 runs, 3 forgotten runs skipped" \
  "an import leaves them out under another name, too"
is "$(found PLANTED)" "" "the imports leave no byte"
job 6 1001 PLANTED
wait_until 60 is_stored "app = 'PLANTED'" 1
ok $? "a later run is learned"

lock_store
job 7 1001 LATE
wait_until 60 spooled 1
cp "$state"/spool/*.obs "$scratch/late.obs"
unlock_store
wait_until 60 is_stored "app = 'LATE'" 1
stop
mkdir -p "$state/spool"
cp "$scratch/late.obs" "$state/spool/0123456789abcdef.obs"
echo "LATE, cut short" >"$state/spool/fedcba9876543210.obs"
start
is "$(as 1001 LATE)" "forgot 1 run of 1 app (1 model removed)" "a run that waits in the spool is forgotten"
wait_until 60 is_gone LATE
is "$(found LATE)" "" "damaged files in the spool are removed"
stop
cp "$scratch/late.obs" "$state/spool/0123456789abcdef.obs"
# temporary files of an agent that was killed while it wrote
for part in spool/.x.obs live/.7.part models/1001/.LATE-1.model; do
  cp "$scratch/late.obs" "$state/$part.4711"
done
start
wait_until 60 spooled 0
is "$(stored "job_id = 7")" 0 "a late spool file brings nothing back"
wait_until 60 is_gone LATE
is "$(found LATE)" "" "the temporary files are removed"

mkfifo "$scratch/go"
"$announce" "$socket" job=8 uid=1001 app=RUNNING events=jsreJ -- cat "$scratch/go" >/dev/null &
running=$!
wait_until 60 is_found RUNNING
cp -r "$state/live" "$scratch/live"
is "$(as 1001 RUNNING)" "forgot 0 runs of 0 apps (0 models removed)" "the app of a running job can be forgotten"
wait_until 60 is_gone RUNNING
ok $? "its journal is removed"
stop KILL
cp -r "$scratch/live" "$state"
start
wait_until 60 is_gone RUNNING
ok $? "a journal that is read after a crash is removed"
open_fifo 60 "$scratch/go"
wait_child 60 "$running"
job 9 1001 after
wait_until 60 is_stored "app = 'after'" 1
is "$(stored "job_id = 8")" 0 "the end of the running job is not stored"
is "$(found RUNNING)" "" "no byte of it is stored"

# ---- the record of overrides, and GPU observations

{
  echo "app,job_id,peak_mib,end,uid,job_name,decision_mode,decision_action,decision_overrode,request_mem_bytes,request_mem_unit"
  echo "OVERRIDE,60,300,$((now - 600)),1001,OVERRIDE,force,warn,1,1048576,node"
  echo "OVERRIDE,61,300,$((now - 500)),1001,OVERRIDE,set,set,0,1048576,node"
  echo "OVERRIDE,62,300,$((now - 400)),1001,OVERRIDE,force,warn,0,1048576,node"
} >"$scratch/overrides.csv"
"$foretell" import --state="$state" "$scratch/overrides.csv" >/dev/null
is "$(as 1001 OVERRIDE)" \
  "forgot 2 runs of 1 app (1 model removed); 1 override of the policy remains in the report" \
  "the message states that an override stays on record"
is "$(found OVERRIDE)" "" "the record has no name of the program"
is "$(stored "job_id = 60 AND uid = 1001 AND decision_mode = 'force' AND peak_bytes IS NULL")" 1 \
  "the record has the user, the job and the mode"
"$foretell" import --state="$state" "$scratch/overrides.csv" >/dev/null
is "$(found OVERRIDE) $(stored "job_id IN (60, 61, 62)")" " 1" "another import changes nothing"

stop
mkdir "$scratch/lib"
ln -s "$(cd "$FT_TOP_BUILDDIR" && pwd)/tests/unit/.libs/libfakenvml.so" \
  "$scratch/lib/libnvidia-ml.so.1"
export FT_FAKE_NVML=gpus FT_FAKE_NVML_FILE=$scratch/process
: >"$FT_FAKE_NVML_FILE"
LD_LIBRARY_PATH=$scratch/lib start
"$announce" "$socket" job=70 uid=1001 app=NETWORK feature="model_gpu_bytes:$((300 << 20))" -- \
  bash -c "echo \$\$ 900 >'$FT_FAKE_NVML_FILE'; '$FT_TOP_SRCDIR/tests/slurm/gpu-seen' '$FT_FAKE_NVML_FILE'; : >'$FT_FAKE_NVML_FILE'"
wait_until 60 test -s "$state/gpus"
with=$(stat -c %s "$state/gpus")
is "$(as 1001 NETWORK)" "forgot 1 run of 1 app (1 model removed)" "a run on a GPU is forgotten"
[ "$(stat -c %s "$state/gpus")" -lt "$with" ]
ok $? "its GPU observation is removed"

# ---- killed at any time

for ((round = 0; round < 6; round++)); do
  {
    for ((app = 0; app < 12; app++)); do
      runs 1004 "MANY$round-$app" 25 $((10000 + 1000 * round + 50 * app))
    done
    runs 1004 stays 2 $((10800 + 1000 * round))
  } | import >/dev/null
  reload
  forget --user=1004 --before=1m >/dev/null &
  asking=$!
  sleep "0.0$((round * 9 / 5))"
  stop KILL 2>/dev/null
  wait_child 60 "$asking"
  start
done
forget --user=1004 --before=1m >/dev/null
is "$(stored "app LIKE 'MANY%'")" 0 "an agent that was killed meanwhile continues"
is "$(found MANY)" "" "no byte stays"

# ---- a store that is too large to be rewritten at once

job 30 1001 LARGE
wait_until 60 is_stored "app = 'LARGE'" 1
python3 - "$state/store.db" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=20)
db.execute("CREATE TABLE ballast (x)")
db.execute("INSERT INTO ballast VALUES (zeroblob(40 << 20))")
db.commit()
END
is "$(as 1001 LARGE)" "forgot 1 run of 1 app (1 model removed)" "runs are removed from a large store"
scrubbed() {
  [ "$(rows "$state/store.db" "SELECT COUNT(*) FROM meta WHERE key = 'scrub'")" = 0 ]
}
wait_until 60 scrubbed
ok $? "another process rewrites the store"
is "$(found LARGE)" "" "no byte of the runs stays"
python3 - "$state/store.db" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=20)
db.execute("DROP TABLE ballast")
db.commit()
END

# ---- without an agent

job 20 1001 ALONE
job 21 1002 others
wait_until 60 model ALONE 1001
wait_until 60 model others 1002
mkfifo "$scratch/go2"
"$announce" "$socket" job=22 uid=1001 app=ALONE events=jsreJ -- cat "$scratch/go2" >/dev/null 2>&1 &
running=$!
wait_until 60 test -s "$state/live/22"
stop KILL
cp "$scratch/late.obs" "$state/spool/0123456789abcdef.obs"
like "$(as 1001 ALONE)" "foretell-learnd does not run on this machine; run this where it does, or ask root" \
  "without an agent a user gets an error message"
is "$(forget --dry-run ALONE)" "would forget 1 run of 1 app" "root needs no agent"
is "$(forget ALONE)" "forgot 1 run of 1 app (1 model removed)" "root forgets the runs"
is "$(found ALONE)" "" "no byte stays, journal included"
spooled 0
ok $? "the spool is empty"
model others 1002 >/dev/null
ok $? "the other user's model stays"
open_fifo 60 "$scratch/go2"
wait_child 60 "$running"

chown -R 1005:1005 "$state"
is "$(forget others)" "forgot 1 run of 1 app (1 model removed)" "root forgets in another user's state directory"
is "$(find "$state" ! -uid 1005)" "" "all files stay the owner's"
chown -R 0:0 "$state"

# ---- wrong arguments

check_rejection() {
  is "$(forget "${@:2}")" "foretell forget: $1" "${*:2} is rejected"
}
is "$(forget)" "foretell forget: expected an app, --job, --user or --before" "no argument is rejected"
check_rejection "--job=12x: expected a job such as 139 or 139_4" --job=12x
check_rejection "--job=0: expected a job such as 139 or 139_4" --job=0
check_rejection "--job=1_: expected a job such as 139 or 139_4" --job=1_
check_rejection "--user=nobody-of-that-name: no such user" --user=nobody-of-that-name
check_rejection "--before=soon: expected a day such as 2026-11-20, a time or an age such as 30d" --before=soon
check_rejection "expected a time in the past, before which runs are forgotten" --before=2999-01-01
check_rejection "unexpected argument 'b'; see foretell forget --help" a b
is "$(forget --json --dry-run nothing)" \
  '{"dry_run": true, "runs": 0, "apps": 0, "models_removed": 0, "overrides_kept": 0}' "--json --dry-run prints JSON"
tap_done
