# SPDX-License-Identifier: GPL-3.0-or-later
# Shared by the tests of foretell(1); sourced. $scratch is the test's own and removed at its end.
. "${FT_TOP_SRCDIR:-.}/tests/slurm/tap.sh"
. "${FT_TOP_SRCDIR:-.}/tests/slurm/wait.sh"

foretell=${FT_TOP_BUILDDIR:-build}/predictor/cli/foretell
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C

# run ARGUMENT...: runs foretell; sets $out, $err and $status
run() {
  out=$("$foretell" "$@" 2>"$scratch/err")
  status=$?
  err=$(cat "$scratch/err")
}

# json PATH: prints the value in $out at PATH (keys and indices with dots between); an object's keys. It
# uses python3, which the build needs anyway, instead of jq.
json() {
  printf '%s' "$out" | python3 -c 'import json, sys
value = json.load(sys.stdin)
for word in filter(None, sys.argv[1].split(".")):
    value = value[int(word)] if isinstance(value, list) else value[word]
print(" ".join(value) if isinstance(value, dict) else json.dumps(value))' "$1" 2>&1
}
