#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell fit: its results, its errors for bad tables, and interrupts.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"

# table ROW...: writes a table of these rows
table() {
  printf '%s\n' "$@" >"$scratch/t.csv"
}

{
  echo edge,batch,name,peak_bytes
  for edge in 16 32 48 64 96 128; do
    for batch in 1 2 4 8 16; do
      echo "$edge,$batch,$edge-$batch,$((400000000 + 812 * edge ** 3 * batch))"
    done
  done
} >"$scratch/net.csv"

run fit --target=peak_bytes --features=edge,batch "$scratch/net.csv" --json
is "$status" 0 "an equation is found"
is "$(json methods.symbolic.equation)" '"7.562e-07*edge^3*batch + 0.3725 [GiB]"' "it is the true equation, in GiB"
like "$(json methods.symbolic.latex)" 'edge.*\^\{3\} .*mathrm\{GiB\}' "it is printed in LaTeX, too"
is "$(json methods.symbolic.cancelled) $(json methods.symbolic.front.0.length)" "false 1" "the front of equations is in the JSON"
first=$(json methods.symbolic.test_mapes)
run fit --target=peak_bytes --features=edge,batch "$scratch/net.csv" --json
is "$(json methods.symbolic.test_mapes)" "$first" "the same seed gives the same result"
run fit --target=peak_bytes --features=edge,batch -m all --seeds=3 --unit=B --digits=8 "$scratch/net.csv"
is "$status$(grep -c ' s  ' <<<"$out")" 03 "all methods are listed"
like "$out" '812\*edge\^3\*batch \+ 4e\+08 \[B\]' "--unit sets the unit of the equation"
run fit --target=peak_bytes --features=edge,batch --front --test=0 "$scratch/net.csv"
like "$out" $'\n>  +[0-9]+ ' "the front is printed, with the choice marked"
unlike "$out" nan "an empty test part has no error"

# truth: 4e8 + 812 edge^3 batch, with noise of some per cent
table edge,batch,peak_bytes 16,1,410000000 32,4,530000000 48,2,590000000 64,8,1900000000 96,16,7200000000
run fit -t peak_bytes --test=0 "$scratch/t.csv" --json
is "$err" "foretell fit: warning: an equation from 5 rows may fit them by chance; expected 10 or more" \
  "a warning for few rows"
is "$(printf '%s' "$out" | python3 -c 'import json, sys
front = json.load(sys.stdin)["methods"]["symbolic"]["front"]
chosen, = [p for p in front if p["chosen"]]
print(chosen["length"] < 8, chosen["validated_mape"] > 1, max(p["validated_mape"] for p in front[3:]) > 10)')" \
  "True True True" "no long equation that fits five rows exactly is chosen, and the held-out rows show why"
run fit -t peak_bytes --test=0 --method=linear "$scratch/t.csv"
is "$err" "" "linear least squares have no such warning"

table input_bytes,runtime_seconds 1048576,3 2097152,5 3145728,7 4194304,9 5242880,11
run fit -t runtime_seconds --test=0 "$scratch/t.csv"
like "$out" '2\*input_bytes \+ 1 \[input_bytes in MiB\]' "features in bytes have a unit"

{
  echo mb,threads,y
  for mb in 8 16 32 64; do
    for threads in 1 2 3 4 6; do
      echo "$mb,$threads,$((20 + (mb < 16 * threads ? mb : 16 * threads)))"
    done
  done
} >"$scratch/threads.csv"
run fit -t y "$scratch/threads.csv" --test=0
like "$out" 'symbolic +0\.00 .*min\(' "a minimum with threads is found without options"
run fit -t y "$scratch/threads.csv" --test=0 --primitives=add,multiply,square,cube
unlike "$out" 'min\(' "min is not used where it was not chosen"

while IFS='|' read -r rows pattern; do
  IFS=' ' read -ra lines <<<"$rows"
  table "${lines[@]}"
  run fit -t y "$scratch/t.csv"
  is "$status" 2 "rejected: $rows"
  like "$err" "$pattern" "the message has the reason"
done <<'END'
x,y 1,2|1 rows; expected at least 4
x,y 1,2 2,nan 3,4 4,5|line 3, column 3: y 'nan': expected a number
x,y 1,2 2,3 inf,4 4,5|line 4, column 1: x 'inf': expected a number
x,y 1,2 2,3 3,1e300 4,5|line 4, column 3: y '1e300': expected at most 1e100
x,y 1,2 2,0 3,4 4,5|line 3, column 3: y '0': the target must not be 0
x,y 1,2 2 3,4 4,5|line 3: no value for "y"
x,y 1,2 ,3 3,4 4,5|line 3, column 1: x '': expected a number; --skip-missing skips such rows
x,y 1,2 2,n/a 3,4 4,5|line 3, column 3: y 'n/a': expected a number; --skip-missing
x,y 1,2 2,5% 3,4 4,5|line 3, column 3: y '5%': expected a number; --features
x,y 1,2 2026-10-01,3 3,4 4,5|line 3, column 1: x '2026-10-01': expected a number; --features
1,2 2,3 3,4 4,5 5,6|line 1: numbers; expected a line of column names
x,y|0 rows; expected at least 4
x;y 1,5;2 2;3.5 3;4 4;5|line 3, column 3: y '3.5': expected one decimal sign
x;y 1.024,5;2 2;3 3;4 4;5|line 2, column 1: x '1.024,5': expected a number
x,z 1,2 2,3 3,4 4,5|no column "y"
y 1 2 3 4|no column but the target
x:y 1:2 2:3 3:4 4:5|no column "y"; the first is "x:y"
x,x,y 1,1,2 2,4,3 3,9,4 4,6,5|line 1: columns 1 and 2 are both called "x"
x,y,y 1,2,2 2,4,3 3,9,4 4,6,5|line 1: columns 2 and 3 are both called "y"
x,y 1,2 2,3,4 3,4 4,5|line 3: 3 values in 2 columns
x,name,y 1,a,2 2,b,3 3,c,4 4,d,5|line 2, column 3: name 'a': expected a number; --features chooses columns
END
run fit -t y -f x,y "$scratch/t.csv"
like "$err" 'column "y" is named twice; the target cannot be a feature' "the target cannot be a feature"
run fit -t y --digits=18 "$scratch/t.csv"
is "$status" 2 "more digits than a double has are rejected"
run fit -t y --primitives=add,tan "$scratch/t.csv"
like "$err" 'sin, cos, exp' "the message lists the primitives"

while IFS='|' read -r rows what; do
  IFS=' ' read -ra lines <<<"$rows"
  table "${lines[@]}"
  run fit -t y --json "$scratch/t.csv" --primitives=add,subtract,multiply,divide,square,cube,root,log,sin,cos,exp
  is "$status" 0 "$what"
  unlike "$out" 'inf|nan' "no number in the output is infinite or undefined"
done <<'END'
x,y 7,3 7,3 7,3 7,3 7,3|constant columns
x,z,y 1,2,3 2,4,6 3,6,9 4,8,12 5,10,15|collinear columns
x,y 1e99,1e99 -1e99,-1e99 1e-99,1e-99 0,1 5,-1e99|huge values
x,y 0,1 0,2 0,3 0,4 1,5|a column of zeros
END
table x,y 5e-324,1 1e-323,2 1.5e-323,3 2e-323,4 2.5e-323,5
run fit -t y --method=linear "$scratch/t.csv"
is "$status" 2 "a line with an unbounded slope is an error"
like "$err" 'linear regression: no finite solution' "the message states that there is no finite solution"
unlike "$out" 'inf|nan' "no infinite number is printed"

# ---- tables written by other programs

awk 'BEGIN {
  print "x,z,y"
  for (x = 1; x <= 5; x++) for (z = 1; z <= 5; z++) print x + 0.5 "," z "," 3 + 2 * (x + 0.5) * z
}' >"$scratch/plain.csv"
edited() {
  sed "$@" "$scratch/plain.csv" >"$scratch/t.csv"
}
check_equation() {
  run fit -t y --test=0 "$scratch/t.csv" "${@:2}"
  like "$out" ' 2\*x\*z \+ 3$' "$1"
}
check_rejection() {
  run fit -t y "$scratch/t.csv"
  is "$status" 2 "rejected: $1"
  like "$err" "$2" "the message has the reason"
}

edited 's/,/;/g'
check_equation "semicolons"
edited 's/,/;/g; s/\./,/g'
check_equation "semicolons and decimal commas"
edited 's/,/\t/g'
check_equation "tabs"
edited 's/,/\t/g; s/\./,/g'
check_equation "tabs and decimal commas"
edited 's/,/|/g'
check_equation "bars"
edited 's/[^,]*/"&"/g'
check_equation "quotes"
edited '1s/.*/"x","z","y"/; s/$/\r/'
check_equation "quoted names and CRLF"
edited '1s/^/\xef\xbb\xbf/; s/,/, /g'
check_equation "a byte order mark, and blanks behind commas"
edited '1s/^/,/; 1!s/^/row,/'
check_equation "a column without a name"
edited 's/$/,/'
check_equation "a comma at the end of each line"
edited '$!N; s/\n/\n\n/'
check_equation "empty lines"
edited '4s/^[^,]*/NA/; 7s/[^,]*$//'
check_equation "rows that lack a number, left out" --skip-missing
like "$out" '^23 rows, 2 incomplete ones skipped' "--skip-missing counts rows with missing numbers"
run fit -t y --skip-missing --json "$scratch/t.csv"
is "$(json rows) $(json skipped)" "23 2" "the JSON has their number, too"
edited '3,$s/^[^,]*/NA/'
run fit -t y --skip-missing "$scratch/t.csv"
like "$err" '1 complete rows; expected at least 4' "too few remaining rows are rejected"
run fit -t y --test=0 - <"$scratch/plain.csv"
like "$out" ' 2\*x\*z \+ 3$' "a table from standard input"

printf '\xff\xfex\0,\0y\0\n\0' >"$scratch/t.csv"
check_rejection UTF-16 'UTF-16 or UTF-32; expected UTF-8 \(iconv'
printf '\x1f\x8b\x08\0' >"$scratch/t.csv"
check_rejection gzip 'compressed by gzip; expected text'
printf 'PK\3\4' >"$scratch/t.csv"
check_rejection "a spreadsheet" 'a spreadsheet; expected text \(save it as CSV\)'
edited '1s/x/gr\xf6\xdfe/'
check_rejection "Latin-1" "line 1, column 1: name .*: expected UTF-8 without control characters"
tr '\n' '\r' <"$scratch/plain.csv" >"$scratch/t.csv"
check_rejection "CR alone" "line 1, column 5: name 'y\?.*lines that end in LF"
edited '1s/x/"x\nlong"/'
check_rejection "a name of two lines" "line 1, column 1: name .x.long.: expected UTF-8 without control"

# ---- equations of the linear methods

printf '%s\n' input_bytes,n,peak_bytes 1073741824,2,4294967296 2147483648,2,6442450944 \
  3221225472,4,10737418240 1073741824,8,10737418240 4294967296,16,25769803776 >"$scratch/t.csv"
run fit -t peak_bytes "$scratch/t.csv" --method=linear --test=0
like "$out" ' [0-9.e-]+ \+ 2\*input_bytes \+ 1\*n \[GiB; input_bytes in GiB\]$' "linear: units larger than bytes"
run fit -t peak_bytes -f input_bytes "$scratch/t.csv" --method=loglinear --test=0 --digits=2
like "$out" ' [0-9]\.[0-9]\*input_bytes\^0\.[0-9]{2} \[GiB; input_bytes in GiB\]$' \
  "loglinear: units larger than bytes, with --digits digits"
run fit -t peak_bytes -f input_bytes "$scratch/t.csv" --method=linear --test=0 --unit=B
like "$out" ' [0-9.]+e\+09 \+ [0-9.]+e\+09\*input_bytes \[B; input_bytes in GiB\]$' \
  "the target is in the unit of --unit"
printf '%s\n' x,y 1,1e100 2,1e-100 3,1 4,8 5,9 6,1 >"$scratch/t.csv"
run fit -t y "$scratch/t.csv" --method=loglinear
like "$out" $'\nloglinear +[0-9.]+e\+[0-9]+ % ' "an error is in per cent, however large"
"$foretell" fit -t y "$scratch/t.csv" --method=linear >/dev/full 2>"$scratch/err"
is "$?:$(cat "$scratch/err")" "3:foretell fit: standard output: cannot be written" "a full output is an error"
run fit -t y "$scratch/t.csv" --primitives=
is "$status:$out" "2:" "an empty list of primitives is wrong usage"
like "$err" '^foretell fit: --primitives=: expected names of add' "the message lists the primitives"

# ---- many columns, many rows, and an interrupt

awk 'BEGIN {
  srand(1)
  for (i = 0; i < 200; i++) printf "c%d,", i
  print "y"
  for (r = 0; r < 60; r++) {
    for (i = 0; i < 200; i++) printf "%.4f,", c[i] = 1 + 9 * rand()
    print 5 + c[17] * c[45]
  }
}' >"$scratch/wide.csv"
run fit -t y "$scratch/wide.csv" --test=0 -m all
like "$out" '\*c17\*c45 \+ 5$' "of two hundred features the two relevant ones are found"
is "$(grep -c ' s  ' <<<"$out")" 3 "every method accepts two hundred features"
# wide COLUMNS ROWS: a table of COLUMNS features and y, which depends on two of them. The numbers are
# Lehmer's, because rand() of mawk and gawk differ, and of few rows not every table shows the two.
wide() {
  awk -v columns="$1" -v rows="$2" '
  function uniform() { return (state = state * 16807 % 2147483647) / 2147483647 }
  BEGIN {
    state = 4
    for (i = 0; i < 20; i++) uniform()
    for (i = 1; i <= columns; i++) printf "c%d,", i
    print "y"
    for (r = 0; r < rows; r++) {
      for (i = 1; i <= columns; i++) printf "%.3f,", c[i] = 1 + 9 * uniform()
      print 5 + c[columns - 3] * c[7]
    }
  }' >"$scratch/wide.csv"
}
wide 300 40
run fit -t y "$scratch/wide.csv" --method=all
like "$out" '[0-9]\*c7\*c297 \+ 5$' "of three hundred features the relevant ones are found"
is "$(grep -c ' s  ' <<<"$out")" 3 "every method accepts three hundred features"
# fitted METHOD...: the result of each on the table, without run times
fitted() {
  for method; do
    "$foretell" fit -t y "$scratch/wide.csv" --seeds=3 --generations=20 --method="$method"
  done | sed -n '/ s  /s/ [0-9.]* s  / /p'
}
is "$(fitted all)" "$(fitted symbolic linear loglinear)" \
  "the features are the same with all methods together as with each alone, split by split"
wide 5000 40
run fit -t y "$scratch/wide.csv" --json
like "$(json methods.symbolic.equation)" '\*c7\*c4997 \+ 5"' "of five thousand features the relevant ones are found"
wide 10001 4
run fit -t y "$scratch/wide.csv"
is "$status:$err" "2:foretell fit: $scratch/wide.csv: more than 10000 features; --features chooses columns" \
  "more than ten thousand features: the message suggests --features"
run fit -t y -f c1,c10001 "$scratch/wide.csv"
is "$status" 0 "--features selects columns of a wider table"
wide 20000 4
run fit -t y -f c1,c2 "$scratch/wide.csv"
like "$err" 'line 1, column [0-9]+: more than 20000 fields' "more than 20000 columns are rejected"

for o in --tournament=0 --parsimony=3 --crossover=1.5 --mutation=-1; do
  run fit -t y "$scratch/wide.csv" "$o"
  is "$status" 2 "$o is rejected"
done
for o in --tournament=5 --parsimony=1.5 --crossover=0 --mutation=0.1; do
  run fit -t peak_bytes -f edge,batch "$scratch/net.csv" --generations=3 --drawn-constants --json "$o"
  is "$status" 0 "$o is accepted"
done

awk 'BEGIN { print "x,y"; for (i = 1; i <= 100000; i++) print i % 997 + 1 "," 3 * (i % 997 + 1) + i % 7 }' >"$scratch/long.csv"
run fit -t y "$scratch/long.csv" --generations=20
is "$status" 0 "a hundred thousand rows are accepted"
set -m # else the shell starts background processes with SIGINT ignored
"$foretell" fit -t y --generations=100000 --test=0 --json "$scratch/net.csv" -t peak_bytes -f edge,batch >"$scratch/out" &
pid=$!
# searches: the process catches SIGINT, the second bit of its signal mask, and has used half a second of CPU time
searches() {
  grep -q '^SigCgt:.*[2367abef]$' "/proc/$pid/status" && test "$(cut -d' ' -f14 "/proc/$pid/stat")" -gt 50
}
wait_until 60 searches
kill -INT "$pid"
wait_child 120 "$pid"
is $? 130 "an interrupt gives exit status 130"
out=$(cat "$scratch/out")
is "$(json methods.symbolic.cancelled)" true "the best equation so far is printed, marked as cancelled"
tap_done
