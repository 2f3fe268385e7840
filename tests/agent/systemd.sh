#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretelld below a service manager, which this test plays: it holds the socket while the agent is stopped, and is told
# when the agent is ready, alive and stopping.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
config
mkdir "$scratch/run"
cat >"$scratch/manager.py" <<'EOF'
import os, socket, sys
path, notify, config, agent, log = sys.argv[1:]
held = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
held.bind(path)
held.listen(64)
told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
told.bind(notify)
told.settimeout(120)
for start in range(2):
    print("held", flush=True)
    sys.stdin.readline()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
        os.dup2(held.fileno(), 3)
        os.set_inheritable(3, True)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", NOTIFY_SOCKET=notify,
                          WATCHDOG_PID=str(os.getpid()), WATCHDOG_USEC="200000")
        os.execv(agent, [agent, "-c", config, "-v"])
    words = []
    while words.count("WATCHDOG=1") < 3 or "READY=1" not in words:
        words.append(told.recv(256).decode())
    print(pid, words.count("READY=1"), flush=True)
    while words[-1] != "STOPPING=1":
        words.append(told.recv(256).decode())
    print("stopping", os.waitpid(pid, 0)[1], flush=True)
EOF
mkfifo "$scratch/to" "$scratch/from"
python3 "$scratch/manager.py" "$socket" "$scratch/notify" "$scratch/foretell.conf" "$agent" "$scratch/log" \
  <"$scratch/to" >"$scratch/from" &
pids="$pids $!"
exec 7>"$scratch/to" 8<"$scratch/from"
start_learner
# restarts JOB: announces it while no agent runs, then starts one
restarts() {
  read -r line <&8
  is "$line" held "no agent runs"
  "$announce" "$socket" job="$1" app=early -- true >/dev/null
  ok $? "job $1 is announced meanwhile"
  echo >&7
  read -r pid ready <&8
  pids="$pids $pid"
  is "$ready" 1 "the agent reports once that it is ready, and then that it is alive"
  wait_until 60 log_has "job $1: early, completed"
  ok $? "job $1 is known"
  "$announce" "$socket" job="${1}0" app=later -- true >/dev/null
  wait_until 60 log_has "job ${1}0: later, completed"
  ok $? "so is a later one"
  kill "$pid"
  read -r line <&8
  is "$line" "stopping 0" "it reports that it stops"
  [ -S "$socket" ]
  ok $? "the socket stays"
}
restarts 1
restarts 2
stop_learner
tap_done
