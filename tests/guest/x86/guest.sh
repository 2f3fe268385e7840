#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What must hold where there is only cgroup v2; runs inside the guest.
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

play_begin
like "$(cat "$scratch/etc/cgroup.conf")" cgroup/v2 "the guest has cgroup v2 alone"
submit sbatch --parsable --mem=80M --predict-app=little \
  --wrap "$hog --mib 30 --seconds 1; cat /proc/self/cgroup"
is "$(job_wait "$id")" COMPLETED "a job that fits completes"
like "$(cat slurm-"$id".out)" '^0::/system.slice/.*slurmstepd.*job_' "in a cgroup of its own"
wait_observed "$id"
charge=$(observed "$id" charge_bytes)
between "$((${charge:-0} >> 20))" 30 79 "its charge is seen"
between "$(($(observed "$id" 'coalesce(charge_less_cache_bytes, 0)') >> 20))" 29 79 "without cache, too"
between "$(($(observed "$id" 'coalesce(rss_bytes, 0)') >> 20))" 29 79 "and its RSS"
story
story_of_others
diag "took $SECONDS s in the guest"
play_end
