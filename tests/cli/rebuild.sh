#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell rebuild: models are rebuilt from the store, by a learner or without one; by whom, and which.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
need setpriv
[ "$(id -u)" = 0 ] || tap_skip_all "it takes root to be one user and another"
setpriv --reuid=1001 --clear-groups true 2>/dev/null || tap_skip_all "setpriv cannot change the user"

apps=510 # more than the learner marks at once
rebuild() {
  "$foretell" rebuild --state="$state" "$@" 2>&1
}
models() {
  find "$state/models/$1" -name '*.model' 2>/dev/null | wc -l
}
# inode APP UID: that of the model file, which changes when it is replaced
inode() {
  stat -c %i "$(model "$1" "$2")"
}

config
mkdir -p "$state"
{
  echo "app,job_id,peak_mib,runtime,end,uid,job_name"
  for ((i = 1; i <= apps; i++)); do
    echo "many$i,$i,300,60,$(($(date +%s) - 6000)),1001,many$i"
  done
  for ((i = 1; i <= 8; i++)); do
    echo "other,$((1000 + i)),300,60,$(($(date +%s) - 6000 + i)),1002,other"
  done
} >"$scratch/runs.csv"

# ---- without a learner

is "$(rebuild)" "rebuilt 0 models" "without runs nothing is rebuilt"
rebuild >/dev/null
is $? 1 "and the exit status is 1"
"$foretell" import --state="$state" "$scratch/runs.csv" >/dev/null
is "$(models 1001) $(models 1002)" "0 0" "an import leaves models to a learner"
is "$(rebuild)" "rebuilt $((apps + 1)) models" "without a learner the command rebuilds all models"
is "$(models 1001) $(models 1002)" "$apps 1" "they are there"
before=$(inode many1 1001)
is "$(rebuild --user=1002)" "rebuilt 1 model" "a user's models can be rebuilt alone"
is "$(inode many1 1001)" "$before" "those of others are left alone"
rm -r "$state/models/1001"
is "$(rebuild --app=many7 --json | tr -d ' \n')" '{"models":1,"failed":0}' "so can those of an app, with an answer in JSON"
is "$(models 1001)" 1 "only that model is there"
is "$(rebuild --app=nothing)" "rebuilt 0 models" "an unknown app has none"
like "$(rebuild --user=nobody-has-this-name)" 'nobody-has-this-name' "an unknown user is an error"
like "$(setpriv --reuid=1001 --clear-groups "$foretell" rebuild --state="$state" 2>&1)" \
  'foretell-learnd does not run' "without a learner other users cannot rebuild"

# ---- with a learner

start_learner
wait_until 60 log_has 'memory accounting rule is rss: all models are rebuilt'
ok $? "a learner that starts later reads Slurm's memory rule"
is "$(rebuild)" "rebuilt $((apps + 1)) models" "the learner rebuilds all models"
is "$(models 1001)" "$apps" "they are there"
before=$(inode many1 1001)
other=$(inode other 1002)
is "$(rebuild --app=other --user=1002)" "rebuilt 1 model" "it rebuilds one model"
[ "$(inode other 1002)" != "$other" ]
ok $? "that model is replaced"
is "$(inode many1 1001)" "$before" "the others are left alone"
is "$(rebuild --json --app=nothing | tr -d ' \n')" '{"models":0,"failed":0}' "an unknown app has none"
like "$(setpriv --reuid=1001 --clear-groups "$foretell" rebuild --state="$state" 2>&1)" \
  'only root, SlurmUser and' "other users cannot rebuild"
file=$(model other 1002)
rm "$file"
mkdir "$file"
out=$(rebuild --user=1002)
is $? 3 "a model that cannot be written is an error"
like "$out" '1 could not be rebuilt' "which says how many"
rmdir "$file"
is "$(rebuild --user=1002)" "rebuilt 1 model" "when it can be written again it is rebuilt"
stop_learner
is $? 0 "the learner stops"
tap_done
