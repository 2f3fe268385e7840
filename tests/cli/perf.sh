#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell predict: run times here and elsewhere.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"
need python3
make=${FT_TOP_BUILDDIR:-build}/tests/cli
state=$scratch/state
"$make/make_state" "$state" "$(id -u)" || exit 1
app="--state=$state --app=unet3d --params=batch=8,arch=vgg"

run predict $app --json
is "$status:$(json runtime_seconds)$(json relative)" '0:null[]' "without run times they are null"
like "$(json elsewhere)" KeyError "nothing is said of partitions, of which nothing was asked"
run predict $app --perf
like "$out" '^unet3d: no recorded run time yet$' "the table says so"
like "$out" '^main       \?         \?      \?         \?     \?      256 GiB, fits  \?$' \
  "behind what is known of the partition"
"$make/make_perf" "$state" "$(id -u)" unet3d milan rome=0.5~0.1 naples || exit 1
run predict $app --json
is "$(json runtime_seconds)" null "where it goes nothing is known: no run time"
is "$(json relative.0.speed)$(json relative.1.speed)$(json relative.2.speed)" 12null \
  "speeds are then relative to where it has run"
between() { awk "BEGIN { exit !($1 > $2 && $1 < $3) }"; }
between "$(json relative.1.p05)" 1.68 1.71 && between "$(json relative.1.p95)" 2.34 2.37
ok $? "with what is not known of them"
run predict $app --perf
like "$out" 'unet3d: 40 recorded runs, mainly on milan, which no listed partition has' \
  "a platform that no partition has is named"
run predict $app --choose=fastest:main,other
like "$out" 'run time on main is unknown; --partition unchanged' "nothing is chosen"
run predict $app --choose=slowest
is "$status:$err" \
  '2:foretell predict: --choose=slowest: expected fastest or cheapest, or either with :LIST' \
  "a choice that there is not"
printf '%s\n' '#!/bin/sh' '#SBATCH --predict-app=unet3d --predict-perf' \
  '#SBATCH --predict-partition=cheapest:main --predict-params=batch=8,arch=vgg' true >"$scratch/job.sh"
run predict --state="$state" "$scratch/job.sh"
like "$out" '^partition  platform' "directives ask as in sbatch"
like "$out" 'unet3d: .*--partition unchanged' "all of them"
like "$out" '^unet3d needs ' "and memory is told, too"
run predict $app --perf --json
is "$(json elsewhere.partitions.0.partition)$(json elsewhere.partitions.0.platform)$(json elsewhere.fastest)" \
  '"main"nullnull' "the table in JSON: what is not known is null"
is "$(json elsewhere.partitions.0.memory)$(json elsewhere.partitions.0.memory_bytes)" \
  '"enough"274877906944' "and what is, is there"
tap_done
