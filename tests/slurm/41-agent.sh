#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The agent is killed, hangs, is started again, and its disk is full: jobs are not affected, and
# no learned run is lost.
. "$(dirname "$0")/play.sh"
FT_ENFORCE=none
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES DefMemPerCPU=10 MaxTime=60'
FT_FORETELL_CONF='min_runs = 3
floor = "16M"
round = "1M"'
cluster_open || exit 1
mkdir "$scratch/mnt"
if mount -t tmpfs -o size=6m,mode=0755 tmpfs "$scratch/mnt" 2>/dev/null; then
  FT_STATE=$scratch/mnt/state
  mkdir "$FT_STATE"
fi
play_begin
learn steady 100 101 99 100
ok $? "four runs are learned"

run() {
  submit sbatch --parsable --output=/dev/null --mem=500M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.4"
}
# run_until FILE: submits a job that runs until FILE exists, and waits until the agent has measured it
run_until() {
  submit sbatch --parsable --output=/dev/null --mem=500M --predict-app=steady --wrap "$hog --mib 100 --until $1"
  wait_until 60 has_measured "$id" 100
}
# is_running ID: the job has not ended
is_running() {
  ! job_ended "$1"
}

# steady_runs: prints the jobs of its runs in the store
steady_runs() {
  store "select job_id from observation where app = 'steady' order by job_id" | tr '\n' ' '
}

# ---- killed in the middle of a job
learned=$(steady_runs)
run_until killed
cluster_stop_agent KILL
is_running "$id"
ok $? "the agent is killed in the middle of a job"
touch killed
is "$(job_wait "$id")" COMPLETED "the agent is killed in the middle of a job: the job completes"
like "$(job_field "$id" ExitCode)" '0:0' "its exit code is its own"
killed=$id
run
is "$(job_wait "$id")" COMPLETED "without an agent a job completes"
submit_held --predict-mem --predict-app=steady --wrap true
between "$(mib "$(requested_mem "$id")")" 100 400 "without an agent submissions are still predicted"
scancel "$id"
cluster_start_agent
ok $? "the agent starts again"
is "$(store 'pragma integrity_check')" ok "its store passes the integrity check"
wait_until 30 test_observed "$killed"
is "$(steady_runs)" "$learned$killed " "the store has the runs from before, and the one that ended without an agent"
run
is "$(job_wait "$id")" COMPLETED "a job completes under the new agent"
wait_observed "$id"
is "$(observed "$id" outcome)" completed "the new agent observes it"
is "$(steady_runs)" "$learned$killed $id " "no run is lost or doubled"

# ---- killed and started again while the job runs
run_until restarted
cluster_stop_agent KILL
cluster_start_agent
until_measured 100 restarted
is "$(job_wait "$id")" COMPLETED "an agent that restarts during a job does not disturb it"
wait_observed "$id"
is "$(observed "$id" outcome)" completed "its run is stored"
between "$(observed "$id" 'rss_bytes >> 20')" 95 130 "with the peak that the new agent has measured"
diag "lower bound: $(observed "$id" peak_is_bound)"

# ---- suspended
run_until resumed
scontrol suspend "$id"
is "$?:$(job_field "$id" JobState)" 0:SUSPENDED "a job is suspended"
sleep 5
scontrol resume "$id"
touch resumed
is "$(job_wait "$id")" COMPLETED "a resumed job completes"
wait_observed "$id"
# The 5 s of suspension are neither in Slurm's run time nor in the stored one; Slurm's times are whole seconds.
ran_briefly() {
  seconds=$(observed "$id" runtime_seconds)
  awk -v ran="${seconds:-1e9}" -v all="$(($(date -d "$(job_field "$id" EndTime)" +%s) - $(date -d "$(job_field "$id" StartTime)" +%s)))" \
    'BEGIN { exit !(ran <= all - 4) }'
}
wait_until 30 ran_briefly
ok $? "the time of suspension is no run time, once Slurm has reported it"
diag "$seconds s, by Slurm $(job_field "$id" RunTime)"

# ---- hung
# five_jobs: runs five jobs, one after the other; sets five (their IDs), states, and fastest (ms): other load only adds
# to the time of some of them, a delay of foretell to each
five_jobs() {
  local n begun spent
  five= states= fastest=1000000
  for n in 1 2 3 4 5; do
    begun=${EPOCHREALTIME/./}
    run
    states="$states$(job_wait "$id") "
    spent=$(((${EPOCHREALTIME/./} - begun) / 1000))
    [ $spent -ge $fastest ] || fastest=$spent
    five="$five$id "
  done
}
five_jobs
usual=$fastest
wait_until 60 test_observed "$id"
learned=$(steady_runs)
pid=$(cluster_pid foretelld)
kill -STOP "$pid"
five_jobs
is "$states" "COMPLETED COMPLETED COMPLETED COMPLETED COMPLETED " "a hung agent: jobs complete"
between "$fastest" 0 $((usual + 1000)) "jobs do not wait for a hung agent ($usual ms each before)"
kill -CONT "$pid"
all_observed() {
  [ "$(steady_runs)" = "$learned$five" ]
}
wait_until 60 all_observed
ok $? "the announcements of that time are not lost" || diag "$(steady_runs); before $learned, then $five"

# ---- a full disk
if [ "$FT_STATE" = "$scratch/mnt/state" ]; then
  before=$(runs_of steady)
  cat /dev/zero >"$scratch/mnt/ballast" 2>/dev/null
  is "$(df --output=avail "$scratch/mnt" | tail -n 1 | tr -d ' ')" 0 "the disk is full"
  run
  is "$(job_wait "$id")" COMPLETED "the store's disk is full: a job completes"
  full=$id
  submit sbatch --parsable --output=/dev/null --predict-mem --predict-app=steady \
    --wrap "$hog --mib 100 --seconds 0.5"
  between "$(mib "$(requested_mem "$id")")" 100 400 "the disk is full: submissions are still predicted"
  between "$(message_lines)" 0 1 "a submission prints at most one line"
  cluster_pid foretelld >/dev/null
  ok $? "the agent keeps running"
  wait_until 10 grep -qiE 'full|no space' "$scratch"/log/foretell-learnd.* "$scratch"/log/foretelld.*
  ok $? "its log reports the full disk"
  rm -f "$scratch/mnt/ballast"
  wait_until 75 test_observed "$full"
  ok $? "with free space again, the missed observation is stored"
  is "$(store 'pragma integrity_check')" ok "the store passes the integrity check"
else
  skip "a full disk" "tmpfs cannot be mounted here"
fi

# ---- a wrong configuration
cp "$FT_AGENT_CONF" "$scratch/good.conf"
echo 'no_such_key = 1' >>"$FT_AGENT_CONF"
pid=$(cluster_pid foretelld)
cluster_reload_agent
wait_until 10 grep -q 'no_such_key' "$scratch"/log/foretell-learnd.*
ok $? "an unknown key is rejected by name when the configuration is read again"
is "$(cluster_pid foretelld)" "$pid" "the old configuration stays in use"
run
job_wait "$id" >/dev/null
wait_observed "$id"
ok $? "jobs are still observed"
cluster_stop_agent
ok $? "SIGTERM ends the agent"
play_end
