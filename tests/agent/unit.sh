#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The systemd unit: systemd-analyze accepts it, it is as restricted as the agent allows, and the
# agent works with the remaining capabilities.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
unit=$scratch/foretelld.service
sed "s|@sbindir_expanded@|$FT_TOP_BUILDDIR|" "$FT_TOP_SRCDIR/etc/foretelld.service.in" >"$unit"

if command -v systemd-analyze >/dev/null; then
  errors=$(systemd-analyze verify --man=no "$unit" 2>&1 | grep foretelld)
  is "$errors" "" "systemd-analyze verify accepts it"
  level=$(systemd-analyze security --offline=true "$unit" 2>/dev/null |
    sed -nE 's/.*exposure level for .*: ([0-9.]+) .*/\1/p')
  if [ -n "$level" ]; then
    awk -v level="$level" 'BEGIN { exit !(level < 4) }'
    ok $? "systemd-analyze security rates it $level, below 4"
  else
    skip "systemd-analyze security rates it" "this release cannot do so offline"
  fi
else
  skip "systemd-analyze verify accepts it" "systemd-analyze is not installed"
fi

# ---- root with the unit's capabilities only

kept=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr ' ' '\n' | sed 's/^CAP_/+/' |
  tr 'A-Z\n' 'a-z,' | sed 's/,$//')
if [ "$(id -u)" = 0 ] && setpriv --bounding-set="-all,$kept" --no-new-privs true 2>/dev/null; then
  printf '#!/bin/sh\nexec setpriv --bounding-set="-all,%s" --no-new-privs "%s" "$@"\n' \
    "$kept" "$agent" >"$scratch/closed"
  chmod +x "$scratch/closed"
  agent=$scratch/closed
  config
  start
  ok $? "the agent starts with those capabilities only"
  is "$(sed -n 's/^CapEff:[[:space:]]*//p' "/proc/$pid/status" | sed 's/^0*//')" \
    "$(setpriv --bounding-set="-all,$kept" sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status | sed 's/^0*//')" \
    "it has no other capability"
  "$announce" "$socket" job=7 uid=65534 app=closed -- sh -c 'head -c 20000000 /dev/zero | tail -c 1 | cat; sleep 0.4' >/dev/null
  wait_until 20 log_has 'job 7: closed, completed'
  ok $? "it measures a job"
  wait_until 10 model closed 65534
  ok $? "it publishes its user's model"
  like "$(getfacl -cpn "$(dirname "$(ls "$state"/models/65534/closed-*.model)")" 2>/dev/null)" '^user:65534:r-x' \
    "the user may read the model"
  stop
else
  skip "the agent works with those capabilities" "not root, or setpriv cannot take them away"
fi
tap_done
