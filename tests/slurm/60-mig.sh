#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# sbatch estimates GPU memory from a model file: the MIG slice that fits, in each spelling that sites
# use; slices that are too small, with warnings and rejections; broken files in place of the model.
. "$(dirname "$0")/play.sh"
FT_ENFORCE=none
FT_NODES='one 8 8000 Gres=gpu:1g.5gb:2,gpu:2g.10gb:1,gpu:3g.20gb:1
ampere:down 8 8000 Gres=gpu:a100_1g.5gb:7,gpu:a100_2g.10gb:3,gpu:a100_3g.20gb:2
hopper:down 8 8000 Gres=gpu:nvidia_h100_80gb_hbm3_1g.10gb:7,gpu:nvidia_h100_80gb_hbm3_3g.40gb:2
long:down 8 8000 Gres=gpu:nvidia_a100_1g.5gb:7,gpu:nvidia_a100_3g.20gb:2,gpu:a30:1,nic:8
odd:down 8 8000 Gres=gpu:mig-1g.18gb:7,gpu:mig-3g_71gb:2
media:down 8 8000 Gres=gpu:nvidia_a100_80gb_pcie_1g.10gb+me:1,gpu:nvidia_a100_80gb_pcie_2g.20gb:3,gpu:nvidia_a100_80gb_pcie:1
plain:down 8 8000'
FT_SLURM_CONF='GresTypes=gpu,nic'
FT_GRES_CONF='NodeName=@one@ Name=gpu Type=1g.5gb File=/dev/null
NodeName=@one@ Name=gpu Type=1g.5gb File=/dev/zero
NodeName=@one@ Name=gpu Type=2g.10gb File=/dev/full
NodeName=@one@ Name=gpu Type=3g.20gb File=/dev/urandom'
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES MaxTime=60
PartitionName=strict Nodes=@one@ MaxTime=60
PartitionName=ampere Nodes=@ampere@ MaxTime=60
PartitionName=hopper Nodes=@hopper@ MaxTime=60
PartitionName=long Nodes=@long@ MaxTime=60
PartitionName=odd Nodes=@odd@ MaxTime=60
PartitionName=media Nodes=@media@ MaxTime=60
PartitionName=plain Nodes=@plain@ DefMemPerNode=100 MaxTime=60
PartitionName=pergpu Nodes=@one@ DefMemPerGPU=6500 MaxTime=60
PartitionName=cpus Nodes=@one@ DefCpuPerGPU=3 DefMemPerCPU=100 MaxTime=60'
FT_FORETELL_CONF='min_runs = 3
oom_probability = 0.05
floor = "16M"
round = "1M"
helper_timeout_ms = 5000
partition "strict" {
  mode = "check"
  reject_probability = 0.5
}'
# a fake NVML reports GPUs to the agent
cluster_open || exit 1
mkdir "$scratch/lib"
ln -s "$(cd "$FT_TOP_BUILDDIR" && pwd)/tests/unit/.libs/libfakenvml.so" \
  "$scratch/lib/libnvidia-ml.so.1"
export FT_FAKE_NVML=gpus FT_FAKE_NVML_FILE=$scratch/process
: >"$FT_FAKE_NVML_FILE"
export LD_LIBRARY_PATH=$scratch/lib
play_begin
unset LD_LIBRARY_PATH
# published: all nine partitions and the default partition are published
published() {
  [ "$(ls "$FT_STATE/partitions" | wc -l)" = 9 ] && grep -aq main "$FT_STATE/site"
}
wait_until 15 published

mkdir net
printf '%s\n' '{"architectures": ["BertForMaskedLM"], "model_type": "bert", "hidden_size": 768,' \
  '"num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,' \
  '"vocab_size": 30522, "max_position_embeddings": 512, "hidden_act": "gelu"}' >net/config.json

# train BATCH OPTION...: submits a held job that trains the network
train() {
  local batch=$1
  shift
  submit_held --predict-model=net --predict-params="batch=$batch,input=128" "$@" --wrap true
}
# gres ID: prints the job's GRES without the prefixes that depend on Slurm's release
gres() {
  job_field "$1" TresPerNode | sed 's/gres[:/]//g'
}

# ---- the slice is chosen
train 1 --predict-mig
is "$(gres "$id")" gpu:1g.5gb:1 "a small batch gets the smallest slice"
is "$status $(message_lines)" "0 1" "the message is one line"
like "$err" 'foretell: training of batch 1 of net needs .* of GPU memory, 95 % below .*; --gres set to gpu:1g.5gb:1$' \
  "the message has the estimate and the slice"
diag "$err"
train 32 --predict-mig
is "$(gres "$id")" gpu:2g.10gb:1 "a larger batch gets the next slice"
train 96 --predict-mig
is "$(gres "$id")" gpu:3g.20gb:1 "the largest batch gets the third slice"
train 96 --predict-mig=a100-40gb
is "$(gres "$id")" gpu:3g.20gb:1 "--predict-mig may name the GPU"
train 32 --predict-mig -p ampere
is "$(gres "$id")" gpu:a100_2g.10gb:1 "a100_2g.10gb is recognised as a slice"
train 32 --predict-mig -p long
is "$(gres "$id")" gpu:nvidia_a100_3g.20gb:1 "nvidia_a100_3g.20gb is recognised, and chosen where no smaller slice fits"
train 1 --predict-mig -p hopper
is "$(gres "$id")" gpu:nvidia_h100_80gb_hbm3_1g.10gb:1 "nvidia_h100_80gb_hbm3_1g.10gb is recognised"
train 160 --predict-mig -p odd
is "$(gres "$id")" gpu:mig-3g_71gb:1 "a slice of an unknown GPU has the memory that its name states"
train 1 --predict-mig -p plain,main,strict
is "$(gres "$id")" gpu:1g.5gb:1 "of several partitions' slices the most widespread is chosen"
like "$err" 'set to gpu:1g.5gb:1, available in 2 of 3 partitions$' "the message has the number of partitions with it"
train 1 --predict-mig --gres=nic:2 -p long
is "$(gres "$id")" nic:2,gpu:nvidia_a100_1g.5gb:1 "other GRES of the request stay"
train 1 --predict-mig --gres=gpu:2
is "$(gres "$id")" gpu:1g.5gb:2 "gpu:2 becomes two slices"
train 1 --predict-mig --gpus-per-node=2 -p ampere
is "$(gres "$id")" gpu:a100_1g.5gb:2 "--gpus-per-node=2 becomes two slices"
train 1 --predict-mig --gpus=1
is "$(job_field "$id" TresPerJob | sed 's/gres[:/]//g')" gpu:1g.5gb:1 "--gpus=1 becomes a slice"
train 1 --predict-mig --gpus-per-task=1 --ntasks=2 -p ampere
is "$status $(message_lines) $(gres "$id")" "0 1 " "beside --gpus-per-task no --gres is set"
like "$err" 'net needs .*; use --gpus-per-task=a100_1g.5gb:1$' "the message suggests an option"
submit sbatch --parsable --hold --gpus-per-task=a100_1g.5gb:1 --ntasks=2 -p ampere --wrap true
like "$(job_field "$id" TresPerTask)" 'gpu:a100_1g.5gb[:=]1' "Slurm accepts the suggestion"
train 1 --predict-mig -p media
is "$(gres "$id")" gpu:nvidia_a100_80gb_pcie_2g.20gb:1 "a slice with media engines is not chosen"
train 1 --predict-mig --array=0-3
is "$(gres "$id")" gpu:1g.5gb:1 "each task of an array gets its slice"
train 1 --predict-mig -p plain
is "$status $(gres "$id")" "0 " "without slices in the partition nothing is set"
like "$err" 'partition plain has no known MIG slice' "the message states that there is no slice"
train 4096 --predict-mig
is "$status $(gres "$id")" "0 " "nothing is set where no slice is large enough"
like "$err" 'no MIG slice of partition main is large enough: the largest, gpu:3g.20gb, has 19.6 GiB' "the message has the largest slice's memory"
like "$err" 'it would fit with .*batch=[0-9]+,accumulate=[0-9]+ \([0-9.]+ .iB, .*x [0-9.]+\).* or device=cpu \([0-9.]+ .iB, x [0-9.]+\)$' \
  "the message has settings that would fit, and their cost"
diag "$err"
train 1 --predict-mig=riva128
is "$status $(message_lines)" "0 1" "an unknown GPU: the job is submitted, with one line"
like "$err" 'predict-mig=riva128: expected a GPU with MIG' "the message names the unknown GPU"
FORETELL_PREDICT_MODEL=net submit sbatch --parsable --hold --predict-mig --predict-params=input=128 --wrap true
is "$(gres "$id")" gpu:1g.5gb:1 "the environment may name the model file"
FORETELL_PREDICT_MODEL=net FORETELL_PREDICT_MIG=a100-40gb \
  submit sbatch --parsable --hold --predict-params=batch=32,input=128 --wrap true
is "$(gres "$id")" gpu:2g.10gb:1 "the environment may request a slice"
printf '%s\n' '#!/bin/sh' '#SBATCH --predict-model=net --predict-mig' \
  '#SBATCH --predict-params=batch=32,input=128' true >train.sh
submit_held train.sh
is "$(gres "$id")" gpu:2g.10gb:1 "#SBATCH lines may have all of it"
submit salloc --predict-model=net --predict-mig --predict-params=batch=32,input=128 \
  bash -c 'scontrol -o show job $SLURM_JOB_ID | tr " " "\n" | grep TresPerNode'
like "$out" 'gpu:2g.10gb:1' "salloc sets the slice"
submit srun --predict-model=net --predict-mig --predict-params=batch=32,input=128 \
  bash -c 'scontrol -o show job $SLURM_JOB_ID | tr " " "\n" | grep TresPerNode; env'
like "$out" 'TresPerNode=.*gpu:2g.10gb:1' "srun sets the slice"
unlike "$out" 'PREDICT_M' "srun's job does not inherit the options"
submit_held --predict-model=net --predict-mig --predict-params=batch=32,input=128 : --ntasks=1 --wrap true
is "$(squeue -h -o '%b' -j "$id" | sed 's/gres[:/]//g' | sort | tr '\n' ' ')" "N/A gpu:2g.10gb:1 " \
  "the next component of a heterogeneous job does not inherit it"
submit sbatch --parsable --output=ran --predict-model=net --predict-mig --predict-params=batch=32,input=128 --wrap 'echo yes'
is "$(job_wait "$id") $(cat ran)" "COMPLETED yes" "a job on a chosen slice completes"

# ---- the chosen slice counts in the table of partitions
rows() {
  local name
  for name in "$@"; do
    sed -n "s/.*foretell: \\($name \\)/\\1/p" <<<"$err" | head -n 1
  done
}
train 32 --predict-mig --predict-perf
diag "$err"
unlike "$(rows main strict)" 'no node has|no GPUs' "partitions with the slice have no objection in the table"
like "$(rows ampere)" 'no node has the resources of --gres' "partitions without the slice have an objection"
like "$(rows plain)" 'no node has the resources of --gres' "partitions without GPUs have an objection"
like "$(rows hopper)" 'no node has the resources of --gres' "slices with longer names do not match"
is "$(gres "$id")" gpu:2g.10gb:1 "the slice is set"
train 32 --predict-mig --predict-perf --gpus-per-node=1 -p ampere,main
like "$(rows main)" 'no node has the requested GPUs' "a slice in --gpus-per-node counts, too"
unlike "$(rows ampere)" 'no node has' "the partition with it has no objection"
is "$(gres "$id")" gpu:a100_2g.10gb:1 "the slice in --gpus-per-node is set"
train 32 --predict-mig --predict-perf --gpus=1 -p main,ampere
like "$(rows ampere)" 'too few GPUs' "a slice in --gpus counts, too"
submit_held --predict-app=any --predict-perf --gpus=a30:1 --wrap true
like "$(rows long)" '^long +[^ ]+ +\? +\? +\? +\? +7.81 GiB +(\?|no, .* ago|yes, .* ago)?(; all its nodes are down.*)?$' "a GPU given in --gpus is found"
like "$(rows main)" 'too few GPUs' "a partition without that GPU has an objection"
submit_held --predict-app=any --predict-perf --gpus-per-task=a30:1 -n 2 --ntasks-per-node=2 --wrap true
like "$(rows long)" 'no node has the requested GPUs' "--gpus-per-task counts for each task"

# ---- past runs with measured GPU memory, without a model file
{
  echo app,state,start,end,rss_bytes,gpu_memory_bytes
  for n in 1 2 3 4 5 6 7 8; do
    echo "unet,COMPLETED,2026-01-0${n}T10:00:00Z,2026-01-0${n}T10:05:00Z,100000000,$((6000 + 30 * n))000000"
  done
} >runs.csv
submit_held --predict-mig --predict-app=unet --wrap true
is "$status $(message_lines) $(gres "$id")" "0 1 " "without a model file and without runs nothing is set"
like "$err" 'unet has no run with measured GPU memory; --predict-model=FILE needs none' "the message suggests --predict-model"
"$foretell" import --state="$FT_STATE" runs.csv >"$scratch/import" 2>&1
ok $? "eight runs are imported"
cluster_reload_agent
wait_until 90 model_file unet
submit_held --predict-mig --predict-app=unet --wrap true
is "$(gres "$id")" gpu:2g.10gb:1 "past runs determine the slice"
like "$err" 'unet needs 5.7[0-9] GiB of GPU memory, 95 % below .* \(8 runs\); --gres set to' "the message has the runs as evidence"
diag "$err"

# ---- a slice that the user requests
train 32 --gres=gpu:1g.5gb:1 --predict-mem=check
is "$status $(gres "$id")" "0 gpu:1g.5gb:1" "a requested slice stays"
like "$err" 'gpu:1g.5gb has 4.75 GiB: it would run out of memory .*; use --gres=gpu:2g.10gb:1' "a message warns of a slice that is too small"
like "$err" 'it would fit with ' "the message has settings that would fit"
train 32 --gres=gpu:1g.5gb:1 --predict-mig
is "$status $(gres "$id")" "0 gpu:1g.5gb:1" "a requested slice stays with --predict-mig, too"
train 32 --gres=gpu:1g.5gb:1 --predict-mig --predict-mem=raise
is "$(gres "$id")" gpu:2g.10gb:1 "the mode raise raises it"
like "$err" 'raised from gpu:1g.5gb:1 to gpu:2g.10gb:1' "the message reports the change"
train 1 --gres=gpu:3g.20gb:1 --predict-mem=check
like "$err" 'gpu:3g.20gb, 19.6 GiB, is enough' "a message states that a slice is large enough"
train 32 --gres=gpu:1g.5gb:1
is "$status $(message_lines)" "0 2" "a model file without --predict-mem gets the message, too"
train 32 --gres=gpu:1g.5gb:1 --predict-mem=off
is "$status $(message_lines)" "0 0" "off prints nothing"
train 32 --gres=gpu:nvidia_a100_1g.5gb:1 -p long --predict-mem=check
like "$err" 'nvidia_a100_1g.5gb has 4.75 GiB: it would run out of memory' "a slice in the site's spelling is evaluated"
train 512 --gres=gpu:a30:1 -p long --predict-mem=check
like "$err" 'gpu:a30 has 23.5 GiB: it would run out of memory' "a whole GPU can be too small, too"

train 32 --gres=gpu:2g.10gb:1,gpu:1g.5gb:1 --predict-mem=check
like "$err" '; gpu:1g.5gb has 4.75 GiB: it would run out' "of several slices the smallest is evaluated"
train 32 --gres=gpu:a30:1,gpu:nvidia_a100_1g.5gb:1 -p long --predict-mem=check
like "$err" '; gpu:nvidia_a100_1g.5gb has 4.75 GiB: it would run out' "a slice is evaluated beside a whole GPU, too"
train 32 --gres=gpu:nvidia_a100_80gb_pcie_1g.10gb+me:1 -p media --predict-mem=check
like "$err" 'gpu:nvidia_a100_80gb_pcie_1g.10gb\+me, 9.50 GiB, is enough' "a slice with media engines is evaluated like any other"
train 512 --gres=gpu:nvidia_a100_80gb_pcie:1 -p media --predict-mem=check
like "$err" 'gpu:nvidia_a100_80gb_pcie has 79.2 GiB|gpu:nvidia_a100_80gb_pcie, 79.2 GiB' "a whole A100 of 80 GB is evaluated by its own memory"
for option in --gpus=1g.5gb:1 --gpus-per-node=1g.5gb:1 --gpus-per-task=1g.5gb:1 --gres=gpu:1g.5gb; do
  train 32 $option --ntasks=1 --predict-mem=check
  like "$err" "; gpu:1g.5gb has 4.75 GiB: it would run out .*; use ${option%%1g*}2g.10gb:1" \
    "$option is too small"
done
submit salloc --predict-model=net --predict-params=batch=32,input=128 --gres=gpu:1g.5gb:1 true
like "$err" 'gpu:1g.5gb has 4.75 GiB: it would run out' "salloc warns of a slice that is too small"
submit_held --predict-model=net --predict-params=batch=32,input=128 --gres=gpu:1g.5gb:1 : \
  --predict-model=net --predict-params=batch=32,input=128 --gres=gpu:3g.20gb:1 --wrap true
is "$(grep -c 'it would run out' <<<"$err")" 1 "in a heterogeneous job each component is evaluated by its own slice"

# ---- rejection
before=$(squeue -h -t all -o %i | wc -l)
FT_PLUGSTACK=required cluster_write_plugstack
train 32 --gres=gpu:1g.5gb:1 -p strict
is "$([ "$status" != 0 ] && echo refused)" refused "the site's policy rejects a slice that is too small"
like "$err" 'error: foretell: job rejected: gpu:1g.5gb is too small \(4.75 GiB\); training of batch 32 of net needs' "the message has the reason"
like "$err" 'error: foretell: use --gres=gpu:2g.10gb:1, or override with --predict-mem=force' "the message suggests a sufficient slice"
diag "$err"
is "$(squeue -h -t all -o %i | wc -l)" "$before" "no job exists"
train 32 --gres=gpu:1g.5gb:1 -p strict --predict-mem=force
is "$status" 0 "force submits it"
train 1 --gres=gpu:1g.5gb:1 -p strict
is "$status $(message_lines)" "0 0" "a slice that is large enough has no message"
cluster_write_plugstack
FT_PLUGIN_ARGS="$FT_PLUGIN_ARGS reject=no" cluster_write_plugstack
train 32 --gres=gpu:1g.5gb:1 -p strict
is "$status" 0 "with reject=no it is submitted"
unlike "$err" 'job rejected' "the message does not claim a rejection"
cluster_write_plugstack

# ---- no GPU
train 8 --predict-mem -p plain
is "$status $(message_lines)" "0 1" "a job without GPUs has one line"
like "$err" 'training of batch 8 of net needs .*iB, 95 % below .*by its operators.*--mem set to' "the message estimates the host's memory"
diag "$err"
between "$(mib "$(requested_mem "$id")")" 1000 4000 "that memory is requested"
train 8 --predict-mem --mem=64M -p plain
is "$status $(requested_mem "$id")" "0 64M" "a request of the user's stays"
like "$err" 'with --mem=64M it (would|may) run out of memory|--mem=64M is less' "the message warns that it is too small"
train 8 --predict-mem -p main
is "$(job_field "$id" MinMemoryNode)$(job_field "$id" MinMemoryCPU)" 0 "the request is never below the default"
train 8 --predict-mem -p pergpu --gres=gpu:1g.5gb:1
scontrol release "$id"
job_wait "$id" >/dev/null
like "$(job_field "$id" AllocTRES)$(job_field "$id" TRES)" 'mem=6500M' "Slurm gives it DefMemPerGPU for its GPU"
# ft_plan_cpus_of_gpus computes the same
memory_in_cpus() {
  submit sbatch --parsable -p cpus --gpus-per-node=1g.5gb:1 "$@" --wrap "exit 0"
  job_wait "$id" >/dev/null
  like "$(job_field "$id" AllocTRES)$(job_field "$id" TRES)" "cpu=$cpus,mem=${cpus}00M" "Slurm gives DefMemPerCPU for $cpus CPUs"
}
cpus=3 memory_in_cpus
cpus=2 memory_in_cpus --cpus-per-gpu=2
cpus=1 memory_in_cpus --cpus-per-task=1

# ---- the agent measures the jobs' GPU memory
# of_batch BATCH: prints foretell predict --model's estimate in MiB, and its number of runs
of_batch() {
  "$foretell" predict --state="$FT_STATE" --json --model=net --params="batch=$1,input=128" |
    python3 -c 'import json, sys; a = json.load(sys.stdin)
print(round(a["gpu_memory_bytes"]["p50"] / 2**20), a["device_runs"])'
}
declare -A foreseen
for batch in 1 2 4 8 16 12; do
  foreseen[$batch]=$(of_batch "$batch")
done
for batch in 1 2 4 8 16; do
  reading=$((${foreseen[$batch]% *} + 500))
  submit sbatch --parsable --output=/dev/null --gres=gpu:1g.5gb:1 --predict-model=net \
    --predict-params="batch=$batch,input=128" \
    --wrap "echo \$\$ $reading >'$FT_FAKE_NVML_FILE'; '$FT_TOP_SRCDIR/tests/slurm/gpu-seen' '$FT_FAKE_NVML_FILE'; : >'$FT_FAKE_NVML_FILE'"
  job_wait "$id" >/dev/null
done
five() { [ "$(of_batch 12 | cut -d' ' -f2)" = 5 ]; }
wait_until 20 five
ok $? "five jobs with a context larger by 500 MiB are learned"
now=$(of_batch 12)
between "$((${now% *} - ${foreseen[12]% *}))" 400 600 "foretell predict --model corrects the next estimate by them"
train 12 --gres=gpu:1g.5gb:1 --predict-mem=check
like "$err" "net needs $(awk -v mib="${now% *}" 'BEGIN { printf "%.3g", mib / 1024 }') GiB .*by its operators, 5 runs of networks on this GPU" \
  "sbatch corrects it, too"
diag "${foreseen[12]} MiB, now $now: $err"

# ---- an app's first submissions, without a model file
# segment MIB STATUS OPTION...: runs a job with MIB of GPU memory and this exit status, until it is learned
segments=0
segment() {
  local mib=$1 end=$2
  shift 2
  submit sbatch --parsable --output=/dev/null --predict-app=segment "$@" \
    --wrap "echo \$\$ $mib >'$FT_FAKE_NVML_FILE'; '$FT_TOP_SRCDIR/tests/slurm/gpu-seen' '$FT_FAKE_NVML_FILE'; : >'$FT_FAKE_NVML_FILE'; exit $end"
  job_wait "$id" >/dev/null
  segments=$((segments + 1))
  wait_until 20 has_runs segment $segments
}
segment 4700 1 --gres=gpu:1g.5gb:1
is "$(observed "$id" outcome)" failed "a run fails with its slice full"
segment 6000 0 --predict-mig
is "$(gres "$id")" gpu:2g.10gb:1 "the next run gets the next larger slice"
like "$err" 'segment failed in 4.75 GiB of GPU memory \(1 run, none completed\); --gres set to' "the message has the reason"
diag "$err"
segment 6000 0 --predict-mig
is "$(gres "$id")" gpu:2g.10gb:1 "after a completed run the slice stays"
like "$err" 'segment used up to 5.86 GiB of GPU memory and failed in 4.75 GiB \(2 runs, 1 completed\)' \
  "the message has the number of failed and completed runs"
diag "$err"
submit_held --predict-app=segment --predict-mig --gres=gpu:1g.5gb:1 -p strict --wrap true
is "$status $(gres "$id")" "0 gpu:1g.5gb:1" "few runs reject no job"
like "$err" 'gpu:1g.5gb has 4.75 GiB: it may run out of memory; use --gres=gpu:2g.10gb:1' "few runs warn of a slice that is too small"
submit_held --predict-app=segment --predict-mig --predict-mem=raise --gres=gpu:1g.5gb:1 --wrap true
is "$(gres "$id")" gpu:2g.10gb:1 "with few runs the mode raise raises the slice"
like "$err" 'raised from gpu:1g.5gb:1 to gpu:2g.10gb:1' "the message reports the change"
segment 6000 0 --predict-mig
segment 6000 0 --predict-mig
is "$(gres "$id")" gpu:2g.10gb:1 "with more runs the slice stays"
FT_PLUGSTACK=required cluster_write_plugstack
submit_held --predict-app=segment --predict-mig --gres=gpu:1g.5gb:1 -p strict --wrap true
is "$([ "$status" != 0 ] && echo rejected)" rejected "from min_runs completed runs on the site's policy rejects"
like "$err" 'job rejected: gpu:1g.5gb is too small \(4.75 GiB\); segment needs 5.86 GiB of GPU memory \(4 runs\)' "the message has the reason"
diag "$err"
cluster_write_plugstack

# ---- broken files in place of the model file
check_submission() {
  local name=$1 file=$2 begun spent try
  # other load delays some submissions, a delay of foretell's each
  for try in 1 2 3 4 5; do
    begun=${EPOCHREALTIME/./}
    submit_held --predict-mig --predict-mem=check --predict-model="$file" --wrap true
    spent=$(((${EPOCHREALTIME/./} - begun) / 1000))
    [ "$status" = 0 ] && [ "$(message_lines)" = 1 ] && [ $spent -ge 8000 ] || break
  done
  if [ "$status" = 0 ] && [ -n "$id" ] && [ "$(message_lines)" = 1 ] && [ $spent -lt 8000 ]; then
    ok 0 "$name: submitted, one line"
  else
    ok 1 "$name: submitted, one line"
  fi
  diag "$spent ms: $err"
}
check_submission "no such file" nowhere.onnx
printf 'not a model' >text.onnx
check_submission "a text" text.onnx
: >empty.onnx
check_submission "an empty file" empty.onnx
head -c 100000 /dev/urandom >noise.onnx
check_submission "random bytes" noise.onnx
mkfifo fifo.onnx
check_submission "a FIFO" fifo.onnx
check_submission "a device" /dev/zero
truncate -s 8G sparse.onnx
check_submission "8 GiB of zeros" sparse.onnx
mkdir folder
check_submission "an empty directory" folder
while cat text.onnx >>growing.onnx; do :; done &
grower=$!
check_submission "a file that grows" growing.onnx
kill "$grower"
wait_child 60 "$grower"
rm -f growing.onnx
ln -s loop.onnx loop.onnx
check_submission "a link to itself" loop.onnx
mkdir deep
{ printf '{"a":'; head -c 500000 /dev/zero | tr '\0' '['; } >deep/config.json
check_submission "half a million brackets" deep
mkdir huge
sed 's/"hidden_size": 768/"hidden_size": 9223372036854775807/' net/config.json >huge/config.json
check_submission "dimensions of 2^63" huge
check_submission "a name with a line feed" $'net\nforetell: rm -rf'
check_submission "a name of 3000 letters" "$(head -c 3000 /dev/zero | tr '\0' n)"
install -m 0600 net/config.json secret.json
submit cluster_as nobody sbatch --parsable --hold --predict-model=secret.json --predict-mig --wrap true
is "$status $(message_lines)" "0 1" "a file that the user may not read: submitted, one line"
like "$err" 'secret.*Permission denied' "the message has the reason"
train many --predict-mig
is "$status $(message_lines)" "0 1" "a batch that is not a number: submitted, one line"
like "$err" 'batch=many": with --predict-model expected batch' "the message states the accepted parameters"

# ---- the helper process
for kind in 'exec sleep 300' 'kill -SEGV $$' 'exit 3' 'head -c 30000000 /dev/urandom'; do
  printf '%s\n' '#!/bin/bash' "$kind" >"$scratch/helper"
  chmod 0755 "$scratch/helper"
  FT_PLUGIN_ARGS="state=$FT_STATE socket=$FT_AGENT_SOCKET helper=$scratch/helper" cluster_write_plugstack
  check_submission "a helper that runs: $kind" net
done
cluster_write_plugstack
mv "$scratch/installed/foretell-network" "$scratch/aside"
check_submission "no foretell-network" net
mv "$scratch/aside" "$scratch/installed/foretell-network"
printf '%s\n' '# GPU PROFILE MIB' 'x100-10gb 1g.5gb' >"$FT_STATE/mig.conf"
check_submission "a broken mig.conf" net
printf '%s\n' 'x100-80gb 2g.10gb 9000 4' >"$FT_STATE/mig.conf"
train 32 --predict-mig=x100
is "$status $(gres "$id")" "0 gpu:2g.10gb:1" "a GPU of the site's own mig.conf is accepted"
rm "$FT_STATE/mig.conf"
mv "$FT_STATE" "$FT_STATE.aside"
check_submission "no state directory" nowhere.onnx
mv "$FT_STATE.aside" "$FT_STATE"
play_end
