#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell replay and import, interrupted: status 130, and no partial result.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"

set -m # else the shell starts background processes with SIGINT ignored
mkdir "$scratch/state"
mkfifo "$scratch/pipe"

# runs FROM TO: lines of a table
runs() {
  seq "$1" "$2" | awk '{ printf "app%d,%d,100,60,%d\n", $1 % 9, $1, 1700000000 + $1 }'
}
# reads_pipe: the command has opened the pipe
reads_pipe() {
  ls -l "/proc/$pid/fd" | grep -q "$scratch/pipe"
}
# open_pipe: file descriptor 3 writes to the command. Descriptor 4 reads, so that the shell does not block.
open_pipe() {
  exec 4<>"$scratch/pipe" 3>"$scratch/pipe"
  wait_until 60 reads_pipe
  exec 4>&-
}
# start_command ARGUMENT...: starts a command that reads from file descriptor 3
start_command() {
  "$foretell" "$@" <"$scratch/pipe" >"$scratch/out" 2>"$scratch/err" &
  pid=$!
  open_pipe
  { echo app,job_id,peak_mib,runtime,end && runs 1 20000; } >&3
}
# has_read_all: the command has read all that was written and waits for more, or has ended
has_read_all() {
  ! kill -0 "$pid" || { [ "$(python3 -c 'import fcntl, struct, sys, termios
print(struct.unpack("i", fcntl.ioctl(3, termios.FIONREAD, bytes(4)))[0])')" = 0 ] &&
    grep -q '^State:.S' "/proc/$pid/status"; }
}
# interrupt: interrupts the command once it has read all
interrupt() {
  wait_until 120 has_read_all
  kill -INT "$pid"
  wait_child 120 "$pid"
  status=$?
  exec 3>&-
  out=$(cat "$scratch/out" "$scratch/err")
}
imported() {
  run history --state="$scratch/state" --json
  printf '%s' "$out" | python3 -c 'import json, sys
print(sum(a["runs"] for a in json.load(sys.stdin)["apps"]))'
}

for answer in "" --json; do
  start_command replay --format=csv --node=8G $answer -
  interrupt
  is "$status:$out" "130:" "replay${answer:+ $answer}: an interrupt while it reads ends it without a result"
done

"$foretell" replay --format=nextflow --protocol=published --seeds=1000 "$scratch/pipe" \
  >"$scratch/out" 2>"$scratch/err" &
pid=$!
open_pipe
seq 20000 | awk 'BEGIN { print "process,realtime,rss" } { printf "A,60000,%d\n", 1e8 + $1 % 977 * 1e5 }' >&3
exec 3>&-
plays() {
  ! reads_pipe
}
wait_until 120 plays
kill -INT "$pid"
wait_child 120 "$pid"
is "$?:$(cat "$scratch/out" "$scratch/err")" "130:" "replay: an interrupt while it simulates ends it without a result"

start_command import --state="$scratch/state" --format=csv -
interrupt
is "$status:$out" "130:" "import: an interrupt ends it"
is "$(imported)" 0 "import: nothing of the interrupted file is stored"
{ echo app,job_id,peak_mib,runtime,end && runs 30001 30010; } >"$scratch/whole.csv"
start_command import --state="$scratch/state" --format=csv "$scratch/whole.csv" -
interrupt
is "$status" 130 "import: an interrupt in the second of two files ends it"
is "$(imported)" 10 "import: the first file is stored, and nothing of the second"
runs 1 20000 | { echo app,job_id,peak_mib,runtime,end && cat; } >"$scratch/again.csv"
run import --state="$scratch/state" "$scratch/again.csv"
is "$status:$err" "0:" "import: an interrupted import can be repeated"
is "$(imported)" 20010 "import: all runs are stored then"
tap_done
