#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The kernel enforces the limit: task/cgroup with ConstrainRAMSpace.
FT_ENFORCE=cgroup
. "$(dirname "$0")/oom.sh"
cluster_cgroup_version >/dev/null && [ -w /sys/fs/cgroup ] || {
  echo "1..0 # SKIP no memory controller of cgroups is mounted; tests/guest has one"
  exit 0
}
play_begin
story
story_of_limits
play_end
