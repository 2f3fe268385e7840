#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every way to submit: salloc, srun, heterogeneous jobs, arrays, steps, --export,
# standard input, a submission inside a job.
. "$(dirname "$0")/play.sh"
FT_ENFORCE=rss
FT_NODES='one 8 8000
two 2 2000'
FT_PARTITIONS='PartitionName=main Nodes=@one@,@two@ Default=YES DefMemPerCPU=10 MaxTime=60'
FT_FORETELL_CONF='min_runs = 3
trim_runs = 5
floor = "16M"
round = "1M"'
play_begin
learn steady 100 101 99 100 102 100
ok $? "six runs of 100 MiB are learned"
learn little 30 31 29 30
ok $? "four runs of 30 MiB are learned"
submit_held --predict-mem --predict-app=steady --wrap true
steady=$(requested_mem "$id")
submit_held --predict-mem --predict-app=little --wrap true
little=$(requested_mem "$id")
diag "steady: $steady, little: $little"
unlike "$steady" "^($little|10M.*)$" "the two apps have different predictions"

# ---- a new app, estimated from the apps that run the same program
submit_held --predict-mem --predict-app=unheard --wrap "$hog --mib 60 --seconds 0.1"
like "$err" '^sbatch: foretell: unheard may need .*, 95 % below .* \(from 2 similar apps of yours\)' \
  "a new app is estimated from similar ones"
between "$(mib "$(requested_mem "$id")")" 200 8000 "its request has a large margin"
submit_held --predict-mem --predict-app=unheard --mem=500M --wrap "$hog --mib 60 --seconds 0.1"
is "$(requested_mem "$id"):$(message_lines)" 500M:1 "a request of the user's is unchanged, with one line"
submit_held --predict-mem --predict-app=unheard --wrap true
is "$(message_lines):$(grep -c 'no recorded run yet' <<<"$err")" 1:1 "an app of another program is not estimated"

# ---- salloc and srun
printf '%s\n' '#!/bin/sh' "exec $hog --mib 100 --seconds 0.3" >hog.sh
chmod +x hog.sh
submit salloc --predict-mem --predict-app=steady sh -c "echo \$SLURM_JOB_ID; srun $hog --mib 100 --seconds 0.3"
is "$status" 0 "salloc runs"
between "$(mib "$(requested_mem "$out")")" 100 400 "salloc: memory is set"
is "$(message_lines)" 1 "salloc prints one line"
like "$err" '^salloc: foretell: steady (may need|needs)' "the line begins with salloc's name"
submit srun --predict-mem --predict-app=steady sh -c "echo \$SLURM_JOB_ID; $hog --mib 100 --seconds 0.3"
is "$status" 0 "srun runs"
between "$(mib "$(requested_mem "$out")")" 100 400 "srun: memory is set"
is "$(message_lines)" 1 "srun prints one line"
for quiet in "srun -Q" "salloc -Q" "sbatch -Q --output=/dev/null"; do
  submit $quiet --mem=300M --predict-mem=check --predict-app=steady $PWD/hog.sh
  is "$status $(message_lines)" "0 0" "$quiet: no message"
done
submit salloc --predict-mem --predict-app=steady srun --mem=50M true
is "$status" 0 "a step inside an allocation is unchanged"
is "$(message_lines)" 1 "only the allocation has a message"
for n in 40 60 80 100; do
  srun --mem=500M --predict-app=direct "$hog" --mib $n --seconds 0.4 &
done
wait_until 30 has_runs direct 4
ok $? "runs of srun are learned"
submit srun --predict-mem --predict-app=direct "$hog" --mib 90 --seconds 0.1
like "$err" 'foretell: direct (may need|needs)' "runs of srun are predicted from their own arguments"

# ---- heterogeneous jobs
submit_held --predict-mem --predict-app=steady --wrap true
steady=$(requested_mem "$id")
submit_held --predict-mem --predict-app=steady : --predict-app=little --wrap true
is "$status" 0 "a heterogeneous job is submitted"
is "$(requested_mem "$id")" "$steady" "the first component is predicted"
is "$(requested_mem "$((id + 1))")" "$little" "the second component is predicted by its own app"
between "$(message_lines)" 1 2 "each component has at most one line"
scancel "$id"
printf '%s\n' '#!/bin/bash' '#SBATCH --predict-mem --predict-app=steady' '#SBATCH hetjob' \
  '#SBATCH --predict-app=little' true >het.sh
submit_held het.sh
is "$(requested_mem "$id") $(requested_mem "$((id + 1))")" "$steady $little" "components of a script's hetjob are predicted"
scancel "$id"
FORETELL_PREDICT_MEM=set FORETELL_PREDICT_APP=steady submit_held -n 1 : -n 1 --wrap true
is "$(requested_mem "$id") $(requested_mem "$((id + 1))")" "$steady $steady" "the environment applies to each component"
scancel "$id"
submit_held --predict-mem --predict-app=steady : --predict-mem=off --predict-app=little --wrap true
is "$(requested_mem "$id") $(requested_mem "$((id + 1))")" "$steady 10M per cpu" "mode off applies to one component only"
scancel "$id"
submit_held --predict-mem=raise --mem=20M --predict-app=steady : --mem=20M --predict-app=little --wrap true
is "$(message_lines)" 2 "each component is raised from its own request"
between "$(mib "$(requested_mem "$((id + 1))")")" 30 60 "the second component is raised to its own need"
scancel "$id"
submit salloc --predict-mem --predict-app=steady : --predict-app=little sh -c 'squeue -h -j $SLURM_JOB_ID -o "%i %m"'
is "$status $(grep -c '^salloc: foretell: .* --mem set to' <<<"$err")" "0 1" "salloc predicts the component that has the command"
is "$(sort <<<"$out" | cut -d' ' -f2 | tr '\n' ' ')" "10M $little " "salloc leaves the other component unchanged, which may be an interactive session"
submit srun --predict-mem --predict-app=steady sh -c 'squeue -h -j $SLURM_JOB_ID -o "%i %m"' : --predict-app=little true
is "$status $(grep -c '^srun: foretell: .* --mem set to' <<<"$err")" "0 2" "srun predicts both components"
like "$out" "\+1 $little\$" "srun predicts each component by its own command"
submit sbatch --parsable --output=/dev/null --mem=300M --predict-app=het \
  : --mem=200M --predict-app=het --wrap "srun --het-group=0,1 $hog --mib 20 --seconds 0.5"
is "$(job_wait "$id")" COMPLETED "a heterogeneous job completes"
wait_observed "$id"
ok $? "a heterogeneous job is observed"

# ---- arrays
before=$(runs_of steady)
submit sbatch --parsable --output=/dev/null --array=1-3 --predict-mem --predict-app=steady \
  --wrap "exec $hog --mib 100 --seconds 0.4"
is "$status $(message_lines)" "0 1" "an array is predicted in one line"
between "$(mib "$(job_field "${id}_1" MinMemoryNode)")" 100 400 "all tasks have one --mem"
wait_until 120 has_runs steady $((before + 3))
ok $? "each task is an observation"
is "$(store "select count(distinct array_task_id) from observation where array_job_id = $id")" 3 "each observation has its own array task id"

# ---- steps: peaks of concurrent steps add up, those of consecutive steps do not
submit sbatch --parsable --output=/dev/null --mem=900M -n 2 --predict-app=steps --wrap \
  "srun -n1 --exact --mem=300M $hog --mib 60 --until both & srun -n1 --exact --mem=300M $hog --mib 60 --until both & wait"
until_measured 120 both
is "$(job_wait "$id")" COMPLETED "two concurrent steps complete"
wait_observed "$id"
between "$(($(observed "$id" rss_bytes) >> 20))" 119 160 "the peaks of concurrent steps add up"
submit sbatch --parsable --output=/dev/null --mem=900M --predict-app=steps --wrap \
  "srun --mem=300M $hog --mib 60 --seconds 0.5; srun --mem=300M $hog --mib 60 --seconds 0.5"
is "$(job_wait "$id")" COMPLETED "two consecutive steps complete"
wait_observed "$id"
between "$(($(observed "$id" rss_bytes) >> 20))" 59 110 "the peaks of consecutive steps do not add up"
submit sbatch --parsable --output=/dev/null --mem=900M --predict-app=forks --wrap "$hog --mib 80 --fork 8 --until forked"
until_measured 79 forked
job_wait "$id" >/dev/null; wait_observed "$id"
between "$(($(observed "$id" rss_bytes) >> 20))" 79 110 "the memory of eight processes of a task adds up"
submit sbatch --parsable --output=/dev/null --mem=900M --predict-app=burst --wrap "$hog --mib 90 --burst-ms 50 --seconds 0.7"
job_wait "$id" >/dev/null; wait_observed "$id"
between "$(($(observed "$id" 'max(coalesce(rss_bytes,0), coalesce(largest_process_bytes,0))') >> 20))" 89 130 \
  "a process of 50 ms is in the peak"

# ---- the environment
for export in --export=NONE --export=PATH,HOME --export=ALL,COLOUR=blue; do
  submit sbatch --parsable --output=/dev/null $export --mem=300M --predict-app=exported --predict-params=k=7 \
    --wrap "$hog --mib 30 --seconds 0.3"
  is "$(job_wait "$id")" COMPLETED "$export: the job completes"
  wait_observed "$id"
  is "$(observed "$id" app)" exported "$export: the agent has its app"
  like "$(observed "$id" features)" 'k.*7' "$export: the agent has its features"
done
if sbatch --help | grep -q -- --export-file; then
  printf 'COLOUR=blue\0PATH=%s\0' "$PATH" >environment
  submit sbatch --parsable --output=/dev/null --export-file=environment --mem=300M --predict-app=exported \
    --wrap "$hog --mib 30 --seconds 0.3"
  job_wait "$id" >/dev/null; wait_observed "$id"
  is "$(observed "$id" app)" exported "--export-file: the agent has its app"
else
  skip "--export-file: the agent has its app" "this release has no such option"
fi
submit srun --export=NONE --mem=300M --predict-app=exported "$hog" --mib 30 --seconds 0.3
is "$status" 0 "srun --export=NONE runs"

# ---- a job inside a job inherits nothing
cat >inner.sh <<END
#!/bin/bash
#SBATCH --output=/dev/null
$hog --mib 20 --seconds 0.3
END
cat >outer.sh <<END
#!/bin/bash
sbatch --parsable inner.sh
srun --mem=50M $hog --mib 20 --seconds 0.3
env | grep -c '^SLURM_SPANK.*FORETELL'
END
submit sbatch --parsable --output=outer.out --mem=500M --predict-mem=check --predict-app=outer outer.sh
is "$(job_wait "$id")" COMPLETED "a job that submits another completes"
inner=$(sed -n 1p outer.out)
job_wait "$inner" >/dev/null
wait_observed "$inner"
is "$(requested_mem "$inner")" "10M per cpu" "the inner job's request is unchanged"
unlike "$(observed "$inner" app)" '^(outer)?$' "the inner job is an app of its own"
wait_observed "$id"
is "$(observed "$id" app)" outer "the outer job keeps its app"
unlike "$(cat outer.out)" 'foretell:' "the inner job has no message"

# ---- sources of a script
printf '%s\n' '#!/bin/bash' '#SBATCH --output=/dev/null --predict-mem --predict-app=steady' true >script.sh
submit_held <script.sh
steady=$(requested_mem "$id")
between "$(mib "$steady")" 100 400 "a script from standard input, a file, is predicted"
submit sh -c 'cat script.sh | sbatch --parsable'
is "$(requested_mem "$id")" "$steady" "a script from standard input, a pipe, is predicted"
is "$(job_wait "$id")" COMPLETED "the job from the pipe completes"
for n in 40 60 80 100; do
  printf '%s\n' '#!/bin/bash' '#SBATCH --output=/dev/null' "$hog --mib $n --seconds 0.4" |
    sbatch --mem=500M -J piped >/dev/null
done
printf '%s\n' '#!/bin/bash' '#SBATCH --output=/dev/null' "$hog --mib 50 --seconds 0.4" >sized.sh
submit sbatch --parsable --mem=500M sized.sh
job_wait "$id" >/dev/null; wait_observed "$id"
sized=$(observed "$id" app)
sed -i 's/--mib 50/--mib 70/' sized.sh
submit sbatch --parsable --mem=500M <sized.sh
job_wait "$id" >/dev/null; wait_observed "$id"
diag "app $sized; from standard input $(observed "$id" app)"
submit sbatch --parsable --mem=500M sized.sh
job_wait "$id" >/dev/null; wait_observed "$id"
is "$(observed "$id" app)" "$sized" "a script with another number is the same app"
like "$(observed "$id" features)" 'mib.*70' "the number is a feature"
submit sbatch --parsable --output=/dev/null --mem=500M --wrap "$hog --mib 33 --seconds 0.3"
job_wait "$id" >/dev/null; wait_observed "$id"
like "$(observed "$id" features)" 'mib.*33' "numbers of --wrap are features"
play_end
