#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every story of stories.sh, in every mode, by two users. Only with FT_LONG=1 (contrib/check.sh --long).
. "$(dirname "$0")/stories.sh"
[ -n "${FT_LONG-}" ] || { echo "1..0 # SKIP many minutes: with FT_LONG=1, as contrib/check.sh --long has it"; exit 0; }
stories_begin
for user in root nobody; do
  for mode in set raise trim site-set site-raise; do
    story_need $user $mode
  done
  story_raise $user
  story_edit $user
  story_unlike $user
  for mode in set trim site-set; do
    story_leak $user $mode
  done
  story_array $user 10
  story_failing $user
  story_cancelled $user
  story_requeued $user
  story_step $user
done
story_sessions
story_wrong_options
story_two_users
play_end
