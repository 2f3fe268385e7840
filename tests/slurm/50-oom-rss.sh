#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Slurm itself enforces the limit: JobAcctGatherParams=OverMemoryKill.
FT_ENFORCE=rss
. "$(dirname "$0")/oom.sh"
play_begin
story
play_end
