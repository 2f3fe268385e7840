#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Job arrays with unlike tasks: each task is learned by its own index or file. All tasks
# have one memory request, which the largest task determines.
. "$(dirname "$0")/play.sh"
FT_ENFORCE=rss
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES DefMemPerCPU=10 MaxTime=60'
FT_FORETELL_CONF='min_runs = 4
helper_timeout_ms = 10000
floor = "16M"
round = "1M"'
play_begin

# ---- the index is an argument
cat >index.sh <<END
#!/bin/bash
#SBATCH --output=/dev/null
exec $hog --mib \$SLURM_ARRAY_TASK_ID --seconds 0.4
END
submit sbatch --parsable --mem=500M --array=20,40,60,80,100 --predict-app=indexed index.sh
first=$id
wait_until 60 has_runs indexed 5
ok $? "five tasks of 20 to 100 MiB are learned"
is "$(store "select group_concat(json_extract(features, '$.mib'), ' ') from (select features from observation where array_job_id = $first order by array_task_id)")" \
  "20 40 60 80 100" "each task is learned by its own argument"
submit sbatch --parsable --predict-mem --array=20-200:20%4 --predict-app=indexed index.sh
array=$id
diag "$err"
like "$err" 'foretell: indexed (may need|needs) up to .* \(task 200\), 95 % below ' "the message of the next array names its largest task"
like "$err" 'out of memory: .* for one task, .* for any of 10' "the message has the probability of running out for one task and for any"
is "$(message_lines)" 1 "the message is one line"
between "$(mib "$(requested_mem "$array")")" 200 500 "--mem is what the largest task needs"
wait_until 120 has_runs indexed 15
ok $? "all ten tasks are learned"
is "$(store "select group_concat(distinct outcome) from observation where array_job_id = $array")" completed \
  "all tasks complete, from 20 to 200 MiB"
is "$(store "select count(*) from observation where array_job_id = $array and decision_p50_bytes between 0.75 * peak_bytes and 1.33 * peak_bytes")" \
  10 "each task's record has its own prediction"
diag "$(store "select group_concat(printf('%d:%.0f/%.0f', array_task_id, decision_p50_bytes / 1048576, peak_bytes / 1048576), ' ') from observation where array_job_id = $array")"
task=$("$foretell" job --state="$FT_STATE" "${array}_40")
diag "$task"
like "$task" "^job ${array}_40 of indexed" "foretell job accepts Slurm's name of a task"
is "$("$foretell" history --state="$FT_STATE" "${array}_40" | awk 'NR > 1 { print $2 }')" "${array}_40" \
  "foretell history accepts Slurm's name of a task"
is "$("$foretell" history --state="$FT_STATE" "$array" | awk 'NR > 1' | wc -l)" 10 "foretell history lists all tasks of an array"
# ---- more tasks than are examined for the decision
submit sbatch --parsable --predict-mem=check --mem=150M --array=20-99 --predict-app=indexed index.sh
array=$id
wait_until 240 has_runs indexed 95
ok $? "an array of eighty tasks is learned"
is "$(store "select count(*) from observation where array_job_id = $array and decision_p50_bytes between 0.75 * peak_bytes and 1.33 * peak_bytes")" \
  80 "each of the eighty has its own prediction"
submit_held --predict-mem --array=20,40 --predict-app=indexed index.sh
between "$(mib "$(requested_mem "$id")")" 40 80 "an array of small tasks has a small request"
like "$("$foretell" predict --json --state="$FT_STATE" --array=20-200:20 --app=indexed index.sh)" \
  '"largest": 200' "foretell predict names the same largest task"

# ---- the index names a file
cat >file.sh <<END
#!/bin/bash
#SBATCH --output=/dev/null
LC_ALL=C sort --parallel=1 --buffer-size=2G --output=/dev/null words-\${SLURM_ARRAY_TASK_ID}.txt
END
for n in 1 2 3 4 5; do
  base64 -w 30 </dev/urandom | head -c $((n * 6))000000 >words-$n.txt
done
base64 -w 30 </dev/urandom | head -c 45000000 >words-9.txt
submit sbatch --parsable --mem=900M --array=1-5 --predict-app=filed file.sh
first=$id
wait_until 60 has_runs filed 5
ok $? "five tasks that sort a file each are learned"
is "$(store "select group_concat(json_extract(features, '$.input_bytes'), ' ') from (select features from observation where array_job_id = $first order by array_task_id)")" \
  "6000000 12000000 18000000 24000000 30000000" "each task has its own file's size"
submit sbatch --parsable --predict-mem --array=1,2,9 --predict-app=filed file.sh
array=$id
diag "$err; asked $(requested_mem "$id")"
like "$err" 'foretell: filed (may need|needs) up to .* \(task 9\)' "the task with the largest file determines the request"
wait_until 60 has_runs filed 8
is "$(store "select group_concat(distinct outcome) from observation where array_job_id = $array")" completed \
  "all tasks complete"

# ---- only the program sees the index
cat >hidden.sh <<END
#!/bin/bash
#SBATCH --output=/dev/null
exec $hog --mib \$((20 + 10 * SLURM_ARRAY_TASK_ID)) --seconds 0.4
END
submit sbatch --parsable --mem=500M --array=0-7 --predict-app=hidden hidden.sh
wait_until 60 has_runs hidden 8
submit sbatch --parsable --predict-mem --array=0-7 --predict-app=hidden hidden.sh
diag "$err; asked $(requested_mem "$id")"
like "$err" 'hidden needs up to .* \(task 7\)' "the effect of a hidden index is learned from the index itself"
play_end
