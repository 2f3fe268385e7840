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

# interrupted WORDS...: the answer of a search that would take minutes
interrupted() {
  "$foretell" fit -t peak_bytes "$scratch/net.csv" --generations=100000 "$@" >"$scratch/out" &
  pid=$!
  # until it catches SIGINT, the second of its mask's bits
  until grep -q '^SigCgt:.*[2367abef]$' "/proc/$pid/status"; do sleep 0.05; done
  sleep 0.2
  kill -INT "$pid"
  wait "$pid"
  status=$?
  out=$(cat "$scratch/out")
}

set -m # else the shell starts what is in the background deaf to SIGINT
interrupted --json --seeds=9 --method=all
is "$status" 0 "an interrupt is no failure"
is "$(json methods)" "symbolic linear loglinear" "each method has its answer, and the object is whole"
is "$(json methods.symbolic.cancelled)" true "and says that it was cut short"
like "$(json methods.symbolic.equation)" '[a-z].*GiB' "with the best equation so far"
interrupted --front
like "$out" '\(the best so far\)$' "in text, too"
like "$out" $'\n>  +[0-9]+ ' "with the front as far as it is known"
interrupted --json --population=100000
is "$status $(json methods.symbolic.cancelled)" "0 true" "within the first of large generations"
tap_done
