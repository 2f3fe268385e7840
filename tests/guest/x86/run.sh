#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests foretell on a machine with cgroup v2 only: qemu emulates Debian's cloud kernel with
# this machine's Slurm, munge and foretell in an initrd. The tests are in guest.sh; their
# TAP is read from the serial line.
# FT_GATHER=DIR: writes contrib/gather-proc's output for a running job to
# DIR/proc-slurm-RELEASE.files, and with cgroups named by job number
# to DIR/proc-slurm-RELEASE-job.files: fixtures of tests/unit.
FT_TOP_SRCDIR=${FT_TOP_SRCDIR-$(cd "$(dirname "$0")/../../.." && pwd)}
[ "$(uname -m)" = x86_64 ] || { echo "1..0 # SKIP the guest is x86_64"; exit 0; }
. "$FT_TOP_SRCDIR/tests/slurm/play.sh"
need qemu-system-x86_64 apt-get dpkg-deb cpio gzip
PATH=$PATH:/usr/sbin:/sbin

work=$(mktemp -d "${TMPDIR:-/tmp}/ft-guest-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# Kernel and busybox are kept between runs.
cache=${FT_CACHE-${XDG_CACHE_HOME-${HOME-/root}/.cache}/foretell}/guest-x86
mkdir -p "$cache" || exit 1
apt_get() {
  apt-get -qq -o APT::Sandbox::User=root -o Dir::State::Lists="$cache/lists" \
    -o Dir::Cache="$cache" "$@"
}
if [ ! -s "$cache/vmlinuz" ] || [ ! -s "$cache/busybox" ]; then
  rm -rf "$cache/lists"
  mkdir -p "$cache/lists/partial" "$cache/archives/partial"
  (
    cd "$work" && apt_get update &&
      kernel=$(apt-cache -o Dir::State::Lists="$cache/lists" -o Dir::Cache="$cache" \
        depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-.*\)/\1/p' | head -n 1) &&
      apt_get download "$kernel" busybox-static &&
      dpkg-deb -x linux-image-*.deb kernel && dpkg-deb -x busybox-static*.deb busybox &&
      cp busybox/bin/busybox "$cache/busybox" && cp kernel/boot/vmlinuz-* "$cache/vmlinuz"
  ) >"$work/apt.log" 2>&1 || {
    diag <"$work/apt.log"
    tap_skip_all "the guest's kernel cannot be downloaded"
  }
  rm -rf "$cache/lists" "$cache/archives" "$cache"/*.bin
fi

# ---- the initrd
initrd=$work/initrd

# copy_files FILE...: copies the files and their libraries to the same paths in the guest
copy_files() {
  local file library
  for file in "$@"; do
    [ -e "$initrd$file" ] && continue
    mkdir -p "$initrd$(dirname "$file")"
    cp -L "$file" "$initrd$file"
    for library in $(ldd "$file" 2>/dev/null | grep -o '/[^ ]*'); do
      copy_files "$library"
    done
  done
}

build_initrd() {
  local plugins program
  mkdir -p "$initrd"/{bin,sbin,dev,proc,sys,tmp,root,etc,run,test} || return 1
  ln -s sbin/init "$initrd/init"
  cp "$cache/busybox" "$initrd/bin/busybox"
  for program in $("$initrd/bin/busybox" --list); do
    [ -e "$initrd/bin/$program" ] || ln -s busybox "$initrd/bin/$program"
  done
  # Busybox would run its own, smaller setpriv from its own setsid.
  rm -f "$initrd"/bin/{sh,bash,setpriv,pgrep} "$initrd"/{bin,usr/bin}/setsid
  copy_files /bin/bash
  ln -sf bash "$initrd/bin/sh"
  for program in munged munge slurmctld slurmd slurmstepd sbatch srun salloc scontrol sinfo squeue scancel \
    setpriv setsid sqlite3 pgrep; do
    copy_files "$(type -P $program)" || return 1
  done
  plugins=$(dirname "$(ldd "$(type -P sbatch)" | grep -o '/[^ ]*libslurmfull.so')")
  # All plugins but the largest unneeded ones, such as slurmrestd's: releases need different ones.
  for program in "$plugins"/*.so; do
    case ${program##*/} in
    libslurm* | data_parser_* | openapi_* | serializer_* | rest_auth_* | *_mysql.so | *_lua.so | mpi_pmi*) ;;
    *) copy_files "$program" ;;
    esac
  done
  copy_files "$FT_ROOT/sbin/"foretell{d,-learnd} "$FT_ROOT/bin/foretell" \
    "$FT_ROOT/libexec/foretell/"foretell-{courier,helper,network} "$FT_PLUGIN_BUILT"
  mkdir -p "$initrd/test/tests/slurm"
  cp -L "$hog" "$initrd/test/hog"
  cp "$FT_TOP_SRCDIR"/tests/slurm/{tap,wait,cluster,install,play,oom}.sh "$initrd/test/tests/slurm"
  cp "$FT_TOP_SRCDIR/tests/guest/x86/guest.sh" "$FT_TOP_SRCDIR/contrib/gather-proc" "$initrd/test"
  cp "$FT_TOP_SRCDIR/tests/guest/x86/init" "$initrd/sbin/init"
  chmod 0755 "$initrd/sbin/init"
  printf '%s\n' "FT_ROOT=$FT_ROOT" "FT_PLUGIN_BUILT=$FT_PLUGIN_BUILT" FT_HOG=/test/hog FT_CI=1 FT_SLOWNESS=10 "FT_GATHER=${FT_GATHER+1}" \
    "PATH=$(dirname "$(type -P sbatch)"):$(dirname "$(type -P slurmd)"):\$PATH" \
    >"$initrd/test/settings"
  printf '%s\n' root:x:0:0:root:/root:/bin/sh nobody:x:65534:65534:nobody:/tmp:/bin/sh \
    >"$initrd/etc/passwd"
  printf '%s\n' root:x:0: nogroup:x:65534: >"$initrd/etc/group"
  printf '%s\n' '127.0.0.1 localhost' '10.9.9.9 guest' >"$initrd/etc/hosts"
  printf '%s\n' 'passwd: files' 'group: files' 'hosts: files' >"$initrd/etc/nsswitch.conf"
  (cd "$initrd" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd.gz"
}

build_initrd || { echo "1..1"; echo "not ok 1 - the initrd can be made"; exit 1; }

timeout 1500 qemu-system-x86_64 -cpu max -m 1500 -nographic -nodefaults -serial stdio \
  -kernel "$cache/vmlinuz" -initrd "$work/initrd.gz" -append "console=ttyS0 quiet panic=-1 no_timer_check" \
  -no-reboot </dev/null 2>&1 | tr -d '\r' | tee "$work/console" |
  sed -nE '/^(ok|not ok|1\.\.|#)/p'
grep -q '^1\.\.' "$work/console" || {
  tail -n 40 "$work/console" | diag
  echo "Bail out! the guest did not finish"
  exit 1
}
[ -z "${FT_GATHER-}" ] || for name in $(sed -n 's/^==> \([0-9.]*[a-z-]*\)$/\1/p' "$work/console"); do
  sed -n "/^==> $name\$/,/^<==/p" "$work/console" | sed '1d;$d' | base64 -d | gunzip \
    >"$FT_GATHER/proc-slurm-$name.files" || exit 1
done
