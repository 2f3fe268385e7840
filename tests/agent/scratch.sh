# SPDX-License-Identifier: GPL-3.0-or-later
# A foretelld and a foretell-learnd in a scratch directory, without a Slurm; sourced after tap.sh.
# Functions: config [LINE]..., start, stop [SIGNAL], start_learner, stop_learner [SIGNAL],
# start_agent, stop_agent [SIGNAL], reload, log_has PATTERN, model APP [UID], spooled COUNT,
# all_joined, has_measured JOB MIB, array_task JOB ARRAY TASK [UID], rows STORE SQL, stored_jobs STORE, learner_metrics SOCKET.
# Variables: agent, learner, announce and foretell (programs), state, socket, scratch, pid and learner_pid (of those
# started last).
. "$FT_TOP_SRCDIR/tests/slurm/wait.sh"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ft-XXXXXX") || exit 1
chmod 0755 "$scratch"
export FT_SCONTROL=$scratch/slurm
mkdir "$FT_SCONTROL"
state=$scratch/state
socket=$scratch/run/agent.sock
learner_socket=$scratch/run/learner.sock
pids=

finish() {
  local pid
  for pid in $pids; do
    kill -KILL "$pid" 2>/dev/null
  done
  [ -n "${FT_KEEP_SCRATCH-}" ] || rm -rf "$scratch"
}
trap finish EXIT

# Programs where every user can execute them, also if the build is below a directory that others cannot enter, as
# /root. foretelld and foretell start the courier that is beside them; scontrol is the fake one.
programs=$scratch/programs
mkdir -m 0755 "$programs"
install -m 0755 "$FT_TOP_BUILDDIR"/{foretelld,foretell-learnd,foretell-courier,predictor/cli/foretell,tests/agent/announce} \
  "$FT_TOP_SRCDIR/tests/agent/scontrol" "$programs" || exit 1
agent=$programs/foretelld
learner=$programs/foretell-learnd
announce=$programs/announce
foretell=$programs/foretell

config() {
  printf '%s\n' "state_dir = \"$state\"" "socket = \"$socket\"" \
    "learner_socket = \"$learner_socket\"" "slurm_bin = \"$programs\"" "$@" >"$scratch/foretell.conf"
}

listens() {
  [ "$(grep -c ": listening at $1," "$scratch/log")" -gt "$2" ]
}

# start_daemon PROGRAM SOCKET: a killed daemon leaves its socket, so readiness is a new line in the log
start_daemon() {
  local before
  before=$(grep -c ": listening at $2," "$scratch/log" 2>/dev/null)
  "$1" -c "$scratch/foretell.conf" -v 2>>"$scratch/log" &
  started=$!
  pids="$pids $started"
  wait_until 60 listens "$2" "${before:-0}"
}

start_agent() {
  start_daemon "$agent" "$socket"
  pid=$started
}

start_learner() {
  start_daemon "$learner" "$learner_socket"
  learner_pid=$started
}

start() {
  start_learner
  start_agent
}

stop_agent() {
  kill "-${1:-TERM}" "$pid"
  wait_child 120 "$pid"
}

stop_learner() {
  kill "-${1:-TERM}" "$learner_pid"
  wait_child 120 "$learner_pid"
}

stop() {
  stop_agent "$@"
  stop_learner "$@"
}

# has_measured JOB MIB: the job runs, and the agent has measured MIB or more of it
has_measured() {
  FORETELL_CONFIG=$scratch/foretell.conf "$foretell" job --json "$1" 2>/dev/null | python3 -c 'import json, sys
job = json.load(sys.stdin)
sys.exit(not job["running"] or (job["used"]["peak_bytes"] or 0) < float(sys.argv[1]) * 2**20)' "$2" 2>/dev/null
}

# array_task JOB ARRAY TASK [UID]: from now on Slurm has JOB as this task of an array
array_task() {
  echo "JobId=$1 ArrayJobId=$2 ArrayTaskId=$3 JobName=test UserId=x(${4:-$(id -u)}) GroupId=root(0)" \
    "JobState=RUNNING Restarts=0 TimeLimit=01:00:00 SubmitTime=2026-01-02T03:04:05 Partition=main" >"$FT_SCONTROL/job_$1"
}

# reload: both read the configuration again, and the learner the store
reload() {
  kill -HUP "$pid" "$learner_pid"
}

log_has() {
  grep -Eq -- "$1" "$scratch/log"
}

model() {
  find "$state/models/${2:-$(id -u)}" -name "$1-*.model" 2>/dev/null | grep .
}

# rows STORE SQL: prints the rows that a query of the store STORE gives, a line each, with blanks between the columns;
# fails without the store
rows() {
  python3 - "$@" <<'END'
import sqlite3, sys
try:
    for row in sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True, timeout=20).execute(sys.argv[2]):
        print(*row)
except sqlite3.Error as error:
    sys.exit("%s: %s" % (sys.argv[1], error))
END
}

# stored_jobs STORE: prints the jobs in the store, in one line
stored_jobs() {
  rows "$1" "SELECT job_id FROM observation ORDER BY job_id" | paste -s -d ' '
}

# learner_metrics SOCKET: prints the learner's metrics, from its Unix socket
learner_metrics() {
  python3 - "$1" <<'END'
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.settimeout(60)
client.connect(sys.argv[1])
client.sendall(b"GET /metrics HTTP/1.1\r\nHost: learner\r\nConnection: close\r\n\r\n")
print(client.makefile("rb").read().decode())
END
}

spooled() {
  [ "$(find "$state/spool" -name '*.obs' 2>/dev/null | wc -l)" = "$1" ]
}

# all_joined: every run that the learner has accepted has been joined with Slurm's record, and stored
all_joined() {
  [ "$(rows "$state/store.db" "SELECT count(*) FROM waiting WHERE job_id NOT IN (SELECT job_id FROM observation)")" = 0 ]
}

fixtures=$FT_TOP_SRCDIR/tests/fixtures
cp "$fixtures/scontrol/rss-config" "$FT_SCONTROL/config"
cp "$fixtures/scontrol/rss-partition" "$FT_SCONTROL/partition"
cp "$fixtures/scontrol/rss-node" "$FT_SCONTROL/node"
