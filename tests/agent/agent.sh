#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A real foretelld in a scratch folder, without a Slurm: announced process trees
# become observations and model files.
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
agent=$FT_TOP_BUILDDIR/foretelld
announce=$FT_TOP_BUILDDIR/tests/agent/announce

scratch=$(mktemp -d "${TMPDIR:-/tmp}/ft-XXXXXX") || exit 1
chmod 0755 "$scratch"
export FT_SCONTROL=$scratch/slurm
mkdir "$FT_SCONTROL"
state=$scratch/state
socket=$scratch/run/agent.sock
pids=

finish() {
  local pid
  for pid in $pids; do
    kill -KILL "$pid" 2>/dev/null
  done
  [ -n "${FT_KEEP_SCRATCH-}" ] || rm -rf "$scratch"
}
trap finish EXIT

wait_until() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.02
  done
}

config() {
  printf '%s\n' "state_dir = \"$state\"" "socket = \"$socket\"" \
    "slurm_bin = \"$FT_TOP_SRCDIR/tests/agent\"" "$@" >"$scratch/foretell.conf"
}

start() {
  "$agent" -c "$scratch/foretell.conf" -v 2>>"$scratch/log" &
  pid=$!
  pids="$pids $pid"
  wait_until 20 test -S "$socket"
}

stop() {
  kill "-${1:-TERM}" "$pid"
  wait "$pid"
}

said() {
  grep -Eq -- "$1" "$scratch/log"
}

model() {
  find "$state/models/${2:-$(id -u)}" -name "$1-*.model" 2>/dev/null | grep .
}

config
start
ok $? "it listens"

"$announce" "$socket" job=7 app=hog feature=batch:32 -- \
  python3 -c 'import time; a = bytearray(96 << 20); time.sleep(0.4)'
ok $? "a step can be announced"
wait_until 10 model hog
ok $? "its app has a model file"
like "$(cat "$scratch/log")" 'job 7: hog, completed, 1[0-9]{2}(\.[0-9])? MiB' "the peak is the process tree's"

"$announce" "$socket" job=8 app=hog status=1 -- true
wait_until 10 said 'job 8: hog, failed'
ok $? "a failed run is seen"

stop
is $? 0 "SIGTERM ends it"
[ ! -e "$socket" ]
ok $? "and removes the socket"
tap_done
