#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Three partitions of different (declared) platforms. Runs on two of them are measured; then sbatch, salloc
# and srun compare the partitions and choose one. An unknown run time, price or platform changes nothing.
. "$(dirname "$0")/play.sh"
FT_ENFORCE=none
FT_NODES='slow 4 8000
fast 4 8000 Feature=quick,ib
small 4 60 Feature=tiny
strange:down 4 8000'
FT_PARTITIONS='PartitionName=slow Nodes=@slow@ Default=YES MaxTime=60
PartitionName=fast Nodes=@fast@ MaxTime=60
PartitionName=small Nodes=@small@ MaxTime=60
PartitionName=strange Nodes=@strange@ MaxTime=60
PartitionName=both Nodes=@slow@,@fast@ MaxTime=60
PartitionName=shut Nodes=@fast@ MaxTime=60 State=DOWN
PartitionName=groups Nodes=@fast@ MaxTime=60 AllowGroups=no-such-group Hidden=YES
PartitionName=accounts Nodes=@fast@ MaxTime=60 AllowAccounts=bio Hidden=YES
PartitionName=root Nodes=@fast@ MaxTime=60 RootOnly=YES Hidden=YES
PartitionName=short Nodes=@fast@ MaxTime=10 MaxNodes=1 MaxCPUsPerNode=2 Hidden=YES'
# the nodes' names end in this shell's pid (cluster.sh)
conf='min_runs = 3
cluster_refresh = 10
floor = "16M"
round = "1M"
currency = "EUR"
platform "small" { feature = "tiny"  price = 36  price_per = node }'
slow='platform "old" { nodes = "slow-['$$'-'$$']"  price = 36  price_per = cpu }'
fast='platform "new" { nodes = "fast-*"  price = 360  price_per = cpu }'
FT_FORETELL_CONF="$conf
$slow
$fast"
play_begin
published() {
  [ "$(ls "$FT_STATE/partitions" | wc -l)" = 10 ] && [ -s "$FT_STATE/platforms" ]
}
wait_until 15 published

# reconfigure LINE...: writes foretell.conf with these lines and waits until every partition is published again
reconfigure() {
  local before
  before=$(written)
  FT_FORETELL_CONF=$conf$(printf '\n%s' "$@")
  cluster_write_foretell_conf
  cluster_reload_agent
  wait_until 60 changed "$before"
}
written() { stat -c %n=%Y.%i "$FT_STATE"/partitions/{.all,*} | sort; }
changed() {
  [ -z "$(comm -12 <(echo "$1") <(written))" ]
}
# version_before MAJOR.MINOR: the installed Slurm is older
version_before() {
  local here
  here=$(scontrol --version | sed 's/^[^0-9]*//')
  [ "$(printf '%s\n' "$1" "$here" | sort -V | head -n 1)" = "$here" ]
}
# partition ID: prints the job's partition
partition() {
  job_field "$1" Partition
}
# choose GOAL OPTION...: submits a held job of the app with --predict-partition=GOAL
choose() {
  local which=$1
  shift
  submit_held --predict-app=nap --predict-partition="$which" "$@" --wrap true
}

# ---- without runs
submit_held --predict-app=nap --predict-perf --wrap true
like "$err" 'foretell: nap: no recorded run time yet' "without runs the table states that there is no run time"
like "$err" 'foretell: slow +old +\? ' "without runs the table has the platforms"
choose fastest:slow,fast
is "$(partition "$id") $(message_lines)" "slow 1" "without runs no partition is chosen"
like "$err" 'nap: no recorded run time yet; --partition unchanged$' "the message states that there is no run time"

# ---- runs on two platforms, as the agent measures them
cat >nap.sh <<END
#!/bin/sh
case \$SLURMD_NODENAME in
slow*) exec $hog --mib 100 --seconds 4 ;;
*) exec $hog --mib 100 --seconds 1 ;;
esac
END
ids=
for turn in 1 2 3 4; do
  for where in slow fast; do
    submit sbatch --parsable --output=/dev/null -p $where --mem=200M --predict-app=nap nap.sh
    ids="$ids $id"
  done
done
for id in $ids; do
  job_wait "$id" >/dev/null
done
wait_until 15 has_runs nap 8
is "$(store "select group_concat(p) from (select platform || '=' || count(*) as p from observation where app = 'nap' group by platform order by 1)")" \
  new=4,old=4 "each run has the platform that the configuration declares for its node"
times_known() {
  "$foretell" predict --json --state="$FT_STATE" --app=nap -p fast | grep -q '"relative": *\[ *{'
}
wait_until 15 times_known
ok $? "run times are published"

submit_held --predict-app=nap --predict-perf --wrap true
diag "$err"
is "$(grep -cE 'foretell: (slow|fast|small|strange|both|shut) ' <<<"$err")" 7 "a line for each platform of each partition"
like "$err" 'foretell: slow +old +1 +[0-9.]+ s \(.*\) +4 +0\.0[0-9]+ EUR +7.81 GiB, fits +yes, ' "the current partition has speed 1"
like "$err" 'foretell: fast +new +[1234]\.[0-9]+ \([^)]*\) +[1234](\.[0-9]+)? s \([^)]*\) +4 +[0-9.]+ EUR' "the run time on the other platform is 1 to 4.9 s"
like "$err" 'foretell: small +small +\? +\? +\? +\? +60 MiB, too little' "the table marks too little memory"
like "$err" 'foretell: strange +\? +\? ' "an unknown platform has question marks"
like "$err" 'foretell: shut .*; it starts no jobs now' "the table marks a partition that is down"
like "$err" 'foretell: speed is relative to slow; fastest: fast; cheapest: slow \(' "the last line names the fastest and the cheapest partition"
is "$(partition "$id")" slow "--predict-perf changes nothing"

# ---- a choice
choose fastest:slow,fast
is "$(partition "$id")" fast "the fastest is chosen"
like "$err" 'foretell: nap: --partition set to fast, the fastest \(.* times as fast as slow\)$' "the message has the speed-up"
diag "$err"
choose cheapest:slow,fast -p fast
is "$(partition "$id")" slow "the cheapest is chosen, though --partition names another"
choose fastest -p slow,fast,small
is "$(partition "$id")" fast "without a list the partitions of --partition are compared"
choose fastest -p slow
is "$(partition "$id") $(message_lines)" "slow 1" "a single partition of --partition stays"
FORETELL_PREDICT_PARTITION=fastest:slow,fast submit_held --predict-app=nap -p slow --wrap true
is "$(partition "$id")" slow "a single --partition has precedence over the environment"
FORETELL_PREDICT_PARTITION=fastest:slow,fast submit_held --predict-app=nap --wrap true
is "$(partition "$id")" fast "without --partition the environment applies"
choose fastest:fast,both
is "$(partition "$id")" fast "a partition with slow and fast nodes counts as slow"
choose fastest:slow,both -C 'quick&ib'
is "$(partition "$id")" both "a --constraint that the slow nodes do not satisfy makes it fast"
choose fastest:slow,both -C quick -p slow
is "$(partition "$id")" both "it is chosen where the current partition does not satisfy --constraint"
choose fastest:slow,fast -C nowhere
like "$err" 'it fits none of slow,fast; --partition unchanged' "a constraint that no node satisfies changes nothing"
submit_held --predict-app=nap --predict-perf -C quick --wrap true
like "$err" 'foretell: slow .*; no node satisfies --constraint' "the table marks a partition without a node for --constraint"
is "$(grep -cE 'foretell: both ' <<<"$err")" 1 "the table has only the nodes that satisfy it"
choose fastest:strange,small
is "$(partition "$id") $(message_lines)" "slow 1" "a partition that is unknown or does not fit is not chosen"
choose fastest:slow,strange -p strange
is "$(partition "$id")" strange "an unknown current partition is not left"
choose fastest:shut,slow -p shut
is "$(partition "$id")" slow "a current partition that is down is left"
scontrol update nodename="$(cluster_node fast)" state=drain reason=test
before=$(written)
cluster_reload_agent
wait_until 60 changed "$before"
submit_held --predict-app=nap --predict-perf --wrap true
like "$err" 'foretell: fast .*; all its nodes are down or drained' "the table marks drained nodes"
like "$err" 'fastest: (slow|both)' "drained nodes are not the fastest"
choose fastest:slow,fast
is "$(partition "$id")" slow "drained nodes are not chosen"
scontrol update nodename="$(cluster_node fast)" state=resume
before=$(written)
cluster_reload_agent
wait_until 60 changed "$before"
choose fastest:slow,fast --mem=9000M
like "$err" 'it fits none of slow,fast; --partition unchanged' "memory that fits nowhere changes nothing"
is "$(message_lines)" 1 "the message is one line"
printf '%s\n' '#!/bin/sh' '#SBATCH --predict-app=nap --predict-perf' \
  '#SBATCH --predict-partition=fastest:slow,fast' true >job.sh
submit_held job.sh
is "$(partition "$id") $(message_lines)" "fast 5" "#SBATCH lines may have both options"
show='scontrol -o show job $SLURM_JOB_ID | tr " " "\n" | grep ^Partition='
submit salloc --predict-app=nap --predict-partition=fastest:slow,fast bash -c "$show"
is "$out" Partition=fast "salloc sets the partition"
submit srun --predict-app=nap --predict-partition=fastest:slow,fast bash -c "$show; env"
like "$out" '^Partition=fast$' "srun sets the partition"
unlike "$out" 'PREDICT_P' "srun's job does not inherit the options"

# ---- partitions where Slurm would reject the job or never start it
choose_as_nobody() {
  local which=$1
  shift
  submit cluster_as nobody sbatch --parsable --hold --output=/dev/null --predict-app=nap \
    --predict-partition="$which" "$@" --wrap true
}
learn_as_nobody() {
  local where job ids=
  for where in slow slow slow fast fast fast; do
    job=$(cluster_as nobody sbatch --parsable --output=/dev/null -p $where --mem=200M \
      --predict-app=nap "$cluster_work/nap.sh") && ids="$ids $job"
  done
  for job in $ids; do
    job_wait "$job" >/dev/null
  done
}
nobody_has_times() { # of the three runs on each platform
  [ -n "$(ls "$FT_STATE/models/$(id -u nobody)/"nap-*.model 2>/dev/null)" ] &&
    [ "$("$foretell" predict --json --state="$FT_STATE" --user=nobody --app=nap --perf | grep -o '"runs": *3\>' | wc -l)" = 2 ]
}
chmod 0755 nap.sh
learn_as_nobody
wait_until 60 nobody_has_times
choose_as_nobody fastest:slow,fast
is "$status $(partition "$id") $(message_lines)" "0 fast 1" "another user's runs determine that user's choice"
for closed in groups root; do
  choose_as_nobody fastest:slow,$closed
  is "$status $(partition "$id") $(message_lines)" "0 slow 1" "a partition closed to the user is not chosen: $closed"
  choose_as_nobody fastest:$closed
  is "$status $(partition "$id") $(message_lines)" "0 slow 1" "also if it is the only one in the list: $closed"
done
diag "$err"
choose fastest:slow,root
is "$(partition "$id")" root "a partition for root is chosen for root"
choose fastest:slow,groups
is "$(partition "$id")" groups "root needs no group of the partition's list"
if version_before 23.02; then
  choose_as_nobody fastest:slow,accounts
  is "$(partition "$id") $(message_lines)" "slow 1" "without --account a partition with a list of accounts is not chosen"
  like "$err" 'accounts is not considered \(for some accounts, see --account\)$' "the message has the reason"
  choose_as_nobody fastest:slow,accounts -A bio
  is "$(partition "$id")" accounts "with an account of the list it is chosen"
  choose_as_nobody fastest:slow,accounts -A chem
  is "$(partition "$id")" slow "with another account it is not chosen"
else
  # without slurmdbd this Slurm ignores a partition's list of accounts
  choose_as_nobody fastest:slow,accounts
  is "$(partition "$id")" accounts "where accounts are not enforced the partition is chosen"
  scontrol release "$id"
  is "$(job_wait "$id")" COMPLETED "Slurm runs the job there"
fi
submit_held --predict-app=nap --predict-perf --wrap true
unlike "$err" 'foretell: (groups|accounts|root|short) ' "partitions that Slurm hides are not in the table"
for limit in --time=20 "--nodes=2" "-c 3"; do
  choose fastest:slow,short $limit
  is "$status $(partition "$id") $(message_lines)" "0 slow 1" "a limit of the partition excludes it: $limit"
done
choose fastest:slow,short --time=5 -c 2
is "$(partition "$id")" short "a job within the limits goes there"
choose fastest:slow,fast -w "$(cluster_node slow)"
is "$(partition "$id") $(message_lines)" "slow 1" "a job with --nodelist stays"
like "$err" 'nap: --nodelist fixes the nodes; --partition unchanged$' "the message names --nodelist"
choose fastest:slow,fast -x "$(cluster_node slow)"
is "$(partition "$id") $(message_lines)" "slow 1" "a job for which --exclude may leave no node stays"
scontrol create reservation=mine starttime=now duration=60 users=root nodes="$(cluster_node slow)" >/dev/null
choose fastest:slow,fast --reservation=mine
is "$status $(partition "$id") $(message_lines)" "0 slow 1" "a job with a reservation stays"
scontrol delete reservation=mine
choose fastest:slow,fast --exclusive
is "$(partition "$id")" fast "a job with --exclusive is moved"
choose fastest:slow,fast --array=1-3
is "$(partition "$id") $(message_lines)" "fast 1" "a job array is moved"
choose fastest:fast
is "$(partition "$id")" fast "a list of one partition is accepted"
choose fastest:nowhere,fast -p slow
is "$(partition "$id")" fast "an unknown name does not affect the other partitions"
choose fastest:nowhere -p slow
is "$(partition "$id") $(message_lines)" "slow 1" "a list with unknown names only changes nothing"
submit sbatch --parsable --hold --predict-app=nap --predict-partition=fastest:slow,fast -p nowhere --wrap true
is "$(message_lines)" 1 "an unknown --partition: one line"
like "$err" 'invalid partition|Invalid partition' "Slurm rejects the unknown partition"
choose fastest:slow,fast --qos=any
is "$(partition "$id")" fast "a QOS changes nothing where no partition requires one"
for mode in force set off; do
  choose fastest:slow,fast --predict-mem=$mode
  is "$(partition "$id")" fast "the mode of memory does not matter: $mode"
done

choose fastest:slow,fast : --ntasks=1
is "$(squeue -h -o '%P' -j "$id" | sort | tr '\n' ' ')" "fast slow " \
  "the next component of a heterogeneous job does not inherit the partition"
choose fastest:slow,fast --predict-mem=check --mem=60M
like "$err" "nap used up to .*\(1 comparable run of [0-9]+\)" "memory is then estimated from the run like it"
run_json() {
  "$foretell" predict --json --perf --state="$FT_STATE" --app=nap -p fast
}
like "$(run_json)" '"fastest": *"fast".*"cheapest": *"slow"' "foretell predict names the same partitions"

# ---- missing prices, names and models
reconfigure "platform \"old\" { nodes = \"slow-*\" }" "$fast"
choose cheapest:slow,fast
is "$(partition "$id")" slow "without a price of the current partition nothing changes"
like "$err" 'the price of slow is unknown; --partition unchanged' "the message states the missing price"
reconfigure "${slow/old/renamed}" "$fast"
choose fastest:slow,fast
is "$(partition "$id")" slow "a renamed platform has no run times"
like "$err" 'run time on slow is unknown; --partition unchanged' "the message states the missing run time"
submit_held --predict-app=nap --predict-perf --wrap true
like "$err" 'foretell: slow +renamed +\? +\? ' "the table has question marks for it"
reconfigure "${slow/old/renamed}" "${fast/new/newer}"
submit_held --predict-app=nap --predict-perf --wrap true
like "$err" 'recorded runs, (mainly )?on (old|new), which no listed partition has' \
  "the message names the platform of the recorded runs"
reconfigure "$slow" "$fast"
choose fastest:slow,fast
is "$(partition "$id")" fast "with the old names the partition is chosen again"
for file in "$FT_STATE"/models/0/nap-*.model; do
  truncate -s 50 "$file"
done
choose fastest:slow,fast
is "$status $(partition "$id") $(message_lines)" "0 slow 1" "broken run times: one line, and nothing changes"
rm "$FT_STATE"/models/0/nap-*.model
choose fastest:slow,fast
is "$status $(partition "$id") $(message_lines)" "0 slow 1" "missing run times: one line, and nothing changes"
cluster_stop_agent
rm -r "$FT_STATE/partitions" "$FT_STATE/platforms"
choose fastest:slow,fast --predict-perf
is "$status $(partition "$id")" "0 slow" "without partition data the job is submitted"
like "$err" 'no partition data' "the message states the missing data"
rm "$FT_STATE/site"
choose fastest:slow,fast
is "$status $(partition "$id") $(message_lines)" "0 slow 1" "without a site file the job is submitted, with one line"
play_end
