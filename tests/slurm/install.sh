# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the build tree's foretell where the tests can run it; sourced.
# install_foretell sets FT_ROOT (the prefix) and FT_PLUGIN_BUILT. If both, and
# FT_HOG, are set before, the tests use that installation.

: "${FT_TOP_BUILDDIR=$FT_TOP_SRCDIR/build}"

# install_foretell: runs `make install` into the build tree's scratch directory if
# a built file is newer than the installation
install_foretell() {
  local dest=$FT_TOP_BUILDDIR/tests/scratch/install stamp
  [ -z "${FT_ROOT-}" ] || [ -z "${FT_PLUGIN_BUILT-}" ] || return 0
  stamp=$dest/stamp
  mkdir -p "$dest" || return 1
  (
    flock 9
    if [ ! -e "$stamp" ] || [ -n "$(find "$FT_TOP_BUILDDIR" -path "$dest" -prune -o \
      \( -name '*.la' -o -name 'foretell*' -perm -u+x -type f -o -name 'plugstack-*.conf' \) -newer "$stamp" -print -quit)" ]; then
      env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
        make -s -C "$FT_TOP_BUILDDIR" install DESTDIR="$dest" >"$dest/log" 2>&1 && touch "$stamp"
    fi
  ) 9>"$dest/lock" || { sed 's/^/# /' "$dest/log"; return 1; }
  FT_PLUGIN_BUILT=$(find "$dest" -name spank_foretell.so)
  FT_ROOT=$(find "$dest" -name foretelld -path '*/sbin/*')
  FT_ROOT=${FT_ROOT%/sbin/foretelld}
  [ -n "$FT_PLUGIN_BUILT" ] && [ -n "$FT_ROOT" ]
}

# install_hog: prints the path of hog; compiles it if the build has not
install_hog() {
  local hog=${FT_HOG-$FT_TOP_BUILDDIR/tests/slurm/hog}
  [ -x "$hog" ] || {
    mkdir -p "${hog%/*}" && ${CC:-cc} -O1 -I"$FT_TOP_BUILDDIR" -o "$hog" "$FT_TOP_SRCDIR/tests/slurm/hog.c" || return 1
  }
  echo "$hog"
}
