#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# GPU memory measured by a real foretelld (with a fake NVML) corrects the estimate of the next network
# from its model file.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
net=$FT_TOP_SRCDIR/tests/fuzz/corpus/onnx/net-resnet.onnx
MIB=1048576

mkdir "$scratch/lib"
ln -s "$(cd "$FT_TOP_BUILDDIR" && pwd)/tests/unit/.libs/libfakenvml.so" \
  "$scratch/lib/libnvidia-ml.so.1"
export FT_FAKE_NVML=gpus FT_FAKE_NVML_FILE=$scratch/process
: >"$FT_FAKE_NVML_FILE"

# gpu_run JOB APP NETWORK_MIB GPU_MIB: a job whose network was estimated at NETWORK_MIB
gpu_run() {
  "$announce" "$socket" job="$1" app="$2" feature="model_gpu_bytes:$(($3 * MIB))" -- \
    bash -c "echo \$\$ $4 >'$FT_FAKE_NVML_FILE'; '$FT_TOP_SRCDIR/tests/slurm/gpu-seen' '$FT_FAKE_NVML_FILE'; : >'$FT_FAKE_NVML_FILE'"
  wait_until 20 log_has "job $1: $2, completed"
}

# app_prediction APP: the median and the 95 % quantile in MiB, and the lines about the model file
app_prediction() {
  "$foretell" predict --state="$state" --json --app="$1" "$scratch/job.sh" \
    >"$scratch/prediction" 2>"$scratch/why"
  python3 - "$scratch/prediction" <<'END'
import json, sys
answer = json.load(open(sys.argv[1]))
gpu = answer["gpu_memory_bytes"]
print(*(round(gpu[k] / 2**20) for k in ("p50", "p95")), *answer["network"]["lines"])
END
}
# model_prediction OPTION...: the same of foretell predict --model, and the numbers of runs behind it
model_prediction() {
  "$foretell" predict --state="$state" --json --model="$net" --params=batch=64 "$@" \
    >"$scratch/prediction" 2>"$scratch/why"
  python3 - "$scratch/prediction" <<'END'
import json, sys
answer = json.load(open(sys.argv[1]))
gpu = answer["gpu_memory_bytes"]
print(*(round(gpu[k] / 2**20) for k in ("p50", "p95")), answer["runs"], answer["device_runs"])
END
}
near() { # PREDICTION EXPECTED TOLERANCE NAME: compares the median, in MiB
  local median=${1%% *}
  [ -n "$median" ] && [ $((median - $2)) -le "$3" ] && [ $(($2 - median)) -le "$3" ]
  ok $? "$4"
  diag "predicted $1, expected $2"
}

printf '%s\n' '#!/bin/sh' "#SBATCH --predict-model=$net --predict-params=batch=64,device=a100" \
  '#SBATCH --predict-mig=a100' true >"$scratch/job.sh"
config 'sample_hz = 20'
LD_LIBRARY_PATH=$scratch/lib start
before=$(app_prediction new)
like "$before" 'by its operators' "without runs the estimate comes from the network's operators"

of=$(model_prediction)
near "$of" "${before%% *}" 1 "foretell predict --model has the same estimate"
like "$of" ' 0 0$' "foretell predict --model reports no runs"

# other networks: each 500 MiB above the estimate of the context
context=$((${before%% *}))
for job in 1 2 3 4 5 6; do
  gpu_run $job "net$job" $((job * job * 200)) $((context + 500 + job * job * 200))
done
# has_six_runs: all six runs are published
has_six_runs() {
  model_prediction | grep -q ' 0 6$'
}
wait_until 60 test -s "$state/gpus"
ok $? "measurements of networks' runs are published"
wait_until 60 has_six_runs
after=$(app_prediction new)
like "$after" 'runs? of networks on this GPU' "they are evidence for the next network"
near "$after" $((context + 500)) 150 "they move its estimate by 500 MiB"
of=$(model_prediction)
near "$of" "${after%% *}" 1 "foretell predict --model has the same estimate"
like "$of" ' 0 6$' "foretell predict --model reports six runs on such a GPU"
near "$(model_prediction --device=h200)" "$context" 20 "they do not change the estimate for another GPU"
"$foretell" predict --state="$state" --model="$net" --params=batch=64 >"$scratch/prediction"
like "$(cat "$scratch/prediction")" 'by its operators, 6 runs of networks on this GPU' "foretell predict prints them as evidence"

stop
rm -f "$state/gpus"
LD_LIBRARY_PATH=$scratch/lib start
gpu_run 7 net7 3000 $((context + 3500))
wait_until 20 test -s "$state/gpus"
near "$(app_prediction new)" $((context + 500)) 150 "a lost file is rebuilt from the store"

# runs of the same app, far from the operators' estimate
for job in 8 9 10; do
  gpu_run $job new 2000 $((context + 500 + 2600))
done
# the learner publishes a model at most once a second
three_are_published() {
  model_prediction --app=new | grep -q ' 3 10$'
}
wait_until 20 three_are_published
like "$(app_prediction new)" 'runs of it' "runs of the app itself are named as evidence"
of=$(model_prediction --app=new)
like "$of" ' 3 10$' "foretell predict --model --app reports the app's own runs"
gpu_run 11 failed 2000 30000 && : # an outlier has little weight
near "$(app_prediction other)" $((context + 500)) 200 "one outlier changes the estimate little"
stop
tap_done
