# SPDX-License-Identifier: GPL-3.0-or-later
# Users' first weeks, each story at least ten submissions long: messages, requests, observations, and how
# the jobs end, where the kernel kills at 100 MiB a CPU. Sourced by 23- and 24-.
FT_ENFORCE=cgroup
. "${BASH_SOURCE[0]%/*}/play.sh"
FT_PLUGSTACK=required
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES DefMemPerCPU=100 MaxTime=60
PartitionName=setting Nodes=@one@ DefMemPerCPU=100 MaxTime=60
PartitionName=raising Nodes=@one@ DefMemPerCPU=100 MaxTime=60'
FT_FORETELL_CONF='mode = "check"
reject_probability = 0.5
helper_timeout_ms = 10000
floor = "16M"
round = "1M"
leak_runs = 3
partition "setting" { mode = "set" }
partition "raising" { mode = "raise" }'

stories_begin() {
  cluster_cgroup_version >/dev/null && [ -w /sys/fs/cgroup ] || {
    echo "1..0 # SKIP no memory controller of cgroups is mounted; tests/guest has one"
    exit 0
  }
  play_begin
}

# script NAME LINE...: writes a batch script, in which PROGRAM is a program of its own, because jobs of
# one user that run the same program are one app
script() {
  local name=$1 program=$cluster_work/${1%.sh}
  shift
  cp "$hog" "$program"
  set -- "${@//PROGRAM/$program}"
  printf '%s\n' '#!/bin/bash' '#SBATCH --output=/dev/null' "$@" >"$name"
  chmod 0755 "$name"
}

# mode_options NAME: the options that the user gives in a story's mode; none if the site sets the mode
mode_options() {
  case $1 in
  set) echo --predict-mem ;;
  raise) echo --predict-mem=raise --mem=150M ;;
  trim) echo --predict-mem=trim ;;
  site-set) echo -p setting ;;
  site-raise) echo -p raising ;;
  esac
}

# attempt USER OPTION...: submits with sbatch and waits until the run is learned. Sets out, err, status,
# id, and for a submitted job mem (MiB a node or CPU), state and outcome.
attempt() {
  local user=$1
  shift
  submit cluster_as "$user" sbatch --parsable "$@"
  mem= state=refused outcome=
  [ "$status" = 0 ] || { diag "$user: $*: refused: $err"; return 1; }
  mem=$(mib "$(requested_mem "$id")")
  state=$(job_wait "$id" 60)
  wait_observed "$id"
  outcome=$(observed "$id" outcome)
  diag "$user: $*: $mem MiB, $outcome; ${err:-no message}"
}

# attempt_held USER OPTION...: the same for a job that never starts; sets mem only
attempt_held() {
  local user=$1
  shift
  submit cluster_as "$user" sbatch --parsable --hold "$@"
  mem=
  [ "$status" != 0 ] || mem=$(mib "$(requested_mem "$id")")
  diag "$user: $*: ${mem:-refused}; ${err:-no message}"
  [ "$status" != 0 ] || scancel "$id"
}

# app_runs USER APP OUTCOME: prints how many runs of the app have this outcome
app_runs() {
  store "select count(*) from observation where app = '$2' and uid = $(id -u "$1") and outcome = '$3'"
}

# ---- 1: the job needs 230 MiB. A limit that has killed it is not set again. A user's jobs have
# similar names, so that from the second mode on there are similar apps.
story_need() { # USER MODE
  local user=$1 mode=$2 who="$1, $2" deaths=0 late=0 least=0 most=0 previous= missed=0 app i
  script "need-$mode-$user.sh" "exec PROGRAM --mib 230 --seconds 0.3"
  for i in 1 2 3 4 5 6 7 8 9 10; do
    attempt "$user" $(mode_options "$mode") -J "need_${#mode}" "need-$mode-$user.sh"
    [ "$previous" != out_of_memory ] || grep -q 'was killed at .*; --mem .*, because a comparable run ran out of memory at ' <<<"$err" || missed=1
    case $outcome in
    out_of_memory) deaths=$((deaths + 1)) ;;
    completed) least=1 ;;
    esac
    [ "$least:$outcome" = 1:completed ] || [ $least = 0 ] || late=$((late + 1))
    [ "${mem:-9999}" -le "$most" ] || most=${mem:-9999}
    previous=$outcome
  done
  app=$(observed "$id" app)
  between "$deaths" 0 2 "$who: 230 MiB are found after at most two kills"
  is "$late" 0 "$who: no submission is killed after one has completed"
  is "$missed" 0 "$who: the request after a kill is above the limit that killed it, and says so"
  between "$most" 231 690 "$who: no request exceeds three times the need"
  between "$mem" 231 460 "$who: the tenth request is less than twice the need"
  like "$err" "$app needs 23[0-9] MiB, 95 % below .* \\([0-9]+ runs\\); --mem (set|raised from 150M) to ${mem}M(, because a comparable run [a-z ]+ [0-9.]+ [MG]iB)?\$" \
    "$who: the message has the evidence"
  is "$(app_runs "$user" "$app" completed) $(app_runs "$user" "$app" out_of_memory)" "$((10 - deaths)) $deaths" \
    "$who: all ten runs are stored with their outcome"
}

# one run is killed at 120 MiB, and one completes with 1 GiB
story_raise() { # USER
  local user=$1 i
  script "between-$user.sh" "exec PROGRAM --mib 205 --seconds 0.3"
  attempt "$user" --predict-mem=off --mem=120M "between-$user.sh"
  is "$outcome" out_of_memory "$user: a job of 205 MiB is killed at 120 MiB"
  attempt "$user" --predict-mem=off --mem=1G "between-$user.sh"
  for i in 1 2 3 4 5 6 7 8; do
    attempt "$user" --predict-mem=raise --mem=150M "between-$user.sh"
    [ "$outcome" = completed ] || break
  done
  is "$i $outcome" "8 completed" "$user: after one completed run, 150M is always raised enough"
}

# ---- 2: an edited script stays the same app
story_edit() { # USER
  local user=$1 app mib edit n=0
  script "edited-$user.sh" 'size=$1' "PROGRAM --mib \$size --seconds 0.3"
  for mib in 100 110 120 125 105 115 122 124; do
    attempt "$user" --mem=1G "edited-$user.sh" $mib
  done
  app=$(observed "$id" app)
  for edit in '2a echo "size $1"' 's/size/mib_wanted/g' '2a export OMP_NUM_THREADS=1' '2a # of March' '2a set -e' \
    '2a date' 's/\$mib_wanted/"${mib_wanted}"/' '2a echo begun >/dev/null' '$a echo done' '2a sleep 0.1'; do
    sed -i "$edit" "edited-$user.sh"
    n=$((n + 1))
    if [ $((n % 2)) = 0 ]; then
      attempt "$user" -p setting "edited-$user.sh" 120
    else
      attempt "$user" --predict-mem "edited-$user.sh" 120
    fi
    is "$(observed "$id" app) $outcome" "$app completed" "$user: after $edit it is the same app, and completes"
    between "${mem:-0}" 121 250 "$user: the request is near the need"
  done
}

# ---- 3: unlike runs reject no job
story_unlike() { # USER
  local user=$1 n
  script "solve-$user.sh" 'mib=250' 'if [ "$1" = dense ]; then mib=$(($2 * $2 / 100000)); fi' \
    "exec PROGRAM --mib \$mib --seconds 0.3"
  for n in 2000 2500 3000 3500 4000 4500; do
    attempt "$user" --mem=1G "solve-$user.sh" dense $n
  done
  attempt "$user" --mem=1G "solve-$user.sh" sparse 3000
  attempt "$user" --mem=500M "solve-$user.sh" sparse 9000
  is "$status $mem $outcome" "0 500 completed" "$user: sparse 9000 is not rejected because of dense runs"
  for n in 8000 9500; do
    attempt "$user" --mem=500M "solve-$user.sh" sparse $n
    is "$status $mem $outcome" "0 500 completed" "$user: sparse $n is not rejected"
  done
  attempt "$user" --predict-mem "solve-$user.sh" sparse 9000
  is "$outcome" completed "$user: sparse 9000 completes with the predicted request"
  between "$mem" 251 750 "$user: the request is at most three times the need"
  attempt_held "$user" --mem=60M "solve-$user.sh" dense 4500
  is "$([ "$status" = 0 ] || echo rejected)" rejected "$user: a request below the peaks of all similar runs is rejected"
  attempt_held "$user" --mem=60M --predict-mem=force "solve-$user.sh" dense 4500
  is "$status $mem" "0 60" "$user: force submits it"
}

# ---- 4: the job may have a memory leak
story_leak() { # USER MODE
  local user=$1 mode=$2 who="$1, $2" i tried= reported=0 set=0
  script "leak-$mode-$user.sh" "exec PROGRAM --mib 6000 --seconds 1"
  for i in 1 2 3 4 5 6 7 8 9 10; do
    attempt "$user" $(mode_options "$mode" | sed 's/ --mem=.*//') "leak-$mode-$user.sh"
    [ "$i" != 3 ] || tried=$mem
    [ "$i" -lt 4 ] || { grep -q 'possible memory leak' <<<"$err" && reported=$((reported + 1)); }
    [ "$i" -lt 4 ] || [ "$mem" = 100 ] || set=1
  done
  is "$reported" 7 "$who: from the third kill on the message warns of a leak"
  is "$set" 0 "$who: no limit that killed it is set again: the default stays"
  between "$tried" 200 1000 "$who: three growing limits were tried"
  like "$err" "was killed at 3 increasing limits, the last .*; --mem is not set; to allow more than .*, request it with --predict-mem=raise" "$who: the message says why nothing is set"
  attempt_held "$user" --predict-mem=check "leak-$mode-$user.sh"
  unlike "$err" '; use --' "$who: check suggests no request"
  attempt "$user" --predict-mem=raise --mem=$((tried + 20))M "leak-$mode-$user.sh"
  between "$mem" $((2 * tried)) 8000 "$who: with raise a larger request is raised further"
  like "$err" 'possible memory leak; --mem raised from' "$who: the message still warns of a leak"
}

# ---- 5, 6: an array of which every task has completed once
array_done() { # ID TASKS USER
  [ "$(store "select count(*) from observation where array_job_id = $1")" = "$2" ] &&
    model_has_runs "$(store "select app from observation where array_job_id = $1 limit 1")" "$(id -u "$3")" runs
}

story_array() { # USER ROUNDS
  local user=$1 rounds=$2 one any options
  script "tasks-$user.sh" 'i=$SLURM_ARRAY_TASK_ID' "exec PROGRAM --mib \$((150 + 84 * (i % 12) / 11)) --seconds 0.3"
  submit cluster_as "$user" sbatch --parsable --mem=1G --array=1-24 "tasks-$user.sh"
  wait_until 180 array_done "$id" 24 "$user"
  ok $? "$user: every task of an array has completed once"
  for options in --predict-mem '-p setting' '-p raising' '--predict-mem=raise --mem=100M'; do
    attempt_held "$user" $options --array=1-384 "tasks-$user.sh"
    between "${mem:-0}" 234 470 "$user: with $options the request is near the largest task's need"
  done
  attempt_held "$user" --predict-mem=trim --mem=2G --array=1-384 "tasks-$user.sh"
  is "$mem" 2048 "$user: the tasks of one array do not lower a request"
  attempt_held "$user" --predict-mem --array=1-384 "tasks-$user.sh"
  one=$(sed -nE 's/.*out of memory: (under )?([0-9.]+) % for one task.*/\2/p' <<<"$err")
  any=$(sed -nE 's/.*, (under )?([0-9.]+) % for any of 384.*/\2/p' <<<"$err")
  awk -v one="$one" -v any="$any" 'BEGIN {
    exit !(any != "" && any >= one && any < 60 && any < 70 * (1 - (1 - one / 100) ^ 384)) }'
  ok $? "$user: the probabilities of tasks are dependent: $one % for one, $any % for any of 384"
  while [ $((rounds -= 1)) -gt 0 ]; do
    submit cluster_as "$user" sbatch --parsable --predict-mem --array=1-12 "tasks-$user.sh"
    wait_until 60 array_done "$id" 12 "$user"
    is "$(store "select group_concat(distinct outcome) from observation where array_job_id = $id")" completed \
      "$user: the next array completes with $(requested_mem "$id")"
  done
}

# ---- 7: runs that fail
command_learned() { # USER PROGRAM RUNS
  has_runs "$(store "select app from observation where app like '$2-%' and uid = $(id -u "$1") limit 1")" "$3" \
    "$(id -u "$1")"
}

story_failing() { # USER
  local user=$1 i shown
  script "fails-$user.sh" "PROGRAM --mib 60 --seconds 0.2" 'exit 1'
  for i in 1 2 3 4 5 6; do
    attempt "$user" "fails-$user.sh"
  done
  shown=$("$foretell" job --state="$FT_STATE" "$id")
  like "$shown" 'next time: fails-.* is too small' "$user: foretell job suggests no amount for a job that did not run out of memory"
  attempt_held "$user" --predict-mem=check "fails-$user.sh"
  like "$err" 'may need [0-9.]+ MiB, .* \(6 runs that did not complete\); no evidence that .* is too small$' \
    "$user: six runs that exit with 1 count as six runs, none completed"
  attempt_held "$user" --predict-mem "fails-$user.sh"
  is "$mem" 100 "$user: an app that was never killed is set at most the default"
  attempt_held "$user" --predict-mem=raise --mem=50M "fails-$user.sh"
  between "$mem" 65 100 "$user: the memory used before a failure is a lower limit, with a margin"
  shown=$(cluster_as "$user" "$foretell" predict --state="$FT_STATE" --json --mem=50M "fails-$user.sh")
  like "$shown" '"action": "warn".*"p_oom": null, "reason": "the limit is less than the likely need"' \
    "$user: foretell predict gives the same reason"
  cp "$hog" "steady-$user"
  for i in 1 2 3 4 5 6; do
    cluster_as "$user" srun -Q --mem=1G "$PWD/steady-$user" --mib 150 --seconds 0.2
    wait_until 10 command_learned "$user" "steady-$user" $i
  done
  shown=$(cluster_as "$user" "$foretell" predict --state="$FT_STATE" --srun --json --mem=151M "$PWD/steady-$user" --mib 150 --seconds 0.2)
  unlike "$shown" '"p_oom": 0\.[1-9].*"it has enough memory"' "$user: foretell predict's reason does not contradict the probability"
  like "$shown" '"action": "(warn|reject)", .*"p_oom": 0\.[3-9][0-9]*, "reason": "(the limit is less|it would run out)' \
    "$user: the reason agrees with a high probability"
  shown=$(cluster_as "$user" "$foretell" predict --state="$FT_STATE" --srun --json --mem=260M "$PWD/steady-$user" --mib 150 --seconds 0.2)
  like "$shown" '"p_oom": (0\.00|[0-9.]+e-).*"reason": "the limit is enough", "rule": "request"' "$user: the reason agrees with a low probability"
}

# ---- other ends
story_cancelled() { # USER
  local user=$1
  script "cancelled-$user.sh" "exec PROGRAM --mib 230 --seconds 600"
  submit cluster_as "$user" sbatch --parsable --mem=1G "cancelled-$user.sh"
  wait_until 60 has_measured "$id" 230
  scancel "$id"
  wait_observed "$id"
  attempt_held "$user" --predict-mem "cancelled-$user.sh"
  between "${mem:-0}" 250 460 "$user: the memory used by a cancelled job is needed, with a margin"
}

requeue_done() {
  [ "$(store "select count(*) from observation where job_id = $1")" = 2 ]
}

story_requeued() { # USER
  local user=$1 app
  script "requeued-$user.sh" "[ -e again-$user ] || { touch again-$user; exec PROGRAM --mib 120 --seconds 600; }" \
    "exec PROGRAM --mib 80 --seconds 0.5"
  submit cluster_as "$user" sbatch --parsable --requeue --mem=1G --predict-mem=set "requeued-$user.sh"
  wait_until 60 has_measured "$id" 120
  scontrol requeue "$id"
  wait_until 180 requeue_done "$id"
  ok $? "$user: both runs of a requeued job are stored"
  app=$(observed "$id" app | head -n 1)
  is "$(store "select group_concat(outcome || ' ' || (rss_bytes >> 20 > 100), ', ') from (select * from observation where job_id = $id order by restart_count)")" \
    "requeued 1, completed 0" "$user: each run has its own peak"
  is "$(app_runs "$user" "$app" completed)" 1 "$user: both runs are of one app"
  attempt_held "$user" --predict-mem "requeued-$user.sh"
  between "${mem:-0}" 121 300 "$user: the next request covers both runs"
}

story_step() { # USER
  local user=$1 i most=0
  script "step-$user.sh" "srun --mem=100M PROGRAM --mib 150 --seconds 0.5"
  for i in 1 2 3 4 5 6 7 8 9 10; do
    attempt "$user" --predict-mem=raise --mem=400M "step-$user.sh"
    [ "${mem:-9999}" -le $most ] || most=${mem:-9999}
  done
  is "$most" 400 "$user: a step's own limit does not raise the job's, which is larger"
  is "$outcome $(observed "$id" "killed_at_bytes >> 20")" "out_of_memory 100" "$user: the run is stored as killed at the step's limit"
  like "$err" "in [0-9]+ runs a step or a container was killed at its own memory limit, which the job's --mem does not change" \
    "$user: the message states that the job's memory is no remedy"
}

# ---- interactive sessions, options, two users
allocated() { # COMMAND...: sets mem and err from the job of an interactive session
  echo 'echo job $SLURM_JOB_ID; exit' >in
  "$@" <in >stdout 2>stderr
  id=$(tr -d '\r' <stdout | sed -nE 's/.*job ([0-9]+)$/\1/p' | tail -n 1)
  err=$(grep foretell: stderr)
  mem=$(mib "$(requested_mem "$id")")
  diag "$*: $mem; $err"
}

story_sessions() {
  local terminal
  learn steady 200 201 202 199 200 201
  allocated salloc --predict-mem --predict-app=steady
  is "$mem" 100 "salloc's shell keeps the default"
  like "$err" 'memory of interactive sessions is not set' "the message states that sessions are not set"
  allocated salloc --predict-mem --predict-app=steady bash
  is "$mem" 100 "a shell in salloc keeps the default"
  allocated srun --predict-mem --predict-app=steady bash
  is "$mem" 100 "a shell in srun keeps the default"
  terminal=$(type -P script) || { skip "a shell on a terminal keeps the default" "script(1) is not installed"; return; }
  allocated "$terminal" -qec "srun --predict-mem --predict-app=steady --pty bash" /dev/null
  is "$mem" 100 "a shell on a terminal keeps the default"
}

story_wrong_options() {
  local option
  script wrong.sh true
  for option in sett raise=3 MB -1; do
    attempt_held root --predict-mem="$option" wrong.sh
    is "$([ "$status" = 0 ] || echo refused)" refused "--predict-mem=$option is rejected"
    like "$err" "foretell: --predict-mem=$option: expected check, set, raise, trim, off or force" "the message lists the modes"
  done
}

# Two users with the same script and job name: each user has separate runs.
story_two_users() {
  local user i
  script shared.sh "exec PROGRAM --mib 230 --seconds 0.3"
  for i in 1 2 3 4 5 6; do
    attempt root --mem=1G shared.sh
  done
  attempt nobody --predict-mem shared.sh
  like "$err" 'no recorded run yet($|; of [0-9]+ apps on this site, )' "another user's runs are not reported"
  is "$mem $outcome" "100 out_of_memory" "another user's runs do not change the request"
  attempt nobody --predict-mem shared.sh
  is "$outcome" completed "a user's own killed run raises the next request"
  like "$err" '\(1 run, none completed\)' "the evidence is the user's own run"
  attempt_held root --mem=60M shared.sh
  is "$([ "$status" = 0 ] || echo rejected)" rejected "a user with enough runs is rejected"
  attempt_held nobody --mem=60M shared.sh
  is "$status" 0 "a user with two runs is warned only"
}
