# SPDX-License-Identifier: GPL-3.0-or-later
# A Slurm that has the jobs of tests/bench/collect and storm; sourced after scratch.sh, with APPS, the number of apps.
cat >"$programs/scontrol" <<END
#!/bin/sh
[ "\$1" = -o ] || exec cat "$FT_SCONTROL/\$2"
exec awk '\$2 == "hostnames" { print \$3 }
  \$2 == "job" { printf "JobId=%s JobName=x UserId=user(%d) JobState=COMPLETED Restarts=0\\n", \$3, 1000 + \$3 % $APPS % 100 }'
END
