#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Accounting in a real slurmdbd with a real mariadbd. Jobs end while the learner is stopped, and slurmctld
# forgets them; the learner completes their runs from slurmdbd. Slurm hides jobs from a learner that is neither
# root nor SlurmUser nor an operator, and foretell doctor reports it.
FT_SLURMDBD=1
. "$(dirname "$0")/play.sh"
FT_SLURM_CONF='PrivateData=jobs'
FT_SLURMDBD_CONF='PrivateData=jobs'
play_begin
state=$FT_STATE

# cancel_job: submits a job and cancels it when its process runs, which the agent knows by then
cancel_job() {
  submit sbatch --parsable --output=/dev/null --mem=200M --predict-app=kept --wrap "exec $hog --mib 50 --seconds 1000"
  wait_until 60 pgrep -f "$hog --mib 50 --seconds 1000" && scancel "$id"
}
# database ID: prints state and submit time (UTC seconds) of the job's only run
database() {
  local state submit
  IFS='|' read -r state submit < <(TZ=UTC0 SLURM_TIME_FORMAT=standard sacct -nPX -j "$1" --format=State,Submit)
  echo "${state%% *} $(date -u -d "${submit:-invalid}" +%s 2>/dev/null)"
}
# in_database ID STATE: slurmdbd has the job with this final state
in_database() {
  [[ $(database "$1") == "$2 "* ]]
}
# forget_jobs: slurmctld starts without its jobs, as if they were older than MinJobAge
forget_jobs() {
  cluster_kill slurmctld
  cluster_start_slurmctld -c
  wait_until 60 cluster_idle
}
# runs SQL: queries the learner's store
runs() {
  FT_STATE=$state store "$1"
}
# is_completed ID OUTCOME: the store has the run with the submit time and the outcome that slurmdbd has
is_completed() {
  [ "$(runs "select outcome || ' ' || cast(submit_time as integer) from observation where job_id = $1")" = \
    "$2 $(database "$1" | cut -d ' ' -f 2)" ]
}

# ---- a run whose job slurmctld has forgotten
cluster_kill foretell-learnd
submit sbatch --parsable --output=/dev/null --mem=200M --predict-app=kept --wrap "$hog --mib 50 --seconds 0.5"
completed=$id
cancel_job
ok $? "jobs run without a learner"
cancelled=$id
is "$(job_wait "$completed" 60) $(job_wait "$cancelled" 60)" "COMPLETED CANCELLED" "they end"
wait_until 60 in_database "$completed" COMPLETED && wait_until 60 in_database "$cancelled" CANCELLED
ok $? "slurmdbd has their records"
forget_jobs
ok $? "slurmctld starts without them"
is "$(scontrol show job "$completed" 2>&1)" "slurm_load_jobs error: Invalid job id specified" "it has forgotten them"
cluster_start_agent
wait_until 120 is_completed "$completed" completed
ok $? "the run that completed has slurmdbd's outcome and submit time"
wait_until 120 is_completed "$cancelled" cancelled
ok $? "the run that was cancelled has slurmdbd's outcome and submit time"
is "$(runs "select count(*) from observation")" 2 "each run is stored once"
between "$(runs "select rss_bytes >> 20 from observation where job_id = $completed")" 50 80 "its peak is the agent's"

# ---- a learner that is neither root nor SlurmUser
cluster_stop_agent
mkdir "$scratch"/learner{,/state,/run}
chown -R daemon: "$scratch/learner"
state=$scratch/learner/state
FT_LEARNER_SOCKET=$scratch/learner/run/learner.sock
printf 'state_dir = "%s"\nlearner_socket = "%s"\n' "$state" "$FT_LEARNER_SOCKET" >"$scratch/etc/learner.conf"
start_learner() {
  cluster_spawn foretell-learnd setpriv --reuid=daemon --regid=daemon --clear-groups --pdeathsig TERM \
    "${FT_AGENT%/*}/foretell-learnd" --config="$scratch/etc/learner.conf"
  wait_until 60 test -S "$FT_LEARNER_SOCKET"
}
doctor() {
  "$foretell" doctor --config="$FT_AGENT_CONF"
}
# shows_job ID: Slurm shows the job to the learner's user
shows_job() {
  cluster_as daemon scontrol show job "$1"
}
start_learner && cluster_start_agent
ok $? "foretell-learnd runs as another user, and foretelld delivers to it"
submit_held --wrap true
held=$id
shows_job "$held" >/dev/null 2>&1
is $? 1 "PrivateData hides the job from that user"
remedy=$(doctor | sed -n "s/^FAIL private data: PrivateData=jobs hides data from foretell-learnd's user daemon; \(sacctmgr .*\)/\1/p")
like "$remedy" 'sacctmgr -i add user daemon .*adminlevel=operator' "foretell doctor reports it and the remedy"
bash -ec "$remedy" >/dev/null
ok $? "the user becomes an operator"
wait_until 60 shows_job "$held"
ok $? "an operator sees the job"
like "$(doctor)" "^ok   private data: PrivateData=jobs, and foretell-learnd's user daemon may read all" "foretell doctor reports that, too"
echo 'account "root" { mode = check } account "roto" { mode = check }' >>"$FT_AGENT_CONF"
is "$(doctor | grep -o 'there is no account .*')" "there is no account \"roto\" in Slurm's database; did you mean \"root\"?" \
  "foretell doctor finds accounts in Slurm's database"
scancel "$held"
cluster_kill foretell-learnd
cancel_job
is "$(job_wait "$id" 60)" CANCELLED "a job ends while that learner is stopped"
wait_until 60 in_database "$id" CANCELLED && forget_jobs && start_learner
ok $? "slurmctld has forgotten it when the learner starts"
wait_until 120 is_completed "$id" cancelled
ok $? "an operator's learner completes the run from slurmdbd"
play_end
