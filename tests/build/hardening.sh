#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# ELF headers and symbols of all installed files: PIE, BIND_NOW, RELRO, stack protection, checked functions; nothing that
# an older C library lacks.
. "${FT_TOP_SRCDIR:-.}/tests/slurm/tap.sh"
need readelf
cd "${FT_TOP_BUILDDIR:-build}" || exit 1

# built NAME: prints the file that libtool links, not its wrapper script
built() {
  local file
  for file in "${1%/*}/.libs/${1##*/}" "$1"; do
    [ ! -f "$file" ] || { echo "$file"; return; }
  done
}

# objects_with FOLDER SYMBOL: prints the object files below FOLDER that refer to SYMBOL
objects_with() {
  find "$1" -name '*.o' -exec sh -c 'readelf -sW "$0" | grep -Eq "UND $1"' {} "$2" \; -print
}

optimised=$(sed -n 's/^CFLAGS = //p' Makefile | grep -E -- '-O([1-9s]|fast|g|$| )')
for name in ./foretelld ./foretell-learnd ./foretell-courier predictor/cli/foretell predictor/cli/foretell-helper predictor/cli/foretell-network \
  ./spank_foretell.so ./libforetell.so; do
  file=$(built "$name")
  header=$(readelf -hW "$file")
  segments=$(readelf -lW "$file")
  dynamic=$(readelf -dW "$file")
  symbols=$(readelf --dyn-syms -W "$file")
  like "$header" 'Type: +DYN' "$name: position-independent"
  case $name in
    *.so) ;;
    *) like "$dynamic" 'FLAGS_1.*PIE' "$name: marked as an executable" ;;
  esac
  like "$dynamic" 'BIND_NOW|FLAGS_1.*NOW' "$name: all symbols are bound before main"
  like "$segments" 'GNU_RELRO' "$name: relocations are read-only afterwards"
  like "$segments" 'GNU_STACK .* RW +0x' "$name: the stack is not executable"
  unlike "$segments" 'LOAD .* RWE ' "$name: no segment is writable and executable"
  unlike "$dynamic" 'TEXTREL' "$name: no relocation changes code"
  like "$symbols" '__stack_chk_fail' "$name: stack protection"
  unlike "$symbols" ' close_range' "$name: no function that glibc has since 2.34 only"
  if [ -n "$optimised" ]; then
    like "$symbols" '__(snprintf|vsnprintf|memcpy|read|pread64)_chk' "$name: checked functions"
  else
    skip "$name: checked functions" "not optimised"
  fi
done

# The plugin describes a submission; the helper process knows only about files.
unlike "$(objects_with predictor/cli 'ft_describe$')" 'helper|network' "the helper process reads no script"

# Static libraries of the distribution may refer to __stack_chk_fail, too, so this examines foretell's own objects.
for folder in agent daemon learner plugin predictor/core predictor/graph predictor/record predictor/cli; do
  like "$(objects_with "$folder" __stack_chk_fail)" . "$folder: its functions have stack protection"
done
tap_done
