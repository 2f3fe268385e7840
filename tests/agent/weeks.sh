#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A node for weeks without a learner: its agent spools FT_WEEKS_RUNS finished runs and a few of its own, its clock is
# a day off, and it loses its power with /run. Then one of its three learners replies. Prints figures;
# tests/bench/faults --fault=weeks runs this with many runs.
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
need munged munge python3
. "$FT_TOP_SRCDIR/tests/slurm/cluster.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
. "$FT_TOP_SRCDIR/tests/slurm/clock.sh"
mkdir "$scratch"/{munge,run,state,learner,metrics}
trap 'rm -rf $cluster_ports; finish' EXIT
spool_runs=$FT_TOP_BUILDDIR/tests/agent/spool_runs
runs=${FT_WEEKS_RUNS:-2000}
patience=$((120 + runs / 100)) # limit in seconds of a delivery of all runs

cluster_port && first=$cluster_found_port && cluster_port && second=$cluster_found_port &&
  cluster_port && third=$cluster_found_port || exit 1
(umask 077 && head -c 128 /dev/urandom >"$scratch/munge/key")
munged --foreground --force --key-file="$scratch/munge/key" --socket="$scratch/munge/socket" \
  --pid-file="$scratch/munge/pid" --log-file="$scratch/munge/log" --seed-file="$scratch/munge/seed" 2>"$scratch/munge/out" &
pids="$pids $!"
disown # finish kills it, which the shell would report
wait_until 60 munge --no-input --socket="$scratch/munge/socket" || exit 1
network="munge_socket = \"$scratch/munge/socket\""
# learner and agent have state directories of their own, as on two hosts
config "$network" "listen = \"127.0.0.1:$third\"" "agent_users = \"$(id -u)\""
sed "s|^state_dir.*|state_dir = \"$scratch/learner\"|" "$scratch/foretell.conf" >"$scratch/learner.conf"
config "$network" "learner = \"127.0.0.1:$first, 127.0.0.1:$second, 127.0.0.1:$third\"" \
  "metrics_file = \"$scratch/metrics/foretell.prom\""

set_clock "$scratch/clock" 0
agent_begins() {
  # AddressSanitizer wants to be the first library
  ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-} FT_FAULT_CLOCK=$scratch/clock \
    LD_PRELOAD=$fault_clock start_agent
}
learner_begins() {
  local before
  before=$(grep -c 'listening at TCP' "$scratch/log")
  "$learner" -c "$scratch/learner.conf" -v 2>>"$scratch/log" &
  learner_pid=$!
  pids="$pids $learner_pid"
  wait_until 60 learner_listens "$before"
}
learner_listens() {
  [ "$(grep -c 'listening at TCP' "$scratch/log")" -gt "$1" ]
}
# private: prints the agent's memory that no other process shares, in KiB
private() {
  awk '/^Private/ { kib += $2 } END { print kib + 0 }' "/proc/$pid/smaps_rollup"
}
# counted: the agent's metrics have the spool's runs
counted() {
  [ "$(sed -n 's/^foretell_agent_spool_observations //p' "$scratch/metrics/foretell.prom")" -ge "$runs" ]
}
# stored SQL: queries the learner's store
stored() {
  rows "$scratch/learner/store.db" "$1" | paste -s -d ' '
}
small() { # small KIB NAME
  if grep -q __asan_init "$agent"; then
    skip "$2" "built with sanitizers"
  else
    [ "$1" -le 4096 ]
    ok $? "$2: $1 KiB of its own"
  fi
}

# ---- without a learner

agent_begins
ok $? "the agent starts without a learner"
own=0
for seconds in 0 86400 -86400 0; do
  set_clock "$scratch/clock" $seconds
  own=$((own + 1))
  echo "JobId=$own JobName=test UserId=x(0) GroupId=x(0) JobState=COMPLETED Restarts=0 SubmitTime=2026-01-02T03:04:05" \
    >"$FT_SCONTROL/job_$own"
  "$announce" "$socket" job=$own app=own step=batch -- true
done
wait_until 60 spooled $own
ok $? "its own runs, at four times of its clock, are in the spool at once"
stop_agent KILL 2>/dev/null # the power fails, /run is lost
rm -rf "$scratch/run"/agent.sock "$scratch/metrics"/*
"$spool_runs" "$state" 1000 "$runs"
ok $? "$runs runs are in the spool"
agent_begins
# the files of all runs are recent, and each is synced
wait_until $patience log_has '127.0.0.1: .*; observations wait in the spool'
ok $? "the agent starts again, and its log says that observations wait"
wait_until $patience counted
ok $? "the metrics say how many"
before=$(private)
small "$before" "the idle agent with a full spool"
bytes=$(du -sk "$state/spool" | cut -f 1)

# ---- the third learner returns

learner_begins
ok $? "the third of three learners starts"
peak=0
begun=${EPOCHREALTIME/./}
drained() {
  local now
  now=$(private)
  [ "$now" -le $peak ] || peak=$now
  spooled 0 && [ -z "$(find "$state/live" -type f -size +0)" ] && [ "$(stored 'select count(*) from waiting')" = 0 ]
}
wait_until $patience drained
ok $? "nothing waits any more" || find "$state"/{live,spool} -type f | head | diag
seconds=$(((${EPOCHREALTIME/./} - begun) / 1000))
is "$(stored 'select count(*), count(distinct job_id) from observation')" "$((runs + own)) $((runs + own))" \
  "every run is stored once"
small "$peak" "the agent that delivers them"
wait_until 20 log_has 'all spooled observations are stored'
ok $? "the log says that all are stored"
requests=$(python3 - "$learner_socket" <<'END'
import http.client, re, socket, sys
connection = http.client.HTTPConnection("learner", timeout=60)
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(sys.argv[1])
connection.request("GET", "/metrics")
print(re.search(r'path="/runs",status="200"} (\d+)', connection.getresponse().read().decode()).group(1))
END
)
[ "$requests" -le $((runs / 64 + 20)) ]
ok $? "they came in batches: $requests requests"
wait_until 60 eval '[ "$(private)" -le 4096 ]'
after=$(private)
small "$after" "the idle agent afterwards"
diag "$runs runs: $bytes KiB of disk; delivered in $seconds ms by $requests requests;" \
  "memory $before KiB before, at most $peak KiB meanwhile, $after KiB afterwards"
stop
tap_done
