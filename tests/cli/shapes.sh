#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell shapes tells what batches of items of different sizes need.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"
need python3
cd "$scratch" || exit 1
net=$FT_TOP_SRCDIR/tests/fuzz/corpus/onnx/net-cnn-whole.onnx

printf 'subset,Width,height\ntrain,100,200\ntrain,200,100\n' >two.csv
run shapes two.csv --batch=2 --json
is "$status:$err" 0: "a table is read by the names of its columns, in any case"
is "$(json policies.random.informative.mean) $(json policies.random.padding.mean)" "40000.0 40000.0" \
  "a batch is padded to its largest width and height"
printf '100 200\n200 100\n0 5\nx\n70000000 3\n' | tr ' ' ';' >bad.csv
run shapes bad.csv --batch=1
like "$err" "^foretell shapes: bad.csv: line 3, column 1: width '0': expected 1 to 1048576; 3 rows left out$" \
  "unusable rows are counted, and the first is named"
like "$out" "^2 images of 0.02 to 0.02 megapixels, half of them up to 0.02; 3 rows left out" "the others count"
run shapes two.csv --batch=2 --resize=256 --json
is "$(json policies.random.total.max) $(json policies.random.padding.max)" "131072.0 0.0" "--resize makes them equal"
run shapes two.csv --batch=1 --min-side=50 --json
is "$(json largest)" 5000.0 "--min-side keeps the aspect"
run shapes two.csv --batch=1 --max-mp=0.005 --json
is "$(json largest)" 5000.0 "--max-mp too"
printf 'tokens\n5\n500\n' >texts.csv
run shapes texts.csv --batch=2
like "$out" "^2 texts of 5 to 500 tokens" "a column of lengths is a table of texts"
like "$out" "^padding +495 +495 +495$" "padded to the longest"

run shapes two.csv --batch=2 --model="$net" --device=cpu --limit=1T --epochs=10 --json
is "$status" 0 "with a network, which fits"
is "$(json policies.random.job_exceeds)" 0 "1 TiB is not passed"
is "$(json policies.random.batch_exceeds) $(json policies.sorted.batch_exceeds)" "0 null" "a share of the batches is of random ones"
run shapes two.csv --batch=2 --model="$net" --device=cpu --limit=1T --epochs=10 --policy=random --json
is "$(json policies.random.batch_exceeds)" 0 "also where the policy is named"
high=$(json policies.random.job_max_bytes)
run shapes two.csv --batch=2 --model="$net" --device=cpu --limit=1K --epochs=10
is "$status" 1 "the exit status says that it does not fit"
like "$out" "1 KiB is passed by 100 % of the batches, in 100 % of the epochs; by the job with 100 %" "and the text"
run predict --model="$net" --device=cpu --params=batch=2,input=3x200x200 --json
is "$(python3 -c "print(abs($high / $(json peak_memory_bytes.p50) - 1) < 0.001)")" True \
  "a batch needs what foretell predict tells for its padded size"

run shapes two.csv
is "$status:$err" "2:foretell shapes: expected --batch=N, 1 or more" "a batch is required"
run shapes two.csv --batch=3
is "$status:$err" "2:foretell shapes: --batch=3: two.csv has 2 rows" "a batch has no more items than the table"
run shapes two.csv --batch=1 --policy=best
is "$status:$err" "2:foretell shapes: --policy=best: expected random, bucketed or sorted" "a policy is known"
run shapes two.csv --batch=1 --limit=5G
is "$status:$err" "2:foretell shapes: --device, --params and --limit need --model=FILE" "a limit needs a network"
printf 'name,size\na,b\n' >names.csv
run shapes names.csv --batch=1
is "$status:$err" \
  '2:foretell shapes: names.csv: line 1: expected columns width and height, or length; the first is "name"' \
  "a table without sizes is refused"
: >empty.csv
run shapes empty.csv --batch=1
is "$status" 2 "an empty table is refused"
run shapes . --batch=1
is "$status" 2 "a folder is refused"
tap_done
