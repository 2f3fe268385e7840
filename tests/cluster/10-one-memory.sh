#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A cluster of four hosts: ctl (slurmctld and the learner), login, and the nodes n1 and n2. What one node has run
# predicts jobs of the other; nothing is lost or doubled when the network is cut, the learner is killed, a node
# loses its power, or a disk is full. Every job of the test is in a ledger, which the store has to equal.
. "$(dirname "$0")/../slurm/play.sh"
. "$FT_TOP_SRCDIR/tests/cluster/hosts.sh"
play_missing=$(hosts_missing) && tap_skip_all "$play_missing is not installed"
unshare --net --uts --pid --mount --fork true 2>/dev/null || {
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
  "$FT_ROOT/libexec/foretell/"foretell-{courier,helper,network} "$hog" "$installed" || exit 1
hog=$installed/hog
FT_STATE=$scratch/hosts/ctl/state
ledger=$scratch/ledger
: >"$ledger"

# ---- the cluster's configuration, the same on all hosts

(umask 077 && dd if=/dev/urandom of="$scratch/munge/key" bs=128 count=1 2>/dev/null) || exit 1
cat >"$SLURM_CONF" <<END
ClusterName=foretell
SlurmctldHost=ctl(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=$scratch/ctld
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmdSpoolDir=$scratch/here/spool
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
AccountingStorageType=accounting_storage/none
KillWait=2
CompleteWait=0
InactiveLimit=0
SlurmdTimeout=20
MessageTimeout=20
MinJobAge=3600
NodeName=n1 NodeAddr=10.77.0.11 CPUs=8 RealMemory=8000
NodeName=n2 NodeAddr=10.77.0.12 CPUs=8 RealMemory=8000
PartitionName=main Nodes=n1,n2 Default=YES DefMemPerCPU=100 MaxTime=60
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

# ---- daemons

start_munged() { # start_munged HOST
  mkdir -p "$scratch/hosts/$1/munge"
  host "$1" mkdir -p /run/munge
  host_spawn "$1" munged munged --foreground --force --key-file="$scratch/munge/key" \
    --log-file="$scratch/here/log/munged.log" --seed-file="$scratch/here/munge/seed"
  wait_until 20 host "$1" munge --no-input
}
start_learner() {
  host_spawn ctl foretell-learnd "$installed/foretell-learnd" --config="$scratch/etc/foretell.conf"
  wait_until 30 learner_listens
}
learner_listens() {
  host ctl bash -c "exec 3<>/dev/tcp/10.77.0.1/$port"
}
start_agent() { # start_agent NODE
  host_spawn "$1" foretelld "$installed/foretelld" --config="$scratch/etc/node.conf"
  wait_until 30 test -S "$scratch/hosts/$1/run/agent.sock"
}
start_node() { # start_node NODE NUMBER; the disk of n1 is small
  rm -f "$scratch/hosts/$1/run/agent.sock"
  host_start "$1" "$2" || return 1
  [ "$1" != n1 ] || host n1 mount -t tmpfs -o size=4m,mode=0755 tmpfs "$scratch/here/state" || return 1
  start_munged "$1" && start_agent "$1" || return 1
  host_spawn "$1" slurmd "$(command -v slurmd)" -D -f "$SLURM_CONF" -N "$1" -L "$scratch/log/slurmd-$1.log"
}
node_idle() {
  [ "$(sinfo -h -N -o %t -n "$1")" = idle ]
}
start_cluster() {
  hosts_open && host_start ctl 1 && start_munged ctl || return 1
  host_spawn ctl slurmctld slurmctld -D -f "$SLURM_CONF" -L "$scratch/log/slurmctld.log"
  start_learner && host_start login 2 && start_munged login &&
    host login mount --bind -o ro "$FT_STATE" "$scratch/here/state" &&
    start_node n1 11 && start_node n2 12 && wait_until 60 node_idle n1 && wait_until 60 node_idle n2 &&
    wait_until 30 test -s "$FT_STATE/site"
}
# users' commands run on the login host
for command in sbatch srun scontrol squeue sinfo scancel; do
  eval "$command() { host login $command \"\$@\"; }"
done

# ---- the ledger: lines "JOB OUTCOME"

# enter JOB...: submitted jobs that have to be in the store
enter() {
  printf '%s\n' "$@" >>"$ledger"
}
# stored: prints the job of each run in the store; a run is one line, whatever number of nodes it had
stored() {
  store 'select distinct job_id, restart_count from observation order by job_id' | cut -d '|' -f 1
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

# ---- a job of both nodes, an array, a heterogeneous job

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
enter_all "$pair" "a job of both nodes completes"
submit sbatch --parsable --output=/dev/null --no-requeue --array=1-4 --mem=500M --predict-app=tasks \
  --wrap "$hog --mib 50 --seconds 0.3"
enter_all "$id" "an array completes"
submit sbatch --parsable --output=/dev/null --no-requeue --mem=300M --predict-app=het : --mem=200M \
  --wrap "srun --het-group=0,1 $hog --mib 50 --seconds 1"
enter_all "$id" "a heterogeneous job completes"
check_ledger "both nodes at once"
pair_nodes() {
  [ "$(store "select count(distinct node) from observation where job_id = $pair")" = 2 ]
}
wait_until 60 pair_nodes
ok $? "each node of a job has delivered its part"
like "$("$foretell" job "$pair" --state="$FT_STATE" 2>&1)" 'nodes: +2; peaks from [67][0-9](\.[0-9])? MiB to 1[23][0-9](\.[0-9])? MiB, in all' \
  "foretell job shows the job of two nodes as one run"

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
journalled() {
  host n2 pgrep -x hog && [ -n "$(find "$scratch/hosts/n2/state/live" -type f -size +0)" ]
}
wait_until 30 journalled
host_stop n2
scontrol update nodename=n2 state=down reason=power
is "$(job_wait "$lost" 60)" NODE_FAIL "a node without power ends its job"
start_node n2 12
scontrol update nodename=n2 state=resume
wait_until 60 node_idle n2
check_ledger "a node without power"
is "$(observed "$lost" "outcome != 'completed'")" 1 "its run does not count as completed"

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

# ---- the time of a submission, with and without a learner

# held COUNT: prints the mean time in milliseconds of COUNT submissions that are predicted
held() {
  local begun=${EPOCHREALTIME/./} n
  for n in $(seq "$1"); do
    sbatch --hold --output=/dev/null --predict-mem --predict-app=grow --wrap "$hog --mib 60" >/dev/null 2>&1
  done
  echo "$(((${EPOCHREALTIME/./} - begun) / 1000 / $1))"
}
peace=$(held 10)
host_kill ctl foretell-learnd KILL
host_cut n1
diag "a submission takes $peace ms; $(held 10) ms without the learner and one of the nodes"
host_join n1
start_learner
model_has_all() {
  [ "$(store "select count(*) from observation where app = 'grow' and outcome = 'completed'")" = \
    "$("$foretell" predict --json --state="$FT_STATE" --app=grow 2>/dev/null | sed -nE 's/.*"runs": ?([0-9]+).*/\1/p')" ]
}
wait_until 30 model_has_all
ok $? "the model has every completed run once"
play_end
