#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs all checks on Debian 12 as root: installs missing packages, makes a distribution, builds it with gcc and the
# working tree with clang and the sanitizers, and runs every test (with gcc also those with a real Slurm). Prints
# "N passed, N failed, N skipped"; exits with 0 if no test failed.
#
#   contrib/check.sh [--quick | --long] [DIRECTORY]    builds in DIRECTORY (default: build-check), which is kept
#
#   --quick  before a commit, under four minutes on two cores: builds the working tree with gcc, and runs the unit
#            tests, those of command and documents, and one with a real Slurm; in build-quick, where the next run
#            builds only what has changed
#   --long   also runs every story of tests/slurm/24-stories.sh, and each fuzz target for a
#            minute; both take many minutes
#
# While gcc's tests run, of which many wait for Slurm, the processors build and test the rest.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
unset FT_LONG
quick=
# Limits in seconds, several times the time on two busy cores.
build_limit=2400
check_limit=3600
fuzz_seconds=60 # for each target
case ${1-} in
--long)
  export FT_LONG=1
  check_limit=7200
  shift
  ;;
--quick)
  quick=quick
  shift
  ;;
-h | --help)
  sed -n '3,/^set /s/^# \{0,1\}//p' "$0"
  exit
  ;;
-*)
  echo "check.sh: no option $1; see --help" >&2
  exit 2
  ;;
esac
work=${1:-$top/build-${quick:-check}}
. "$top/contrib/packages.sh"
export FT_CI=1 LC_ALL=C.UTF-8
unset MAKEFLAGS MAKELEVEL MFLAGS
jobs=-j$(nproc)
# Tests with a Slurm or a daemon mostly wait; of clang's and the sanitizers', many compute.
test_jobs=-j$((3 * $(nproc)))
compute_jobs=-j$((2 * $(nproc)))
failed_stages=0

# stage NAME LIMIT COMMAND...: runs a function or command with its output in a log, for LIMIT seconds at most;
# then prints the result and the time
stage() {
  local name=$1 limit=$2 begun=$SECONDS status
  shift 2
  timeout -k 60 "$limit" bash -c '"$@"' "$name" "$@" >"$work/$name.log" 2>&1 </dev/null &
  wait $!
  status=$?
  if [ $status = 0 ]; then
    echo "$name: done, $((SECONDS - begun)) s"
  else
    [ $status != 124 ] && [ $status != 137 ] || echo "$name: stopped, no end within $limit s"
    failed_stages=$((failed_stages + 1))
    echo "$name: FAILED, $((SECONDS - begun)) s; the end of $work/$name.log:"
    tail -n 30 "$work/$name.log" | sed 's/^/  /'
  fi
  return $status
}

# build SOURCE NAME FLAG...: configures and builds the programs and their tests, in a directory of its own. Tests that
# run meanwhile have precedence. One program of the tests is built first, when no header is generated yet.
build() {
  local source=$1 name=$2
  shift 2
  mkdir -p "$work/$name" && cd "$work/$name" &&
    nice -n 19 "$source/configure" -q "$@" &&
    nice -n 19 make $jobs tests/agent/announce && nice -n 19 make $jobs all &&
    nice -n 19 make $jobs check TESTS=
}

# check NAME JOBS [VARIABLE=VALUE...]: runs the tests of this build, with make's option JOBS
check() {
  local name=$1 at_once=$2
  shift 2
  cd "$work/$name" && env "$@" make -k "$at_once" check
}

# quick_build, quick_check: what --quick builds and runs, as the target check-quick of the makefile has it
quick_build() {
  mkdir -p "$work/quick" && cd "$work/quick" &&
    "$top/configure" -q --enable-werror CC=gcc CFLAGS='-g -O1' && make $jobs &&
    make $jobs check-quick quick_tests=
}
quick_check() {
  cd "$work/quick" && make -k $test_jobs check-quick
}

# distribution: makes the archive and unpacks it, read-only. It has to contain everything that a build and its tests need.
distribution() {
  mkdir -p "$work/archive" && cd "$work/archive" && "$top/configure" -q CC=gcc && make $jobs dist &&
    tar -xf foretell-*.tar.xz && mv foretell-*/ "$work/source" && chmod -R a-w "$work/source"
}

# distcheck: builds the archive once more, installs and removes it. Its tests have run in the stage gcc-check.
distcheck() {
  cd "$work/archive" && nice -n 19 make $jobs distcheck TESTS= check_PROGRAMS= check_LTLIBRARIES=
}

# fuzz: runs every target from its corpus, one on each processor; leaves new and failing inputs in the build
# directory
fuzz() {
  local targets
  targets=$(sed -n 's/^fuzz_tests += //p' "$top/tests/fuzz/Makemodule.am")
  mkdir -p "$work/fuzz" && cd "$work/fuzz" &&
    "$top/configure" -q --enable-werror CC=clang CFLAGS='-g -O1' --enable-fuzz \
      --enable-sanitizers=address,undefined &&
    make $jobs check TESTS= check_PROGRAMS="$(printf '%s ' $targets)" &&
    printf '%s\n' $targets | xargs -P "$(nproc)" -I '{}' bash -c 'fuzz_one "$1"' fuzz '{}'
}

# fuzz_one TARGET: runs one target
fuzz_one() {
  local name=${1##*/fuzz_}
  mkdir -p "found/$name"
  "$1" -max_total_time="$fuzz_seconds" -timeout=20 -rss_limit_mb=4096 -verbosity=0 -print_final_stats=1 \
    -artifact_prefix="found/$name-" "found/$name" "$top/tests/fuzz/corpus/$name" || {
    echo "fuzz_$name: broken by found/$name-*"
    return 1
  }
}

# On an interrupt also ends the running stages, which have process groups of their own.
trap_signals() {
  trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM HUP
}
trap_signals
export -f install_packages build check quick_build quick_check distribution distcheck fuzz fuzz_one
export top work jobs test_jobs fuzz_seconds

if [ -e "$work" ] && [ ! -e "$work/made-by-check.sh" ]; then
  echo "check.sh: $work is there, and not from an earlier run" >&2
  exit 2
fi
if [ -n "$quick" ]; then
  find "$work" -name '*.trs' -delete 2>/dev/null
else
  chmod -R u+w "$work" 2>/dev/null
  rm -rf "$work"
fi
mkdir -p "$work" && touch "$work/made-by-check.sh" || exit 1
stage packages $build_limit install_packages $packages_build $packages_check || exit 1
stage autogen $build_limit "$top/autogen.sh" || exit 1
if [ -n "$quick" ]; then
  stage quick-build $build_limit quick_build && stage quick-check $check_limit quick_check
else
  gcc_check=
  if stage distribution $build_limit distribution &&
    stage gcc-build $build_limit build "$work/source" gcc --enable-werror CC=gcc; then
    (trap_signals; stage gcc-check $check_limit check gcc $test_jobs) &
    gcc_check=$!
  fi
  stage clang-build $build_limit build "$top" clang --enable-werror CC=clang &&
    stage clang-check $check_limit check clang $compute_jobs FT_NO_SLURM=1
  stage sanitizers-build $build_limit build "$top" sanitizers --enable-werror CC=gcc CFLAGS='-g -O1' \
    --enable-sanitizers=address,undefined &&
    stage sanitizers-check $check_limit check sanitizers $compute_jobs FT_NO_SLURM=1
  stage distcheck $build_limit distcheck
  wait $gcc_check || failed_stages=$((failed_stages + 1))
  [ -z "${FT_LONG-}" ] || stage fuzz $((build_limit + 3600)) fuzz
fi

# ---- the totals, from the .trs file that automake writes for every test
records() {
  find "$work" -name '*.trs' 2>/dev/null
}
results=$(records | xargs -r sed -n 's/^:test-result: \([A-Z]*\).*/\1/p')
count() {
  printf '%s\n' "$results" | grep -Ecx "$1"
}
records | xargs -r grep -lE '^:test-result: (FAIL|ERROR|XPASS)' | while read -r trs; do
  echo "==== ${trs%.trs}.log"
  grep -n -B 2 -A 3 '^not ok' "${trs%.trs}.log"
  echo "==== its last lines"
  tail -n 120 "${trs%.trs}.log"
done
passed=$(count 'PASS|XFAIL')
failed=$(count 'FAIL|ERROR|XPASS')
[ "$failed" -gt 0 ] || failed=$failed_stages
echo "$passed passed, $failed failed, $(count SKIP) skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
