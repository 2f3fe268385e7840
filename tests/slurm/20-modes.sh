#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every mode, every unit of memory and the precedence of settings, with sbatch.
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
PartitionName=lowered Nodes=@one@ DefMemPerCPU=1000 MaxTime=60
PartitionName=gpus Nodes=@one@ DefMemPerGPU=1000 MaxTime=60
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
ok $? "three runs of another app are learned"
learn single 100
ok $? "one run of a third app is learned"

# try OPTION...: submits a held job of app steady with these options
try() {
  submit_held --predict-app=steady "$@" --wrap true
}

# ---- modes
try --predict-mem=check
is "$status $(requested_mem "$id")" "0 10M per cpu" "check leaves the request unchanged"
is "$(message_lines)" 1 "check prints one line"
try --predict-mem=set
between "$(mib "$(requested_mem "$id")")" 100 400 "set sets a request that the user did not give"
like "$err" 'sbatch: foretell: steady needs .*\(6 runs\); --mem set to [0-9]+M(, because a comparable run [a-z ]+ [0-9.]+ [MG]iB)?$' "set reports the new request"
reported_mem=$(sed -nE 's/.*--mem set to ([0-9]+M)(, because a comparable run [a-z ]+ [0-9.]+ [MG]iB)?$/\1/p' <<<"$err")
is "$(requested_mem "$id")" "$reported_mem" "the reported amount is the one that Slurm has"
try --predict-mem
is "$(requested_mem "$id")" "$reported_mem" "--predict-mem without a mode means set"
try --predict-mem=set --mem=50M
is "$status $(requested_mem "$id")" "0 50M" "set leaves a request of the user's unchanged"
like "$err" 'foretell: steady .*--mem=50M' "set warns if the request is too low"
is "$(message_lines)" 1 "the warning is one line"
try --predict-mem=set --mem=7000M
is "$(requested_mem "$id")" 7000M "set leaves a request that is far too high"
between "$(message_lines)" 0 1 "set prints at most one line about it"
try --predict-mem=raise --mem=50M
between "$(mib "$(requested_mem "$id")")" 100 400 "raise raises a request that is too low"
is "$(message_lines)" 1 "raise reports it in one line"
try --predict-mem=raise --mem=7000M
is "$(requested_mem "$id")" 7000M "raise lowers no request"
try --predict-mem=raise
is "$(requested_mem "$id")" "$reported_mem" "raise sets a request that the user did not give"
try --predict-mem=trim --mem=7000M
between "$(mib "$(requested_mem "$id")")" 100 400 "trim lowers a request that is far too high"
is "$(message_lines)" 1 "trim reports it in one line"
try --predict-mem=trim --mem=50M
between "$(mib "$(requested_mem "$id")")" 100 400 "trim raises a request that is too low"
try --predict-mem=off --mem=50M
is "$(requested_mem "$id") $(message_lines)" "50M 0" "off changes nothing and prints nothing"
try --predict-mem=force --mem=50M
is "$status" 0 "force submits the job"
try --predict-mem=banana
is "$([ "$status" != 0 ] && echo refused)" refused "sbatch rejects an unknown mode"
like "$err" 'banana' "the message names the unknown mode"
submit_held --predict-mem --predict-app=single --wrap true
like "$err" "single may need .* \\(1 run\\); --mem set to [0-9]+M" "below min_runs the largest peak is a lower limit of the request"
submit_held --predict-mem --predict-app=nobody-knows-it --wrap true
is "$status $(requested_mem "$id")" "0 10M per cpu" "the request of an unknown app is unchanged"
between "$(message_lines)" 0 1 "an unknown app has at most one line"
submit_held --wrap true
is "$(requested_mem "$id") $(message_lines)" "10M per cpu 0" "a job without --predict-mem is unchanged"

# ---- below trim_runs a request is never smaller than without foretell
submit_held -p roomy --predict-mem --predict-app=young --wrap true
is "$(requested_mem "$id")" 2000M "three runs set no request below the partition's default"
submit_held -p roomy --predict-mem=trim --predict-app=young --mem=7000M --wrap true
is "$(requested_mem "$id")" 7000M "three runs do not trim a request"
try -p roomy --predict-mem
between "$(mib "$(requested_mem "$id")")" 100 400 "six runs set a request below the partition's default"

# ---- a default that was lowered after the learner's last poll
scontrol update PartitionName=lowered DefMemPerCPU=10
scontrol update PartitionName=gpus DefMemPerGPU=10
submit_held -p lowered --predict-mem=check --predict-app=young --wrap true
is "$(requested_mem "$id")" "10M per cpu" "Slurm has a lower default than foretell knows"
submit_held -p lowered --predict-mem --predict-app=young --wrap true
is "$(requested_mem "$id")" "1000M per cpu" "a job that is left to its default keeps the one that was reported"
for gpus in --gpus-per-node=1 --gres=gpu:1 --gpus=1; do
  submit_held -p gpus "$gpus" --predict-mem --predict-app=young --wrap true
  like "$status $(job_field "$id" MemPerTres)" '^0 (gres:)?gpu:1000$' "so does one with a default per GPU ($gpus)"
done

# ---- units
try --predict-mem=raise --mem-per-cpu=20M --cpus-per-task=2
like "$(requested_mem "$id")" 'per cpu$' "a raised --mem-per-cpu stays in its own unit"
between "$(mib "$(requested_mem "$id")")" 50 200 "--mem-per-cpu is raised to half of what two CPUs need together"
try --predict-mem=set --mem-per-cpu=20M
is "$(requested_mem "$id")" "20M per cpu" "set leaves --mem-per-cpu unchanged"
is "$(message_lines)" 1 "set warns about --mem-per-cpu"
try --predict-mem=raise --mem-per-gpu=20M --gpus-per-node=2
like "$(job_field "$id" MemPerTres)" 'gpu:([5-9][0-9]|1[0-9][0-9])' "--mem-per-gpu is raised in its own unit"
is "$status" 0 "the job with --mem-per-gpu is submitted"
try --predict-mem=raise --mem=0
is "$status $(job_field "$id" MinMemoryNode)" "0 0" "--mem=0, the whole node, is unchanged"
try --predict-mem --exclusive
is "$status" 0 "a job with --exclusive is submitted"
between "$(message_lines)" 0 1 "a job with --exclusive has at most one line"
try -p roomy,main --predict-mem=check
like "$err" 'with the default of partition main, 10 MiB, it would run out of memory' \
  "the lowest default of several partitions counts"
# the two partitions' requests may differ by a step of `round`: of main's the floor decides
try -p roomy --predict-mem
both_mem=$(requested_mem "$id")
[ "$(mib "$both_mem")" -ge "$(mib "$reported_mem")" ] || both_mem=$reported_mem
try -p roomy,main --predict-mem
is "$(requested_mem "$id")" "$both_mem" "several partitions: the request is set to what each needs"
try -p roomy,setting
is "$(requested_mem "$id") $(message_lines)" "2000M 1" "mode set in one of several partitions: the job is warned and unchanged"
try -p capped --predict-mem
is "$status" 0 "a partition with MaxMemPerCPU accepts the job"
between "$(job_field "$id" NumCPUs)" 1 1 "the predicted request does not add a CPU"
between "$(mib "$(requested_mem "$id")")" 1 60 "the request is below MaxMemPerCPU"
diag "$err"
try -p pernode --predict-mem
is "$status $(requested_mem "$id")" "0 10M per cpu" "a MaxMemPerNode below the likely need is not set"
like "$err" 'with the default .* it would run out of memory .*; partition pernode allows no more than 70 MiB' "the message names it"
try -p capped --predict-mem=raise --mem-per-cpu=20M -c 4
is "$status $(job_field "$id" NumCPUs)" "0 4" "four CPUs stay four under MaxMemPerCPU"
between "$(mib "$(requested_mem "$id")")" 25 60 "--mem-per-cpu of four CPUs is raised"
try -p main,roomy --predict-mem
is "$status $(requested_mem "$id")" "0 $both_mem" "memory is set for a list of partitions"
submit_held -p main,roomy --predict-mem --predict-app=young --wrap true
is "$(requested_mem "$id")" 2000M "few runs set no request below the larger default of two partitions"
try -p small,main --predict-mem
is "$(requested_mem "$id")" "$reported_mem" "memory is set for a list in which one partition's nodes are too small"
submit_held -p roomy --exclusive --predict-mem --predict-app=young --wrap true
is "$(requested_mem "$id")" 2000M "few runs leave the default of an exclusive node"
try -p roomy --exclusive --predict-mem
is "$(requested_mem "$id")" 2000M "enough runs leave it, too: a smaller request would free nothing"
try --predict-mem -n 4 --ntasks-per-node=4
is "$(requested_mem "$id")" "$reported_mem" "four tasks on one node: the request is what the node needs"
try --predict-mem=raise --mem-per-cpu=20M -n 4
between "$(mib "$(requested_mem "$id")")" 25 100 "--mem-per-cpu is raised to a share of that"
try -p small --predict-mem=set
like "$err" 'foretell: .*(no node|small|fit)' "a message states that the job fits no node of its partition"

# ---- precedence: command line, #SBATCH, environment, site
script() {
  printf '%s\n' '#!/bin/bash' '#SBATCH --output=/dev/null' '#SBATCH --predict-app=steady' "$@" true >script.sh
}
script '#SBATCH --predict-mem=set'
submit_held script.sh
is "$(requested_mem "$id")" "$reported_mem" "#SBATCH --predict-mem is read"
submit_held --predict-mem=off script.sh
is "$(requested_mem "$id") $(message_lines)" "10M per cpu 0" "the command line has precedence over #SBATCH"
script '#SBATCH --predict-mem=off'
FORETELL_PREDICT_MEM=set submit_held script.sh
is "$(requested_mem "$id")" "10M per cpu" "#SBATCH has precedence over the environment"
script
FORETELL_PREDICT_MEM=set submit_held script.sh
is "$(requested_mem "$id")" "$reported_mem" "FORETELL_PREDICT_MEM is read"
FORETELL_PREDICT_MEM=check submit_held -p setting script.sh
is "$(requested_mem "$id")" "10M per cpu" "the environment has precedence over the site's mode"
submit_held -p setting script.sh
is "$(requested_mem "$id")" "$reported_mem" "without an option the site's mode of the partition applies"
FORETELL_PREDICT_MEM=set FORETELL_PREDICT_APP=steady submit_held --wrap true
is "$(requested_mem "$id")" "$reported_mem" "FORETELL_PREDICT_APP is read"
FORETELL_PREDICT_MEM=banana submit_held script.sh
is "$status $(message_lines)" "0 1" "a wrong FORETELL_PREDICT_MEM: one line, and the job is submitted"
script '#SBATCH --mem=50M' '#SBATCH --predict-mem=raise'
submit_held script.sh
between "$(mib "$(requested_mem "$id")")" 100 400 "#SBATCH --mem is read"
script '#SBATCH --predict-mem=set'
SBATCH_MEM_PER_NODE=60M submit_held script.sh
is "$(requested_mem "$id")" 60M "Slurm's own SBATCH_MEM_PER_NODE is read"

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
between "$low" 100 "$((high - 40))" "the predictions for n=100 and n=190 differ"
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
is "$found" " 30 40 20" "a variable has the value of the environment, of --export, or of the script"
submit_held --predict-mem --predict-app=params --predict-params=m=190 --wrap true
like "$err" '^sbatch: foretell: m: not a feature of this app; known: n(, |$)' "an unknown parameter is named, with the known ones"
is "$(grep -c 'm: not' <<<"$err")" 1 "it is named once"
submit_held --predict-mem --predict-app=params --predict-params='n=,=' --wrap true
is "$status" 0 "malformed parameters do not prevent the submission"
is "$(message_lines)" 1 "one line reports malformed parameters"
play_end
