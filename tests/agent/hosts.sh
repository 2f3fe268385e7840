# SPDX-License-Identifier: GPL-3.0-or-later
# Several hosts on this one, with a munged; sourced after cluster.sh and scratch.sh. Functions: host NAME [LINE]...,
# open_daemon PROGRAM NAME, close_daemon PID [SIGNAL], logs NAME PATTERN, job NAME ID, has_stored NAME ID...,
# spools NAME COUNT, doctor NAME [COMMAND]..., send PORT PATH FILE [HEADER]..., credential PATH FILE [OPTION]...,
# fake_learner PORT SIGNATURE. Variables: munge_socket, pid (of the daemon opened last), port.
mkdir "$scratch"/{munge,run,log,tls}
munge_socket=$scratch/munge/socket
trap 'cluster_kill munged; rm -rf $cluster_ports; finish' EXIT

# ---- hosts, each with a state directory, sockets, a configuration and a log of its own

# host NAME [LINE]...: writes the configuration of NAME
host() {
  local name=$1
  shift
  printf '%s\n' "state_dir = \"$scratch/$name\"" "socket = \"$scratch/run/$name.sock\"" \
    "learner_socket = \"$scratch/run/$name-learner.sock\"" "slurm_bin = \"$programs\"" \
    'sample_hz = 20' "munge_socket = \"$munge_socket\"" "agent_users = \"$(id -u)\"" "$@" >"$scratch/$name.conf"
}
count_lines() {
  grep -Ec -- "$2" "$scratch/$1.log" 2>/dev/null
}
is_open() {
  [ "$(count_lines "$1" ': listening at .*, state in')" -gt "$2" ]
}
# open_daemon PROGRAM NAME: sets $pid
open_daemon() {
  local before
  before=$(count_lines "$2" ': listening at .*, state in')
  "$1" -c "$scratch/$2.conf" -v 2>>"$scratch/$2.log" &
  pid=$!
  pids="$pids $pid"
  wait_until 60 is_open "$2" "${before:-0}"
}
# close_daemon PID [SIGNAL]
close_daemon() {
  kill "-${2:-TERM}" "$1"
  wait_child 120 "$1" 2>/dev/null
}
# logs NAME PATTERN
logs() {
  grep -Eq -- "$2" "$scratch/$1.log"
}
# job NAME ID: runs job ID of app steps on NAME
job() {
  "$announce" "$scratch/run/$1.sock" job="$2" app=steps -- true
}
# stored NAME: prints the jobs in the store of NAME
stored() {
  stored_jobs "$scratch/$1/store.db"
}
# has_stored NAME ID...
has_stored() {
  [ "$(stored "$1")" = "${*:2}" ]
}
# spools NAME COUNT
spools() {
  [ "$(find "$scratch/$1/spool" -name '*.obs' 2>/dev/null | wc -l)" = "$2" ]
}
# doctor NAME [COMMAND]...: prints what foretell doctor, started by COMMAND, finds about the learner of NAME
doctor() {
  "${@:2}" "$foretell" doctor --config="$scratch/$1.conf" 2>&1 | grep -E ' (learner|clock|uids|version): '
}

# ---- requests

# send PORT PATH FILE [HEADER: VALUE]...: sends the body FILE; prints HTTP's status and the reply's first line
send() {
  python3 - "$@" <<'END'
import http.client, sys
port, path, file, *headers = sys.argv[1:]
connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
with open(file, "rb") as body:
    connection.request("POST", path, body.read(), dict(header.split(": ", 1) for header in headers))
reply = connection.getresponse()
print(reply.status, reply.read(200).split(b"\n")[0].decode("utf-8", "replace") if reply.status != 200 else "")
END
}
# digest PATH FILE
digest() {
  { printf 'POST %s\n' "$1"; cat "$2"; } | sha256sum | cut -d' ' -f1
}
# credential PATH FILE [OPTION]...
credential() {
  echo "Authorization: MUNGE $(munge --socket="$munge_socket" --string="$(digest "$1" "$2")" "${@:3}")"
}
# fake_learner PORT SIGNATURE: a learner of version 0.0.9, whose clock is behind by less than munged tolerates and whose
# root has uid 7. It accepts every run; its replies are signed as SIGNATURE says: right, none, reply (that of another
# reply), request (of another request), or by the user of a uid. Sets $fake_pid, and $port if PORT is 0.
fake_learner() {
  rm -f "$scratch/fake.port"
  python3 - "$scratch/fake.port" "$1" "$2" "$munge_socket" <<'END' &
import hashlib, http.server, os, struct, subprocess, sys, time
port_file, port, kind, munge_socket = sys.argv[1:]

def sign(authorization, body):
    if kind == "request":
        authorization += "x"
    if kind == "reply":
        body += b"x"
    digest = hashlib.sha256(b"REPLY " + authorization.encode() + b"\n" + body).hexdigest()
    command = ["munge", "--socket=" + munge_socket, "--string=" + digest]
    if kind.isdigit():
        command = ["setpriv", "--reuid=" + kind, "--regid=" + kind, "--clear-groups"] + command
    return "MUNGE " + subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

class Learner(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        runs = self.path == "/runs"
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b"\x08\x01\x12\x01\x00" if runs else (
            b"\x08\x01\x11" + struct.pack("<d", time.time() - 270) + b"\x1a\x050.0.9\x22\x08\x0a\x04root\x10\x07")
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        if kind != "none":
            self.send_header("Authentication-Info", sign(self.headers["Authorization"], body))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer.allow_reuse_address = True
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Learner)
with open(port_file + ".new", "w") as file:
    print(server.server_port, file=file)
os.rename(port_file + ".new", port_file)
server.serve_forever()
END
  fake_pid=$!
  pids="$pids $fake_pid"
  wait_until 60 test -s "$scratch/fake.port" && port=$(cat "$scratch/fake.port")
}
