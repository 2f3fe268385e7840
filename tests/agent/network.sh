#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Agents of several hosts and their learner over TCP: every run is stored once, and only who may send is heard.
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
need munged munge openssl python3
. "$FT_TOP_SRCDIR/tests/slurm/cluster.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
. "$FT_TOP_SRCDIR/tests/slurm/clock.sh"
. "$FT_TOP_SRCDIR/tests/agent/hosts.sh"
trap 'cluster_kill munged; cluster_kill ahead; rm -rf $cluster_ports; finish' EXIT

cluster_port && port=$cluster_found_port && cluster_port && second_port=$cluster_found_port &&
  cluster_port && tls_port=$cluster_found_port || exit 1
cluster_start_munge
ok $? "a private munged runs"

host learner "listen = \"127.0.0.1:$port\""
host one "learner = \"127.0.0.1:$port\""
host two "learner = \"127.0.0.1:$port\""
open_daemon "$learner" learner
learner_pid=$pid
like "$(cat "$scratch/learner.log")" "listening at TCP 127.0.0.1:$port, MUNGE" "the learner listens on TCP"
open_daemon "$agent" one
one_pid=$pid
open_daemon "$agent" two
two_pid=$pid

job one 1
job two 2
wait_until 60 has_stored learner 1 2
ok $? "runs of two hosts are in one store"
wait_until 20 spools one 0 && wait_until 20 spools two 0
ok $? "and no longer in the spools"

found=$(doctor one)
like "$found" "^ok   learner: host 127.0.0.1, port $port accepts requests of user $(id -un)" "doctor finds the learner"
like "$found" '^ok   clock: [0-9.]+ s (behind|ahead of) host 127.0.0.1$' "it compares clocks"
like "$found" "^ok   uids: .*$(id -un) $(id -u).*, as on host 127.0.0.1" "users' uids"
like "$found" '^ok   version: foretell [0-9.]+; host 127.0.0.1 has [0-9.]+' "and versions"

# ---- who may send what

: >"$scratch/empty"
printf 'no list' >"$scratch/damaged"
python3 -c 'import sys, zlib; sys.stdout.buffer.write(zlib.compress(b""))' >"$scratch/empty.z"
python3 -c 'import sys, zlib; sys.stdout.buffer.write(zlib.compress(bytes(50 << 20)))' >"$scratch/bomb.z"
expired=$(credential /runs "$scratch/empty" --ttl=1)
expired_at=$((SECONDS + 3))

header=$(credential /runs "$scratch/empty")
is "$(send "$port" /runs "$scratch/empty" "$header")" "200 " "a request with a credential is accepted"
like "$(send "$port" /runs "$scratch/empty" "$header")" '^401 credential of host 127.0.0.1 was used before' \
  "the same credential once more is rejected"
like "$(send "$port" /runs "$scratch/damaged" "$(credential /runs "$scratch/empty")")" \
  '^401 credential of host 127.0.0.1 belongs to another request' "so is one with another body"
like "$(send "$port" /forgotten "$scratch/empty" "$(credential /runs "$scratch/empty")")" \
  '^401 credential of host 127.0.0.1 belongs to another request' "so is one of another path"
like "$(send "$port" /runs "$scratch/empty")" '^401 host 127.0.0.1 sent no MUNGE credential' "so is one without a credential"
like "$(send "$port" /runs "$scratch/empty" 'Authorization: MUNGE ')" '^401 credential of host 127.0.0.1 rejected' \
  "so is an empty credential"
like "$(send "$port" /runs "$scratch/empty" "$(credential /runs "$scratch/empty" | sed 's/...:$/AAA:/')")" \
  '^401 credential of host 127.0.0.1 rejected: .*; compare the MUNGE keys' "so is a forged credential"
is "$(send "$port" /nothing "$scratch/empty" | cut -c1-3)" 404 "an unknown request is rejected"
is "$(send "$port" /runs "$scratch/empty.z" 'Content-Encoding: deflate' "$(credential /runs "$scratch/empty.z")")" "200 " \
  "a compressed body is read"
like "$(send "$port" /runs "$scratch/bomb.z" 'Content-Encoding: deflate' "$(credential /runs "$scratch/bomb.z")")" \
  '^400 .*decompresses to more than [0-9]+ bytes' "one that decompresses to 50 MiB is rejected"
like "$(send "$port" /runs "$scratch/damaged" 'Content-Encoding: deflate' "$(credential /runs "$scratch/damaged")")" \
  '^400 the body cannot be decompressed' "so is a damaged one"
if [ "$(id -u)" = 0 ]; then
  as_nobody=$(setpriv --reuid=65534 --regid=65534 --clear-groups munge --socket="$munge_socket" \
    --string="$(digest /runs "$scratch/empty")")
  like "$(send "$port" /runs "$scratch/empty" "Authorization: MUNGE $as_nobody")" \
    '^403 user 65534 of host 127.0.0.1 may not send this' "a credential of another user is rejected"
  like "$(doctor one setpriv --reuid=65534 --regid=65534 --clear-groups)" \
    "^warn learner: host 127.0.0.1, port $port: user 65534 of host 127.0.0.1 may not send this.*; run this as root" \
    "doctor of another user says that it needs root"
  install -d -o 65534 "$scratch/other" "$scratch/run/other"
  host other "learner = \"127.0.0.1:$port\"" "socket = \"$scratch/run/other/sock\""
  printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups "%s" "$@"\n' "$agent" >"$scratch/other-agent"
  chmod 0755 "$scratch/other-agent"
  open_daemon "$scratch/other-agent" other
  found=$(doctor other)
  like "$found" '^FAIL learner: .*requests of user [^ ]+: user 65534 of host 127.0.0.1 may not send this.*; runs wait' \
    "doctor of an agent of another user reports why it is rejected"
  like "$found" '^ok   uids: ' "and compares the hosts nevertheless"
  close_daemon "$pid"
else
  skip "a credential of another user is rejected" "needs root"
  skip "doctor of another user says that it needs root" "needs root"
  skip "doctor of an agent of another user reports why it is rejected" "needs root"
  skip "and compares the hosts nevertheless" "needs root"
fi
is_late() { [ $SECONDS -gt $expired_at ]; }
wait_until 20 is_late
like "$(send "$port" /runs "$scratch/empty" "$expired")" \
  "^401 clock of host 127.0.0.1 is [0-9]+ s behind the learner's: credential expired" "an old credential is rejected and names the clock"
like "$(cat "$scratch/learner.log")" 'request rejected: credential of host 127.0.0.1 was used before' \
  "the learner's log has the first rejection"

# ---- munged hangs

# unproved PATTERN: whether the number of requests that wait for munged matches
unproved() {
  learner_metrics "$scratch/run/learner-learner.sock" | grep -Eqx "foretell_requests_unproved $1"
}
header=$(credential /runs "$scratch/empty")
kill -STOP "$(cluster_pid munged)"
like "$(send "$port" /runs "$scratch/empty" "$header")" "^503 munged on the learner's host does not reply" \
  "a request is answered though munged hangs"
until [ -e "$scratch/goes-on" ]; do
  send "$port" /runs "$scratch/empty" "$header" >"$scratch/hung"
done &
hung=$!
wait_until 60 unproved '[1-9][0-9]*'
ok $? "local requests and metrics are answered while another waits for munged"
touch "$scratch/goes-on"
kill -CONT "$(cluster_pid munged)"
wait_child 60 "$hung"
like "$(cat "$scratch/hung")" '^(200|401 .*was used before|503 munged)' "which is answered when munged goes on"
wait_until 60 unproved 0
ok $? "then none waits"
like "$(send "$port" /runs "$scratch/empty" "$(credential /runs "$scratch/empty")")" '^200' "and requests are accepted again"

# a munged that is restarted has forgotten which credentials were used
header=$(credential /runs "$scratch/empty")
like "$(send "$port" /runs "$scratch/empty" "$header")" '^200' "a request is accepted"
cluster_kill munged
cluster_spawn munged munged --foreground --force --key-file="$scratch/munge/key" --socket="$munge_socket" \
  --pid-file="$scratch/run/munged.pid" --log-file="$scratch/log/munged.log" --seed-file="$scratch/munge/seed"
wait_until 10 munge --no-input --socket="$munge_socket"
like "$(send "$port" /runs "$scratch/empty" "$header")" '^401 credential of host 127.0.0.1 was used before' \
  "but not once more after munged was restarted"
like "$(send "$port" /runs "$scratch/empty" "$header ")" '^401 ' "nor with a space after it"
like "$(send "$port" /runs "$scratch/empty" "$(credential /runs "$scratch/empty" --ttl=3000)")" \
  '^401 .*valid for 3000 s, expected at most 300' "nor one that would be valid for longer than it is remembered"

# another munged with the same key, whose clock is 600 s ahead
set_clock "$scratch/clock" 600
FT_FAULT_CLOCK=$scratch/clock LD_PRELOAD=$fault_clock cluster_spawn ahead munged \
  --foreground --force --key-file="$scratch/munge/key" --socket="$scratch/munge/ahead" --pid-file="$scratch/run/ahead.pid" \
  --log-file="$scratch/log/ahead.log" --seed-file="$scratch/munge/ahead-seed"
wait_until 10 munge --no-input --socket="$scratch/munge/ahead"
host ahead "learner = \"127.0.0.1:$port\"" "munge_socket = \"$scratch/munge/ahead\""
open_daemon "$agent" ahead
wait_until 60 logs ahead "clock of host 127.0.0.1 is [56][0-9]* s ahead of the learner's"
ok $? "the agent's log has the time by which its clock is ahead"
like "$(doctor ahead)" "^FAIL learner: .*: clock of host 127.0.0.1 is [56][0-9]* s ahead of the learner's" "so does doctor"
close_daemon "$pid"
cluster_kill ahead

# an older learner, whose clock and users differ
learner_port=$port
fake_learner 0 right
strange_pid=$fake_pid
host strange "learner = \"127.0.0.1:$port\""
port=$learner_port
found=$(doctor strange)
like "$found" "^warn clock: 2[67][0-9.]* s ahead of host 127.0.0.1; MUNGE tolerates 300 s" "doctor warns of a clock that is far ahead"
like "$found" '^warn uids: user root is 0 here and 7 on host 127.0.0.1' "of a user with another uid"
like "$found" '^warn version: foretell [0-9.]+ is newer than 0.0.9 of host 127.0.0.1' "and of an older learner"
kill "$strange_pid"

# ---- munged, the learner and the way fail

# the agent waits for Slurm's record of the job for a minute
cluster_kill munged
job one 3
wait_until 150 logs one 'MUNGE: .*; observations wait in the spool'
ok $? "without munged the agent says so"
wait_until 20 spools one 1
ok $? "the run waits in the spool"
is "$(count_lines one 'observations wait')" 1 "one line was logged"
cluster_start_munge
wait_until 120 has_stored learner 1 2 3
ok $? "when munged is back, the run is stored"

for id in 4 5 6 7; do
  job one $id &
  jobs_running="$jobs_running $!"
done
close_daemon "$learner_pid" KILL
for id in $jobs_running; do
  wait_child 60 "$id"
done
job two 8
open_daemon "$learner" learner
learner_pid=$pid
wait_until 120 has_stored learner 1 2 3 4 5 6 7 8
ok $? "a killed learner loses no run and stores none twice"
wait_until 20 spools one 0 && wait_until 20 spools two 0
ok $? "the spools are empty again"

# ---- a second learner

host second "listen = $second_port"
open_daemon "$learner" second
second_pid=$pid
like "$(cat "$scratch/second.log")" "listening at TCP $second_port, MUNGE" "a learner listens on all addresses"
close_daemon "$one_pid"
host one "learner = \"127.0.0.1:$port, 127.0.0.1:$second_port\""
open_daemon "$agent" one
one_pid=$pid
job one 9
wait_until 60 has_stored learner 1 2 3 4 5 6 7 8 9
ok $? "of two learners the first is used"
close_daemon "$learner_pid"
job one 10
wait_until 120 has_stored second 10
ok $? "when it has stopped, the second is used"
open_daemon "$learner" learner
learner_pid=$pid
job one 11
wait_until 60 has_stored second 10 11
ok $? "and used on, though the first is back"
is "$(stored learner)" "1 2 3 4 5 6 7 8 9" "no run is in both stores"
close_daemon "$one_pid"
close_daemon "$two_pid"
close_daemon "$learner_pid"
close_daemon "$second_pid"
like "$(doctor one)" "^FAIL learner: host 127.0.0.1, port $port: Connection refused; runs wait in the spool" \
  "doctor reports stopped learners"

# ---- TLS

# authority NAME; certificate AUTHORITY NAME [DAYS]
authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=$1" \
    -keyout "$scratch/tls/$1.key" -out "$scratch/tls/$1.pem" 2>/dev/null
}
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$2" -keyout "$scratch/tls/$2.key" \
    -out "$scratch/tls/$2.csr" 2>/dev/null &&
    openssl x509 -req -in "$scratch/tls/$2.csr" -CA "$scratch/tls/$1.pem" -CAkey "$scratch/tls/$1.key" -CAcreateserial \
      -days "${3:-30}" -extfile <(echo 'subjectAltName = IP:127.0.0.1') -out "$scratch/tls/$2.pem" 2>/dev/null
}
# tls AUTHORITY NAME: lines of the configuration
tls() {
  printf '%s\n' 'auth = tls' "tls_ca = \"$scratch/tls/$1.pem\"" "tls_certificate = \"$scratch/tls/$2.pem\"" \
    "tls_key = \"$scratch/tls/$2.key\""
}
authority site && authority other && certificate site service && certificate site node && certificate other stranger &&
  certificate site old -1
ok $? "certificates are made"

host safe "listen = \"127.0.0.1:$tls_port\"" "$(tls site service)"
open_daemon "$learner" safe
safe_pid=$pid
host three "learner = \"127.0.0.1:$tls_port\"" "$(tls site node)"
open_daemon "$agent" three
three_pid=$pid
job three 1
wait_until 60 has_stored safe 1
ok $? "with TLS a run is stored"
like "$(send "$tls_port" /runs "$scratch/empty" 2>&1 | tail -n 1)" 'http.client|Connection|^400' "a request without TLS is not answered"

# rejected NAME PATTERN AUTHORITY CERTIFICATE WHAT [FINDING WHAT]: the finding of doctor, which asks as the agent's user
rejected() {
  host "$1" "learner = \"127.0.0.1:$tls_port\"" "$(tls "$3" "$4")"
  open_daemon "$agent" "$1"
  wait_until 60 logs "$1" "foretell-learnd does not reply: $2"
  ok $? "$5"
  [ $# -le 5 ] || like "$(doctor "$1")" "$6" "$7"
  close_daemon "$pid"
}
like "$(doctor three)" '^ok   clock: ' "with TLS doctor compares hosts, too"
rejected four 'certificate of host 127.0.0.1 rejected: ' site stranger "an agent with a certificate of another authority is rejected" \
  '^FAIL learner: .*certificate of host 127.0.0.1 rejected: ' "doctor reports a rejected certificate"
rejected five 'certificate of host 127.0.0.1 rejected: .*expired' site old "so is one whose certificate has expired"
rejected six '127.0.0.1: SSL certificate problem: ' other node "an agent rejects a learner of another authority" \
  '^FAIL learner: .*SSL certificate problem: ' "doctor reports a rejected learner"
rejected seven '127.0.0.1: .*missing' site missing "an agent without its key says so"
close_daemon "$three_pid"
close_daemon "$safe_pid"

# starts_not NAME PATTERN WHAT
starts_not() {
  "$learner" -c "$scratch/$1.conf" 2>"$scratch/$1.log"
  is $? 3 "$3: the learner does not start"
  like "$(cat "$scratch/$1.log")" "$2" "it says why"
}
host eight "listen = \"127.0.0.1:$tls_port\"" "$(tls site missing)"
starts_not eight 'tls_certificate: .*/missing.pem: No such file' "without its certificate"
host nine "listen = \"127.0.0.1:$tls_port\"" "$(tls site service)" "tls_key = \"$scratch/tls/node.key\""
starts_not nine 'tls_certificate .* with tls_key ' "with another certificate's key"
host ten "listen = \"127.0.0.1:$tls_port\"" 'agent_users = "no such user"'
starts_not ten 'agent_users: there is no user "no such user" on this host' "with an unknown user in agent_users"
tap_done
