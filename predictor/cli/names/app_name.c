/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/names/app_name.h"
#include "predictor/cli/cli.h"
#include "predictor/core/nearest_name.h"
#include "predictor/core/text.h"
#include "predictor/request/script_hash.h"

/* Runs that are searched, the newest: 2 s of reading. */
enum { SEARCHED = 20000, HASH = 8 /* digits at the end of the name of an app */ };

struct search {
  const char *base; /* the last component of the word */
  char script[128]; /* the app of the script that the word is; "": none */
  bool of_script;   /* the script's app has runs */
  struct ft_app_search *found;
};

/* Copies the name of APP to OUT without the hash that ends a derived name. */
static void copy_without_hash(const char *app, char out[128])
{
  size_t length = strlen(app), digits = 0;

  (void)ft_string_copy(app, out, 128);
  while (digits < length && ft_script_is_hex_digit(app[length - 1 - digits]))
    digits++;
  if (digits == HASH && length > HASH + 1 && app[length - 1 - HASH] == '-')
    out[length - 1 - HASH] = '\0';
}

/* Keeps APP, one of whose names is NAME, if it is among the nearest. */
static void consider_name(struct search *search, const char *name, const char *app)
{
  struct ft_app_search *found = search->found;
  struct ft_nearest_name nearest;
  size_t i, last;

  ft_nearest_name_begin(&nearest, search->base);
  ft_nearest_name_consider(&nearest, name);
  if (!nearest.name[0] ||
      FT_ROWS_FIND_INLINED(found->near, found->near_count, app) < found->near_count)
    return;
  for (i = 0; i < found->near_count && found->distance[i] <= nearest.distance; i++)
    ;
  if (i == FT_APPS_NEAR)
    return;
  found->near_count += found->near_count < FT_APPS_NEAR;
  last = found->near_count - 1;
  memmove(found->near[i + 1], found->near[i], (last - i) * sizeof *found->near);
  memmove(&found->distance[i + 1], &found->distance[i], (last - i) * sizeof *found->distance);
  (void)ft_string_copy(app, found->near[i], sizeof found->near[i]);
  found->distance[i] = nearest.distance;
}

static bool compare_names_of_run(const ft_observation *o, void *data)
{
  const ft_submission *s = &o->submission;
  struct search *search = data;
  struct ft_app_search *found = search->found;
  char plain[128];

  copy_without_hash(s->app, plain);
  search->of_script |= search->script[0] && strcmp(s->app, search->script) == 0;
  if (strcmp(plain, search->base) == 0 || strcmp(s->job_name, search->base) == 0 ||
      strcmp(s->program, search->base) == 0) {
    if (!found->app[0])
      (void)ft_string_copy(s->app, found->app, sizeof found->app);
    found->several |= strcmp(s->app, found->app) != 0;
    return true;
  }
  consider_name(search, plain, s->app);
  consider_name(search, s->job_name, s->app);
  return true;
}

int ft_app_search(const char *command, const char *state, struct ft_store_access *records,
                  const struct ft_store_filter *filter, const char *word,
                  struct ft_app_search *found, struct ft_error *err)
{
  const char *slash = strrchr(word, '/');
  struct search search = { .base = slash ? slash + 1 : word, .found = found };
  struct ft_store_filter runs = { .by_uid = filter->by_uid, .uid = filter->uid, .limit = SEARCHED };
  char user[16];

  *found = (struct ft_app_search){ 0 };
  (void)snprintf(user, sizeof user, "%u", (unsigned)filter->uid);
  if (!ft_app_of_script(command, state, filter->by_uid ? user : NULL, word, search.script))
    search.script[0] = '\0';
  if (ft_store_access_each(records, &runs, compare_names_of_run, &search, err) < 0)
    return -1;
  if (search.of_script) {
    (void)ft_string_copy(search.script, found->app, sizeof found->app);
    found->several = false;
  }
  return 0;
}

void ft_app_search_suggest(const struct ft_app_search *found, char out[FT_SUGGESTION])
{
  size_t used = 0;

  out[0] = '\0';
  for (size_t i = 0; i < found->near_count; i++)
    used += (size_t)snprintf(out + used, FT_SUGGESTION - used, "%s%s",
                             i ? ", " : "; similar names: ", found->near[i]);
}

bool ft_app_search_again(const char *command, const char *state,
                         const struct ft_store_filter *filter, const char *word, char app[128],
                         char similar[FT_SUGGESTION])
{
  struct ft_store_access *records = calloc(1, sizeof *records);
  const struct ft_store_filter all = { .by_uid = filter->by_uid, .uid = filter->uid };
  struct ft_app_search found = { 0 };
  struct ft_error err;

  if (records) {
    records->state_fd = -1;
    if (ft_store_access_ask(records, state, &all, &err) == 0)
      (void)ft_app_search(command, state, records, filter, word, &found, &err);
    ft_store_access_close(records);
  }
  free(records);
  ft_app_search_suggest(&found, similar);
  if (!found.app[0])
    return false;
  (void)ft_print_error(command, FT_EXIT_DONE, "%s: app %s%s", word, found.app,
                       found.several ? ", which ran last of several" : "");
  (void)ft_string_copy(found.app, app, 128);
  return true;
}
