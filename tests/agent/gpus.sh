#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What a real foretelld reads of GPUs (NVML's stand-in) corrects what is told of the next network
# from its model file.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
foretell=$FT_TOP_BUILDDIR/predictor/cli/foretell
net=$FT_TOP_SRCDIR/tests/fuzz/corpus/onnx/net-resnet.onnx
MIB=1048576

mkdir "$scratch/lib"
ln -s "$(cd "$FT_TOP_BUILDDIR" && pwd)/tests/unit/.libs/libfakenvml.so" \
  "$scratch/lib/libnvidia-ml.so.1"
export FT_FAKE_NVML=gpus FT_FAKE_NVML_FILE=$scratch/process
: >"$FT_FAKE_NVML_FILE"

# gpu_run JOB APP NETWORK_MIB GPU_MIB: a job whose network was foreseen to take NETWORK_MIB
gpu_run() {
  "$announce" "$socket" job="$1" app="$2" feature="model_gpu_bytes:$(($3 * MIB))" -- \
    bash -c "echo \$\$ $4 >'$FT_FAKE_NVML_FILE'; sleep 0.3; : >'$FT_FAKE_NVML_FILE'"
  wait_until 20 log_has "job $1: $2, completed"
}

# told APP: what is told of the model file, and the middle and the 95 % of it in MiB
app_prediction() {
  "$foretell" predict --state="$state" --json --app="$1" "$scratch/job.sh" \
    >"$scratch/told" 2>"$scratch/why"
  python3 - "$scratch/told" <<'END'
import json, sys
answer = json.load(open(sys.argv[1]))
gpu = answer["gpu_memory_bytes"]
print(*(round(gpu[k] / 2**20) for k in ("p50", "p95")), *answer["network"]["lines"])
END
}
# of_model OPTION...: the same of foretell predict --model, with how many runs are behind it
model_prediction() {
  "$foretell" predict --state="$state" --json --model="$net" --params=batch=64 "$@" \
    >"$scratch/told" 2>"$scratch/why"
  python3 - "$scratch/told" <<'END'
import json, sys
answer = json.load(open(sys.argv[1]))
gpu = answer["gpu_memory_bytes"]
print(*(round(gpu[k] / 2**20) for k in ("p50", "p95")), answer["runs"], answer["device_runs"])
END
}
near() { # TOLD EXPECTED WITHIN DESCRIPTION: its middle
  local median=${1%% *}
  [ -n "$median" ] && [ $((median - $2)) -le "$3" ] && [ $(($2 - median)) -le "$3" ]
  ok $? "$4"
  diag "told $1, expected $2"
}

printf '%s\n' '#!/bin/sh' "#SBATCH --predict-model=$net --predict-params=batch=64,device=a100" \
  '#SBATCH --predict-mig=a100' true >"$scratch/job.sh"
config 'sample_hz = 20'
LD_LIBRARY_PATH=$scratch/lib start
before=$(app_prediction new)
like "$before" 'by its operators' "before any run a network's operators tell"

of=$(model_prediction)
near "$of" "${before%% *}" 1 "and foretell predict --model tells the same"
like "$of" ' 0 0$' "which no run is behind"

# other networks: each 500 MiB above what is known of the context
context=$((${before%% *}))
for job in 1 2 3 4 5 6; do
  gpu_run $job "net$job" $((job * job * 200)) $((context + 500 + job * job * 200))
done
wait_until 20 test -s "$state/gpus"
ok $? "what runs of networks tell of GPUs is published"
after=$(app_prediction new)
like "$after" 'runs? of networks on this GPU' "and counts for the next one"
near "$after" $((context + 500)) 150 "whose estimate goes where theirs were"
of=$(model_prediction)
near "$of" "${after%% *}" 1 "foretell predict --model goes there, too"
like "$of" ' 0 6$' "and says that six runs on such a GPU are behind it"
near "$(model_prediction --device=h200)" "$context" 20 "of another GPU they tell nothing"
"$foretell" predict --state="$state" --model="$net" --params=batch=64 >"$scratch/told"
like "$(cat "$scratch/told")" 'by its operators, 6 runs of networks on this GPU' "in words, too"

stop
rm -f "$state/gpus"
LD_LIBRARY_PATH=$scratch/lib start
gpu_run 7 net7 3000 $((context + 3500))
wait_until 20 test -s "$state/gpus"
near "$(app_prediction new)" $((context + 500)) 150 "the store brings it back when the file is lost"

# a run of the same app, far from its operators
for job in 8 9 10; do
  gpu_run $job new 2000 $((context + 500 + 2600))
done
like "$(app_prediction new)" 'runs of it' "runs of the app itself are named"
of=$(model_prediction --app=new)
like "$of" ' 3 10$' "and of the app that predict --model is asked about"
gpu_run 11 failed 2000 30000 && : # one that is foreseen wrongly counts little
near "$(app_prediction other)" $((context + 500)) 200 "one run far from the others moves little"
stop
tap_done
