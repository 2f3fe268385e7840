#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A state directory on a file system without access control lists: users get their own models from the learner.
: "${FT_TOP_SRCDIR:?}" "${FT_TOP_BUILDDIR:?}"
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
[ "$(id -u)" = 0 ] || { skip "users get their models from the learner" "not root"; tap_done; exit; }
need setpriv unshare mount python3
# a mount of this test's own
[ -n "${FT_OWN_MOUNTS-}" ] || FT_OWN_MOUNTS=1 exec "$FT_TOP_SRCDIR/tests/slurm/own-mounts" bash "$0" "$@"
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"
trap 'umount -l "$state"; finish' EXIT
alice=61001 bob=61002
export FORETELL_CONFIG=$scratch/foretell.conf

# as UID ARGUMENT...: foretell's output and error messages
as() {
  setpriv --reuid="$1" --regid="$1" --clear-groups "$foretell" "${@:2}" 2>&1
}
doctor() {
  "$foretell" doctor --config="$FORETELL_CONFIG" 2>&1 | grep ' models: '
}
# runs UID: prints how many runs a prediction of UID for alice-fold has
runs() {
  as "$1" predict --app=alice-fold --params=batch=3 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["runs"])'
}
# file UID NAME: prints the size of the file NAME that the learner gives to UID
file() {
  python3 - "$learner_socket.ask" "$state" "$2" "$1" <<'END'
import os, socket, sys
def varint(value):
    out = b""
    while value > 0x7f:
        out, value = out + bytes([value & 0x7f | 0x80]), value >> 7
    return out + bytes([value])
state, name = os.stat(sys.argv[2]), sys.argv[3].encode()
body = b"\x0a" + varint(len(name)) + name
question = (b"\x08\x01\x10" + varint(state.st_dev) + b"\x18" + varint(state.st_ino) + varint(70 << 3 | 2) +
            varint(len(body)) + body)
os.setresuid(*[int(sys.argv[4])] * 3)
client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
client.settimeout(60)
client.connect(sys.argv[1])
client.send(question)
_, files, _, _ = socket.recv_fds(client, 4096, 4)
print(*(os.fstat(fd).st_size > 0 and os.pread(fd, 8, 0).decode() for fd in files))
END
}

mkdir "$state" && mount -t ramfs -o mode=0755 none "$state"
ok $? "a file system without access control lists"
config
start
for job in 1 2 3 4 5 6; do
  "$announce" "$socket" job=1$job uid=$alice app=alice-fold feature=batch:$job -- true
done
"$announce" "$socket" job=21 uid=$bob app=bob-secret feature=batch:1 -- true
wait_until 60 model alice-fold $alice && wait_until 60 model bob-secret $bob
ok $? "runs of two users are learned"
like "$(cat "$scratch/log")" 'no access control list: .*; submissions on this host get models from foretell-learnd' \
  "the learner's log has it"
is "$(stat -c '%a %u' "$state/models/$alice")" "700 0" "only the learner can read the models"
has_runs() {
  [ "$(runs "$1")" = "$2" ]
}
wait_until 60 has_runs $alice 6
ok $? "a user's prediction has the user's runs"
is "$(runs $bob)" 0 "another user's does not"
like "$(doctor)" '^ok   models: of 2 users; 2 without an access control list, for whom foretell-learnd on this host' \
  "doctor finds that the learner reads them"

# ---- many submissions of one user at once, beside commands of the same user that never ask. On a busy machine a
# submission gives up before the learner has had its turn; it tries again while those commands stay connected.
python3 - "$learner_socket.ask" $alice "$scratch/answered" <<'END' &
import os, socket, sys, time
end = time.monotonic() + 300
os.setresuid(*[int(sys.argv[2])] * 3)
idle = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for i in range(8)]
for client in idle:
    client.connect(sys.argv[1])
while not os.path.exists(sys.argv[3]) and time.monotonic() < end:
    time.sleep(0.05)
END
idle=$!
asked=
for i in {1..40}; do
  wait_until 60 has_runs $alice 6 &
  asked="$asked $!"
done
answered=0
for one in $asked; do
  wait "$one" && answered=$((answered + 1))
done
touch "$scratch/answered"
wait_child 60 $idle
is $answered 40 "forty predictions of one user at once have the user's runs"

# ---- who gets which file

name=$(basename "$(model alice-fold $alice)")
is "$(file $alice "$name")" foretell "a user gets a file of the user's own"
is "$(file $bob "$name")" "" "another user does not"
for name in "../$alice/$name" "/etc/passwd" ".." "." "" "../../store.db"; do
  is "$(file $bob "$name")" "" "nor by the name \"$name\""
done

# ---- the learner does not answer

kill -STOP "$learner_pid"
like "$(as $alice predict --app=alice-fold --params=batch=3)" 'only foretell-learnd may read it, and does not answer here' \
  "a hung learner is reported"
kill -CONT "$learner_pid"
wait_until 60 has_runs $alice 6
ok $? "when it goes on, the prediction has its runs again"
stop_learner
like "$(as $alice predict --app=alice-fold --params=batch=3)" 'only foretell-learnd may read it, and does not answer here' \
  "so is a stopped one"
like "$(doctor)" '^FAIL models: .*/models/6100[12] is not readable by its user, and foretell-learnd does not run on this host' \
  "doctor reports it with the remedy"
stop_agent
tap_done
