#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell fit --held: the rows that a column holds out.
. "${FT_TOP_SRCDIR:-.}/tests/slurm/tap.sh"

foretell=${FT_TOP_BUILDDIR:-build}/predictor/cli/foretell
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# y = 3 x, but y = 6 x in the held-out rows
{
  echo "x,y,beyond"
  for x in 1 2 3 4 5 6; do echo "$x,$((3 * x)),0"; done
  for x in 7 8; do echo "$x,$((6 * x)),1"; done
} >"$scratch/table.csv"

fit() {
  "$foretell" fit "$scratch/table.csv" --target=y --method=linear --json "$@" 2>&1
}
value() {
  python3 -c 'import json, sys; d = json.load(sys.stdin); m = d["methods"]["linear"]
print(d["test"], "%.3f %.3f" % (m["train_mape"], m["test_mape"]), "beyond" in m["equation"])'
}

is "$(fit --held=beyond | value)" "0.25 0.000 50.000 False" \
  "the marked rows are held out, and the column is no feature"
is "$(fit --held=beyond --seeds=5 | value)" "0.25 0.000 50.000 False" "they are held out with any number of seeds"
is "$(fit --held=what)" "foretell fit: $scratch/table.csv: line 1: no column \"what\"" \
  "an unknown column is named"
is "$(fit --held=beyond --features=x,beyond)" \
  "foretell fit: $scratch/table.csv: column \"beyond\" marks the rows held out and cannot be a feature" \
  "the column cannot be a feature"
is "$(fit --held=y)" "foretell fit: $scratch/table.csv: column \"y\" marks the rows held out and cannot be a feature" \
  "the target cannot hold out rows"
sed -i 's/8,48,1/8,48,yes/' "$scratch/table.csv"
like "$(fit --held=beyond)" "line 9.*expected 0, or 1 where it is held out" \
  "a wrong value is named by its line"
sed -i -e 's/,0$/,1/' -e 's/yes/1/' "$scratch/table.csv"
like "$(fit --held=beyond)" "0 rows for training, not held out by \"beyond\"; expected at least 2" \
  "a table without training rows is rejected"
tap_done
