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
job one 1
wait_until 60 logs one 'reply of host 127.0.0.1 rejected: it is not signed, .*; observations wait in the spool'
ok $? "an impostor that accepts a run is not believed"
spools one 1
ok $? "the run stays in the spool"
close_daemon "$fake_pid"
open_daemon "$learner" learner
learner_pid=$pid
wait_until 60 has_stored learner 1 && wait_until 20 spools one 0
ok $? "the learner gets it when it is back"
close_daemon "$one_pid"
close_daemon "$learner_pid"
tap_done
