#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Refusal, under `required` and under `optional`.
. "$(dirname "$0")/play.sh"
FT_ENFORCE=rss
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES DefMemPerCPU=10 MaxTime=60
PartitionName=open Nodes=@one@ DefMemPerCPU=10 MaxTime=60'
FT_FORETELL_CONF='min_runs = 3
mode = "check"
floor = "16M"
round = "1M"
reject_probability = 0.5
partition "open" { reject_probability = 0 }'
FT_PLUGSTACK=required
play_begin
learn steady 100 101 99 100 102 100
ok $? "six runs are learned under required"

jobs() {
  squeue -h -t all -o %i | wc -l
}
before=$(jobs)
refused() {
  local name=$1
  shift
  submit "$@"
  is "$([ "$status" != 0 ] && echo refused)" refused "$name: exits non-zero"
  like "$err" 'error: foretell: not submitted: .*steady has needed' "$name: says why"
  is "$(grep -c 'error: foretell: ' <<<"$err")" 2 "$name: and what would pass, in two lines"
}
refused sbatch sbatch --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
refused salloc salloc --mem=40M --predict-app=steady $hog --mib 100 --seconds 0.5
refused srun srun --mem=40M --predict-app=steady $hog --mib 100 --seconds 0.5
refused 'an array' sbatch --array=1-4 --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
refused 'the second component of a heterogeneous job' \
  sbatch --mem=500M --predict-app=steady : --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
refused 'a list with a partition that refuses nothing' \
  sbatch -p open,main --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
refused 'the same list from its other end' sbatch -p main,open --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
refused '--mem-per-cpu' sbatch --mem-per-cpu=10M -c 2 --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
like "$err" 'ask for --mem-per-cpu=' "and answered in its own unit"
is "$(jobs)" "$before" "no job exists"

ask --mem=40M --predict-mem=force --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
is "$status" 0 "force submits"
ask -p open --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
is "$status" 0 "another partition's policy lets it pass"
ask --mem=40M --predict-mem=off --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
diag "with --predict-mem=off: exit $status; $err"
ask --mem=800M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
is "$status" 0 "enough passes"
submit cluster_as nobody sbatch --parsable --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
is "$status" 0 "another user's runs refuse nobody else's job"
ask --mem=40M --predict-mem=raise --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
is "$status" 0 "raise raises it instead"

# ---- optional: Slurm does not heed a refusal, so none is spoken
fragment=$(find "$FT_TOP_BUILDDIR/tests/scratch/install" -name plugstack-optional.conf)
like "$(cat "$fragment")" '^optional /.*/spank_foretell.so.* reject=no' "the fragment for optional has reject=no"
FT_PLUGIN_ARGS="$FT_PLUGIN_ARGS reject=no" FT_PLUGSTACK=optional cluster_write_plugstack
ask --mem=40M --predict-app=steady --wrap "$hog --mib 100 --seconds 0.5"
is "$status $(said)" "0 1" "under it the job is submitted, with a warning in one line"
unlike "$err" 'not submitted' "that does not say it was not"
like "$err" '--mem=40M' "but says what is wrong"
diag "$err"
play_end
