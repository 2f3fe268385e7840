#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Nodes with two threads a core: foretell's default memory is the one that Slurm allocates. Measured with
# Slurm 22.05 on a node of 2 sockets of 8 cores of 2 threads, DefMemPerCPU=10: the CPUs of a job, and
# its memory in MiB, which is also memory.limit_in_bytes of its cgroup (except for MinRAMSpace, 30 MiB):
#
#   SelectTypeParameters=CR_...     CPU_Memory  Core_Memory  and ONE_TASK_PER_CORE  Socket_Memory
#   (nothing)                        1     10     2     20      2     20             16    160
#   --cpus-per-task=3                3     30     4     40      4     40             16    160
#   --ntasks=3                       3     30     4     40      6     60             32    320
#   --ntasks=2 --cpus-per-task=3     6     60     6     60      8     80             16    160
#   --threads-per-core=1             1     10     2     10      2     10             16     80
#   the same, --cpus-per-task=3      3     30     6     30      6     30             16     80
#   --hint=nomultithread             1     10     2     10      2     10             16     80
#   --mem-per-cpu=20 (3 CPUs)        3     60     4     80      4     80             16    320
#   --exclusive                     32    320    32    320     32    320             32    320
#   --exclusive --hint=nomultithread 32   160    32    160     32    160             32    160
#
# --hint=compute_bound and memory_bound act as nomultithread. For tasks on several sockets Slurm may take
# more sockets than their CPUs need (--ntasks=3): foretell assumes the fewest. A node that is configured
# with as many CPUs as it has cores allocates 10 and 30 under all of these.
. "$(dirname "$0")/play.sh"
FT_ENFORCE=rss
FT_NODES='one 32 8000 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2
cores 16 8000 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2'
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES DefMemPerCPU=5 MaxTime=60
PartitionName=sockets Nodes=@one@ DefMemPerCPU=5 MaxTime=60 SelectTypeParameters=CR_Socket_Memory
PartitionName=cores Nodes=@cores@ DefMemPerCPU=5 MaxTime=60'
FT_SLURM_CONF='SelectTypeParameters=CR_Core_Memory'
FT_FORETELL_CONF='min_runs = 3
floor = "16M"
round = "1M"'
play_begin

learn steady 200 201 199
ok $? "three runs of 200 MiB are learned"

# check_default_memory MIB OPTION...: Slurm allocates MIB to a job with these options, and foretell computes the same
check_default_memory() {
  local expected=$1 tres told
  shift
  submit_held --predict-app=steady --predict-mem=check "$@" --wrap true
  told=$err
  submit sbatch --parsable --output=/dev/null --predict-mem=off "$@" --wrap true
  job_wait "$id" >/dev/null
  tres=$(job_field "$id" AllocTRES)
  [ -n "$tres" ] || tres=$(job_field "$id" TRES)
  is "$(sed -nE 's/.*mem=([0-9]+)M.*/\1/p' <<<"$tres")" "$expected" "$unit: Slurm allocates $expected MiB for: $*"
  is "$(sed -nE 's/.*the default of partition [a-z]+, ([0-9]+)(\.[0-9]+)? MiB.*/\1/p' <<<"$told")" "$expected" \
    "foretell computes the same" || diag "$told"
}

unit=cores
check_default_memory 10
check_default_memory 20 --cpus-per-task=3
check_default_memory 20 --ntasks=3
check_default_memory 30 --ntasks=2 --cpus-per-task=3
check_default_memory 5 --threads-per-core=1
check_default_memory 15 --threads-per-core=1 --cpus-per-task=3
check_default_memory 5 --hint=nomultithread
check_default_memory 15 --hint=compute_bound --cpus-per-task=3
check_default_memory 20 --hint=multithread --cpus-per-task=3
check_default_memory 160 --exclusive
check_default_memory 80 --exclusive --hint=nomultithread
check_default_memory 5 -p cores
check_default_memory 15 -p cores --cpus-per-task=3
unit=sockets
check_default_memory 80 -p sockets
check_default_memory 40 -p sockets --threads-per-core=1

# a set request is in --mem-per-cpu of the CPUs that Slurm counts
submit_held --predict-app=steady --predict-mem=raise --mem-per-cpu=20 --cpus-per-task=3 --wrap true
between "$(mib "$(requested_mem "$id")")" 50 60 "--mem-per-cpu is raised for four CPUs, not three"

# SelectTypeParameters is read only at slurmctld's start
cluster_kill slurmctld
sed -i 's/^SelectTypeParameters=CR_Core_Memory/SelectTypeParameters=CR_CPU_Memory/; s/ SelectTypeParameters=CR_Socket_Memory//' \
  "$SLURM_CONF"
cluster_start_slurmctld
wait_until 30 cluster_idle
cluster_stop_agent
rm "$FT_STATE/partitions/"*
cluster_start_agent
unit=CPUs
check_default_memory 5
check_default_memory 15 --cpus-per-task=3
check_default_memory 5 --threads-per-core=1
check_default_memory 160 --exclusive
check_default_memory 80 --exclusive --hint=nomultithread
play_end
