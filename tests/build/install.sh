#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make install keeps what a site has edited, and make uninstall deletes only unedited files.
. "${FT_TOP_SRCDIR:?}/tests/slurm/tap.sh"
cd "${FT_TOP_BUILDDIR:?}" || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ft-XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

# run TARGET: its messages (-k: without the programs, make uninstall misses their folders)
run() {
  make -sk "$1" DESTDIR="$scratch" 2>&1 | grep kept
}
# state: the names in the site's folder, with an asterisk after an edited one
state() {
  (cd "$folder" 2>/dev/null && for file in *; do
    [ ! -e "$file" ] || ! grep -q 'of this site' "$file" || file="$file*"
    printf '%s ' "$file"
  done)
}

is "$(run install-data)" "" "the first installation keeps nothing"
folder=$(dirname "$(find "$scratch" -name plugstack-optional.conf)")
files='foretell.conf plugstack-optional.conf plugstack-required.conf'
is "$(state)" "$files " "it has all files that a site edits"
is "$(run install-data)" "" "nor does the second"
is "$(state)" "$files " "it leaves no file beside them"
first=$(cat "$folder/foretell.conf")
for file in $files; do
  echo '# of this site' >>"$folder/$file"
done
is "$(run install-data)" "$(for file in $files; do
  echo "kept $folder/$file, which differs from this release's; see $folder/$file.new"
done)" "after an edit each file is kept, and said in a line"
is "$(state)" "foretell.conf* foretell.conf.new plugstack-optional.conf* plugstack-optional.conf.new plugstack-required.conf* plugstack-required.conf.new " \
  "the new ones are beside them"
is "$(cat "$folder/foretell.conf.new")" "$first" "they are this release's"
rm "$folder/plugstack-optional.conf"
ln -s /nowhere "$folder/plugstack-optional.conf"
run install-data >/dev/null
is "$(readlink "$folder/plugstack-optional.conf")" /nowhere "a link of the site's is kept, too"
rm "$folder/plugstack-required.conf"
run install-data >/dev/null
is "$(state)" "foretell.conf* foretell.conf.new plugstack-optional.conf plugstack-optional.conf.new plugstack-required.conf plugstack-required.conf.new " \
  "a file that the site has deleted is installed again"
is "$(run uninstall)" "kept $folder/foretell.conf, which was edited" "make uninstall keeps the edited file"
is "$(find "$folder" ! -type d -printf '%f ')" "foretell.conf plugstack-optional.conf " "and deletes the others"
tap_done
