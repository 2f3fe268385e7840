#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell replay in text: a line for each process, then the totals by method.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"

long=NFCORE:WORKFLOW:$(printf 'A%.0s' {1..300})
awk -v long="$long" 'BEGIN {
  srand(5)
  print "process,realtime,rss,memory"
  for (i = 0; i < 30; i++) {
    printf "größe_数据,%d,%d,8000000000\n", 6e5, 1e9 * (1 + rand())
    printf "%s,%d,%d,64000000000\n", long, 36e6, 3e9 * (1 + rand() / 9)
    printf "small,%d,%d,%d\n", 1e3, 1e6 * (1 + i / 9), 64e6
  }
  print "exact,600000,500000000,500000000"
}' >"$scratch/trace.csv"
run replay "$scratch/trace.csv"
is "$status:$err" "0:" "a trace is replayed"

# table COLUMNS: these columns of every process; awk counts fields from either end
table() {
  awk "NR > 1 && !NF { exit } NR > 1 { print $1 }" <<<"$out"
}
is "$(table '$NF' | tr '\n' ' ')" "$long größe_数据 small exact " \
  "each process has a line with its whole name, the largest waste first"
is "$(table '$1' | tr '\n' ' ')" "30 30 30 1 " "the lines have the number of runs"
is "$(awk 'NR == 1 || NF == 13 { sub(/ [^ ]*$/, ""); print length }' <<<"$out" | sort -u | wc -l)" 1 \
  "columns are aligned for names with any characters"
like "$(head -n 1 <<<"$out")" \
  '^ *runs +GB\.h +failures +MAPE % +90 % band +best policy +GB\.h +failures +MAPE % +request GB\.h +failures +MAPE %  process$' \
  "the header names the columns"

text=$out
is "$(sed -n '/^$/,$p' <<<"$text" | sed 1d | cut -d' ' -f1 | tr '\n' ' ')" \
  " request quantile95 regression tovar largest foretell 91 " "the totals by method come last"
run replay "$scratch/trace.csv" --json
is "$(printf '%s' "$out" | python3 -c '
import json, sys
answer = json.load(sys.stdin)

def figures(m, band=()):
    g = m["wastage_gbh"]
    return ["%.*f" % (4 if g < 0.0995 else 2 if g < 99.5 else 0, g), "%.1f" % m["failures"],
            "-" if m["mape"] is None else "%.1f" % m["mape"],
            *("-" if m[b] is None else "%.1f" % (100 * m[b]) for b in band)]

for name, p in sorted(answer["processes"].items(), key=lambda p: -p[1]["foretell"]["wastage_gbh"]):
    best = min([m for m in p if m not in ("foretell", "runs")], key=lambda m: p[m]["wastage_gbh"])
    print(*[p["runs"], *figures(p["foretell"], ["coverage90"]), best, *figures(p[best]),
            *figures(p["request"]), name])' | tr -s ' ')" \
  "$(out=$text && table '$0' | sed 's/^ *//' | tr -s ' ')" "text and JSON have the same values"
is "$(wc -l < <(sed -n '1,/^$/p' <<<"$text"))" 6 "each process has one line"

awk 'BEGIN { print "process,realtime,rss"; for (i = 0; i < 5000; i++) print "p" i ",60000," 1e6 + i }' \
  >"$scratch/many.csv"
run replay "$scratch/many.csv" --node=8G
is "$(table '$NF' | sort -u | wc -l)" 5000 "thousands of processes are all listed"
"$foretell" replay "$scratch/many.csv" --node=8G >/dev/full 2>"$scratch/err"
is "$?:$(cat "$scratch/err")" "3:foretell replay: standard output: No space left on device" \
  "a full standard output is an error"

printf 'process,realtime,rss\nB\351ta,60000,9\n"x\ny\033[2J",60000,9\n' >"$scratch/names.csv"
run replay "$scratch/names.csv" --node=8G
is "$(table '$NF' | sort | tr '\n' ' ')" "B?ta x?y?[2J " "control characters of names are not printed"
run replay "$scratch/names.csv" --node=8G --json
is "$(json processes)" $'B?ta x\ny\e[2J' "the JSON stays valid with a name that is not UTF-8"
tap_done
