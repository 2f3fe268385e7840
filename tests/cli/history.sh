#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell import, history, report and export, in a state directory of their own.
. "${FT_TOP_SRCDIR:-.}/tests/slurm/tap.sh"

foretell=${FT_TOP_BUILDDIR:-build}/predictor/cli/foretell
fixtures=${FT_TOP_SRCDIR:-.}/tests/fixtures
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
state=$scratch/state
mkdir "$state"

run() {
  "$foretell" "$@" --state="$state" 2>"$scratch/err"
}

out=$(run import "$fixtures/sacct/slurm-22.05-full.txt")
is $? 2 "local times without a time zone are rejected"
like "$(cat "$scratch/err")" "line 2, column .*--timezone.*nothing was imported" "the message suggests --timezone"
like "$(run history)" "no runs yet" "nothing of a rejected file is in the store"

out=$(run import --timezone=+02:00 "$fixtures/sacct/slurm-22.05-full.txt")
is $? 0 "sacct's output is imported"
like "$out" ": 12 runs, 3 jobs not ended" "the message has the numbers of runs and of skipped jobs"
run import --timezone=+02:00 "$fixtures/sacct/slurm-22.05-full.txt" >/dev/null
like "$(run history)" "^alice/train +alice +9 +3 +6 " "a repeated import changes nothing"
is "$(stat -c %a "$state/store.db")" 600 "only root may read the store"

{ cat "$fixtures/sacct/concatenated.txt"; echo "403|EXPLODED|alice|1000|||cl1"; } >"$scratch/bad.txt"
out=$(run import "$scratch/bad.txt")
is $? 2 "one bad line rejects a file"
out=$(run import --keep-going "$scratch/bad.txt")
like "$out" ": 2 runs, 1 line skipped" "with --keep-going bad lines are skipped and counted"
is "$(wc -l <"$scratch/err")" 1 "the bad line is reported"

printf 'app,uid,user,peak_mb\nplain,1,zoe,9\nna\303\257ve,1,zoe,9\nna\357ve,1,zoe,9\n' >"$scratch/names.csv"
run import "$scratch/names.csv" >/dev/null
is "$(run history | LC_ALL=C sed -n 's/ zoe .*//p' | wc -c | tr '\n' ' ')" "$((33 + 34 + 33)) " \
  "columns are aligned for names with any characters"

# a step of several tasks, of which only the largest was measured
{
  echo "JobID|User|UID|JobName|State|Start|End|AllocCPUS|NTasks|MaxRSS"
  for i in 1 2 3 4 5 6; do
    times="2026-11-0${i}T10:00:00|2026-11-0${i}T10:01:00"
    printf '%s\n' "80$i|root|0|press|COMPLETED|$times|8||" "80$i.0||||COMPLETED|$times|8|8|1947286K"
  done
} >"$scratch/tasks.txt"
out=$(run import --timezone=UTC "$scratch/tasks.txt")
like "$out" "of 6 runs only the largest of several tasks was measured" "an import reports runs that it knows in part"
run rebuild >/dev/null
for jobs in --app=root/press --job-name=press; do
  is "$(run predict --user=root "$jobs" --mem=1G --wrap='srun ./press' | sed 's/^[^ ]* //; 2d')" \
    "needs at least 1.86 GiB (6 runs, none with all tasks measured); with --mem=1G it may run out of memory" \
    "$jobs: the largest of several tasks is a lower bound and no estimate"
done

# runs that failed on a line over their input, then four that completed on the same line
awk 'BEGIN { print "app,user,size,peak_mb,exit_code,end";
  for (i = 1; i <= 9; i++) print "pipe,root," 40 * i "," 5 + 100 * i "," (i > 5 ? 0 : 141) "," 1000000 + 100 * i }' >"$scratch/pipe.csv"
pipe() {
  run predict --user=root --app=pipe --params=size=180 --mem="$1" --wrap=true | head -n 1
}
head -n 6 "$scratch/pipe.csv" >"$scratch/failed.csv"
run import --features=size "$scratch/failed.csv" >/dev/null
run rebuild >/dev/null
like "$(pipe 100M)" "^pipe may need 4[34][0-9] MiB, 95 % below 4[4-6][0-9] MiB .5 runs that did not complete.; with --mem=100M it may run out" \
  "runs that failed on a line over their input give a number, said to be theirs"
like "$(pipe 64G)" "--mem=64G is unchanged" "which lowers nothing"
like "$(run predict --json --user=root --app=pipe --params=size=180 --wrap=true)" '"runs": 0,.*"stopped_runs": 5' \
  "predict --json has their number"
run import --features=size "$scratch/pipe.csv" >/dev/null
run rebuild >/dev/null
like "$(pipe 64G)" "^pipe (may need|needs) 4[34][0-9] MiB, 95 % below 4[3-5][0-9] MiB .4 runs and 5 that did not complete." \
  "those that agree with completed ones count with them"

awk 'BEGIN { print "app,batch,arch,peak_mb,runtime";
  for (i = 0; i < 40; i++) {
    b = 8 * (1 + i % 8); a = i % 3 ? "vgg" : "resnet";
    printf "net,%d,%s,%.1f,%d\n", b, a, 500 + b * (i % 3 ? 30 : 15) + i % 5, 60 } }' >"$scratch/net.csv"
out=$(run import --features='*' "$scratch/net.csv")
is $? 0 "a CSV table is imported"
out=$(run history --fit --limit=1 net)
like "$out" "batch=[0-9]+,arch=" "a run is listed with its features"
like "$out" "method [a-z]" "--fit prints the model's method"
like "$out" "batch +x[0-9.]+ per .* observed from 8 to 64" "--fit prints a feature's effect as a factor"
json=$(run history --fit --json net)
is "$(printf %s "$json" | python3 -c 'import json, sys
d = json.load(sys.stdin)
print(d["app"], len(d["runs"]), d["fit"]["completed"], d["runs"][0]["swap_bytes"])')" \
  "net 20 40 None" "history prints JSON"
is "$(run history --limit=39 net | tail -n 1)" "older ones not shown; --limit=0 shows all" \
  "the last line reports that --limit left out runs"
is "$(run history --limit=2 | tail -n 1) $(run history --limit=2 | wc -l)" \
  "older ones not shown; --limit=0 shows all 4" "the last line reports that --limit left out apps"
is "$(run history --limit=40 net | wc -l)" 41 "there is no such line if all runs fit"
is "$(run history --limit=0 net)" "$(run history --limit=40 net)" \
  "runs are listed newest first with any limit"
is "$(run history --since=2999-01-01) $(run history --since=2999-01-01 net)" \
  "no runs since 2999-01-01 no runs since 2999-01-01" "the message states that no run is that new"
run report --app=nonsense >/dev/null
is "$?:$(cat "$scratch/err")" "1:foretell report: nonsense: no runs of this app" "no report of an unknown app"
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
  chmod 711 "$scratch"
  like "$(setpriv --reuid=65534 --clear-groups "$foretell" import --state="$state" - </dev/null 2>&1)" \
    "Permission denied; only root and the user of foretell-learnd may import" "an import names who may import"
else
  skip "an import names who may import" "it takes root"
fi
run history nonsense >/dev/null
is $? 1 "an unknown app gives exit status 1"

# what the runs are worth
printf 'app,uid,user,peak_mb,runtime\n' >"$scratch/kinds.csv"
awk 'BEGIN { print "app,uid,user,peak_mb,runtime,end"
  for (i = 0; i < 36; i++) print "steady,1,zoe," 100 + i % 3 ",60," 1795224000 + 9000 * i }' >"$scratch/steady.csv"
run import "$scratch/steady.csv" >/dev/null
for i in 1 2 3 4 5 6; do printf 'kinds,1,zoe,4%d,60\nkinds,1,zoe,16%d,60\n' $i $i; done >>"$scratch/kinds.csv"
run import "$scratch/kinds.csv" >/dev/null
run rebuild >/dev/null
like "$(run history --limit=1 net | tr '\n' ' ')" \
  "comparable: [0-9]+ of 40 runs, [0-9]+ of them completed, with a similar batch.*mode trim lowers no request yet" \
  "history tells which runs are comparable and what they allow"
like "$(run history --limit=1 steady)" "mode trim lowers a larger request, to [0-9]+[MG]" \
  "a steady app's requests are lowered"
like "$(run history --limit=1 kinds)" "two kinds of runs: about [0-9.]+ MiB \(6\) and about [0-9.]+ MiB \(6\)" \
  "history tells the kinds of runs"
is "$(run history --json kinds | python3 -c 'import json, sys
t = json.load(sys.stdin)["trust"]
print(t["comparable"], [k["runs"] for k in t["kinds"]], t["lowered"]["done"], t["misfits"])')" \
  "12 [6, 6] False []" "the JSON has it, too"

# parts of names, and jobs
cat >"$scratch/found.csv" <<'CSV'
app,uid,user,job_id,array_job_id,array_task_id,submit,end,peak_mb,state
fold-proteins,1,zoe,139,0,0,1795224000,1795224100,100,completed
fold-sheets,1,zoe,142,140,4,1795224000,1795224200,200,completed
fold-sheets,1,zoe,143,140,5,1795224000,1795224300,300,completed
fold-140,1,zoe,7,0,0,1795224000,1795224400,400,completed
CSV
run import "$scratch/found.csv" >/dev/null
is "$(run history FOLD | sed 's/ .*//' | tr '\n' ' ')" "APP fold-140 fold-sheets fold-proteins " \
  "apps are found by part of their names"
like "$(run history prot)" " 139 .*completed +95.4 MiB" "a single match lists the app's runs"
is "$(run history prot --json | python3 -c 'import json, sys
d = json.load(sys.stdin); print(d["app"], len(d["runs"]))')" "fold-proteins 1" "the JSON has its whole name"
like "$(run history 139)" " 139 .*fold-proteins" "a job is found by its number, and its app is named"
is "$(run history 140 | awk '{ print $2 }' | tr '\n' ' ')" "JOB 140_5 140_4 " "a job array lists all its tasks"
is "$(run history 140_4 | awk '{ print $2 }' | tr '\n' ' ')" "JOB 140_4 " "a task of an array is found"
is "$(run history 143 | awk '{ print $2 }' | tr '\n' ' ')" "JOB 140_5 " "a task is found by its own job number"
is "$(run history 140_4 --json | python3 -c 'import json, sys
d = json.load(sys.stdin); print(d["job"], [run["array_task_id"] for run in d["runs"]])')" "140_4 [4]" \
  "the JSON has the task"
is "$(run history --fit fold; cat "$scratch/err")" \
  "foretell history: fold: several apps contain this name; --fit needs one app" "--fit needs a single app"
for word in 141 140_6 140_ _4 00 4294967296 140_99999999999 '%' "$(printf 'x\033[2J')"; do
  run history "$word" >"$scratch/out"
  is "$?:$(cat "$scratch/out"):$(LC_ALL=C tr -d ' -~\n' <"$scratch/err" | wc -c)" "1::0" \
    "no app and no job: $(printf %s "$word" | tr -d '\033')"
done

# the script, or the name of the job, that an app was made from
printf '#!/bin/sh\n#SBATCH --job-name=night\npython3 simulate.py --n 3\n' >"$scratch/train.sh"
made=$("$foretell" predict --state="$state" --json "$scratch/train.sh" 2>/dev/null | sed -n 's/.*"app": *"\([^"]*\)".*/\1/p')
awk -v app="$made" -v uid="$(id -u)" 'BEGIN { print "app,uid,user,job_id,job_name,submit,end,peak_mb,state"
  for (i = 1; i < 10; i++)
    printf "%s,%d,me,%d,night,%d,%d,%d,completed\n", app, uid, 9500 + i, 1795224000, 1795224000 + i, 100 + i }' \
  >"$scratch/made.csv"
run import "$scratch/made.csv" >/dev/null
like "$made:$(run history "$scratch/train.sh")" " 9509 .*completed" "an app is found by its script"
like "$(run history night)" " 9509 .*completed" "an app is found by the name of its jobs"
like "$(run history src/simulate.py)" " 9509 .*completed" "an app is found by the path of its program"
like "$(run report --app="$scratch/train.sh")" "^simulate.py-" "the report of a script"
is "$(cat "$scratch/err")" "foretell report: $scratch/train.sh: app $made" "a report names the app of the script"
is "$(run forget --dry-run "$scratch/train.sh")" "would forget 9 runs of 1 app" "forget takes a script"
run rebuild --app="$made" >/dev/null
ignore_fontconfig
run plot --app="$scratch/train.sh" --output="$scratch/made.svg"
is "$?:$(head -c 5 "$scratch/made.svg")" "0:<?xml" "plot takes a script"
for word in simulat.py nihgt; do
  run history "$word" >/dev/null
  is "$?:$(cat "$scratch/err")" \
    "1:foretell history: $word: no runs of an app or job of this name; similar names: $made" "$word: the app is suggested"
done
run report --app=nihgt >/dev/null
is "$?:$(cat "$scratch/err")" "1:foretell report: nihgt: no runs of this app; similar names: $made" \
  "a report suggests the app"

# times and a limit with the agent's precision
printf '%s\n' app,job_id,submit,start,end,runtime,outcome,rss_bytes,killed_at_bytes \
  exact,900001,1795224700,1795224712.9577742,1795224718.25,5.2922258,out_of_memory,73396224,73400320 \
  >"$scratch/exact.csv"
run import "$scratch/exact.csv" >/dev/null
is $? 0 "fractions of a second are imported"

run export >"$scratch/all.csv"
state=$scratch/other
mkdir "$state"
out=$(run import "$scratch/all.csv")
run export >"$scratch/again.csv"
cmp -s "$scratch/all.csv" "$scratch/again.csv"
ok $? "an export is imported unchanged"
is "$(run export --format=jsonl --app=net | python3 -c 'import json, sys
print(sum(json.loads(line)["rss_bytes"] > 0 for line in sys.stdin))')" 40 "--format=jsonl prints one object a line"
is "$(run export --json --app=net | python3 -c 'import json, sys
print(sum(run["rss_bytes"] > 0 for run in json.load(sys.stdin)["runs"]))')" 40 "export --json prints one object"
state=$scratch/damaged
mkdir "$state"
head -c 4096 /dev/zero >"$state/store.db"
for words in "" "net" "--json"; do
  out=$(run history $words)
  is "$?:$out" "3:$([ "$words" = --json ] && echo '{"apps": []}')" \
    "a damaged store is an error: history $words"
done
state=$scratch/empty
mkdir "$state"
run import /dev/null >/dev/null 2>&1
is "$(run export --json) $(run history --json)" '{"runs":[]} {"apps": []}' "an empty store has empty results"
run report --json | python3 -c 'import json, sys; json.load(sys.stdin)'
ok $? "an empty store has a report"
for command in predict\ --app=x history report export; do
  out=$(state=$scratch/nowhere run $command --json)
  is "$?:$out" 3: "a missing store is an error: $command"
done
state=$scratch/state

# requests of 1 GiB for an hour: one raised and completed, one set and killed, one lowered
cat >"$scratch/decided.csv" <<'CSV'
app,runtime,state,peak_mib,request_mib,limit_mib,decision_action,decision_mem_bytes,decision_p05_bytes,decision_p50_bytes,decision_p95_bytes,decision_mode,decision_overrode
d,3600,completed,1536,1024,2048,raise,2147483648,1500000000,1600000000,1700000000,raise,
d,3600,out_of_memory,2048,,2048,set,2147483648,1500000000,1600000000,1700000000,set,
d,3600,completed,256,1024,512,trim,536870912,200000000,268435456,300000000,trim,
d,3600,out_of_memory,1024,1024,1024,leave,0,,,,force,1
CSV
run import "$scratch/decided.csv" >/dev/null
is "$(run report --json --app=d | python3 -c 'import json, sys
t = json.load(sys.stdin)["total"]
print(t["runs"], t["predicted"], t["ooms_suffered"], t["ooms_avoided"], t["ooms_caused"],
      round(t["median_error"], 4), t["coverage90"], round(t["asked_gbh"], 3), round(t["used_gbh"], 3),
      round(t["saved_gbh"], 3))')" \
  "4 2 2 1 1 0.0033 1 3.221 2.953 -0.537" "the report has the right counts"
like "$(run report --app=d)" "^total +4 " "report prints the totals"
is "$(run report --json --app=d | python3 -c 'import json, sys
t = json.load(sys.stdin)["total"]
print(t["set"], t["raised"], t["lowered"], round(t["freed_gbh"], 3), round(t["added_gbh"], 3), round(t["lost_gbh"], 3),
      t["overrides"], t["overrides_out_of_memory"], round(t["freed_gbh"] - t["added_gbh"] - t["saved_gbh"], 9))')" \
  "1 1 1 0.537 1.074 2.147 1 1 0.0" "the report has the memory freed, added and lost"
like "$(run report --app=d)" "requests: 1 set, 1 raised, 1 lowered; 0.54 GBh freed, 1.07 GBh added, 2.15 GBh lost in 1 run that" \
  "report prints the memory freed, added and lost"
like "$(run report --app=d)" "rejections: 0 submissions rejected, 1 overridden .force., of which 1 ran out of memory" "report prints the overrides"
is "$(run report --json --since=2100-01-01 | python3 -c 'import json, sys
print(json.load(sys.stdin)["total"]["median_error"])')" None "without evidence a value is null"

# Time limits: one lowered from 2 h to 1 h that sufficed, one raised from 30 min to 2 h that was needed, one set that a
# timeout ended, and one without a decision. Energy: of one all, of one half a node's, of one unknown, and one negative.
cat >"$scratch/timed.csv" <<'CSV'
app,runtime,state,request_time_limit_seconds,decision_time_mode,decision_time_action,decision_time_seconds,decision_p05_seconds,decision_p50_seconds,decision_p95_seconds,gpu_energy_joules,package_energy_joules,package_energy_share
t,1800,completed,7200,trim,trim,3600,1500,1980,2100,3600000,,
t,5400,completed,1800,raise,raise,7200,3000,5400,6000,,7200000,0.5
t,1800,timeout,,set,set,1800,900,1200,1500,,7200000,
t,900,completed,3600,,,,,,,-5,,
CSV
run import "$scratch/timed.csv" >/dev/null
is "$(run report --json --app=t | python3 -c 'import json, sys
t = json.load(sys.stdin)["total"]["runtime_seconds"]
print(*(round(t[k], 3) for k in ("predicted", "median_error", "coverage90", "asked_hours", "used_hours", "saved_hours",
        "freed_hours", "added_hours", "lost_hours", "timeouts_suffered", "timeouts_avoided", "timeouts_caused", "set",
        "raised", "lowered")))')" \
  "2 0.05 1 3.5 2.25 -0.5 1 1.5 0.5 1 1 1 1 1 1" "the report has the run times as it has the memory"
like "$(run report --app=t)" "^run time
APP .* ASKED h .* TIMEOUTS" "report prints a table of run times"
like "$(run report --app=t)" "^energy: 2 kWh in the 2 of 4 runs where it was measured; a run needs 1 kWh$" \
  "report prints the energy that was measured"
echo 'co2_grams_per_kwh = 400' >"$scratch/foretell.conf"
like "$(FORETELL_CONFIG=$scratch/foretell.conf run report --app=t)" "; 800 g of CO2 at 400 g/kWh;" "and its CO2 where the site gives grams"
like "$(run history t)" ' 30 min +33 min +1 h ' "history has the run time, the predicted one and the limit"

# a job on two nodes for an hour: 1 GiB requested and 512 MiB given on each, 256 and 128 MiB used
cat >"$scratch/nodes.csv" <<'CSV'
app,job_id,submit,start,end,runtime,node,state,peak_mib,request_mib,limit_mib,decision_action,decision_mem_bytes,decision_p05_bytes,decision_p50_bytes,decision_p95_bytes,allocated_nodes
two,77,1795224000,1795224000,1795227600,3600,n1,completed,128,1024,512,trim,536870912,200000000,268435456,300000000,2
two,77,1795224000,1795224000,1795227600,3600,n2,completed,256,1024,512,trim,536870912,200000000,268435456,300000000,2
CSV
run import "$scratch/nodes.csv" >/dev/null
is "$(run history two | awk 'NR > 1 { print $2, $3, $4, $6, $7 }')" "77 n2 +1 256 MiB" "a job on two nodes is listed once"
is "$(run history two --json | python3 -c 'import json, sys
runs = json.load(sys.stdin)["runs"]
print(len(runs), runs[0]["recorded_nodes"], runs[0]["peak_bytes"])')" "1 2 268435456" "its JSON has the largest peak"
like "$(run history)" "^two +[^ ]+ +1 +1 +0 .* 256 MiB to 256 MiB$" "an app's runs are counted, not its nodes"
is "$(run export --app=two | tail -n +2 | wc -l)" 2 "each node is exported"
is "$(run report --json --app=two | python3 -c 'import json, sys
t = json.load(sys.stdin)["total"]
print(t["runs"], t["predicted"], t["median_error"], t["lowered"], round(t["asked_gbh"], 3),
      round(t["used_gbh"], 3), round(t["saved_gbh"], 3), round(t["freed_gbh"], 3))')" \
  "1 1 0 1 2.147 0.403 1.074 1.074" "the report weighs the memory of both nodes"

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$scratch" "$state"
  install -m 0755 "$foretell" "$scratch/foretell" # the build may be below a directory that others cannot enter
  out=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$scratch/foretell" history --state="$state" 2>&1)
  like "$out" "store.db: not readable, and foretell-learnd did not answer: .*; showing model files instead" \
    "without permission for the store the message states the reason"
  setpriv --reuid=65534 --regid=65534 --clear-groups "$scratch/foretell" report --state="$state" 2>/dev/null
  is $? 3 "without permission for the store there is no report"
else
  skip "without permission for the store the message states the reason" "not root"
fi

state=$scratch/models
for app in 1 2 3 4 5 6 7 8 9; do
  "${FT_TOP_BUILDDIR:-build}/tests/cli/make_state" "$state" "$(id -u)" "app$app" $((app * 7 % 10))
done
is "$(run history --limit=3 | cut -d' ' -f1 | tr '\n' ' ')" "APP app7 app4 app1 older " \
  "from model files, too, the app that ran last is listed first"

state=$scratch/mapped
mkdir "$state"
printf '%s\n' mem,secs,batch 100M,10,3 >"$scratch/mapped.csv"
run import --app=a --cluster=far --features=batch --map=mem=peak_mb,secs=runtime "$scratch/mapped.csv" >/dev/null
is "$(run export --json | python3 -c 'import json, sys
for run in json.load(sys.stdin)["runs"]:
    print(run["cluster"], run["rss_bytes"], run["runtime_seconds"], run["features"])')" \
  "far 104857600 10 {'batch': 3}" "--map accepts any column names, and --cluster sets the cluster"
run import --app=a --map=mem=size "$scratch/mapped.csv" >/dev/null
is "$? $(cat "$scratch/err")" \
  "2 foretell import: --map mem=size: no such field; nothing was imported from $scratch/mapped.csv" "--map rejects an unknown field"

state=$scratch/piped
mkdir "$state"
awk 'BEGIN { print "app,job_id,peak_mb"
  for (i = 1; i <= 100; i++) printf "a,%d,10\n", i
  print "a,101,ten" }' >"$scratch/long.csv"
run import --format=csv - <"$scratch/long.csv" >/dev/null
is "$? $(sed 's/.*; //' "$scratch/err")" "2 nothing was imported from standard input" \
  "a file with a bad line is not imported in part, as standard input, either"
cat "$scratch/long.csv" | run import --format=csv - >/dev/null
is "$? $(sed 's/.*; //' "$scratch/err")" "2 nothing was imported from standard input" \
  "nor as a pipe"
sed -i '$d' "$scratch/long.csv"
run import "$scratch/long.csv" >/dev/null
is "$(run history --json | python3 -c 'import json, sys
print(json.load(sys.stdin)["apps"][0]["runs"])')" 100 "a repeated import completes an interrupted one"
state=$scratch/mapped

run export >/dev/full
is $? 3 "a full standard output is an error"

awk 'BEGIN { print "app,n,peak_mb"
  for (i = 0; i < 12; i++) printf "lin,%d,%.1f\n", 40 + 10 * i, 45 + 10 * i + i % 2 / 10 }' >"$scratch/lin.csv"
run import --features='*' "$scratch/lin.csv" >/dev/null
like "$(run history --fit --limit=1 lin)" "n +\\+[0-9.]+ MiB per .* observed from 40 to 150" \
  "--fit prints a feature's effect as an amount of memory"
tap_done
