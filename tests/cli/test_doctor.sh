#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell doctor, on folders that stand for a node.
. "${FT_TOP_SRCDIR:-.}/tests/slurm/tap.sh"
. "${FT_TOP_SRCDIR:-.}/tests/slurm/wait.sh"

build=${FT_TOP_BUILDDIR:-build}
foretell=$build/predictor/cli/foretell
plugin=$build/.libs/spank_foretell.so
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
export LC_ALL=C
unset SLURM_CONF

# run: $out and $status
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
like "$out" '^ok   agent: none runs here, and none is needed' "no agent is needed where no slurmd is"
like "$out" '^ok   state: ' "the state folder is found"
like "$out" '^warn site: cluster test was last looked at .* ago' "an old site file is warned of"
like "$out" '^ok   plugstack.conf: /etc/slurm/plugstack.d/foretell.conf: optional' \
  "plugstack.conf and what it includes are read"
like "$out" '^ok   plugin: /usr/lib/slurm/spank_foretell.so, built for Slurm [0-9.]+' \
  "the plugin's Slurm is read from the file"
if [ "$(id -u)" = 0 ]; then
  like "$out" '^FAIL models: .*/4711 cannot be read by its user' "a folder that its user cannot read fails"
  if setfacl -m u:4711:rx "$root/state/models/4711" 2>/dev/null; then
    run
    like "$out" '^ok   models: of 1 user' "with an access control list it is right"
  else
    skip "with an access control list it is right" "no setfacl, or none on this file system"
  fi
else
  skip "a folder that its user cannot read fails" "not root"
  skip "with an access control list it is right" "not root"
fi
chmod 0755 "$root/state/models/4711"
run
like "$out" '^FAIL models: .*/4711 can be read by everybody' "a folder that all can read fails"
is "$status" 1 "and the answer is negative"

echo slurmd >"$root/proc/77/comm"
run
like "$out" '^FAIL agent: /agent.sock: ' "where slurmd runs an agent is needed"
echo 'required spank_foretell.so state=/state' >"$root/etc/slurm/plugstack.d/foretell.conf"
run
like "$out" '^FAIL plugstack.conf: .* required on a host that runs slurmd' \
  "required has no place where slurmd runs"
echo bash >"$root/proc/77/comm"
run
like "$out" '^ok   plugstack.conf: .*: required' "but where users log in"
echo 'optional /elsewhere/spank_foretell.so' >>"$root/etc/slurm/plugstack.conf"
run
like "$out" '^FAIL plugstack.conf: .* is named 2 times' "it is named once only"
like "$out" '^FAIL plugin: ' "a plugin that is not there fails"
echo '# nothing' >"$root/etc/slurm/plugstack.conf"
run
like "$out" '^FAIL plugstack.conf: /etc/slurm/plugstack.conf does not name spank_foretell.so; add: include ' \
  "where it is not named, what to add is said"
echo 'reject_probability = 0.9' >>"$root/foretell.conf"
echo 'optional spank_foretell.so' >"$root/etc/slurm/plugstack.conf"
run
like "$out" '^FAIL plugstack.conf: .* state_dir is /state: say state=/state there' \
  "plugin and agent have to mean the same folder"
echo 'optional spank_foretell.so state=/state' >"$root/etc/slurm/plugstack.conf"
run
like "$out" '^warn plugstack.conf: .* optional, so that a rejection is said' \
  "rejecting through an optional plugin is warned of"
# of another release: the version that sbatch compares is overwritten
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
like "$out" '^FAIL plugin: .* built for Slurm 19.05.1, .* fail with "unrecognized option": build it anew' \
  "of another release's plugin is said what it does to scripts"
head -c 3000 "$plugin" >"$root/usr/lib/slurm/spank_foretell.so"
run
like "$out" '^FAIL plugin: .* not a SPANK plugin' "a plugin that is cut off fails"
cp /bin/true "$root/usr/lib/slurm/spank_foretell.so"
run
like "$out" '^FAIL plugin: .* no symbol plugin_version' "so does another program"
echo 'modus = off' >>"$root/foretell.conf"
run
like "$out" '^FAIL foretell.conf: .*: line [0-9]+: ' "a configuration that is wrong is named by its line"

# what Slurm calls the cgroups of its jobs is told by one that runs: slurmstepd's task is 91
mkdir -p "$root"/proc/{90,91}
unlike "$out" '^[a-zA-Z]+ +job cgroups:' "without a mount of cgroups nothing is said of them"
echo '31 1 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw' >"$root/proc/self/mountinfo"
echo slurmstepd >"$root/proc/90/comm"
echo bash >"$root/proc/91/comm"
printf 'Name:\tbash\nPPid:\t90\n' >"$root/proc/91/status"
for folder in job_17 s7JDM817Z5HE00; do
  echo "0::/system.slice/slurmstepd.scope/$folder/step_0/slurm" >"$root/proc/90/cgroup"
  echo "0::/system.slice/slurmstepd.scope/$folder/step_0/user/task_0" >"$root/proc/91/cgroup"
  run
  case $folder in
  job_17) like "$out" '^ok   job cgroups: .*/job_17, by the job.s number' "a job's cgroup by its number" ;;
  *) like "$out" "^ok   job cgroups: .*/$folder, by Slurm's identifier" "and by Slurm's identifier" ;;
  esac
done
echo "0::/system.slice/slurmd.service" | tee "$root/proc/90/cgroup" >"$root/proc/91/cgroup"
run
like "$out" '^[a-z]+ +job cgroups: (none|a job runs here and has none)' "a job without one is seen"
rm -r "$root"/proc/{90,91}

# what is not right in a folder that hangs cannot be told, and holds up nobody
hung=$root/hung
mkdir "$hung"
echo 'state_dir = /hung' >"$root/hung.conf"
"${FT_TOP_SRCDIR:-.}/tests/slurm/hang-mount" "$hung" >"$root/mounted" 2>&1 &
hanging=$!
wait_until 5 test -s "$root/mounted"
if grep -q mounted "$root/mounted"; then
  out=$(timeout 20 "$foretell" doctor --root="$root" --config=/hung.conf 2>&1)
  is "$?" 1 "a state folder that hangs is a negative answer"
  like "$out" "^FAIL state: $hung: no answer within 2 s: is its file server gone" "which says so"
  is "$(grep -cE '^[a-zA-Z]+ +(site|store|models):' <<<"$out")" 0 "in one line"
  like "$out" '^[a-zA-Z]+ +plugstack.conf: ' "and what does not need it is checked"
  like "$out" '^[a-zA-Z]+ +rss: ' "to the end"
else
  skip "a state folder that hangs" "$(cat "$root/mounted")"
fi
kill "$hanging" 2>/dev/null
wait_child 60 "$hanging"
umount "$hung" 2>/dev/null

run --json
printf '%s' "$out" | python3 -c 'import json, sys
checks = json.load(sys.stdin)["checks"]
assert checks and all(set(c) == {"name", "status", "text"} for c in checks)
assert {c["status"] for c in checks} <= {"ok", "warn", "fail"}'
ok $? "--json gives name, status and text of each check"
"$foretell" doctor --nothing 2>/dev/null
is "$?" 2 "an unknown option is wrong usage"

tap_done
