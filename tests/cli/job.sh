#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell job: what a job requested and used, and what to request next time.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"
state=$scratch/state

# Of app fold: tasks 1 to 8 of the array 140, which completed, and task 9, killed at its limit.
{
  echo app,uid,user,job_id,array_job_id,array_task_id,submit,start,end,peak_mb,state,node,cpus,runtime,limit_mib,killed_at_bytes,request_mem_unit,request_mib,request_time_limit_seconds,decision_action,decision_mode,decision_rule,decision_mem_bytes,decision_mem_unit,decision_p05_bytes,decision_p50_bytes,decision_p95_bytes,decision_runs,decision_method,decision_p_oom,cpu_seconds,rule,decision_time_mode,decision_time_action,decision_time_seconds,decision_p05_seconds,decision_p50_seconds,decision_p95_seconds,decision_p_timeout,gpu_energy_joules,package_energy_joules,package_energy_share
  for i in 1 2 3 4 5 6 7 8; do
    echo "fold,$(id -u),zoe,$((142 + i)),140,$i,1795224000,1795224000,$((1795224100 + i)),$((200 + i)),completed,n1,2,100,1024,,node,4096,3600,trim,trim,estimate,1073741824,node,190000000,210000000,230000000,12,regression,0.004,150,rss,trim,trim,600,80,90,120,0.002,9000,72000,0.5"
  done
  echo "fold,$(id -u),zoe,151,140,9,1795224000,1795224000,1795224190,1000,out_of_memory,n1,2,100,1024,1073741824,node,4096,3600,trim,trim,estimate,1073741824,node,190000000,210000000,230000000,12,regression,0.004,150,rss,,,,,,,,,,"
  # killed because of the node, and by a step's limit; without a prediction
  echo "fold,$(id -u),zoe,160,0,0,1795224000,1795224000,1795224190,500,out_of_memory,n1,2,100,1024,0,none,,,,,,,,,,,,,,,rss,,,,,,,,,,"
  echo "fold,$(id -u),zoe,161,0,0,1795224000,1795224000,1795224190,500,out_of_memory,n1,2,100,1024,524288000,,,,,,,,,,,,,,,,rss,,,,,,,,,,"
} >"$scratch/runs.csv"
mkdir "$state"
"$foretell" import --state="$state" "$scratch/runs.csv" >/dev/null
is $? 0 "runs are imported"
"${FT_TOP_BUILDDIR:-build}/tests/cli/make_state" "$state" "$(id -u)" fold

run job --state="$state" 140_3
is "$status" 0 "a task of an array is found"
like "$out" '^job 140_3 of fold, zoe, on n1$' "the first line has its number, app, user and node"
like "$out" '^  requested: --mem=4G, 2 CPUs, 1 h$' "the request is printed"
like "$out" '^  predicted: 200 MiB, 90 % between 181 MiB and 219 MiB \(12 runs, regression\)$' "the prediction is printed"
like "$out" '^  decided:   lowered to --mem=1G: the amount with the least expected waste \(out of memory: 0.4 %\)$' "the decision is printed with its reason"
like "$out" '^             run time 1.50 min, 90 % between 1.33 min and 2 min$' "the predicted run time is printed"
like "$out" '^             time limit: lowered to --time=10 \(timeout: 0.2 %\)$' "the decision about the time limit is printed"
like "$out" '^  used:      194 MiB of 1 GiB \(19 %\); ran 1.67 min of 10 min \(17 %\) on 1.5 of 2 CPUs$' "the usage is printed"
like "$out" '^  energy:    12.5 Wh, of which GPUs 2.50 Wh$' "the energy is printed"
like "$out" '^  ended:     completed, 2026-11-2.T' "the outcome is printed"
like "$out" '^  next time: --mem=[0-9]+M, for a task like this one \(out of memory: [0-9.]+ %\)$' "the request for the next time is printed"
like "$out" 'fold needs [0-9.]+ GiB, 95 % below' "the prediction for the next time has predict's wording"
lines=$(printf '%s\n' "$out" | wc -l)
[ "$lines" -le 13 ]
ok $? "the output is about a dozen lines ($lines)"

run job --state="$state" 140
like "$out" '^job 140_9 .*
  runs:      9, 8 completed, 1 out of memory; peaks from 192 MiB to 954 MiB' "of an array the task that used most is described"
like "$out" 'out of memory; killed at the job.s own limit of 1 GiB' "a kill at the job's own limit is described"
run job --state="$state" 160
like "$out" 'killed because the node was out of memory' "a kill because of the node's memory is described"
like "$out" '  requested: no memory' "a job without a memory request is described"
run job --state="$state" 161
like "$out" "killed at 500 MiB by the limit of a step or a container" "a kill at a step's limit is described"
like "$out" '  requested: unknown' "an unknown request is described"

like "$(run job --state="$state" 140; printf %s "$out")" '
  decided:   .* \(out of memory: 0.4 % for one task\)
' "the probability of a whole array is that of one task"
run job --state="$state" 140_3
like "$out" 'comparable runs: 0 of 42; the others used up to ' "the runs behind the recommendation are printed"

# A requeued job, and two in mode force: one that the policy would have rejected.
cat >"$scratch/force.csv" <<CSV
app,uid,user,job_id,restart_count,submit,end,peak_mb,state,rule,decision_action,decision_mode,decision_overrode
again,$(id -u),zoe,170,0,1795224000,1795224100,978,requeued,rss,,,
again,$(id -u),zoe,170,1,1795224000,1795224200,966,completed,rss,,,
again,$(id -u),zoe,171,0,1795224000,1795224100,978,completed,rss,warn,force,1
again,$(id -u),zoe,172,0,1795224000,1795224100,978,completed,rss,leave,force,0
CSV
"$foretell" import --state="$state" "$scratch/force.csv" >/dev/null
run job --state="$state" 170
like "$out" 'peaks from 921 MiB to 933 MiB; shown: the last attempt' "of a requeued job the last attempt is shown, and called so"
run job --state="$state" 171
like "$out" '  decided:   warned, overridden by --predict-mem=force' "an override of the policy is printed"
run job --state="$state" 172
like "$out" '
  decided:   no change
' "mode force without a rejection is no override"

run job --state="$state" 140_9 --json
is "$(json .)" "job app user node runs completed out_of_memory running asked predicted decided used next" "job --json has its keys"
is "$(json asked.mem_unit) $(json asked.mem_bytes) $(json predicted.p50) $(json decided.rule) $(json used.outcome) $(json used.killed_at_bytes)" \
  '"node" 4294967296 210000000 "estimate" "out_of_memory" 1073741824' "the JSON has request, prediction, decision and usage"
is "$(json next)" "mem_bytes option p_oom lines time_seconds time_option p_timeout" "the JSON has the next request"
run job --state="$state" 140_3 --json
is "$(json predicted.runtime_seconds.p50) $(json decided.time_seconds) $(json decided.time_action) $(json used.time_limit_seconds) $(json used.energy_joules) $(json used.co2_grams)" \
  '90 600 "trim" 600 45000 null' "the JSON has the run time and the energy"
run job --state="$state" 140_9 --json
like "$(json next.option)" '^"--mem=[0-9]+[MG]"$' "the next request is an option"
run job --state="$state" 161 --json
is "$(json asked)$(json predicted)$(json decided)" nullnullnull "unknown values are null"

# On two nodes, and on three of which two are recorded: n1 ran out of memory, n2 was the largest.
cat >"$scratch/nodes.csv" <<CSV
app,uid,user,job_id,submit,start,end,peak_mib,state,node,cpus,runtime,limit_mib,cpu_seconds,rule,allocated_nodes,killed_at_bytes
mpi,$(id -u),zoe,300,1795224000,1795224000,1795224100,70,completed,n2,4,100,100,300,rss,2,
mpi,$(id -u),zoe,300,1795224000,1795224010,1795224110,40,completed,n1,2,100,100,30,rss,2,
mpi,$(id -u),zoe,301,1795225000,1795225000,1795225100,70,failed,n2,2,100,100,100,rss,3,
mpi,$(id -u),zoe,301,1795225000,1795225000,1795225100,50,out_of_memory,n1,2,100,100,100,rss,3,104857600
CSV
"$foretell" import --state="$state" "$scratch/nodes.csv" >/dev/null
run job --state="$state" 300
like "$out" '^job 300 of mpi, zoe, on n2 and 1 more node$' "of several nodes the largest is named"
like "$out" '
  nodes:     2; peaks from 40 MiB to 70 MiB, in all 110 MiB
' "the nodes of a job and their peaks are counted"
like "$out" '
  used:      70 MiB of 100 MiB \(70 %\); ran 1.83 min on 3 of 6 CPUs
' "the usage of all nodes is printed"
run job --state="$state" 301
like "$out" '
  nodes:     3, of which 2 are recorded; the others have not delivered, or were lost; peaks from 50 MiB to 70 MiB, in all 120 MiB
' "nodes without a record are reported"
like "$out" 'ended:     out of memory; killed at the job.s own limit of 100 MiB' "a run of which one node ran out of memory did so"
run job --state="$state" 301 --json
is "$(json runs) $(json used.peak_bytes) $(json used.outcome) $(json used.allocated_nodes)" \
  '1 73400320 "out_of_memory" 3' "the JSON describes the nodes as one run"
is "$(json used.nodes.0) $(json used.nodes.0.node) $(json used.nodes.0.peak_memory_bytes) $(json used.nodes.1.outcome)" \
  'node peak_memory_bytes peak_is_bound limit_bytes cpus cpu_seconds runtime_seconds outcome killed_at_bytes "n1" 52428800 "failed"' \
  "the JSON lists the nodes"
run job --state="$state" 140_9 --json
is "$(json used.nodes.0.node) $(json used.allocated_nodes)" '"n1" null' "a job on one node has one"

for word in 7 140_77; do
  run job --state="$state" $word
  is "$status:$err" "1:foretell job: $word: no runs of this job" "an unknown job: $word"
done
for word in x 0 140_ 140.batch -1 4294967296 "$(printf '1\033[2J')"; do
  run job --state="$state" -- "$word"
  is "$status:$(printf %s "$out$err" | LC_ALL=C tr -d ' -~' | wc -c)" "2:0" "not a job: $(printf %s "$word" | tr -d '\033')"
done
run job
is "$status" 2 "a missing job is wrong usage"
run job --state="$scratch/none" 7
is "$status" 3 "a missing state directory is an error"
tap_done
