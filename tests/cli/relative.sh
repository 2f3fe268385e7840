#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell relative and train relative: their results, and their errors for bad tables.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"

# within NUMBER LOW HIGH TITLE: NUMBER is in this interval
within() {
  awk -v n="$1" -v l="$2" -v h="$3" 'BEGIN { exit !(n >= l && n <= h) }'
  is $? 0 "$4 ($1)"
}

# run times from two latent kinds of work on three platforms
awk 'BEGIN {
  srand(3); print "app,name,flops,bytes,time_us:laptop,time_us:gpu,time_us:server"
  for (i = 0; i < 60; i++) {
    f = exp(6 * rand()); b = exp(5 * rand())
    printf "app%d,run %d,%.6g,%.6g,%.6g,%.6g,%.6g\n", i / 3, i, f, b, f + b, f / 20 + b / 4, f / 2 + b / 1.5
  }
}' >"$scratch/t.csv"

run relative --from=laptop -g app --json "$scratch/t.csv"
is "$status" 0 "rows are predicted from other groups"
within "$(json r2)" 0.8 1 "R2 is high"
within "$(json pairwise_order)" 0.9 1 "the order of platforms is predicted"
within "$(json coverage90)" 0.7 1 "the 90 % interval covers the measured times"
is "$(json rows.0.app) $(json rows.0.speed.0) $(json from)" '"app0" 1 "laptop"' "rows have their names, and the source's speed is 1"
first=$(json rows.7.speed)
run relative --from=laptop -g app --json "$scratch/t.csv"
is "$(json rows.7.speed)" "$first" "the same seed gives the same result"
run relative --from=laptop -g app --plot="$scratch/p" "$scratch/t.csv"
for what in distribution vector order error roc; do
  like "$(head -c 300 "$scratch/p-$what.svg" 2>&1)" '<svg' "the plot $what is drawn"
done
run relative -g app --learner=constant "$scratch/t.csv"
is "$status" 0 "--learner selects a learner"

run train relative --from=laptop -g app -o "$scratch/m" "$scratch/t.csv"
is "$status" 0 "a model is written"
like "$out" 'from laptop to 2 platforms, learnt from 60 rows; typically within a factor of 1\.' "the output has the model's error"
printf '%s\n' flops,bytes,time_us:laptop,time_us:gpu 1000,10,1010, 1000,10,1010,30 ,,1010, >"$scratch/new.csv"
run relative -m "$scratch/m" --json "$scratch/new.csv"
is "$status$(json platforms)" '0["laptop", "gpu", "server"]' "the model predicts a table"
within "$(json rows.0.speed.1)" 10 25 "a row of new features is predicted"
within "$(json rows.1.speed.1)" "$(json rows.0.speed.1)" 34 "a measured time corrects the prediction"
within "$(json rows.2.speed.2)" 0.5 3 "a row without features is predicted"
run relative -m "$scratch/m" "$scratch/new.csv"
like "$out" $'line 2\n  laptop +1.000 times as fast' "the text has the speeds"
for option in --from=gpu --folds=3 --learner=trees --trees=99 --seed=2; do
  run relative -m "$scratch/m" "$option" "$scratch/new.csv"
  like "$status $err" '^2 .*--model is fitted already' "${option%%=*} has no effect on a model and is rejected"
done
printf '%s\n' flops,bytes,time:laptop,time:gpu2 1000,10,1010,30 >"$scratch/renamed.csv"
run relative -m "$scratch/m" "$scratch/renamed.csv"
like "$err" 'platform gpu2 is not in the model' "a renamed platform is named"
printf '%s\n' time:laptop 1010 >"$scratch/bare.csv"
run relative -m "$scratch/m" "$scratch/bare.csv"
like "$status $err" "^0 .*2 of the model's 2 features are not in the table" "missing features are reported"

head -c 3000 "$scratch/m" >"$scratch/cut"
run relative -m "$scratch/cut" "$scratch/new.csv"
like "$status $err" '2 .*cut: cut short or damaged' "a truncated model is rejected"
echo hello >"$scratch/none"
run relative -m "$scratch/none" "$scratch/new.csv"
like "$status $err" '2 .*line 1: expected "foretell-relative 1"' "a file of another kind is rejected"

sed '4s/[^,]*$/0/' "$scratch/t.csv" >"$scratch/zero.csv"
run relative -g app --learner=ridge "$scratch/zero.csv"
like "$status $err" '0 .*skipped 1 time of 0 .not measured.' "a time of 0 is left out"
printf '%s\n' x,time:a,time:b 1,2,3 >"$scratch/one.csv"
run train relative --output="$scratch/one.rel" "$scratch/one.csv"
is "$status $out" "0 $scratch/one.rel: from a to 1 platforms, learnt from 1 rows
  constant     100 %" "a model of one row has no known error"
printf '%s\n' time:a,time:b 2,3 2,4 5,3 6,7 >"$scratch/bare.csv"
run relative "$scratch/bare.csv"
like "$status $out" '^0 4 rows, 0 features, from a;' "without features the times alone predict"
printf '%s\n' x,time:a,time:b 1,2,3 2,2,3 3,2,3 4,2,3 >"$scratch/same.csv"
run relative "$scratch/same.csv"
like "$status $out" 'R2 -, pairs in order 100.000 %' "for times that do not differ R2 is undefined"
{ echo x,time:a,time:b; seq -f '%g,1,2' 20001; } >"$scratch/many.csv"
run relative "$scratch/many.csv"
like "$status $err" '2 .*line 20002: more than 20000 rows' "more than 20000 rows are rejected"
run relative -g app --platforms=laptop,server --json --learner=ridge "$scratch/t.csv"
is "$(json platforms)" '["laptop", "server"]' "--platforms leaves out a platform"

while IFS='|' read -r rows pattern; do
  IFS=' ' read -ra lines <<<"$rows"
  printf '%s\n' "${lines[@]}" >"$scratch/b.csv"
  run relative "$scratch/b.csv"
  is "$status" 2 "rejected: $rows"
  like "$err" "$pattern" "the message has the reason"
done <<'END'
x,time:a 1,2 2,3|times on 1 platform; a ratio takes two
x,y 1,2 2,3|no times: expected columns named time:PLATFORM
x,time:a,time:b 1,0,0 2,0,0|no times: expected columns named time:PLATFORM with numbers above 0
x,x,time:a,time:b 1,1,2,3 2,2,3,4|column 'x': a column of this name occurs twice
x,time:a,time:b 1,1,inf 2,3,4|line 2, column 5: time 'inf': expected a number
x,time:a,time:b 1e308,1,2 2,3,4|expected at most 1e100
x,time:,time:b 1,1,2 2,3,4|column 'time:': expected a name
x,time:a,time:b 1,2,-3 2,3,4|line 2, column 5: time '-3': expected 0 or more
x,time:a,time:b 1,2,fast 2,3,4|line 2, column 5: time 'fast': expected a number
x,time:a,time:a 1,2,3 2,3,4|a column of this name occurs twice
x,time:a,time:b 1,2,1e300|expected at most 1e100
x,time:a,time:b 1,2,3|one group of rows
x,time:a,time:b 1,2,0 2,3,0 3,4,0|no row has times on a and on another
END
run relative --from=moon "$scratch/t.csv"
like "$status $err" '2 .*no times on "moon"' "an unknown source is rejected"
run relative -g app,colour "$scratch/t.csv"
like "$status $err" '2 .*no column "colour"' "an unknown group is rejected"
run relative --learner=oracle "$scratch/t.csv"
like "$status $err" '2 .*expected best, or names of constant' "an unknown learner is rejected"

# The same from the store: apps that use one to two cores, on two platforms, and one app on one platform.
mkdir "$scratch/state"
awk 'BEGIN {
  print "app,job_id,peak_mib,runtime,end,uid,platform,cpu_seconds"
  for (i = 0; i < 90; i++) {
    c = 1 + i % 30 / 29; n = 1700000000 + i
    printf "app%d,%d,100,%.3f,%d,7,two,%.3f\napp%d,%d,100,%.3f,%d,7,one,%.3f\n", i % 30, 2 * i + 1, 10, n, 10 * c, i % 30, 2 * i + 2, 10 * c, n, 10 * c
  }
  print "alone,999,100,10,1700001000,7,two,15"
}' >"$scratch/runs.csv"
run train relative --store --state="$scratch/state" --learner=few_trees
like "$status $err" '2 .*store.db' "a missing store is an error"
run import --state="$scratch/state" "$scratch/runs.csv"
diag "$out $err"
run relative --store --state="$scratch/state" --learner=few_trees --json
is "$status $(json rows | tr '}' '\n' | grep -c app)" "0 30" "each app on several platforms is a row"
within "$(json median_error)" 0 0.05 "the apps' counters predict their speed on the other platform"
run train relative --store --state="$scratch/state" --learner=few_trees
like "$status $out" '^0 .*/relative\.model: from .* to 1 platforms, learnt from 30 rows' "train relative --store writes the site's model"
is "$(stat -c %a "$scratch/state/relative.model")" 600 "only the owner may read the model"
run relative --store --state="$scratch/state" -m "$scratch/state/relative.model"
like "$out" 'app3
  .* 1\.000 times' "the site's model predicts the store's apps"
{ sed '/^alone/!s/,two,/,deux,/' "$scratch/runs.csv"
  echo timeless,3000,100,0,1700002000,7,two,0
  echo timeless,3001,100,0,1700002001,7,one,0
} >"$scratch/renamed.csv"
mkdir "$scratch/new" "$scratch/single"
run import --state="$scratch/new" "$scratch/renamed.csv"
run relative --store --state="$scratch/new" -m "$scratch/state/relative.model" --json
like "$err" 'platform deux is not in the model' "a renamed platform in the store is named"
unlike "$out" timeless "runs without a run time are left out"
sed '/,one,/d' "$scratch/runs.csv" >"$scratch/single.csv"
run import --state="$scratch/single" "$scratch/single.csv"
run relative --store --state="$scratch/single"
like "$status $err" '2 .*store.db: no app has completed on two platforms' "a store of one platform is rejected"
run relative --store "$scratch/t.csv"
like "$status $err" '2 .*--store without a file' "a table and --store exclude each other"
run relative --state="$scratch/state" "$scratch/t.csv"
like "$status $err" '2 .*--state needs --store' "--state needs --store"
run relative --from=laptop -g app --which=3 --json "$scratch/t.csv"
is "$status $(json from) $(json which | grep -o stands_for | wc -l)" '0 "laptop" 3' "--which chooses three representative rows"
run relative --from=laptop -g app --which=3 "$scratch/t.csv"
is "$(awk '{ n += $(NF - 1) } END { print NR, n }' <<<"$out")" "3 60" "each row has one representative"
run relative --which=61 "$scratch/t.csv"
like "$status $err" '2 .*--which=61: expected 1 to 60, the rows with a time on laptop' "more representatives than rows are rejected"
run relative --which=0 "$scratch/t.csv"
like "$status $err" '2 .*--which=0: expected 1 to 60' "zero representatives are rejected"
run relative --which=3 -m "$scratch/m" "$scratch/t.csv"
like "$status $err" '2 .*--which excludes --model and --plot' "--which needs a table"
run train absolute "$scratch/t.csv"
like "$status $err" '2 .*expected "relative"' "train accepts relative only"
run train relative "$scratch/t.csv"
like "$status $err" '2 .*--output=FILE' "train needs --output"
tap_done
