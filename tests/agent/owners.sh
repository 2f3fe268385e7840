#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The agent obeys no configuration and works in no state folder that others may change.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

# refuses PATTERN NAME: it does not start, and says why
check_refusal() {
  timeout 60 "$agent" -c "$scratch/foretell.conf" 2>"$scratch/said"
  is $? 3 "$2"
  like "$(cat "$scratch/said")" "$1" "and that is said"
}

config
chmod 0666 "$scratch/foretell.conf"
check_refusal 'foretell.conf: writable by group or others' "a configuration that all may write is not obeyed"
chmod 0664 "$scratch/foretell.conf"
check_refusal 'foretell.conf: writable by group or others' "nor one that a group may"
chmod 0644 "$scratch/foretell.conf"
chmod 0777 "$scratch"
check_refusal "$scratch: writable by group or others" "nor one that may be replaced"
chmod 0755 "$scratch"
mkdir -m 0777 "$state"
check_refusal "$state: writable by group or others" "a state folder that all may write is not worked in"
chmod 0755 "$state"
if [ "$(id -u)" = 0 ]; then
  chown 4711 "$scratch/foretell.conf"
  check_refusal 'foretell.conf: owned by user 4711' "root obeys no other's configuration"
  chown 0 "$scratch/foretell.conf"
  chown 4711 "$state"
  check_refusal "$state: owned by user 4711" "and works in no other's state folder"
  chown 0 "$state"
else
  skip "root obeys no other's configuration" "not root"
fi
start
ok $? "with what is its own it starts, below a folder with the sticky bit"
chmod 0666 "$scratch/foretell.conf"
kill -HUP "$pid"
wait_until 60 log_has 'writable by group or others.*; the old configuration stays'
ok $? "nor is one obeyed that is changed later"
stop
tap_done
