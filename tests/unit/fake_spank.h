/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef FT_TESTS_FAKE_SPANK_H
#define FT_TESTS_FAKE_SPANK_H

/*
 * Be the command that FAKE_HOST names (sbatch, salloc, srun, slurmstepd) with the command
 * line ARGV: load FAKE_PLUGIN, call its hooks with FAKE_STATE, FAKE_SOCKET and FAKE_HELPER for
 * plugstack.conf's arguments and print what it says, carries and sets. With
 * FAKE_FAILING=N the plugin's N-th allocation fails; with FAKE_TIMED slurmstepd's hooks
 * are timed, with FAKE_RAW the record is shown as carried; FAKE_REJECTED names an option whose first
 * value of the plugin Slurm rejects. Returns an exit status.
 */
int fake_spank_play(int argc, char **argv);

#endif
