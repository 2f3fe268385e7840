#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Rejection, with the plugin required and with the plugin optional.
. "$(dirname "$0")/play.sh"
FT_ENFORCE=rss
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES DefMemPerCPU=10 MaxTime=60
PartitionName=open Nodes=@one@ DefMemPerCPU=10 MaxTime=60
PartitionName=strict Nodes=@one@ DefMemPerCPU=10 MaxTime=60'
FT_FORETELL_CONF='min_runs = 3
mode = "check"
floor = "16M"
round = "1M"
reject_probability = 0.5
partition "open" { reject_probability = 0 }
partition "strict" { mode = off force = no }'
FT_PLUGSTACK=required
play_begin
learn steady 100 101 99 100 102 100
ok $? "six runs are learned under required"

jobs() {
  squeue -h -t all -o %i | wc -l
}
before=$(jobs)
check_rejection() {
  local name=$1
  shift
  submit "$@"
  is "$([ "$status" != 0 ] && echo refused)" refused "$name: exits non-zero"
  like "$err" 'error: foretell: job rejected: .*steady needs' "$name: the message has the reason"
  is "$(grep -c 'error: foretell: ' <<<"$err")" 2 "$name: it has two lines, the second with a sufficient request"
}
check_rejection sbatch sbatch --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
check_rejection salloc salloc --mem=40M --predict-app=steady $hog --mib 100 --seconds 0.5
check_rejection srun srun --mem=40M --predict-app=steady $hog --mib 100 --seconds 0.5
check_rejection 'an array' sbatch --array=1-4 --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
check_rejection 'the second component of a heterogeneous job' \
  sbatch --mem=500M --predict-app=steady : --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
check_rejection 'a list with a partition that refuses nothing' \
  sbatch -p open,main --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
check_rejection 'the same list from its other end' sbatch -p main,open --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
check_rejection '--mem-per-cpu' sbatch --mem-per-cpu=10M -c 2 --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
like "$err" 'use --mem-per-cpu=' "the suggestion is in the request's own unit"

# Rejection is independent of the modes, which only control changes.
check_rejection 'in mode off' sbatch --predict-mem=off --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
check_rejection 'in a check' sbatch --predict-mem=check --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
check_rejection 'off in the environment' env FORETELL_PREDICT_MEM=off sbatch --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
printf '#!/bin/sh\n#SBATCH --predict-mem=off --predict-app=steady\n%s\n' "$hog --mib 100 --seconds 0.5" >off.sh
check_rejection 'off in the script' sbatch --mem=40M off.sh
check_rejection "where the site's mode is off and force is not allowed" \
  sbatch -p strict --predict-mem=force --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
like "$err" 'this site does not allow --predict-mem=force' "the message states that the site does not allow force"
for evasion in SLURM_JOBID= SLURM_JOBID=0 SLURM_JOBID=$FT_FIRST_JOB SLURM_JOB_ID=4294967294; do
  check_rejection "srun with $evasion" env "$evasion" srun --mem=40M --predict-app=steady $hog --mib 100 --seconds 0.5
done
check_rejection 'srun --jobid=4294967294' srun --jobid=4294967294 --mem=40M --predict-app=steady $hog --mib 100 --seconds 0.5
is "$(jobs)" "$before" "no job exists"
refusals() {
  [ "$(store "select sum(count) from rejection where app = 'steady' and uid = 0")" = "$1" ]
}
wait_until 15 refusals 18
ok $? "each rejection is counted"
like "$("$foretell" report --state="$FT_STATE" --app=steady)" '^rejections: 18 submissions rejected, 0 ' "foretell report has the number of rejections"

submit_held --mem=40M --predict-mem=force --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
is "$status" 0 "force submits"
submit sbatch --parsable --output=/dev/null --mem=60M --predict-mem=force --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
wait_observed "$id"
is "$(observed "$id" decision_overrode)" 1 "the record of a forced job has its override"
like "$("$foretell" report --state="$FT_STATE" --app=steady)" ' 1 overridden .force., of which [01] ran' "foretell report has the override"
submit_held -p open --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
is "$status" 0 "another partition's policy accepts the job"
submit salloc --mem=800M --predict-app=other srun --mem=40M --predict-app=steady true
is "$status" 0 "a step of an allocation is not rejected"
submit_held --mem=800M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
is "$status" 0 "a sufficient request is accepted"
submit cluster_as nobody sbatch --parsable --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
is "$status" 0 "runs of one user do not reject another user's job"
submit_held --mem=40M --predict-mem=raise --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
is "$status" 0 "raise raises the request instead"

# ---- one machine that rejects
findings=$("$foretell" doctor --config="$FT_AGENT_CONF")
is $? 0 "foretell doctor finds no failure on one machine that rejects"
like "$findings" '^note plugstack.conf: .*: required, so that jobs submitted on this host can be rejected' "it says what required means there"
diag "$findings"

# ---- optional: Slurm ignores a rejection, so the plugin only warns
fragment=$(find "$FT_TOP_BUILDDIR/tests/scratch/install" -name plugstack-optional.conf)
like "$(cat "$fragment")" '^optional /.*/spank_foretell.so.* reject=no' "the fragment for optional has reject=no"
FT_PLUGIN_ARGS="$FT_PLUGIN_ARGS reject=no" FT_PLUGSTACK=optional cluster_write_plugstack
submit_held --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
is "$status $(message_lines)" "0 1" "with reject=no the job is submitted, with a warning in one line"
unlike "$err" 'job rejected' "the warning does not claim a rejection"
like "$err" '--mem=40M' "the warning names the request"
diag "$err"
play_end
