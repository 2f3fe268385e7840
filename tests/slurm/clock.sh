# SPDX-License-Identifier: GPL-3.0-or-later
# A wrong clock, for shell tests; sourced (bash). Programs that run with LD_PRELOAD=$fault_clock and FT_FAULT_CLOCK=FILE
# (tests/bench/fault_clock.c) have it, and follow each change at once.
fault_clock=$FT_TOP_BUILDDIR/tests/bench/.libs/fault_clock.so

# set_clock FILE SECONDS: the clock is SECONDS ahead; negative: behind
set_clock() {
  python3 -c 'import os, struct, sys
os.pwrite(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644), struct.pack("q", int(sys.argv[2])), 0)' "$1" "$2"
}
