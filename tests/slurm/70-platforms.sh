#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Three partitions of different (declared) platforms: runs on two of them are measured, and sbatch, salloc
# and srun then tell and choose; whatever is not known changes nothing.
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
# the nodes' names end in the number of this shell (cluster.sh)
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

# reconfigure LINE...: foretell.conf with these; until every partition is written anew
reconfigure() {
  local before
  before=$(written)
  FT_FORETELL_CONF=$conf$(printf '\n%s' "$@")
  cluster_write_foretell_conf
  kill -HUP "$(cluster_pid foretelld)"
  wait_until 15 changed "$before"
}
written() { stat -c %n=%Y.%i "$FT_STATE"/partitions/* | sort; }
changed() {
  [ -z "$(comm -12 <(echo "$1") <(written))" ]
}
# version_before MAJOR.MINOR: of the Slurm that runs here
version_before() {
  local here
  here=$(scontrol --version | sed 's/^[^0-9]*//')
  [ "$(printf '%s\n' "$1" "$here" | sort -V | head -n 1)" = "$here" ]
}
# partition ID: where the job goes
partition() {
  job_field "$1" Partition
}
# choose WHICH OPTION...: a held job of the app
choose() {
  local which=$1
  shift
  submit_held --predict-app=nap --predict-partition="$which" "$@" --wrap true
}

# ---- nothing is known yet
submit_held --predict-app=nap --predict-perf --wrap true
like "$err" 'foretell: nap: no recorded run time yet' "without runs the table says so"
like "$err" 'foretell: slow +old +\? ' "and knows the platforms all the same"
choose fastest:slow,fast
is "$(partition "$id") $(message_lines)" "slow 1" "nothing is chosen"
like "$err" 'nap: no recorded run time yet; --partition unchanged$' "which is said"

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
  new=4,old=4 "each run is of the platform that its node is declared to be of"
times_known() {
  "$foretell" predict --json --state="$FT_STATE" --app=nap -p fast | grep -q '"relative": *\[ *{'
}
wait_until 15 times_known
ok $? "run times are published"

submit_held --predict-app=nap --predict-perf --wrap true
diag "$err"
is "$(grep -cE 'foretell: (slow|fast|small|strange|both|shut) ' <<<"$err")" 7 "a line for each platform of each partition"
like "$err" 'foretell: slow +old +1 +[0-9.]+ s \(.*\) +4 +0\.0[0-9]+ EUR +7.81 GiB, fits +yes, ' "where it goes: speed 1"
like "$err" 'foretell: fast +new +[1234]\.[0-9]+ \([^)]*\) +[1234](\.[0-9]+)? s \([^)]*\) +4 +[0-9.]+ EUR' "the other is some two and a half times as fast"
like "$err" 'foretell: small +small +\? +\? +\? +\? +60 MiB, too little' "memory that is too little"
like "$err" 'foretell: strange +\? +\? ' "a platform that is not known"
like "$err" 'foretell: shut .*; it starts no jobs now' "a partition that is down"
like "$err" 'foretell: speed is relative to slow; fastest: fast; cheapest: slow \(' "the fastest and the cheapest"
is "$(partition "$id")" slow "--predict-perf changes nothing"

# ---- a choice
choose fastest:slow,fast
is "$(partition "$id")" fast "the fastest is chosen"
like "$err" 'foretell: nap: --partition set to fast, the fastest \(.* times as fast as slow\)$' "and said why"
diag "$err"
choose cheapest:slow,fast -p fast
is "$(partition "$id")" slow "the cheapest, though another was typed"
choose fastest -p slow,fast,small
is "$(partition "$id")" fast "of those in --partition"
choose fastest -p slow
is "$(partition "$id") $(message_lines)" "slow 1" "a single partition that was typed stays"
FORETELL_PREDICT_PARTITION=fastest:slow,fast submit_held --predict-app=nap -p slow --wrap true
is "$(partition "$id")" slow "also against the environment"
FORETELL_PREDICT_PARTITION=fastest:slow,fast submit_held --predict-app=nap --wrap true
is "$(partition "$id")" fast "which else counts"
choose fastest:fast,both
is "$(partition "$id")" fast "where a job may come onto the slow nodes it is slow"
choose fastest:slow,both -C 'quick&ib'
is "$(partition "$id")" both "but not with a --constraint that the slow nodes do not have"
choose fastest:slow,both -C quick -p slow
is "$(partition "$id")" both "also where it would otherwise wait for ever"
choose fastest:slow,fast -C nowhere
like "$err" 'it fits none of slow,fast; --partition unchanged' "what no node has"
submit_held --predict-app=nap --predict-perf -C quick --wrap true
like "$err" 'foretell: slow .*; no node satisfies --constraint' "is said in the table"
is "$(grep -cE 'foretell: both ' <<<"$err")" 1 "which has the nodes that have it"
choose fastest:strange,small
is "$(partition "$id") $(message_lines)" "slow 1" "what is not known, or does not fit, is not chosen"
choose fastest:slow,strange -p strange
is "$(partition "$id")" strange "nor left"
choose fastest:shut,slow -p shut
is "$(partition "$id")" slow "but one that starts no jobs is"
scontrol update nodename="$(cluster_node fast)" state=drain reason=test
before=$(written)
kill -HUP "$(cluster_pid foretelld)"
wait_until 15 changed "$before"
submit_held --predict-app=nap --predict-perf --wrap true
like "$err" 'foretell: fast .*; all its nodes are down or drained' "nodes that are drained are said"
like "$err" 'fastest: (slow|both)' "and are not the fastest"
choose fastest:slow,fast
is "$(partition "$id")" slow "nor chosen"
scontrol update nodename="$(cluster_node fast)" state=resume
before=$(written)
kill -HUP "$(cluster_pid foretelld)"
wait_until 15 changed "$before"
choose fastest:slow,fast --mem=9000M
like "$err" 'it fits none of slow,fast; --partition unchanged' "memory that fits nowhere"
is "$(message_lines)" 1 "in one line"
printf '%s\n' '#!/bin/sh' '#SBATCH --predict-app=nap --predict-perf' \
  '#SBATCH --predict-partition=fastest:slow,fast' true >job.sh
submit_held job.sh
is "$(partition "$id") $(message_lines)" "fast 5" "both in #SBATCH lines"
show='scontrol -o show job $SLURM_JOB_ID | tr " " "\n" | grep ^Partition='
submit salloc --predict-app=nap --predict-partition=fastest:slow,fast bash -c "$show"
is "$out" Partition=fast "salloc has it"
submit srun --predict-app=nap --predict-partition=fastest:slow,fast bash -c "$show; env"
like "$out" '^Partition=fast$' "srun has it"
unlike "$out" 'PREDICT_P' "and hands no option on"

# ---- where Slurm would refuse it, or let it wait for ever
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
nobody_has_times() {
  [ -n "$(ls "$FT_STATE/models/$(id -u nobody)/"nap-*.perf 2>/dev/null)" ] &&
    "$foretell" predict --json --state="$FT_STATE" --user=nobody --app=nap --perf |
    grep -q '"fastest": *"'
}
chmod 0755 nap.sh
learn_as_nobody
wait_until 15 nobody_has_times
choose_as_nobody fastest:slow,fast
is "$status $(partition "$id") $(message_lines)" "0 fast 1" "another user is told from runs of his own"
for closed in groups root; do
  choose_as_nobody fastest:slow,$closed
  is "$status $(partition "$id") $(message_lines)" "0 slow 1" "where the user may not go he is not sent: $closed"
  choose_as_nobody fastest:$closed
  is "$status $(partition "$id") $(message_lines)" "0 slow 1" "also where nothing else is named: $closed"
done
diag "$err"
choose fastest:slow,root
is "$(partition "$id")" root "root is sent where root may"
choose fastest:slow,groups
is "$(partition "$id")" groups "also where he is in no group"
if version_before 23.02; then
  choose_as_nobody fastest:slow,accounts
  is "$(partition "$id") $(message_lines)" "slow 1" "an account that is not named is not known"
  like "$err" 'accounts is not considered \(for some accounts, see --account\)$' "and that is said"
  choose_as_nobody fastest:slow,accounts -A bio
  is "$(partition "$id")" accounts "one that is named is"
  choose_as_nobody fastest:slow,accounts -A chem
  is "$(partition "$id")" slow "if it is not the partition's, too"
else
  # without slurmdbd this Slurm heeds no list of accounts
  choose_as_nobody fastest:slow,accounts
  is "$(partition "$id")" accounts "where accounts are not enforced their list is none"
  scontrol release "$id"
  is "$(job_wait "$id")" COMPLETED "and Slurm runs it there"
fi
submit_held --predict-app=nap --predict-perf --wrap true
unlike "$err" 'foretell: (groups|accounts|root|short) ' "what Slurm hides stands in no table"
for limit in --time=20 "--nodes=2" "-c 3"; do
  choose fastest:slow,short $limit
  is "$status $(partition "$id") $(message_lines)" "0 slow 1" "past the partition's limit: $limit"
done
choose fastest:slow,short --time=5 -c 2
is "$(partition "$id")" short "within its limits it goes there"
choose fastest:slow,fast -w "$(cluster_node slow)"
is "$(partition "$id") $(message_lines)" "slow 1" "a job that names its nodes stays"
like "$err" 'nap: --nodelist fixes the nodes; --partition unchanged$' "which is said"
choose fastest:slow,fast -x "$(cluster_node slow)"
is "$(partition "$id") $(message_lines)" "slow 1" "as does one that might be left none by --exclude"
scontrol create reservation=mine starttime=now duration=60 users=root nodes="$(cluster_node slow)" >/dev/null
choose fastest:slow,fast --reservation=mine
is "$status $(partition "$id") $(message_lines)" "0 slow 1" "or has a reservation"
scontrol delete reservation=mine
choose fastest:slow,fast --exclusive
is "$(partition "$id")" fast "a job that wants whole nodes is moved"
choose fastest:slow,fast --array=1-3
is "$(partition "$id") $(message_lines)" "fast 1" "and so is a job array"
choose fastest:fast
is "$(partition "$id")" fast "a list of one is a choice"
choose fastest:nowhere,fast -p slow
is "$(partition "$id")" fast "a name that is not known takes nothing from the others"
choose fastest:nowhere -p slow
is "$(partition "$id") $(message_lines)" "slow 1" "nor does it choose"
submit sbatch --parsable --hold --predict-app=nap --predict-partition=fastest:slow,fast -p nowhere --wrap true
is "$(message_lines)" 1 "a partition that Slurm does not know"
like "$err" 'invalid partition|Invalid partition' "is for Slurm to refuse"
choose fastest:slow,fast --qos=any
is "$(partition "$id")" fast "a QOS changes nothing where no partition asks for one"
for mode in force set off; do
  choose fastest:slow,fast --predict-mem=$mode
  is "$(partition "$id")" fast "whatever the mode of memory: $mode"
done

choose fastest:slow,fast : --ntasks=1
is "$(squeue -h -o '%P' -j "$id" | sort | tr '\n' ' ')" "fast slow " \
  "the next component of a heterogeneous job does not inherit it"
choose fastest:slow,fast --predict-mem=check --mem=60M
like "$err" "nap used up to .*\(1 run\)" "memory is told after that, by the run that was like it"
run_json() {
  "$foretell" predict --json --perf --state="$FT_STATE" --app=nap -p fast
}
like "$(run_json)" '"fastest": *"fast".*"cheapest": *"slow"' "foretell predict says the same"

# ---- prices, names and models that go
reconfigure "platform \"old\" { nodes = \"slow-*\" }" "$fast"
choose cheapest:slow,fast
is "$(partition "$id")" slow "without a price where it goes it stays"
like "$err" 'the price of slow is unknown; --partition unchanged' "and that is said"
reconfigure "${slow/old/renamed}" "$fast"
choose fastest:slow,fast
is "$(partition "$id")" slow "a platform under a new name is not known"
like "$err" 'run time on slow is unknown; --partition unchanged' "which is said"
submit_held --predict-app=nap --predict-perf --wrap true
like "$err" 'foretell: slow +renamed +\? +\? ' "in the table, too"
reconfigure "${slow/old/renamed}" "${fast/new/newer}"
submit_held --predict-app=nap --predict-perf --wrap true
like "$err" 'recorded runs, (mainly )?on (old|new), which no listed partition has' \
  "a retired platform is named"
reconfigure "$slow" "$fast"
choose fastest:slow,fast
is "$(partition "$id")" fast "with the old names it is as before"
for file in "$FT_STATE"/models/0/nap-*.perf; do
  truncate -s 50 "$file"
done
choose fastest:slow,fast
is "$status $(partition "$id") $(message_lines)" "0 slow 1" "broken run times cost a line"
rm "$FT_STATE"/models/0/nap-*.perf
choose fastest:slow,fast
is "$status $(partition "$id") $(message_lines)" "0 slow 1" "so do missing ones"
cluster_kill foretelld
rm -r "$FT_STATE/partitions" "$FT_STATE/platforms"
choose fastest:slow,fast --predict-perf
is "$status $(partition "$id")" "0 slow" "without partitions, too, it is submitted"
like "$err" 'no partition data' "and that is said"
rm "$FT_STATE/site"
choose fastest:slow,fast
is "$status $(partition "$id") $(message_lines)" "0 slow 1" "and without a site file"
play_end
