#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The memory of a running job is lowered, as --mem-update does automatically (Slurm 26.05 and later).
FT_ENFORCE=cgroup
. "$(dirname "$0")/oom.sh"
cluster_cgroup_version >/dev/null && [ -w /sys/fs/cgroup ] || {
  echo "1..0 # SKIP no memory controller of cgroups is mounted"
  exit 0
}
FT_SLURM_CONF=PrologFlags=Contain # slurmd lowers the limit through the extern step
release=$(slurmd -V | sed -E 's/.* ([0-9]+\.[0-9]+)\..*/\1/')
[[ $release < 26.05 ]] && {
  echo "1..0 # SKIP Slurm $release lowers no running job's memory"
  exit 0
}
play_begin
submit sbatch --parsable --output=/dev/null --mem=300M --predict-app=lowered --wrap "$hog --mib 60 --until lowered"
fits=$id
submit sbatch --parsable --output=/dev/null --mem=300M --predict-app=grown \
  --wrap "$hog --mib 60 --until lowered; $hog --mib 200 --seconds 4"
grows=$id
wait_until 20 has_measured "$fits" 60
wait_until 20 has_measured "$grows" 60
for id in "$fits" "$grows"; do
  wait_until 20 scontrol update jobid="$id" MinMemoryNode=100
  ok $? "job $id is lowered to 100 MiB"
done
touch lowered
is "$(job_wait "$fits")" COMPLETED "a job that needs less completes"
wait_observed "$fits"
is "$(observed "$fits" limit_bytes)" $((100 << 20)) "its recorded limit is the one at its end"
is "$(job_wait "$grows")" OUT_OF_MEMORY "a job that needs more is killed"
wait_observed "$grows"
wait_until 10 test_out_of_memory "$grows"
is "$(observed "$grows" killed_at_bytes)" $((100 << 20)) "it was killed at the lower limit"
play_end
