#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Connections to the learner's port that prove no sender: they cut off no agent of their host, and cost the learner little.
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
need munged munge python3
. "$FT_TOP_SRCDIR/tests/slurm/cluster.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
. "$FT_TOP_SRCDIR/tests/agent/hosts.sh"

cluster_port && port=$cluster_found_port || exit 1
cluster_start_munge
host learner "listen = \"127.0.0.1:$port\""
host one "learner = \"127.0.0.1:$port\""
ulimit -n 8192 2>/dev/null
open_daemon "$learner" learner
learner_pid=$pid

# ---- requests that are rejected by their headers alone

# headers_of LINE...: sends the headers of a request without its body; prints the reply's status line and body
headers_of() {
  python3 - "$port" "$@" <<'END'
import socket, sys
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20)
client.sendall(("POST /runs HTTP/1.1\r\nHost: l\r\n" + "".join(line + "\r\n" for line in sys.argv[2:]) + "\r\n").encode())
try:
    reply = client.makefile("rb").read().decode()
    print(reply.split("\r\n")[0], reply.split("\r\n\r\n")[-1].strip())
except OSError as error:
    print(error)
END
}
: >"$scratch/empty"
like "$(headers_of 'Content-Length: 1000')" '401 .*host 127.0.0.1 sent no MUNGE credential' \
  "a request without a credential is rejected before its body"
like "$(headers_of 'Content-Length: 1000' 'Authorization: MUNGE MUNGE:AwQFAA==:')" '401 .*credential of host 127.0.0.1 rejected' \
  "so is one with a forged credential"
if [ "$(id -u)" = 0 ]; then
  as_nobody=$(setpriv --reuid=65534 --regid=65534 --clear-groups munge --socket="$munge_socket" --string="$(digest /runs "$scratch/empty")")
  like "$(headers_of 'Content-Length: 1000' "Authorization: MUNGE $as_nobody")" '403 .*user 65534 of host 127.0.0.1 may not send this' \
    "so is one of another user"
else
  skip "so is one of another user" "needs root"
fi
for length in 98305 99999999999 18446744073709551616 99999999999999999999999; do
  like "$(headers_of "Content-Length: $length" "$(credential /runs "$scratch/empty")")" '^HTTP/1.1 4(13|00) ' \
    "so is one with a body of $length bytes"
done
like "$(headers_of 'Transfer-Encoding: chunked' "$(credential /runs "$scratch/empty")")" '411 .*expected a Content-Length' \
  "so is one of unknown length"
like "$(send "$port" /runs "$scratch/empty" "$(credential /runs "$scratch/empty")")" '^200' "others are accepted"

# ---- connections that send nothing, or little

# hold.py PORT KIND ADDRESSES COUNT ENOUGH: keeps COUNT connections of each of ADDRESSES open, and opens them again when
# they are closed, for ten minutes or until one was open for at most ENOUGH seconds; prints the shortest of these times.
# A timer of the learner is late on a busy machine, but not for each connection.
cat >"$scratch/hold.py" <<'END'
import socket, sys, time
port, kind, addresses, count, enough = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
begin = time.monotonic()
shortest = float("inf")

def connect(i):
    client = socket.socket()
    client.bind(("127.0.%d.%d" % (1 + i // 250, 1 + i % 250) if addresses > 1 else "127.0.0.1", 0))
    client.connect(("127.0.0.1", port))
    if kind == "part":
        client.sendall(b"POST /runs HTTP/1.1\r\nAuthoriz")
    client.setblocking(False)
    return client, time.monotonic()

held = [connect(i % addresses) for i in range(addresses * count)]
print("begun", flush=True)
while shortest > enough and time.monotonic() < begin + 600:
    for i, (client, since) in enumerate(held):
        try:
            if kind == "trickle":
                client.send(b"P" if time.monotonic() < since + 1 else b"O")
            if client.recv(100) == b"":
                raise OSError
        except BlockingIOError:
            pass
        except OSError:
            shortest = min(shortest, time.monotonic() - since)
            client.close()
            held[i] = connect(i % addresses)
    time.sleep(0.2)
print("open for", shortest)
END
# hold KIND ADDRESSES COUNT ENOUGH: in the background, sets $holder
hold() {
  rm -f "$scratch/held"
  python3 "$scratch/hold.py" "$port" "$@" >"$scratch/held" &
  holder=$!
  pids="$pids $holder"
  wait_until 60 grep -q begun "$scratch/held"
}
held_time() {
  sed -n 's/^open for //p' "$scratch/held"
}
# is_between VALUE LOW HIGH
is_between() {
  awk -v v="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(v != "" && v >= low && v <= high) }'
}
for kind in silent part trickle; do
  hold $kind 1 8 9
  wait_child 150 "$holder"
  is_between "$(held_time)" 4 9
  ok $? "a connection that is $kind is closed after 5 s ($(held_time))"
done

hold silent 1 200 0
open_daemon "$agent" one
one_pid=$pid
job one 1
wait_until 60 has_stored learner 1
ok $? "200 silent connections of its host do not cut off an agent"
kill -0 "$holder"
ok $? "while they are there"
kill "$holder"
hold part 100 16 0
job one 2
wait_until 60 has_stored learner 1 2
ok $? "nor do those of 100 hosts"
wait_until 20 spools one 0
kill "$holder"
close_daemon "$one_pid"
close_daemon "$learner_pid"
tap_done
