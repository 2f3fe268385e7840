#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Demonstrates foretell in a minute or two on a bare Debian 12, as root: installs packages,
# builds, starts a private Slurm of two nodes (munge, slurmctld, slurmd, foretelld, foretell-learnd) in a
# scratch directory, and shows foretell's main task with a real program. All processes
# and files are removed at the end.
#
#   contrib/quickstart.sh [--keep]
#
#   --keep   leaves the cluster running, and prints how to use it and how to stop it
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$top/contrib/packages.sh"
. "$top/tests/slurm/cluster.sh"

keep=
[ "$#" -le 1 ] || [ "$#$1" = 2--stop ] || { echo "quickstart: '$2': unexpected argument; see --help" >&2; exit 2; }
case "${1-}" in
'') ;;
--keep) keep=1 FT_OUTLIVE=1 ;;
--stop) # ends a cluster of --keep: --stop DIRECTORY
  scratch=${2-}
  [ -d "$scratch/run" ] && [ -f "$scratch/etc/slurm.conf" ] || { echo "quickstart: no cluster in '$scratch'" >&2; exit 2; }
  export SLURM_CONF=$scratch/etc/slurm.conf
  cluster_id=$(cat "$scratch/run/id")
  cluster_ports=
  cluster_stop
  rm -rf "$scratch"
  exit 0
  ;;
-h | --help) sed -n '3,/--keep  /s/^# \{0,1\}//p' "$0"; exit ;;
*) echo "quickstart: no option $1; see --help" >&2; exit 2 ;;
esac
[ "$(id -u)" = 0 ] || { echo "quickstart: run this as root: slurmd starts jobs as their users" >&2; exit 1; }

if [ -t 1 ]; then bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' plain=$'\e[0m'; else bold='' dim='' red='' plain=''; fi
step() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
print_line() { printf '%s\n' "$*"; }
show() { sed "s/^/    $dim/; s/\$/$plain/"; }
fail() {
  printf '%squickstart: %s%s\n' "$red" "$*" "$plain" >&2
  exit 1
}
run_quietly() { # run_quietly TITLE COMMAND...: prints one line, and the log only on failure
  local title=$1 begun=$SECONDS
  shift
  printf '  %s ... ' "$title"
  "$@" >"$scratch/log/quietly" 2>&1 </dev/null || {
    echo failed
    tail -n 40 "$scratch/log/quietly"
    fail "$title: failed"
  }
  echo "$((SECONDS - begun)) s"
}

# as_user COMMAND...: prints the command, runs it as a user, and prints its output; sets status, out and id
user=nobody
as_user() {
  printf '  %s$ %s%s\n' "$bold" "$*" "$plain"
  out=$(cluster_as $user "$@" 2>&1)
  status=$?
  printf '%s\n' "$out" | show
  id=$(sed -n 's/^Submitted batch job //p' <<<"$out")
}

build() {
  cd "$scratch/build" &&
    { [ -x "$top/configure" ] || "$top/autogen.sh"; } &&
    "$top/configure" -q --prefix="$scratch/root" --sysconfdir="$scratch/etc" \
      --localstatedir="$scratch/var" --runstatedir="$scratch/run" &&
    make -s -j"$(nproc)" && make -s install
}

stop_or_keep() {
  local result=$?
  if [ -n "$keep" ] && [ $result = 0 ]; then
    trap - EXIT
    rm -rf $cluster_ports
    exit 0
  fi
  (exit $result)
  cluster_close
}

step "1  Packages and build"
cluster_open || exit 1
trap stop_or_keep EXIT
mkdir "$scratch/build"
run_quietly "packages from Debian" install_packages $packages_build
run_quietly "build into $scratch/root" build

# The second node is a host as far as foretell is concerned: its slurmd and its agent see a run directory of their
# own in place of the first node's.
second=$scratch/second
enter_second=$second/enter
prepare_second() {
  mkdir -p "$second"/{run,state} "$scratch/run/foretell" && cat >"$enter_second" <<END && chmod 0755 "$enter_second"
#!/bin/sh
exec "$top/tests/slurm/own-mounts" sh -c 'mount --bind "\$0" "\$1" && shift && exec "\$@"' $second/run $scratch/run/foretell "\$@"
END
  "$enter_second" true 2>/dev/null && cluster_port || return 1
  cat >"$second/foretell.conf" <<END
state_dir = "$second/state"
learner = "127.0.0.1:$cluster_found_port"
munge_socket = "$scratch/munge/socket"
END
}
start_second_agent() {
  cluster_spawn foretelld-second "$enter_second" "$FT_AGENT" --config="$second/foretell.conf"
  wait_until 15 test -S "$second/run/agent.sock"
}

step "2  A private Slurm of two nodes"
FT_FIRST_JOB=1001
FT_ENFORCE=rss
[ "$(cluster_cgroup_version)" = cgroup/v1 ] && [ -w /sys/fs/cgroup/memory ] && FT_ENFORCE=cgroup
FT_NODES='one 8 8000'
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES DefMemPerCPU=100 MaxTime=60'
FT_PLUGIN=$scratch/root/lib/slurm/spank_foretell.so
FT_PLUGSTACK=required
FT_AGENT=$scratch/root/sbin/foretelld
FT_STATE=$scratch/var/lib/foretell
FT_AGENT_CONF=$scratch/etc/foretell/foretell.conf
FT_AGENT_SOCKET=$scratch/run/foretell/agent.sock
FT_LEARNER_SOCKET=$scratch/run/foretell/learner.sock
FT_FORETELL_CONF='mode = "check"
reject_probability = 0.5
floor = "16M"
round = "1M"'
if prepare_second; then
  FT_NODES="$FT_NODES
two 8 8000"
  FT_PARTITIONS="$FT_PARTITIONS
PartitionName=second Nodes=@two@ DefMemPerCPU=100 MaxTime=60"
  FT_FORETELL_CONF="$FT_FORETELL_CONF
listen = \"127.0.0.1:$cluster_found_port\"
munge_socket = \"$scratch/munge/socket\""
  FT_SLURMD_PREFIX_two=$enter_second
else
  second=
  print_line "  one node only: this machine permits no mount namespaces, of which the second is made"
fi
cluster_start || fail "Slurm could not be started"
[ -z "$second" ] || start_second_agent || fail "the second node's agent does not start"
export PATH=$scratch/root/bin:$PATH
case $FT_ENFORCE in
cgroup) print_line "  munge, slurmctld, slurmd, foretelld and foretell-learnd run; the kernel kills a job above its memory (task/cgroup)" ;;
rss) print_line "  munge, slurmctld, slurmd, foretelld and foretell-learnd run; Slurm kills a job above its memory (OverMemoryKill)" ;;
esac
print_line "  foretell.conf: every job is checked; a job that will probably run out of memory is rejected"

step "3  Five runs without a prediction"
cd "$cluster_work" || exit 1
cat >sort.sh <<'END'
#!/bin/bash
#SBATCH --output=/dev/null
sort --parallel=1 --buffer-size=2G --output=/dev/null "$1"
END
print_line "  sort.sh sorts a file in memory:"
show <sort.sh
for size in 8 16 24 32 40 48; do
  base64 -w 30 </dev/urandom | head -c ${size}000000 >words-$size.txt
done
has_runs() { # has_runs COUNT: the agent has this number of runs
  [ "$(runs)" -ge "$1" ]
}
runs() {
  foretell history --json 2>/dev/null | grep -o '"runs": *[0-9]*' | head -n 1 | grep -o '[0-9]*$' || echo 0
}
for size in 8 16 24 32 48; do
  as_user sbatch --mem=1G sort.sh words-$size.txt
  [ -n "$id" ] || fail "the job was not submitted"
  [ "$(job_wait "$id")" = COMPLETED ] || fail "job $id: $(job_field "$id" JobState)"
done
wait_until 15 has_runs 5 || fail "five runs were not learned"
print_line "  foretell history:"
foretell history 2>&1 | show

step "4  A job with a predicted request"
as_user sbatch --predict-mem sort.sh words-40.txt
grep -q 'foretell: .*--mem set to' <<<"$out" || fail "no memory was set"
print_line "  Slurm's record: job $id, MinMemoryNode=$(job_field "$id" MinMemoryNode)"
state=$(job_wait "$id")
print_line "  the job's end: $state"
[ "$state" = COMPLETED ] || fail "the predicted job did not complete"
wait_until 15 has_runs 6 || fail "the run was not learned"
print_line "  the agent's log:"
grep -hE "job $id\b" "$scratch"/log/foretelld.* | tail -n 2 | show

step "5  A request that is too small"
before=$(squeue -h -t all -o %i | wc -l)
as_user sbatch --mem=30M sort.sh words-40.txt
[ $status != 0 ] || fail "the job should have been rejected"
grep -q 'foretell: job rejected' <<<"$out" || fail "the job was rejected, but not by foretell"
[ "$(squeue -h -t all -o %i | wc -l)" = "$before" ] || fail "a job exists nevertheless"
print_line "  sbatch exits with $status, and no job exists. The same with the suggested request:"
suggestion=$(sed -nE 's/.*use (--mem=[0-9]+[MG]).*/\1/p' <<<"$out")
as_user sbatch "$suggestion" sort.sh words-40.txt
[ "$(job_wait "$id")" = COMPLETED ] || fail "the suggested request was too small"
print_line "  job $id: COMPLETED"
wait_until 15 has_runs 7 || fail "the run was not learned"

if [ -n "$second" ]; then
  step "6  A job on the second node, which has run none"
  print_line "  The nodes' agents send their runs to one learner, the second's over TCP with MUNGE."
  as_user sbatch --partition=second --predict-mem sort.sh words-48.txt
  grep -q "foretell: .*(7 runs); --mem set to" <<<"$out" || fail "the first node's runs do not predict the second's job"
  [ "$(job_wait "$id")" = COMPLETED ] || fail "the second node's job did not complete"
  wait_until 15 has_runs 8 || fail "the second node's run was not learned"
  print_line "  foretell job $id:"
  foretell job "$id" 2>&1 | show
fi

step "7  The report"
foretell report 2>&1 | show

step "8  The installation"
print_line "  foretell doctor checks this host; only warn and FAIL need an action:"
foretell doctor >"$scratch/log/doctor" 2>&1
status=$?
show <"$scratch/log/doctor"
[ $status = 0 ] || fail "foretell doctor finds a failure"

if [ -n "$keep" ]; then
  step "The cluster is left running"
  print_line "  export SLURM_CONF=$SLURM_CONF PATH=$scratch/root/bin:\$PATH"
  print_line "  cd $cluster_work; runuser -u $user -- sbatch --predict-mem sort.sh words-32.txt; foretell history"
  print_line "  $0 --stop $scratch     stops and removes it"
fi
step "Done in $SECONDS s"
