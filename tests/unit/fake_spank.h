/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef FT_TESTS_FAKE_SPANK_H
#define FT_TESTS_FAKE_SPANK_H

/*
 * Acts as the command that FAKE_HOST names (sbatch, salloc, srun, slurmstepd) with the command line
 * ARGV. Loads FAKE_PLUGIN, calls its hooks with FAKE_STATE, FAKE_SOCKET and FAKE_HELPER as
 * arguments of plugstack.conf, and prints its messages, the carried record and the options that it
 * sets. FAKE_FAILING=N: the plugin's N-th allocation fails. FAKE_TIMED: prints durations of
 * slurmstepd's hooks. FAKE_RAW: prints the record as carried. FAKE_REJECTED names an option whose
 * first value from the plugin Slurm rejects. Returns an exit status.
 */
int fake_spank_play(int argc, char **argv);

#endif
