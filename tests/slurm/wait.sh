# SPDX-License-Identifier: GPL-3.0-or-later
# Waiting with a time limit, for shell tests; sourced (bash). Without a limit, a test would never end
# after the thing that it waits for has failed. A limit is no measurement: what succeeds is not delayed by it.

# wait_until SECONDS COMMAND...: polls COMMAND until it succeeds; returns 1 if that takes longer than SECONDS of an idle
# machine, which are FT_SLOWNESS seconds each (4 where other load shares the processors, more on an emulated machine)
wait_until() {
  local end=$((SECONDS + $1 * ${FT_SLOWNESS:-4}))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -le $end ] || return 1
    sleep 0.02
  done
}

# wait_child SECONDS PID: waits for a child; returns its exit status. A child that has not ended by then is
# killed, which makes the status 137.
wait_child() {
  if ! wait_until "$1" child_ended "$2"; then
    echo "# process $2 has not ended within $1 s" >&2
    kill -KILL "$2"
  fi
  wait "$2" 2>/dev/null
}

# bash reaps its children as they end and keeps their status for wait
child_ended() {
  ! kill -0 "$1"
}

# open_fifo SECONDS FIFO: opens and closes FIFO for writing, which waits for a reader; returns 124 without one
open_fifo() {
  # shellcheck disable=SC2016
  timeout "$1" sh -c ': >"$1"' - "$2"
}
