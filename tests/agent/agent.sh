#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A real foretelld in a scratch directory, without a Slurm: announced process trees
# become observations and model files.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

partition() {
  find "$state/partitions" -name "$1-*" | grep .
}

# stored JOB: its observations in the store, as "outcome peak_is_bound"
stored() {
  column "outcome, peak_is_bound" "$1"
}

is_stored() {
  [ -n "$(stored "$1")" ]
}

# column COLUMNS JOB: these columns of the job's observations
column() {
  rows "$state/store.db" "SELECT $1 FROM observation WHERE job_id = $2"
}

# ---- a job from announcement to model

config
start
ok $? "the agent listens"
[ "$(stat -c %a "$socket")" = 600 ]
ok $? "only its own user and root may use the socket"
wait_until 10 partition main
ok $? "the partitions come from Slurm"
wait_until 10 grep -q 22.05.8 "$state/site"
ok $? "the site file comes from Slurm"

"$announce" "$socket" job=7 app=hog feature=batch:32 -- \
  python3 -c 'import time; a = bytearray(96 << 20); time.sleep(0.4)'
ok $? "a step can be announced"
wait_until 60 model hog
ok $? "its app has a model file"
like "$(cat "$scratch/log")" 'job 7: hog, completed, 1[0-9]{2}(\.[0-9])? MiB' "the peak is the process tree's"
"$announce" "$socket" job=8 app=hog status=256 -- true
wait_until 60 log_has 'job 8: hog, failed'
ok $? "the log reports a failed run"
"$announce" "$socket" job=6 app=brief -- python3 -S -c 'import os, subprocess, sys, time
a = bytearray(200 << 20)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
subprocess.run([sys.executable, "-S", "-c", "b = bytes(1) * (150 << 20)"])
subprocess.run(["true"])
time.sleep(0.2)' "$scratch/brief" &
client=$!
wait_until 60 has_measured 6 200
touch "$scratch/brief"
wait_child 60 "$client"
wait_until 60 log_has 'job 6: brief, completed'
if "$FT_TOP_SRCDIR/tests/agent/taskstats-open" && ! log_has "exits: not measured here: built with headers"; then
  log_has 'exits: not measured here'
  is $? 1 "where the kernel gives records of ended processes, the agent has them"
  log_has 'job 6: brief, completed, 3[5-7][0-9](\.[0-9])? MiB'
  ok $? "a child of 50 ms is in the peak with its parent"
else
  skip "a child of 50 ms is in the peak with its parent" "taskstats is closed here"
  log_has 'exits: not measured here'
  ok $? "without taskstats a short-lived process may be missed, which the log states"
fi

# setsid and an ended parent leave a daemon only Slurm's variable as a sign of its job. No process of another test on
# this machine may have its value. A process with another job's variable is not measured.
marked=$((100000000 + $$))
SLURM_JOB_ID=$marked "$announce" "$socket" job=$marked app=daemon -- python3 -S -c 'import os, sys, time
def wait():
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.05)
if not os.fork():
    os.setsid()
    if not os.fork():
        held = bytes(1) * (120 << 20)
        wait()
    os._exit(0)
wait()' "$scratch/measured" &
client=$!
wait_until 60 has_measured $marked 120
touch "$scratch/measured"
wait_child 60 "$client"
wait_until 60 log_has "job $marked: daemon, completed"
log_has "job $marked: daemon, completed, 1[2-4][0-9](\.[0-9])? MiB"
ok $? "a daemon made by a double fork is in its job's peak" || grep "job $marked" "$scratch/log" | diag

# ---- samplers that do not work here, and the sampling rate

missing=$(sed -n 's/^foretelld: \([a-z]*\): not measured here: .*/\1/p' "$scratch/log")
is "$(printf '%s' "$missing" | sort | uniq -d)" "" "each sampler that does not work is named once"
"$foretell" doctor --config "$scratch/foretell.conf" --json \
  >"$scratch/doctor" 2>/dev/null
sed -n 's/^foretelld: \([a-z]*: \)not measured here: /\1/p' "$scratch/log" | sort >"$scratch/log-checks"
python3 - "$scratch/doctor" >"$scratch/doctor-checks" <<'END'
import json, sys
for check in json.load(open(sys.argv[1]))["checks"]:
    if check["name"] in ("rss", "exits", "pss", "cgroup", "io", "papi", "perf", "nvml", "rapl") \
            and check["status"] != "ok":
        print(check["name"] + ": " + check["text"])
END
is "$(sort "$scratch/doctor-checks")" "$(cat "$scratch/log-checks")" "foretell doctor reports the same samplers"
config 'sample_hz = 40'
stop
start
# A busy machine lowers the rate; one undisturbed run of many shows it, and a wrong rate is wrong in each.
for job in {410..439}; do
  "$announce" "$socket" job=$job app=often -- sleep 1
  wait_until 60 log_has "job $job: often, completed"
  rate=$(awk -v job="job $job:" 'index($0, job) { for (i = 3; i <= NF; i++) if ($i == "samples") print int($(i - 1) / $(i - 3)) }' "$scratch/log")
  test "${rate:-0}" -ge 20 && break
done
test "${rate:-0}" -ge 20 && test "$rate" -le 60
ok $? "sample_hz = 40 is 40 samples a second ($rate)"

# ---- wrong options and configurations

while IFS='|' read -r words named; do
  # shellcheck disable=SC2086
  is "$("$agent" $words 2>&1; echo $?)" \
    "foretelld: $named: unknown option, or missing or unexpected argument; see foretelld --help
2" "$words is rejected by name"
done <<'END'
-qd|-q
--quick|--quick
-d -c|-c
--debug=3|--debug=3
END

"$agent" -c "$scratch/foretell.conf" 2>"$scratch/second"
is $? 3 "a second agent on the same state directory does not start"
like "$(cat "$scratch/second")" "another foretelld uses this state directory" "the second agent reports the reason"
kill -0 "$pid"
ok $? "the first agent keeps running"

config 'sample_hz = 1e9'
reload
wait_until 60 log_has 'foretell.conf: line 5: .*; the old configuration remains in use'
ok $? "a wrong configuration is rejected with its line"
config 'max_runs = 100'
reload
wait_until 60 log_has 'configuration reloaded'
ok $? "a correct configuration is applied"

python3 - "$socket" <<'END'
import socket, sys
for packet in (b"\xff" * 100, b"x" * 60000, b"", b"\x08\x63"):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    s.send(packet)
many = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(600)]
for s in many:
    s.connect(sys.argv[1])
END
wait_until 60 log_has 'dropped [0-9]+ packet'
ok $? "malformed packets are dropped"
"$announce" "$socket" job=9 app=hog -- true
wait_until 60 log_has 'job 9: hog, completed'
ok $? "600 silent connections do not block an announcement"
if [ "$(id -u)" = 0 ]; then
  chmod 0666 "$socket"
  python3 - "$socket" <<'END'
import os, socket, sys
os.setresuid(65534, 65534, 65534)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
try:
    s.send(b"\x08\x01")
    sys.exit(0 if s.recv(1) == b"" else 1)
except OSError:
    sys.exit(0)
END
  ok $? "a user who is neither root nor the agent's is disconnected"
fi

# ---- the agent is stopped and killed while jobs run

"$announce" "$socket" job=20 app=long -- \
  python3 -c 'import os, sys, time
def wait(name):
    while not os.path.exists(sys.argv[1] + name):
        time.sleep(0.05)
a = bytearray(64 << 20)
wait("stopped")
del a
open(sys.argv[1] + "freed", "w").close()
wait("restored")' "$scratch/20." &
client=$!
wait_until 60 has_measured 20 64
stop
is $? 0 "SIGTERM ends the agent"
[ ! -e "$socket" ]
ok $? "the agent removes its socket"
touch "$scratch/20.stopped"
wait_until 60 test -e "$scratch/20.freed"
start
wait_until 60 log_has '1 running job restored from the journal'
ok $? "a run that continues is found again"
touch "$scratch/20.restored"
wait_child 60 "$client"
wait_until 60 log_has 'job 20: long, completed, [67][0-9](\.[0-9])? MiB'
ok $? "its peak includes what was measured before"
wait_until 10 is_stored 20 # the log precedes the store
is "$(stored 20)" "$(stored 7 | cut -d' ' -f1) 1" "its peak is only a lower bound"
[ ! -e "$state/live/20" ]
ok $? "its journal is removed"

"$announce" "$socket" job=$((marked + 1)) app=long events=s
wait_until 60 test -s "$state/live/$((marked + 1))"
echo "JobId=$((marked + 1)) JobName=test UserId=x(0) GroupId=x(0) JobState=TIMEOUT Restarts=0" \
  "SubmitTime=2026-01-02T03:04:05" >"$FT_SCONTROL/job_$((marked + 1))"
stop KILL
start
wait_until 150 log_has "job $((marked + 1)): long, timeout"
ok $? "the outcome of a run that ended without an agent comes from Slurm"

# The disk had the run, but neither its model nor the record of its publication.
"$announce" "$socket" job=22 app=cut -- true
wait_until 60 model cut
stop KILL
rm "$(model cut)"
python3 - "$state/store.db" <<'END' # the agent may have recorded the publication before it was killed
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=20)
db.execute("INSERT OR REPLACE INTO changed (app, uid) SELECT app, uid FROM observation WHERE app = 'cut'")
db.commit()
END
start
wait_until 60 model cut
ok $? "a model lost in a power cut is rebuilt"

# ---- Slurm's record completes the node's

"$announce" "$socket" job=30 app=hog status=9 -- true
wait_until 60 log_has 'job 30: hog, unknown'
ok $? "after SIGKILL alone the outcome is unknown"
echo "JobId=30 JobName=test UserId=x(0) GroupId=x(0) JobState=CANCELLED Restarts=0" \
  "SubmitTime=2026-01-02T03:04:05" >"$FT_SCONTROL/job_30"
wait_until 60 log_has 'job 30: hog, cancelled'
ok $? "the outcome comes from Slurm's record"
is "$(stored 30 | wc -l)" 1 "one run is one observation"
stop

# ---- a store that cannot be written

rm -rf "$state" "$scratch/log"
mkdir -p "$state/store.db"
start
"$announce" "$socket" job=40 app=hog -- true
wait_until 60 log_has 'job 40: hog, completed'
wait_until 60 spooled 1
ok $? "a run that the store does not accept waits in the spool"
rmdir "$state/store.db"
wait_until 60 model hog
ok $? "it is learned once the store is writable"
wait_until 60 spooled 0
ok $? "the spool is then empty"
is "$(stored 40 | wc -l)" 1 "the run is stored once"
stop

# ---- the first run of a node, before the cluster's name is known

rm -rf "$state" "$scratch/log"
start
"$announce" "$socket" job=45 app=first -- true
wait_until 60 model first
is "$(column cluster 45)" foretell "a run is stored only after the cluster's name is known"
stop

# ---- a log without a reader, and closed standard streams
listening() {
  python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])' "$socket"
}
start_learner
mkfifo "$scratch/log-pipe"
head -n 1 "$scratch/log-pipe" >/dev/null &
reader=$!
"$agent" -c "$scratch/foretell.conf" -v 2>"$scratch/log-pipe" &
pid=$!
pids="$pids $pid"
wait_until 60 listening
wait_child 60 "$reader"
kill -HUP "$pid"
"$announce" "$socket" job=41 app=unread -- true
wait_until 60 model unread
ok $? "a log pipe without a reader does not end the agent"
stop_agent
is $? 0 "SIGTERM ends it"
for n in 42 43 44; do
  "$agent" -c "$scratch/foretell.conf" -v <&- >&- 2>&- &
  pid=$!
  pids="$pids $pid"
  wait_until 60 listening
  "$announce" "$socket" job=$n app=closed$n -- true
  wait_until 60 model closed$n
  stop_agent
done
stop_learner
grep -rqa 'foretelld: ' "$state"
is $? 1 "with closed standard streams the log is written to no other file"
is "$(stored 44 | wc -l)" 1 "the agent works with closed standard streams"

# ---- in the background

"$agent" -d -c "$scratch/foretell.conf"
ok $? "-d returns when the agent listens"
[ -S "$socket" ]
ok $? "the socket exists"
kill -TERM "$(python3 - "$socket" <<'END'
import socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
print(struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])
END
)"
wait_until 60 test ! -e "$socket"
ok $? "SIGTERM ends the background agent"
tap_done
