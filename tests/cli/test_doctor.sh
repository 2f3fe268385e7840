#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell doctor, on directories that stand for a node.
. "${FT_TOP_SRCDIR:-.}/tests/slurm/tap.sh"
. "${FT_TOP_SRCDIR:-.}/tests/slurm/wait.sh"

build=${FT_TOP_BUILDDIR:-build}
foretell=$build/predictor/cli/foretell
plugin=$build/.libs/spank_foretell.so
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
export LC_ALL=C
unset SLURM_CONF

# run ARGUMENT...: runs foretell doctor; sets $out and $status
run() {
  out=$("$foretell" doctor --root="$root" --config=/foretell.conf "$@" 2>&1)
  status=$?
}

mkdir -p "$root"/{proc/self,proc/77,etc/slurm/plugstack.d,usr/lib/slurm}
echo bash >"$root/proc/77/comm"
cat >"$root/foretell.conf" <<'END'
state_dir = /state
socket = /agent.sock
END
"$build/tests/cli/make_state" "$root/state" 4711 || exit 1
chmod 0750 "$root/state/models/4711"
cat >"$root/etc/slurm/slurm.conf" <<'END'
ClusterName=test
PluginDir=/usr/lib/slurm
END
echo 'include plugstack.d/*.conf' >"$root/etc/slurm/plugstack.conf"
echo 'optional spank_foretell.so state=/state reject=no' >"$root/etc/slurm/plugstack.d/foretell.conf"
cp "$plugin" "$root/usr/lib/slurm/" || exit 1

run
like "$out" '^ok   foretell.conf: /foretell.conf, mode off' "the configuration is read"
like "$out" '^ok   agent: not running, and not needed' "without slurmd no agent is needed"
chmod 0666 "$root/foretell.conf"
run
like "$out" '^FAIL foretell.conf: .*/foretell.conf: writable by group or others .mode 0666.; use chmod go-w; a daemon of user .* does not start with it' \
  "a configuration that the daemons refuse is a failure"
chmod 0644 "$root/foretell.conf"
mkdir -m 0777 "$root/etc/foretell"
cp "$root/foretell.conf" "$root/etc/foretell"
out=$("$foretell" doctor --root="$root" --config=/etc/foretell/foretell.conf 2>&1)
like "$out" '^FAIL foretell.conf: .*/etc/foretell: writable by group' "so is one in a directory that they refuse"
rm -r "$root/etc/foretell"
run
like "$out" '^ok   state: ' "the state directory is found"
like "$out" '^warn site: cluster test was last updated .* ago' "an old site file is a warning"
like "$out" '^ok   plugstack.conf: /etc/slurm/plugstack.d/foretell.conf: optional' \
  "plugstack.conf and its included files are read"
like "$out" '^ok   plugin: /usr/lib/slurm/spank_foretell.so, built for Slurm [0-9.]+' \
  "the plugin's Slurm release is read from its file"
if [ "$(id -u)" = 0 ]; then
  like "$out" '^FAIL models: .*/4711 is not readable by its user' "a directory that its user cannot read is a failure"
  if setfacl -m u:4711:rx "$root/state/models/4711" 2>/dev/null; then
    run
    like "$out" '^ok   models: of 1 user' "a directory with an access control list is correct"
  else
    skip "a directory with an access control list is correct" "no setfacl, or none on this file system"
  fi
else
  skip "a directory that its user cannot read is a failure" "not root"
  skip "a directory with an access control list is correct" "not root"
fi
chmod 0755 "$root/state/models/4711"
run
like "$out" '^FAIL models: .*/4711 is readable by all users' "a directory that all users can read is a failure"
is "$status" 1 "a failure gives exit status 1"
cp "$root/state/site" "$root/site"
NO_SLURM=1 "$build/tests/cli/make_state" "$root/no-slurm" 4711 || exit 1
cp "$root/no-slurm/site" "$root/state/site"
run
like "$out" '^FAIL site: Slurm has not replied to foretell-learnd yet' "that Slurm has never replied is a failure"
unlike "$out" '_Memory' "and Slurm's settings are not judged"
mv "$root/site" "$root/state/site"
mv "$root/state/models" "$root/state/no-models"
run
like "$out" '^note models: .*; no models yet$' "a site without models yet needs no action"
mv "$root/state/no-models" "$root/state/models"

echo slurmd >"$root/proc/77/comm"
run
like "$out" '^FAIL agent: /agent.sock: ' "with slurmd an agent is needed"
echo 'required spank_foretell.so state=/state' >"$root/etc/slurm/plugstack.d/foretell.conf"
run
like "$out" '^FAIL plugstack.conf: .* required on a host that runs slurmd' \
  "with slurmd the plugin must not be required"
echo bash >"$root/proc/77/comm"
run
like "$out" '^ok   plugstack.conf: .*: required' "on a login node the plugin may be required"
echo 'optional /elsewhere/spank_foretell.so' >>"$root/etc/slurm/plugstack.conf"
run
like "$out" '^FAIL plugstack.conf: .* is named 2 times' "a plugin named twice is a failure"
like "$out" '^FAIL plugin: ' "a missing plugin file is a failure"
echo '# nothing' >"$root/etc/slurm/plugstack.conf"
run
like "$out" '^FAIL plugstack.conf: /etc/slurm/plugstack.conf does not name spank_foretell.so; add: include ' \
  "without the plugin's line the message suggests one"
echo 'reject_probability = 0.9' >>"$root/foretell.conf"
echo 'optional spank_foretell.so' >"$root/etc/slurm/plugstack.conf"
run
like "$out" '^FAIL plugstack.conf: .* state_dir is /state; add state=/state there' \
  "plugin and agent must have the same state directory"
echo 'optional spank_foretell.so state=/state' >"$root/etc/slurm/plugstack.conf"
run
like "$out" '^warn plugstack.conf: .* optional, so that rejected jobs are submitted nevertheless' \
  "rejection with an optional plugin is a warning"
# one machine, on which users submit and jobs run
echo slurmd >"$root/proc/77/comm"
run
like "$out" '^note plugstack.conf: .* optional, so that jobs submitted on this host are not rejected' \
  "with slurmd the plugin may be optional at a site that rejects"
echo 'required spank_foretell.so state=/state' >"$root/etc/slurm/plugstack.conf"
run
like "$out" '^note plugstack.conf: .* required, so that jobs submitted on this host can be rejected' \
  "and it may be required"
echo bash >"$root/proc/77/comm"
echo 'optional spank_foretell.so state=/state' >"$root/etc/slurm/plugstack.conf"
# a plugin of another release: overwrites the version that sbatch compares
python3 - "$plugin" "$root/usr/lib/slurm/spank_foretell.so" <<'END'
import subprocess, sys
data = bytearray(open(sys.argv[1], "rb").read())
symbols = subprocess.run(["readelf", "-sW", sys.argv[1]], capture_output=True, text=True).stdout
sections = subprocess.run(["readelf", "-SW", sys.argv[1]], capture_output=True, text=True).stdout
address = next(int(l.split()[1], 16) for l in symbols.splitlines() if l.endswith(" plugin_version"))
for line in sections.splitlines():
    word = line.replace("[ ", "[").split()
    if len(word) > 5 and word[0].startswith("[") and word[3].isalnum():
        try:
            begin, at, size = (int(x, 16) for x in word[3:6])
        except ValueError:
            continue
        if begin <= address < begin + size:
            offset = at + address - begin
            data[offset:offset + 4] = (19 << 16 | 5 << 8 | 1).to_bytes(4, "little")
open(sys.argv[2], "wb").write(data)
END
run
like "$out" '^FAIL plugin: .* built for Slurm 19.05.1, .* fail with "unrecognized option"; build it again' \
  "a plugin of another release is a failure with its effect"
head -c 3000 "$plugin" >"$root/usr/lib/slurm/spank_foretell.so"
run
like "$out" '^FAIL plugin: .* not a SPANK plugin' "a truncated plugin is a failure"
cp /bin/true "$root/usr/lib/slurm/spank_foretell.so"
run
like "$out" '^FAIL plugin: .* no symbol plugin_version' "another program in place of the plugin is a failure"
echo 'modus = off' >>"$root/foretell.conf"
run
like "$out" '^FAIL foretell.conf: .*: line [0-9]+: ' "a wrong configuration is a failure with its line"

# The name of a job's cgroup comes from a running job: slurmstepd's task is process 91.
mkdir -p "$root"/proc/{90,91}
unlike "$out" '^[a-zA-Z]+ +job cgroups:' "without a mount of cgroups there is no such check"
echo '31 1 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw' >"$root/proc/self/mountinfo"
echo slurmstepd >"$root/proc/90/comm"
echo bash >"$root/proc/91/comm"
printf 'Name:\tbash\nPPid:\t90\n' >"$root/proc/91/status"
for folder in job_17 s7JDM817Z5HE00; do
  echo "0::/system.slice/slurmstepd.scope/$folder/step_0/slurm" >"$root/proc/90/cgroup"
  echo "0::/system.slice/slurmstepd.scope/$folder/step_0/user/task_0" >"$root/proc/91/cgroup"
  run
  case $folder in
  job_17) like "$out" '^ok   job cgroups: .*/job_17, named by the job.s number' "a cgroup named by the job's number is recognised" ;;
  *) like "$out" "^ok   job cgroups: .*/$folder, named by Slurm's identifier" "a cgroup named by Slurm's identifier is recognised" ;;
  esac
done
echo "0::/system.slice/slurmd.service" | tee "$root/proc/90/cgroup" >"$root/proc/91/cgroup"
run
like "$out" '^[a-z]+ +job cgroups: (none|a job runs here and has none)' "a job without a cgroup is reported"
rm -r "$root"/proc/{90,91}

# A state directory that hangs blocks no check.
hung=$root/hung
mkdir "$hung"
echo 'state_dir = /hung' >"$root/hung.conf"
"${FT_TOP_SRCDIR:-.}/tests/slurm/hang-mount" "$hung" >"$root/mounted" 2>&1 &
hanging=$!
wait_until 5 test -s "$root/mounted"
if grep -q mounted "$root/mounted"; then
  out=$(timeout 20 "$foretell" doctor --root="$root" --config=/hung.conf 2>&1)
  is "$?" 1 "a state directory that hangs gives exit status 1"
  like "$out" "^FAIL state: $hung: no answer within 2 s; check its file server" "the message states that it hangs"
  is "$(grep -cE '^[a-zA-Z]+ +(site|store|models):' <<<"$out")" 0 "only one line is about it"
  like "$out" '^[a-zA-Z]+ +plugstack.conf: ' "checks that do not need it are made"
  like "$out" '^[a-zA-Z]+ +rss: ' "the last checks are made"
else
  skip "a state directory that hangs gives exit status 1" "$(cat "$root/mounted")"
fi
kill "$hanging" 2>/dev/null
wait_child 60 "$hanging"
umount "$hung" 2>/dev/null

# A daemon that has ended: its last line in the journal, here of a stand-in for journalctl.
mkdir "$root/bin"
cp "$(command -v sleep)" "$root/bin/slurmd"
printf '#!/bin/sh\necho "$*: no space left"\n' >"$root/bin/journalctl"
chmod 0755 "$root/bin/journalctl"
printf '%s\n' "state_dir = $root/state" "socket = $root/gone" >"$root/ended.conf"
"$root/bin/slurmd" 60 &
slurmd=$!
wait_until 20 grep -qx slurmd "/proc/$slurmd/comm"
out=$(PATH=$root/bin:$PATH "$foretell" doctor --config="$root/ended.conf" 2>&1)
like "$out" '^FAIL agent: .*/gone: No such file or directory; .*; its last log line: "-q .* -t foretelld: no space left"; correct that' \
  "the last log line of a daemon that has ended is in the finding"
printf '#!/bin/sh\n' >"$root/bin/journalctl"
out=$(PATH=$root/bin:$PATH "$foretell" doctor --config="$root/ended.conf" 2>&1)
like "$out" '^FAIL agent: .*: systemctl enable --now foretelld$' "one that has logged nothing is to be enabled"
kill "$slurmd"
wait_child 20 "$slurmd" 2>/dev/null

# the daemons' users, where doctor runs as root: the owners of their sockets
if [ "$(id -u)" = 0 ]; then
  chmod 0755 "$root"
  printf '%s\n' "state_dir = $root/state" "socket = $root/socket" >"$root/real.conf"
  touch "$root/socket"
  chown 65534 "$root/socket"
  chmod 0644 "$root/real.conf"
  like "$("$foretell" doctor --config="$root/real.conf")" '^ok   foretell.conf: ' "a configuration that the agent's user can read is correct"
  chmod 0600 "$root/real.conf"
  like "$("$foretell" doctor --config="$root/real.conf")" '^FAIL foretell.conf: .*/real.conf: Permission denied; a daemon of user [a-z0-9]+ does not start with it' \
    "one that the agent's user cannot read is a failure"
else
  skip "a configuration that the agent's user can read is correct" "not root"
  skip "one that the agent's user cannot read is a failure" "not root"
fi

# Names in foretell.conf that nothing has.
cat >"$root/names.conf" <<END
state_dir = $root/state
# two lines of
# comment
agent_users = "root, 4711,rooot"
partition "main" { mode = check }
partition "mian" { mode = check }
partition "elsewhere" { mode = check } user "root" { quiet = yes }
user root2 {
  mode = check
}
account "bio" { mode = check }
account "bio-chem" { mode = check }
END
names() { sed -n "s,^[a-zA-Z]* *foretell.conf: $root/names.conf: ,,p" <<<"$out"; }
# doctor_here: runs foretell doctor on this host with names.conf
doctor_here() { out=$("$foretell" doctor --config="$root/names.conf" 2>&1); }
printf '#!/bin/sh\nexit 1\n' >"$root/bin/sacctmgr"
chmod 0755 "$root/bin/sacctmgr"
echo "slurm_bin = $root/bin" >>"$root/names.conf"
doctor_here
is "$(names)" 'line 4: there is no user "rooot" on this host; did you mean "root"?
line 8: there is no user "root2" on this host; did you mean "root"?
line 6: there is no partition "mian" in Slurm; did you mean "main"?
line 7: there is no partition "elsewhere" in Slurm' "names that nothing has are found, with line and the nearest name"
like "$out" '^warn foretell.conf: .* line 6: ' "they are warnings"
printf '#!/bin/sh\nprintf "%%s\\n" root bio physics\n' >"$root/bin/sacctmgr"
doctor_here
if [ "$(id -u)" = 0 ]; then
  like "$(names)" 'line 12: there is no account "bio-chem" in Slurm.s database$' "so are accounts, where Slurm has a database"
  is "$(names | wc -l)" 5 "an account that is there is none of them"
else
  skip "so are accounts, where Slurm has a database" "not root"
  skip "an account that is there is none of them" "not root"
fi
for i in $(seq 20); do
  echo "partition \"none$i\" { mode = check }"
done >>"$root/names.conf"
doctor_here
like "$out" '^warn foretell.conf: .*names.conf: 1[67] more names are unknown$' "of many, some are named"
rm "$root/state/partitions/.all"
doctor_here
unlike "$out" 'there is no partition' "partitions that are not known yet are no finding"

run --json
printf '%s' "$out" | python3 -c 'import json, sys
checks = json.load(sys.stdin)["checks"]
assert checks and all(set(c) == {"name", "status", "text"} for c in checks)
assert {c["status"] for c in checks} <= {"ok", "note", "warn", "fail"}'
ok $? "--json has name, status and text of each check"
"$foretell" doctor --nothing 2>/dev/null
is "$?" 2 "an unknown option is wrong usage"

tap_done
