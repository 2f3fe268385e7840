#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The main task, with real programs: runs without a prediction are learned, later requests are
# set from them, and a request that is too small is rejected. (On an overloaded machine the helper
# reads input files slowly, hence the long helper_timeout_ms; 40-broken.sh tests late answers.)
. "$(dirname "$0")/play.sh"
need python3 xz
FT_ENFORCE=rss
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES DefMemPerCPU=10 MaxTime=60'
FT_FORETELL_CONF='mode = "check"
min_runs = 4
helper_timeout_ms = 10000
reject_probability = 0.5
floor = "16M"
round = "1M"'
FT_PLUGSTACK=required
play_begin

# ---- sort: its memory grows with its input; foretell finds that by itself
cat >sort.sh <<'END'
#!/bin/bash
#SBATCH --output=/dev/null
LC_ALL=C sort --parallel=1 --buffer-size=2G --output=/dev/null "$1"
END
for size in 8 16 24 32 40 48; do
  base64 -w 30 </dev/urandom | head -c ${size}000000 >words-$size
done
# held: on a slow machine the first would be learned before the last is submitted
ids=
for size in 8 16 24 40 48; do
  submit sbatch --hold --mem=1000M sort.sh words-$size
  is "$status $(message_lines)" "0 0" "sort of $size MB: no message without runs"
  is "$(requested_mem "$id")" 1000M "its request is unchanged"
  ids="$ids $id"
done
scontrol release $ids
for id in $ids; do
  is "$(job_wait "$id")" COMPLETED "it completes"
done
sort_learned() {
  sort_app=$(observed "$id" app) && has_runs "$sort_app" 5
}
wait_until 15 sort_learned
ok $? "five runs are learned as one app"

submit sbatch --predict-mem sort.sh words-32
like "$err" '^sbatch: foretell: .* needs .*\(5 runs\); --mem set to [0-9]+[MG](, because a comparable run [a-z ]+ [0-9.]+ [MG]iB)?$' "the next request is predicted, and the message states it"
is "$(message_lines)" 1 "the message is one line"
between "$(mib "$(requested_mem "$id")")" 83 160 "its memory is set from its input's size"
diag "$err"
is "$(job_wait "$id")" COMPLETED "it completes under OverMemoryKill"
wait_until 15 has_runs "$sort_app" 6

submit sbatch --mem=40M sort.sh words-32
is "$status" 1 "a request that is too small is rejected: sbatch exits with 1"
is "$id" "" "no job exists"
like "$err" '^sbatch: error: foretell: job rejected: --mem=40M is too small; .*\([0-9]+ runs\)' "the reason states request, estimate and evidence"
like "$err" '^sbatch: error: foretell: use --mem=[0-9]+[MG], or .*--predict-mem=force' "the message suggests a sufficient request"
suggestion=$(sed -nE 's/.*use (--mem=[0-9]+[MG]).*/\1/p' <<<"$err")
submit sbatch "$suggestion" sort.sh words-32
is "$status" 0 "the suggested request is accepted"
is "$(job_wait "$id")" COMPLETED "the job with it completes"
submit sbatch --mem=40M --predict-mem=force sort.sh words-32
is "$status $(requested_mem "$id")" "0 40M" "--predict-mem=force submits the job unchanged"

# ---- an edited script stays the same app; a declared app takes over its earlier runs
job_wait "$id" >/dev/null
wait_observed "$id"
sed -i '2a date; echo "sorting $1"' sort.sh
submit sbatch --predict-mem sort.sh words-24
like "$err" 'may need .*\([0-9]+ runs\); --mem set to [0-9]+[MG]' "with one more echo in the script the same runs predict it"
like "$err" 'your script changed since the last run' "the edit is told"
is "$(job_wait "$id")" COMPLETED "the edited script completes"
wait_observed "$id"
is "$(observed "$id" app)" "$sort_app" "it is a run of the same app"
before=$(runs_of "$sort_app")
mkdir -p home/.config/foretell
printf 'app "sorting" {\n  command = "sort *"\n}\n' >home/.config/foretell/apps.conf
user_home=$HOME
export HOME="$PWD/home"
submit sbatch --mem=1000M sort.sh words-8
export HOME="$user_home"
is "$(job_wait "$id")" COMPLETED "a job of a declared app completes"
wait_until 15 has_runs sorting $((before + 1))
ok $? "the declared app has its run and all earlier ones"
is "$(runs_of "$sort_app")" 0 "no run has the old app's name"
no_model() {
  ! model_file "$sort_app"
}
wait_until 15 no_model
ok $? "the old app has no model"

# ---- xz, python3: real programs whose memory depends on an argument
cat >xz.sh <<'END'
#!/bin/bash
#SBATCH --output=/dev/null
xz --compress --stdout --threads=1 --lzma2=preset=0,dict="$2"MiB "$1" >/dev/null
END
seq 8000000 >numbers
cat >arrays.sh <<'END'
#!/bin/bash
#SBATCH --output=/dev/null
python3 arrays.py --size "$1"
END
cat >arrays.py <<'END'
import sys, time
data = bytearray(b"1") * (int(sys.argv[sys.argv.index("--size") + 1]) << 20)
time.sleep(0.3)
END
ids=
for n in 16 32 48 64; do
  ids="$ids $(sbatch --parsable --mem=1000M --predict-app=arrays arrays.sh $n)"
  ids="$ids $(sbatch --parsable --mem=1000M --predict-app=xz xz.sh numbers $n)"
done
for id in $ids; do job_wait "$id" >/dev/null; done
wait_until 15 has_runs arrays 4 && wait_until 15 has_runs xz 4
ok $? "python3 and xz are learned"
submit sbatch --predict-mem --predict-app=arrays arrays.sh 40
between "$(mib "$(requested_mem "$id")")" 45 400 "python3 is predicted from --size"
is "$(job_wait "$id")" COMPLETED "the job of python3 completes"
submit sbatch --predict-mem --predict-app=xz xz.sh numbers 40
is "$(job_wait "$id")" COMPLETED "the job of xz completes"
play_end
