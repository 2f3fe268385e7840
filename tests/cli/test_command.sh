#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell(1) as people and scripts call it: what it prints, and what it exits with.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"

build=${FT_TOP_BUILDDIR:-build}
state=$scratch/state
uid=$(id -u)
export HOME=$scratch
# fontconfig keeps its caches until the process ends, which is no leak of ours
echo leak:libfontconfig >"$scratch/lsan"
export LSAN_OPTIONS=$LSAN_OPTIONS:print_suppressions=0:suppressions=$scratch/lsan

"$build/tests/cli/make_state" "$state" "$uid" || exit 1

run --help
is "$status" 0 "foretell --help is done"
like "$out" '^  predict   what a submission would need' "it lists the commands"
unlike "$out" helper "what is not for people is not listed"
run --version
like "$out" '^foretell [0-9]+\.[0-9]+\.[0-9]+$' "foretell --version"
run help plot
like "$out" '^Usage: foretell plot ' "foretell help COMMAND shows its options"
run predit
is "$status:$err" '2:foretell: no command "predit"; did you mean "predict"?' \
  "an unknown command is told the nearest"
run xyzzy
is "$status:$err" '2:foretell: no command "xyzzy"; see foretell --help' "or where to look"
run
is "$status" 2 "no command is wrong usage"
run predict --help
is "$status" 0 "a command's --help is done"
like "$out" '^  -N, --nodes=N +nodes$' "it lists options"

run graph --operators
is "$status" 0 "graph --operators needs no file"
like "$out" '^Conv$' "it lists operators"
like "$out" '^  PyTorch .* conv2d( |$)' "with PyTorch's names of them"
like "$out" '^  TensorFlow .* Conv2D( |$)' "TensorFlow's"
like "$out" '^  PaddlePaddle .* depthwise_conv2d( |$)' "and PaddlePaddle's"
run graph --operators --json
is "$(json .)" "operators several_or_none" "in JSON too"
run graph --operators net.onnx
is "$status" 2 "with a file it is wrong usage"

app="--state=$state --app=unet3d --params=batch=32,arch=vgg"
run predict $app --json
is "$(json .)" 'app runs method peak_memory_bytes gpu_memory_bytes runtime_seconds energy_joules mig relative decision' \
  "predict --json has the keys that scripts rely on"
is "$(json peak_memory_bytes)" "p05 p50 p95" "peak_memory_bytes holds quantiles"
is "$(json decision)" "action mem_bytes p_oom reason rule" "decision has its keys"
is "$(json decision.action)" '"set"' "memory is set where none is asked for"
is "$(json gpu_memory_bytes)$(json mig)$(json relative)" "nullnull[]" "what is not known is null"
like "$(json peak_memory_bytes.p50)" '^[0-9]{10}$' "bytes are whole"
is "$(printf '%s\n' "$out" | wc -l)" 1 "off a terminal it is one line"

run predict $app --array=1-40%4 --json
is "$(json array)" "elements looked_at largest p_oom_any" "of a job array it tells of its elements"
is "$(json array.elements) $(json array.looked_at) $(json array.largest)" "40 1 null" "which are all alike here"
like "$(json array.p_oom_any)" '^0\.' "and the chance of any"

run predict $app
like "$out" '^unet3d needs 8\.[0-9]+ GiB, 95 % below 9\.[0-9]+ GiB \(39 runs\); --mem set to [0-9]+M$' \
  "predict speaks as the plugin does"
run predict --state="$state" --app=unet3d --params=bacth=32,arch=vgg
is "$status:$err" '0:foretell predict: bacth: not a feature of this app; known: batch, arch' \
  "a misspelt name of a feature is told, with those that are known"
run predict --state="$state" --app=unet3d --params=bacth=32,edge=3
like "$err" ': bacth, edge: not features of this app; known: batch, arch$' "so are two"
run predict --state="$state" --app=new --params=bacth=32
is "$err" "" "not of an app that is new"
run predict --state="$state" --app=new --params=bacth=32 --explain
like "$out" '^  features of this job: bacth=32' "of which the features that would count are explained"
# of this kind of run some are known
like="--state=$state --app=unet3d --params=batch=32,arch=resnet50"
run predict $like --mem=4G
is "$status" 1 "what would be rejected is a negative answer"
like "$out" '^job would be rejected: --mem=4G is too small; unet3d needs' "and says so"
run predict $app --mem=4G --explain
like "$out" '  method: a regression on batch and arch through 39 completed runs; without batch [0-9.]+ GiB and without arch' \
  "the features that a figure stands on are told, with what it would be without them"
like "$out" '  comparable runs: [0-9]+ of 42' "and the runs"
run predict $app --mem=4G --explain --json
is "$(json explanation) $(json explanation.features.0)" \
  "features runs lines feature value without_bytes low high unseen" "in JSON as data"
run predict --state="$state" --app=unet3d --params="arch=$(printf '\303\251\302\2332J\033[2J')" --explain
is "$(printf %s "$out" | LC_ALL=C tr -d ' -~\n\303\251' | wc -c)" 0 "no value reaches the terminal as a command"
run predict $like --mem=4G --mode=force
is "$status" 0 "force is not rejected"
run predict $app --mem=4G --mem-per-cpu=1G
is "$status" 2 "units of memory exclude one another"
run predict $app --mode=much
is "$status:$err" \
  '2:foretell predict: --mode=much: expected check, set, raise, trim, off or force' \
  "a mode that is none is refused"
run predict --state="$state" --app=nothing --json
is "$status:$(json runs)$(json method)$(json peak_memory_bytes)" 0:0nullnull \
  "an app that nothing is known of is answered, not an error"
run predict --state="$scratch/none" --app=x
is "$status" 3 "a state folder that is not there is the system's fault"

cat >"$scratch/job.sh" <<'END'
#!/bin/sh
#SBATCH --mem=2G --ntasks 2
#SBATCH --predict-app=unet3d --output=x.out
python3 train.py --batch 16 --arch unet
#SBATCH --mem=64G
END
run predict --state="$state" "$scratch/job.sh"
like "$out" '^job would be rejected: --mem=2G is too small; unet3d needs 4' "directives and arguments of a script count"
run predict --state="$state" --mem-per-cpu=4G "$scratch/job.sh"
like "$out" '--mem-per-cpu=4G,? is enough' "what is typed wins over directives"
out=$("$foretell" predict --state="$state" <"$scratch/job.sh")
is "$?" 1 "a script comes on standard input too"
run predict --state="$state" --wrap='python3 train.py --batch 16 --arch unet' --app unet3d
like "$out" '^unet3d needs 4' "or with --wrap"
corpus=$(cd "${FT_TOP_SRCDIR:-.}/tests/fuzz/corpus/onnx" && pwd)
cat >"$scratch/net.sh" <<END
#!/bin/sh
#SBATCH --gres=gpu:a100_1g.5gb:1 --predict-mig
#SBATCH --predict-model $corpus/net-resnet.onnx --predict-params=batch=8
python3 train.py
END
run predict --state="$state" "$scratch/net.sh"
like "$out" '^training of batch 8 of net-resnet.onnx needs .* gpu:a100_1g.5gb, 4.75 GiB, is enough$' \
  "a network that directives name is answered for, its slice judged"
run predict --state="$state" --json "$scratch/net.sh"
is "$(json mig.profile) $(json mig) $(json gpu_memory_bytes) $(json network.action)" \
  '"1g.5gb" gpu profile memory_bytes instances p_oom p05 p50 p95 "leave"' \
  "in JSON too"
needed=$(json gpu_memory_bytes.p95)
run predict --state="$state" --model="$corpus/net-resnet.onnx" --json --params=batch=8 \
  --device=a100-40gb
is "$(json gpu_memory_bytes.p95)" "$needed" "and the same by --model"
sed 's/batch=8/batch=65536,input=3x64x64/' "$scratch/net.sh" >"$scratch/large.sh"
run predict --state="$state" --json "$scratch/large.sh"
is "$(json network.action) $(json network.instead.0)" \
  '"reject" change setting peak_memory_bytes gpu_memory_bytes step_time largest_batch' "and what would fit"
hint=$(json network.instead.0.setting)
like "$out" "it would fit with ${hint//\"/} " "which the line says, too"
run predict --state="$state" --model="$corpus/net-resnet.onnx" --json \
  --params=batch=65536,input=3x64x64 --device='NVIDIA A100-SXM4-80GB'
is "$(json device) $(json device_measured)" '"a100-80gb" false' "--model takes what NVML calls a GPU"
run predict --model="$corpus/net-resnet.onnx" --json --params=batch=8,device=h100_nvl
is "$(json device) $(json mig_probability) $(json device_runs)" '"h100-94gb" 0.95 0' \
  "and works without any state folder"
run predict --model="$corpus/net-resnet.onnx" --params=batch=8,device=h100_nvl
like "$out" 'by its operators, no run on this GPU is known\)' "and says where nothing was fitted"
like "$out" 'smallest MIG slice of h100-94gb that holds it at 95 %: 1g.12gb \(10.6 GiB, 7 on a GPU\)$' \
  "and with what probability a slice holds it, and how many a GPU gives"
echo 'h100-94gb 1g.13gb 10800' >"$scratch/mig.conf"
: >"$scratch/empty.conf"
for file in "$scratch/empty.conf" "$scratch/mig.conf"; do
  run predict --model="$corpus/net-resnet.onnx" --params=batch=8,device=h100_nvl --json --mig-file="$file"
  json mig.instances
done >"$scratch/instances"
is "$(tr '\n' ' ' <"$scratch/instances")" "7 null " "where that is known"
run predict --model="$corpus/net-resnet.onnx" --state="$scratch/none"
is "$status" 3 "but not without the one that is named"
sed -i 's/net-resnet/none/' "$scratch/net.sh"
run predict --state="$state" "$scratch/net.sh"
is "$status:$err" \
  "0:foretell predict: no prediction: $corpus/none.onnx: No such file or directory" \
  "one that cannot be read costs a line"
run predict --state="$state" "$scratch/none.sh"
is "$status" 2 "a script that is not there is wrong input"
mkdir -p "$scratch/.config/foretell"
printf '%s\n' 'app declared { command = "*train.py*"  number = {"--batch"} }' \
  >"$scratch/.config/foretell/apps.conf"
run predict --state="$state" --json --wrap='python3 train.py --batch 16 --arch unet'
is "$(json app)" '"declared"' "one's own apps.conf lies where HOME says, as for sbatch"
printf '%s\n' 'app declared {' '  comand = "*"' '}' >"$scratch/.config/foretell/apps.conf"
run predict --state="$state" --wrap='python3 train.py --batch 16'
like "$status:$err" '^0:foretell predict: .*apps.conf: line 2: ' "where it is broken is said"
rm "$scratch/.config/foretell/apps.conf"
check_no_script() { # NAME EXPECTED: what lies in $scratch/odd is no script for sbatch either
  run predict --state="$state" "$scratch/odd"
  is "$status:$err" "2:foretell predict: $scratch/odd: $2" "$1 is no script"
}
no="not a script: its first line must start with #! and an interpreter"
: >"$scratch/odd"
check_no_script "an empty file" "the script is empty"
printf ' \n\t\n' >"$scratch/odd"
check_no_script "blanks" "the script has only blanks in it"
head -c 100000 "$(command -v bash)" >"$scratch/odd"
check_no_script "a program" "$no"
head -c 100000 /dev/zero >"$scratch/odd"
check_no_script "zeros" "$no"
printf 'hostname\n' >"$scratch/odd"
check_no_script "a command" "$no"
printf '#!/bin/sh\nhost\0name\n' >"$scratch/odd"
check_no_script "a text with a NUL" "not a script: it has a NUL in it"
printf '#!/bin/sh\r\nhostname\r\n' >"$scratch/odd"
check_no_script "a DOS text" 'its lines end as in DOS (\r\n), which sbatch refuses'
yes '#!/bin/sh' | head -c 4200000 >"$scratch/odd"
check_no_script "what is larger than Slurm takes" "larger than 4194304 bytes"
out=$("$foretell" predict --state="$state" </dev/null 2>&1)
is "$?:$out" "2:foretell predict: standard input: the script is empty" "nor is nothing on standard input"
mkfifo "$scratch/fifo"
run predict --state="$state" "$scratch/fifo"
is "$status" 2 "a FIFO is no script and is not waited for"

{
  echo "CMDLINE ./solve input"
  for i in $(seq 0 99); do echo "MEM $((i * 10)).5 $((1700000000 + i)).25"; done
} >"$scratch/run.dat"
run plot "$scratch/run.dat" -o "$scratch/run.svg" --json
is "$status:$(json kind)$(json samples)" '0:"run"100' "plot draws a run"
like "$(head -c 300 "$scratch/run.svg")" '<svg ' "as SVG"
run plot "$scratch/run.dat" -o "$scratch/run.png"
is "$(head -c 4 "$scratch/run.png" | od -An -c | tr -d ' ')" '211PNG' "or PNG"
for by in "" --by=batch --by=arch; do
  run plot --app=unet3d --state="$state" $by -o "$scratch/fit.svg" --json
  is "$status:$(json kind)$(json lower_bounds)" '0:"fit"3' "plot draws a fit ${by:-against the prediction}"
done
name=$(printf 'na\357ve')
"$build/tests/cli/make_state" "$scratch/raw" "$uid" "$name" || exit 1
for kind in svg png; do
  run plot --app="$name" --state="$scratch/raw" -o "$scratch/raw.$kind"
  is "$status:$err" "0:" "an app whose name is no UTF-8 is drawn as $kind"
done
run plot --app=unet3d --state="$state" --by=colour -o "$scratch/fit.svg"
is "$status:$err" "2:foretell plot: --by=colour: unet3d has the features batch, arch" \
  "a feature that is none is refused, with those there are"
run plot --app=nothing --state="$state" -o "$scratch/fit.svg"
is "$status" 1 "nothing to draw is a negative answer"
printf 'MEM 1 2\nMEM x 3\n' >"$scratch/bad.dat"
run plot "$scratch/bad.dat" -o "$scratch/bad.svg"
is "$status:$err" "2:foretell plot: $scratch/bad.dat: line 2: expected MEM, MiB and seconds since 1970" \
  "a bad line is named"
[ ! -e "$scratch/bad.svg" ]
ok $? "and nothing is written"
run plot "$scratch/run.dat" -o "$scratch/run.gif"
is "$status" 2 "only .svg and .png are drawn"
run plot "$scratch/run.dat" -o "$scratch/none/run.svg"
is "$status" 3 "a drawing that cannot be written is the system's fault"

printf '%s\n' process,realtime,rss A,3600000,1000000000 A,3600000,2000000000 >"$scratch/trace.csv"
run replay "$scratch/trace.csv" --node=8G --json
is "$(json .)" 'protocol target seeds ttf price passed_over methods processes' \
  "replay --json has the keys that scripts rely on"
is "$(json methods.largest)" "wastage_gbh failures mape coverage90" "and each method its own"
is "$(json methods.largest.failures) $(json processes.A.runs)" "1 2" "the largest so far fails once"
is "$(json methods.largest.coverage90)" null "a policy has no interval"
run replay "$scratch/trace.csv" --target=peak_rss
is "$status" 2 "a trace without the column that counts is wrong input"
like "$err" 'expected a column peak_rss$' "and it is named"
run replay "$scratch/trace.csv" --ttf=2
is "$status" 2 "a time to failure beyond the run is wrong usage"
run replay "$scratch/trace.csv" --price=-1
is "$status:$err" "2:foretell replay: --price=-1: expected 0 to 1000000" "nor has a failure a price below 0"
run replay "$scratch"
is "$status:$err" "2:foretell replay: $scratch: Is a directory" "a folder is no trace"
: >"$scratch/empty.csv"
run replay "$scratch/empty.csv"
is "$status:$err" "2:foretell replay: $scratch/empty.csv: empty; expected a header" "nor is what is empty"
out=$(cat "$scratch/trace.csv" | "$foretell" replay - 2>&1)
is "$?:$out" \
  "2:foretell replay: standard input: cannot detect the format of a pipe; give --format" \
  "of a pipe the format is named"
out=$(cat "$scratch/trace.csv" | "$foretell" replay --format=nextflow - 2>&1)
like "$out" '^2 runs of 1 process$' "and it is played"
price() { # ARG...: the price that foretell replay reckons with
  run replay "$scratch/trace.csv" --node=8G --json "$@"
  json price
}
echo 'failure_price = 4' >"$scratch/foretell.conf"
is "$(price --config="$scratch/foretell.conf")" 4 "a failure costs what foretell.conf says"
is "$(price --config="$scratch/foretell.conf" --price=0)" 0 "but --price holds over it"
run replay "$scratch/trace.csv" --config="$scratch/none.conf"
is "$status" 2 "a foretell.conf that is not there is wrong usage"
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
ok $? "the dearer a failure, the fewer there are"

# the same 40 runs as each format has them
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
like "$out" '^40 runs of 1 process$' "foretell replay plays a trace"
# below the line a process, for each format names it its own way
totals() {
  sed '1,/^$/d' <<<"$1"
}
first=$(totals "$out")
for format in sacct csv; do
  run replay --format="$format" "$scratch/runs.$format"
  is "$(totals "$out")" "$first" "and tells the same of it as $format has it"
done
for format in nextflow sacct csv; do
  out=$("$foretell" replay - <"$scratch/runs.$format" 2>&1)
  is "$(totals "$out")" "$first" "or as its header looks: $format on standard input"
done
like "$first" "^foretell " "each method with a line"
run replay --format=xml "$scratch/runs.csv"
is "$status:$err" "2:foretell replay: --format=xml: expected nextflow, sacct or csv" "there is no other format"
run replay --format=sacct "$scratch/runs.nextflow"
is "$status" 2 "what is of another format is wrong input"

for command in "import --state=$state" "import --keep-going --state=$state" "import --format=csv --state=$state" replay; do
  out=$(timeout 20 "$foretell" $command /dev/zero 2>&1)
  is "$?" 2 "$command: a file without an end is wrong input"
done

# ---- a bar on a terminal, and only there
mkdir "$scratch/bar" "$scratch/bar2" "$scratch/bar3"
terminal() { # COMMAND...: on a terminal of its own; prints what it would show
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
like "$shown" "long.csv \[#+ +\] +[0-9]+ %" "a long import on a terminal shows a bar"
like "$shown" "long.csv: 150000 runs" "and then what it read"
[ "$(grep -c 'long.csv \[' <<<"$shown")" -ge 2 ]
ok $? "which moves"
"$foretell" import --state="$scratch/bar2" "$scratch/long.csv" >"$scratch/piped" 2>&1
is "$(grep -c '%' "$scratch/piped")" 0 "off a terminal there is none"
head -n 60001 "$scratch/long.csv" >"$scratch/trace.csv"
shown=$(terminal "$foretell" replay "$scratch/trace.csv" | tr '\r' '\n')
like "$shown" "playing \[#+ +\] +[0-9]+ %" "so does a long replay"
like "${shown##*$'\033[K'}" '^60000 runs of 50 processes' "and takes the bar away before it answers"
is "$("$foretell" replay "$scratch/trace.csv" 2>&1 >"$scratch/piped")" "" "off a terminal there is none either"
head -n 20 "$scratch/long.csv" >"$scratch/short.csv"
is "$(terminal "$foretell" import --state="$scratch/bar3" "$scratch/short.csv" | grep -c '%')" 0 "nor where it is soon over"

for words in --help --version "predict --help" "predict $app" "predict $app --json" \
  "predict --model=$corpus/net-resnet.onnx" "history --state=$state" "graph $corpus/net-resnet.onnx" doctor; do
  # shellcheck disable=SC2086
  said=$("$foretell" $words 2>&1 >/dev/full)
  is "$?:$(grep -c 'standard output: No space left on device$' <<<"$said")" 3:1 "a full disk is told: foretell $words"
done
tap_done
