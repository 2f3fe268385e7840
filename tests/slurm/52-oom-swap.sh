#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The kernel enforces the limit and jobs may not swap: ConstrainSwapSpace and ConstrainRAMSpace.
FT_ENFORCE=cgroup
. "$(dirname "$0")/oom.sh"
[ -e /sys/fs/cgroup/memory/memory.memsw.limit_in_bytes ] && [ -w /sys/fs/cgroup ] || {
  echo "1..0 # SKIP no memory controller of cgroup v1 that limits swap is mounted"
  exit 0
}
FT_CGROUP_CONF='ConstrainSwapSpace=yes
AllowedSwapSpace=0'
play_begin
story_of_limits
play_end
