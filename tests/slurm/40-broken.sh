#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Whatever is broken: the job is submitted and runs, nothing is lost, at most one
# line is said, and nobody waits.
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

# suffers NAME [COMMAND...]: a submission meets what was just broken. Its job is held, so
# that no run of it mends what is broken next; all are released at the end.
held=
check_submission() {
  local name=$1 begun=${EPOCHREALTIME/./} spent
  shift
  [ $# -gt 0 ] || set -- sbatch --predict-mem --wrap true
  submit "$@"
  spent=$(((${EPOCHREALTIME/./} - begun) / 1000))
  held="$held $id"
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
# standard input in the model file's place
put_model() {
  rm -rf "$file"
  cat >"$file"
}
restore() {
  rm -rf "$file"
  cp "$scratch/good.model" "$file"
}

check_submission "nothing broken"
size=$(stat -c %s "$file")
for n in 0 1 7 $((size / 2)) $((size - 1)); do
  head -c "$n" "$scratch/good.model" | put_model
  check_submission "model of $n of $size bytes"
done
head -c 4096 /dev/urandom | put_model
check_submission "model of noise"
{ head -c $((size / 2)) "$scratch/good.model"; head -c $((size - size / 2)) /dev/urandom; } | put_model
check_submission "model whose second half is noise"
rm -f "$file"; truncate -s 8G "$file"
check_submission "model of 8 GiB of nothing"
rm -f "$file"; mkdir "$file"
check_submission "a folder in the model's place"
rm -rf "$file"; ln -s "$file" "$file"
check_submission "a symbolic link to itself"
rm -f "$file"; mkfifo "$file"
check_submission "a FIFO, as a hung mount would be"
rm -f "$file"; ln -s /dev/zero "$file"
check_submission "a device"
# a header from the future: 4 bytes of magic, then the version
python3 - "$scratch/good.model" "$file" <<'END'
import os, sys
data = bytearray(open(sys.argv[1], "rb").read())
data[4:8] = (0x7fffffff).to_bytes(4, "little")
os.unlink(sys.argv[2])
open(sys.argv[2], "wb").write(data)
END
check_submission "a model from a newer version"
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

# ---- while it is being read
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
is "$n $status" "40 0" "a model that changes while it is read: submitted, at most one line each"
restore

# ---- another user, unreadable
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
  check_submission "${broken#"$FT_STATE"/} cut off"
  rm -f "$broken"; mkfifo "$broken"
  check_submission "${broken#"$FT_STATE"/} a FIFO"
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
  with_input "a helper that does: $kind"
done
wait_until 3 sh -c "! pgrep -f '^/bin/bash $scratch/helper'"
ok $? "none of them is left behind"
FT_PLUGIN_ARGS="state=$FT_STATE socket=$FT_AGENT_SOCKET helper=/nowhere" cluster_write_plugstack
with_input "no helper"
cluster_write_plugstack
with_input "the true helper"
rm -f input; mkfifo input
with_input "a FIFO among the job's inputs"
rm -f input

# ---- no state folder at all
mv "$FT_STATE" "$FT_STATE.aside"
check_submission "no state folder"
mv "$FT_STATE.aside" "$FT_STATE"

# ---- a file system that hangs, with processes that cannot be killed in it
mkdir "$scratch/mnt"
"$FT_TOP_SRCDIR/tests/slurm/hang-mount" "$scratch/mnt" >"$scratch/mounted" 2>&1 &
hanging=$!
wait_until 5 grep -q . "$scratch/mounted"
if grep -q mounted "$scratch/mounted"; then
  # the shell's $() ends only with the last who has its pipe
  substituted() {
    local job
    job=$("$@") || return 1
    echo "$job"
  }
  HOME=$scratch/mnt check_submission "a home that hangs" substituted sbatch --predict-mem --wrap true
  FT_PLUGIN_ARGS="state=$scratch/mnt/state socket=$FT_AGENT_SOCKET helper=$play_helper" \
    cluster_write_plugstack
  check_submission "a state folder that hangs" substituted sbatch --predict-mem --wrap true
  like "$err" "foretell: no prediction: $scratch/mnt/state: no answer within" "and is named"
  check_submission "a state folder that hangs, nothing asked" substituted sbatch --wrap true
  is "$(message_lines)" 0 "is nothing to tell then"
  seq 1000 >input
  check_submission "a state folder that hangs, files to look at" substituted sbatch --predict-mem script.sh input
  HOME=$scratch/mnt check_submission "both" substituted sbatch --predict-mem script.sh input
  check_submission "a state folder that hangs, a job of three components" \
    substituted sbatch --predict-mem : --predict-mem : --predict-mem --wrap true
  scancel "$id" # its components want a node each
  held=${held% *}
  cluster_write_plugstack
  check_submission "an input that hangs" substituted sbatch --predict-mem --wrap "true $scratch/mnt/input"
  rm -f input
else
  skip "a file system that hangs" "$(cat "$scratch/mounted")"
fi
kill "$hanging" 2>/dev/null
wait_child 60 "$hanging"
umount "$scratch/mnt" 2>/dev/null

# ---- a disk of this machine that a process serves, which is gone
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
  check_submission "a state folder on a disk that is served" substituted sbatch --predict-mem --wrap true
  like "$err" "foretell: no prediction: $scratch/mnt: no answer within" "and hangs is named"
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

# ---- they run
scontrol release $(tr ' ' ',' <<<"${held# }")
bad=
for id in $held; do
  [ "$(job_wait "$id")" = COMPLETED ] || bad="$bad $id"
done
is "$bad" "" "all of these jobs run and complete"

# ---- what is broken when a run ends is whole again after it
unset -f sbatch
check_recovery() {
  local name=$1 before
  before=$(runs_of steady)
  submit sbatch --parsable --output=/dev/null --mem=500M --predict-app=steady --wrap "exec $hog --mib 100 --seconds 0.3"
  is "$(job_wait "$id")" COMPLETED "$name when a run ends: it completes"
  wait_until 15 has_runs steady $((before + 1)) && wait_until 5 predicted
  ok $? "it is learned, and the model whole again"
}
predicted() {
  sbatch --test-only --predict-mem=check --predict-app=steady --wrap true 2>&1 | grep -q 'steady needs'
}
head -c 100 "$scratch/good.model" | put_model
check_recovery "a model cut off"
rm -f "$file"; mkfifo "$file"
check_recovery "a FIFO in the model's place"
rm -f "$file"
check_recovery "no model"
play_end
