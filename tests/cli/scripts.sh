#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell scripts reads a folder of batch scripts as submissions would be read.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"
need python3

jobs=$scratch/jobs
mkdir -p "$jobs/b" "$jobs/.git"
printf '#!/bin/bash\n#SBATCH --array=1-3\nsrun python3 train.py --batch 32 --in d/$SLURM_ARRAY_TASK_ID.h5\n' >"$jobs/a.sh"
printf '#!/bin/bash\n#SBATCH --job-name=named\nsrun $EXE 3\n' >"$jobs/b/c.sh"
printf '#!/bin/bash\necho hello; hostname\n' >"$jobs/b/d.sh"
printf '#!/bin/bash\n./run.log 3\n./sim 4\n' >"$jobs/e.sh"
printf 'no script\n' >"$jobs/f.txt"
printf '#!/bin/bash\n./hidden\n' >"$jobs/.git/g.sh"
printf '#!/bin/bash\nsim --password hunter22x\n$(x --password hunter22x)\n' >"$jobs/h.sh"
ln -s a.sh "$jobs/i.sh"

run scripts "$jobs"
is "$status:$err" 0: "a folder is read"
like "$out" "^$jobs/a.sh: train.py; app train.py-[0-9a-f]{8}; batch=32" "a line has program, app and features"
like "$out" "^$jobs/b/c.sh: unknown program; app named-[0-9a-f]{8}; .*not understood: \\\$EXE$" \
  "an unknown program is named as it is written, and the job's name counts"
like "$out" "^$jobs/b/d.sh: no program; app " "a script that only prints has no program"
like "$out" "^$jobs/e.sh: odd name: run.log, sim; app " "a name that no program has is odd"
unlike "$out" "f.txt|g.sh|i.sh" "other files, hidden ones and links are ignored"
unlike "$out" "hunter22x" "secrets are not printed"
is "$(printf '%s\n' "$out" | tail -n 1)" \
  "5 scripts: 2 a program, 1 no program, 1 unknown (20.0 %), 1 odd names (20.0 %)" "the last line counts them"

run scripts --json "$jobs"
is "$(json .)" "scripts count program none unknown odd" "the JSON has the counts"
is "$(json scripts.0)" "file class programs app features not_understood" "and an object for each script"
is "$(json scripts.0.programs) $(json scripts.0.features.batch)" '["train.py"] 32' "with programs and features"
is "$(json scripts.1.class) $(json scripts.1.not_understood)" '"unknown" ["$EXE"]' "and what was not understood"
is "$(json odd)" 1 "odd names are counted"

run scripts "$jobs/a.sh"
is "$(printf '%s\n' "$out" | wc -l)" 2 "a file may be given instead of a folder"
run scripts
is "$status:$err" "2:foretell scripts: expected a folder with batch scripts" "a folder is required"
run scripts "$scratch/none"
is "$status" 3 "a missing folder is an error"
tap_done
