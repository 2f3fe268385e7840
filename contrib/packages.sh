# SPDX-License-Identifier: GPL-3.0-or-later
# The packages of Debian 12 and 13 that foretell needs, for other scripts to source: those to build
# it and run it with a Slurm, and the additional ones for the checks.
packages_build='build-essential autoconf automake libtool pkg-config
  nanopb protobuf-compiler libnanopb-dev libslurm-dev libconfuse-dev libsqlite3-dev libjansson-dev libzip-dev
  libacl1-dev libmicrohttpd-dev libcurl4-openssl-dev libmunge-dev libgnutls28-dev zlib1g-dev libseccomp-dev
  libhwloc-dev libpapi-dev libgsl-dev libopenblas-dev libcairo2-dev libcmocka-dev
  munge slurm-client slurm-wlm-basic-plugins slurmctld slurmd
  acl iproute2 procps sqlite3 util-linux xz-utils'
packages_check='clang codespell openssl mandoc libclang-rt-dev valgrind git python3 python3-torch man-db binutils
  snakemake mariadb-server slurmdbd prometheus prometheus-node-exporter file busybox-static cpio podman crun
  qemu-system-x86 qemu-system-arm gcc-aarch64-linux-gnu libc6-dev-arm64-cross'

# install_packages NAME...: installs missing packages, without questions and without starting services
install_packages() {
  local name absent= policy=/usr/sbin/policy-rc.d made=
  for name in "$@"; do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' ||
      absent="$absent $name"
  done
  [ -n "$absent" ] || return 0
  [ "$(id -u)" = 0 ] || { echo "not root; install first:$absent" >&2; return 1; }
  if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' >$policy && chmod 0755 $policy && made=1
  fi
  apt-get -qq update &&
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
      -o Dpkg::Use-Pty=0 install $absent </dev/null
  set -- $?
  [ -z "$made" ] || rm -f $policy
  return "$1"
}
