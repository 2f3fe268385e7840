#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Snakemake, configured as docs/workflows.md has it, runs thirty jobs of a rule: they are one app,
# and the second half is predicted from the runs of the first.
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

jobs=30
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
# Few at a time: a run is learned before many others are submitted. With CI Snakemake looks every
# second, not every ten, whether a job has ended.
CI=true snakemake --profile slurm --jobs 6 --snakefile Snakefile >log 2>&1
is $? 0 "the workflow completes"
is "$(ls out | wc -l)" $jobs "with all results"
[ "$(ls out | wc -l)" = $jobs ] || diag <log

all_learned() {
  [ "$(store 'select count(*) from observation')" -ge $jobs ]
}
wait_until 20 all_learned
ok $? "every job is learned"
is "$(store 'select count(distinct app) from observation')" 1 "as one app"
app=$(store 'select app from observation limit 1')
like "$app" '^simulate-[0-9a-f]{8}$' "which is named by the rule"
is "$(store "select count(distinct json_extract(features, '$.mib')) from observation")" $jobs \
  "a wildcard that is a number is a feature"
like "$(store 'select features from observation limit 1')" '"input_bytes"' "and so is the size of the input"
unlike "$(store 'select features from observation')" snakemake "nothing of Snakemake's own is"
is "$(store "select count(*) from observation where outcome != 'completed'")" 0 "none runs out of memory"

# of the jobs in the order of their submission
half="select * from observation order by job_id limit $jobs offset $((jobs / 2))"
is "$(store "select count(*) from ($half) where decision_runs >= 5 and decision_method != 'none'")" $((jobs / 2)) \
  "the second half is predicted, from the app's own runs"
like "$(tail -n 40 log)" "^sbatch: foretell: $app needs .*runs\\); --mem set to" "which is said, and set"
grep foretell: log | tail -n 3 | diag
play_end
