#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests for a node with cgroup v2 only; runs inside the guest.
. ./settings
FT_ENFORCE=cgroup
FT_ADDRESS=10.9.9.9
FT_NODES='one 4 1000'
FT_SLURMD_PREFIX=/test/in-slice
cat >in-slice <<'END'
#!/bin/bash
echo $$ >/sys/fs/cgroup/system.slice/slurmd.service/cgroup.procs
exec "$@"
END
chmod +x in-slice
. ./tests/slurm/oom.sh

# Longer time limits, because an emulated machine is slow.
job_wait() {
  wait_until 240 job_ended "$1"
  job_field "$1" JobState
}
wait_observed() {
  wait_until 120 test_observed "$1"
}

# steps LAYOUT: a job's steps and children count together, in this layout of Slurm's cgroups
steps() {
  submit sbatch --parsable --mem=200M --predict-app=srun --wrap "srun $hog --mib 60 --until one-$1"
  until_measured 60 "one-$1"
  is "$(job_wait "$id")" COMPLETED "$1: a job with a step completes"
  wait_observed "$id"
  between "$(charged "$id")" 60 110 "$1: the step's memory is charged"
  submit sbatch --parsable --mem=300M --predict-app=two --ntasks=2 \
    --wrap "for i in 1 2; do srun --overlap -n 1 $hog --mib 60 --until two-$1 & done; wait"
  until_measured 120 "two-$1"
  is "$(job_wait "$id")" COMPLETED "$1: a job with two steps completes"
  wait_observed "$id"
  between "$(charged "$id")" 120 180 "$1: the memory of both steps is charged"
  submit sbatch --parsable --mem=70M --predict-app=child --wrap "$hog --mib 100 --seconds 4; sleep 1; true"
  job_wait "$id" >/dev/null
  wait_observed "$id"
  test_out_of_memory "$id"
  ok $? "$1: a child runs out of memory, and its script continues"
  is "$(observed "$id" killed_at_bytes)" $((70 << 20)) "$1: it was killed at the job's limit"
}

# charged ID: prints a job's charge without cache, in MiB
charged() {
  echo $(($(observed "$1" 'coalesce(charge_less_cache_bytes, 0)') >> 20))
}

# job_folder ID: prints the name of the job's cgroup, from the job's own output
job_folder() {
  sed -nE 's,^0::.*/([^/]+)/step_batch/.*,\1,p' slurm-"$1".out
}

# A container as podman makes it, a cgroup below the task's with a limit of its own: which one killed is told apart.
container() {
  cat >contain.sh <<'END'
#!/bin/bash
cd /sys/fs/cgroup"$(sed -n 's/^0:://p' /proc/self/cgroup)" && mkdir own box && echo $$ >own/cgroup.procs &&
  echo +memory >cgroup.subtree_control && echo 60M >box/memory.max || exit 9
bash -c 'echo $$ >box/cgroup.procs && exec "$@"' box "$@"
END
  submit sbatch --parsable --output=contain.out --mem=300M --predict-app=box contain.sh "$hog" --mib 100 --seconds 2
  job_wait "$id" >/dev/null
  diag "$(cat contain.out)"
  wait_observed "$id"
  wait_until 10 test_out_of_memory "$id"
  ok $? "a container's process runs out of memory"
  between "$(($(observed "$id" 'coalesce(killed_at_bytes, 0)') >> 20))" 50 62 "it was killed at the container's limit"
  like "$("$foretell" job --state="$FT_STATE" "$id")" 'killed at [56][0-9.]+ MiB by the limit of a step or a container' \
    "foretell job tells it apart"
  submit_held --predict-mem=raise --mem=300M --predict-app=box contain.sh "$hog" --mib 100 --seconds 2
  is "$(requested_mem "$id")" 300M "a container's limit raises no request that is larger"
  like "$err" "in 1 run a step or a container was killed at its own memory limit" "and the message names it"
}

# gather LAYOUT: prints the files that the samplers read of a job with a step, for run.sh to store
gather() {
  [ -n "${FT_GATHER-}" ] || return 0
  submit sbatch --parsable --output=/dev/null --mem=300M --wrap "exec srun --overlap $hog --mib 60 --seconds 600"
  wait_until 30 has_measured "$id" 60
  echo "==> $1"
  sh /test/gather-proc $(pgrep slurmstepd) $(pgrep -f "$hog --mib 60") 2>/dev/null | gzip -9 | base64
  echo "<=="
  scancel "$id"
  job_wait "$id" >/dev/null
}

play_begin
release=$(scontrol --version | sed -nE 's/.* ([0-9]+\.[0-9]+)\..*/\1/p')
like "$(cat "$scratch/etc/cgroup.conf")" cgroup/v2 "the guest has cgroup v2 only"
submit sbatch --parsable --mem=80M --predict-app=little \
  --wrap "$hog --mib 30 --until little; cat /proc/self/cgroup"
until_measured 29 little
is "$(job_wait "$id")" COMPLETED "a job below its limit completes"
like "$(cat slurm-"$id".out)" '^0::/system.slice/.*slurmstepd.*/step_batch/' "the job has a cgroup of its own"
if [[ $release < 26.05 ]]; then
  is "$(job_folder "$id")" "job_$id" "the cgroup has the job's number"
else
  like "$(job_folder "$id")" '^s[0-9A-Z]{13}$' "the cgroup has Slurm's identifier"
fi
layout=$(job_folder "$id")
diag "Slurm $release: $layout"
wait_observed "$id"
charge=$(observed "$id" charge_bytes)
between "$((${charge:-0} >> 20))" 30 79 "its charge is measured"
between "$(($(observed "$id" 'coalesce(charge_less_cache_bytes, 0)') >> 20))" 29 79 "its charge without cache is measured"
between "$(($(observed "$id" 'coalesce(rss_bytes, 0)') >> 20))" 29 79 "its RSS is measured"
steps "${layout%%[0-9_]*}"
gather "$release"
story
story_of_limits
container

# cgroups named by job number, which 26.05.2 has as an option
if ! [[ $release < 26.05 ]]; then
  cluster_stop
  FT_CGROUP_CONF=CgroupJobIdPaths=yes
  cluster_start
  ok $? "the cluster starts with CgroupJobIdPaths=yes"
  submit sbatch --parsable --mem=80M --predict-app=named --wrap "cat /proc/self/cgroup"
  job_wait "$id" >/dev/null
  is "$(job_folder "$id")" "job_$id" "the cgroup has the job's number"
  steps job
  gather "$release-job"
fi
diag "took $SECONDS s in the guest"
play_end
