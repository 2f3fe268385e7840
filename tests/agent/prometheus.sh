#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The learner's metrics, checked by promtool and scraped by a real Prometheus over loopback.
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
need prometheus promtool python3
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

config 'sample_hz = 20' 'metrics_listen = "127.0.0.1:0"'

# metrics_address NUMBER: prints the NUMBERth address that the learner has logged
metrics_address() {
  sed -n 's|.*metrics at http://\([^/]*\)/metrics$|\1|p' "$scratch/log" | sed -n "${1}p" | grep .
}
body=$scratch/body
# get ADDRESS|SOCKET PATH [METHOD]: prints HTTP's status, and writes the body to the file $body
get() {
  python3 - "$@" 3>"$body" <<'END2'
import http.client, os, socket, sys
target, path, method = (sys.argv[1:] + ["GET"])[:3]
connection = http.client.HTTPConnection(target if ":" in target else "learner", timeout=60)
try:
    if target[0] == "/":
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(target)
    connection.request(method, path)
    reply = connection.getresponse()
    os.write(3, reply.read())
    print(reply.status)
except OSError as error:
    print(type(error).__name__)
END2
}
# metric NAME OPERATOR NUMBER: whether the comparison holds for a metric of a new scrape
metric() {
  [ "$(get "$(metrics_address 1)" /metrics)" = 200 ] &&
    awk -v name="$1" "\$1 == name { holds = \$2 + 0 $2 $3 } END { exit !holds }" "$body"
}

# ---- HTTP

start
wait_until 60 metrics_address 1
ok $? "the learner logs the address of its metrics"
is "$(get "$(metrics_address 1)" /metrics)" 200 "they can be scraped"
promtool check metrics <"$body" >"$scratch/lint" 2>&1
ok $? "promtool accepts them" || diag <"$scratch/lint"
python3 - "$(metrics_address 1)" "$scratch" <<'END' &
import os, socket, sys, time
(host, port), scratch = sys.argv[1].split(":"), sys.argv[2]
held = [socket.create_connection((host, int(port))) for _ in range(100)]
open(scratch + "/held", "w").close()
while not os.path.exists(scratch + "/scraped"):
    for client in held:
        try:
            client.send(b"G")
        except OSError:
            pass
    time.sleep(0.2)
END
holder=$!
pids="$pids $holder"
wait_until 60 test -e "$scratch/held"
is "$(get "$(metrics_address 1)" /metrics)" 200 "also while 100 other connections are silent"
touch "$scratch/scraped"
wait_child 60 "$holder"
is "$(get "$(metrics_address 1)" /)" 404 "there is no other path"
is "$(get "$(metrics_address 1)" /runs POST)" 404 "agents' requests are not accepted there"
is "$(get "$(metrics_address 1)" /metrics POST)" 405 "there is no other method"
is "$(get "$learner_socket" /metrics)" 200 "the learner's own socket has them, too"
promtool check metrics <"$body" >"$scratch/lint" 2>&1
ok $? "promtool accepts these" || diag <"$scratch/lint"
if [ "$(id -u)" = 0 ]; then
  export -f get
  chmod 0666 "$learner_socket"
  is "$(setpriv --reuid=65534 --regid=65534 --clear-groups env body=/dev/null bash -c \
    'get "$1" /metrics' - "$learner_socket")" 403 "only for root and the learner's user"
  chmod 0600 "$learner_socket"
else
  skip "only for root and the learner's user" "needs root"
fi

# ---- what is counted

wait_until 60 metric foretell_agents == 1
ok $? "the agent is counted"
wait_until 60 metric foretell_cluster_poll_timestamp_seconds '>' 1000000000
ok $? "the poll of the cluster has a time"
"$announce" "$socket" job=1 app=steps -- sleep 0.3
wait_until 90 metric 'foretell_observations_received_total{verdict="accepted"}' '>=' 1
ok $? "an accepted run is counted"
published() {
  metric foretell_published_files_total '>=' 1 && metric foretell_publish_seconds_total '>' 0 &&
    metric foretell_refine_seconds_total '>' 0
}
wait_until 60 published
ok $? "so are its published files, and the time for them" || diag <"$body"
asked() {
  metric 'foretell_slurm_queries_total{kind="job"}' '>=' 1 &&
    metric 'foretell_requests_total{path="/runs",status="200"}' '>=' 1 && metric foretell_store_bytes '>=' 4096
}
wait_until 60 asked
ok $? "queries of Slurm, requests and the store's size are known" || diag <"$body"

# ---- Prometheus

cat >"$scratch/prometheus.yml" <<END2
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: foretell
    static_configs:
      - targets: ["$(metrics_address 1)"]
END2
# the kernel chooses the port
prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/tsdb" \
  --web.listen-address=127.0.0.1:0 2>"$scratch/prometheus" &
prometheus=$!
pids="$pids $prometheus"
prometheus_address() {
  sed -n 's/.*address=\(127\.0\.0\.1:[1-9][0-9]*\).*/\1/p' "$scratch/prometheus" | head -n 1 | grep .
}
wait_until 120 prometheus_address
ok $? "Prometheus listens" || diag <"$scratch/prometheus"
# prometheus_has QUERY: whether the API returns a value for the expression
prometheus_has() {
  [ "$(get "$(prometheus_address)" "/api/v1/query?query=$1")" = 200 ] && grep -q '"value":' "$body"
}
wait_until 120 prometheus_has 'foretell_observations_received_total%7Bverdict=%22accepted%22%7D%3E=1'
ok $? "it has scraped the accepted run" || diag <"$body"
prometheus_has 'foretell_build_info==1'
ok $? "and the learner's version"
kill "$prometheus"
wait_child 60 "$prometheus"

# ---- another address

config 'sample_hz = 20' 'metrics_listen = "127.0.0.2:0"'
reload
wait_until 60 metrics_address 2
is "$(get "$(metrics_address 2)" /metrics)" 200 "after a reload the learner listens at the new address"
closed() { [ "$(get "$(metrics_address 1)" /metrics)" = ConnectionRefusedError ]; }
wait_until 60 closed
ok $? "and no longer at the old one"
if [ -s /proc/net/if_inet6 ]; then
  config 'sample_hz = 20' 'metrics_listen = "[::1]:0"'
  reload
  wait_until 60 metrics_address 3
  ok $? "it listens at an address of IPv6"
else
  skip "it listens at an address of IPv6" "this machine has none"
fi
config 'sample_hz = 20' 'metrics_listen = "localhost"'
reload
wait_until 60 log_has 'metrics are not available: metrics_listen: expected PORT'
ok $? "an address without a port is reported"
"$announce" "$socket" job=2 app=steps -- true
wait_until 90 log_has 'job 2: steps, completed'
ok $? "the daemons work on without it"
stop
ok $? "they stop"
tap_done
