#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell profile: its measurements, its files, and its exit status.
. "${FT_TOP_SRCDIR:-.}/tests/slurm/tap.sh"
. "${FT_TOP_SRCDIR:-.}/tests/slurm/wait.sh"

foretell=${FT_TOP_BUILDDIR:-.}/predictor/cli/foretell
foretell=$(cd "$(dirname "$foretell")" && pwd)/foretell
scratch=$(mktemp -d)
trap 'cd / && rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# json KEY...: a value of the last line of standard input
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
is $? 143 "a command killed by a signal gives 128 plus the signal"
errors=$("$foretell" profile --no-output -- ./no-such-command 2>&1)
is $? 127 "an unknown command gives 127"
like "$errors" '^foretell profile: ./no-such-command: No such file' "the message names the unknown command"
touch not-executable
"$foretell" profile --no-output -- ./not-executable 2>/dev/null
is $? 126 "a file without execute permission gives 126"

errors=$("$foretell" profile --output no/such/folder -- touch started 2>&1)
is $? 2 "an output file that cannot be written is an error"
like "$errors" 'no/such/folder: No such file' "the message names the output file"
test ! -e started
ok $? "the command is not started then"
"$foretell" profile --interval=0 -- true 2>/dev/null
is $? 2 "an interval of 0 is rejected"
"$foretell" profile 2>/dev/null
is $? 2 "a missing command is rejected"

"$foretell" profile --quiet --interval 0.05 -- sleep 0.4
like "$(ls)" '^foretell_profile_[0-9]{14}\.dat$' "the file has the time in its name"
file=$(ls foretell_profile_*.dat)
is "$(head -n 1 "$file")" "CMDLINE sleep 0.4" "its first line is the command"
is "$(grep -Evc '^(CMDLINE .*|MEM [0-9]+\.[0-9]{6} [0-9]{10}\.[0-9]{4})$' "$file")" 0 \
  "the other lines have mprof's format"
# A busy machine delays samples, one until the next is due, and leaves some out: the shortest time between two is not
# longer than asked, the mean not shorter.
"$foretell" profile --quiet --interval 0.05 --output paced -- \
  sh -c 'until [ "$(grep -c ^MEM paced)" -ge 20 ]; do sleep 0.05; done'
intervals=$(awk '/^MEM/ { if (n++) { gap = $3 - last; if (!least || gap < least) least = gap } else first = $3; last = $3 }
  END { printf "%.3f %.3f", least, (last - first) / (n - 1) }' paced)
awk -v both="$intervals" 'BEGIN { split(both, s, " "); exit !(s[1] != "" && s[1] < 0.08 && s[2] > 0.045) }'
ok $? "--interval=0.05: the shortest time between two samples is no longer, the mean no shorter ($intervals)"

mkdir at-once
(cd at-once && for n in 1 2 3 4 5 6 7 8; do "$foretell" profile --quiet -- echo "$n" >/dev/null & done; wait)
is "$(cat at-once/foretell_profile_*.dat | grep ^CMDLINE | sort | tr '\n' ' ')" \
  "$(printf 'CMDLINE echo %s ' 1 2 3 4 5 6 7 8)" "eight that start at once write eight files"

"$foretell" profile --quiet --output big --json -- python3 -c '
import time
x = bytearray(128 << 20); time.sleep(0.5)' >out
rss=$(json peak_memory_bytes rss_bytes <out)
test "$rss" -ge $((128 << 20)) && test "$rss" -le $((192 << 20))
ok $? "128 MiB are measured ($rss)"
is "$(json exit_status <out)" 0 "JSON has the exit status"
is "$(json signal <out)" null "without a signal the field is null"
like "$(json command <out)" '^\["python3", "-c", ' "the command is a list"
is "$(json output <out)" '"big"' "the JSON has the file's name"
like "$(json counters task-clock <out)" '^[0-9]' "the JSON has counters"
"$foretell" profile --quiet --no-output --json -- sleep 0.3 >out
is "$(json processes <out)" 1 "the number of processes is one"
is "$(json threads <out)" 1 "the number of threads is one"

# a program of 50 ms, between two samples
"$foretell" profile --quiet --no-output --interval 30 --json -- python3 -c '
x = bytearray(96 << 20)' >out
rss=$(json peak_memory_bytes rss_bytes <out)
test "$rss" -ge $((96 << 20))
ok $? "a run without a sample is in the peak ($rss)"
# A child of 50 ms and its large parent, at ten samples a second: at most one sample has the child.
# await_sample(name, mib): waits until the file that profile writes has a sample of MIB or more
cat >samples.py <<'END'
import time
def await_sample(name, mib):
    while not any(line.startswith("MEM ") and float(line.split()[1]) >= mib for line in open(name)):
        time.sleep(0.05)
END
brief='import samples, subprocess, sys, time
parent = bytearray(200 << 20)
samples.await_sample("brief", 200)
subprocess.run([sys.executable, "-S", "-c", "b = bytes(1) * (150 << 20)"])
for i in range(5):
    subprocess.run(["true"])
time.sleep(0.3)'
"$foretell" profile --quiet --output brief --json -- python3 -S -c "$brief" >out
like "$(json open_files <out)" '^[1-9]' "open files are counted in a short run"
like "$(json counted open_files <out)" '^[1-9]' "the features for other platforms have the open files"
if tail -n 1 out | grep -q '"name": "exits", "works": true'; then
  rss=$(json peak_memory_bytes rss_bytes <out)
  test "$rss" -ge $((350 << 20)) && test "$rss" -le $((380 << 20))
  ok $? "a short-lived child is in the peak ($rss)"
else
  like "$(tail -n 1 out)" 'a child that ends between two samples may be missed' "the JSON states that a child may be missed"
fi
# A fork that neither calls exec nor writes shares its parent's pages: RSS counts them twice, PSS once.
errors=$("$foretell" profile --output shared --json -- python3 -S -c 'import os, samples, time
held = bytearray(48 << 20)
if not os.fork():
    samples.await_sample("shared", 96)
    time.sleep(1)
    os._exit(0)
os.wait()' 2>&1 >out)
if tail -n 1 out | grep -q '"name": "pss", "works": true'; then
  rss=$(json peak_memory_bytes rss_bytes <out)
  pss=$(json peak_memory_bytes pss_bytes <out)
  test "$rss" -ge $((96 << 20)) && test "$pss" -ge $((48 << 20)) && test "$pss" -le $((72 << 20))
  ok $? "pages shared by a fork count once in PSS ($pss, RSS $rss)"
  like "$errors" 'peak 1[0-9]{2} MiB \(RSS; shared pages counted once \(PSS\) [0-9.]+ MiB\) in' "the summary has both"
else
  like "$(tail -n 1 out)" 'no /proc/PID/smaps_rollup' "the JSON has the reason for missing PSS"
fi
"$foretell" profile --quiet --no-output --json -- true >out
rss=$(json peak_memory_bytes rss_bytes <out)
own=$(python3 -c 'import resource, subprocess, sys
subprocess.run([sys.argv[1], "--version"], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)' "$foretell")
test "$rss" -gt 0 && test "$rss" -le $((own * 3 / 4))
ok $? "the peak of true excludes foretell's own memory ($rss, foretell $own)"

echo 'import samples; x = bytearray(64 << 20); samples.await_sample("left", 64)' >left.py
"$foretell" profile --quiet --output left --json -- sh -c '
  setsid sh -c "python3 -S left.py & exit" &
  python3 -S -c "import samples; samples.await_sample(\"left\", 64)"' >out
rss=$(json peak_memory_bytes rss_bytes <out)
test "$rss" -ge $((64 << 20))
ok $? "a process left behind is still measured ($rss)"

"$foretell" profile --quiet --no-output -- \
  sh -c 'trap "exit 9" USR1; echo $$ >ready; while :; do sleep 0.05; done' &
wait_until 60 test -s ready
kill -USR1 $!
wait_child 60 $!
is $? 9 "a signal is forwarded to the command"

"$foretell" profile --quiet --output full.dat -- sleep 0.3 2>err
is $? 0 "the exit status is 0"
is "$(cat err)" "" "--quiet prints nothing"
if test -w /dev/full; then
  errors=$("$foretell" profile --quiet --output /dev/full -- sh -c 'sleep 0.3; exit 4' 2>&1)
  is $? 4 "a full disk does not stop the command"
  is "$(printf '%s\n' "$errors" | grep -c 'No space left')" 1 "the full disk is reported once"
fi
tap_done
