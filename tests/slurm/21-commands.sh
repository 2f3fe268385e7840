#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# All ways to submit: salloc, srun, heterogeneous jobs, arrays, steps, --export,
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
ok $? "four of 30 MiB"
submit_held --predict-mem --predict-app=steady --wrap true
steady=$(requested_mem "$id")
submit_held --predict-mem --predict-app=little --wrap true
little=$(requested_mem "$id")
diag "steady: $steady, little: $little"
unlike "$steady" "^($little|10M.*)$" "the two are told apart"

# ---- a new app, told from those that run the same program
submit_held --predict-mem --predict-app=unheard --wrap "$hog --mib 60 --seconds 0.1"
like "$err" '^sbatch: foretell: unheard may need .*, 95 % below .* \(from 2 similar apps of yours\)' \
  "a new app is told from similar ones"
between "$(mib "$(requested_mem "$id")")" 200 8000 "and set generously"
submit_held --predict-mem --predict-app=unheard --mem=500M --wrap "$hog --mib 60 --seconds 0.1"
is "$(requested_mem "$id"):$(message_lines)" 500M:1 "what is asked for stays"
submit_held --predict-mem --predict-app=unheard --wrap true
is "$(message_lines):$(grep -c 'no recorded run yet' <<<"$err")" 1:1 "of another program nothing is told"

# ---- salloc and srun
printf '%s\n' '#!/bin/sh' "exec $hog --mib 100 --seconds 0.3" >hog.sh
chmod +x hog.sh
submit salloc --predict-mem --predict-app=steady sh -c "echo \$SLURM_JOB_ID; srun $hog --mib 100 --seconds 0.3"
is "$status" 0 "salloc runs"
between "$(mib "$(requested_mem "$out")")" 100 400 "its memory is set"
is "$(message_lines)" 1 "with one line"
like "$err" '^salloc: foretell: steady (may need|needs)' "of its own"
submit srun --predict-mem --predict-app=steady sh -c "echo \$SLURM_JOB_ID; $hog --mib 100 --seconds 0.3"
is "$status" 0 "srun runs"
between "$(mib "$(requested_mem "$out")")" 100 400 "its memory is set"
is "$(message_lines)" 1 "with one line"
for quiet in "srun -Q" "salloc -Q" "sbatch -Q --output=/dev/null"; do
  submit $quiet --mem=300M --predict-mem=check --predict-app=steady $PWD/hog.sh
  is "$status $(message_lines)" "0 0" "$quiet is quiet"
done
submit salloc --predict-mem --predict-app=steady srun --mem=50M true
is "$status" 0 "a step inside an allocation is left alone"
is "$(message_lines)" 1 "only the allocation speaks"
for n in 40 60 80 100; do
  srun --mem=500M --predict-app=direct "$hog" --mib $n --seconds 0.4 &
done
wait_until 30 has_runs direct 4
ok $? "what srun runs is learned"
submit srun --predict-mem --predict-app=direct "$hog" --mib 90 --seconds 0.1
like "$err" 'foretell: direct (may need|needs)' "and predicted from its own arguments"

# ---- heterogeneous jobs
submit_held --predict-mem --predict-app=steady --wrap true
steady=$(requested_mem "$id")
submit_held --predict-mem --predict-app=steady : --predict-app=little --wrap true
is "$status" 0 "a heterogeneous job is submitted"
is "$(requested_mem "$id")" "$steady" "its first component is predicted"
is "$(requested_mem "$((id + 1))")" "$little" "its second by itself"
between "$(message_lines)" 1 2 "one line a component"
scancel "$id"
printf '%s\n' '#!/bin/bash' '#SBATCH --predict-mem --predict-app=steady' '#SBATCH hetjob' \
  '#SBATCH --predict-app=little' true >het.sh
submit_held het.sh
is "$(requested_mem "$id") $(requested_mem "$((id + 1))")" "$steady $little" "its components may stand in the script"
scancel "$id"
FORETELL_PREDICT_MEM=set FORETELL_PREDICT_APP=steady submit_held -n 1 : -n 1 --wrap true
is "$(requested_mem "$id") $(requested_mem "$((id + 1))")" "$steady $steady" "what the environment says holds for each"
scancel "$id"
submit_held --predict-mem --predict-app=steady : --predict-mem=off --predict-app=little --wrap true
is "$(requested_mem "$id") $(requested_mem "$((id + 1))")" "$steady 10M per cpu" "one may be left out"
scancel "$id"
submit_held --predict-mem=raise --mem=20M --predict-app=steady : --mem=20M --predict-app=little --wrap true
is "$(message_lines)" 2 "each is raised from its own request"
between "$(mib "$(requested_mem "$((id + 1))")")" 30 60 "to its own need"
scancel "$id"
submit salloc --predict-mem --predict-app=steady : --predict-app=little sh -c 'squeue -h -j $SLURM_JOB_ID -o "%i %m"'
is "$status $(grep -c '^salloc: foretell: .* --mem set to' <<<"$err")" "0 1" "salloc predicts the component that has the command"
is "$(sort <<<"$out" | cut -d' ' -f2 | tr '\n' ' ')" "10M $little " "and leaves the other alone, which may be a session"
submit srun --predict-mem --predict-app=steady sh -c 'squeue -h -j $SLURM_JOB_ID -o "%i %m"' : --predict-app=little true
is "$status $(grep -c '^srun: foretell: .* --mem set to' <<<"$err")" "0 2" "so does srun"
like "$out" "\+1 $little\$" "each from its own command"
submit sbatch --parsable --output=/dev/null --mem=300M --predict-app=het \
  : --mem=200M --predict-app=het --wrap "srun --het-group=0,1 $hog --mib 20 --seconds 0.5"
is "$(job_wait "$id")" COMPLETED "one runs"
wait_observed "$id"
ok $? "and is observed"

# ---- arrays
before=$(runs_of steady)
submit sbatch --parsable --output=/dev/null --array=1-3 --predict-mem --predict-app=steady \
  --wrap "exec $hog --mib 100 --seconds 0.4"
is "$status $(message_lines)" "0 1" "an array is predicted in one line"
between "$(mib "$(job_field "${id}_1" MinMemoryNode)")" 100 400 "one --mem for all elements"
wait_until 30 has_runs steady $((before + 3))
ok $? "each element is an observation"
is "$(store "select count(distinct array_task_id) from observation where array_job_id = $id")" 3 "of its own key"

# ---- steps: what runs at one time adds up, what runs in turn does not
submit sbatch --parsable --output=/dev/null --mem=900M -n 2 --predict-app=steps --wrap \
  "srun -n1 --exact --mem=300M $hog --mib 60 --seconds 1 & srun -n1 --exact --mem=300M $hog --mib 60 --seconds 1 & wait"
is "$(job_wait "$id")" COMPLETED "two steps at a time run"
wait_observed "$id"
between "$(($(observed "$id" rss_bytes) >> 20))" 119 160 "and add up"
submit sbatch --parsable --output=/dev/null --mem=900M --predict-app=steps --wrap \
  "srun --mem=300M $hog --mib 60 --seconds 0.5; srun --mem=300M $hog --mib 60 --seconds 0.5"
is "$(job_wait "$id")" COMPLETED "two steps in turn run"
wait_observed "$id"
between "$(($(observed "$id" rss_bytes) >> 20))" 59 110 "and do not"
submit sbatch --parsable --output=/dev/null --mem=900M --predict-app=forks --wrap "$hog --mib 80 --fork 8 --seconds 0.6"
job_wait "$id" >/dev/null; wait_observed "$id"
between "$(($(observed "$id" rss_bytes) >> 20))" 79 110 "eight processes of a task add up"
submit sbatch --parsable --output=/dev/null --mem=900M --predict-app=burst --wrap "$hog --mib 90 --burst-ms 50 --seconds 0.7"
job_wait "$id" >/dev/null; wait_observed "$id"
between "$(($(observed "$id" 'max(coalesce(rss_bytes,0), coalesce(largest_process_bytes,0))') >> 20))" 89 130 \
  "a child that lives 50 ms does not vanish"

# ---- the environment
for export in --export=NONE --export=PATH,HOME --export=ALL,COLOUR=blue; do
  submit sbatch --parsable --output=/dev/null $export --mem=300M --predict-app=exported --predict-params=k=7 \
    --wrap "$hog --mib 30 --seconds 0.3"
  is "$(job_wait "$id")" COMPLETED "$export: runs"
  wait_observed "$id"
  is "$(observed "$id" app)" exported "its app reaches the node"
  like "$(observed "$id" features)" 'k.*7' "so do its features"
done
if sbatch --help | grep -q -- --export-file; then
  printf 'COLOUR=blue\0PATH=%s\0' "$PATH" >environment
  submit sbatch --parsable --output=/dev/null --export-file=environment --mem=300M --predict-app=exported \
    --wrap "$hog --mib 30 --seconds 0.3"
  job_wait "$id" >/dev/null; wait_observed "$id"
  is "$(observed "$id" app)" exported "--export-file: its app reaches the node"
else
  skip "--export-file: its app reaches the node" "this release has no such option"
fi
submit srun --export=NONE --mem=300M --predict-app=exported "$hog" --mib 30 --seconds 0.3
is "$status" 0 "srun --export=NONE runs"

# ---- inside a job nothing is inherited
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
is "$(job_wait "$id")" COMPLETED "a job that submits another runs"
inner=$(sed -n 1p outer.out)
job_wait "$inner" >/dev/null
wait_observed "$inner"
is "$(requested_mem "$inner")" "10M per cpu" "the inner one asks for what it asked for"
unlike "$(observed "$inner" app)" '^(outer)?$' "it is an app of its own"
wait_observed "$id"
is "$(observed "$id" app)" outer "the outer one keeps its"
unlike "$(cat outer.out)" 'foretell:' "nothing is said"

# ---- where a script comes from
printf '%s\n' '#!/bin/bash' '#SBATCH --output=/dev/null --predict-mem --predict-app=steady' true >script.sh
submit_held <script.sh
steady=$(requested_mem "$id")
between "$(mib "$steady")" 100 400 "standard input, a file"
submit sh -c 'cat script.sh | sbatch --parsable'
is "$(requested_mem "$id")" "$steady" "standard input, a pipe"
is "$(job_wait "$id")" COMPLETED "it runs"
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
is "$(observed "$id" app)" "$sized" "a changed number does not make a new app"
like "$(observed "$id" features)" 'mib.*70' "but a feature"
submit sbatch --parsable --output=/dev/null --mem=500M --wrap "$hog --mib 33 --seconds 0.3"
job_wait "$id" >/dev/null; wait_observed "$id"
like "$(observed "$id" features)" 'mib.*33' "--wrap has features, too"
play_end
