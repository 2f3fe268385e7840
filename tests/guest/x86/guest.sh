#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What must hold where there is only cgroup v2; runs inside the guest.
. ./settings
. ./tap.sh
. ./cluster.sh

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

cluster_open
cluster_start
ok $? "Slurm starts with cgroup v2 alone" || { tap_done; exit 1; }
cd "$cluster_work" || exit 1
like "$(cat "$scratch/etc/cgroup.conf")" cgroup/v2 "the controller is v2's"

id=$(sbatch --parsable --mem=60M --wrap '/test/hog --mib 30 --seconds 1; cat /proc/self/cgroup')
is "$(job_wait "$id")" COMPLETED "a job that fits completes"
like "$(cat slurm-"$id".out)" '^0::/system.slice/.*slurmstepd' "in a cgroup of its own"
id=$(sbatch --parsable --mem=60M --wrap '/test/hog --mib 120 --seconds 1')
is "$(job_wait "$id")" OUT_OF_MEMORY "the kernel kills a job that does not"
diag "took $SECONDS s in the guest"
tap_done
