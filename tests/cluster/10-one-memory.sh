#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A cluster of four hosts: ctl (slurmctld, slurmdbd, mariadbd and the learner), login, and the nodes n1 and n2.
# What one node has run predicts jobs of the other; nothing is lost or doubled when the network is cut, the learner
# is killed, a node loses its power or its daemons, a disk is full, a clock is wrong, or a job of both nodes is
# preempted or requeued. Every attempt of every job is in a ledger, which the store and slurmdbd have to equal.
FT_SLURMDBD=1
. "$(dirname "$0")/../slurm/play.sh"
. "$FT_TOP_SRCDIR/tests/cluster/hosts.sh"
. "$FT_TOP_SRCDIR/tests/slurm/clock.sh"
play_missing=$(hosts_missing) && tap_skip_all "$play_missing is not installed"
"$FT_TOP_SRCDIR/tests/slurm/own-mounts" unshare --net --uts --pid --fork true 2>/dev/null || {
  echo "1..0 # SKIP this machine permits no namespaces"
  exit 0
}
PATH=$PATH:/usr/sbin:/sbin
cluster_open || exit 1
trap 'status=$?; hosts_close; (exit $status); cluster_close' EXIT
export SLURM_CONF=$scratch/etc/slurm.conf
port=6825 # of the learner; every host has ports of its own
installed=$scratch/installed
mkdir "$installed" && cp "$FT_PLUGIN_BUILT" "$FT_ROOT/sbin/"foretell{d,-learnd} \
  "$FT_ROOT/libexec/foretell/"foretell-{courier,helper,network} "$FT_TOP_BUILDDIR/tests/agent/spool_runs" "$hog" \
  "$installed" || exit 1
hog=$installed/hog
FT_STATE=$scratch/hosts/ctl/state
ledger=$scratch/ledger
: >"$ledger"

# ---- the cluster's configuration, the same on all hosts

(umask 077 && dd if=/dev/urandom of="$scratch/munge/key" bs=128 count=1 2>/dev/null) || exit 1
cat >"$SLURM_CONF" <<END
ClusterName=foretell
FirstJobId=$FT_FIRST_JOB
SlurmctldHost=ctl(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=$scratch/ctld
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmdSpoolDir=$scratch/here/spool
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PlugStackConfig=$scratch/etc/plugstack.conf
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
MailProg=/bin/true
ReturnToService=2
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=10.77.0.1
KillWait=2
CompleteWait=0
InactiveLimit=0
SlurmdTimeout=20
MessageTimeout=20
MinJobAge=3600
NodeName=n1 NodeAddr=10.77.0.11 CPUs=8 RealMemory=8000
NodeName=n2 NodeAddr=10.77.0.12 CPUs=8 RealMemory=8000
PartitionName=main Nodes=n1,n2 Default=YES DefMemPerCPU=100 MaxTime=60 PriorityTier=1
PartitionName=urgent Nodes=n1,n2 DefMemPerCPU=100 MaxTime=60 PriorityTier=2 PreemptMode=OFF
END
(umask 077 && cat >"$scratch/etc/slurmdbd.conf") <<END
DbdHost=ctl
DbdAddr=10.77.0.1
SlurmUser=root
AuthType=auth/munge
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=accounting
LogFile=$scratch/log/slurmdbd.log
PidFile=/run/slurmdbd.pid
END
echo "optional $installed/spank_foretell.so state=$scratch/here/state socket=$scratch/here/run/agent.sock" \
  "helper=$installed/foretell-helper" >"$scratch/etc/plugstack.conf"
cat >"$scratch/etc/foretell.conf" <<END
state_dir = "$scratch/here/state"
socket = "$scratch/here/run/agent.sock"
learner_socket = "$scratch/here/run/learner.sock"
helper_timeout_ms = 10000
floor = "16M"
round = "1M"
END
# the nodes' agents send their runs to ctl
{ cat "$scratch/etc/foretell.conf"; echo "learner = \"10.77.0.1:$port\""; } >"$scratch/etc/node.conf"
echo "listen = \"10.77.0.1:$port\"" >>"$scratch/etc/foretell.conf"
# the agent of n2 has a clock and a munged of its own, the rest of n2 has the right time
{ cat "$scratch/etc/node.conf"; echo 'munge_socket = "/run/munge/agent"'; } >"$scratch/etc/n2.conf"
ln "$scratch/etc/node.conf" "$scratch/etc/n1.conf"
[ -e "$fault_clock" ] || { echo "1..1"; echo "not ok 1 - $fault_clock is built"; exit 1; }
clock=$scratch/clock
set_clock "$clock" 0

# ---- daemons

# start_munged HOST [SOCKET [COMMAND]...]: starts munged through COMMAND
start_munged() {
  local name=$1 socket=${2:-munge.socket.2}
  host "$1" mkdir -p /run/munge
  host_spawn "$1" "munged-$socket" "${@:3}" munged --foreground --force --key-file="$scratch/munge/key" \
    --socket="/run/munge/$socket" --pid-file="/run/munge/$socket.pid" --log-file="$scratch/here/log/$socket.log" \
    --seed-file="$scratch/here/munge/$socket.seed"
  wait_until 60 host "$name" munge --no-input --socket="/run/munge/$socket"
}
start_learner() {
  host_spawn ctl foretell-learnd "$installed/foretell-learnd" --config="$scratch/etc/foretell.conf"
  wait_until 60 learner_listens
}
learner_listens() {
  host ctl bash -c "exec 3<>/dev/tcp/10.77.0.1/$port"
}
# start_agent NODE
start_agent() {
  local through=
  rm -f "$scratch/hosts/$1/run/agent.sock"
  [ "$1" != n2 ] || through="env FT_FAULT_CLOCK=$clock LD_PRELOAD=$fault_clock"
  # shellcheck disable=SC2086
  host_spawn "$1" foretelld $through "$installed/foretelld" --config="$scratch/etc/$1.conf"
  wait_until 60 test -S "$scratch/hosts/$1/run/agent.sock"
}
start_slurmd() { # start_slurmd NODE
  host_spawn "$1" slurmd "$(command -v slurmd)" -D -f "$SLURM_CONF" -N "$1" -L "$scratch/log/slurmd-$1.log"
}
start_node() { # start_node NODE NUMBER; the disk of n1 is small
  host_start "$1" "$2" || return 1
  [ "$1" != n1 ] || host n1 mount -t tmpfs -o size=4m,mode=0755 tmpfs "$scratch/here/state" || return 1
  [ "$1" != n2 ] || start_munged n2 agent env "FT_FAULT_CLOCK=$clock" "LD_PRELOAD=$fault_clock" || return 1
  start_munged "$1" && start_agent "$1" && start_slurmd "$1"
}
node_idle() {
  [ "$(sinfo -h -p main -N -o %t -n "$1")" = idle ]
}
# start_database: mariadbd without passwords, whose only way in is a socket that other users cannot reach
start_database() {
  host_spawn ctl mariadbd mariadbd --no-defaults --user=root --datadir="$scratch/mariadb/data" \
    --socket="$scratch/mariadb/socket" --pid-file=/run/mariadbd.pid --skip-networking --skip-grant-tables \
    --innodb-buffer-pool-size=32M
  wait_until 120 mariadb-admin --no-defaults --socket="$scratch/mariadb/socket" ping || return 1
  host_spawn ctl slurmdbd env "MYSQL_UNIX_PORT=$scratch/mariadb/socket" slurmdbd -D
}
make_database() {
  mkdir -m 0700 "$scratch/mariadb" &&
    mariadb-install-db --no-defaults --user=root --datadir="$scratch/mariadb/data" --skip-test-db \
      >"$scratch/log/mariadb-install.out" 2>&1
}
start_cluster() {
  local database login
  make_database &
  database=$!
  hosts_open && host_start ctl 1 && start_munged ctl || return 1
  { host_start login 2 && start_munged login && host login mount --bind -o ro "$FT_STATE" "$scratch/here/state"; } &
  login=$!
  start_node n1 11 && start_node n2 12 || return 1
  wait_child 120 $database && start_database && wait_child 120 $login && wait_until 120 cluster_accounts || return 1
  host_spawn ctl slurmctld slurmctld -D -f "$SLURM_CONF" -L "$scratch/log/slurmctld.log"
  wait_until 60 node_idle n1 && wait_until 60 node_idle n2 && start_learner && wait_until 60 test -s "$FT_STATE/site"
}
# users' commands run on the login host
for command in sbatch srun scontrol squeue sinfo scancel sacct sacctmgr; do
  eval "$command() { host login $command \"\$@\"; }"
done

# ---- the ledger: a line for each attempt of a job

# enter JOB...: jobs that have one more attempt, which has to be in the store
enter() {
  printf '%s\n' "$@" >>"$ledger"
}
# stored: prints the job of each run in the store; a run is one line, whatever number of nodes it had
stored() {
  store 'select distinct job_id, restart_count, submit_time from observation order by job_id' | cut -d '|' -f 1
}
ledger_equals_store() {
  [ "$(sort -n "$ledger")" = "$(stored)" ]
}
check_ledger() {
  wait_until 60 ledger_equals_store
  ok $? "$1: every run is stored, none twice" || diff <(sort -n "$ledger") <(stored) | diag
}
# batch NODE MIB SECONDS [OPTION...]: a job of the app "grow" on a node; sets id
batch() {
  local node=$1 mib=$2 seconds=$3
  shift 3
  submit sbatch --parsable --output=/dev/null --no-requeue -w "$node" --predict-app=grow "$@" \
    --wrap "$hog --mib $mib --seconds $seconds"
  enter "$id"
}

start_cluster || { ok 1 "the cluster starts"; tap_done; exit 1; }
ok 0 "four hosts are one cluster"

# ---- one node learns, the other is predicted

jobs=
for size in 60 80 100 120 140; do
  batch n1 $size 0.3 --mem=500M
  jobs="$jobs $id"
done
for job in $jobs; do job_wait "$job" 60 >/dev/null; done
wait_until 60 has_runs grow 5
ok $? "five runs of n1 are learned on ctl"
batch n2 90 0.3 --predict-mem
like "$err" '^sbatch: foretell: grow needs .*\(5 runs\); --mem set to [0-9]+M' "a job of n2 is predicted by what n1 has run"
is "$(job_wait "$id" 60)" COMPLETED "it completes"
wait_until 60 test_observed "$id"
is "$(observed "$id" node)" n2 "its run is stored with its node"
check_ledger "two nodes"

# ---- at once: a job of both nodes, an array, a heterogeneous job, overlapping steps

# job_ids ID: prints the job IDs of all tasks of an array, or of all components of a heterogeneous job
job_ids() {
  scontrol -o show job "$1" | sed -nE 's/^JobId=([0-9]+).*/\1/p'
}
# all_completed ID
all_completed() {
  ! scontrol -o show job "$1" | grep -v JobState=COMPLETED | grep -q .
}
# enter_all ID NAME: waits for all of them, and enters them
enter_all() {
  wait_until 60 all_completed "$1"
  ok $? "$2"
  # shellcheck disable=SC2046
  enter $(job_ids "$1")
}
submit sbatch --parsable --output=/dev/null --no-requeue -N 2 --ntasks-per-node=1 --mem=500M --predict-app=pair \
  --wrap "srun bash -c 'case \$SLURM_NODEID in 0) $hog --mib 60 --seconds 1 ;; *) $hog --mib 120 --seconds 1 ;; esac'"
pair=$id
submit sbatch --parsable --output=/dev/null --no-requeue --array=1-4 --mem=500M --predict-app=tasks \
  --wrap "$hog --mib 50 --seconds 0.3"
array=$id
submit sbatch --parsable --output=/dev/null --no-requeue --mem=300M --predict-app=het : --mem=200M \
  --wrap "srun --het-group=0,1 $hog --mib 50 --seconds 1"
het=$id
submit sbatch --parsable --output=/dev/null --no-requeue -N 2 --ntasks-per-node=2 --mem=500M --predict-app=steps \
  --wrap "for mib in 40 60; do srun --overlap --mem=0 -N 2 -n 2 $hog --mib \$mib --until $scratch/both & done; wait"
steps=$id
# both_measured NODE: the job runs on the node, whose agent has measured both steps at once
both_measured() {
  host "$1" env "FORETELL_CONFIG=$scratch/etc/$1.conf" "$foretell" job "$steps" |
    grep -E ' now, at most (at least )?1[0-9]{2}(\.[0-9])? MiB'
}
wait_until 60 both_measured n1 && wait_until 60 both_measured n2
ok $? "each agent measures both steps at once"
touch "$scratch/both"
enter_all "$pair" "a job of both nodes completes"
enter_all "$array" "an array completes"
enter_all "$het" "a heterogeneous job completes"
enter_all "$steps" "a job completes whose two steps overlap on both nodes"
check_ledger "both nodes at once"
# has_nodes JOB COUNT
has_nodes() {
  [ "$(store "select count(distinct node) from observation where job_id = $1")" = "$2" ]
}
wait_until 60 has_nodes "$pair" 2
ok $? "each node of a job has delivered its part"
like "$("$foretell" job "$pair" --state="$FT_STATE" 2>&1)" 'nodes: +2; peaks from [67][0-9](\.[0-9])? MiB to 1[23][0-9](\.[0-9])? MiB, in all' \
  "foretell job shows the job of two nodes as one run"

wait_until 60 has_nodes "$steps" 2
between "$(store "select min(rss_bytes) >> 20 from observation where job_id = $steps")" 100 150 \
  "on each node overlapping steps count together"

# ---- the network is cut while a job runs, and submissions go on

batch n2 70 3 --mem=500M
wait_until 60 job_running "$id"
host_cut n2
no_hog() {
  ! host "$1" pgrep -x hog
}
wait_until 60 no_hog n2
ok $? "with the network cut the job ends on its node"
batch n1 110 0.3 --predict-mem
is "$(message_lines)" 1 "meanwhile a submission is predicted as ever"
is "$(job_wait "$id" 60)" COMPLETED "the other node's job completes"
host_join n2
check_ledger "the network cut"
wait_until 60 node_idle n2
ok $? "the node is back"

# ---- the learner is killed

host_kill ctl foretell-learnd KILL
batch n1 80 0.3 --predict-mem
first=$id
like "$err" 'grow needs' "without the learner a submission is predicted"
batch n2 80 0.3 --mem=500M
is "$(job_wait "$first" 60) $(job_wait "$id" 60)" "COMPLETED COMPLETED" "without the learner jobs run"
start_learner
check_ledger "the learner killed"

# ---- a node loses its power

batch n2 60 60 --mem=500M
lost=$id
wait_until 60 job_running "$lost"
# journalled NODE JOB: a process of the job runs, and the agent's journal has the start of a task (struct entry of
# agent/journal.c), not the job's alone, of which no run would come
journalled() {
  host "$1" pgrep -x hog && host "$1" python3 -c 'import struct, sys
data, at, task = open(sys.argv[1], "rb").read(), 0, False
while at + 40 <= len(data):
    length, started = struct.unpack_from("=I12xQ", data, at)
    at, task = at + 40 + length, task or started > 0
sys.exit(not task)' "$scratch/here/state/live/$2"
}
wait_until 30 journalled n2 "$lost"
host_stop n2
scontrol update nodename=n2 state=down reason=power
is "$(job_wait "$lost" 60)" NODE_FAIL "a node without power ends its job"
start_node n2 12
scontrol update nodename=n2 state=resume 2>/dev/null # fails if the node has resumed by itself
wait_until 60 node_idle n2
check_ledger "a node without power"
is "$(observed "$lost" "outcome != 'completed'")" 1 "its run does not count as completed"

# ---- attempts of a job of both nodes: preempted, requeued, and requeued after the loss of a node

# run_twice: a job of both nodes whose first attempt does not end by itself; sets id when both agents have measured it
run_twice() {
  # shellcheck disable=SC2016
  submit sbatch --parsable --output=/dev/null --requeue -N 2 --ntasks-per-node=1 --mem=500M --predict-app=twice \
    --wrap "srun $hog --mib 60 --seconds "'$((${SLURM_RESTART_COUNT:-0} ? 1 : 1000))'
  enter "$id" "$id"
  wait_until 60 journalled n1 "$id" && wait_until 60 journalled n2 "$id"
}
has_restarted() {
  [ "$(job_field "$1" Restarts)" = 1 ] && [ "$(job_field "$1" JobState)" = PENDING ]
}
# end_restart JOB: starts the second attempt without Slurm's delay of two minutes, and waits for its end. The delay must
# not be 0: the nodes reject a job credential of the second in which they have ended the first attempt.
end_restart() {
  wait_until 60 has_restarted "$1" && wait_until 60 node_idle n1 && wait_until 60 node_idle n2 &&
    scontrol update jobid="$1" StartTime=now+2 && job_wait "$1" 120
}
# attempts JOB: prints restart count, outcome, whether the peak is a lower bound, and number of nodes of each attempt
attempts() {
  store "select restart_count, group_concat(distinct outcome), max(censored), count(distinct node) from observation
    where job_id = $1 group by restart_count order by restart_count" | tr '|\n' ' ;'
}
has_attempts() { # has_attempts JOB PATTERN
  [[ $(attempts "$1") =~ $2 ]]
}
# check_attempts JOB PATTERN NAME: each node delivers its part of each attempt
check_attempts() {
  wait_until 60 has_attempts "$1" "$2"
  like "$(attempts "$1")" "$2" "$3"
}
run_twice
preempted=$id
submit sbatch --parsable --output=/dev/null --no-requeue -p urgent -N 2 --ntasks-per-node=1 --mem=7800M \
  --predict-app=urgent --wrap "srun $hog --mib 50 --seconds 0.5"
enter "$id"
is "$(job_wait "$id" 120)" COMPLETED "an urgent job preempts a job of both nodes"
is "$(end_restart "$preempted")" COMPLETED "which then completes"
check_ledger "a preempted job"
check_attempts "$preempted" '^0 (requeued|preempted) 1 2;1 completed 0 2;$' \
  "the preempted attempt is a lower bound, the restart a run of its own"

run_twice
scontrol requeue "$id"
is "$(end_restart "$id")" COMPLETED "a requeued job of both nodes completes"
check_ledger "a requeued job"
check_attempts "$id" '^0 requeued 1 2;1 completed 0 2;$' "its attempts are two runs"

run_twice
host_kill n2 slurmd KILL
host_kill n2 foretelld KILL
scontrol requeue "$id"
start_agent n2 && start_slurmd n2
is "$(end_restart "$id")" COMPLETED "a job is requeued while a node has lost its daemons, and completes"
check_ledger "a node without daemons"
check_attempts "$id" '^0 (requeued|node_fail) 1 2;1 completed 0 2;$' "its attempts are two runs, too"

# ---- the clock of a node's agent is ten minutes ahead

agent_log=$scratch/log/n2-foretelld.out
batch n2 60 2 --mem=500M
wait_until 60 journalled n2 "$id"
set_clock "$clock" 600
is "$(job_wait "$id" 60)" COMPLETED "a job completes while its agent's clock changes"
batch n2 60 0.3 --mem=500M
is "$(job_wait "$id" 60)" COMPLETED "a job completes whose agent's clock is wrong"
wait_until 60 grep -Eq 'clock of host 10\.77\.0\.12 is (59|60)[0-9] s ahead' "$agent_log"
ok $? "the agent's log has the time by which its clock is ahead"
is "$(observed "$id" outcome)" "" "its run waits"
set_clock "$clock" 0
check_ledger "a wrong clock"

# ---- a node's disk is full, and there is no learner

host_kill ctl foretell-learnd KILL
host n1 sh -c "cat /dev/zero >$scratch/here/state/ballast" 2>/dev/null
is "$(host n1 df --output=avail "$scratch/here/state" | tail -n 1 | tr -d ' ')" 0 "the disk is full"
batch n1 60 0.3 --mem=500M
is "$(job_wait "$id" 60)" COMPLETED "a job completes"
start_learner
check_ledger "a full disk"
host n1 rm "$scratch/here/state/ballast"
batch n1 60 0.3 --mem=500M
is "$(job_wait "$id" 60)" COMPLETED "a job completes"
check_ledger "free space again"

# ---- a node that lies: runs of "node1", one of a job of n1 and one of a job that does not exist

host_kill n1 foretelld
for job in "$id" 2000000000; do
  host n1 "$installed/spool_runs" "$scratch/here/state" "$job" 1
done
start_agent n1
wait_until 60 grep -Eq "run refused: job ($id|2000000000) of node node1: Slurm has" "$scratch/log/ctl-foretell-learnd.out"
ok $? "the learner names a run that differs from Slurm's record"
batch n1 60 0.3 --mem=500M
is "$(job_wait "$id" 60)" COMPLETED "a job completes"
check_ledger "a node that lies"

# ---- the time of a submission, in peace and without the learner and one of the nodes

# held COUNT FILE: appends the times in microseconds of COUNT submissions that are predicted
held() {
  local begun
  for _ in $(seq "$1"); do
    begun=${EPOCHREALTIME/./}
    sbatch --hold --output=/dev/null --predict-mem --predict-app=grow --wrap "$hog --mib 60" >/dev/null 2>&1
    echo $((${EPOCHREALTIME/./} - begun)) >>"$scratch/$2"
  done
}
# fast FILE: the fifth shortest of the times. Other load only adds to some of them, a delay of foretell to each.
fast() {
  sort -n "$scratch/$1" | sed -n 5p
}
# Where other load was unequal, further rounds have times without it.
for round in {1..20}; do
  held 10 peace
  host_kill ctl foretell-learnd KILL
  host_cut n1
  held 10 trouble
  host_join n1
  start_learner
  [ "$round" = 1 ] || [ $((100 * $(fast trouble))) -gt $((120 * $(fast peace))) ] || break
done
between $((100 * $(fast trouble) / $(fast peace))) 0 120 "a submission takes at most 1.2 times as long" ||
  diag "$(fast peace) us; $(fast trouble) us without the learner and one of the nodes"
model_has_all() {
  [ "$(store "select count(*) from observation where app = 'grow' and outcome = 'completed'")" = \
    "$("$foretell" predict --json --state="$FT_STATE" --app=grow 2>/dev/null | sed -nE 's/.*"runs": ?([0-9]+).*/\1/p')" ]
}
wait_until 30 model_has_all
ok $? "the model has every completed run once"

# ---- slurmdbd has the same attempts

# in_slurmdbd: prints the job of each attempt that slurmdbd has
in_slurmdbd() {
  sacct -D -X -n -P -a -S 2000-01-01 -o JobIDRaw,State | sed -n '/PENDING/!s/|.*//p' | sort -n
}
slurmdbd_equals_store() {
  [ "$(in_slurmdbd)" = "$(stored)" ]
}
wait_until 60 slurmdbd_equals_store
ok $? "slurmdbd has the same attempts" || diff <(in_slurmdbd) <(stored) | diag
play_end
