/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/site/conf_apps.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

cfg_opt_t ft_conf_app_options[] = { CFG_STR("command", NULL, CFGF_NODEFAULT),
                                    CFG_STR_LIST("number", NULL, CFGF_NODEFAULT),
                                    CFG_STR_LIST("category", NULL, CFGF_NODEFAULT),
                                    CFG_STR_LIST("file", NULL, CFGF_NODEFAULT), CFG_END() };

static bool check_name_length(cfg_t *cfg, const char *what, const char *text, size_t size)
{
  if (text && text[0] && strlen(text) < size)
    return true;
  cfg_error(cfg, "%s: expected 1 to %zu bytes", what, size - 1);
  return false;
}

/* Splits an argument of an app section: "--batch", "--batch:size" (feature "size"), "2". */
static bool split_argument(cfg_t *cfg, const char *text, char *name, size_t name_size,
                           char *feature, size_t feature_size)
{
  struct ft_text rest = ft_text_from(text), first;

  if (!ft_text_until(&rest, ':', &first) || !ft_text_copy(first, name, name_size) || !name[0] ||
      !ft_text_copy(rest, feature, feature_size)) {
    cfg_error(cfg, "\"%s\": expected ARGUMENT or ARGUMENT:FEATURE, each under %zu bytes", text,
              name_size);
    return false;
  }
  return true;
}

static bool parse_arguments(cfg_t *section, const char *key, bool categorical, ft_declared_app *app)
{
  for (unsigned i = 0; i < cfg_size(section, key); i++) {
    ft_declared_argument *a = &app->arguments[app->arguments_count];

    if (app->arguments_count == COUNT(app->arguments)) {
      cfg_error(section, "app \"%s\": more than %zu arguments", app->name, COUNT(app->arguments));
      return false;
    }
    *a = (ft_declared_argument){ .categorical = categorical };
    if (!split_argument(section, cfg_getnstr(section, key, i), a->name, sizeof a->name, a->feature,
                        sizeof a->feature))
      return false;
    app->arguments_count++;
  }
  return true;
}

/* Parses "--input", "--input bytes", "1 lines:reads" or "--config key:n_cells:cells". */
static bool parse_file_argument(cfg_t *section, const char *text, ft_declared_file *file)
{
  struct ft_text rest = ft_text_from(text), word, kind;
  bool good;

  *file = (ft_declared_file){ 0 };
  good = ft_text_word(&rest, &word) && ft_text_copy(word, file->argument, sizeof file->argument);
  rest = ft_text_trim(rest);
  if (good && ft_text_skip(&rest, "key:")) {
    struct ft_text counted;

    good = ft_text_until(&rest, ':', &kind) && ft_text_left(&kind) > 0;
    counted = good ? ft_text_of(kind.at - 4, ft_text_left(&kind) + 4) : rest;
    good = good && ft_text_copy(counted, file->counts, sizeof file->counts);
  } else if (good && ft_text_left(&rest)) {
    good = ft_text_until(&rest, ':', &kind) &&
           (ft_text_equals(kind, "bytes") || ft_text_equals(kind, "lines")) &&
           ft_text_copy(kind, file->counts, sizeof file->counts);
  } else if (good) {
    (void)ft_string_copy("bytes", file->counts, sizeof file->counts);
  }
  if (!good || !ft_text_copy(rest, file->feature, sizeof file->feature)) {
    cfg_error(section, "\"%s\": expected \"ARGUMENT [bytes|lines|key:NAME][:FEATURE]\"", text);
    return false;
  }
  return true;
}

static int check_app(cfg_t *cfg, cfg_opt_t *opt)
{
  cfg_t *section = cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1);
  ft_declared_app app = { 0 };

  (void)cfg;
  if (!check_name_length(section, "app", cfg_title(section), sizeof app.name) ||
      !check_name_length(section, "command", cfg_getstr(section, "command"), sizeof app.command) ||
      !parse_arguments(section, "number", false, &app) ||
      !parse_arguments(section, "category", true, &app))
    return -1;
  if (cfg_size(section, "file") > COUNT(app.files)) {
    cfg_error(section, "app \"%s\": more than %zu files", cfg_title(section), COUNT(app.files));
    return -1;
  }
  for (unsigned i = 0; i < cfg_size(section, "file"); i++)
    if (!parse_file_argument(section, cfg_getnstr(section, "file", i), &app.files[i]))
      return -1;
  return 0;
}

/* Converts an app section that check_app has accepted. */
static void convert_app(cfg_t *section, ft_declared_app *app)
{
  *app = (ft_declared_app){ 0 };
  (void)ft_string_copy(cfg_title(section), app->name, sizeof app->name);
  (void)ft_string_copy(cfg_getstr(section, "command"), app->command, sizeof app->command);
  (void)parse_arguments(section, "number", false, app);
  (void)parse_arguments(section, "category", true, app);
  for (unsigned i = 0; i < cfg_size(section, "file"); i++)
    (void)parse_file_argument(section, cfg_getnstr(section, "file", i),
                              &app->files[app->files_count++]);
}

void ft_conf_apps_watch(cfg_t *cfg)
{
  cfg_set_validate_func(cfg, "app", check_app);
}

int ft_conf_apps_read(cfg_t *cfg, const char *path, ft_declared_app *apps, size_t limit,
                      size_t *count, struct ft_error *err)
{
  if (cfg_size(cfg, "app") > limit)
    return ft_error_set(err, "%s: line %d: more than %zu apps", path,
                        cfg_getnsec(cfg, "app", (unsigned)limit)->line, limit);
  *count = cfg_size(cfg, "app");
  for (size_t i = 0; i < *count; i++)
    convert_app(cfg_getnsec(cfg, "app", (unsigned)i), &apps[i]);
  return 0;
}
