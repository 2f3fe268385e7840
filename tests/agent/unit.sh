#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The systemd units: systemd-analyze accepts them, they are as restricted as the daemons allow, and these
# work with the remaining capabilities.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
for name in foretelld foretell-learnd; do
  unit=$scratch/$name.service
  sed "s|@sbindir_expanded@|$FT_TOP_BUILDDIR|" "$FT_TOP_SRCDIR/etc/$name.service.in" >"$unit"
done
for name in foretelld foretell-learnd; do
  unit=$scratch/$name.service
  if command -v systemd-analyze >/dev/null; then
    errors=$(systemd-analyze verify --man=no "$unit" 2>&1 | grep foretell)
    is "$errors" "" "$name: systemd-analyze verify accepts it"
    level=$(systemd-analyze security --offline=true "$unit" 2>/dev/null |
      sed -nE 's/.*exposure level for .*: ([0-9.]+) .*/\1/p')
    if [ -n "$level" ]; then
      awk -v level="$level" 'BEGIN { exit !(level < 4) }'
      ok $? "$name: systemd-analyze security rates it $level, below 4"
    else
      skip "$name: systemd-analyze security rates it" "this release cannot do so offline"
    fi
  else
    skip "$name: systemd-analyze verify accepts it" "systemd-analyze is not installed"
  fi
done

# ---- root with the units' capabilities only

# kept NAME: the capabilities of a unit, as setpriv has them
kept() {
  sed -n 's/^CapabilityBoundingSet=//p' "$scratch/$1.service" | tr ' ' '\n' | sed 's/^CAP_/+/' |
    tr 'A-Z\n' 'a-z,' | sed 's/,$//'
}
# confine NAME PROGRAM: prints the path of a script that runs PROGRAM with these only
confine() {
  printf '#!/bin/sh\nexec setpriv --bounding-set="-all,%s" --no-new-privs "%s" "$@"\n' "$(kept "$1")" "$2" >"$scratch/$1"
  chmod +x "$scratch/$1"
  echo "$scratch/$1"
}
# effective PID: the capabilities of a process
effective() {
  sed -n 's/^CapEff:[[:space:]]*//p' "/proc/$1/status" | sed 's/^0*//'
}
if [ "$(id -u)" = 0 ] && setpriv --bounding-set="-all,$(kept foretelld)" --no-new-privs true 2>/dev/null; then
  agent=$(confine foretelld "$agent")
  learner=$(confine foretell-learnd "$learner")
  config
  start
  ok $? "both start with those capabilities only"
  for name in foretelld foretell-learnd; do
    [ $name = foretelld ] && one=$pid || one=$learner_pid
    is "$(effective "$one")" \
      "$(setpriv --bounding-set="-all,$(kept $name)" sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status | sed 's/^0*//')" \
      "$name has no other capability"
  done
  "$announce" "$socket" job=7 uid=65534 app=closed -- sh -c 'head -c 20000000 /dev/zero | tail -c 1 | cat; sleep 0.4' >/dev/null
  wait_until 20 log_has 'job 7: closed, completed'
  ok $? "it measures a job"
  wait_until 10 model closed 65534
  ok $? "it publishes its user's model"
  like "$(getfacl -cpn "$(dirname "$(ls "$state"/models/65534/closed-*.model)")" 2>/dev/null)" '^user:65534:r-x' \
    "the user may read the model"
  stop
else
  skip "they work with those capabilities" "not root, or setpriv cannot take them away"
fi
tap_done
