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
#include "predictor/record/policy_keys.h"
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

/* A key: type and range of its value, and the field of struct ft_config outside of the policy. The
 * bounds are in the unit of the key; of text, HIGH is the size of its array in bytes. Ranges are
 * those of foretell.conf(5). */
struct key {
  const char *name;
  enum {
    KEY_NUMBER = FT_POLICY_NUMBER,
    KEY_COUNT = FT_POLICY_COUNT,
    KEY_BYTES = FT_POLICY_BYTES,
    KEY_SWITCH = FT_POLICY_SWITCH,
    KEY_MODE = FT_POLICY_MODE,
    KEY_PERIOD,
    KEY_RULE,
    KEY_NAME,
    KEY_PATH,
    KEY_LEARNERS,
    KEY_LISTEN,
    KEY_AUTH,
    KEY_COUNTERS
  } type;
  size_t offset;
  double low, high;
};

#define AT(field) offsetof(struct ft_config, field)
#define TEXT(field) AT(field), 0, sizeof((struct ft_config *)NULL)->field

static const struct key site_keys[] = {
  { "state_dir", KEY_PATH, TEXT(state_directory) },
  { "socket", KEY_PATH, TEXT(socket) },
  { "learner_socket", KEY_PATH, TEXT(learner_socket) },
  { "learner", KEY_LEARNERS, TEXT(network.learners) },
  { "listen", KEY_LISTEN, TEXT(network.listen) },
  { "auth", KEY_AUTH, AT(network.auth), 0, 0 },
  { "agent_users", KEY_NAME, TEXT(network.agent_users) },
  { "learner_users", KEY_NAME, TEXT(network.learner_users) },
  { "munge_socket", KEY_PATH, TEXT(network.munge_socket) },
  { "tls_certificate", KEY_PATH, TEXT(network.tls_certificate) },
  { "tls_key", KEY_PATH, TEXT(network.tls_key) },
  { "tls_ca", KEY_PATH, TEXT(network.tls_ca) },
  { "cluster", KEY_NAME, TEXT(cluster) },
  { "node_platform", KEY_NAME, TEXT(node_platform) },
  { "currency", KEY_NAME, TEXT(currency) },
  { "co2_grams_per_kwh", KEY_NUMBER, AT(co2_grams_per_kwh), 0, 10000 },
  { "metrics_file", KEY_PATH, TEXT(metrics_file) },
  { "metrics_listen", KEY_NAME, TEXT(metrics_listen) },
  { "sample_hz", KEY_NUMBER, AT(sample_hertz), 0.1, 100 },
  { "counters", KEY_COUNTERS, AT(counters), 0, 0 },
  { "counter_runs", KEY_COUNT, AT(counter_runs), 1, 1000 },
  { "cluster_refresh", KEY_COUNT, AT(cluster_seconds), 10, 86400 },
  { "memory_rule", KEY_RULE, AT(rule), 0, 0 },
  { "slurm_bin", KEY_PATH, TEXT(slurm_bin) },
  { "helper_timeout_ms", KEY_COUNT, AT(helper_milliseconds), 10, 10000 },
  { "user_apps", KEY_SWITCH, AT(user_apps), 0, 0 },
  { "keep_arguments", KEY_NAME, TEXT(keep_arguments) },
  { "drop_arguments", KEY_NAME, TEXT(drop_arguments) },
  { "max_runs", KEY_COUNT, AT(max_runs), 0, 10000000 },
  { "max_age", KEY_PERIOD, AT(max_age_seconds), 3600, 100 * 365 * 86400.0 },
  { "max_apps", KEY_COUNT, AT(max_apps), 0, 1000000 }
};

/* Fills KEY with the key NAME. Returns false if there is none. */
static bool find_config_key(const char *name, struct key *key)
{
  size_t policy = FT_TABLE_FIND_INLINED(ft_policy_keys, name);
  size_t site = FT_TABLE_FIND(site_keys, name);

  if (policy < FT_POLICY_KEYS) {
    const struct ft_policy_key *p = &ft_policy_keys[policy];

    *key = (struct key){ p->name, p->type, 0, p->low, p->high };
  } else if (site < COUNT(site_keys)) {
    *key = site_keys[site];
  }
  return policy < FT_POLICY_KEYS || site < COUNT(site_keys);
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

/* Values of the key counters, by enum ft_counters. */
static const char *const counter_names[] = { "new", "always", "off" };

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
  case KEY_COUNTERS:
    if (FT_TABLE_FIND(counter_names, text) < COUNT(counter_names))
      return 0;
    cfg_error(cfg, "counters: expected new, always or off, not \"%s\"", text);
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
  struct key key;
  double value;

  if (!find_config_key(cfg_opt_name(opt), &key) || key.type == KEY_SWITCH)
    return 0;
  if (strcmp(key.name, "agent_users") == 0)
    parse.agent_users_line = cfg->line;
  else if (strcmp(key.name, "learner_users") == 0)
    parse.learner_users_line = cfg->line;
  if (key.type != KEY_NUMBER && key.type != KEY_COUNT)
    return check_text(cfg, &key, cfg_opt_getnstr(opt, 0));
  value = key.type == KEY_COUNT ? (double)cfg_opt_getnint(opt, 0) : cfg_opt_getnfloat(opt, 0);
  if (value >= key.low && value <= key.high)
    return 0;
  cfg_error(cfg, "%s: expected a number from %g to %g, not %g", key.name, key.low, key.high, value);
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

/* Returns the value of the key NAME in CFG that is a number or, of TYPE, stands for one. */
static double convert_number(cfg_t *cfg, const char *name, unsigned type)
{
  uint64_t bytes = 0;
  double seconds = 0;

  switch (type) {
  case KEY_NUMBER:
    return cfg_getfloat(cfg, name);
  case KEY_COUNT:
    return (double)cfg_getint(cfg, name);
  case KEY_SWITCH:
    return cfg_getbool(cfg, name);
  case KEY_MODE:
    return ft_mode_from_name(cfg_getstr(cfg, name));
  case KEY_PERIOD:
    (void)ft_units_parse_period(ft_text_from(cfg_getstr(cfg, name)), &seconds);
    return seconds;
  default:
    (void)ft_units_parse_bytes(ft_text_from(cfg_getstr(cfg, name)), FT_MIB, &bytes);
    return (double)bytes;
  }
}

/* Copies the keys that CFG sets into P, with their has_ fields. */
static void convert_policy(cfg_t *cfg, ft_policy *p)
{
  for (size_t i = 0; i < FT_POLICY_KEYS; i++) {
    const struct ft_policy_key *key = &ft_policy_keys[i];

    if (cfg_size(cfg, key->name) > 0)
      ft_policy_set(p, key, convert_number(cfg, key->name, key->type));
  }
}

/* Copies the key that CFG sets into its field of CONFIG. */
static void convert_key(cfg_t *cfg, const struct key *key, struct ft_config *config)
{
  void *to = (char *)config + key->offset;
  const char *text;

  switch (key->type) {
  case KEY_NUMBER:
  case KEY_PERIOD:
    *(double *)to = convert_number(cfg, key->name, key->type);
    break;
  case KEY_COUNT:
    *(uint64_t *)to = (uint64_t)convert_number(cfg, key->name, key->type);
    break;
  case KEY_SWITCH:
    *(bool *)to = cfg_getbool(cfg, key->name);
    break;
  case KEY_RULE:
    text = cfg_getstr(cfg, key->name);
    *(ft_rule *)to = strcmp(text, "auto") == 0 ? FT_RULE_UNKNOWN : (ft_rule)ft_rule_from_name(text);
    break;
  case KEY_AUTH:
    text = cfg_getstr(cfg, key->name);
    *(enum ft_auth *)to = strcmp(text, "tls") == 0 ? FT_AUTH_TLS : FT_AUTH_MUNGE;
    break;
  case KEY_COUNTERS:
    *(enum ft_counters *)to =
        (enum ft_counters)FT_TABLE_FIND(counter_names, cfg_getstr(cfg, key->name));
    break;
  default:
    (void)ft_string_copy(cfg_getstr(cfg, key->name), to, (size_t)key->high);
    break;
  }
}

/* Returns libconfuse's option of the key NAME. It has no default: an unset key has no value. */
static cfg_opt_t option_of_key(const char *name, unsigned type)
{
  cfg_opt_t option = CFG_STR(name, NULL, CFGF_NODEFAULT);

  if (type == KEY_NUMBER)
    option.type = CFGT_FLOAT;
  else if (type == KEY_COUNT)
    option.type = CFGT_INT;
  else if (type == KEY_SWITCH)
    option.type = CFGT_BOOL;
  option.validcb = check_value;
  return option;
}

enum { SECTION_FLAGS = CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES };

static const char *const override_sections[] = { "partition", "account", "user" };

/* Returns libconfuse's object for foretell.conf (SITE) or apps.conf; NULL out of memory. It copies
 * the options. */
static cfg_t *create_parser(bool site)
{
  cfg_opt_t options[FT_POLICY_KEYS + COUNT(site_keys) + COUNT(override_sections) + 4];
  cfg_opt_t overrides[FT_POLICY_KEYS + 1];
  size_t n = 0;

  if (site) {
    for (; n < FT_POLICY_KEYS; n++)
      options[n] = overrides[n] = option_of_key(ft_policy_keys[n].name, ft_policy_keys[n].type);
    overrides[n] = (cfg_opt_t)CFG_END();
    for (size_t i = 0; i < COUNT(site_keys); i++)
      options[n++] = option_of_key(site_keys[i].name, site_keys[i].type);
    for (size_t i = 0; i < COUNT(override_sections); i++) {
      options[n] = (cfg_opt_t)CFG_SEC(override_sections[i], overrides, SECTION_FLAGS);
      options[n++].validcb = note_first_line;
    }
    options[n++] = (cfg_opt_t)CFG_SEC("platform", ft_conf_platform_options, SECTION_FLAGS);
  }
  options[n++] = (cfg_opt_t)CFG_SEC("app", ft_conf_app_options, SECTION_FLAGS);
  options[n++] = (cfg_opt_t)CFG_BOOL(END_MARK, cfg_false, CFGF_NODEFAULT);
  options[n] = (cfg_opt_t)CFG_END();
  return cfg_init(options, CFGF_NONE);
}

/* Parses PATH; SITE: it is foretell.conf, else apps.conf. Returns the result, which the caller
 * frees with cfg_free; NULL on error and fills ERR. */
static cfg_t *parse_config_file(const char *path, bool site, struct ft_error *err)
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
  cfg = create_parser(site);
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
  if (site)
    ft_conf_platforms_watch(cfg);
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
                                .counter_runs = 20,
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

/* Copies the keys that CFG sets outside of sections into CONFIG. */
static void convert_keys(cfg_t *cfg, struct ft_config *config)
{
  for (size_t i = 0; i < COUNT(site_keys); i++)
    if (cfg_size(cfg, site_keys[i].name) > 0)
      convert_key(cfg, &site_keys[i], config);
  config->network.agent_users_line = parse.agent_users_line;
  config->network.learner_users_line = parse.learner_users_line;
  convert_policy(cfg, &config->policy);
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
  cfg = parse_config_file(path, true, err);
  if (!cfg)
    goto out;
  ft_config_defaults(read);
  convert_keys(cfg, read);
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
  cfg_t *cfg = parse_config_file(path, false, err);
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
  site->helper_milliseconds = (uint32_t)config->helper_milliseconds;
  site->apps = config->app_count;
  *apps = (ft_apps){ .schema = FT_SCHEMA, .apps_count = config->app_count };
  memcpy(apps->apps, config->apps, sizeof apps->apps);
}
