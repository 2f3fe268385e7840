#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The systemd units: systemd-analyze accepts them and rates them low, and the daemons work, with every sampler,
# as a user other than root with the units' capabilities only.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
for name in foretelld foretell-learnd; do
  unit=$scratch/$name.service
  sed "s|@sbindir_expanded@|$FT_TOP_BUILDDIR|" "$FT_TOP_SRCDIR/etc/$name.service.in" >"$unit"
done
# the unit that verifies one needs its service beside it
cp "$FT_TOP_SRCDIR/etc/foretell-learnd.socket" "$scratch"
sed "s|@socketdir_expanded@|$scratch|" "$FT_TOP_SRCDIR/etc/foretelld.socket.in" >"$scratch/foretelld.socket"
for name in foretell-learnd.socket foretelld.socket; do
  if command -v systemd-analyze >/dev/null; then
    is "$(systemd-analyze verify --man=no "$scratch/$name" 2>&1 | grep foretell)" "" "$name: systemd-analyze verify accepts it"
  else
    skip "$name: systemd-analyze verify accepts it" "systemd-analyze is not installed"
  fi
done
for name in foretelld foretell-learnd; do
  unit=$scratch/$name.service
  if command -v systemd-analyze >/dev/null; then
    errors=$(systemd-analyze verify --man=no "$unit" 2>&1 | grep foretell)
    is "$errors" "" "$name: systemd-analyze verify accepts it"
    level=$(systemd-analyze security --offline=true "$unit" 2>/dev/null |
      sed -nE 's/.*exposure level for .*: ([0-9.]+) .*/\1/p')
    if [ -n "$level" ]; then
      awk -v level="$level" 'BEGIN { exit !(level <= 2.4) }'
      ok $? "$name: systemd-analyze security rates it $level, at most 2.4"
    else
      skip "$name: systemd-analyze security rates it" "this release cannot do so offline"
    fi
  else
    skip "$name: systemd-analyze verify accepts it" "systemd-analyze is not installed"
  fi
done

like "$(cat "$scratch/foretell-learnd.service")" '^MemoryMax=[1-9]' "the learner's unit limits its memory"

# ---- a user other than root, with the units' capabilities only

own=61000 user=61001 slurmd=61002
export FORETELL_CONFIG=$scratch/foretell.conf

# as UID COMMAND...
as() {
  local uid=$1
  shift
  setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
}
# options NAME: setpriv's options for the user and the capabilities of a unit
options() {
  local set
  set=-all$(sed -n 's/^AmbientCapabilities=//p' "$scratch/$1.service" | tr ' ' '\n' | sed 's/^CAP_/,+/' |
    tr -d '\n' | tr 'A-Z' 'a-z')
  echo "--reuid=$own --regid=$own --clear-groups --inh-caps=$set --ambient-caps=$set --bounding-set=$set --no-new-privs"
}
# confine NAME PROGRAM: prints the path of a script that runs PROGRAM with these
confine() {
  printf '#!/bin/sh\nexec setpriv %s "%s" "$@"\n' "$(options "$1")" "$2" >"$scratch/$1"
  chmod +x "$scratch/$1"
  echo "$scratch/$1"
}
# status_of PID KEY: a line of the process's status
status_of() {
  sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"
}
courier() {
  courier_pid=$(pgrep -P "$pid" -x foretell-courie)
}
announce_as_slurmd() {
  as $slurmd "$announce" "$socket" job=8 app=slurmd -- true && log_has 'job 8: slurmd'
}

if [ "$(id -u)" != 0 ] || ! setpriv $(options foretelld) true 2>/dev/null; then
  skip "they work with those capabilities" "not root, or setpriv cannot give them to another user"
  tap_done
  exit
fi
agent=$(confine foretelld "$agent")
learner=$(confine foretell-learnd "$learner")
sed -i "s/^SlurmdUser .*/SlurmdUser              = slurmd($slurmd)/" "$FT_SCONTROL/config"
mkdir "$scratch/run" "$state"
config 'memory_rule = pss'
like "$(timeout 60 "$agent" -c "$scratch/foretell.conf" 2>&1)" "$state: user $own cannot write to this directory; use chown" \
  "a state directory of root is an error with a remedy"
chown -R $own "$scratch/run" "$state"
start
ok $? "both start as another user than root"
for name in foretelld foretell-learnd; do
  [ $name = foretelld ] && one=$pid || one=$learner_pid
  is "$(status_of "$one" CapEff)" "$(setpriv $(options $name) sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)" \
    "$name has the unit's capabilities"
  is "$(status_of "$one" CapAmb)" 0000000000000000 "$name hands none of them on"
done
wait_until 60 courier
is "$(status_of "$courier_pid" CapEff):$(status_of "$courier_pid" CapPrm)" 0000000000000000:0000000000000000 \
  "foretell-courier has none"
is "$(status_of "$pid" Seccomp):$(status_of "$courier_pid" Seccomp)" 2:2 "both have a filter of system calls"

# Everything that root's doctor can measure here the agent measures, too.
"$foretell" doctor --config "$scratch/foretell.conf" | sed -nE 's/^(warn|note) ((rss|exits|pss|cgroup|io|papi|perf|nvml|rapl): .*)/\2/p' | sort >"$scratch/as-root"
sed -n 's/^foretelld: \([a-z]*: \)not measured here: /\1/p' "$scratch/log" | sort >"$scratch/confined"
is "$(cut -d : -f 1 "$scratch/confined")" "$(cut -d : -f 1 "$scratch/as-root")" "each sampler works that works for root"

# A job of another user that holds memory until go is written.
mkfifo -m 0644 "$scratch/go"
"$announce" "$socket" job=7 uid=$user app=closed -- setpriv --reuid=$user --regid=$user --clear-groups \
  sh -c '{ head -c 30000000 /dev/zero; cat "$0"; } | tail -c 30000000 >/dev/null' "$scratch/go" >/dev/null &
pids="$pids $!"
# open files are counted from the second sample on
is_measured() {
  "$foretell" job 7 --json | python3 -c 'import json, sys
used = json.load(sys.stdin)["used"]
sys.exit(used["now_bytes"] < 30e6 or used["runtime_seconds"] < 2)'
}
wait_until 60 is_measured
ok $? "a running job of another user is measured"
open_fifo 60 "$scratch/go"
wait_until 60 log_has 'job 7: closed, completed'
ok $? "its run completes"
wait_until 60 model closed $user
ok $? "its user's model is published"
is "$(as $user "$foretell" history | awk '{ print $1 }' | tr '\n' ' ')" "APP closed " "the user may read it"
"$foretell" export --format=jsonl >"$scratch/runs"
is "$(python3 -c 'import json, sys
run = json.loads(open(sys.argv[1]).readline())
print(*[key for key in ("pss_bytes", "read_bytes", "write_bytes", "open_files", "counters") if run.get(key) in (None, {}, [])])' \
  "$scratch/runs")" "" "PSS, bytes, open files and counters of its processes are measured"

is "$("$foretell" doctor --config "$scratch/foretell.conf" | sed -n 's/ privileges: .*(uid/ (uid/p')" "ok   (uid $own) and has what its samplers need" \
  "foretell doctor finds nothing that the agent lacks"

wait_until 60 announce_as_slurmd
ok $? "SlurmdUser may announce jobs"
as $user "$announce" "$socket" job=9 uid=$user app=forged -- true
wait_until 60 log_has 'last reason: the peer is neither root nor SlurmdUser'
ok $? "another user is turned away"
log_has 'job 9'
is $? 1 "and its job is not accepted"
stop
is $? 0 "they stop"
printf 'app,uid,peak_mib,end\nimported,%s,90,1700000000\n' $user >"$scratch/runs.csv"
rm -f "$state"/store.db*
"$foretell" import "$scratch/runs.csv" >/dev/null
is "$(find "$state" ! -user $own | wc -l):$(find "$state" -name store.db | wc -l)" 0:1 \
  "all files belong to the daemons' user, also a store that root creates"

# ---- fewer capabilities

sed -i 's/ CAP_DAC_READ_SEARCH CAP_PERFMON//' "$scratch/foretelld.service"
agent=$(confine foretelld "$programs/foretelld")
start_agent
ok $? "the agent starts without some of them"
"$foretell" doctor --config "$scratch/foretell.conf" >"$scratch/findings"
like "$(cat "$scratch/findings")" '^warn privileges: foretelld has no CAP_DAC_READ_SEARCH: it does not measure bytes read' \
  "foretell doctor names what is lost"
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
  like "$(cat "$scratch/findings")" '^warn privileges: (foretelld|this kernel) has no CAP_PERFMON.*: no .* is counted' "and counters"
else
  skip "and counters" "kernel.perf_event_paranoid permits them"
fi
stop_agent
tap_done
