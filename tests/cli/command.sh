# SPDX-License-Identifier: GPL-3.0-or-later
# What the tests of foretell(1) share; sourced. $scratch is theirs and goes with them.
. "${FT_TOP_SRCDIR:-.}/tests/slurm/tap.sh"
. "${FT_TOP_SRCDIR:-.}/tests/slurm/wait.sh"

foretell=${FT_TOP_BUILDDIR:-build}/predictor/cli/foretell
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C

# run WORDS...: $out, $err and $status
run() {
  out=$("$foretell" "$@" 2>"$scratch/err")
  status=$?
  err=$(cat "$scratch/err")
}

# json PATH: of $out, the keys and places with dots between; of an object its keys. jq is not
# everywhere, python3 is where the schema is compiled.
json() {
  printf '%s' "$out" | python3 -c 'import json, sys
value = json.load(sys.stdin)
for word in filter(None, sys.argv[1].split(".")):
    value = value[int(word)] if isinstance(value, list) else value[word]
print(" ".join(value) if isinstance(value, dict) else json.dumps(value))' "$1" 2>&1
}
