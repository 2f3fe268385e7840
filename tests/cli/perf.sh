#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell predict: run times on this and on other partitions.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"
need python3
make=${FT_TOP_BUILDDIR:-build}/tests/cli
state=$scratch/state
"$make/make_state" "$state" "$(id -u)" || exit 1
app="--state=$state --app=unet3d --params=batch=8,arch=vgg"

run predict $app --json
is "$status:$(json runtime_seconds)$(json relative)" '0:null[]' "without runs, run times are null"
is "$(json energy_joules)" null "and so is the energy"
like "$(json elsewhere)" KeyError "the JSON has no partitions without an option for them"
run predict $app --perf
like "$out" '^unet3d: no recorded run time yet$' "without runs the table states that there is no run time"
like "$out" '^main       \?         \?      \?         \?     \?      256 GiB, fits  \?$' \
  "the table has the partition's other columns"
"$make/make_perf" "$state" "$(id -u)" unet3d milan rome=0.5~0.1 naples || exit 1
between() { awk "BEGIN { exit !($1 > $2 && $1 < $3) }"; }
run predict $app --json
is "$(json runtime_platform)" '"milan"' "on a partition of unknown platform the run time is that of most runs' platform"
like "$(json runtime_seconds)" 'p50' "which is known"
between "$(json energy_joules.p50)" 2970 3030 && between "$(json energy_joules.p05)" 2400 2700 &&
  between "$(json energy_joules.p95)" 3350 3700
ok $? "the energy is the run time with the power of past runs"
is "$(json energy_method)" '"measured power"' "and the JSON says so"
is "$(json relative.0.speed)$(json relative.1.speed)$(json relative.2.speed)" 12null \
  "speeds are then relative to the platform with most runs"
between "$(json relative.1.p05)" 1.68 1.71 && between "$(json relative.1.p95)" 2.34 2.37
ok $? "the interval covers the deviation of the estimated speed"
run predict $app --perf
like "$out" 'unet3d: 40 recorded runs, but the platform of no listed partition is known yet' \
  "a platform that no partition has is named"
run predict $app --choose=fastest:main,other
like "$out" 'run time on main is unknown; --partition unchanged' "no partition is chosen"
run predict $app --choose=slowest
is "$status:$err" \
  '2:foretell predict: --choose=slowest: expected fastest, cheapest or greenest, or one of them with :LIST' \
  "an unknown goal is rejected"
printf '%s\n' '#!/bin/sh' '#SBATCH --predict-app=unet3d --predict-perf' \
  '#SBATCH --predict-partition=cheapest:main --predict-params=batch=8,arch=vgg' true >"$scratch/job.sh"
run predict --state="$state" "$scratch/job.sh"
like "$out" '^partition  platform' "the script's directives apply"
like "$out" 'unet3d: .*--partition unchanged' "--predict-partition in the script applies"
like "$out" '^unet3d needs ' "memory is predicted, too"
run predict $app --perf --json
is "$(json elsewhere.partitions.0.partition)$(json elsewhere.partitions.0.platform)$(json elsewhere.fastest)" \
  '"main"nullnull' "the JSON has the table; unknown values are null"
is "$(json elsewhere.partitions.0.memory)$(json elsewhere.partitions.0.memory_bytes)" \
  '"enough"274877906944' "the JSON has the known values"
tap_done
