#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Whatever is broken, the job is submitted without delay and runs, nothing is lost, and at most
# one line is printed.
. "$(dirname "$0")/play.sh"
need python3
FT_ENFORCE=none
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES DefMemPerCPU=10 MaxTime=60'
FT_FORETELL_CONF='min_runs = 3
floor = "16M"
round = "1M"
helper_timeout_ms = 500'
play_begin
learn steady 100 101 99 100
ok $? "four runs are learned"
file=$(model_file steady)
cp "$file" "$scratch/good.model"
cp -a "$FT_STATE/site" "$scratch/good.site"

# check_submission NAME [COMMAND...]: submits while something is broken. The job is held, so that
# its run does not repair what the next case breaks; all jobs are released at the end. One that takes long is submitted
# again, ten times at most: other load delays some submissions, a delay of foretell's each.
held=
check_submission() {
  local name=$1 begun spent try
  shift
  [ $# -gt 0 ] || set -- sbatch --predict-mem --wrap true
  for try in 1 2 3 4 5 6 7 8 9 10; do
    begun=${EPOCHREALTIME/./}
    submit "$@"
    spent=$(((${EPOCHREALTIME/./} - begun) / 1000))
    held="$held $id"
    [ "$status" = 0 ] && [ "$(message_lines)" -le 1 ] && [ $spent -ge 1500 ] || break
  done
  if [ "$status" = 0 ] && [ -n "$id" ] && [ "$(message_lines)" -le 1 ] && [ $spent -lt 1500 ]; then
    ok 0 "$name: submitted, $(message_lines) line"
  else
    ok 1 "$name: submitted, at most one line"
    diag "exit $status, job $id, $spent ms, $(message_lines) lines: $err"
  fi
}
sbatch() {
  command timeout 20 sbatch --parsable --hold --output=/dev/null --predict-app=steady "$@"
}
as_nobody() {
  cluster_as nobody timeout 20 sbatch --parsable --hold --output=/dev/null --predict-app=steady "$@"
}
# writes standard input to the model file
put_model() {
  rm -rf "$file"
  cat >"$file"
}
restore() {
  rm -rf "$file"
  cp "$scratch/good.model" "$file"
}

check_submission "nothing is broken"
size=$(stat -c %s "$file")
for n in 0 1 7 $((size / 2)) $((size - 1)); do
  head -c "$n" "$scratch/good.model" | put_model
  check_submission "model of $n of $size bytes"
done
head -c 4096 /dev/urandom | put_model
check_submission "model of random bytes"
{ head -c $((size / 2)) "$scratch/good.model"; head -c $((size - size / 2)) /dev/urandom; } | put_model
check_submission "model whose second half is random bytes"
rm -f "$file"; truncate -s 8G "$file"
check_submission "model of 8 GiB of zeros"
rm -f "$file"; mkdir "$file"
check_submission "a directory in place of the model"
rm -rf "$file"; ln -s "$file" "$file"
check_submission "a symbolic link to itself in place of the model"
rm -f "$file"; mkfifo "$file"
check_submission "a FIFO in place of the model, which blocks like a hung mount"
rm -f "$file"; ln -s /dev/zero "$file"
check_submission "a device in place of the model"
# The version follows 4 bytes of magic number.
python3 - "$scratch/good.model" "$file" <<'END'
import os, sys
data = bytearray(open(sys.argv[1], "rb").read())
data[4:8] = (0x7fffffff).to_bytes(4, "little")
os.unlink(sys.argv[2])
open(sys.argv[2], "wb").write(data)
END
check_submission "a model of a newer version"
restore
for n in $(seq 1 25); do
  python3 - "$scratch/good.model" "$file" "$n" <<'END'
import random, sys
random.seed(int(sys.argv[3]))
data = bytearray(open(sys.argv[1], "rb").read())
for _ in range(4):
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
open(sys.argv[2], "wb").write(data)
END
  submit sbatch --predict-mem=check --wrap true
  [ "$status" = 0 ] && [ "$(message_lines)" -le 1 ] || break
done
is "$n $status" "25 0" "25 models with flipped bits: submitted, at most one line each"

# ---- a model that changes while it is read
(
  while [ -e "$scratch/good.model" ] && [ ! -e "$scratch/enough" ]; do
    for n in 10 $((size / 2)) $size; do
      head -c "$n" "$scratch/good.model" >"$file"
    done
  done
) &
for n in $(seq 1 40); do
  submit sbatch --predict-mem=check --wrap true
  [ "$status" = 0 ] && [ "$(message_lines)" -le 1 ] || break
done
touch "$scratch/enough"
wait_child 60 $!
is "$n $status" "40 0" "40 submissions while the model changes: at most one line each"
restore

# ---- another user, and files without permission
submit cluster_as nobody cat "$file"
is "$([ "$status" != 0 ] && echo no)" no "another user cannot read the model"
check_submission "a user who may not read any model" \
  as_nobody --predict-mem --wrap true
uid=$(id -u nobody)
mkdir -p "$FT_STATE/models/$uid"
chmod 0755 "$FT_STATE/models/$uid"
for mode in 0000 0644; do
  install -m $mode "$scratch/good.model" "$FT_STATE/models/$uid/${file##*/}"
  check_submission "a user's own model of mode $mode" as_nobody --predict-mem --wrap true
done
# as on a file system without access control lists
chmod 0700 "$FT_STATE/models/$uid"
check_submission "a user's own model that only the learner may read" as_nobody --predict-mem --wrap true
like "$err" 'steady needs .*\(4 runs' "the learner passes it to the plugin"
kill -STOP "$(cluster_pid foretell-learnd)"
check_submission "the same while the learner hangs" as_nobody --predict-mem --wrap true
like "$err" 'only foretell-learnd may read it, and does not answer here' "the message has the reason"
kill -CONT "$(cluster_pid foretell-learnd)"
rm -rf "${FT_STATE:?}/models/$uid"
chmod 0 "$FT_STATE/site"
check_submission "a user who may not read the site file" \
  as_nobody --predict-mem --wrap true
chmod 0644 "$FT_STATE/site"

# ---- the site file and the partition's
for broken in "$FT_STATE/site" "$FT_STATE"/partitions/*; do
  mv "$broken" "$scratch/aside"
  check_submission "no ${broken#"$FT_STATE"/}"
  head -c 5 "$scratch/aside" >"$broken"
  check_submission "${broken#"$FT_STATE"/} truncated"
  rm -f "$broken"; mkfifo "$broken"
  check_submission "${broken#"$FT_STATE"/} is a FIFO"
  rm -f "$broken"; mv "$scratch/aside" "$broken"
done

# ---- the helper
seq 1000 >input
with_input() {
  check_submission "$1" sbatch --predict-mem script.sh input
}
printf '%s\n' '#!/bin/bash' 'test "$1" = input' >script.sh
for kind in 'exec sleep 300' 'trap "" TERM; while :; do sleep 1; done' 'kill -SEGV $$' 'exit 3' \
  'head -c 30000000 /dev/urandom' 'yes foretell: nonsense | head -n 100000 >&2' 'sleep 300 & exec sleep 300'; do
  printf '%s\n' '#!/bin/bash' "$kind" >"$scratch/helper"
  chmod 0755 "$scratch/helper"
  FT_PLUGIN_ARGS="state=$FT_STATE socket=$FT_AGENT_SOCKET helper=$scratch/helper" cluster_write_plugstack
  with_input "a helper that runs $kind"
done
wait_until 15 sh -c "! pgrep -f '^/bin/bash $scratch/helper'"
ok $? "no helper process is left behind"
FT_PLUGIN_ARGS="state=$FT_STATE socket=$FT_AGENT_SOCKET helper=/nowhere" cluster_write_plugstack
with_input "no helper"
cluster_write_plugstack
with_input "the real helper"
rm -f input; mkfifo input
with_input "a FIFO among the job's inputs"
rm -f input

# ---- no state directory
mv "$FT_STATE" "$FT_STATE.aside"
check_submission "no state directory"
mv "$FT_STATE.aside" "$FT_STATE"

# ---- a file system that hangs, with processes that cannot be killed in it
mkdir "$scratch/mnt"
"$FT_TOP_SRCDIR/tests/slurm/hang-mount" "$scratch/mnt" >"$scratch/mounted" 2>&1 &
hanging=$!
wait_until 5 grep -q . "$scratch/mounted"
if grep -q mounted "$scratch/mounted"; then
  # The shell's $() ends only when the last process with its pipe has ended.
  substituted() {
    local job
    job=$("$@") || return 1
    echo "$job"
  }
  HOME=$scratch/mnt check_submission "a home directory that hangs" substituted sbatch --predict-mem --wrap true
  FT_PLUGIN_ARGS="state=$scratch/mnt/state socket=$FT_AGENT_SOCKET helper=$play_helper" \
    cluster_write_plugstack
  check_submission "a state directory that hangs" substituted sbatch --predict-mem --wrap true
  like "$err" "foretell: no prediction: $scratch/mnt/state: no answer within" "the message names the state directory"
  check_submission "a state directory that hangs, without --predict-mem" substituted sbatch --wrap true
  is "$(message_lines)" 0 "without --predict-mem there is no message"
  seq 1000 >input
  check_submission "a state directory that hangs, and input files to read" substituted sbatch --predict-mem script.sh input
  HOME=$scratch/mnt check_submission "a home directory and a state directory that hang" substituted sbatch --predict-mem script.sh input
  before=$held
  check_submission "a state directory that hangs, a job of three components" \
    substituted sbatch -J components --predict-mem : -J components --predict-mem : -J components --predict-mem --wrap true
  scancel --name=components # each component needs a node of its own
  held=$before
  cluster_write_plugstack
  check_submission "an input that hangs" substituted sbatch --predict-mem --wrap "true $scratch/mnt/input"
  rm -f input
else
  skip "a file system that hangs" "$(cat "$scratch/mounted")"
fi
kill "$hanging" 2>/dev/null
wait_child 60 "$hanging"
umount "$scratch/mnt" 2>/dev/null

# ---- a local disk, served by a process that does not respond
truncate -s 1M "$scratch/disk"
disk=$(losetup --find --show "$scratch/disk" 2>"$scratch/mounted")
if [ -n "$disk" ]; then
  "$FT_TOP_SRCDIR/tests/slurm/hang-mount" "$scratch/mnt" "$disk" >"$scratch/mounted" 2>&1 &
  hanging=$!
  wait_until 5 grep -q . "$scratch/mounted"
  if [ -z "$(ls -A /sys/fs/fuse/connections 2>/dev/null)" ]; then
    echo "fusectl is missing" >"$scratch/mounted"
  fi
fi
if grep -qx mounted "$scratch/mounted"; then
  FT_PLUGIN_ARGS="state=$scratch/mnt socket=$FT_AGENT_SOCKET helper=$play_helper" \
    cluster_write_plugstack
  check_submission "a state directory on a disk that hangs" substituted sbatch --predict-mem --wrap true
  like "$err" "foretell: no prediction: $scratch/mnt: no answer within" "the message names the state directory on that disk"
  cluster_write_plugstack
else
  skip "a disk that is served" "$(cat "$scratch/mounted")"
fi
if [ -n "$disk" ]; then
  kill "$hanging" 2>/dev/null
  wait_child 60 "$hanging"
  umount "$scratch/mnt" 2>/dev/null
  losetup --detach "$disk"
fi

# ---- the jobs run
scontrol release $(tr ' ' ',' <<<"${held# }")
bad=
for id in $held; do
  [ "$(job_wait "$id")" = COMPLETED ] || bad="$bad $id"
done
is "$bad" "" "all of these jobs run and complete"

# ---- a run's end repairs the model file
unset -f sbatch
check_recovery() {
  local name=$1 before
  before=$(runs_of steady)
  submit sbatch --parsable --output=/dev/null --mem=500M --predict-app=steady --wrap "exec $hog --mib 100 --seconds 0.3"
  is "$(job_wait "$id")" COMPLETED "$name when a run ends: the job completes"
  wait_until 15 has_runs steady $((before + 1)) && wait_until 5 predicted
  ok $? "the run is learned, and the model is readable again"
}
predicted() {
  sbatch --test-only --predict-mem=check --predict-app=steady --wrap true 2>&1 | grep -q 'steady needs'
}
head -c 100 "$scratch/good.model" | put_model
check_recovery "a truncated model"
rm -f "$file"; mkfifo "$file"
check_recovery "a FIFO in place of the model"
rm -f "$file"
check_recovery "no model"
play_end
