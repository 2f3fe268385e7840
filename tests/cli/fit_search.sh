#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell fit: reproducibility by seed, the progress bar, and the result of an interrupted search.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"

awk 'BEGIN {
  srand(7)
  print "edge,batch,peak_bytes"
  for (edge = 16; edge <= 96; edge += 16) for (batch = 1; batch <= 16; batch *= 2)
    printf "%d,%d,%.0f\n", edge, batch, (4e8 + 812 * edge ^ 3 * batch) * (0.97 + 0.06 * rand())
}' >"$scratch/net.csv"

# fits ARGUMENT...: the whole output, text or JSON, without run times
fits() {
  "$foretell" fit -t peak_bytes "$scratch/net.csv" --generations=30 --digits=17 "$@" |
    sed -E 's/"seconds": *[0-9.e-]+/"seconds": 0/g; s/ [0-9.]+ s  / /'
}

for words in "--json" "--json --method=all --seeds=3" "--front --test=0" \
  "--json --primitives=add,divide,root,exp,sin" "--json --drawn-constants"; do
  # shellcheck disable=SC2086
  once=$(fits --seed=5 $words)
  like "$once" edge "an equation: $words"
  # shellcheck disable=SC2086
  is "$(fits --seed=5 $words)" "$once" "the same seed gives the same bytes: $words"
  # shellcheck disable=SC2086
  is "$(OMP_NUM_THREADS=3 OPENBLAS_NUM_THREADS=3 fits --seed=5 $words)" "$once" \
    "the result does not depend on the libraries' threads: $words"
done
out=$(for seed in 1 2 3 4; do fits --seed="$seed" --json --test=0; done | sort -u | wc -l)
ok $((out < 2)) "another seed searches differently"

# terminal ARGUMENT...: both outputs as a terminal shows them
terminal() {
  python3 -c 'import pty, sys
status = pty.spawn(sys.argv[1:])
sys.exit(status >> 8 or status & 127)' "$foretell" "$@" </dev/null
}

shown=$(terminal fit -t peak_bytes "$scratch/net.csv" --generations=2000)
is $? 0 "a search succeeds on a terminal"
ok $(($(grep -oE 'symbolic \[#* *\] +[0-9]+ %' <<<"$shown" | sort -u | wc -l) < 2)) \
  "its progress bar moves"
like "${shown##*$'\033[K'}" '^symbolic .* s  .*edge' "the bar is removed before the result"
unlike "$shown" '\] +([2-9][0-9]{2}|1[1-9][0-9]|10[1-9]) %' "the bar never exceeds 100 %"
run fit -t peak_bytes "$scratch/net.csv" --generations=2000
is "$status:$err" "0:" "no bar is written to a file"

# catches: the process catches SIGINT, the second bit of its signal mask
catches() {
  grep -q '^SigCgt:.*[2367abef]$' "/proc/$pid/status"
}
# searches: the process has used a tenth of a second of CPU time
searches() {
  test "$(cut -d' ' -f14 "/proc/$pid/stat")" -gt 10
}
# start_command ARGUMENT...: starts a search that would take minutes
start_command() {
  "$foretell" fit -t peak_bytes "$@" >"$scratch/out" &
  pid=$!
}
catches_not() {
  ! catches
}
interrupt() {
  kill -INT "$pid"
  wait_child 300 "$pid"
  status=$?
  out=$(cat "$scratch/out")
}
# interrupted ARGUMENT...: the output of an interrupted search
interrupted() {
  start_command "$scratch/net.csv" --generations=100000 "$@"
  wait_until 60 catches
  wait_until 60 searches
  interrupt
}

start_command "$scratch/net.csv" --generations=1000 --json
wait_until 60 searches
interrupt
is "$status $(json methods.symbolic.cancelled)" "0 false" \
  "a process that a script starts in the background ignores an interrupt"
set -m
interrupted --json --seeds=9 --method=all
is "$status" 130 "an interrupt gives exit status 130"
is "$(json methods)" "symbolic linear loglinear" "the JSON object is complete"
is "$(json methods.linear) $(json methods.loglinear)" "null null" "later methods have no result"
is "$(json methods.symbolic.cancelled)" true "the interrupted method is marked as cancelled"
like "$(json methods.symbolic.equation)" '[a-z].*GiB' "it has the best equation so far"
interrupted --front
like "$out" '\(the best so far\)$' "the text marks it as the best so far"
like "$out" $'\n>  +[0-9]+ ' "the text has the front so far"
interrupted --method=all
is "$status $(cut -d' ' -f1 <<<"$out" | tr '\n' ' ')" "130 30 method symbolic " "the text has the table of methods"
interrupted --json --population=100000
is "$status $(json methods.symbolic.cancelled)" "130 true" "an interrupt stops the first of large generations"

awk 'BEGIN {
  srand(1)
  for (i = 0; i < 250; i++) printf "c%d,", i
  print "peak_bytes"
  for (r = 0; r < 1000; r++) {
    for (i = 0; i < 250; i++) printf "%.3f,", 1 + rand()
    print 1 + rand()
  }
}' >"$scratch/wide.csv"
start_command "$scratch/wide.csv" --method=all --seeds=100 --generations=0 --population=2
wait_until 120 grep -q '^symbolic' "$scratch/out"
wait_until 60 catches_not
ok $? "after the search an interrupt is not caught"
interrupt
is "$status $(cut -d' ' -f1 <<<"$out" | tr '\n' ' ')" "130 1000 method symbolic " \
  "the interrupt ends the command, which has printed the results so far"
tap_done
