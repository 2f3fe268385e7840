#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Processes of containers belong to their job: those in namespaces of their own, those of a runtime that leaves the
# job's tree, and those of podman, whose conmon does so.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
need python3 unshare setsid
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
if ! unshare -Urpf --mount-proc true 2>/dev/null; then
  skip "processes of containers belong to their job" "this machine creates no user and pid namespaces"
  tap_done
  exit
fi

# inside FILE: a container's process. It takes 100 MiB and half a second of processor time and waits
# for FILE.go; then a child of its own takes 200 MiB for a moment.
cat >"$scratch/inside" <<'END_INSIDE'
import os, subprocess, sys, time
def wait_for(name):
    end = time.monotonic() + 300
    while not os.path.exists(name) and time.monotonic() < end:
        time.sleep(0.05)
held = bytearray(100 << 20)
while time.process_time() < 0.5:
    pass
open(sys.argv[1] + ".up", "w").close()
wait_for(sys.argv[1] + ".go")
subprocess.run([sys.executable, "-S", "-c", "b = bytes(1) * (200 << 20)"])
open(sys.argv[1] + ".done", "w").close()
wait_for(sys.argv[1] + ".end")
END_INSIDE

# away HOW COMMAND...: starts COMMAND with an empty environment and without a living parent: "twice",
# in the session of its parent (a daemon), or "once", in one of its own (conmon)
cat >"$scratch/away" <<'END_AWAY'
import os, sys
if os.fork():
    os.wait()
    sys.exit()
if sys.argv[1] == "twice":
    os.setsid()
if os.fork():
    os._exit(0)
if sys.argv[1] == "once":
    os.setsid()
os.execve(sys.argv[2], sys.argv[2:], {})
END_AWAY
python=$(command -v python3)

# memory JOB: the memory of a running job, in MiB
memory() {
  "$foretell" job --state="$state" --json "$1" 2>/dev/null | "$python" -c 'import json, sys
print(int(json.load(sys.stdin)["used"]["now_bytes"] or 0) >> 20)'
}
has_memory() {
  [ "$(memory "$1")" -ge "$2" ]
}
# stored COLUMN APP: the column of the app's last run
stored() {
  "$foretell" export --state="$state" --app="$2" | "$python" -c 'import csv, sys
print(list(csv.DictReader(sys.stdin))[-1][sys.argv[1]])' "$1"
}
at_least() {
  awk "BEGIN { exit !($1 >= $2) }"
}

job=0
# MiB that the container's process takes at least, with its runtime; its user
least=100 user=$(id -u)
"$FT_TOP_SRCDIR/tests/agent/taskstats-open"
exits=$? # 0: short-lived processes are measured
# cgroups of the step's slurmstepd and of its task, for "announce" and its child; empty: none
export stepd='' task=''
# container NAME WHAT COMMAND...: a job that runs COMMAND, which starts "inside NAME" as its last
# arguments say, and lives as long as that process
container() {
  local name=$1 what=$2
  shift 2
  job=$((job + 1))
  # shellcheck disable=SC2016
  sh -c '[ -z "$stepd" ] || echo $$ >"$stepd/cgroup.procs"; exec "$@"' - \
    "$announce" "$socket" "job=$job" "app=$name" "uid=$user" -- \
    sh -c '[ -z "$task" ] || echo $$ >"$task/cgroup.procs"
      "$@" & until [ -e "$0.done" ]; do sleep 0.05; done' "$scratch/$name" \
    "$@" "$python" -S "$scratch/inside" "$scratch/$name" &
  announcing=$!
  wait_until 60 test -e "$scratch/$name.up"
  wait_until 60 has_memory "$job" "$least"
  ok $? "$what is in the memory of its job" || diag "$(memory "$job") MiB"
  touch "$scratch/$name.go"
  wait_child 120 "$announcing"
  wait_until 60 model "$name" "$user"
  touch "$scratch/$name.end"
  at_least "$(stored cpu_seconds "$name")" 0.4
  ok $? "its processor time is the job's" || diag "$(stored cpu_seconds "$name") s"
  if [ $exits = 0 ] && ! log_has "exits: not measured here: built with headers"; then
    at_least "$(stored rss_bytes "$name")" $((300 << 20))
    ok $? "its child of a moment is in the peak" || diag "$(stored rss_bytes "$name") bytes"
  else
    skip "its child of a moment is in the peak" "taskstats is closed here"
    log_has 'exits: not measured here'
    ok $? "without taskstats a short-lived child may be missed, which the log states"
  fi
}

config
start
wait_until 20 grep -q 22.05.8 "$state/site"
ns=(unshare -Urpf --mount-proc)
container plain "a process in user and pid namespaces" "${ns[@]}"
container cleared "one without an environment" env -i "${ns[@]}"
# shellcheck disable=SC2016
container within "one whose parents there have ended" \
  "${ns[@]}" sh -c '"$@"; until [ -e "$0" ]; do sleep 0.05; done' "$scratch/within.end" \
  "$python" -S "$scratch/away" once
# the job's own process is in the container's user namespace, as podman's is
# shellcheck disable=SC2016
container conmon "a runtime that left the job's tree with its user namespace" \
  unshare -Ur sh -c '"$@"; until [ -e "$0" ]; do sleep 0.05; done' "$scratch/conmon.end" \
  "$python" -S "$scratch/away" once

# ---- podman, without root

# podman COMMAND...: runs it in a container of this machine's /usr, as a user without subordinate IDs. crun does not
# accept version 1 of cgroups beside version 2.
cat >"$scratch/podman" <<END_PODMAN
#!/bin/sh
umount -l /sys/fs/cgroup 2>/dev/null
mount -t cgroup2 none /sys/fs/cgroup || exit
exec setpriv --reuid=65534 --regid=65534 --clear-groups env "HOME=$scratch/home" "XDG_RUNTIME_DIR=$scratch/home" \\
  podman --cgroup-manager=cgroupfs run --rm --network=host --cgroups=disabled --log-driver=none \\
  --ulimit=nofile=1024:1024 --ulimit=nproc=1024:1024 -v /usr:/usr:ro -v "$scratch:$scratch" \\
  --rootfs "$scratch/root" "\$@"
END_PODMAN
podman_works() {
  mkdir -p "$scratch/home" "$scratch/root/usr" || return
  for name in bin lib lib64 sbin; do
    [ ! -L "/$name" ] || cp -P "/$name" "$scratch/root/" || return
  done
  chown -R 65534:65534 "$scratch/home" "$scratch/root" && chmod 1777 "$scratch" && chmod 0755 "$scratch/podman" || return
  unshare -m "$scratch/podman" true
}
if ! command -v podman >/dev/null; then
  [ -z "${FT_CI-}" ]
  ok $? "podman is installed, or this is not CI"
elif why=$(podman_works 2>&1); then
  python=/usr/bin/python3 least=140 user=65534
  container podman "a process in a container of podman" unshare -m "$scratch/podman"
  container again "one in a later container of the same user" unshare -m "$scratch/podman"
else
  diag "$why"
  skip "a process in a container of podman" "podman cannot run here"
fi
python=$(command -v python3) least=100 user=$(id -u)
kill -KILL "$(cat "$scratch/home/libpod/tmp/pause.pid" 2>/dev/null)" 2>/dev/null # it keeps the user's namespace
stop_agent

# ---- in the cgroups of a job, laid out as Slurm's

if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
  group=/sys/fs/cgroup/memory/foretell-test-$$ step=$group/job_9/step_0
  stepd=$step tasks=$step/task_0 levels=
else
  group=/sys/fs/cgroup/foretell-test-$$ step=$group/job_9/step_0
  stepd=$step/slurm tasks=$step/user/task_0 levels="$group $group/job_9 $step $step/user $tasks"
fi
task=$tasks/own
made=
if mkdir "$group" 2>/dev/null && mkdir -p "$stepd" "$task" "$tasks/libpod-1" 2>/dev/null; then
  made=1
  for level in $levels; do
    echo +memory 2>/dev/null >"$level/cgroup.subtree_control" || made=
  done
fi
if [ -n "$made" ]; then
  cp "$fixtures/scontrol/cgroup-config" "$FT_SCONTROL/config"
  start_agent
  # shellcheck disable=SC2016
  container nested "a runtime that left the job's tree for a cgroup inside it" \
    "$python" -S "$scratch/away" once /bin/sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$tasks/libpod-1"
  stop_agent
else
  skip "a runtime that left the job's tree for a cgroup inside it" "no cgroup can be made"
fi
rmdir_all() {
  find "$group" -depth -type d -exec rmdir {} + && [ ! -d "$group" ]
}
[ ! -d "$group" ] || wait_until 60 rmdir_all
stop_learner
tap_done
