#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The agent accepts no configuration file and no state directory that other users can change.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

# check_refusal PATTERN NAME: the agent does not start and reports PATTERN
check_refusal() {
  timeout 60 "$agent" -c "$scratch/foretell.conf" 2>"$scratch/errors"
  is $? 3 "$2"
  like "$(cat "$scratch/errors")" "$1" "the message has the reason"
}

config
chmod 0666 "$scratch/foretell.conf"
check_refusal 'foretell.conf: writable by group or others' "a configuration that all users may write is rejected"
chmod 0664 "$scratch/foretell.conf"
check_refusal 'foretell.conf: writable by group or others' "a configuration that a group may write is rejected"
chmod 0644 "$scratch/foretell.conf"
chmod 0777 "$scratch"
check_refusal "$scratch: writable by group or others" "a configuration in a directory that all may write is rejected"
chmod 0755 "$scratch"
mkdir -m 0777 "$state"
check_refusal "$state: writable by group or others" "a state directory that all may write is rejected"
chmod 0755 "$state"
if [ "$(id -u)" = 0 ]; then
  chown 4711 "$scratch/foretell.conf"
  check_refusal 'foretell.conf: owned by user 4711' "root rejects another user's configuration"
  chown 0 "$scratch/foretell.conf"
  chown 4711 "$state"
  check_refusal "$state: owned by user 4711" "root rejects another user's state directory"
  chown 0 "$state"
else
  skip "root rejects another user's configuration" "not root"
fi
start
ok $? "the agent starts with its own files, below a directory with the sticky bit"
chmod 0666 "$scratch/foretell.conf"
reload
wait_until 60 log_has 'writable by group or others.*; the old configuration remains in use'
ok $? "a configuration whose permissions change later is rejected"
stop
tap_done
