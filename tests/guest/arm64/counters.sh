#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests hardware counters on an emulated arm64 machine, which has some: builds
# agent/measure for it, boots Debian's kernel with only libpapi and init.c, and
# prints the TAP of init.c. Downloads are kept between runs.
set -eu

top=${FT_TOP_SRCDIR:-$(cd "$(dirname "$0")/../../.." && pwd)}
build=${FT_TOP_BUILDDIR:-$top/build}
cache=${FT_CACHE-${XDG_CACHE_HOME-${HOME-/root}/.cache}/foretell}/guest-arm64
sysroot=/usr/aarch64-linux-gnu

# cannot REASON: fails with FT_CI, where every tool must be installed; else skips the test
cannot() {
  if [ -n "${FT_CI:-}" ]; then
    echo "Bail out! $1"
    exit 1
  fi
  echo "1..0 # SKIP $1"
  exit 0
}

have() {
  command -v "$1" >/dev/null 2>&1 || cannot "$1 is not there; on Debian: apt-get install $2"
}

have qemu-system-aarch64 qemu-system-arm
have aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
have cpio cpio
have apt-get apt
have dpkg-deb dpkg
test -e "$sysroot/lib/ld-linux-aarch64.so.1" ||
  cannot "no C library for arm64; on Debian: apt-get install libc6-dev-arm64-cross"
test -e "$build/predictor/record/foretell.pb.h" || cannot "$build is not built"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/foretell-arm64.XXXXXX")
qemu=
# shellcheck disable=SC2317
finish() {
  test -z "$qemu" || kill "$qemu" 2>/dev/null || :
  rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

# ---- the guest's files: packages of this Debian, for arm64 ----

apt_here() {
  command=$1
  shift
  "$command" -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root \
    -o Dir::State="$scratch/apt" -o Dir::State::status="$scratch/apt/status" \
    -o Dir::Cache="$scratch/apt" -o Dir::Etc::Preferencesparts=/dev/null \
    -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}

download() {
  mkdir -p "$scratch/apt/lists/partial" "$scratch/apt/archives/partial" "$scratch/debs"
  : >"$scratch/apt/status"
  apt_here apt-get -q update >"$scratch/apt.log" 2>&1 || :
  kernel=$(apt_here apt-cache depends linux-image-cloud-arm64 2>>"$scratch/apt.log" |
    awk '$1 == "Depends:" { print $2; exit }')
  # libpapi7.0 of Debian 12, libpapi7.1t64 of Debian 13
  papi=$(apt_here apt-cache depends libpapi-dev 2>>"$scratch/apt.log" |
    awk '$1 == "Depends:" && $2 ~ /^libpapi/ { print $2; exit }')
  (cd "$scratch/debs" &&
    apt_here apt-get -q download "${kernel:-linux-image-cloud-arm64}" \
      "${papi:-libpapi7.0}" libpapi-dev libpfm4) >>"$scratch/apt.log" 2>&1 || {
    sed 's/^/# /' "$scratch/apt.log"
    cannot "packages for arm64 could not be downloaded"
  }
}

if ! test -e "$cache/complete"; then
  download
  for deb in "$scratch"/debs/*.deb; do
    dpkg-deb -x "$deb" "$scratch/root"
  done
  mkdir -p "$cache/lib"
  cp "$scratch"/root/boot/vmlinuz-* "$cache/vmlinuz"
  cp "$scratch"/root/usr/include/papi*.h "$cache"
  cp -L "$scratch"/root/usr/lib/aarch64-linux-gnu/libp*.so.[0-9]* "$cache/lib"
  rm -rf "$scratch/apt" "$scratch/debs" "$scratch/root"
  : >"$cache/complete"
fi

# ---- the program: agent/measure, unchanged, for arm64 ----

mkdir -p "$scratch/include" "$scratch/initrd/lib/papi" "$scratch/initrd/proc" "$scratch/initrd/sys"
printf '#define _GNU_SOURCE 1\n#define HAVE_PAPI 1\n' >"$scratch/include/config.h"
for header in /usr/include/pb.h /usr/include/nanopb/pb.h; do
  test ! -e "$header" || cp "$header" "$scratch/include"
done
cp "$cache"/papi*.h "$scratch/include"

sources="$top/tests/guest/arm64/init.c"
for source in "$top"/agent/measure/*.c "$top"/predictor/core/*.c; do
  case $source in
  */platform.c) ;; # needs hwloc and has no counters
  *) sources="$sources $source" ;;
  esac
done
# shellcheck disable=SC2086
aarch64-linux-gnu-gcc -std=c11 -O2 -Wall -I"$scratch/include" -I"$top" -I"$build" \
  -Wl,--disable-new-dtags,-rpath,/lib/papi -o "$scratch/initrd/init" $sources -lm 2>"$scratch/gcc.log" || {
  sed 's/^/# /' "$scratch/gcc.log"
  echo "Bail out! the guest's program does not compile"
  exit 1
}
cp -L "$sysroot"/lib/ld-linux-aarch64.so.1 "$sysroot"/lib/libc.so.6 "$sysroot"/lib/libm.so.6 \
  "$scratch/initrd/lib"
cp "$cache"/lib/* "$scratch/initrd/lib/papi"
(cd "$scratch/initrd" && find . | cpio --quiet -o -H newc | gzip -1) >"$scratch/initrd.gz"

# ---- the machine ----

# -icount: an instruction takes a nanosecond of the guest's clock, so that its counters are exact.
# cortex-a57: libpfm and PAPI recognise this processor, but not "max".
timeout 1500 qemu-system-aarch64 -M virt -cpu cortex-a57 -m 512 -nographic -nodefaults \
  -serial stdio -icount shift=0 -kernel "$cache/vmlinuz" -initrd "$scratch/initrd.gz" \
  -append "console=ttyAMA0 quiet panic=-1" -no-reboot </dev/null >"$scratch/console" 2>&1 &
qemu=$!
status=0
wait "$qemu" || status=$?
qemu=

tr -d '\r' <"$scratch/console" | sed -n 's/^.*TAP \(ok\|not ok\|1\.\.\|Bail\)/\1/p' >"$scratch/tap"
cat "$scratch/tap"
if ! grep -q '^1\.\.' "$scratch/tap"; then
  tail -n 40 "$scratch/console" | tr -d '\r' | sed 's/^/# /'
  echo "Bail out! the guest did not finish (qemu's status $status)"
  exit 1
fi
