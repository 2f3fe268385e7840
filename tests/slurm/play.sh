# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced first by every tests/slurm/NN-*.sh. Skips the test where there is no
# Slurm, installs the build tree's foretell beside it, and defines the functions
# that the tests share: submit, learn, runs_of and others.

FT_TOP_SRCDIR=${FT_TOP_SRCDIR-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
. "$FT_TOP_SRCDIR/tests/slurm/cluster.sh"
. "$FT_TOP_SRCDIR/tests/slurm/install.sh"

[ -z "${FT_NO_SLURM-}" ] || { echo "1..0 # SKIP FT_NO_SLURM is set"; exit 0; }
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP slurmd needs root"; exit 0; }
play_missing=$(cluster_missing) && tap_skip_all "$play_missing is not installed"
need sqlite3 pgrep
install_foretell || {
  echo "1..1"
  echo "not ok 1 - foretell can be installed from $FT_TOP_BUILDDIR"
  exit 1
}
hog=$(install_hog) || exit 1
foretell=$FT_ROOT/bin/foretell

# play_begin: starts the cluster with plugin and agent, unless the test chose others. Both run
# from copies, because the jobs' users may have no access to the build tree.
play_begin() {
  local copies
  [ -n "${scratch-}" ] || cluster_open || exit 1
  copies=$scratch/installed
  mkdir "$copies" && cp "$FT_PLUGIN_BUILT" "$FT_ROOT/sbin/"foretell{d,-learnd} \
    "$FT_ROOT/libexec/foretell/"foretell-{courier,helper,network} "$copies" || exit 1
  play_helper=$copies/foretell-helper
  : "${FT_PLUGIN:=$copies/spank_foretell.so}"
  : "${FT_AGENT:=$copies/foretelld}"
  : "${FT_PLUGIN_ARGS:=state=$FT_STATE socket=$FT_AGENT_SOCKET helper=$play_helper}"
  [ "$FT_PLUGIN" != none ] || FT_PLUGIN=
  [ "$FT_AGENT" != none ] || FT_AGENT=
  cluster_start || { ok 1 "the cluster starts"; tap_done; exit 1; }
  cp "$hog" "$cluster_work/hog"
  chmod 0755 "$cluster_work/hog"
  hog=$cluster_work/hog
  cd "$cluster_work" || exit 1
}

# play_end: prints the plan and exits with the test's status
play_end() {
  tap_done
  exit $?
}

# submit COMMAND...: runs COMMAND; sets out, err, status, and id of the submitted job
submit() {
  "$@" >"$scratch/stdout" 2>"$scratch/stderr"
  status=$?
  out=$(cat "$scratch/stdout")
  err=$(cat "$scratch/stderr")
  id=$(sed -nE 's/^(Submitted batch job )?([0-9]+).*/\2/p' "$scratch/stdout" | head -n 1)
  [ -n "$id" ] || id=$(sed -nE 's/.*job(id)? ([0-9]+).*/\2/p' "$scratch/stderr" | head -n 1)
}

# submit_held OPTION...: submits a job that never starts, to examine messages and the request
submit_held() {
  submit sbatch --parsable --hold --output=/dev/null "$@"
}

# message_lines: prints how many lines of the last submission's output are foretell's
message_lines() {
  grep -c 'foretell: ' <<<"$err"
}

# requested_mem ID: prints the job's memory request as scontrol does ("300M"), or "20M per cpu"
requested_mem() {
  local node
  node=$(job_field "$1" MinMemoryNode)
  [ -n "$node" ] && echo "$node" || echo "$(job_field "$1" MinMemoryCPU) per cpu"
}

# mib TEXT: prints Slurm's "300M", "1.5G" or "1G per cpu" in whole MiB
mib() {
  awk -v text="$1" 'BEGIN {
    n = text + 0; unit = text; sub(/^[0-9.]*/, "", unit); unit = substr(unit, 1, 1)
    if (unit == "G") n *= 1024; else if (unit == "T") n *= 1048576; else if (unit == "K") n /= 1024
    printf "%d\n", n }'
}

# between VALUE LOW HIGH NAME: passes if LOW <= VALUE <= HIGH, all integers
between() {
  if [ "${1:-x}" -ge "$2" ] 2>/dev/null && [ "$1" -le "$3" ]; then
    ok 0 "$4"
  else
    ok 1 "$4"
    diag "got $1, wanted $2 to $3"
    return 1
  fi
}

# model_file APP [UID]: prints the path of the app's model; fails without one
model_file() {
  local file
  for file in "$FT_STATE/models/${2:-0}/$1"-????????????????.model; do
    [ -e "$file" ] && echo "$file" && return 0
  done
  return 1
}

# store SQL: queries the store of observations
store() {
  sqlite3 -cmd '.timeout 5000' "file:$FT_STATE/store.db?mode=ro" "$1" 2>/dev/null
}

# observed ID COLUMN: prints a column of a job's observation
observed() {
  store "select $2 from observation where job_id = $1"
}

# runs_of APP: prints the number of its runs in the store
runs_of() {
  local runs
  runs=$(store "select count(*) from observation where app = '$1'")
  echo "${runs:-0}"
}

# wait_observed ID [SECONDS]: waits until the store has the job's observation, then until the published model of
# its app has all runs. A model that has discarded runs never does; it delays a test, but fails none.
wait_observed() {
  wait_until "${2:-15}" test_observed "$1" || return 1
  wait_until 5 model_has_runs "$(observed "$1" app | head -n 1)" "$(observed "$1" uid | head -n 1)" runs || :
}

test_observed() {
  [ -n "$(observed "$1" outcome)" ]
}

# has_runs APP N [UID]: the store has N runs or more, and the published model has all completed ones
has_runs() {
  [ "$(runs_of "$1")" -ge "$2" ] && model_file "$1" "${3:-0}" && model_has_runs "$1" "${3:-0}" completed
}

# model_has_runs APP UID runs|completed: the published model has all runs of the store, or all completed ones. Also
# true without an app, and for an unreadable model, which the test itself then reports.
model_has_runs() {
  local shown in_model
  [ -n "$1" ] || return 0
  shown=$("$foretell" history --fit --json --state="$FT_STATE" --user="$2" "$1" 2>/dev/null) || return 0
  in_model=$(grep -oE '"'$3'": ?[0-9]+' <<<"${shown#*'"fit":'}" | head -n 1 | grep -oE '[0-9]+')
  [ "${in_model:-0}" -ge "$(store "select count(*) from observation where app = '$1' and uid = $2$(
    [ $3 = runs ] || echo " and outcome = 'completed'")")" ]
}

# has_measured ID MIB: the job runs, and the agent has measured MIB or more of it
has_measured() {
  local most
  most=$(FORETELL_CONFIG=$FT_AGENT_CONF "$foretell" job "$1" 2>/dev/null |
    sed -nE 's/.* now, at most (at least )?([0-9.]+) (.)iB.*/\2\3/p')
  [ "$(mib "${most:-0M}")" -ge "$2" ]
}

# until_measured MIB FILE: waits until the agent has measured MIB or more of the last job, which may end with FILE
until_measured() {
  wait_until 60 has_measured "$id" "$1" || diag "$("$foretell" job --state="$FT_STATE" "$id")"
  touch "$2"
}

# learn APP MIB...: runs a job of each size, without prediction, all at once; waits until the model has them
learn() {
  local app=$1 before ids= size job
  shift
  before=$(runs_of "$app")
  for size in "$@"; do
    job=$(sbatch --parsable --output=/dev/null --mem=1000M --predict-mem=off --predict-app="$app" \
      --wrap "$hog --mib $size --seconds 0.5") || return 1
    ids="$ids $job"
  done
  for job in $ids; do
    job_wait "$job" >/dev/null
  done
  wait_until 15 has_runs "$app" $((before + $#))
}
