#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Upgrade: today's learner reads what an agent of an earlier release sends, and today's programs take over that
# release's state directory: store, models, spooled runs and running jobs. tests/fixtures/upgrade/record made both.
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
need python3
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
recorded=$FT_TOP_SRCDIR/tests/fixtures/upgrade
export FORETELL_CONFIG=$scratch/foretell.conf
config

# stored SQL: queries the store
stored() {
  rows "$state/store.db" "$1"
}
# send PATH: sends the recorded request to the learner; prints HTTP's status and the length of the reply
send() {
  python3 - "$learner_socket" "$recorded/$1.http" <<'END'
import http.client, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(60)
connection.connect(sys.argv[1])
connection.sendall(open(sys.argv[2], "rb").read())
reply = http.client.HTTPResponse(connection)
reply.begin()
print(reply.status, reply.read()[:200].decode("utf-8", "replace") if reply.status != 200 else "")
END
}

# ---- requests of the earlier agent

start_learner
wait_until 60 test -s "$state/site" # before, runs wait for the cluster's name
for path in settings jobs runs; do
  is "$(send $path)" "200 " "the earlier agent's request of /$path is answered"
done
is_stored() {
  [ -n "$(stored 'select 1 from observation')" ]
}
wait_until 60 is_stored
is "$(stored 'select job_id, outcome, app, cluster from observation')" "1 completed old foretell" "its run is stored"
is "$(send runs)" "200 " "it may send the run again"
wait_until 60 all_joined
is "$(stored 'select count(*) from observation')" 1 "the run is stored once"
like "$("$foretell" job 1)" '^job 1 of old,' "foretell job shows it"
stop_learner

# ---- its state directory

if [ "$(id -u)" != 0 ]; then
  skip "an earlier state directory is taken over" "its files are root's"
  tap_done
  exit
fi
rm -rf "$state" "$scratch/log"
mkdir -m 0755 "$state"
tar -C "$state" -xzf "$recorded/state.tar.gz"
is "$(stored 'pragma user_version')" 10 "a state directory has a store of schema 10"
echo "JobId=99000006 JobName=test UserId=root(0) GroupId=root(0) JobState=TIMEOUT Restarts=0" \
  "SubmitTime=2026-01-02T03:04:05" >"$FT_SCONTROL/job_99000006"
for job in 4 5; do
  echo "JobId=$job JobName=test UserId=root(0) GroupId=root(0) JobState=COMPLETED Restarts=0" \
    "SubmitTime=2026-01-02T03:04:05" >"$FT_SCONTROL/job_$job"
done
start
ok $? "today's programs start with it"
# taken_over: nothing waits any more
taken_over() {
  spooled 0 && [ -z "$(find "$state/live" -type f -size +0)" ] && all_joined
}
wait_until 120 taken_over
ok $? "spool and journal are delivered" || find "$state"/{live,spool} -type f | diag
is "$(stored 'select job_id, outcome, app from observation order by job_id' | tr '\n' ';')" \
  "1 completed old;2 completed old;3 completed old;4 completed old;5 completed old;99000006 timeout old;" \
  "every run is stored once, and the one that ended meanwhile has Slurm's outcome"
[ "$(stored 'pragma user_version')" -gt 10 ]
ok $? "the store has a newer schema"
# model_has RUNS
model_has() {
  "$foretell" predict --json --state="$state" --app=old --user=0 | grep -Eq "\"runs\": ?$1,"
}
wait_until 60 model_has 5
ok $? "the model has all completed runs"
"$announce" "$socket" job=7 app=old step=batch -- true
wait_until 60 model_has 6
ok $? "and learns the next"
like "$("$foretell" job 4)" '^job 4 of old,' "foretell job shows a run that was in the spool"
stop
tap_done
