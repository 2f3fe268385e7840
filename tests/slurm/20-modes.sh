#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every mode, unit of memory and precedence, with sbatch.
. "$(dirname "$0")/play.sh"
FT_ENFORCE=rss
FT_NODES='one 8 8000 Gres=gpu:2
small:down 2 80'
FT_SLURM_CONF='GresTypes=gpu'
FT_GRES_CONF='NodeName=@one@ Name=gpu File=/dev/null
NodeName=@one@ Name=gpu File=/dev/zero'
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES DefMemPerCPU=10 MaxTime=60
PartitionName=roomy Nodes=@one@ DefMemPerNode=2000 MaxTime=60
PartitionName=capped Nodes=@one@ DefMemPerCPU=10 MaxMemPerCPU=60 MaxTime=60
PartitionName=pernode Nodes=@one@ DefMemPerCPU=10 MaxMemPerNode=70 MaxTime=60
PartitionName=setting Nodes=@one@ DefMemPerCPU=10 MaxTime=60
PartitionName=small Nodes=@small@ DefMemPerCPU=10 MaxTime=60'
FT_FORETELL_CONF='min_runs = 3
trim_runs = 5
floor = "16M"
round = "1M"
partition "setting" { mode = "set" }
user "nobody" { mode = "set" }'
play_begin

learn steady 100 101 99 100 102 100
ok $? "six runs of 100 MiB are learned"
learn young 100 101 99
ok $? "three of another app"
learn single 100
ok $? "one of a third"

# try WORDS...: submits a short job of app steady with these options
try() {
  submit_held --predict-app=steady "$@" --wrap true
}

# ---- modes
try --predict-mem=check
is "$status $(requested_mem "$id")" "0 10M per cpu" "check changes nothing"
is "$(message_lines)" 1 "and says one line"
try --predict-mem=set
between "$(mib "$(requested_mem "$id")")" 100 400 "set sets what was not asked for"
like "$err" 'sbatch: foretell: steady needs .*\(6 runs\); --mem set to [0-9]+M( \(floor\))?$' "and says so"
reported_mem=$(sed -nE 's/.*--mem set to ([0-9]+M)( \(floor\))?$/\1/p' <<<"$err")
is "$(requested_mem "$id")" "$reported_mem" "with the figure that Slurm holds"
try --predict-mem
is "$(requested_mem "$id")" "$reported_mem" "--predict-mem alone is set"
try --predict-mem=set --mem=50M
is "$status $(requested_mem "$id")" "0 50M" "set leaves what was asked for"
like "$err" 'foretell: steady .*--mem=50M' "and warns when it is too low"
is "$(message_lines)" 1 "in one line"
try --predict-mem=set --mem=7000M
is "$(requested_mem "$id")" 7000M "set leaves what is far too high"
between "$(message_lines)" 0 1 "with at most one line"
try --predict-mem=raise --mem=50M
between "$(mib "$(requested_mem "$id")")" 100 400 "raise raises what is too low"
is "$(message_lines)" 1 "and says so in one line"
try --predict-mem=raise --mem=7000M
is "$(requested_mem "$id")" 7000M "raise lowers nothing"
try --predict-mem=raise
is "$(requested_mem "$id")" "$reported_mem" "raise sets what was not asked for"
try --predict-mem=trim --mem=7000M
between "$(mib "$(requested_mem "$id")")" 100 400 "trim lowers what is far too high"
is "$(message_lines)" 1 "and says so in one line"
try --predict-mem=trim --mem=50M
between "$(mib "$(requested_mem "$id")")" 100 400 "trim raises, too"
try --predict-mem=off --mem=50M
is "$(requested_mem "$id") $(message_lines)" "50M 0" "off does nothing and says nothing"
try --predict-mem=force --mem=50M
is "$status" 0 "force submits"
try --predict-mem=banana
is "$([ "$status" != 0 ] && echo refused)" refused "a mode that does not exist is refused by sbatch"
like "$err" 'banana' "by its name"
submit_held --predict-mem --predict-app=single --wrap true
like "$err" "single used up to .* \\(1 run\\); --mem set to [0-9]+M" "below the configured number of runs what was needed is a floor"
submit_held --predict-mem --predict-app=nobody-knows-it --wrap true
is "$status $(requested_mem "$id")" "0 10M per cpu" "nor for an unknown app"
between "$(message_lines)" 0 1 "with at most one line"
submit_held --wrap true
is "$(requested_mem "$id") $(message_lines)" "10M per cpu 0" "a job that asks for nothing is left alone"

# ---- never smaller than without foretell, until enough runs stand behind it
submit_held -p roomy --predict-mem --predict-app=young --wrap true
is "$(requested_mem "$id")" 2000M "three runs do not go below the partition's default"
submit_held -p roomy --predict-mem=trim --predict-app=young --mem=7000M --wrap true
is "$(requested_mem "$id")" 7000M "nor trim a request"
try -p roomy --predict-mem
between "$(mib "$(requested_mem "$id")")" 100 400 "six do"

# ---- units
try --predict-mem=raise --mem-per-cpu=20M --cpus-per-task=2
like "$(requested_mem "$id")" 'per cpu$' "--mem-per-cpu is answered in its own unit"
between "$(mib "$(requested_mem "$id")")" 50 200 "and raised to what two CPUs need together"
try --predict-mem=set --mem-per-cpu=20M
is "$(requested_mem "$id")" "20M per cpu" "set leaves --mem-per-cpu"
is "$(message_lines)" 1 "and warns"
try --predict-mem=raise --mem-per-gpu=20M --gpus-per-node=2
like "$(job_field "$id" MemPerTres)" 'gpu:([5-9][0-9]|1[0-9][0-9])' "--mem-per-gpu is raised in its own unit"
is "$status" 0 "and submitted"
try --predict-mem=raise --mem=0
is "$status $(job_field "$id" MinMemoryNode)" "0 0" "--mem=0, the whole node, is left"
try --predict-mem --exclusive
is "$status" 0 "--exclusive is submitted"
between "$(message_lines)" 0 1 "with at most one line"
try -p roomy,main --predict-mem=check
like "$err" 'with the default of partition main, 10 MiB, it would run out of memory' \
  "a job has what the least of its partitions gives"
try -p roomy,main --predict-mem
is "$(requested_mem "$id")" "$reported_mem" "and is set what it needs in each"
try -p roomy,setting
is "$(requested_mem "$id") $(message_lines)" "2000M 1" "where not all of them set, it is told and left alone"
try -p capped --predict-mem
is "$status" 0 "a partition with MaxMemPerCPU takes the job"
between "$(job_field "$id" NumCPUs)" 1 1 "and gives it no CPU more for foretell's sake"
between "$(mib "$(requested_mem "$id")")" 1 60 "what is set stays below it"
diag "$err"
try -p pernode --predict-mem
is "$status $(requested_mem "$id")" "0 70M" "nor does it pass MaxMemPerNode"
try -p capped --predict-mem=raise --mem-per-cpu=20M -c 4
is "$status $(job_field "$id" NumCPUs)" "0 4" "four CPUs stay four under MaxMemPerCPU"
between "$(mib "$(requested_mem "$id")")" 25 60 "when --mem-per-cpu is raised"
try -p main,roomy --predict-mem
is "$status $(requested_mem "$id")" "0 $reported_mem" "in a list of partitions memory is set"
submit_held -p main,roomy --predict-mem --predict-app=young --wrap true
is "$(requested_mem "$id")" 2000M "to what one of them gives, as long as few runs stand behind less"
try -p small,main --predict-mem
is "$(requested_mem "$id")" "$reported_mem" "and the nodes of all of them count"
submit_held -p roomy --exclusive --predict-mem --predict-app=young --wrap true
is "$(requested_mem "$id")" 2000M "an exclusive node keeps its default"
try -p roomy --exclusive --predict-mem
is "$(requested_mem "$id")" 2000M "with runs enough, too: less would free nothing"
try --predict-mem -n 4 --ntasks-per-node=4
is "$(requested_mem "$id")" "$reported_mem" "four tasks on a node are set what the node needs"
try --predict-mem=raise --mem-per-cpu=20M -n 4
between "$(mib "$(requested_mem "$id")")" 25 100 "shared out among their CPUs where memory is asked for by CPU"
try -p small --predict-mem=set
like "$err" 'foretell: .*(no node|small|fit)' "a job that fits no node of its partition is told so"

# ---- precedence: command line, #SBATCH, environment, site
script() {
  printf '%s\n' '#!/bin/bash' '#SBATCH --output=/dev/null' '#SBATCH --predict-app=steady' "$@" true >script.sh
}
script '#SBATCH --predict-mem=set'
submit_held script.sh
is "$(requested_mem "$id")" "$reported_mem" "#SBATCH --predict-mem is heard"
submit_held --predict-mem=off script.sh
is "$(requested_mem "$id") $(message_lines)" "10M per cpu 0" "the command line beats #SBATCH"
script '#SBATCH --predict-mem=off'
FORETELL_PREDICT_MEM=set submit_held script.sh
is "$(requested_mem "$id")" "10M per cpu" "#SBATCH beats the environment"
script
FORETELL_PREDICT_MEM=set submit_held script.sh
is "$(requested_mem "$id")" "$reported_mem" "the environment is heard"
FORETELL_PREDICT_MEM=check submit_held -p setting script.sh
is "$(requested_mem "$id")" "10M per cpu" "the environment beats the site"
submit_held -p setting script.sh
is "$(requested_mem "$id")" "$reported_mem" "the site's mode for a partition holds for who asks for nothing"
FORETELL_PREDICT_MEM=set FORETELL_PREDICT_APP=steady submit_held --wrap true
is "$(requested_mem "$id")" "$reported_mem" "FORETELL_PREDICT_APP is heard"
FORETELL_PREDICT_MEM=banana submit_held script.sh
is "$status $(message_lines)" "0 1" "a wrong FORETELL_PREDICT_MEM is said once, and the job submitted"
script '#SBATCH --mem=50M' '#SBATCH --predict-mem=raise'
submit_held script.sh
between "$(mib "$(requested_mem "$id")")" 100 400 "#SBATCH --mem is seen"
script '#SBATCH --predict-mem=set'
SBATCH_MEM_PER_NODE=60M submit_held script.sh
is "$(requested_mem "$id")" 60M "so is Slurm's own SBATCH_MEM_PER_NODE"

# ---- parameters
for n in 40 80 120 160 200; do
  sbatch --output=/dev/null --mem=1000M --predict-app=params --predict-params=n=$n --wrap "exec $hog --seconds 0.4 --mib $n" >/dev/null
done
wait_until 30 has_runs params 5
ok $? "runs with --predict-params are learned"
submit_held --predict-mem --predict-app=params --predict-params=n=100 --wrap true
low=$(mib "$(requested_mem "$id")")
submit_held --predict-mem --predict-app=params --predict-params=n=190 --wrap true
high=$(mib "$(requested_mem "$id")")
between "$low" 100 "$((high - 40))" "and tell 100 from 190"
cat >variable.sh <<END
#!/bin/bash
#SBATCH --output=/dev/null --mem=200M
N=\${N:-20}
$hog --seconds 0.4 --mib \$N
END
export N=30
submit sbatch variable.sh
ids=$id
submit sbatch --export=ALL,N=40 variable.sh
ids="$ids $id"
submit sbatch --export=NONE variable.sh
ids="$ids $id"
unset N
found=
for id in $ids; do
  job_wait "$id" >/dev/null
  wait_observed "$id"
  found="$found $(observed "$id" features | sed -nE 's/.*"mib":([0-9]+).*/\1/p')"
done
is "$found" " 30 40 20" "a variable is what the environment, --export or the script says"
submit_held --predict-mem --predict-app=params --predict-params=m=190 --wrap true
like "$err" '^sbatch: foretell: m: not a feature of this app; known: n(, |$)' "a name that is misspelt is told"
is "$(grep -c 'm: not' <<<"$err")" 1 "once"
submit_held --predict-mem --predict-app=params --predict-params='n=,=' --wrap true
is "$status" 0 "parameters that cannot be understood do not keep a job"
is "$(message_lines)" 1 "and are said in one line"
play_end
