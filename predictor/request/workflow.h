/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recognises the workflow task of a job: a rule of Snakemake, a process of Nextflow, a call of
 * Cromwell, a job of Toil. The task is the app. Its name has no samples, wildcards, work
 * directories or run identifiers.
 */
#ifndef FT_REQUEST_WORKFLOW_H
#define FT_REQUEST_WORKFLOW_H

#include <stdbool.h>

#include "predictor/request/program/command_program.h"
#include "predictor/request/features.h"

/* A workflow task. All zero: none. */
struct ft_workflow {
  const char *manager; /* "snakemake", a constant; NULL: no task */
  bool wrapped;        /* the commands of the job script are the manager's, not the task's */
  char name[FT_BASE_NAME];
};

/* Finds the task in the first comments of SCRIPT or, if SCRIPT is empty, in JOB_NAME (NULL: none).
 * Returns false, with OUT unchanged, if there is none. */
bool ft_workflow_of_job(struct ft_text script, const char *job_name, struct ft_workflow *out);

/* Finds the task that COMMAND runs for its workflow manager. JOB_NAME (NULL: none) names it if the
 * command does not. Returns false, with OUT unchanged, for other commands. */
bool ft_workflow_of_command(const struct ft_command *command, const struct ft_command_parts *parts,
                            const char *job_name, struct ft_workflow *out);

/* Finds the task in a PATH of Cromwell, ".../UUID/call-NAME/...". Returns as above. */
bool ft_workflow_of_path(const char *path, struct ft_workflow *out);

/* Adds the inputs of TASK in COMMAND, a command of its manager, to FOUND. PARTS names the program
 * of COMMAND (NULL: unknown). */
void ft_workflow_add_features(const struct ft_workflow *task, const struct ft_command *command,
                              const struct ft_command_parts *parts, struct ft_feature_set *found);

/* Returns the path of the task script of a manager that COMMAND runs: .command.sh of Nextflow,
 * execution/script of Cromwell; NULL for other commands. Borrowed from COMMAND. */
const char *ft_workflow_script(const struct ft_command *command,
                               const struct ft_command_parts *parts);

/* Returns the length in bytes of PATH without the directories that a manager makes for one task. */
size_t ft_workflow_directory_length(const char *path);

#endif
