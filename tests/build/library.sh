#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A stranger's program: docs/example.c against the installed header and library alone. It prints what the command prints.
. "${FT_TOP_SRCDIR:?}/tests/slurm/tap.sh"
cd "${FT_TOP_BUILDDIR:?}" || exit 1
need pkg-config
need python3
unset MAKEFLAGS MFLAGS MAKELEVEL
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ft-XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

make -s install-libLTLIBRARIES install-includeHEADERS install-pkgconfigDATA DESTDIR="$scratch" >/dev/null 2>&1
pc=$(find "$scratch" -name foretell.pc)
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$scratch PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
read -ra flags <<<"$(sed -n 's/^SANITIZER_FLAGS = //p' Makefile) $(pkg-config --cflags --libs foretell)"
read -ra compiler <<<"$(sed -n 's/^CC = //p' Makefile)"
is "$("${compiler[@]}" -std=c11 -Wall -Wextra -Wpedantic -Werror "$FT_TOP_SRCDIR/docs/example.c" "${flags[@]}" \
  -o "$scratch/example" 2>&1)" "" "the example compiles with the installed header and library, without a warning"
is "$(cd "$scratch" && echo '#include <foretell.h>' >header.cc &&
  c++ -Wall -Wextra -Werror -fsyntax-only "${flags[@]}" header.cc 2>&1)" "" "C++ reads the header, too"

export LD_LIBRARY_PATH=${pc%/pkgconfig/*}
tests/cli/make_state "$scratch/state" "$(id -u)"
# forecast OPTION=VALUE...: what the library says of the app
forecast() {
  "$scratch/example" "$scratch/state" "$(id -u)" unet3d "$@" 2>&1
}
# command_says OPTION...: what the command says, in the same form
command_says() {
  predictor/cli/foretell predict --state="$scratch/state" --app=unet3d --json "$@" | python3 -c 'import json, sys
told = json.load(sys.stdin)
for name in "peak_memory_bytes", "gpu_memory_bytes", "runtime_seconds", "energy_joules":
    q = told[name]
    print(name + ": " + ("%.0f, 95 %% below %.0f" % (q["p50"], q["p95"]) if q else "not known"))
d = told["decision"]
print("decision: %s, %d bytes, by rule %s" % (d["action"], d["mem_bytes"] or 0, d["rule"]))'
}
# compare OPTION=VALUE...: both, without what only one of them prints
compare() {
  local option options=()
  for option in "$@"; do
    options+=("--${option/predict-mem/mode}")
  done
  is "$(forecast "$@" | sed 's/ bytes (.*//')" "$(command_says "${options[@]}")" "the command's numbers and decision: $*"
}
compare predict-mem=set params=batch=32,arch=resnet50
compare predict-mem=raise params=batch=64,arch=vgg mem=1G
compare predict-mem=trim params=batch=8,arch=unet mem=100G ntasks=2 partition=main
compare predict-mem=check params=batch=32,arch=resnet50 mem=100M time=1:00:00
like "$(forecast mem=lots)" '^example: mem: expected a memory size' "an error is one line, and says what was expected"
like "$(forecast memory=1G)" '^example: memory: no such option' "as of an option that does not exist"
tap_done
