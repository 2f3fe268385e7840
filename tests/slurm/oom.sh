# SPDX-License-Identifier: GPL-3.0-or-later
# Jobs that are really killed for their memory, under FT_ENFORCE: seen as censored,
# and the next --predict-mem submission survives. Sourced by 50- and 51-.
. "${BASH_SOURCE[0]%/*}/play.sh"
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES DefMemPerCPU=10 MaxTime=60'
FT_FORETELL_CONF='min_runs = 3
floor = "16M"
round = "1M"'

story() {
  local size job jobs= killed

  # memory grows with a feature; the largest so far was killed
  learn grows 40 60 80 100
  ok $? "$FT_ENFORCE: four runs are learned"
  submit sbatch --parsable --output=/dev/null --mem=110M --predict-app=grows --wrap "$hog --mib 180 --seconds 4"
  killed=$id
  like "$(job_wait "$id")" '^(OUT_OF_MEMORY|FAILED|CANCELLED)$' "$FT_ENFORCE: a job over its memory is killed"
  wait_observed "$id"
  is "$(observed "$id" censored)" 1 "$FT_ENFORCE: it is seen as censored"
  diag "Slurm: $(job_field "$id" JobState); outcome $(observed "$id" outcome), limit $(observed "$id" limit_bytes)," \
    "rss $(observed "$id" rss_bytes), charge $(observed "$id" charge_bytes)," \
    "less cache $(observed "$id" charge_less_cache_bytes), rule $(observed "$id" rule)"
  wait_until 10 test_out_of_memory "$id"
  ok $? "$FT_ENFORCE: and as out of memory"
  submit sbatch --parsable --output=/dev/null --predict-mem --predict-app=grows --wrap "exec $hog --mib 180 --seconds 1"
  diag "$err; asked $(requested_mem "$id")"
  is "$(job_wait "$id")" COMPLETED "$FT_ENFORCE: the next --predict-mem submission survives"

  # killed as soon as it began, when hardly a sample was taken: the limit is what it needed more than
  submit sbatch --parsable --output=/dev/null --mem=70M --predict-app=sudden --wrap "exec $hog --mib 90 --seconds 4"
  like "$(job_wait "$id")" '^(OUT_OF_MEMORY|FAILED|CANCELLED)$' "$FT_ENFORCE: a job that is killed at once"
  wait_observed "$id"
  wait_until 10 test_out_of_memory "$id"
  wait_until 10 model_file sudden
  diag "less cache $(observed "$id" charge_less_cache_bytes), rss $(observed "$id" rss_bytes), killed at $(observed "$id" killed_at_bytes)"
  submit sbatch --parsable --output=/dev/null --predict-mem=raise --mem=70M --predict-app=sudden --wrap "exec $hog --mib 90 --seconds 2"
  diag "$err; asked $(requested_mem "$id")"
  is "$(job_wait "$id")" COMPLETED "$FT_ENFORCE: survives the first time it is predicted"

  # the same job over and over, only ever killed
  submit sbatch --parsable --output=/dev/null --mem=60M --predict-app=dies --wrap "exec $hog --mib 90 --seconds 4"
  like "$(job_wait "$id")" '^(OUT_OF_MEMORY|FAILED|CANCELLED)$' "$FT_ENFORCE: an app whose only run was killed"
  wait_observed "$id"
  wait_until 10 model_file dies
  for size in 1 2 3 4; do
    submit sbatch --parsable --output=/dev/null --predict-mem=raise --mem=60M --predict-app=dies --wrap "exec $hog --mib 90 --seconds 2"
    diag "attempt $size: $err; asked $(requested_mem "$id")"
    [ "$(job_wait "$id")" != COMPLETED ] || break
    wait_observed "$id"
    wait_until 3 false
  done
  is "$(job_field "$id" JobState)" COMPLETED "$FT_ENFORCE: survives within four attempts"

  # cancelled is not out of memory
  submit sbatch --parsable --output=/dev/null --mem=500M --predict-app=cancelled --wrap "exec $hog --mib 50 --seconds 60"
  wait_until 60 pgrep -f "$hog --mib 50 --seconds 60"
  wait_until 1 false
  scancel "$id"
  wait_observed "$id"
  is "$(observed "$id" censored)" 1 "$FT_ENFORCE: a cancelled job is censored"
  wait_until 10 test_cancelled "$id"
  ok $? "$FT_ENFORCE: and told from one that was killed for its memory"
  submit sbatch --parsable --output=/dev/null --mem=500M --predict-app=fails --wrap "$hog --mib 50 --seconds 0.5; exit 3"
  is "$(job_wait "$id")" FAILED "$FT_ENFORCE: a job fails"
  wait_observed "$id"
  is "$(observed "$id" censored)" 1 "$FT_ENFORCE: and is censored"
}

# Whose limit it was that killed; where the kernel enforces limits.
story_of_limits() {
  local above limit=memory.max none=max

  submit sbatch --parsable --output=/dev/null --mem=70M --predict-app=own --wrap "exec $hog --mib 90 --seconds 4"
  job_wait "$id" >/dev/null
  wait_observed "$id"
  is "$(observed "$id" killed_at_bytes)" $((70 << 20)) "$FT_ENFORCE: a job is killed at its own limit"
  submit sbatch --parsable --output=/dev/null --mem=300M --predict-app=own-step \
    --wrap "srun --mem=70M $hog --mib 90 --seconds 4"
  job_wait "$id" >/dev/null
  wait_observed "$id"
  is "$(observed "$id" killed_at_bytes)" $((70 << 20)) "$FT_ENFORCE: another one at its step's"

  # memory runs out above the job, as it does on a node that is overcommitted
  submit sbatch --parsable --output=/dev/null --mem=600M --predict-app=above \
    --wrap "cat /proc/self/cgroup >cgroup; until [ -e go ]; do sleep 0.1; done; exec $hog --mib 300 --seconds 4"
  wait_until 60 find_cgroup_above
  above=$(find_cgroup_above)
  [ -e "$above/$limit" ] || { limit=memory.limit_in_bytes none=-1; }
  echo 150M >"$above/$limit"
  touch go
  like "$(job_wait "$id")" '^(OUT_OF_MEMORY|FAILED|CANCELLED)$' "$FT_ENFORCE: a job is killed for want of memory above it"
  echo $none >"$above/$limit"
  wait_observed "$id"
  wait_until 10 test_out_of_memory "$id"
  ok $? "$FT_ENFORCE: it is seen as out of memory"
  is "$(observed "$id" killed_at_bytes)" 0 "$FT_ENFORCE: but not at a limit of its own"
  diag "limit $(observed "$id" limit_bytes), rss $(observed "$id" rss_bytes), charge $(observed "$id" charge_bytes)"

  submit sbatch --parsable --output=/dev/null --mem=300M --predict-app=by-hand --wrap "exec $hog --mib 275 --seconds 60"
  wait_until 60 pgrep -f "$hog --mib 275 --seconds 60"
  wait_until 1 false
  kill -KILL $(pgrep -f "$hog --mib 275 --seconds 60")
  job_wait "$id" >/dev/null
  wait_observed "$id"
  wait_until 10 model_file by-hand
  ok $? "$FT_ENFORCE: a job is killed by hand near its limit"
  is "$(observed "$id" killed_at_bytes)" "" "$FT_ENFORCE: not at a limit"
  ! test_out_of_memory "$id"
  ok $? "$FT_ENFORCE: nor for its memory"
  submit_held --predict-mem=raise --mem=300M --predict-app=by-hand --wrap "exec $hog --mib 275 --seconds 60"
  is "$(requested_mem "$id")" 300M "$FT_ENFORCE: it keeps what it asks for"

  # models are made in the order of runs: the one before the last is by now
  submit_held --predict-mem=raise --mem=100M --predict-app=above --wrap "exec $hog --mib 80"
  is "$(requested_mem "$id")" 100M "$FT_ENFORCE: what was killed for want of memory above it raises nothing"
  unlike "$err" 'needs|was killed' "$FT_ENFORCE: for it has taught nothing"
  diag "$err"
}

# the cgroup above the job's, by what a job has written; v1 has one for each user, which comes and goes
find_cgroup_above() {
  local root=/sys/fs/cgroup path
  path=$(sed -nE 's,^([0-9]+:memory|0:):(.*)/[^/]+/step_.*,\2,p' cgroup 2>/dev/null)
  [ ! -d $root/memory ] || root=$root/memory
  [ -n "$path" ] && echo "$root${path%/uid_*}"
}

# outcomes by their numbers in foretell.proto
test_out_of_memory() {
  case $(observed "$1" outcome) in 3 | out_of_memory) ;; *) return 1 ;; esac
}
test_cancelled() {
  case $(observed "$1" outcome) in 4 | cancelled) ;; *) return 1 ;; esac
}
