/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which task of a workflow a job is: a rule of Snakemake, a process of Nextflow, a call of
 * Cromwell, a job of Toil. The task is the app. Samples, wildcards, work directories and
 * identifiers of a run are no part of its name.
 */
#ifndef FT_REQUEST_WORKFLOW_H
#define FT_REQUEST_WORKFLOW_H

#include <stdbool.h>

#include "predictor/request/command_program.h"
#include "predictor/request/features.h"

/* All zero: no task. */
struct ft_workflow {
  const char *manager; /* "snakemake"; a constant, NULL where there is no task */
  bool wrapped;        /* the commands of the script belong to the manager, not to the task */
  char name[FT_BASE_NAME];
};

/*
 * Find the task in the comments at the beginning of SCRIPT or, where SCRIPT is empty, in JOB_NAME
 * (NULL: none). Returns false, and leaves OUT alone, where they name none.
 */
bool ft_workflow_of_job(struct ft_text script, const char *job_name, struct ft_workflow *out);

/*
 * Find the task that COMMAND runs for its workflow manager. JOB_NAME (NULL: none) names it where
 * the command does not. Returns false, and leaves OUT alone, for any other command.
 */
bool ft_workflow_of_command(const struct ft_command *command, const struct ft_command_parts *parts,
                            const char *job_name, struct ft_workflow *out);

/* Find the call in a PATH of Cromwell's: ".../UUID/call-NAME/...". Returns as above. */
bool ft_workflow_of_path(const char *path, struct ft_workflow *out);

/* Add to FOUND what COMMAND, a manager's own, tells of the inputs of TASK. PARTS: which program it
 * runs, NULL: not known. */
void ft_workflow_add_features(const struct ft_workflow *task, const struct ft_command *command,
                              const struct ft_command_parts *parts, struct ft_feature_set *found);

/*
 * The path of the script that a manager has written for its task and that COMMAND runs:
 * Nextflow's .command.sh, Cromwell's execution/script. NULL: it runs none.
 */
const char *ft_workflow_script(const struct ft_command *command,
                               const struct ft_command_parts *parts);

/* How many bytes of PATH come before the folders that a manager makes for one task alone. */
size_t ft_workflow_directory_length(const char *path);

#endif
