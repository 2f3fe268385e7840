#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The peak under each memory rule (foretelld(8)), compared with the memory that this kernel
# charges to a cgroup and enforces a limit on.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

# a new cgroup whose children are charged for memory
if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
  group=/sys/fs/cgroup/memory/foretell-test-$$ limit=memory.limit_in_bytes
else
  group=/sys/fs/cgroup/foretell-test-$$ limit=memory.max
fi
if [ "$(id -u)" != 0 ] || ! mkdir "$group" 2>/dev/null || ! [ -e "$group/$limit" ] ||
  { [ $limit = memory.max ] && ! echo +memory >"$group/cgroup.subtree_control"; }; then
  rmdir "$group" 2>/dev/null
  skip "each memory rule counts what the kernel charges" "no cgroup with a memory controller can be made"
  tap_done
  exit
fi

cat >"$scratch/hold" <<'END'
import ctypes, mmap, os, sys, time
what, folder, mib, hold = sys.argv[1], sys.argv[2], 64, float(sys.argv[3])
name = os.path.join("/dev/shm" if what == "tmpfs" else folder, "foretell-test-%d" % os.getpid())
if what == "anonymous":
    held = mmap.mmap(-1, mib << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
else:
    file = open(name, "wb+")
    os.unlink(name)
    file.truncate(mib << 20)
    if what in ("mapped", "locked"):
        held = mmap.mmap(file.fileno(), mib << 20)
if what in ("tmpfs", "cache"):
    for _ in range(mib):
        file.write(bytes(1 << 20))
    file.flush()
else:
    for at in range(0, mib << 20, 4096):
        held[at] = 1
if what == "locked" and ctypes.CDLL(None).mlock(
        ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(held))),
        ctypes.c_size_t(mib << 20)):
    sys.exit(1)
time.sleep(hold)
END

# stored COLUMN APP: the column of the app's last run, in MiB
stored() {
  "$foretell" export --state="$state" --app="$2" | python3 -c 'import csv, sys
row = list(csv.DictReader(sys.stdin))[-1]
print(round(float(row[sys.argv[1]] or -1) / 2**20))' "$1"
}

# about VALUE EXPECTED: VALUE is EXPECTED plus the memory of Python itself, in MiB
about() {
  diag "$1 MiB"
  [ "$1" -ge "$2" ] && [ "$1" -lt $(($2 + 40)) ]
}

# Seconds; Linux updates memory.stat at least every 2 s (FLUSH_TIME in mm/memcontrol.c), and the agent of a busy machine
# takes its next sample late.
hold=5
job=100
# measure KIND: keeps this kind of memory in a cgroup laid out as Slurm's; the agent samples it
measure() {
  local step stepd task
  job=$((job + 1))
  step=$group/s7JDM$job/step_0 stepd=$step task=$step/task_0
  mkdir -p "$step"
  if [ $limit = memory.max ]; then
    stepd=$step/slurm task=$step/user/task_0
    mkdir -p "$stepd" "$step/user"
    for level in "$step/.." "$step" "$step/user"; do
      echo +memory >"$level/cgroup.subtree_control"
    done
  fi
  mkdir "$task"
  sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$stepd" "$announce" "$socket" job=$job "app=$1" -- \
    sh -c "echo \$\$ >$task/cgroup.procs; exec python3 $scratch/hold $1 $scratch $hold"
  wait_until 20 model "$1"
  find "$group/s7JDM$job" -depth -type d -exec rmdir {} +
}

# kernel_kills KIND: the kernel kills a process with 64 MiB of this kind and a limit of 48 MiB
kernel_kills() {
  mkdir "$group/limited" && echo 48M >"$group/limited/$limit"
  for file in memory.swap.max memory.memsw.limit_in_bytes; do
    [ ! -e "$group/limited/$file" ] || echo 48M >"$group/limited/$file"
  done
  sh -c "echo \$\$ >$group/limited/cgroup.procs; exec python3 $scratch/hold $1 $scratch 0" 2>/dev/null
  [ $? = 137 ]
  local status=$?
  rmdir "$group/limited"
  return $status
}

cp "$fixtures/scontrol/cgroup-config" "$FT_SCONTROL/config"
config
start
wait_until 20 grep -q 22.05.8 "$state/site"
while read -r what charged mapped fatal; do
  measure "$what"
  about "$(stored charge_less_cache_bytes "$what")" "$charged"
  ok $? "rule cgroup: of 64 MiB of $what memory $charged MiB count"
  about "$(stored rss_bytes "$what")" "$mapped"
  ok $? "rule rss: of 64 MiB of $what memory $mapped MiB count"
  kernel_kills "$what" 2>/dev/null
  is $? $((!fatal)) "the kernel $([ "$fatal" = 1 ] && echo kills || echo 'does not kill') for it"
done <<'END'
anonymous 64 64 1
tmpfs 64 0 1
cache 0 0 0
mapped 0 64 0
locked 64 64 1
END
about "$(stored shmem_bytes tmpfs)" 64
ok $? "tmpfs is recorded as shared memory"
stop
rmdir "$group"
tap_done
