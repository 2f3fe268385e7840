# SPDX-License-Identifier: GPL-3.0-or-later
# A Slurm that has the jobs of tests/bench/collect and storm; sourced after scratch.sh, with APPS, the number of apps.
# Function: await_learned.
cat >"$programs/scontrol" <<END
#!/bin/sh
[ "\$1" = -o ] || exec cat "$FT_SCONTROL/\$2"
exec awk '\$2 == "hostnames" { print \$3 }
  \$2 == "job" { printf "JobId=%s JobName=x UserId=user(%d) JobState=COMPLETED Restarts=0 SubmitTime=2026-01-01T00:00:00\\n", \$3, 1000 + \$3 % $APPS % 100 }'
END

# await_learned: waits until every run that was sent is stored with Slurm's record, and the learner has nothing to do:
# the models are published
await_learned() {
  local before=
  until all_joined && [ "$(spent)" = "$before" ]; do
    before=$(spent)
    sleep 1.5 # models are published at most once a second
  done
}
