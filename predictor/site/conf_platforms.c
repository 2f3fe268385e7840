/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/site/conf_platforms.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Largest price per hour; larger values are typing errors. A node of eight of the most expensive
 * GPUs costs some 100 dollars per hour. */
#define MAX_PRICE 1e6
/* Largest power of a node; larger values are typing errors. A rack of GPUs sold as one machine has
 * 140 kW. */
#define MAX_WATTS 1e6

cfg_opt_t ft_conf_platform_options[] = {
  CFG_FLOAT("price", 0, CFGF_NODEFAULT),    CFG_STR("price_per", NULL, CFGF_NODEFAULT),
  CFG_FLOAT("watts", 0, CFGF_NODEFAULT),    CFG_STR("nodes", NULL, CFGF_NODEFAULT),
  CFG_STR("feature", NULL, CFGF_NODEFAULT), CFG_END()
};

static const struct {
  const char *name;
  ft_price_unit unit;
} units[] = { { "cpu", FT_PRICE_CPU }, { "node", FT_PRICE_NODE }, { "gpu", FT_PRICE_GPU } };

static ft_price_unit parse_price_unit(const char *name)
{
  size_t i = FT_TABLE_FIND(units, name);

  return i < COUNT(units) ? units[i].unit : FT_PRICE_NONE;
}

static int check_price(cfg_t *cfg, cfg_opt_t *opt)
{
  double price = cfg_opt_getnfloat(opt, 0);

  if (price >= 0 && price <= MAX_PRICE)
    return 0;
  cfg_error(cfg, "price: expected a number from 0 to %g, not %g", MAX_PRICE, price);
  return -1;
}

static int check_watts(cfg_t *cfg, cfg_opt_t *opt)
{
  double watts = cfg_opt_getnfloat(opt, 0);

  if (watts > 0 && watts <= MAX_WATTS)
    return 0;
  cfg_error(cfg, "watts: expected a number above 0, at most %g, not %g", MAX_WATTS, watts);
  return -1;
}

static int check_unit(cfg_t *cfg, cfg_opt_t *opt)
{
  const char *name = cfg_opt_getnstr(opt, 0);

  if (parse_price_unit(name) != FT_PRICE_NONE)
    return 0;
  cfg_error(cfg, "price_per: expected cpu, node or gpu, not \"%s\"", name);
  return -1;
}

/* Checks a value for command lines and lists of Slurm: no blanks, no control characters. */
static int check_word(cfg_t *cfg, const char *key, const char *text, size_t size)
{
  const unsigned char *p = (const unsigned char *)text;

  while (*p > ' ' && *p != 0x7f)
    p++;
  if (text[0] && text[0] != '-' && !*p && strlen(text) < size)
    return 0;
  cfg_error(cfg, "%s: expected 1 to %zu bytes without blanks", key, size - 1);
  return -1;
}

static int check_nodes(cfg_t *cfg, cfg_opt_t *opt)
{
  return check_word(cfg, "nodes", cfg_opt_getnstr(opt, 0),
                    sizeof((struct ft_config_platform *)NULL)->nodes);
}

static int check_feature(cfg_t *cfg, cfg_opt_t *opt)
{
  return check_word(cfg, "feature", cfg_opt_getnstr(opt, 0),
                    sizeof((struct ft_config_platform *)NULL)->feature);
}

static int check_section(cfg_t *cfg, cfg_opt_t *opt)
{
  cfg_t *section = cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1);
  const char *name = cfg_title(section);

  (void)cfg;
  if (check_word(section, "platform", name, sizeof((struct ft_config_platform *)NULL)->name) < 0)
    return -1;
  if ((cfg_size(section, "price") > 0) == (cfg_size(section, "price_per") > 0))
    return 0;
  cfg_error(section, "platform \"%s\": price and price_per belong together", name);
  return -1;
}

void ft_conf_platforms_watch(cfg_t *cfg)
{
  cfg_set_validate_func(cfg, "platform", check_section);
  cfg_set_validate_func(cfg, "platform|price", check_price);
  cfg_set_validate_func(cfg, "platform|price_per", check_unit);
  cfg_set_validate_func(cfg, "platform|watts", check_watts);
  cfg_set_validate_func(cfg, "platform|nodes", check_nodes);
  cfg_set_validate_func(cfg, "platform|feature", check_feature);
}

int ft_conf_platforms_read(cfg_t *cfg, const char *path, struct ft_config *config,
                           struct ft_error *err)
{
  for (unsigned i = 0; i < cfg_size(cfg, "platform"); i++) {
    cfg_t *section = cfg_getnsec(cfg, "platform", i);
    struct ft_config_platform *p = &config->platforms[i];

    if (i == COUNT(config->platforms))
      return ft_error_set(err, "%s: line %d: more than %zu platforms", path, section->line,
                          COUNT(config->platforms));
    *p = (struct ft_config_platform){ 0 };
    (void)ft_string_copy(cfg_title(section), p->name, sizeof p->name);
    if (cfg_size(section, "price")) {
      p->price = cfg_getfloat(section, "price");
      p->price_unit = parse_price_unit(cfg_getstr(section, "price_per"));
    }
    if (cfg_size(section, "watts"))
      p->watts = cfg_getfloat(section, "watts");
    if (cfg_size(section, "nodes"))
      (void)ft_string_copy(cfg_getstr(section, "nodes"), p->nodes, sizeof p->nodes);
    if (cfg_size(section, "feature"))
      (void)ft_string_copy(cfg_getstr(section, "feature"), p->feature, sizeof p->feature);
    config->platform_count = i + 1;
  }
  return 0;
}

void ft_config_to_platforms(const struct ft_config *config, ft_platforms *out)
{
  *out = (ft_platforms){ .schema = FT_SCHEMA, .platforms_count = config->platform_count };
  (void)ft_string_copy(config->currency, out->currency, sizeof out->currency);
  for (size_t i = 0; i < config->platform_count; i++) {
    const struct ft_config_platform *p = &config->platforms[i];

    out->platforms[i] =
        (ft_platform){ .price = p->price, .price_unit = p->price_unit, .watts = p->watts };
    (void)ft_string_copy(p->name, out->platforms[i].name, sizeof out->platforms[i].name);
  }
}
