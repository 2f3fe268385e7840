#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The plugin loads in every Slurm program, needs only libc and libm, and leaks nothing.
. "$(dirname "$0")/play.sh"
FT_SLURM_CONF='PrologFlags=Contain'
play_begin

symbols=$(nm -D --defined-only "$FT_PLUGIN_BUILT" | awk '{print $3}' | grep -Ev '^(plugin_|slurm_spank_|spank_plugin)')
is "$symbols" "" "only SPANK's symbols are exported"
needs=$(readelf -d "$FT_PLUGIN_BUILT" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -Ev '^(libc|libm)\.so\.6$')
if nm -D "$FT_PLUGIN_BUILT" | grep -q __asan; then
  skip "nothing is needed but libc and libm" "only libc and libm are needed"
else
  is "$needs" "" "only libc and libm are needed"
fi

for command in sbatch srun salloc; do
  like "$($command --help)" 'predict-mem' "$command lists --predict-mem in its help"
done
# Slurm puts the text of a long option on the next line
options=$(sbatch --help | sed -n '/provided by plugins/,$p' | sed -z 's/\n  */ /g; s/ --/\n&/g')
for option in predict-mem predict-app predict-params predict-model predict-mig predict-perf \
  predict-partition; do
  like "$options" "--$option.*foretell" "--$option is listed with the plugin's name"
done

submit sbatch --parsable --wrap 'srun hostname; hostname'
is "$status" 0 "sbatch submits"
is "$(job_wait "$id")" COMPLETED "a batch job with a step completes"
is "$(wc -l <slurm-"$id".out)" 2 "its output has two lines, none of them foretell's"
submit srun --overlap hostname
is "$status $out" "0 $(hostname)" "srun runs"
submit salloc true
is "$status" 0 "salloc runs"
grep -q "$FT_PLUGIN" "/proc/$(cluster_pid slurmd-one)/maps"
ok $? "slurmd has loaded the plugin"
submit sbatch --parsable --output=/dev/null --wrap 'sleep 30'
stepd_has_it() {
  local pid
  for pid in $(pgrep slurmstepd); do
    grep -q "$FT_PLUGIN" "/proc/$pid/maps" 2>/dev/null && return 0
  done
  return 1
}
wait_until 10 stepd_has_it
ok $? "slurmstepd has loaded the plugin"
scancel "$id"
for log in "$scratch"/log/slurmd-*.log; do
  unlike "$(cat "$log")" 'spank.*(error|fail)|foretell.*error|plugin.*foretell.*(fail|error)' \
    "slurmd and slurmstepd load it without an error message"
done

# foretell_records FILE: prints the records of valgrind whose first frame outside the
# C library is in foretell's code, before any of Slurm's
foretell_records() {
  awk -v RS='\n==[0-9]+== *\n' '
    / by 0x| at 0x/ {
      n = split($0, line, "\n")
      for (i = 1; i <= n; i++) {
        if (line[i] ~ /libslurm|\/sbatch\)|\(sbatch|slurm_x/) break
        if (line[i] ~ /spank_foretell|: ft_|: slurm_spank_/) { print; break }
      }
    }' "$1"
}

if command -v valgrind >/dev/null; then
  valgrind=(valgrind --leak-check=full --show-leak-kinds=definite,indirect,possible --track-fds=yes
    --keep-debuginfo=yes)
  for command in 'sbatch --output=/dev/null --wrap true' 'salloc true' 'srun true'; do
    name=${command%% *}
    # A child that exits with open descriptors or memory is not a leak.
    "${valgrind[@]}" --child-silent-after-fork=yes --log-file="$scratch/valgrind-$name" \
      $name --predict-mem --mem=100M ${command#"$name"} >/dev/null 2>&1
    ok $? "$name runs under valgrind"
    is "$(foretell_records "$scratch/valgrind-$name")" "" "valgrind finds no leak and no error in foretell's code"
    like "$(cat "$scratch/valgrind-$name")" 'HEAP SUMMARY' "valgrind has checked it"
  done
else
  [ -z "${FT_CI-}" ]
  ok $? "valgrind is installed"
fi

# ---- without the agent
cluster_stop_agent
submit sbatch --parsable --predict-mem --wrap 'srun true'
is "$status" 0 "without an agent sbatch submits the job"
is "$(job_wait "$id")" COMPLETED "without an agent the job completes"
between "$(message_lines)" 0 1 "without an agent at most one line is printed"

# ---- slurmd under valgrind, and the slurmstepd that it starts
if command -v valgrind >/dev/null; then
  cluster_start_agent
  cluster_kill slurmd-one
  FT_SLURMD_PREFIX="${valgrind[*]} --trace-children=yes --log-file=$scratch/valgrind-node-%p \
    --trace-children-skip=/bin/*,/usr/bin/*,*/slurm_script" cluster_start_slurmd
  wait_until 60 cluster_idle
  ok $? "slurmd runs under valgrind"
  submit sbatch --parsable --output=/dev/null --mem=100M --predict-app=watched --wrap 'srun true'
  is "$(job_wait "$id" 120)" COMPLETED "a job with a step runs there"
  wait_observed "$id" 30
  is "$(observed "$id" app)" watched "the job is observed"
  cluster_kill slurmd-one
  stepd=$(grep -l '^==[0-9]*== Command: .*slurmstepd' "$scratch"/valgrind-node-*)
  wait_until 30 grep -q 'HEAP SUMMARY' $stepd
  for log in "$scratch"/valgrind-node-*; do
    is "$(foretell_records "$log")" "" "valgrind finds no leak and no error of foretell's in $(sed -nE 's/^==[0-9]+== Command: ([^ ]+).*/\1/p' "$log")"
  done
  like "$(cat $stepd)" 'HEAP SUMMARY' "valgrind has checked slurmstepd, too"
fi
play_end
