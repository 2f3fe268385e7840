#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Programs that size themselves by the memory of their job: none dies, no request follows their peaks.
# With FT_LONG=1 each is submitted fifty times.
. "$(dirname "$0")/stories.sh"
FT_FORETELL_CONF+='
min_runs = 3
trim_runs = 3
trim_factor = 1.2'
times=6
[ -z "${FT_LONG-}" ] || times=50
stories_begin

# uses NAME TENTHS: a program of its own that uses TENTHS tenths of the M that --max-mem states, else of
# the memory of its job
uses() {
  cp "$hog" "$cluster_work/$1.bin"
  cat >"$1" <<END
#!/bin/bash
limit=\${SLURM_MEM_PER_NODE:-\$SLURM_MEM_PER_CPU}
[ "\$1" != --max-mem ] || limit=\${2%M}
exec $cluster_work/$1.bin --mib \$((limit * $2 / 10)) --seconds 0.2
END
  chmod 0755 "$1"
}

# batch NAME LINE...: writes a batch script
batch() {
  printf '%s\n' '#!/bin/bash' '#SBATCH --output=/dev/null' "${@:2}" >"$1"
}

# repeat NAME LEAST MOST MESSAGE OPTION...: submits the script; its memory stays within LEAST and MOST MiB
repeat() {
  local name=$1 least=$2 most=$3 message=$4 died=0 outside=0 i
  shift 4
  for ((i = 0; i < times; i++)); do
    attempt nobody "$@" "$name.sh"
    [ "$outcome" = completed ] || died=$((died + 1))
    [ "${mem:-0}" -ge "$least" ] && [ "${mem:-0}" -le "$most" ] || outside=$((outside + 1))
  done
  is "$died:$outside" 0:0 "$name: all $times complete, with $least to $most MiB"
  like "$err" "$message" "$name: the message gives the reason"
}

uses heap 7
batch heap.sh './heap --max-mem "$((SLURM_MEM_PER_CPU * 9 / 10))M"'
repeat heap 100 100 'its script sizes the program by the memory of the job; the default of .* is unchanged' --predict-mem
uses sorter 5
batch sorter.sh 'MEM=$(./how-much)' './sorter --max-mem "${MEM:-200M}"'
repeat sorter 400 400 'its script sizes the program .*; --mem=400M is unchanged' --predict-mem=trim --mem=400M
uses rendered 2
batch rendered.sh './rendered --max-mem 920M'
repeat rendered 1500 1500 'its script gives a program 920 MiB; --mem=1500M ' --predict-mem=trim --mem=1500M
uses solver 6
batch solver.sh ./solver
# nothing but its runs shows it: one at another limit
repeat solver 60 120 'used more when they were given more.*; the default of .*, 100 MiB, is unchanged' --predict-mem
is "$mem" 100 "solver: it has the default again"
play_end
