#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell job on the learner's host shows the jobs that run on other nodes.
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
need munged munge python3
. "$FT_TOP_SRCDIR/tests/slurm/cluster.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
mkdir "$scratch"/{munge,run,log}
trap 'cluster_kill munged; rm -rf $cluster_ports; finish' EXIT

# host NAME [LINE]...: writes the configuration of NAME
host() {
  local name=$1
  shift
  printf '%s\n' "state_dir = \"$scratch/$name\"" "socket = \"$scratch/run/$name.sock\"" \
    "learner_socket = \"$scratch/run/$name-learner.sock\"" "slurm_bin = \"$programs\"" \
    'sample_hz = 20' "munge_socket = \"$scratch/munge/socket\"" "agent_users = \"$(id -u)\"" "$@" >"$scratch/$name.conf"
}
opened() {
  [ "$(grep -Ec ': listening at .*, state in' "$scratch/$1.log")" -gt "$2" ]
}
# open_daemon PROGRAM NAME: sets $pid
open_daemon() {
  local before
  before=$(grep -Ec ': listening at .*, state in' "$scratch/$2.log" 2>/dev/null)
  "$1" -c "$scratch/$2.conf" -v 2>>"$scratch/$2.log" &
  pid=$!
  pids="$pids $pid"
  wait_until 60 opened "$2" "${before:-0}"
}
close_daemon() {
  kill -TERM "$1"
  wait_child 120 "$1"
}

# begin_job HOST KEY=VALUE...: a job that runs until this script ends
begin_job() {
  "$announce" "$scratch/run/$1.sock" app=steps "${@:2}" -- tail --pid=$$ -f /dev/null &
  pids="$pids $!"
  disown
}

# show JOB [COMMAND...]: foretell job on the learner's host, by COMMAND
show() {
  "${@:2}" "$foretell" job --state="$scratch/learner" "$1" 2>&1
}
# shows JOB PATTERN [COMMAND...]
shows() {
  show "$1" "${@:3}" | grep -Eq -- "$2"
}
# value JOB EXPRESSION: prints an expression of the JSON object
value() {
  "$foretell" job --state="$scratch/learner" --json "$1" 2>/dev/null |
    python3 -c 'import json, sys
job = json.load(sys.stdin)
print(eval(sys.argv[1]))' "$2" 2>/dev/null
}
value_is() {
  [ "$(value "$1" "$2")" = "$3" ]
}

cluster_port && port=$cluster_found_port || exit 1
cluster_start_munge
ok $? "a private munged runs"
host learner "listen = \"127.0.0.1:$port\""
host one "learner = \"127.0.0.1:$port\""
host two "learner = \"127.0.0.1:$port\""
open_daemon "$learner" learner
learner_pid=$pid
open_daemon "$agent" one
one_pid=$pid
open_daemon "$agent" two
two_pid=$pid

begin_job one job=1 node=n1
begin_job two job=2 node=n2
begin_job one job=3 node=n1
begin_job two job=3 node=n2
array_task 5 4 1
begin_job two job=5 array=4 task=1 node=n2
begin_job two job=6 uid=65534 node=n2
wait_until 60 shows 1 '^job 1 of steps.*, on n1$'
ok $? "a job that runs on the first node is shown at the learner"
wait_until 60 shows 2 '^job 2 of steps.*, on n2$'
ok $? "so is one of the second node"
wait_until 60 value_is 3 '[n["node"] for n in job["used"]["nodes"]], job["running"], job["runs"]' "(['n1', 'n2'], 1, 1)"
ok $? "a job that runs on both is one run with two nodes"
wait_until 60 value_is 4 'job["job"], job["running"]' "('4_1', 1)"
ok $? "a task of an array is found by the array's ID"
like "$(show 99)" '^foretell job: 99: no runs of this job$' "a job that does not run is not found"

# ---- on a node, whose runs are stored at the learner
on_node() {
  FORETELL_CONFIG=$scratch/one.conf "$foretell" "$@" 2>&1
}
like "$(on_node job 1)" '^job 1 of steps.*, on n1$' "a node without a store shows a job that it runs"
is "$(on_node job 99)" "foretell job: 99: not running on this node; no runs are stored on this host; foretell-learnd has them on 127.0.0.1:$port" \
  "about another job it says where the runs are"
for command in "report" "forget old" "rebuild" "export" "history"; do
  like "$(on_node $command)" "foretell-learnd has them on 127.0.0.1:$port" "so does foretell $command"
done
[ ! -e "$scratch/one/store.db" ]
ok $? "none of them makes a store there"

# an agent on the learner's host is asked by the command and by the learner
host learner "listen = \"127.0.0.1:$port\"" "learner = \"127.0.0.1:$port\""
sed "s|^state_dir.*|state_dir = \"$scratch/third\"|" "$scratch/learner.conf" >"$scratch/third.conf"
open_daemon "$agent" third
third_pid=$pid
begin_job learner job=7 node=n3
wait_until 60 value_is 7 'job["running"], job["runs"], len(job["used"]["nodes"])' "(1, 1, 1)"
ok $? "a job that the learner's own host runs is shown once"

# ---- other users

if [ "$(id -u)" = 0 ]; then
  nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
  }
  chmod o+x "$scratch" "$scratch/learner"
  wait_until 60 shows 6 '^job 6 of steps.*, on n2$'
  ok $? "root sees another user's job"
  wait_until 60 shows 6 '^job 6 of steps.*, on n2$' nobody
  ok $? "the user sees it, too"
  like "$(show 1 nobody)" '^foretell job: 1: no runs of this job$' "and no job of another user"
else
  skip "root sees another user's job" "needs root"
  skip "the user sees it, too" "needs root"
  skip "and no job of another user" "needs root"
fi

# ---- failures

kill -KILL "$learner_pid"
wait_child 60 "$learner_pid" 2>/dev/null
open_daemon "$learner" learner
learner_pid=$pid
wait_until 60 shows 1 '^job 1 of steps.*, on n1$' && wait_until 60 shows 2 '^job 2 of steps.*, on n2$'
ok $? "after a restart of the learner the jobs are shown again"
kill -KILL "$one_pid"
wait_child 60 "$one_pid" 2>/dev/null
open_daemon "$agent" one
one_pid=$pid
wait_until 60 shows 1 '^job 1 of steps.*, on n1$'
ok $? "after a restart of an agent its job is shown again"

kill -STOP "$two_pid"
wait_until 60 shows 1 '^job 1 of steps.*, on n1$'
ok $? "beside an agent that is stopped, another node's job is shown"
wait_until 60 shows 2 '^foretell job: no answer from 1 node, whose running jobs are not shown$'
ok $? "the command says that a node is missing"
kill -CONT "$two_pid"
wait_until 60 shows 2 '^job 2 of steps.*, on n2$'
ok $? "when the agent goes on, its job is shown"
is "$(grep -Ec 'running jobs not answered|request .* of a node' "$scratch"/*.log | grep -vc ':0$')" 0 "nothing failed"

close_daemon "$third_pid"
close_daemon "$one_pid"
close_daemon "$two_pid"
close_daemon "$learner_pid"
tap_done
