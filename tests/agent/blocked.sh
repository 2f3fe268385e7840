#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# An obstacle in place of one app's model delays no other app, and nothing in the spool.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

config
start
"$announce" "$socket" job=1 app=hog -- true
wait_until 60 model hog
file=$(model hog)
rm "$file"
mkdir -p "$file/inside"
"$announce" "$socket" job=2 app=hog -- true
wait_until 60 log_has 'model of hog of user [0-9]+ not published: .*hog'
ok $? "the log reports a model that cannot be written"
"$announce" "$socket" job=3 app=other -- true
wait_until 60 model other
ok $? "other apps' models are published"
wait_until 60 spooled 0
ok $? "the store has all runs, and the spool none"
rm -r "$file"
reload
wait_until 60 test -f "$file"
ok $? "the model is published once the obstacle is gone"
is "$(stat -c %F "$file")" "regular file" "it is rebuilt from the store"
stop
tap_done
