#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Snakemake, configured as in docs/workflows.md, runs forty jobs of a rule. They are one app,
# and the runs of the first half predict the second.
. "$(dirname "$0")/play.sh"
need snakemake python3
case $(snakemake --version) in
7.*) ;;
*) echo "1..0 # SKIP this snakemake is not 7, which has cluster:"; exit 0 ;;
esac
FT_ENFORCE=rss
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES DefMemPerCPU=700 MaxTime=60'
FT_FORETELL_CONF='helper_timeout_ms = 10000
floor = "16M"
round = "1M"'
play_begin

jobs=40
export HOME=$cluster_work/home
mkdir -p "$HOME/.config/snakemake/slurm" flow/data
sed -n '/25-snakemake.sh runs this block/,/^```$/p' "$FT_TOP_SRCDIR/docs/workflows.md" |
  sed '/^<!--/d;/^```/d' >"$HOME/.config/snakemake/slurm/config.yaml"
is "$(grep -c . "$HOME/.config/snakemake/slurm/config.yaml")" 3 "the guide has three lines of configuration"
cd flow || exit 1
for n in $(seq $jobs); do
  echo "$n" >"data/s$n.txt"
done
cat >Snakefile <<END
rule all:
    input: expand("out/s{n}-{mib}.txt", zip, n=range(1, $jobs + 1), mib=range(100, 100 + 10 * $jobs, 10))
rule simulate:
    input: "data/s{n}.txt"
    output: "out/s{n}-{mib}.txt"
    shell: "$hog --mib {wildcards.mib} --seconds 0.3 && cp {input} {output}"
END
# At most six jobs run at a time, so that runs are learned before most jobs are submitted. With CI
# set, Snakemake polls job states every second instead of every ten.
CI=true snakemake --profile slurm --jobs 6 --snakefile Snakefile >log 2>&1
is $? 0 "the workflow completes"
is "$(ls out | wc -l)" $jobs "the workflow has all results"
[ "$(ls out | wc -l)" = $jobs ] || diag <log

all_learned() {
  [ "$(store 'select count(*) from observation')" -ge $jobs ]
}
wait_until 20 all_learned
ok $? "every job is learned"
is "$(store 'select count(distinct app) from observation')" 1 "all jobs are one app"
app=$(store 'select app from observation limit 1')
like "$app" '^simulate-[0-9a-f]{8}$' "the app has the rule's name"
is "$(store "select count(distinct json_extract(features, '$.mib')) from observation")" $jobs \
  "a wildcard that is a number is a feature"
like "$(store 'select features from observation limit 1')" '"input_bytes"' "the size of the input is a feature"
unlike "$(store 'select features from observation')" snakemake "no feature comes from Snakemake's own arguments"
is "$(store "select count(*) from observation where outcome != 'completed'")" 0 "no job runs out of memory"

# the second half, in the order of submission
half="select * from observation order by job_id limit $jobs offset $((jobs / 2))"
is "$(store "select count(*) from ($half) where decision_runs >= 5 and decision_method != 'none'")" $((jobs / 2)) \
  "the second half is predicted from the app's own runs"
like "$(grep foretell: log | tail -n 10)" "^sbatch: foretell: $app needs .*runs\\); --mem set to" \
  "the predicted requests are set and reported"
grep foretell: log | tail -n 3 | diag
play_end
