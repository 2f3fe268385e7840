#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The number of restarts comes from Slurm's record, not from the job's environment.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

# attempts JOB: its attempts in the store, "restart_count outcome; ...", in order
attempts() {
  rows "$state/store.db" "SELECT restart_count || ' ' || outcome FROM observation WHERE job_id = $1 ORDER BY restart_count" |
    paste -s -d ';' | sed 's/;/; /g'
}
record() {
  echo "JobId=$1 JobName=test UserId=$(id -un)($(id -u)) GroupId=x(0) JobState=$2 Restarts=$3" \
    "SubmitTime=2026-01-02T03:0$3:05" >"$FT_SCONTROL/job_$1"
}
known() {
  [ -n "$(attempts "$1")" ]
}
has_attempts() {
  [ "$(attempts "$1")" = "$2" ]
}

config
start
for i in 0 1 2 3 4 5 6 7 8 9; do
  "$announce" "$socket" job=7 step="$i" restart="$i" app=forged -- true
done
record 7 COMPLETED 0
"$announce" "$socket" job=7 events=J
wait_until 60 known 7
"$announce" "$socket" job=8 app=next -- true
wait_until 60 known 8
sleep 1.5
is "$(attempts 7)" "0 completed" "ten restarts that a job claims are one run"
record 9 RUNNING 1
"$announce" "$socket" job=9 restart=5 app=forged -- true
wait_until 60 known 9
is "$(attempts 9)" "1 completed" "a restart has Slurm's number"
record 9 RUNNING 2
"$announce" "$socket" job=9 restart=2 app=forged -- true
wait_until 60 log_has 'job 9: not stored, because it is forgotten or has already completed'
is "$(attempts 9)" "1 completed" "a completed job does not complete again"
record 9 RUNNING 3
"$announce" "$socket" job=9 restart=3 app=forged oom=1 status=9 -- true
wait_until 60 has_attempts 9 "1 completed; 3 out_of_memory"
is "$(attempts 9)" "1 completed; 3 out_of_memory" "a job that Slurm has restarted can run out of memory again"
stop
tap_done
