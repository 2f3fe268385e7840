#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests that measure and compare run: one point of the U-Net is measured, and foretell fit is compared on
# the stored peaks with the one method that needs only numpy. Run by make check.
. "${FT_TOP_SRCDIR:-.}/tests/slurm/tap.sh"

bench=${FT_TOP_SRCDIR:-.}/tests/bench
foretell=$(realpath "${FT_TOP_BUILDDIR:-build}/predictor/cli/foretell")
/usr/bin/python3 -c 'import torch' 2>/dev/null || tap_skip_all "python3-torch is not installed"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

is "$("$bench/unet3d/train" --parameters --filters=16)" 5647857 \
  "with 16 filters the U-Net has the parameters that the paper states"

measure() {
  "$bench/memory_models/measure" "$@" "$foretell" "$scratch/peaks.csv" --points=1 --repeats=1 2>&1
}
out=$(measure unet3d)
ok $? "a point is measured" || diag "$out"
is "$(awk -F, 'NR > 1 { print $1, $2, $3, ($4 >= $5 && $4 < 1.05 * $5) }' "$scratch/peaks.csv")" \
  "16 2 1 1" "its peak is the kernel's for the process"
measure unet3d >/dev/null
is "$(wc -l <"$scratch/peaks.csv")" 2 "an existing run is not repeated"

out=$("$bench/memory_models/compare" --foretell="$foretell" --seeds=1 --methods=products unet3d \
  2>"$scratch/err")
ok $? "the comparison runs" || diag <"$scratch/err"
like "$out" "^foretell +[0-9.]+ %" "it prints foretell's error"
like "$out" "^products +[0-9.]+ %" "it prints the rival's error"
tap_done
