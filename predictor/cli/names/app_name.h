/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the app that a user means by the name of a script or program. */
#ifndef FT_CLI_APP_NAME_H
#define FT_CLI_APP_NAME_H

#include "predictor/cli/store_access.h"

enum { FT_APPS_NEAR = 3 /* names that are suggested, at most */, FT_SUGGESTION = 512 /* bytes */ };

struct ft_app_search {
  char app[128];                /* the app; "": none */
  bool several;                 /* runs of other apps match as well; APP ran last */
  char near[FT_APPS_NEAR][128]; /* without an app: those with similar names, the nearest first */
  size_t distance[FT_APPS_NEAR];
  size_t near_count;
};

/*
 * Searches the runs of RECORDS that FILTER selects, its app apart, for the app that WORD means:
 * WORD is a batch script whose app, as predict names it, has runs; else the name of the job or
 * program of a run, or of its app without the hash. A path counts as its last component. STATE is
 * --state, COMMAND the name of the command. Returns 0; -1 and fills ERR.
 */
int ft_app_search(const char *command, const char *state, struct ft_store_access *records,
                  const struct ft_store_filter *filter, const char *word,
                  struct ft_app_search *found, struct ft_error *err);

/* Writes "; similar names: A, B" to OUT; "" without such names. */
void ft_app_search_suggest(const struct ft_app_search *found, char out[FT_SUGGESTION]);

/*
 * For a command that found no run of the app WORD: the same with records of its own. Returns
 * whether WORD means another app, which it reports and copies to APP. If not, SIMILAR is a
 * suggestion.
 */
bool ft_app_search_again(const char *command, const char *state,
                         const struct ft_store_filter *filter, const char *word, char app[128],
                         char similar[FT_SUGGESTION]);

/* Sets APP to the app that predict names for the batch script PATH of USER (NULL: the caller), with
 * the state directory STATE. Returns false if PATH is no readable script. */
bool ft_app_of_script(const char *command, const char *state, const char *user, const char *path,
                      char app[128]);

#endif
