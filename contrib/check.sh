#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Everything that is checked, on a Debian 12 as root: installs what is needed,
# builds with gcc, clang and the sanitizers, runs every test (those with a real
# Slurm included) and makes a distribution. Ends with "N passed, N failed, N skipped";
# fails unless nothing failed.
#
#   contrib/check.sh [--long] [FOLDER]    builds in FOLDER (default: build-check), which is kept
#
#   --long   every story of tests/slurm/24-stories.sh, too, which takes many minutes
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
unset FT_LONG
check_limit=3600 # seconds
if [ "${1-}" = --long ]; then
  export FT_LONG=1
  check_limit=7200
  shift
fi
work=${1:-$top/build-check}
. "$top/contrib/packages.sh"
export FT_CI=1 LC_ALL=C.UTF-8
unset MAKEFLAGS MAKELEVEL MFLAGS
jobs=-j$(nproc)
failed_stages=0

# stage NAME COMMAND...: runs it with its output in a log; says how it went and how long it took
stage() {
  local name=$1 begun=$SECONDS status
  shift
  "$@" >"$work/$name.log" 2>&1 </dev/null
  status=$?
  if [ $status = 0 ]; then
    echo "$name: done, $((SECONDS - begun)) s"
  else
    failed_stages=$((failed_stages + 1))
    echo "$name: FAILED, $((SECONDS - begun)) s; the end of $work/$name.log:"
    tail -n 30 "$work/$name.log" | sed 's/^/  /'
  fi
  return $status
}

# build NAME FLAG...: configure and make all that is checked, in a folder of its own
build() {
  local name=$1
  shift
  mkdir -p "$work/$name" && cd "$work/$name" &&
    "$top/configure" -q "$@" && make $jobs && make $jobs check TESTS=
}

# check NAME [VARIABLE=VALUE...]
check() {
  local name=$1
  shift
  cd "$work/$name" && env "$@" timeout -k 30 $check_limit make -k $jobs check
}

distribution() {
  cd "$work/gcc" && FT_NO_SLURM=1 FT_CI= make $jobs distcheck
}

if [ -e "$work" ] && [ ! -e "$work/made-by-check.sh" ]; then
  echo "check.sh: $work is there, and not from an earlier run" >&2
  exit 2
fi
rm -rf "$work"
mkdir -p "$work" && touch "$work/made-by-check.sh" || exit 1
stage packages install_packages $packages_build $packages_check || exit 1
stage autogen "$top/autogen.sh" || exit 1
stage gcc-build build gcc --enable-werror CC=gcc && stage gcc-check check gcc
stage clang-build build clang --enable-werror CC=clang &&
  stage clang-check check clang FT_NO_SLURM=1
stage sanitizers-build build sanitizers --enable-werror CC=gcc CFLAGS='-g -O1' \
  --enable-sanitizers=address,undefined &&
  stage sanitizers-check check sanitizers FT_NO_SLURM=1
stage distcheck distribution

# ---- the sum, from what automake recorded of every test
records() {
  find "$work/gcc" "$work/clang" "$work/sanitizers" -name '*.trs' \
    -not -path '*/foretell-[0-9]*/*' 2>/dev/null
}
results=$(records | xargs -r sed -n 's/^:test-result: \([A-Z]*\).*/\1/p')
count() {
  printf '%s\n' "$results" | grep -Ecx "$1"
}
records | xargs -r grep -lE '^:test-result: (FAIL|ERROR|XPASS)' | while read -r trs; do
  echo "==== ${trs%.trs}.log"
  tail -n 120 "${trs%.trs}.log"
done
passed=$(count 'PASS|XFAIL')
failed=$(count 'FAIL|ERROR|XPASS')
[ "$failed" -gt 0 ] || failed=$failed_stages
echo "$passed passed, $failed failed, $(count SKIP) skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
