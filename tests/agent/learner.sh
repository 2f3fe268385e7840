#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A foretelld and a foretell-learnd of which one is missing, killed or hung: every run is stored once.
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

config 'sample_hz = 20'

# job ID: runs job ID of app steps
job() {
  "$announce" "$socket" job="$1" app=steps -- true
}
stored() {
  stored_jobs "$state/store.db"
}
has_stored() {
  [ "$(stored)" = "$*" ]
}

# ---- without a learner

start_agent
wait_until 10 log_has 'foretell-learnd does not reply: .*; trying again'
ok $? "without a learner the agent says so"
job 1
job 2
wait_until 80 spooled 2
ok $? "without a learner runs wait in the spool"
start_learner
wait_until 20 has_stored 1 2
ok $? "when it starts, it stores them"
wait_until 10 spooled 0
ok $? "and the spool is empty"
wait_until 10 log_has 'foretell-learnd replies again'
ok $? "the agent says that it replies"
is "$(grep -c 'does not reply' "$scratch/log")" 1 "one line was logged for the whole time"

# ---- killed

# has_ended ID: from now on Slurm has the job as completed, for the runs of a daemon that is killed before it has all of
# a run's end on its disk
has_ended() {
  echo "JobId=$1 JobName=test UserId=x($(id -u)) GroupId=x(0) JobState=COMPLETED Restarts=0" \
    "SubmitTime=2026-01-02T03:04:05 StartTime=2026-01-02T03:04:05 EndTime=2026-01-02T03:04:06" >"$FT_SCONTROL/job_$1"
}
for id in 3 4 5 6 7 8; do
  "$announce" "$socket" job=$id app=steps -- sh -c "until [ -e '$scratch/go' ]; do sleep 0.05; done" &
done
all_run() {
  [ "$(find "$state/live" -name '[3-8]' -size +0 | wc -l)" = 6 ]
}
wait_until 60 all_run
touch "$scratch/go"
stop_learner KILL 2>/dev/null
wait $(jobs -p | grep -vx "$pid")
start_learner
wait_until 80 has_stored 1 2 3 4 5 6 7 8
ok $? "a killed learner loses no run and stores none twice"
wait_until 10 spooled 0
ok $? "the spool is empty again"

has_ended 9
"$announce" "$socket" job=9 app=steps -- true
wait_until 20 log_has 'job 9: steps, completed'
stop_agent KILL 2>/dev/null
start_agent
wait_until 80 has_stored 1 2 3 4 5 6 7 8 9
ok $? "a killed agent loses no run and delivers none twice"

pkill -KILL -P "$pid" -x foretell-courie
ok $? "foretell-courier runs"
job 10
wait_until 20 has_stored 1 2 3 4 5 6 7 8 9 10
ok $? "a killed foretell-courier loses no run"

# ---- hung

kill -STOP "$learner_pid"
timeout 600 "$announce" "$socket" job=11 app=steps -- true
ok $? "a task ends while the learner hangs"
grep -q '^State:.T' "/proc/$learner_pid/status"
ok $? "which does not answer until then"
kill -CONT "$learner_pid"
wait_until 80 has_stored 1 2 3 4 5 6 7 8 9 10 11
ok $? "its runs are stored when it continues"

# ---- who may send what

# request PATH [BODY [METHOD]]: sends a request and prints HTTP's status
request() {
  python3 - "$learner_socket" "$@" <<'END'
import http.client, socket, sys
path, body, method = (sys.argv[2:] + ["", "POST"][len(sys.argv) - 3:])[:3]
connection = http.client.HTTPConnection("learner")
connection.sock = socket.socket(socket.AF_UNIX)
try:
    connection.sock.connect(sys.argv[1])
    if body == "long":
        body = "x" * (1 << 20)
    try:
        connection.request(method, path, body)
    except BrokenPipeError:
        pass  # the learner replies before it has the body
    print(connection.getresponse().status)
except OSError as error:
    print(type(error).__name__)
END
}
is "$(request /nothing)" 404 "an unknown request is rejected"
is "$(request /runs "" GET)" 405 "so is another method"
is "$(request /runs "no list")" 400 "so is a body that is no list of observations"
is "$(request /jobs "no query")" 400 "so is one that is no query of jobs"
is "$(request /settings "no query")" 400 "so is one that is no query of settings"
is "$(request /runs long)" 413 "so is a body that is too long"
wait_until 10 log_has 'request /runs of a node: byte [0-9]+: expected'
ok $? "the log names the request and the position"
if [ "$(id -u)" = 0 ]; then
  export -f request
  as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups env learner_socket="$learner_socket" bash -c "$*"
  }
  is "$(as_nobody request /settings)" PermissionError "the socket is closed to other users"
  chmod 0666 "$learner_socket"
  is "$(as_nobody request /settings)" 403 "and the learner rejects them if it is not"
  chmod 0600 "$learner_socket"
else
  skip "other users" "needs root"
fi
job 12
wait_until 20 has_stored 1 2 3 4 5 6 7 8 9 10 11 12
ok $? "after all that a run is stored"

# ---- a request to forget while an agent does not run

"$announce" "$socket" job=13 app=steps events=jsr -- true
wait_until 10 test -e "$state/live/13"
stop_agent
is "$("$foretell" forget --state="$state" steps 2>&1)" \
  "forgot 12 runs of 1 app (1 model removed)" "runs are forgotten without an agent"
start_agent
gone() { [ ! -e "$state/live/13" ]; }
wait_until 20 gone
ok $? "an agent that starts later forgets its unfinished runs, too"
stop
tap_done
