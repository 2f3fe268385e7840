#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The records of a job's nodes, from two agents, are one run of the store and of its model. A node that lies about a
# job's user or nodes stores nothing.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

# record JOB NODES [UID]: Slurm's record of a job that runs on so many nodes, n1, n2...
record() {
  echo "JobId=$1 JobName=test UserId=x(${3:-$(id -u)}) GroupId=x(0) JobState=RUNNING Restarts=0" \
    "SubmitTime=2026-01-02T03:04:05 NodeList=n[1-$2] NumNodes=$2" >"$FT_SCONTROL/job_$1"
}

# value JOB EXPRESSION: prints an expression of "used" in foretell job --json, asked by $as or root
as=
value() {
  $as "$foretell" job --state="$state" --json "$1" 2>/dev/null |
    python3 -c 'import json, sys
used = json.load(sys.stdin)["used"]
print(eval(sys.argv[1]))' "$2" 2>/dev/null
}

has_nodes() {
  [ "$(value "$1" 'len(used["nodes"])')" = "$2" ]
}

# runs APP: prints the number of runs in the published model of APP, and in the store
runs() {
  "$foretell" history --state="$state" --fit --json "$1" 2>/dev/null | python3 -c 'import json, sys
all = json.load(sys.stdin)
print(all["fit"]["completed"] if all["fit"] else 0, len(all["runs"]))'
}

runs_are() {
  [ "$(runs "$1")" = "$2" ]
}

# play SOCKET JOB NODE APP MIB [UID]: a task of this size
play() {
  "$announce" "$1" job="$2" node="$3" app="$4" uid="${6:-$(id -u)}" step=batch -- \
    python3 -c "x = bytearray($5 << 20)"
}

config
start
cp "$scratch/foretell.conf" "$scratch/first.conf"
first=$socket
second=$scratch/run/second.sock
sed -e "s|^state_dir.*|state_dir = \"$scratch/second\"|" -e "s|^socket.*|socket = \"$second\"|" \
  "$scratch/first.conf" >"$scratch/foretell.conf"
start_daemon "$agent" "$second"
second_pid=$started
cp "$scratch/first.conf" "$scratch/foretell.conf"

record 7 2
play "$first" 7 n1 mpi 1
wait_until 60 has_nodes 7 1
is "$(value 7 'used["allocated_nodes"]')" 2 "the number of the job's nodes comes from Slurm"
like "$("$foretell" job --state="$state" 7 2>/dev/null)" \
  'nodes:     2, of which 1 is recorded; the others have not delivered, or were lost' \
  "the missing node is reported"
like "$(cat "$scratch/log")" 'job 7: waits for its other nodes' "models wait for the other node"

kill -KILL "$learner_pid"
wait_child 60 "$learner_pid"
start_learner
play "$second" 7 n2 mpi 60
wait_until 60 has_nodes 7 2
is "$(value 7 '[node["node"] for node in used["nodes"]]')" "['n1', 'n2']" "each node has its record"
is "$(value 7 'used["peak_bytes"] == used["nodes"][1]["peak_memory_bytes"] > used["nodes"][0]["peak_memory_bytes"] > 0')" \
  True "the peak is that of the largest node"
wait_until 60 runs_are mpi "1 1"
is "$(runs mpi)" "1 1" "the model and the store have one run"

record 8 3
play "$first" 8 n1 mpi 1
play "$second" 8 n2 mpi 60
wait_until 60 has_nodes 8 2
is "$(grep -c 'job 8: waits for its other nodes' "$scratch/log")" 2 "two records of three wait"
# as if more than a minute had passed
python3 - "$state/store.db" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=60)
db.execute("UPDATE observation SET put_time = put_time - 120 WHERE job_id = 8")
db.commit()
END
kill -HUP "$learner_pid"
wait_until 60 runs_are mpi "2 2"
is "$(runs mpi)" "2 2" "after a minute the model learns the run without the lost node"

record 9 1
play "$first" 9 n1 mpi 1
wait_until 60 runs_are mpi "3 3"
is "$(runs mpi)" "3 3" "a job on one node does not wait"

if [ "$(id -u)" = 0 ] && setpriv --reuid=1001 --clear-groups true 2>/dev/null; then
  record 10 2 1001
  play "$first" 10 n1 own 1 1001
  play "$second" 10 n2 own 1 1001
  as="setpriv --reuid=1001 --regid=1001 --clear-groups"
  wait_until 60 has_nodes 10 2
  is "$(value 10 '[node["node"] for node in used["nodes"]]')" "['n1', 'n2']" "a user gets each node from the learner"
  as=
else
  skip "a user gets each node from the learner" "it takes root to be another user"
fi

"$foretell" forget --state="$state" --job=7 >/dev/null 2>&1
wait_until 60 runs_are mpi "2 2"
is "$(runs mpi)" "2 2" "forgetting a job removes all its nodes' records"

# ---- a hostile node

# refused COUNT: whether the learner has refused as many runs, by its metrics, or more
refused() {
  [ "$(learner_metrics "$learner_socket" | sed -n 's/^foretell_observations_different_total //p' | tr -d '\r')" -ge "$1" ]
}
record 11 1
record 12 2
play "$second" 11 n2 mpi 1
wait_until 60 refused 1
ok $? "a run of a node that the job does not have is refused"
play "$second" 12 n2 mpi 1 1001
wait_until 60 refused 2
ok $? "so is one of another user"
like "$(cat "$scratch/log")" 'run refused: job 11 of node n2: Slurm has the nodes n\[1-1\]' "the learner's log names the first"
like "$("$foretell" doctor --config="$scratch/foretell.conf" 2>&1)" \
  "^warn runs: foretell-learnd has refused [0-9]+ deliveries of runs whose user, node or job differs" "doctor warns"
record 13 2
play "$second" 13 n2 honest 1
wait_until 60 has_nodes 13 1
is "$(rows "$state/store.db" "SELECT count(*) FROM observation WHERE job_id IN (11, 12)")" 0 \
  "neither is stored, and honest runs of the node are"

# ---- a slurmctld that limits requests; root and SlurmUser have no limit

rate_limit() {
  "$foretell" doctor --config="$scratch/foretell.conf" 2>&1 | grep -c "^warn rate limit: SlurmctldParameters=rl_enable"
}
sed -i 's/^SlurmctldParameters .*/SlurmctldParameters     = enable_configless,rl_enable/' "$FT_SCONTROL/config"
if [ "$(id -u)" = 0 ]; then
  is "$(rate_limit)" 0 "doctor does not warn of a limit that the learner's user has not"
  chown nobody "$learner_socket"
  is "$(rate_limit)" 1 "doctor warns if slurmctld limits the requests of the learner's user"
  chown root "$learner_socket"
else
  skip "doctor warns if slurmctld limits the requests of the learner's user" "not root"
fi

kill -TERM "$second_pid"
wait_child 120 "$second_pid"
stop
tap_done
