# SPDX-License-Identifier: GPL-3.0-or-later
# The Test Anything Protocol for shell tests; sourced. Each test ends with tap_done,
# which prints its plan, or with tap_skip_all.

tap_count=0
tap_failed=0

# ok STATUS NAME: passes if STATUS is 0
ok() {
  tap_count=$((tap_count + 1))
  if [ "$1" = 0 ]; then
    echo "ok $tap_count - $2"
  else
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_count - $2"
    return 1
  fi
}

# diag [TEXT...]: prints TEXT or, without it, standard input as TAP comments
diag() {
  if [ $# -gt 0 ]; then
    echo "$*" | sed 's/^/# /'
  else
    sed 's/^/# /'
  fi
}

# ignore_fontconfig: what fontconfig keeps until a process ends is no leak for LeakSanitizer; writes a file in $scratch
ignore_fontconfig() {
  echo leak:libfontconfig >"$scratch/lsan"
  export LSAN_OPTIONS="${LSAN_OPTIONS-}:print_suppressions=0:suppressions=$scratch/lsan"
}

# is GOT WANTED NAME
is() {
  if [ "$1" = "$2" ]; then
    ok 0 "$3"
  else
    ok 1 "$3"
    diag "got:    $1"
    diag "wanted: $2"
    return 1
  fi
}

# like TEXT PATTERN NAME: an extended regular expression, matched line by line
like() {
  if printf '%s\n' "$1" | grep -Eq -- "$2"; then
    ok 0 "$3"
  else
    ok 1 "$3"
    diag "text:    $1"
    diag "pattern: $2"
    return 1
  fi
}

# unlike TEXT PATTERN NAME
unlike() {
  if printf '%s\n' "$1" | grep -Eq -- "$2"; then
    ok 1 "$3"
    diag "text:     $1"
    diag "unwanted: $2"
    return 1
  fi
  ok 0 "$3"
}

# skip NAME REASON: reports the test point NAME as skipped
skip() {
  tap_count=$((tap_count + 1))
  echo "ok $tap_count - $1 # SKIP $2"
}

# tap_skip_all REASON: skips the whole test. With FT_CI, where every tool is
# installed, the test fails instead.
tap_skip_all() {
  if [ -n "${FT_CI-}" ]; then
    echo "1..1"
    echo "not ok 1 - $1"
    exit 1
  fi
  echo "1..0 # SKIP $1"
  exit 0
}

# need PROGRAM...: skips the whole test if a program is not installed
need() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || tap_skip_all "$program is not installed"
  done
}

# bail REASON: ends the test at once, as failed: what would follow waits in vain
bail() {
  echo "Bail out! $*"
  exit 1
}

tap_done() {
  echo "1..$tap_count"
  [ "$tap_failed" = 0 ]
}
