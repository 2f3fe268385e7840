#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A model file tells its memory in sbatch; the MIG slice that holds it, in each spelling that sites
# use; what is too small, told and refused; whatever stands in a model file's place.
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
# the agent reads GPUs from NVML's stand-in
cluster_open || exit 1
mkdir "$scratch/lib"
ln -s "$(cd "$FT_TOP_BUILDDIR" && pwd)/tests/unit/.libs/libfakenvml.so" \
  "$scratch/lib/libnvidia-ml.so.1"
export FT_FAKE_NVML=gpus FT_FAKE_NVML_FILE=$scratch/process
: >"$FT_FAKE_NVML_FILE"
export LD_LIBRARY_PATH=$scratch/lib
play_begin
unset LD_LIBRARY_PATH
# all nine partitions are published, and which is the default
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
# gres ID: what the job asks for, without the release's own prefixes
gres() {
  job_field "$1" TresPerNode | sed 's/gres[:/]//g'
}

# ---- the slice is chosen
train 1 --predict-mig
is "$(gres "$id")" gpu:1g.5gb:1 "a small batch gets the smallest slice"
is "$status $(message_lines)" "0 1" "in one line"
like "$err" 'foretell: training of batch 1 of net needs .* of GPU memory, 95 % below .*; --gres set to gpu:1g.5gb:1$' \
  "which says what it needs"
diag "$err"
train 32 --predict-mig
is "$(gres "$id")" gpu:2g.10gb:1 "a larger one the next"
train 96 --predict-mig
is "$(gres "$id")" gpu:3g.20gb:1 "and the largest the third"
train 96 --predict-mig=a100-40gb
is "$(gres "$id")" gpu:3g.20gb:1 "the GPU may be named"
train 32 --predict-mig -p ampere
is "$(gres "$id")" gpu:a100_2g.10gb:1 "a100_2g.10gb is a slice"
train 32 --predict-mig -p long
is "$(gres "$id")" gpu:nvidia_a100_3g.20gb:1 "nvidia_a100_3g.20gb, too, where there is nothing between"
train 1 --predict-mig -p hopper
is "$(gres "$id")" gpu:nvidia_h100_80gb_hbm3_1g.10gb:1 "and nvidia_h100_80gb_hbm3_1g.10gb"
train 160 --predict-mig -p odd
is "$(gres "$id")" gpu:mig-3g_71gb:1 "a slice of 16 GiB that nobody says the GPU of is known by its name"
train 1 --predict-mig -p plain,main,strict
is "$(gres "$id")" gpu:1g.5gb:1 "of several partitions it is a slice that most have"
like "$err" 'set to gpu:1g.5gb:1, available in 2 of 3 partitions$' "and who has none is counted"
train 1 --predict-mig --gres=nic:2 -p long
is "$(gres "$id")" nic:2,gpu:nvidia_a100_1g.5gb:1 "what else was asked for stays"
train 1 --predict-mig --gres=gpu:2
is "$(gres "$id")" gpu:1g.5gb:2 "gpu:2 becomes two slices"
train 1 --predict-mig --gpus-per-node=2 -p ampere
is "$(gres "$id")" gpu:a100_1g.5gb:2 "in --gpus-per-node, too"
train 1 --predict-mig --gpus=1
is "$(job_field "$id" TresPerJob | sed 's/gres[:/]//g')" gpu:1g.5gb:1 "and in --gpus"
train 1 --predict-mig --gpus-per-task=1 --ntasks=2 -p ampere
is "$status $(message_lines) $(gres "$id")" "0 1 " "beside --gpus-per-task no --gres is set"
like "$err" 'net needs .*; use --gpus-per-task=a100_1g.5gb:1$' "what to ask for is said"
submit sbatch --parsable --hold --gpus-per-task=a100_1g.5gb:1 --ntasks=2 -p ampere --wrap true
like "$(job_field "$id" TresPerTask)" 'gpu:a100_1g.5gb[:=]1' "and Slurm takes it"
train 1 --predict-mig -p media
is "$(gres "$id")" gpu:nvidia_a100_80gb_pcie_2g.20gb:1 "a slice for media is not chosen"
train 1 --predict-mig --array=0-3
is "$(gres "$id")" gpu:1g.5gb:1 "each element of an array gets its slice"
train 1 --predict-mig -p plain
is "$status $(gres "$id")" "0 " "where there are no slices nothing is set"
like "$err" 'partition plain has no known MIG slice' "which is said"
train 4096 --predict-mig
is "$status $(gres "$id")" "0 " "nothing is set where no slice is large enough"
like "$err" 'no MIG slice of partition main is large enough: the largest, gpu:3g.20gb, has 19.6 GiB' "that is said"
like "$err" 'it would fit with .*batch=[0-9]+,accumulate=[0-9]+ \([0-9.]+ .iB, .*x [0-9.]+\).* or device=cpu \([0-9.]+ .iB, x [0-9.]+\)$' \
  "and what would fit, at what price"
diag "$err"
train 1 --predict-mig=riva128
is "$status $(message_lines)" "0 1" "a GPU that is none costs a line"
like "$err" 'predict-mig=riva128: expected a GPU with MIG' "that says so"
FORETELL_PREDICT_MODEL=net submit sbatch --parsable --hold --predict-mig --predict-params=input=128 --wrap true
is "$(gres "$id")" gpu:1g.5gb:1 "the model file may stand in the environment"
FORETELL_PREDICT_MODEL=net FORETELL_PREDICT_MIG=a100-40gb \
  submit sbatch --parsable --hold --predict-params=batch=32,input=128 --wrap true
is "$(gres "$id")" gpu:2g.10gb:1 "and so may the wish for a slice"
printf '%s\n' '#!/bin/sh' '#SBATCH --predict-model=net --predict-mig' \
  '#SBATCH --predict-params=batch=32,input=128' true >train.sh
submit_held train.sh
is "$(gres "$id")" gpu:2g.10gb:1 "and all of it in #SBATCH lines"
submit salloc --predict-model=net --predict-mig --predict-params=batch=32,input=128 \
  bash -c 'scontrol -o show job $SLURM_JOB_ID | tr " " "\n" | grep TresPerNode'
like "$out" 'gpu:2g.10gb:1' "salloc has it"
submit srun --predict-model=net --predict-mig --predict-params=batch=32,input=128 \
  bash -c 'scontrol -o show job $SLURM_JOB_ID | tr " " "\n" | grep TresPerNode; env'
like "$out" 'TresPerNode=.*gpu:2g.10gb:1' "srun has it"
unlike "$out" 'PREDICT_M' "and hands no option on"
submit_held --predict-model=net --predict-mig --predict-params=batch=32,input=128 : --ntasks=1 --wrap true
is "$(squeue -h -o '%b' -j "$id" | sed 's/gres[:/]//g' | sort | tr '\n' ' ')" "N/A gpu:2g.10gb:1 " \
  "the next component of a heterogeneous job does not inherit it"
submit sbatch --parsable --output=ran --predict-model=net --predict-mig --predict-params=batch=32,input=128 --wrap 'echo yes'
is "$(job_wait "$id") $(cat ran)" "COMPLETED yes" "such a job runs"

# ---- the slice counts where partitions are told and chosen
rows() {
  local name
  for name in "$@"; do
    sed -n "s/.*foretell: \\($name \\)/\\1/p" <<<"$err" | head -n 1
  done
}
train 32 --predict-mig --predict-perf
diag "$err"
unlike "$(rows main strict)" 'no node has|no GPUs' "the table has nothing against partitions with the slice"
like "$(rows ampere)" 'no node has the resources of --gres' "but against those without it"
like "$(rows plain)" 'no node has the resources of --gres' "and those without any"
like "$(rows hopper)" 'no node has the resources of --gres' "also where the names are long"
is "$(gres "$id")" gpu:2g.10gb:1 "and the slice is set"
train 32 --predict-mig --predict-perf --gpus-per-node=1 -p ampere,main
like "$(rows main)" 'no node has the requested GPUs' "a slice in --gpus-per-node counts, too"
unlike "$(rows ampere)" 'no node has' "for who has it"
is "$(gres "$id")" gpu:a100_2g.10gb:1 "and is set"
train 32 --predict-mig --predict-perf --gpus=1 -p main,ampere
like "$(rows ampere)" 'too few GPUs' "and in --gpus"
submit_held --predict-app=any --predict-perf --gpus=a30:1 --wrap true
like "$(rows long)" '^long +[^ ]+ +\? +\? +\? +\? +7.81 GiB +(\?|no, .* ago|yes, .* ago)?(; all its nodes are down.*)?$' "a GPU that is typed in --gpus"
like "$(rows main)" 'too few GPUs' "is looked for"
submit_held --predict-app=any --predict-perf --gpus-per-task=a30:1 -n 2 --ntasks-per-node=2 --wrap true
like "$(rows long)" 'no node has the requested GPUs' "and counted for each task"

# ---- past runs whose GPUs were measured, without a model file
{
  echo app,state,start,end,rss_bytes,gpu_memory_bytes
  for n in 1 2 3 4 5 6 7 8; do
    echo "unet,COMPLETED,2026-01-0${n}T10:00:00Z,2026-01-0${n}T10:05:00Z,100000000,$((6000 + 30 * n))000000"
  done
} >runs.csv
submit_held --predict-mig --predict-app=unet --wrap true
is "$status $(message_lines) $(gres "$id")" "0 1 " "without a model file and without runs nothing is set"
like "$err" 'unet has no run whose GPU memory was measured; --predict-model tells' "which is said"
"$foretell" import --state="$FT_STATE" runs.csv >"$scratch/import" 2>&1
ok $? "eight runs are imported"
kill -HUP "$(cluster_pid foretelld)"
wait_until 90 model_file unet
submit_held --predict-mig --predict-app=unet --wrap true
is "$(gres "$id")" gpu:2g.10gb:1 "past runs choose the slice"
like "$err" 'unet needs 5.7[0-9] GiB of GPU memory, 95 % below .* \(8 runs\); --gres set to' "and are the evidence"
diag "$err"

# ---- a slice that is named
train 32 --gres=gpu:1g.5gb:1 --predict-mem=check
is "$status $(gres "$id")" "0 gpu:1g.5gb:1" "what is named stays"
like "$err" 'gpu:1g.5gb has 4.75 GiB: it would run out of memory .*; use --gres=gpu:2g.10gb:1' "too small a slice is told"
like "$err" 'it would fit with ' "with what would fit in it"
train 32 --gres=gpu:1g.5gb:1 --predict-mig
is "$status $(gres "$id")" "0 gpu:1g.5gb:1" "it stays with --predict-mig, too"
train 32 --gres=gpu:1g.5gb:1 --predict-mig --predict-mem=raise
is "$(gres "$id")" gpu:2g.10gb:1 "the mode raise raises it"
like "$err" 'raised from gpu:1g.5gb:1 to gpu:2g.10gb:1' "and says so"
train 1 --gres=gpu:3g.20gb:1 --predict-mem=check
like "$err" 'gpu:3g.20gb, 19.6 GiB, is enough' "a slice that is large enough is told to be"
train 32 --gres=gpu:1g.5gb:1
is "$status $(message_lines)" "0 2" "a model file alone is reason enough to tell"
train 32 --gres=gpu:1g.5gb:1 --predict-mem=off
is "$status $(message_lines)" "0 0" "off says nothing"
train 32 --gres=gpu:nvidia_a100_1g.5gb:1 -p long --predict-mem=check
like "$err" 'nvidia_a100_1g.5gb has 4.75 GiB: it would run out of memory' "in the site's spelling"
train 512 --gres=gpu:a30:1 -p long --predict-mem=check
like "$err" 'gpu:a30 has 23.5 GiB: it would run out of memory' "a whole GPU can be too small, too"

train 32 --gres=gpu:2g.10gb:1,gpu:1g.5gb:1 --predict-mem=check
like "$err" '; gpu:1g.5gb has 4.75 GiB: it would run out' "of several slices the smallest is judged"
train 32 --gres=gpu:a30:1,gpu:nvidia_a100_1g.5gb:1 -p long --predict-mem=check
like "$err" '; gpu:nvidia_a100_1g.5gb has 4.75 GiB: it would run out' "beside a whole GPU, too"
train 32 --gres=gpu:nvidia_a100_80gb_pcie_1g.10gb+me:1 -p media --predict-mem=check
like "$err" 'gpu:nvidia_a100_80gb_pcie_1g.10gb\+me, 9.50 GiB, is enough' "one for media is judged as any"
train 512 --gres=gpu:nvidia_a100_80gb_pcie:1 -p media --predict-mem=check
like "$err" 'gpu:nvidia_a100_80gb_pcie has 79.2 GiB|gpu:nvidia_a100_80gb_pcie, 79.2 GiB' "and a whole A100 of 80 GB by its own memory"
for option in --gpus=1g.5gb:1 --gpus-per-node=1g.5gb:1 --gpus-per-task=1g.5gb:1 --gres=gpu:1g.5gb; do
  train 32 $option --ntasks=1 --predict-mem=check
  like "$err" "; gpu:1g.5gb has 4.75 GiB: it would run out .*; use ${option%%1g*}2g.10gb:1" \
    "$option is too small"
done
submit salloc --predict-model=net --predict-params=batch=32,input=128 --gres=gpu:1g.5gb:1 true
like "$err" 'gpu:1g.5gb has 4.75 GiB: it would run out' "salloc tells it"
submit_held --predict-model=net --predict-params=batch=32,input=128 --gres=gpu:1g.5gb:1 : \
  --predict-model=net --predict-params=batch=32,input=128 --gres=gpu:3g.20gb:1 --wrap true
is "$(grep -c 'it would run out' <<<"$err")" 1 "in a heterogeneous job each component is judged by its own slice"

# ---- refused
before=$(squeue -h -t all -o %i | wc -l)
FT_PLUGSTACK=required cluster_write_plugstack
train 32 --gres=gpu:1g.5gb:1 -p strict
is "$([ "$status" != 0 ] && echo refused)" refused "by the site's policy too small a slice is refused"
like "$err" 'error: foretell: job rejected: gpu:1g.5gb is too small \(4.75 GiB\); training of batch 32 of net needs' "and why"
like "$err" 'error: foretell: use --gres=gpu:2g.10gb:1, or override with --predict-mem=force' "and what would pass"
diag "$err"
is "$(squeue -h -t all -o %i | wc -l)" "$before" "no job exists"
train 32 --gres=gpu:1g.5gb:1 -p strict --predict-mem=force
is "$status" 0 "force submits it"
train 1 --gres=gpu:1g.5gb:1 -p strict
is "$status $(message_lines)" "0 0" "one that is large enough passes without a word"
cluster_write_plugstack
FT_PLUGIN_ARGS="$FT_PLUGIN_ARGS reject=no" cluster_write_plugstack
train 32 --gres=gpu:1g.5gb:1 -p strict
is "$status" 0 "with reject=no it is submitted"
unlike "$err" 'job rejected' "and not said to be refused"
cluster_write_plugstack

# ---- no GPU
train 8 --predict-mem -p plain
is "$status $(message_lines)" "0 1" "a job without GPUs gets its line"
like "$err" 'training of batch 8 of net needs .*iB, 95 % below .*by its operators.*--mem set to' "for the host's memory"
diag "$err"
between "$(mib "$(requested_mem "$id")")" 1000 4000 "which is asked for"
train 8 --predict-mem --mem=64M -p plain
is "$status $(requested_mem "$id")" "0 64M" "what was asked for stays"
like "$err" 'with --mem=64M it (would|may) run out of memory|--mem=64M is less' "and is told to be too little"
train 8 --predict-mem -p main
is "$(job_field "$id" MinMemoryNode)$(job_field "$id" MinMemoryCPU)" 0 "it never gets less than it would have got"
train 8 --predict-mem -p pergpu --gres=gpu:1g.5gb:1
scontrol release "$id"
job_wait "$id" >/dev/null
like "$(job_field "$id" AllocTRES)$(job_field "$id" TRES)" 'mem=6500M' "Slurm gives it DefMemPerGPU for its GPU"
# what ft_plan_cpus_of_gpus reckons with
memory_in_cpus() {
  submit sbatch --parsable -p cpus --gpus-per-node=1g.5gb:1 "$@" --wrap "exit 0"
  job_wait "$id" >/dev/null
  like "$(job_field "$id" AllocTRES)$(job_field "$id" TRES)" "cpu=$cpus,mem=${cpus}00M" "Slurm gives DefMemPerCPU for $cpus CPUs"
}
cpus=3 memory_in_cpus
cpus=2 memory_in_cpus --cpus-per-gpu=2
cpus=1 memory_in_cpus --cpus-per-task=1

# ---- what the agent reads of jobs' GPUs
# of_batch BATCH: MiB that foretell predict --model tells of it, and of how many runs
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
    --wrap "echo \$\$ $reading >'$FT_FAKE_NVML_FILE'; sleep 1; : >'$FT_FAKE_NVML_FILE'"
  job_wait "$id" >/dev/null
done
five() { [ "$(of_batch 12 | cut -d' ' -f2)" = 5 ]; }
wait_until 20 five
ok $? "five jobs whose context was 500 MiB larger are learnt"
now=$(of_batch 12)
between "$((${now% *} - ${foreseen[12]% *}))" 400 600 "foretell predict --model tells the next network by them"
train 12 --gres=gpu:1g.5gb:1 --predict-mem=check
like "$err" "net needs $(awk -v mib="${now% *}" 'BEGIN { printf "%.3g", mib / 1024 }') GiB .*by its operators, 5 runs of networks on this GPU" \
  "and so does sbatch"
diag "${foreseen[12]} MiB, now $now: $err"

# ---- an app's first submissions, without a model file
# segment MIB STATUS OPTION...: runs with so much GPU memory in use and ends so, until it is learnt
segments=0
segment() {
  local mib=$1 end=$2
  shift 2
  submit sbatch --parsable --output=/dev/null --predict-app=segment "$@" \
    --wrap "echo \$\$ $mib >'$FT_FAKE_NVML_FILE'; sleep 1; : >'$FT_FAKE_NVML_FILE'; exit $end"
  job_wait "$id" >/dev/null
  segments=$((segments + 1))
  wait_until 20 has_runs segment $segments
}
segment 4700 1 --gres=gpu:1g.5gb:1
is "$(observed "$id" outcome)" failed "a run fails with its slice full"
segment 6000 0 --predict-mig
is "$(gres "$id")" gpu:2g.10gb:1 "the next one gets the next larger slice"
like "$err" 'segment failed in 4.75 GiB of GPU memory \(1 run, none completed\); --gres set to' "and why"
diag "$err"
segment 6000 0 --predict-mig
is "$(gres "$id")" gpu:2g.10gb:1 "what it completed in it gets again"
like "$err" 'segment used up to 5.86 GiB of GPU memory and failed in 4.75 GiB \(2 runs, 1 completed\)' \
  "by runs that are counted as they are"
diag "$err"
submit_held --predict-app=segment --predict-mig --gres=gpu:1g.5gb:1 -p strict --wrap true
is "$status $(gres "$id")" "0 gpu:1g.5gb:1" "few runs reject nothing"
like "$err" 'gpu:1g.5gb has 4.75 GiB: it may run out of memory; use --gres=gpu:2g.10gb:1' "they warn"
submit_held --predict-app=segment --predict-mig --predict-mem=raise --gres=gpu:1g.5gb:1 --wrap true
is "$(gres "$id")" gpu:2g.10gb:1 "the mode raise raises by them"
like "$err" 'raised from gpu:1g.5gb:1 to gpu:2g.10gb:1' "and says so"
segment 6000 0 --predict-mig
segment 6000 0 --predict-mig
is "$(gres "$id")" gpu:2g.10gb:1 "with more runs the slice stays"
FT_PLUGSTACK=required cluster_write_plugstack
submit_held --predict-app=segment --predict-mig --gres=gpu:1g.5gb:1 -p strict --wrap true
is "$([ "$status" != 0 ] && echo rejected)" rejected "from min_runs completed ones on the site's policy rejects"
like "$err" 'job rejected: gpu:1g.5gb is too small \(4.75 GiB\); segment needs 5.86 GiB of GPU memory \(4 runs\)' "and why"
diag "$err"
cluster_write_plugstack

# ---- whatever stands in the model file's place
check_submission() {
  local name=$1 file=$2 begun=${EPOCHREALTIME/./} spent
  submit_held --predict-mig --predict-mem=check --predict-model="$file" --wrap true
  spent=$(((${EPOCHREALTIME/./} - begun) / 1000))
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
check_submission "noise" noise.onnx
mkfifo fifo.onnx
check_submission "a FIFO" fifo.onnx
check_submission "a device" /dev/zero
truncate -s 8G sparse.onnx
check_submission "8 GiB of nothing" sparse.onnx
mkdir folder
check_submission "an empty folder" folder
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
like "$err" 'secret.*Permission denied' "which says so"
train many --predict-mig
is "$status $(message_lines)" "0 1" "a batch that is no number: submitted, one line"
like "$err" 'batch=many": with --predict-model expected batch' "which says what is expected"

# ---- the child
for kind in 'exec sleep 300' 'kill -SEGV $$' 'exit 3' 'head -c 30000000 /dev/urandom'; do
  printf '%s\n' '#!/bin/bash' "$kind" >"$scratch/helper"
  chmod 0755 "$scratch/helper"
  FT_PLUGIN_ARGS="state=$FT_STATE socket=$FT_AGENT_SOCKET helper=$scratch/helper" cluster_write_plugstack
  check_submission "a child that does: $kind" net
done
cluster_write_plugstack
mv "$scratch/installed/foretell-network" "$scratch/aside"
check_submission "no foretell-network" net
mv "$scratch/aside" "$scratch/installed/foretell-network"
printf '%s\n' '# GPU PROFILE MIB' 'x100-10gb 1g.5gb' >"$FT_STATE/mig.conf"
check_submission "a broken mig.conf" net
printf '%s\n' 'x100-80gb 2g.10gb 9000 4' >"$FT_STATE/mig.conf"
train 32 --predict-mig=x100
is "$status $(gres "$id")" "0 gpu:2g.10gb:1" "a GPU of the site's own mig.conf"
rm "$FT_STATE/mig.conf"
mv "$FT_STATE" "$FT_STATE.aside"
check_submission "no state folder" nowhere.onnx
mv "$FT_STATE.aside" "$FT_STATE"
play_end
