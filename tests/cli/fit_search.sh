#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell fit: what a seed decides, what a search shows while it runs and what an interrupt leaves.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"

awk 'BEGIN {
  srand(7)
  print "edge,batch,peak_bytes"
  for (edge = 16; edge <= 96; edge += 16) for (batch = 1; batch <= 16; batch *= 2)
    printf "%d,%d,%.0f\n", edge, batch, (4e8 + 812 * edge ^ 3 * batch) * (0.97 + 0.06 * rand())
}' >"$scratch/net.csv"

# fits WORDS...: the whole answer, text or JSON, without the seconds it took
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
    "whatever threads libraries may have: $words"
done
out=$(for seed in 1 2 3 4; do fits --seed="$seed" --json --test=0; done | sort -u | wc -l)
ok $((out < 2)) "another seed searches another way"

# terminal WORDS...: both outputs as a terminal shows them
terminal() {
  python3 -c 'import pty, sys
status = pty.spawn(sys.argv[1:])
sys.exit(status >> 8 or status & 127)' "$foretell" "$@" </dev/null
}

shown=$(terminal fit -t peak_bytes "$scratch/net.csv" --generations=2000)
is $? 0 "a search on a terminal"
ok $(($(grep -oE 'symbolic \[#* *\] +[0-9]+ %' <<<"$shown" | sort -u | wc -l) < 2)) \
  "it shows how far it is, more than once"
like "${shown##*$'\033[K'}" '^symbolic .* s  .*edge' "and takes that away before it answers"
unlike "$shown" '\] +([2-9][0-9]{2}|1[1-9][0-9]|10[1-9]) %' "never past the end"
run fit -t peak_bytes "$scratch/net.csv" --generations=2000
is "$status:$err" "0:" "into a file there is nothing to be shown"

# catches: whether it catches SIGINT, the second of its mask's bits
catches() {
  grep -q '^SigCgt:.*[2367abef]$' "/proc/$pid/status"
}
# searches: whether it has worked for a tenth of a second
searches() {
  test "$(cut -d' ' -f14 "/proc/$pid/stat")" -gt 10
}
# begin WORDS...: something that would take minutes
begin() {
  "$foretell" fit -t peak_bytes "$@" >"$scratch/out" &
  pid=$!
}
interrupt() {
  kill -INT "$pid"
  wait_child 300 "$pid"
  status=$?
  out=$(cat "$scratch/out")
}
# interrupted WORDS...: the answer of a search that is interrupted
interrupted() {
  begin "$scratch/net.csv" --generations=100000 "$@"
  wait_until 60 catches
  sleep 0.2
  interrupt
}

begin "$scratch/net.csv" --generations=1000 --json
wait_until 60 searches
interrupt
is "$status $(json methods.symbolic.cancelled)" "0 false" \
  "what a script started in the background is deaf to an interrupt"
set -m
interrupted --json --seeds=9 --method=all
is "$status" 130 "an interrupt is told as one"
is "$(json methods)" "symbolic linear loglinear" "the object is whole"
is "$(json methods.linear) $(json methods.loglinear)" "null null" "and what comes after it is not begun"
is "$(json methods.symbolic.cancelled)" true "and says that it was cut short"
like "$(json methods.symbolic.equation)" '[a-z].*GiB' "with the best equation so far"
interrupted --front
like "$out" '\(the best so far\)$' "in text, too"
like "$out" $'\n>  +[0-9]+ ' "with the front as far as it is known"
interrupted --method=all
is "$status $(cut -d' ' -f1 <<<"$out" | tr '\n' ' ')" "130 30 method symbolic " "in text as well"
interrupted --json --population=100000
is "$status $(json methods.symbolic.cancelled)" "130 true" "within the first of large generations"

awk 'BEGIN {
  srand(1)
  for (i = 0; i < 250; i++) printf "c%d,", i
  print "peak_bytes"
  for (r = 0; r < 1000; r++) {
    for (i = 0; i < 250; i++) printf "%.3f,", 1 + rand()
    print 1 + rand()
  }
}' >"$scratch/wide.csv"
begin "$scratch/wide.csv" --method=all --seeds=100 --generations=0 --population=2
wait_until 120 grep -q '^symbolic' "$scratch/out"
ok $(($(catches && echo 1) + 0)) "once the search is over, an interrupt is not caught"
interrupt
is "$status $(cut -d' ' -f1 <<<"$out" | tr '\n' ' ')" "130 1000 method symbolic " \
  "it ends the command, which has told what was known"
tap_done
