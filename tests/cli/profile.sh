#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell profile: what it measures, what it writes, and how it ends.
. "${FT_TOP_SRCDIR:-.}/tests/slurm/tap.sh"
. "${FT_TOP_SRCDIR:-.}/tests/slurm/wait.sh"

foretell=${FT_TOP_BUILDDIR:-.}/predictor/cli/foretell
foretell=$(cd "$(dirname "$foretell")" && pwd)/foretell
scratch=$(mktemp -d)
trap 'cd / && rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# json KEY...: of the last line of standard input
json() {
  tail -n 1 | python3 -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1:]:
    value = value[key]
print(json.dumps(value))' "$@"
}

"$foretell" profile --quiet --no-output -- sh -c 'exit 7'
is $? 7 "the exit status is the command's"
"$foretell" profile --quiet --no-output -- sh -c 'kill -TERM $$'
is $? 143 "a signal's death is 128 and the signal"
said=$("$foretell" profile --no-output -- ./no-such-command 2>&1)
is $? 127 "a command that is not there is 127"
like "$said" '^foretell profile: ./no-such-command: No such file' "and said so"
touch not-executable
"$foretell" profile --no-output -- ./not-executable 2>/dev/null
is $? 126 "a file that is no program is 126"

said=$("$foretell" profile --output no/such/folder -- touch started 2>&1)
is $? 2 "a file that cannot be written is refused"
like "$said" 'no/such/folder: No such file' "with its name"
test ! -e started
ok $? "before the command began"
"$foretell" profile --interval=0 -- true 2>/dev/null
is $? 2 "an interval of 0 is refused"
"$foretell" profile 2>/dev/null
is $? 2 "no command is refused"

"$foretell" profile --quiet --interval 0.05 -- sleep 0.4
like "$(ls)" '^foretell_profile_[0-9]{14}\.dat$' "the file has the time in its name"
file=$(ls foretell_profile_*.dat)
is "$(head -n 1 "$file")" "CMDLINE sleep 0.4" "its first line is the command"
is "$(grep -Evc '^(CMDLINE .*|MEM [0-9]+\.[0-9]{6} [0-9]{10}\.[0-9]{4})$' "$file")" 0 \
  "the others are as mprof writes them"
lines=$(grep -c ^MEM "$file")
test "$lines" -ge 3 && test "$lines" -le 9
ok $? "0.4 s at 0.05 s are about 8 samples ($lines)"

mkdir at-once
(cd at-once && for n in 1 2 3 4 5 6 7 8; do "$foretell" profile --quiet -- echo "$n" >/dev/null & done; wait)
is "$(cat at-once/foretell_profile_*.dat | grep ^CMDLINE | sort | tr '\n' ' ')" \
  "$(printf 'CMDLINE echo %s ' 1 2 3 4 5 6 7 8)" "eight that begin at once write a file each"

"$foretell" profile --quiet --output big --json -- python3 -c '
import time
x = bytearray(128 << 20); time.sleep(0.5)' >out
rss=$(json peak_memory_bytes rss_bytes <out)
test "$rss" -ge $((128 << 20)) && test "$rss" -le $((192 << 20))
ok $? "128 MiB are seen ($rss)"
is "$(json exit_status <out)" 0 "JSON has the exit status"
is "$(json signal <out)" null "no signal is null"
like "$(json command <out)" '^\["python3", "-c", ' "the command is a list"
is "$(json output <out)" '"big"' "and the file"
like "$(json counters task-clock <out)" '^[0-9]' "counters are there"
"$foretell" profile --quiet --no-output --json -- sleep 0.3 >out
is "$(json processes <out)" 1 "one process is one"
is "$(json threads <out)" 1 "with one thread"

# a program of 50 ms, between two samples
"$foretell" profile --quiet --no-output --interval 30 --json -- python3 -c '
x = bytearray(96 << 20)' >out
rss=$(json peak_memory_bytes rss_bytes <out)
test "$rss" -ge $((96 << 20))
ok $? "a run without a sample is in the peak ($rss)"
# a child of 50 ms above a large parent, sampled ten times a second: it is there at one of them or none
brief='import subprocess, sys, time
parent = bytearray(200 << 20)
time.sleep(0.3)
subprocess.run([sys.executable, "-S", "-c", "b = bytes(1) * (150 << 20)"])
for i in range(5):
    subprocess.run(["true"])
time.sleep(0.3)'
"$foretell" profile --quiet --no-output --json -- python3 -S -c "$brief" >out
like "$(json open_files <out)" '^[1-9]' "open files are counted in a run below a second"
like "$(json counted open_files <out)" '^[1-9]' "and told to who predicts elsewhere"
if tail -n 1 out | grep -q '"name": "exits", "works": true'; then
  rss=$(json peak_memory_bytes rss_bytes <out)
  test "$rss" -ge $((350 << 20)) && test "$rss" -le $((380 << 20))
  ok $? "a brief child is in its job's peak ($rss)"
else
  like "$(tail -n 1 out)" 'a child that ends between two samples may be missed' "what is missing is said"
fi
# a fork that neither calls exec nor writes has its parent's pages: RSS counts them twice, PSS once
said=$("$foretell" profile --no-output --json -- python3 -S -c 'import os, time
held = bytearray(48 << 20)
if not os.fork():
    time.sleep(1)
    os._exit(0)
os.wait()' 2>&1 >out)
if tail -n 1 out | grep -q '"name": "pss", "works": true'; then
  rss=$(json peak_memory_bytes rss_bytes <out)
  pss=$(json peak_memory_bytes pss_bytes <out)
  test "$rss" -ge $((96 << 20)) && test "$pss" -ge $((48 << 20)) && test "$pss" -le $((72 << 20))
  ok $? "pages that a fork shares count once in PSS ($pss, RSS $rss)"
  like "$said" 'peak 1[0-9]{2} MiB \(RSS; shared pages counted once \(PSS\) [0-9.]+ MiB\) in' "and are told"
else
  like "$(tail -n 1 out)" 'no /proc/PID/smaps_rollup' "why there is no PSS is said"
fi
"$foretell" profile --quiet --no-output --json -- true >out
rss=$(json peak_memory_bytes rss_bytes <out)
own=$(python3 -c 'import resource, subprocess, sys
subprocess.run([sys.argv[1], "--version"], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)' "$foretell")
test "$rss" -gt 0 && test "$rss" -le $((own * 3 / 4))
ok $? "true is small: foretell's own image ($own) is not counted ($rss)"

"$foretell" profile --quiet --no-output --json -- sh -c '
  setsid sh -c "python3 -c \"import time; x = bytearray(64 << 20); open(\\\"held\\\", \\\"w\\\"); time.sleep(0.6)\" & exit" &
  for _ in $(seq 400); do test -e held && break; sleep 0.05; done; sleep 0.4' >out
rss=$(json peak_memory_bytes rss_bytes <out)
test "$rss" -ge $((64 << 20))
ok $? "a process left behind stays in sight ($rss)"

"$foretell" profile --quiet --no-output -- \
  sh -c 'trap "exit 9" USR1; echo $$ >ready; while :; do sleep 0.05; done' &
for _ in $(seq 100); do test -s ready && break; sleep 0.05; done
kill -USR1 $!
wait_child 60 $!
is $? 9 "a signal reaches the command"

"$foretell" profile --quiet --output full.dat -- sleep 0.3 2>err
is $? 0 "a good file says nothing"
is "$(cat err)" "" "at all with --quiet"
if test -w /dev/full; then
  said=$("$foretell" profile --quiet --output /dev/full -- sh -c 'sleep 0.3; exit 4' 2>&1)
  is $? 4 "a full disk does not stop the command"
  is "$(printf '%s\n' "$said" | grep -c 'No space left')" 1 "and is said once"
fi
tap_done
