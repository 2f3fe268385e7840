#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A user's first submissions are never worse than without foretell: the short stories.
. "$(dirname "$0")/stories.sh"
stories_begin
story_need root set
story_need nobody raise
story_need root site-set
story_leak nobody site-set
story_array root 1
story_failing nobody
story_cancelled root
story_two_users
play_end
