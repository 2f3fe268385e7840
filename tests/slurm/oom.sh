# SPDX-License-Identifier: GPL-3.0-or-later
# Jobs that are killed for their memory, under FT_ENFORCE: their observations are censored,
# and the next --predict-mem submission completes. Sourced by 50-oom-rss.sh to 53-lowered.sh.
. "${BASH_SOURCE[0]%/*}/play.sh"
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES DefMemPerCPU=10 MaxTime=60'
FT_FORETELL_CONF='min_runs = 3
floor = "16M"
round = "1M"'

story() {
  local size job jobs= killed

  # memory grows with a feature; the run with the largest value was killed
  learn grows 40 60 80 100
  ok $? "$FT_ENFORCE: four runs are learned"
  submit sbatch --parsable --output=/dev/null --mem=110M --predict-app=grows --wrap "$hog --mib 180 --seconds 4"
  killed=$id
  like "$(job_wait "$id")" '^(OUT_OF_MEMORY|FAILED|CANCELLED)$' "$FT_ENFORCE: a job over its memory is killed"
  wait_observed "$id"
  is "$(observed "$id" censored)" 1 "$FT_ENFORCE: its observation is censored"
  diag "Slurm: $(job_field "$id" JobState); outcome $(observed "$id" outcome), limit $(observed "$id" limit_bytes)," \
    "rss $(observed "$id" rss_bytes), charge $(observed "$id" charge_bytes)," \
    "less cache $(observed "$id" charge_less_cache_bytes), rule $(observed "$id" rule)"
  wait_until 10 test_out_of_memory "$id"
  ok $? "$FT_ENFORCE: its outcome is out of memory"
  submit sbatch --parsable --output=/dev/null --predict-mem --predict-app=grows --wrap "exec $hog --mib 180 --seconds 1"
  diag "$err; asked $(requested_mem "$id")"
  is "$(job_wait "$id")" COMPLETED "$FT_ENFORCE: the next --predict-mem submission completes"

  # killed at once, with hardly a sample: the limit is a lower bound of the required memory
  submit sbatch --parsable --output=/dev/null --mem=70M --predict-app=sudden --wrap "exec $hog --mib 90 --seconds 4"
  like "$(job_wait "$id")" '^(OUT_OF_MEMORY|FAILED|CANCELLED)$' "$FT_ENFORCE: a job is killed at once"
  wait_observed "$id"
  wait_until 10 test_out_of_memory "$id"
  wait_until 10 model_file sudden
  diag "less cache $(observed "$id" charge_less_cache_bytes), rss $(observed "$id" rss_bytes), killed at $(observed "$id" killed_at_bytes)"
  submit sbatch --parsable --output=/dev/null --predict-mem=raise --mem=70M --predict-app=sudden --wrap "exec $hog --mib 90 --seconds 2"
  diag "$err; asked $(requested_mem "$id")"
  is "$(job_wait "$id")" COMPLETED "$FT_ENFORCE: its app completes with the first predicted request"

  # the same job again and again, with killed runs only
  submit sbatch --parsable --output=/dev/null --mem=60M --predict-app=dies --wrap "exec $hog --mib 90 --seconds 4"
  like "$(job_wait "$id")" '^(OUT_OF_MEMORY|FAILED|CANCELLED)$' "$FT_ENFORCE: the only run of an app is killed"
  wait_observed "$id"
  wait_until 10 model_file dies
  for size in 1 2 3 4; do
    submit sbatch --parsable --output=/dev/null --predict-mem=raise --mem=60M --predict-app=dies --wrap "exec $hog --mib 90 --seconds 2"
    diag "attempt $size: $err; asked $(requested_mem "$id")"
    [ "$(job_wait "$id")" != COMPLETED ] || break
    wait_observed "$id"
  done
  is "$(job_field "$id" JobState)" COMPLETED "$FT_ENFORCE: the app completes within four attempts"

  # a cancelled job did not run out of memory
  submit sbatch --parsable --output=/dev/null --mem=500M --predict-app=cancelled --wrap "exec $hog --mib 50 --seconds 600"
  wait_until 60 has_measured "$id" 50
  scancel "$id"
  wait_observed "$id"
  is "$(observed "$id" censored)" 1 "$FT_ENFORCE: the observation of a cancelled job is censored"
  wait_until 10 test_cancelled "$id"
  ok $? "$FT_ENFORCE: its outcome is cancelled, not out of memory"
  submit sbatch --parsable --output=/dev/null --mem=500M --predict-app=fails --wrap "$hog --mib 50 --seconds 0.5; exit 3"
  is "$(job_wait "$id")" FAILED "$FT_ENFORCE: a job fails with exit status 3"
  wait_observed "$id"
  is "$(observed "$id" censored)" 1 "$FT_ENFORCE: the observation of a failed job is censored"
}

# Which limit killed a job; only where the kernel enforces limits.
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
  is "$(observed "$id" killed_at_bytes)" $((70 << 20)) "$FT_ENFORCE: a step is killed at its own limit"

  # memory runs out in a cgroup above the job's, as on an overcommitted node
  submit sbatch --parsable --output=/dev/null --mem=600M --predict-app=above \
    --wrap "cat /proc/self/cgroup >cgroup; until [ -e go ]; do sleep 0.1; done; exec $hog --mib 300 --seconds 4"
  wait_until 60 find_cgroup_above
  above=$(find_cgroup_above)
  [ -e "$above/$limit" ] || { limit=memory.limit_in_bytes none=-1; }
  echo 150M >"$above/$limit"
  touch go
  like "$(job_wait "$id")" '^(OUT_OF_MEMORY|FAILED|CANCELLED)$' "$FT_ENFORCE: a job is killed because memory above it runs out"
  echo $none >"$above/$limit"
  wait_observed "$id"
  wait_until 10 test_out_of_memory "$id"
  ok $? "$FT_ENFORCE: its outcome is out of memory"
  is "$(observed "$id" killed_at_bytes)" 0 "$FT_ENFORCE: it was not killed at its own limit"
  diag "limit $(observed "$id" limit_bytes), rss $(observed "$id" rss_bytes), charge $(observed "$id" charge_bytes)"

  submit sbatch --parsable --output=/dev/null --mem=300M --predict-app=by-hand --wrap "exec $hog --mib 275 --seconds 600"
  wait_until 60 has_measured "$id" 275
  kill -KILL $(pgrep -f "$hog --mib 275 --seconds 600")
  job_wait "$id" >/dev/null
  wait_observed "$id"
  wait_until 10 model_file by-hand
  ok $? "$FT_ENFORCE: a job killed by a user near its limit is learned"
  is "$(observed "$id" killed_at_bytes)" "" "$FT_ENFORCE: no limit is recorded as its killer"
  ! test_out_of_memory "$id"
  ok $? "$FT_ENFORCE: its outcome is not out of memory"
  submit_held --predict-mem=raise --mem=300M --predict-app=by-hand --wrap "exec $hog --mib 275 --seconds 60"
  is "$(requested_mem "$id")" 300M "$FT_ENFORCE: raise leaves its next request unchanged"

  # Models are updated in the order of runs, so the model of the run before is ready, too.
  submit_held --predict-mem=raise --mem=100M --predict-app=above --wrap "exec $hog --mib 80"
  is "$(requested_mem "$id")" 100M "$FT_ENFORCE: a kill above the job raises no request"
  unlike "$err" 'needs|was killed' "$FT_ENFORCE: and is not named as evidence"
  diag "$err"
}

# The cgroup above the job's, from the job's own output. v1 has one for each user, which comes and goes.
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
