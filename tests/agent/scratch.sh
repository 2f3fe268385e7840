# SPDX-License-Identifier: GPL-3.0-or-later
# A foretelld in a scratch directory, without a Slurm; sourced after tap.sh. Functions:
# config [LINE]..., start, stop [SIGNAL], log_has PATTERN, model APP [UID], spooled COUNT.
# Variables: state, socket, scratch, pid (of the agent started last).
. "$FT_TOP_SRCDIR/tests/slurm/wait.sh"
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

config() {
  printf '%s\n' "state_dir = \"$state\"" "socket = \"$socket\"" \
    "slurm_bin = \"$FT_TOP_SRCDIR/tests/agent\"" "$@" >"$scratch/foretell.conf"
}

listens() {
  [ "$(grep -c ': listening at ' "$scratch/log")" -gt "$1" ]
}

# A killed agent leaves its socket, so readiness is a new line in the log.
start() {
  local before
  before=$(grep -c ': listening at ' "$scratch/log" 2>/dev/null)
  "$agent" -c "$scratch/foretell.conf" -v 2>>"$scratch/log" &
  pid=$!
  pids="$pids $pid"
  wait_until 60 listens "${before:-0}"
}

stop() {
  kill "-${1:-TERM}" "$pid"
  wait_child 120 "$pid"
}

log_has() {
  grep -Eq -- "$1" "$scratch/log"
}

model() {
  find "$state/models/${2:-$(id -u)}" -name "$1-*.model" 2>/dev/null | grep .
}

spooled() {
  [ "$(find "$state/spool" -name '*.obs' 2>/dev/null | wc -l)" = "$1" ]
}

fixtures=$FT_TOP_SRCDIR/tests/fixtures
cp "$fixtures/scontrol/rss-config" "$FT_SCONTROL/config"
cp "$fixtures/scontrol/rss-partition" "$FT_SCONTROL/partition"
cp "$fixtures/scontrol/rss-node" "$FT_SCONTROL/node"
