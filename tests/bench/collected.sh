# SPDX-License-Identifier: GPL-3.0-or-later
# A Slurm that has the jobs of tests/bench/collect and storm; sourced after scratch.sh, with APPS, the number of apps.
# Functions: know FIRST COUNT.
cat >"$programs/scontrol" <<END
#!/bin/sh
[ "\$1" = -o ] || exec cat "$FT_SCONTROL/\$2"
exec awk '\$2 == "hostnames" { print \$3 }
  \$2 == "job" { printf "JobId=%s JobName=x UserId=user(%d) JobState=COMPLETED Restarts=0\\n", \$3, 1000 + \$3 % $APPS % 100 }'
END

# know FIRST COUNT: has the learner query Slurm's records of jobs FIRST to FIRST + COUNT - 1, as agents do while the jobs
# run: 256 in each command
know() {
  local i each=$((($2 + 3) / 4)) queries=
  for i in 0 1 2 3; do
    "$FT_TOP_BUILDDIR/tests/bench/collect_send" "$learner_socket" $(($1 + i * each)) $each "$APPS" 0 >/dev/null &
    queries="$queries $!"
  done
  wait $queries
}
