#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The recipes of docs/admin-guide.md, as they stand there, with other paths: backup, restore, upgrade, downgrade, merge and
# uninstall. A store that was replaced, or whose owner or mode is wrong, is noticed.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
need python3 sqlite3
[ "$(id -u)" = 0 ] || tap_skip_all "it takes root to give files to other users"
export FORETELL_CONFIG=$scratch/foretell.conf
export PATH=$scratch/bin:$PATH
mkdir "$scratch/bin" "$scratch/root"
cat >"$scratch/bin/foretell" <<END
#!/bin/sh
[ "\$1" != doctor ] || set -- doctor --config="$FORETELL_CONFIG"
exec "$(cd "$FT_TOP_BUILDDIR" && pwd)/predictor/cli/foretell" "\$@"
END
chmod +x "$scratch/bin/foretell"

# recipe TITLE [N]: the commands of the Nth code block below the guide's heading TITLE
recipe() {
  awk -v title="### $1" -v block="${2:-1}" '
    /^##/ { inside = $0 == title; n = 0; code = 0 }
    inside && /^    / { if (!code) n++; code = 1; if (n == block) print substr($0, 5); next }
    { code = 0 }' "$FT_TOP_SRCDIR/docs/admin-guide.md" |
    sed "s,/var/lib/foretell,$state,g; s,/root/,$scratch/root/,g; s,/etc/slurm,$scratch,g; s,-o foretell -g foretell,,"
}
# Stand-ins: what these programs would do on a host
systemctl() {
  local verb=$1 name
  echo "systemctl $*" >>"$scratch/called"
  shift
  [ "$verb" != restart ] || systemctl stop "$@"
  for name; do
    case $verb,$name in
    stop,foretelld | disable,foretelld) ! kill -0 "$pid" 2>/dev/null || stop_agent ;;
    stop,foretell-learnd | disable,foretell-learnd) ! kill -0 "$learner_pid" 2>/dev/null || stop_learner ;;
    start,foretelld) start_agent ;;
    start,foretell-learnd | restart,foretell-learnd) start_learner ;;
    esac
  done
}
make() {
  echo "make $*" >>"$scratch/called"
}
userdel() {
  echo "userdel $*" >>"$scratch/called"
}
# follow TITLE [N]: runs the recipe; its output is in $scratch/out
follow() {
  recipe "$@" >"$scratch/recipe"
  [ -s "$scratch/recipe" ] || return 1
  : >"$scratch/called"
  . "$scratch/recipe" >"$scratch/out" 2>&1
}
stored() {
  sqlite3 "file:$state/store.db?mode=ro" "SELECT group_concat(job_id) FROM (SELECT job_id FROM observation ORDER BY 1)"
}
is_stored() {
  [ "$(stored 2>/dev/null)" = "$1" ]
}
has_stored() {
  stored 2>/dev/null | grep -qw "$1"
}
job() {
  "$announce" "$socket" job="$1" app=hog -- true
  wait_until 60 log_has "job $1: hog"
  wait_until 60 has_stored "$1"
}
store_line() {
  foretell doctor 2>&1 | grep -E '^[a-zA-Z]+ +store:'
}
modes() {
  stat -c %a "$state"/store.db* | sort -u | tr '\n' ' '
}

config
start
job 1
umask 022
follow "Back up"
umask 022
is "$? $(stat -c %a "$scratch/root/store.backup")" "0 600" "a backup is readable by its owner only"
job 2
follow Restore
is "$(stored)" 1 "a restored store has the runs of the backup"
like "$(cat "$scratch/out")" 'rebuilt 1 model' "its models are rebuilt"
like "$(cat "$scratch/out")" 'ok +store: .*only' "doctor accepts it"
job 3
is "$(stored) $(modes)" "1,3 600 " "later runs are stored in it, which only the learner may read"

# ---- what goes wrong without the recipe

(umask 022 && cp "$scratch/root/store.backup" "$state/store.db.new")
chmod 0644 "$state/store.db.new"
mv "$state/store.db.new" "$state/store.db"
like "$(store_line)" '^FAIL store: .*store.db has mode 0644: other users may read' "doctor names a store that others may read"
chmod 0600 "$state/store.db"
# names_replaced TEXT PATTERN: TEXT does, unless the learner has noticed it before, and ended
names_replaced() {
  grep -Eq -- "$2" <<<"$1" || wait_until 2 log_has 'replaced while foretell-learnd ran; start it again'
}
names_replaced "$(store_line)" '^FAIL store: .*replaced while foretell-learnd ran'
ok $? "doctor names a store that was replaced"
names_replaced "$(foretell rebuild 2>&1)" 'store.db: replaced while foretell-learnd ran'
ok $? "rebuild does, too"
wait_child 60 "$learner_pid"
is $? 3 "the learner ends with an error, for systemd to start it again"
like "$(tail -n 5 "$scratch/log")" 'replaced while foretell-learnd ran; start it again, then run foretell rebuild' "its log says why"
chmod 0644 "$state/store.db"
: >"$state/store.db.bak"
chmod 0666 "$state/store.db.bak"
start_learner
is "$(modes)" "600 " "at its start the learner takes other users' rights to the store and its copies"
like "$(foretell rebuild 2>&1)" 'rebuilt 1 model' "and uses the store"
job 4
like "$(stored)" '^1,(3,)?4$' "runs are stored in it"

sqlite3 "$state/store.db" ".restore $scratch/root/store.backup"
reload
wait_child 60 "$learner_pid"
is $? 3 "a store that SQLite restores below the learner is noticed"
chown 1005 "$state"/store.db*
start_learner
log_has "store.db: belongs to user 1005, and foretell-learnd is user 0; use chown"
ok $? "the learner uses no store of another user"
like "$(store_line)" '^FAIL store: .*belongs to user 1005, and the learner is user 0' "doctor names the owner"
"$announce" "$socket" job=5 app=hog -- true
wait_until 60 spooled 1
ok $? "runs wait in the spool"
chown 0 "$state"/store.db*
wait_until 60 is_stored 1,5
ok $? "until the store is the learner's"

# ---- upgrade and downgrade

follow Upgrade
is "$(tr '\n' ';' <"$scratch/called")" "systemctl stop foretelld;make install;systemctl daemon-reload;systemctl enable \
foretelld foretell-learnd;systemctl restart foretell-learnd;systemctl stop foretell-learnd;systemctl start foretelld;" \
  "an upgrade reads the new units and enables both daemons"
job 6
is "$(stored)" 1,5,6 "runs are stored after it"

make() {
  # the newer release has left a store that this one does not read
  sqlite3 "$state/store.db" "PRAGMA user_version = 99"
}
follow Downgrade
is "$? $(stored)" "0 1,5,6" "a downgrade keeps the runs since the backup"
follow "Merge two stores"
systemctl stop foretelld foretell-learnd
mkdir "$scratch/other"
state=$scratch/other
config
start
job 7
follow "Merge two stores" 2
is "$? $(stored)" "0 1,5,6,7" "a store gets the runs of another"
follow "Merge two stores" 2
is "$(stored)" 1,5,6,7 "once"

# ---- uninstall

printf '%s\n' 'optional x11.so' 'include /etc/foretell/plugstack-required.conf' '  include	/etc/foretell/plugstack-optional.conf' \
  'include /etc/slurm/plugstack.conf.d/*' >"$scratch/plugstack.conf"
make() {
  # a required plugin that is gone stops every submission
  ! grep -q foretell "$scratch/plugstack.conf" && echo "make $*" >>"$scratch/called"
}
follow Uninstall
is "$?:$(tr '\n' ';' <"$scratch/called")" "0:systemctl disable --now foretelld foretell-learnd;make uninstall;\
systemctl daemon-reload;userdel foretell;" "the plugin leaves plugstack.conf before its file is removed"
is "$(tr '\n' ';' <"$scratch/plugstack.conf")" "optional x11.so;include /etc/slurm/plugstack.conf.d/*;" \
  "other plugins stay"
[ ! -e "$state" ]
ok $? "the state directory is gone"
tap_done
