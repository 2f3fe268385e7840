/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads foretell.conf and apps.conf. libconfuse parses the file and calls a check for every value,
 * so that each error has a line number. Only a file without errors is applied. */
#include "config.h"

#include <confuse.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/io.h"
#include "predictor/core/units.h"
#include "predictor/site/conf.h"
#include "predictor/site/conf_apps.h"
#include "predictor/site/conf_platforms.h"
#include "predictor/site/conf_position.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The parse in progress on this thread. libconfuse's error callback has no user pointer. */
static _Thread_local struct parse {
  const char *path;
  struct ft_text text; /* contents of the file */
  struct ft_error *err;
  bool failed;
  int agent_users_line, learner_users_line; /* 0: not set */
} parse;

/* A key: type and range of its value. The bounds are in the unit of the key; of a KEY_NAME or
 * KEY_PATH, HIGH is the size of its array in bytes. Ranges are those of foretell.conf(5). */
struct key {
  const char *name;
  enum {
    KEY_NUMBER,
    KEY_INTEGER,
    KEY_BYTES,
    KEY_PERIOD,
    KEY_MODE,
    KEY_RULE,
    KEY_NAME,
    KEY_PATH,
    KEY_LEARNERS,
    KEY_LISTEN,
    KEY_AUTH,
    KEY_BOOL
  } type;
  double low, high;
};

static const struct key policy_keys[] = { { "mode", KEY_MODE, 0, 0 },
                                          { "min_runs", KEY_INTEGER, 1, 100000 },
                                          { "trim_runs", KEY_INTEGER, 1, 100000 },
                                          { "oom_probability", KEY_NUMBER, 1e-6, 0.5 },
                                          { "reject_probability", KEY_NUMBER, 0, 1 },
                                          { "floor", KEY_BYTES, 0, 0x1p50 },
                                          { "round", KEY_BYTES, 0x1p20, 0x1p40 },
                                          { "trim_factor", KEY_NUMBER, 1, 1000 },
                                          { "quiet", KEY_BOOL, 0, 0 },
                                          { "failure_price", KEY_NUMBER, 0, 1e6 },
                                          { "borrow", KEY_BOOL, 0, 0 },
                                          { "force", KEY_BOOL, 0, 0 },
                                          { "ceiling_factor", KEY_NUMBER, 1, 1000 },
                                          { "leak_runs", KEY_INTEGER, 0, 1000 } };

static const struct key site_keys[] = { { "state_dir", KEY_PATH, 0, PATH_MAX },
                                        { "socket", KEY_PATH, 0, 108 }, /* unix(7): sun_path */
                                        { "learner_socket", KEY_PATH, 0, 108 },
                                        { "learner", KEY_LEARNERS, 0, 0 },
                                        { "listen", KEY_LISTEN, 0, 0 },
                                        { "auth", KEY_AUTH, 0, 0 },
                                        { "agent_users", KEY_NAME, 0, 256 },
                                        { "learner_users", KEY_NAME, 0, 256 },
                                        { "munge_socket", KEY_PATH, 0, 108 },
                                        { "tls_certificate", KEY_PATH, 0, PATH_MAX },
                                        { "tls_key", KEY_PATH, 0, PATH_MAX },
                                        { "tls_ca", KEY_PATH, 0, PATH_MAX },
                                        { "cluster", KEY_NAME, 0, 64 },
                                        { "node_platform", KEY_NAME, 0, 64 },
                                        { "currency", KEY_NAME, 0, 16 },
                                        { "metrics_file", KEY_PATH, 0, PATH_MAX },
                                        { "metrics_listen", KEY_NAME, 0, 64 },
                                        { "sample_hz", KEY_NUMBER, 0.1, 100 },
                                        { "cluster_refresh", KEY_INTEGER, 10, 86400 },
                                        { "memory_rule", KEY_RULE, 0, 0 },
                                        { "slurm_bin", KEY_PATH, 0, PATH_MAX },
                                        { "helper_timeout_ms", KEY_INTEGER, 10, 10000 },
                                        { "user_apps", KEY_BOOL, 0, 0 },
                                        { "keep_arguments", KEY_NAME, 0, 256 },
                                        { "drop_arguments", KEY_NAME, 0, 256 },
                                        { "max_runs", KEY_INTEGER, 0, 10000000 },
                                        { "max_age", KEY_PERIOD, 3600, 100 * 365 * 86400.0 },
                                        { "max_apps", KEY_INTEGER, 0, 1000000 } };

static const struct key *find_config_key(const char *name)
{
  for (size_t i = 0; i < COUNT(policy_keys); i++)
    if (strcmp(policy_keys[i].name, name) == 0)
      return &policy_keys[i];
  for (size_t i = 0; i < COUNT(site_keys); i++)
    if (strcmp(site_keys[i].name, name) == 0)
      return &site_keys[i];
  return NULL;
}

/*
 * Key appended to the file. libconfuse accepts the end of the file as the end of a section; an
 * unclosed section then rejects this key, which is valid only outside of sections.
 */
#define END_MARK "end_of_file"

/* Reports only the first error; later ones may follow from it. */
static void report_first_error(cfg_t *cfg, const char *format, va_list ap)
{
  int line = cfg->line;
  char text[300];

  if (parse.failed)
    return;
  parse.failed = true;
  (void)vsnprintf(text, sizeof text, format, ap);
  if (strchr(text, '\n'))
    line = ft_conf_quote_start_line(parse.text, line);
  for (char *p = text; *p; p++)
    if ((unsigned char)*p < ' ' || *p == 0x7f)
      *p = '?';
  if (strstr(text, END_MARK)) {
    line = ft_conf_line(parse.text, parse.text.end);
    (void)ft_string_copy("expected a value or \"}\" before the end of the file", text, sizeof text);
  } else if (strcmp(text, "premature end of file") == 0 ||
             strcmp(text, "unterminated string constant") == 0) {
    line = ft_conf_unterminated_line(parse.text);
    (void)ft_string_copy("string without closing quote", text, sizeof text);
  } else if (line < cfg->line) {
    (void)ft_string_copy("string continues on the next line; check its closing quote", text,
                         sizeof text);
  } else if (strstr(text, "title") && strstr(text, "'platform'")) {
    (void)ft_string_copy(
        "expected platform \"NAME\" { ... }; to name the platform of this node use "
        "node_platform = \"NAME\"",
        text, sizeof text);
  }
  ft_error_set(parse.err, "%s: line %d: %s", parse.path, line, text);
}

/* Checks TEXT, the value of a KEY that is no number. Returns 0; -1 after cfg_error with the
 * expected value. */
static int check_text(cfg_t *cfg, const struct key *key, const char *text)
{
  struct ft_error err;
  uint64_t bytes;
  double seconds;
  int mode;

  switch (key->type) {
  case KEY_MODE:
    mode = ft_mode_from_name(text);
    if (mode >= FT_MODE_OFF && mode <= FT_MODE_TRIM)
      return 0;
    cfg_error(cfg, "mode: expected off, check, set, raise or trim, not \"%s\"", text);
    return -1;
  case KEY_RULE:
    if (strcmp(text, "auto") == 0 || ft_rule_from_name(text) > FT_RULE_UNKNOWN)
      return 0;
    cfg_error(cfg, "memory_rule: expected auto, none, rss, pss or cgroup, not \"%s\"", text);
    return -1;
  case KEY_BYTES:
    if (ft_units_parse_bytes(ft_text_from(text), FT_MIB, &bytes) && (double)bytes >= key->low &&
        (double)bytes <= key->high)
      return 0;
    cfg_error(cfg, "%s: expected a size such as 100M or 4G, not \"%s\"", key->name, text);
    return -1;
  case KEY_PERIOD:
    if (ft_units_parse_period(ft_text_from(text), &seconds) &&
        (seconds == 0 || (seconds >= key->low && seconds <= key->high)))
      return 0;
    cfg_error(cfg,
              "%s: expected 0 or a period such as \"400 days\" or 2years, from 1hour to 100years,"
              " not \"%s\"",
              key->name, text);
    return -1;
  case KEY_LEARNERS:
  case KEY_LISTEN:
    if (!text[0] || ft_address_check(text, key->type == KEY_LISTEN, &err) == 0)
      return 0;
    cfg_error(cfg, "%s: %s", key->name, err.text);
    return -1;
  case KEY_AUTH:
    if (strcmp(text, "munge") == 0 || strcmp(text, "tls") == 0)
      return 0;
    cfg_error(cfg, "auth: expected munge or tls, not \"%s\"", text);
    return -1;
  case KEY_PATH:
    if ((text[0] == '/' || !text[0]) && strlen(text) < (size_t)key->high)
      return 0;
    cfg_error(cfg, "%s: expected an absolute path of less than %.0f bytes", key->name, key->high);
    return -1;
  default:
    if (ft_string_has_control(text))
      cfg_error(cfg, "%s: \"%s\": control characters are not allowed", key->name, text);
    else if (strlen(text) < (size_t)key->high)
      return 0;
    else
      cfg_error(cfg, "%s: expected a name of less than %.0f bytes", key->name, key->high);
    return -1;
  }
}

static int check_value(cfg_t *cfg, cfg_opt_t *opt)
{
  const struct key *key = find_config_key(cfg_opt_name(opt));
  double value;

  if (!key || key->type == KEY_BOOL)
    return 0;
  if (strcmp(key->name, "agent_users") == 0)
    parse.agent_users_line = cfg->line;
  else if (strcmp(key->name, "learner_users") == 0)
    parse.learner_users_line = cfg->line;
  if (key->type != KEY_NUMBER && key->type != KEY_INTEGER)
    return check_text(cfg, key, cfg_opt_getnstr(opt, 0));
  value = key->type == KEY_INTEGER ? (double)cfg_opt_getnint(opt, 0) : cfg_opt_getnfloat(opt, 0);
  if (value >= key->low && value <= key->high)
    return 0;
  cfg_error(cfg, "%s: expected a number from %g to %g, not %g", key->name, key->low, key->high,
            value);
  return -1;
}

/* Sets the line of the section that was read last to its first one; libconfuse leaves its last. */
static int note_first_line(cfg_t *cfg, cfg_opt_t *opt)
{
  cfg_t *section = cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1);

  (void)cfg;
  section->line = ft_conf_brace_line(parse.text, section->line);
  return 0;
}

static uint64_t get_bytes(cfg_t *cfg, const char *key)
{
  uint64_t bytes = 0;

  (void)ft_units_parse_bytes(ft_text_from(cfg_getstr(cfg, key)), FT_MIB, &bytes);
  return bytes;
}

#define SET(cfg, key) (cfg_size(cfg, key) > 0)

/* Copies the keys that CFG sets into P, with their has_ fields. */
static void convert_policy(cfg_t *cfg, ft_policy *p)
{
#define CONVERT(key, field, value)                                                                 \
  if (SET(cfg, key)) {                                                                             \
    p->has_##field = true;                                                                         \
    p->field = value;                                                                              \
  }
  if (SET(cfg, "mode"))
    p->mode = (ft_mode)ft_mode_from_name(cfg_getstr(cfg, "mode"));
  CONVERT("min_runs", min_runs, (uint32_t)cfg_getint(cfg, "min_runs"))
  CONVERT("trim_runs", trim_runs, (uint32_t)cfg_getint(cfg, "trim_runs"))
  CONVERT("oom_probability", oom_probability, cfg_getfloat(cfg, "oom_probability"))
  CONVERT("reject_probability", reject_probability, cfg_getfloat(cfg, "reject_probability"))
  CONVERT("floor", floor_bytes, get_bytes(cfg, "floor"))
  CONVERT("round", round_bytes, get_bytes(cfg, "round"))
  CONVERT("trim_factor", trim_factor, cfg_getfloat(cfg, "trim_factor"))
  CONVERT("quiet", quiet, cfg_getbool(cfg, "quiet"))
  CONVERT("failure_price", failure_price, cfg_getfloat(cfg, "failure_price"))
  CONVERT("force", force, cfg_getbool(cfg, "force"))
  CONVERT("borrow", borrow, cfg_getbool(cfg, "borrow"))
  CONVERT("ceiling_factor", ceiling_factor, cfg_getfloat(cfg, "ceiling_factor"))
  CONVERT("leak_runs", leak_runs, (uint32_t)cfg_getint(cfg, "leak_runs"))
#undef CONVERT
}

#define POLICY_OPTIONS                                                                             \
  CFG_STR("mode", NULL, CFGF_NODEFAULT), CFG_INT("min_runs", 0, CFGF_NODEFAULT),                   \
      CFG_INT("trim_runs", 0, CFGF_NODEFAULT), CFG_FLOAT("oom_probability", 0, CFGF_NODEFAULT),    \
      CFG_FLOAT("reject_probability", 0, CFGF_NODEFAULT), CFG_STR("floor", NULL, CFGF_NODEFAULT),  \
      CFG_STR("round", NULL, CFGF_NODEFAULT), CFG_FLOAT("trim_factor", 0, CFGF_NODEFAULT),         \
      CFG_BOOL("quiet", cfg_false, CFGF_NODEFAULT), CFG_FLOAT("failure_price", 1, CFGF_NODEFAULT), \
      CFG_BOOL("borrow", cfg_true, CFGF_NODEFAULT), CFG_BOOL("force", cfg_true, CFGF_NODEFAULT),   \
      CFG_FLOAT("ceiling_factor", 2, CFGF_NODEFAULT), CFG_INT("leak_runs", 3, CFGF_NODEFAULT)

static cfg_opt_t override_options[] = { POLICY_OPTIONS, CFG_END() };

enum { SECTION_FLAGS = CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES };

static cfg_opt_t site_options[] = { CFG_STR("state_dir", NULL, CFGF_NODEFAULT),
                                    CFG_STR("socket", NULL, CFGF_NODEFAULT),
                                    CFG_STR("learner_socket", NULL, CFGF_NODEFAULT),
                                    CFG_STR("learner", NULL, CFGF_NODEFAULT),
                                    CFG_STR("listen", NULL, CFGF_NODEFAULT),
                                    CFG_STR("auth", NULL, CFGF_NODEFAULT),
                                    CFG_STR("agent_users", NULL, CFGF_NODEFAULT),
                                    CFG_STR("learner_users", NULL, CFGF_NODEFAULT),
                                    CFG_STR("munge_socket", NULL, CFGF_NODEFAULT),
                                    CFG_STR("tls_certificate", NULL, CFGF_NODEFAULT),
                                    CFG_STR("tls_key", NULL, CFGF_NODEFAULT),
                                    CFG_STR("tls_ca", NULL, CFGF_NODEFAULT),
                                    CFG_STR("cluster", NULL, CFGF_NODEFAULT),
                                    CFG_STR("node_platform", NULL, CFGF_NODEFAULT),
                                    CFG_STR("currency", NULL, CFGF_NODEFAULT),
                                    CFG_STR("metrics_file", NULL, CFGF_NODEFAULT),
                                    CFG_STR("metrics_listen", NULL, CFGF_NODEFAULT),
                                    CFG_FLOAT("sample_hz", 0, CFGF_NODEFAULT),
                                    CFG_INT("cluster_refresh", 0, CFGF_NODEFAULT),
                                    CFG_STR("memory_rule", NULL, CFGF_NODEFAULT),
                                    CFG_STR("slurm_bin", NULL, CFGF_NODEFAULT),
                                    CFG_INT("helper_timeout_ms", 0, CFGF_NODEFAULT),
                                    CFG_BOOL("user_apps", cfg_true, CFGF_NODEFAULT),
                                    CFG_STR("keep_arguments", NULL, CFGF_NODEFAULT),
                                    CFG_STR("drop_arguments", NULL, CFGF_NODEFAULT),
                                    CFG_INT("max_runs", 0, CFGF_NODEFAULT),
                                    CFG_STR("max_age", NULL, CFGF_NODEFAULT),
                                    CFG_INT("max_apps", 0, CFGF_NODEFAULT),
                                    POLICY_OPTIONS,
                                    CFG_SEC("partition", override_options, SECTION_FLAGS),
                                    CFG_SEC("account", override_options, SECTION_FLAGS),
                                    CFG_SEC("user", override_options, SECTION_FLAGS),
                                    CFG_SEC("app", ft_conf_app_options, SECTION_FLAGS),
                                    CFG_SEC("platform", ft_conf_platform_options, SECTION_FLAGS),
                                    CFG_BOOL(END_MARK, cfg_false, CFGF_NODEFAULT),
                                    CFG_END() };

static cfg_opt_t user_options[] = { CFG_SEC("app", ft_conf_app_options, SECTION_FLAGS),
                                    CFG_BOOL(END_MARK, cfg_false, CFGF_NODEFAULT), CFG_END() };

static const char *const override_sections[] = { "partition", "account", "user" };

static void validate_policy_section(cfg_t *cfg, const char *section)
{
  char path[64];

  for (size_t i = 0; i < COUNT(policy_keys); i++) {
    (void)snprintf(path, sizeof path, "%s%s%s", section, section[0] ? "|" : "",
                   policy_keys[i].name);
    cfg_set_validate_func(cfg, path, check_value);
  }
}

/* Parses PATH with OPTIONS; SITE: it is foretell.conf. Returns the result, which the caller frees
 * with cfg_free; NULL on error and fills ERR. */
static cfg_t *parse_config_file(const char *path, cfg_opt_t *options, bool site,
                                struct ft_error *err)
{
  struct ft_buf text;
  FILE *stream = NULL;
  cfg_t *cfg = NULL;
  size_t length;
  int status = CFG_PARSE_ERROR;

  ft_buf_init(&text, FT_LIMIT_CONFIG);
  if (ft_io_read_file(AT_FDCWD, path, &text, err) < 0)
    goto out;
  if (strlen(ft_buf_text(&text)) != text.length) {
    ft_error_set(err, "%s: byte %zu: expected text, not a NUL", path, strlen(text.data));
    goto out;
  }
  cfg = cfg_init(options, CFGF_NONE);
  length = text.length;
  if (ft_buf_printf(&text, "\n%s = true\n", END_MARK) == 0) {
    ft_conf_blank_comments(text.data, length);
    stream = fmemopen(text.data, text.length, "r");
  }
  if (!cfg || !stream || !(cfg->filename = strdup(path))) {
    ft_error_errno(err, "%s", path);
    goto out;
  }
  parse = (struct parse){ .path = path, .text = ft_text_of(text.data, length), .err = err };
  cfg_set_error_function(cfg, report_first_error);
  ft_conf_apps_watch(cfg);
  if (site) {
    validate_policy_section(cfg, "");
    ft_conf_platforms_watch(cfg);
    for (size_t i = 0; i < COUNT(override_sections); i++) {
      validate_policy_section(cfg, override_sections[i]);
      cfg_set_validate_func(cfg, override_sections[i], note_first_line);
    }
    for (size_t i = 0; i < COUNT(site_keys); i++)
      cfg_set_validate_func(cfg, site_keys[i].name, check_value);
  }
  status = cfg_parse_fp(cfg, stream);
  if (status == CFG_SUCCESS && !cfg_size(cfg, END_MARK)) {
    status = CFG_PARSE_ERROR;
    ft_error_set(err, "%s: line %d: comment without end", path,
                 ft_conf_unterminated_line(parse.text));
  } else if (status != CFG_SUCCESS && !parse.failed) {
    ft_error_set(err, "%s: line %d: syntax error", path, cfg->line);
  }
out:
  if (stream)
    fclose(stream);
  ft_buf_free(&text);
  if (status == CFG_SUCCESS)
    return cfg;
  if (cfg)
    cfg_free(cfg);
  return NULL;
}

void ft_config_defaults(struct ft_config *config)
{
  *config = (struct ft_config){ .sample_hertz = 10,
                                .cluster_seconds = 300,
                                .helper_milliseconds = 500,
                                .user_apps = true,
                                .max_runs = 10000,
                                .max_age_seconds = 2 * 365 * 86400.0,
                                .max_apps = 1000 };
  (void)ft_string_copy(FT_STATE_DIRECTORY, config->state_directory, sizeof config->state_directory);
  (void)ft_string_copy(FT_SOCKET, config->socket, sizeof config->socket);
  (void)ft_string_copy(FT_LEARNER_SOCKET, config->learner_socket, sizeof config->learner_socket);
  (void)ft_string_copy("foretell", config->network.learner_users,
                       sizeof config->network.learner_users);
  config->policy = ft_policy_defaults;
}

static void convert_names(cfg_t *cfg, struct ft_config *config)
{
  static const char unset[] = "";
  struct ft_config_network *n = &config->network;
  const struct {
    const char *key;
    char *to;
    size_t size;
  } names[] = { { "state_dir", config->state_directory, sizeof config->state_directory },
                { "socket", config->socket, sizeof config->socket },
                { "learner_socket", config->learner_socket, sizeof config->learner_socket },
                { "learner", n->learners, sizeof n->learners },
                { "listen", n->listen, sizeof n->listen },
                { "agent_users", n->agent_users, sizeof n->agent_users },
                { "learner_users", n->learner_users, sizeof n->learner_users },
                { "munge_socket", n->munge_socket, sizeof n->munge_socket },
                { "tls_certificate", n->tls_certificate, sizeof n->tls_certificate },
                { "tls_key", n->tls_key, sizeof n->tls_key },
                { "tls_ca", n->tls_ca, sizeof n->tls_ca },
                { "cluster", config->cluster, sizeof config->cluster },
                { "node_platform", config->node_platform, sizeof config->node_platform },
                { "currency", config->currency, sizeof config->currency },
                { "metrics_file", config->metrics_file, sizeof config->metrics_file },
                { "metrics_listen", config->metrics_listen, sizeof config->metrics_listen },
                { "keep_arguments", config->keep_arguments, sizeof config->keep_arguments },
                { "drop_arguments", config->drop_arguments, sizeof config->drop_arguments },
                { "slurm_bin", config->slurm_bin, sizeof config->slurm_bin } };

  for (size_t i = 0; i < COUNT(names); i++)
    if (SET(cfg, names[i].key)) {
      const char *text = cfg_getstr(cfg, names[i].key);

      (void)ft_string_copy(text ? text : unset, names[i].to, names[i].size);
    }
  n->agent_users_line = parse.agent_users_line;
  n->learner_users_line = parse.learner_users_line;
  if (SET(cfg, "auth"))
    n->auth = strcmp(cfg_getstr(cfg, "auth"), "tls") == 0 ? FT_AUTH_TLS : FT_AUTH_MUNGE;
}

/* Checks keys that need each other. Returns 0; -1 and ERR. */
static int check_combinations(const struct ft_config *config, const char *path,
                              struct ft_error *err)
{
  const struct ft_config_network *n = &config->network;

  if (!config->state_directory[0] || !config->socket[0] || !config->learner_socket[0])
    return ft_error_set(err, "%s: state_dir, socket and learner_socket must not be empty", path);
  if (n->auth == FT_AUTH_TLS && (!n->tls_certificate[0] || !n->tls_key[0] || !n->tls_ca[0]))
    return ft_error_set(err, "%s: auth = tls needs tls_certificate, tls_key and tls_ca", path);
  return 0;
}

static void convert_numbers(cfg_t *cfg, struct ft_config *config)
{
  if (SET(cfg, "sample_hz"))
    config->sample_hertz = cfg_getfloat(cfg, "sample_hz");
  if (SET(cfg, "cluster_refresh"))
    config->cluster_seconds = (double)cfg_getint(cfg, "cluster_refresh");
  if (SET(cfg, "helper_timeout_ms"))
    config->helper_milliseconds = (uint32_t)cfg_getint(cfg, "helper_timeout_ms");
  if (SET(cfg, "max_runs"))
    config->max_runs = (uint64_t)cfg_getint(cfg, "max_runs");
  if (SET(cfg, "max_age"))
    (void)ft_units_parse_period(ft_text_from(cfg_getstr(cfg, "max_age")), &config->max_age_seconds);
  if (SET(cfg, "max_apps"))
    config->max_apps = (uint64_t)cfg_getint(cfg, "max_apps");
  if (SET(cfg, "user_apps"))
    config->user_apps = cfg_getbool(cfg, "user_apps");
  if (SET(cfg, "memory_rule")) {
    const char *rule = cfg_getstr(cfg, "memory_rule");

    config->rule = strcmp(rule, "auto") == 0 ? FT_RULE_UNKNOWN : (ft_rule)ft_rule_from_name(rule);
  }
}

static int convert_overrides(cfg_t *cfg, const char *path, struct ft_config *config,
                             struct ft_error *err)
{
  for (size_t s = 0; s < COUNT(override_sections); s++)
    for (unsigned i = 0; i < cfg_size(cfg, override_sections[s]); i++) {
      cfg_t *section = cfg_getnsec(cfg, override_sections[s], i);
      ft_override *o = &config->overrides[config->override_count];
      char *name[] = { o->partition, o->account, o->user };

      if (config->override_count == COUNT(config->overrides))
        return ft_error_set(err, "%s: line %d: more than %zu partition, account and user sections",
                            path, section->line, COUNT(config->overrides));
      *o = (ft_override){ .has_policy = true };
      if (!ft_string_copy(cfg_title(section), name[s], sizeof o->partition) || !name[s][0])
        return ft_error_set(err, "%s: line %d: %s: expected a name of 1 to %zu bytes", path,
                            section->line, override_sections[s], sizeof o->partition - 1);
      convert_policy(section, &o->policy);
      config->override_lines[config->override_count++] = section->line;
    }
  return 0;
}

int ft_config_read(const char *path, struct ft_config *config, struct ft_error *err)
{
  struct ft_config *read = malloc(sizeof *read);
  cfg_t *cfg = NULL;
  int status = -1;
  size_t apps;

  if (!path)
    path = FT_CONFIG_FILE;
  if (!read) {
    ft_error_errno(err, "%s", path);
    goto out;
  }
  cfg = parse_config_file(path, site_options, true, err);
  if (!cfg)
    goto out;
  ft_config_defaults(read);
  convert_names(cfg, read);
  convert_numbers(cfg, read);
  convert_policy(cfg, &read->policy);
  if (convert_overrides(cfg, path, read, err) < 0 ||
      ft_conf_platforms_read(cfg, path, read, err) < 0 ||
      ft_conf_apps_read(cfg, path, read->apps, COUNT(read->apps), &apps, err) < 0)
    goto out;
  read->app_count = (pb_size_t)apps;
  if (check_combinations(read, path, err) < 0)
    goto out;
  *config = *read;
  status = 0;
out:
  if (cfg)
    cfg_free(cfg);
  free(read);
  return status;
}

int ft_config_read_apps(const char *path, ft_declared_app *apps, size_t limit, size_t *count,
                        struct ft_error *err)
{
  cfg_t *cfg = parse_config_file(path, user_options, false, err);
  int status;

  if (!cfg)
    return -1;
  status = ft_conf_apps_read(cfg, path, apps, limit, count, err);
  cfg_free(cfg);
  return status;
}

void ft_config_to_site(const struct ft_config *config, ft_site *site, ft_apps *apps)
{
  site->schema = FT_SCHEMA;
  if (config->cluster[0])
    (void)ft_string_copy(config->cluster, site->cluster, sizeof site->cluster);
  if (config->rule != FT_RULE_UNKNOWN)
    site->rule = config->rule;
  site->has_policy = true;
  site->policy = config->policy;
  site->overrides_count = config->override_count;
  memcpy(site->overrides, config->overrides, sizeof site->overrides);
  site->user_apps = config->user_apps;
  (void)ft_string_copy(config->keep_arguments, site->keep_arguments, sizeof site->keep_arguments);
  (void)ft_string_copy(config->drop_arguments, site->drop_arguments, sizeof site->drop_arguments);
  site->helper_milliseconds = config->helper_milliseconds;
  site->apps = config->app_count;
  *apps = (ft_apps){ .schema = FT_SCHEMA, .apps_count = config->app_count };
  memcpy(apps->apps, config->apps, sizeof apps->apps);
}
