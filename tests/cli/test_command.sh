#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell(1) as users and scripts call it: its output and its exit status.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"

build=${FT_TOP_BUILDDIR:-build}
state=$scratch/state
uid=$(id -u)
export HOME=$scratch
ignore_fontconfig

"$build/tests/cli/make_state" "$state" "$uid" || exit 1

run --help
is "$status" 0 "foretell --help succeeds"
like "$out" '^  predict   show what a submission would need' "it lists the commands"
unlike "$out" helper "internal commands are not listed"
run --version
like "$out" '^foretell [0-9]+\.[0-9]+\.[0-9]+$' "foretell --version prints the version"
run help plot
like "$out" '^Usage: foretell plot ' "foretell help COMMAND shows its options"
run predit
is "$status:$err" '2:foretell: unknown command "predit"; did you mean "predict"?' \
  "for an unknown command the nearest one is suggested"
run xyzzy
is "$status:$err" '2:foretell: unknown command "xyzzy"; see foretell --help' "without a near one --help is suggested"
run
is "$status" 2 "a missing command is wrong usage"
run predict --help
is "$status" 0 "a command's --help succeeds"
like "$out" '^  -N, --nodes=N +nodes$' "it lists options"

run graph --operators
is "$status" 0 "graph --operators needs no file"
like "$out" '^Conv$' "it lists operators"
like "$out" '^  PyTorch .* conv2d( |$)' "with PyTorch's names of them"
like "$out" '^  TensorFlow .* Conv2D( |$)' "with TensorFlow's names"
like "$out" '^  PaddlePaddle .* depthwise_conv2d( |$)' "with PaddlePaddle's names"
run graph --operators --json
is "$(json .)" "operators several_or_none" "the JSON has the operators"
run graph --operators net.onnx
is "$status" 2 "graph --operators with a file is wrong usage"

app="--state=$state --app=unet3d --params=batch=32,arch=vgg"
run predict $app --json
is "$(json .)" 'app runs method peak_memory_bytes gpu_memory_bytes runtime_seconds energy_joules mig relative decision runtime_platform runtime_runs energy_method' \
  "predict --json has the keys that scripts rely on"
is "$(json peak_memory_bytes)" "p05 p50 p95" "peak_memory_bytes holds quantiles"
is "$(json decision)" "action mem_bytes p_oom reason rule" "decision has its keys"
is "$(json decision.action)" '"set"' "memory without a request is set"
is "$(json gpu_memory_bytes)$(json mig)$(json relative)" "nullnull[]" "unknown values are null"
like "$(json peak_memory_bytes.p50)" '^[0-9]{10}$' "bytes are integers"
is "$(printf '%s\n' "$out" | wc -l)" 1 "without a terminal the output is one line"

mkdir "$scratch/gpu"
{
  echo app,state,start,end,rss_bytes,gpu_memory_bytes
  for n in 1 2 3 4 5; do
    echo "unet,COMPLETED,2026-01-0${n}T10:00:00Z,2026-01-0${n}T10:05:00Z,100000000,6000000000"
  done
} >"$scratch/gpu.csv"
run import --state="$scratch/gpu" "$scratch/gpu.csv"
run rebuild --state="$scratch/gpu"
run predict --state="$scratch/gpu" --app=unet --json
is "$(json gpu_memory_bytes.p50)$(json mig)" "6000000000null" "the app's runs predict its GPU memory, without a model file"

run predict $app --array=1-40%4 --json
is "$(json array)" "elements looked_at largest p_oom_any" "a job array has an object of its own"
is "$(json array.elements) $(json array.looked_at) $(json array.largest)" "40 1 null" "it has the number of tasks and of examined tasks"
like "$(json array.p_oom_any)" '^0\.' "it has the probability for any task"

run predict $app
like "$out" '^unet3d needs 8\.[0-9]+ GiB, 95 % below 9\.[0-9]+ GiB \(39 runs\); --mem set to [0-9]+M$' \
  "predict prints the plugin's message"
run predict --state="$state" --app=unet3d --params=bacth=32,arch=vgg
is "$status:$err" '0:foretell predict: bacth: not a feature of this app; known: batch, arch' \
  "an unknown feature is named, with the known ones"
run predict --state="$state" --app=unet3d --params=bacth=32,edge=3
like "$err" ': bacth, edge: not features of this app; known: batch, arch$' "two unknown features are named"
run predict --state="$state" --app=new --params=bacth=32
is "$err" "" "a new app has no such message"
run predict --state="$state" --app=new --params=bacth=32 --explain
like "$out" '^  features of this job: bacth=32' "the known features are explained"
# a kind of run with some recorded runs
like="--state=$state --app=unet3d --params=batch=32,arch=resnet50"
run predict $like --mem=4G
is "$status" 1 "a job that would be rejected gives exit status 1"
like "$out" '^job would be rejected: --mem=4G is too small; unet3d needs' "the message has the rejection"
run predict $app --mem=4G --explain
like "$out" '  method: a regression on batch and arch through 39 completed runs; without batch [0-9.]+ GiB and without arch' \
  "--explain lists the features with the estimate without each"
like "$out" '  comparable runs: [0-9]+ of 42' "--explain has the number of comparable runs"
run predict $app --mem=4G --explain --json
is "$(json explanation) $(json explanation.features.0)" \
  "features runs lines feature value without_bytes low high unseen" "--explain prints JSON"
run predict --state="$state" --app=unet3d --params="arch=$(printf '\303\251\302\2332J\033[2J')" --explain
is "$(printf %s "$out" | LC_ALL=C tr -d ' -~\n\303\251' | wc -c)" 0 "no control character of a value is printed"
run predict $like --mem=4G --mode=force
is "$status" 0 "force is not rejected"
run predict $app --mem=4G --mem-per-cpu=1G
is "$status" 2 "two units of memory exclude each other"
run predict $app --mode=much
is "$status:$err" \
  '2:foretell predict: --mode=much: expected check, set, raise, trim, off or force' \
  "an unknown mode is rejected"
run predict --state="$state" --app=nothing --json
is "$status:$(json runs)$(json method)$(json peak_memory_bytes)" 0:0nullnull \
  "an unknown app is no error"
run predict --state="$scratch/none" --app=x
is "$status" 3 "a missing state directory is an error"

cat >"$scratch/job.sh" <<'END'
#!/bin/sh
#SBATCH --mem=2G --ntasks 2
#SBATCH --predict-app=unet3d --output=x.out
python3 train.py --batch 16 --arch unet
#SBATCH --mem=64G
END
run predict --state="$state" "$scratch/job.sh"
like "$out" '^job would be rejected: --mem=2G is too small; unet3d needs 4' "directives and arguments of a script apply"
run predict --state="$state" --mem-per-cpu=4G "$scratch/job.sh"
like "$out" '--mem-per-cpu=4G,? is enough' "the command line has precedence over directives"
out=$("$foretell" predict --state="$state" <"$scratch/job.sh")
is "$?" 1 "a script may come from standard input"
run predict --state="$state" --wrap='python3 train.py --batch 16 --arch unet' --app unet3d
like "$out" '^unet3d needs 4' "a command may be in --wrap"
corpus=$(cd "${FT_TOP_SRCDIR:-.}/tests/fuzz/corpus/onnx" && pwd)
cat >"$scratch/net.sh" <<END
#!/bin/sh
#SBATCH --gres=gpu:a100_1g.5gb:1 --predict-mig
#SBATCH --predict-model $corpus/net-resnet.onnx --predict-params=batch=8
python3 train.py
END
run predict --state="$state" "$scratch/net.sh"
like "$out" '^training of batch 8 of net-resnet.onnx needs .* gpu:a100_1g.5gb, 4.75 GiB, is enough$' \
  "a network in the directives is estimated, and its slice evaluated"
run predict --state="$state" --json "$scratch/net.sh"
is "$(json mig.profile) $(json mig) $(json gpu_memory_bytes) $(json network.action)" \
  '"1g.5gb" gpu profile memory_bytes instances p_oom p05 p50 p95 "leave"' \
  "the JSON has the network, too"
needed=$(json gpu_memory_bytes.p95)
run predict --state="$state" --params=bacth=8 "$scratch/net.sh"
like "$err" '^foretell predict: bacth: a feature of the app, not a setting of the network; did you mean batch\?$' \
  "a misspelt setting is reported"
run predict --state="$state" --model="$corpus/net-resnet.onnx" --json --params=batch=8 \
  --device=a100-40gb
is "$(json gpu_memory_bytes.p95)" "$needed" "--model has the same estimate"
sed 's/batch=8/batch=65536,input=3x64x64/' "$scratch/net.sh" >"$scratch/large.sh"
run predict --state="$state" --json "$scratch/large.sh"
is "$(json network.action) $(json network.instead.0)" \
  '"reject" change setting peak_memory_bytes gpu_memory_bytes step_time largest_batch' "the JSON has settings that would fit"
hint=$(json network.instead.0.setting)
like "$out" "it would fit with ${hint//\"/} " "the message has these settings"
run predict --state="$state" --model="$corpus/net-resnet.onnx" --json \
  --params=batch=65536,input=3x64x64 --device='NVIDIA A100-SXM4-80GB'
is "$(json device) $(json device_measured)" '"a100-80gb" false' "--model accepts NVML's name of a GPU"
run graph --device=rtx3090 --precision=amp --json "$corpus/net-resnet.onnx"
is "$(json device) $(json forward_seconds) $(json step_seconds)" '"rtx-3090" p05 p50 p95 p05 p50 p95' \
  "graph --device has the time of a pass and of a step"
run graph --device=k80 "$corpus/net-resnet.onnx"
like "$err" '--device=k80: unknown' "a GPU that is not known is named"
run predict --model="$corpus/net-resnet.onnx" --json --params=batch=8,device=v100
is "$(json device) $(json step_seconds) $(json step_measured)" '"v100-16gb" p05 p50 p95 true' \
  "--model has the time of a step"
run predict --model="$corpus/net-resnet.onnx" --params=batch=8 --device=l40s
like "$out" 'a step takes .*, 90 % between .* \(by its operators, no measurement on this device in this precision: from its data sheet\)' \
  "the message states what the time is taken from"
run predict --model="$corpus/net-resnet.onnx" --params=batch=8 --device=all
like "$out" '^rtx-4090 +[0-9.]+ GiB +yes ' "--device=all has a row for each device"
run predict --model="$corpus/net-resnet.onnx" --json --params=batch=8 --device=all
is "$(json devices.0.device) $(json devices.0.step_seconds)" '"a100-40gb" p05 p50 p95' "and so has the JSON"
run predict --model="$corpus/net-resnet.onnx" --params=batch=8 --device=a100_1g.5gb
like "$out" 'a100-40gb 1g.5gb has 4.75 GiB' "a slice has its own memory"
run predict --model="$corpus/net-resnet.onnx" --params=batch=8 --device=v100_1g.5gb
like "$err" '--device=v100_1g.5gb: expected a slice of a GPU that has 1g.5gb' "a GPU without slices has none"
run predict --model="$corpus/net-resnet.onnx" --json --params=batch=8,device=h100_nvl
is "$(json device) $(json mig_probability) $(json device_runs)" '"h100-94gb" 0.95 0' \
  "--model needs no state directory"
run predict --model="$corpus/net-resnet.onnx" --params=batch=8,device=h100_nvl
like "$out" 'by its operators, no recorded run on this GPU\)' "the message states that no run on this GPU is known"
like "$out" 'smallest MIG slice of h100-94gb that holds it at 95 %: 1g.12gb \(10.6 GiB, 7 on a GPU\)$' \
  "the slices have probabilities and instances per GPU"
run predict --model="$corpus/net-resnet.onnx" --params=batch=8 --device='GeForce RTX 3060'
like "$out" 'rtx-3060 has 11.8 GiB and no known MIG slices$' "a GPU without slices has none"
while read -r file params expected; do
  run predict --model="$corpus/../$file" --params=batch=2,"$params"
  like "$out" "^frozen: $expected\$" "$file ($params) says what is trained, and who states it"
done <<'END'
onnx/net-resnet.onnx input=3x64x64 none; the file does not state it, and all parameters count as trained; --params=trainable=N states it
onnx/net-resnet.onnx trainable=1,input=3x64x64 [0-9.]+ KiB of the parameters, as --params states
pt2/net-frozen.pt2 fused=on [0-9.]+ KiB of the parameters, as the file states
pt2/net-resnet.pt2 fused=on none, as the file states
hf/llama.json input=sequence=8 none; the file does not state it, and all parameters count as trained; --params=trainable=N or lora=R states it
hf/quantized-bnb.json input=sequence=8 [0-9.]+ KiB of quantised weights; of the others the file states nothing, and all count as trained; --params=trainable=N or lora=R states it
END
run predict --model="$corpus/net-resnet.onnx" --params=batch=many
is "$status:$err" '2:foretell predict: --params: "batch=many": expected batch=a whole number, 1 or more' \
  "a wrong value names what the setting accepts"
run predict --model="$corpus/net-resnet.onnx" --params=bacth=8
like "$err" '"bacth=8": did you mean batch\? With --model expected one of device, input, batch, ' "an unknown setting names the others"
run graph --input=3x32x32 "$corpus/folded.onnx"
like "$out" '^folded       [0-9]+ batch normalisations, which foretell predict restores for training: ' \
  "graph reports folded batch normalisations"
echo 'h100-94gb 1g.13gb 10800' >"$scratch/mig.conf"
: >"$scratch/empty.conf"
for file in "$scratch/empty.conf" "$scratch/mig.conf"; do
  run predict --model="$corpus/net-resnet.onnx" --params=batch=8,device=h100_nvl --json --mig-file="$file"
  json mig.instances
done >"$scratch/instances"
is "$(tr '\n' ' ' <"$scratch/instances")" "7 null " "an unknown number of instances is null"
run predict --model="$corpus/net-resnet.onnx" --state="$scratch/none"
is "$status" 3 "a named state directory must exist"
sed -i 's/net-resnet/none/' "$scratch/net.sh"
run predict --state="$state" "$scratch/net.sh"
is "$status:$err" \
  "0:foretell predict: no prediction: $corpus/none.onnx: No such file or directory" \
  "a model file that cannot be read: one line"
run predict --state="$state" "$scratch/none.sh"
is "$status" 2 "a missing script is an error"
mkdir -p "$scratch/.config/foretell"
printf '%s\n' 'app declared { command = "*train.py*"  number = {"--batch"} }' \
  >"$scratch/.config/foretell/apps.conf"
run predict --state="$state" --json --wrap='python3 train.py --batch 16 --arch unet'
is "$(json app)" '"declared"' "the user's apps.conf is read from HOME, as in sbatch"
printf '%s\n' 'app declared {' '  comand = "*"' '}' >"$scratch/.config/foretell/apps.conf"
run predict --state="$state" --wrap='python3 train.py --batch 16'
like "$status:$err" '^0:foretell predict: .*apps.conf: line 2: ' "an error in apps.conf is reported with its line"
rm "$scratch/.config/foretell/apps.conf"
check_no_script() { # NAME EXPECTED: $scratch/odd is rejected, as by sbatch
  run predict --state="$state" "$scratch/odd"
  is "$status:$err" "2:foretell predict: $scratch/odd: $2" "$1 is not accepted as a script"
}
no="not a script: its first line must start with #! and an interpreter"
: >"$scratch/odd"
check_no_script "an empty file" "the script is empty"
printf ' \n\t\n' >"$scratch/odd"
check_no_script "blanks" "the script has only blanks"
head -c 100000 "$(command -v bash)" >"$scratch/odd"
check_no_script "a program" "$no"
head -c 100000 /dev/zero >"$scratch/odd"
check_no_script "zeros" "$no"
printf 'hostname\n' >"$scratch/odd"
check_no_script "a command" "$no"
printf '#!/bin/sh\nhost\0name\n' >"$scratch/odd"
check_no_script "a text with a NUL" "not a script: it contains a NUL character"
printf '#!/bin/sh\r\nhostname\r\n' >"$scratch/odd"
check_no_script "a DOS text" 'DOS line ends (\r\n), which sbatch rejects'
yes '#!/bin/sh' | head -c 4200000 >"$scratch/odd"
check_no_script "what is larger than Slurm takes" "larger than 4194304 bytes"
out=$("$foretell" predict --state="$state" </dev/null 2>&1)
is "$?:$out" "2:foretell predict: standard input: the script is empty" "an empty standard input is not accepted"
mkfifo "$scratch/fifo"
run predict --state="$state" "$scratch/fifo"
is "$status" 2 "a FIFO is rejected and does not block"

{
  echo "CMDLINE ./solve input"
  for i in $(seq 0 99); do echo "MEM $((i * 10)).5 $((1700000000 + i)).25"; done
} >"$scratch/run.dat"
run plot "$scratch/run.dat" -o "$scratch/run.svg" --json
is "$status:$(json kind)$(json samples)" '0:"run"100' "plot draws a run"
like "$(head -c 300 "$scratch/run.svg")" '<svg ' "the plot is SVG"
run plot "$scratch/run.dat" -o "$scratch/run.png"
is "$(head -c 4 "$scratch/run.png" | od -An -c | tr -d ' ')" '211PNG' "the plot is PNG"
for by in "" --by=batch --by=arch; do
  run plot --app=unet3d --state="$state" $by -o "$scratch/fit.svg" --json
  is "$status:$(json kind)$(json lower_bounds)" '0:"fit"3' "plot draws a fit ${by:-against the prediction}"
done
name=$(printf 'na\357ve')
"$build/tests/cli/make_state" "$scratch/raw" "$uid" "$name" || exit 1
for kind in svg png; do
  run plot --app="$name" --state="$scratch/raw" -o "$scratch/raw.$kind"
  is "$status:$err" "0:" "an app with a name that is not UTF-8 is drawn as $kind"
done
run plot --app=unet3d --state="$state" --by=colour -o "$scratch/fit.svg"
is "$status:$err" "2:foretell plot: --by=colour: unet3d has the features batch, arch" \
  "an unknown feature is rejected, and the known ones are named"
run plot --app=nothing --state="$state" -o "$scratch/fit.svg"
is "$status" 1 "without runs the exit status is 1"
printf 'MEM 1 2\nMEM x 3\n' >"$scratch/bad.dat"
run plot "$scratch/bad.dat" -o "$scratch/bad.svg"
is "$status:$err" "2:foretell plot: $scratch/bad.dat: line 2: expected MEM, MiB and seconds since 1970" \
  "a bad line is named"
[ ! -e "$scratch/bad.svg" ]
ok $? "no plot is written then"
run plot "$scratch/run.dat" -o "$scratch/run.gif"
is "$status" 2 "only .svg and .png are accepted"
run plot "$scratch/run.dat" -o "$scratch/none/run.svg"
is "$status" 3 "a plot that cannot be written is an error"

printf '%s\n' process,realtime,rss A,3600000,1000000000 A,3600000,2000000000 >"$scratch/trace.csv"
run replay "$scratch/trace.csv" --node=8G --json
is "$(json .)" 'protocol target seeds ttf price passed_over methods processes' \
  "replay --json has the keys that scripts rely on"
is "$(json methods.largest)" "wastage_gbh failures mape coverage90" "each method has its keys"
is "$(json methods.largest.failures) $(json processes.A.runs)" "1 2" "the largest-so-far method fails once"
is "$(json methods.largest.coverage90)" null "a baseline policy has no interval"
run replay "$scratch/trace.csv" --target=runtime --max-time=2:00:00 --json
is "$(json target) $(json methods.last)" '"runtime" wastage_hours failures mape coverage90' "run times are replayed, too"
is "$(json methods.last.wastage_hours) $(json methods.last.failures)" "1 0" "by the same rules"
run replay "$scratch/trace.csv" --target=runtime --max-time=0
is "$status" 2 "a limit of 0 is wrong usage"
run replay "$scratch/trace.csv" --target=energy
is "$status:$err" "2:foretell replay: --target=energy: expected rss, peak_rss or runtime" "another quantity is wrong usage"
run replay "$scratch/trace.csv" --target=peak_rss
is "$status" 2 "a trace without the needed column is rejected"
like "$err" 'expected a column peak_rss$' "the missing column is named"
run replay "$scratch/trace.csv" --ttf=2
is "$status" 2 "a time to failure beyond the run is wrong usage"
run replay "$scratch/trace.csv" --price=-1
is "$status:$err" "2:foretell replay: --price=-1: expected 0 to 1000000" "a failure cost below 0 is wrong usage"
run replay "$scratch"
is "$status:$err" "2:foretell replay: $scratch: Is a directory" "a directory is not accepted as a trace"
: >"$scratch/empty.csv"
run replay "$scratch/empty.csv"
is "$status:$err" "2:foretell replay: $scratch/empty.csv: empty; expected a header" "an empty file is not accepted as a trace"
out=$(cat "$scratch/trace.csv" | "$foretell" replay - 2>&1)
is "$?:$out" \
  "2:foretell replay: standard input: cannot detect the format of a pipe; give --format" \
  "the format of a pipe must be named"
out=$(cat "$scratch/trace.csv" | "$foretell" replay --format=nextflow - 2>&1)
like "$out" '^2 runs of 1 process$' "a trace from a pipe is replayed"
price() { # ARG...: the failure cost that foretell replay uses
  run replay "$scratch/trace.csv" --node=8G --json "$@"
  json price
}
echo 'failure_price = 4' >"$scratch/foretell.conf"
is "$(price --config="$scratch/foretell.conf")" 4 "the failure cost comes from foretell.conf"
is "$(price --config="$scratch/foretell.conf" --price=0)" 0 "--price has precedence"
run replay "$scratch/trace.csv" --config="$scratch/none.conf"
is "$status" 2 "a missing foretell.conf is wrong usage"
{
  echo process,realtime,rss
  for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    echo A,3600000,$((1000000000 + i % 7 * 50000000))
    echo A,3600000,$((1000000000 + i % 3 * 90000000))
  done
} >"$scratch/many.csv"
failures() { # PRICE
  run replay "$scratch/many.csv" --node=8G --json --price="$1"
  json methods.foretell.failures
}
[ "$(failures 16)" -lt "$(failures 0)" ]
ok $? "a higher failure cost gives no more failures"

# the same 40 runs in each format
python3 - "$scratch" <<'END'
import sys, time
iso = lambda t: time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(t))
with open(sys.argv[1] + "/runs.nextflow", "w") as n, open(sys.argv[1] + "/runs.sacct", "w") as s, \
     open(sys.argv[1] + "/runs.csv", "w") as c:
    n.write("process\trealtime\trss\tmemory\tsubmit\tstart\n")
    s.write("JobID|JobName|User|UID|State|Submit|Start|End|Elapsed|ReqMem|NNodes|AllocCPUS|NodeList|MaxRSS\n")
    c.write("app,job_id,peak_kib,runtime,submit,start,end,requested_mib\n")
    for i in range(40):
        kib, run, at = 200000 + i * 37 % 40 * 9000, 60 + i * 13 % 40 * 7, 1700000000 + 900 * i
        n.write("A\t%d\t%d\t%d\t%d\t%d\n" % (run * 1000, kib * 1024, 4 << 30, at * 1000, at * 1000))
        when = "%s|%s|%s|00:%02d:%02d" % (iso(at), iso(at), iso(at + run), run // 60, run % 60)
        s.write("%d|A|alice|1000|COMPLETED|%s|4G|1|1|n1|\n" % (i + 1, when))
        s.write("%d.batch|batch|||COMPLETED|%s||1|1|n1|%dK\n" % (i + 1, when, kib))
        c.write("A,%d,%d,%d,%d,%d,%d,4096\n" % (i + 1, kib, run, at, at, at + run))
END
run replay --format=nextflow "$scratch/runs.nextflow"
like "$out" '^40 runs of 1 process$' "a trace of Nextflow is replayed"
# The lines of processes differ, because each format has its own names.
totals() {
  sed '1,/^$/d' <<<"$1"
}
first=$(totals "$out")
for format in sacct csv; do
  run replay --format="$format" "$scratch/runs.$format"
  is "$(totals "$out")" "$first" "the same runs as $format have the same totals"
done
for format in nextflow sacct csv; do
  out=$("$foretell" replay - <"$scratch/runs.$format" 2>&1)
  is "$(totals "$out")" "$first" "the format is detected by the header: $format on standard input"
done
like "$first" "^foretell " "each method has a line"
run replay --format=xml "$scratch/runs.csv"
is "$status:$err" "2:foretell replay: --format=xml: expected nextflow, sacct or csv" "an unknown format is wrong usage"
run replay --format=sacct "$scratch/runs.nextflow"
is "$status" 2 "a file of another format is rejected"

for command in "import --state=$state" "import --keep-going --state=$state" "import --format=csv --state=$state" replay; do
  out=$(timeout 20 "$foretell" $command /dev/zero 2>&1)
  is "$?" 2 "$command: an endless file is rejected"
done

# ---- a progress bar, only on a terminal
mkdir "$scratch/bar" "$scratch/bar2" "$scratch/bar3"
terminal() { # COMMAND...: runs it on a pseudo-terminal; prints its output
  python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$@" </dev/null
}
python3 - "$scratch/long.csv" <<'END'
import sys
with open(sys.argv[1], "w") as f:
    f.write("app,job_id,peak_mib,runtime,end\n")
    for i in range(150000):
        f.write("long%d,%d,100,60,%d\n" % (i % 50, i + 1, 1700000000 + i))
END
shown=$(terminal "$foretell" import --state="$scratch/bar" "$scratch/long.csv" | tr '\r' '\n')
like "$shown" "long.csv \[#+ +\] +[0-9]+ %" "a long import on a terminal has a progress bar"
like "$shown" "long.csv: 150000 runs" "the result follows the bar"
[ "$(grep -c 'long.csv \[' <<<"$shown")" -ge 2 ]
ok $? "the bar moves"
"$foretell" import --state="$scratch/bar2" "$scratch/long.csv" >"$scratch/piped" 2>&1
is "$(grep -c '%' "$scratch/piped")" 0 "without a terminal there is no bar"
head -n 60001 "$scratch/long.csv" >"$scratch/trace.csv"
shown=$(terminal "$foretell" replay "$scratch/trace.csv" | tr '\r' '\n')
like "$shown" "playing \[#+ +\] +[0-9]+ %" "a long replay has a progress bar"
like "${shown##*$'\033[K'}" '^60000 runs of 50 processes' "the bar is removed before the result"
is "$("$foretell" replay "$scratch/trace.csv" 2>&1 >"$scratch/piped")" "" "replay without a terminal prints no bar"
head -n 20 "$scratch/long.csv" >"$scratch/short.csv"
is "$(terminal "$foretell" import --state="$scratch/bar3" "$scratch/short.csv" | grep -c '%')" 0 "a short import has no bar"

for words in --help --version "predict --help" "predict $app" "predict $app --json" \
  "predict --model=$corpus/net-resnet.onnx" "history --state=$state" "graph $corpus/net-resnet.onnx" doctor; do
  # shellcheck disable=SC2086
  errors=$("$foretell" $words 2>&1 >/dev/full)
  is "$?:$(grep -c 'standard output: No space left on device$' <<<"$errors")" 3:1 "a full disk is reported: foretell $words"
done
tap_done
