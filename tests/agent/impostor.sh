#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A user of the learner's host who takes its port while it is stopped: agents accept no reply but a learner's.
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
need munged munge python3
. "$FT_TOP_SRCDIR/tests/slurm/cluster.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
. "$FT_TOP_SRCDIR/tests/agent/hosts.sh"

cluster_port && port=$cluster_found_port || exit 1
cluster_start_munge
host learner "listen = \"127.0.0.1:$port\""
host one "learner = \"127.0.0.1:$port\""
open_daemon "$agent" one
one_pid=$pid

# a fake learner that is trusted shows that the others are rejected for their signatures
fake_learner "$port" right
like "$(doctor one)" '^warn version: foretell [0-9.]+ is newer than 0.0.9 of host 127.0.0.1' "a signed reply is accepted"
close_daemon "$fake_pid"
# rejects SIGNATURE PATTERN WHAT
rejects() {
  fake_learner "$port" "$1"
  like "$(doctor one)" "^FAIL learner: .*: $2; runs wait" "$3"
  close_daemon "$fake_pid"
}
rejects reply 'reply of host 127.0.0.1 rejected: its credential belongs to another reply' \
  "a signature of another reply is rejected"
rejects request 'reply of host 127.0.0.1 rejected: its credential belongs to another reply' \
  "so is a signature of the reply to another request"
if [ "$(id -u)" = 0 ]; then
  rejects 65534 'reply of host 127.0.0.1 rejected: user 65534 has signed it; learner_users may name the user.*' \
    "so is that of a user who is no learner"
  host one "learner = \"127.0.0.1:$port\"" 'learner_users = "no such user, 65534"'
  fake_learner "$port" 65534
  like "$(doctor one)" '^warn version: ' "unless learner_users names the user"
  close_daemon "$fake_pid"
  host one "learner = \"127.0.0.1:$port\"" 'learner_users = "no such user"'
  rejects 65534 '.*; there is no user "no such user" on this host' "which may name a user whom this host does not know"
else
  skip "so is that of a user who is no learner" "needs root"
  skip "unless learner_users names the user" "needs root"
  skip "which may name a user whom this host does not know" "needs root"
fi
rejects none 'reply of host 127.0.0.1 rejected: it is not signed, .*: upgrade the learner first' \
  "so is a reply without a signature, as of an older learner"

# a run, while the impostor accepts all
host one "learner = \"127.0.0.1:$port\""
fake_learner "$port" none
close_daemon "$one_pid"
"$FT_TOP_BUILDDIR/tests/agent/spool_runs" "$scratch/one" 1 1
open_daemon "$agent" one
one_pid=$pid
wait_until 60 logs one 'reply of host 127.0.0.1 rejected: it is not signed, .*; observations wait in the spool'
ok $? "an impostor that accepts a run is not believed"
spools one 1
ok $? "the run stays in the spool"
close_daemon "$fake_pid"
open_daemon "$learner" learner
learner_pid=$pid
wait_until 60 has_stored learner 1 && wait_until 20 spools one 0
ok $? "the learner gets it when it is back"
close_daemon "$learner_pid"

# with the socket unit the port stays bound while the learner is stopped
cat >"$scratch/pass.py" <<'END'
import os, signal, socket, sys, time
port, go, program, *arguments = sys.argv[1:]
server = socket.create_server(("127.0.0.1", int(port)), backlog=64)
for i in range(2):
    while not os.path.exists(go):
        time.sleep(0.05)
    os.unlink(go)
    child = os.fork()
    if child == 0:
        if server.fileno() == 3:
            os.set_inheritable(3, True)
        else:
            os.dup2(server.fileno(), 3)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
        os.execv(program, [program, *arguments])
    os.waitpid(child, 0)
END
# starts_again COUNT: whether the learner has listened on TCP COUNT times
starts_again() {
  [ "$(count_lines learner 'listening at TCP')" = "$1" ]
}
stop_passed() {
  kill "$(pgrep -P "$passer")"
}
before=$(count_lines learner 'listening at TCP')
touch "$scratch/go"
python3 "$scratch/pass.py" "$port" "$scratch/go" "$learner" -c "$scratch/learner.conf" -v 2>>"$scratch/learner.log" &
passer=$!
pids="$pids $passer"
wait_until 60 starts_again $((before + 1))
ok $? "the learner takes a socket that systemd passes"
job one 2
wait_until 60 has_stored learner 1 2
ok $? "and serves agents there"
stop_passed
wait_until 60 logs learner 'stopping'
is "$(python3 -c 'import socket, sys
try:
    socket.create_server(("127.0.0.1", int(sys.argv[1])))
    print("taken")
except OSError:
    print("bound")' "$port")" bound "the port of a stopped learner cannot be taken"
: >"$scratch/empty"
send "$port" /runs "$scratch/empty" "$(credential /runs "$scratch/empty")" >"$scratch/sent" &
sender=$!
# is_connected: a connection to the port is established (proc(5): 01); nobody has accepted it yet
is_connected() {
  grep -Eq "^ +[0-9]+: 0100007F:$(printf %04X "$port") [0-9A-F]+:[0-9A-F]+ 01 " /proc/net/tcp
}
wait_until 60 is_connected
touch "$scratch/go"
wait_until 60 starts_again $((before + 2))
wait_child 60 "$sender"
is "$(cat "$scratch/sent")" "200 " "a request that came meanwhile is answered when it is back"
close_daemon "$one_pid"
stop_passed
wait_child 60 "$passer"
host learner "listen = \"127.0.0.1:1\""
LISTEN_FDS=1 python3 -c 'import os, sys
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[1], sys.argv[1:])' "$learner" -c "$scratch/learner.conf" 3</dev/null 2>"$scratch/log/wrong"
is $? 3 "a learner whose socket is another does not start"
like "$(cat "$scratch/log/wrong")" 'listen: none of the 1 sockets that systemd passes is at 127.0.0.1, port 1; compare ListenStream' \
  "and says why"
tap_done
