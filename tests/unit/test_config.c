/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/core/units.h"
#include "predictor/record/policy_keys.h"
#include "predictor/site/conf.h"

static char path[] = "/tmp/foretell-test-XXXXXX";

static int make_file(void **state)
{
  int fd = mkstemp(path);

  (void)state;
  return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
  (void)state;
  return unlink(path);
}

static void write_config(const char *text)
{
  FILE *f = fopen(path, "w");

  assert_non_null(f);
  assert_true(fputs(text, f) >= 0);
  assert_int_equal(fclose(f), 0);
}

static void empty_file_means_defaults(void **state)
{
  struct ft_config read, defaults;
  struct ft_error err;

  (void)state;
  write_config("");
  memset(&read, 1, sizeof read);
  assert_int_equal(ft_config_read(path, &read, &err), 0);
  ft_config_defaults(&defaults);
  assert_string_equal(read.state_directory, defaults.state_directory);
  assert_int_equal(read.policy.min_runs, 5);
  assert_int_equal(read.policy.mode, FT_MODE_OFF);
  assert_true(read.policy.reject_probability == 0);
  assert_int_equal(read.override_count, 0);
}

static void the_keys_of_the_network_are_read(void **state)
{
  struct ft_config c;
  struct ft_error err;

  (void)state;
  write_config(
      "learner = \"l1, l2:7000\"\nlisten = 7001\nauth = tls\nagent_users = \"foretell, 7\"\n"
      "learner_users = \"slurm, 8\"\n"
      "munge_socket = /run/m.sock\n"
      "tls_certificate = /c.pem\ntls_key = /k.pem\ntls_ca = /a.pem\n");
  assert_int_equal(ft_config_read(path, &c, &err), 0);
  assert_string_equal(c.network.learners, "l1, l2:7000");
  assert_string_equal(c.network.listen, "7001");
  assert_int_equal(c.network.auth, FT_AUTH_TLS);
  assert_string_equal(c.network.agent_users, "foretell, 7");
  assert_string_equal(c.network.learner_users, "slurm, 8");
  assert_string_equal(c.network.munge_socket, "/run/m.sock");
  assert_string_equal(c.network.tls_certificate, "/c.pem");
  assert_string_equal(c.network.tls_key, "/k.pem");
  assert_string_equal(c.network.tls_ca, "/a.pem");
  write_config("learner = \"\"\nlisten = \"\"\nauth = munge\n");
  assert_int_equal(ft_config_read(path, &c, &err), 0);
  assert_string_equal(c.network.learners, "");
  assert_int_equal(c.network.auth, FT_AUTH_MUNGE);
}

static void wrong_keys_of_the_network_are_rejected(void **state)
{
  static const struct {
    const char *text, *error;
  } cases[] = {
    { "learner = \"l1,,l2\"\n", "line 1: learner: expected HOST" },
    { "\nlisten = \"l1:0\"\n", "line 2: listen: expected a port" },
    { "auth = none\n", "line 1: auth: expected munge or tls, not \"none\"" },
    { "auth = tls\ntls_ca = /a.pem\n", "auth = tls needs tls_certificate" },
    { "learner = \"a,b,c,d,e,f,g,h,i\"\n", "learner: expected at most 8 addresses" },
  };
  struct ft_config c;
  struct ft_error err;

  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_config(cases[i].text);
    assert_int_equal(ft_config_read(path, &c, &err), -1);
    if (!strstr(err.text, cases[i].error))
      fail_msg("%s: %s", cases[i].error, err.text);
  }
}

static void addresses_are_parsed(void **state)
{
  static const struct {
    const char *text, *host, *port;
  } cases[] = {
    { "learn", "learn", "6825" },
    { "learn:1", "learn", "1" },
    { "10.0.0.1:65535", "10.0.0.1", "65535" },
    { "[::1]", "::1", "6825" },
    { "[fe80::1]:700", "fe80::1", "700" },
    { " a-b_c.example ", "a-b_c.example", "6825" },
  };
  static const char *const wrong[] = { " ",     ":1",     "a:",  "a:65536", "a:0",
                                       "a:1:2", "[::1",   "[]",  "[::1]1",  "[::1]:",
                                       "::1",   "a b",    "-a",  "a/b",     "a:-1",
                                       "a:1x",  "[a]b:1", "a@b", "[::1]]" };
  struct ft_address address;
  struct ft_error err;

  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct ft_text list = ft_text_from(cases[i].text);

    assert_int_equal(ft_address_next(&list, &address, &err), 1);
    assert_string_equal(address.host, cases[i].host);
    assert_string_equal(address.port, cases[i].port);
    assert_int_equal(ft_address_next(&list, &address, &err), 0);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct ft_text list = ft_text_from(wrong[i]);

    if (ft_address_next(&list, &address, &err) != -1 || !strstr(err.text, "expected "))
      fail_msg("\"%s\" is accepted", wrong[i]);
  }
  assert_int_equal(ft_address_parse_listen(ft_text_from("70"), &address, &err), 0);
  assert_string_equal(address.host, "");
  assert_string_equal(address.port, "70");
  assert_int_equal(ft_address_parse_listen(ft_text_from("[::1]:70"), &address, &err), 0);
  assert_string_equal(address.host, "::1");
}

static void addresses_of_metrics_are_parsed(void **state)
{
  static const struct {
    const char *text, *host, *port;
  } cases[] = {
    { "9841", "127.0.0.1", "9841" },
    { "0", "127.0.0.1", "0" },
    { "10.0.0.1:9841", "10.0.0.1", "9841" },
    { "[::1]:0", "::1", "0" },
  };
  static const char *const wrong[] = { "", "localhost", "127.0.0.1", "[::1]", "65536", "::1:9841" };
  struct ft_address address;
  struct ft_error err;

  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(ft_address_parse_metrics(ft_text_from(cases[i].text), &address, &err), 0);
    assert_string_equal(address.host, cases[i].host);
    assert_string_equal(address.port, cases[i].port);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    if (ft_address_parse_metrics(ft_text_from(wrong[i]), &address, &err) != -1 ||
        !strstr(err.text, "expected "))
      fail_msg("\"%s\" is accepted", wrong[i]);
}

static void every_key_is_read(void **state)
{
  struct ft_config c;
  struct ft_error err;

  (void)state;
  write_config(
      "# a comment\n"
      "state_dir = /srv/foretell\nsocket = /run/x.sock\ncluster = alpha\nnode_platform = "
      "\"milan\"\nmetrics_file = /srv/metrics/foretell.prom\n"
      "metrics_listen = \"127.0.0.1:9841\"\n"
      "sample_hz = 5\ncounters = off\ncounter_runs = 7\ncluster_refresh = 60\nmemory_rule = cgroup\nslurm_bin = /opt/slurm/bin\n"
      "helper_timeout_ms = 250\nuser_apps = no\nmax_runs = 0\n"
      "max_age = \"400 days\"\nmax_apps = 50\n"
      "keep_arguments = \"token_type, auth\"\ndrop_arguments = patient\n"
      "mode = check\nmin_runs = 3\ntrim_runs = 30\noom_probability = 0.02\n"
      "reject_probability = 0.9\nfloor = 1G\nround = 64M\ntrim_factor = 3.5\nquiet = yes\n"
      "failure_price = 4\nborrow = no\n"
      "partition \"gpu\" { mode = raise }\n"
      "account physics { reject_probability = 0 }\n"
      "user alice { quiet = no  min_runs = 7 }\n"
      "app unet3d {\n  command = \"python*train.py*\"\n"
      "  number = {\"--batch\", \"--edge:size\"}\n  category = {\"--arch\"}\n"
      "  file = {\"--data\", \"1 lines:reads\", \"--config key:n_cells:cells\"}\n}\n");
  assert_int_equal(ft_config_read(path, &c, &err), 0);
  assert_string_equal(c.state_directory, "/srv/foretell");
  assert_string_equal(c.socket, "/run/x.sock");
  assert_string_equal(c.cluster, "alpha");
  assert_string_equal(c.node_platform, "milan");
  assert_string_equal(c.metrics_file, "/srv/metrics/foretell.prom");
  assert_string_equal(c.metrics_listen, "127.0.0.1:9841");
  assert_string_equal(c.slurm_bin, "/opt/slurm/bin");
  assert_true(c.sample_hertz == 5 && c.cluster_seconds == 60);
  assert_true(c.counters == FT_COUNTERS_OFF && c.counter_runs == 7);
  assert_int_equal(c.rule, FT_RULE_CGROUP);
  assert_int_equal(c.helper_milliseconds, 250);
  assert_false(c.user_apps);
  assert_true(c.max_runs == 0 && c.max_apps == 50);
  assert_string_equal(c.keep_arguments, "token_type, auth");
  assert_string_equal(c.drop_arguments, "patient");
  assert_true(c.max_age_seconds == 400 * 86400.0);
  assert_int_equal(c.policy.mode, FT_MODE_CHECK);
  assert_int_equal(c.policy.min_runs, 3);
  assert_int_equal(c.policy.trim_runs, 30);
  assert_true(c.policy.oom_probability == 0.02 && c.policy.reject_probability == 0.9);
  assert_true(c.policy.floor_bytes == FT_GIB && c.policy.round_bytes == 64 * FT_MIB);
  assert_true(c.policy.trim_factor == 3.5 && c.policy.quiet);
  assert_true(c.policy.failure_price == 4 && !c.policy.borrow);
  assert_int_equal(c.override_count, 3);
  assert_string_equal(c.overrides[0].partition, "gpu");
  assert_int_equal(c.overrides[0].policy.mode, FT_MODE_RAISE);
  assert_false(c.overrides[0].policy.has_min_runs);
  assert_string_equal(c.overrides[1].account, "physics");
  assert_true(c.overrides[1].policy.has_reject_probability);
  assert_string_equal(c.overrides[2].user, "alice");
  assert_true(c.overrides[2].policy.has_quiet && !c.overrides[2].policy.quiet);
  assert_int_equal(c.app_count, 1);
  assert_string_equal(c.apps[0].name, "unet3d");
  assert_int_equal(c.apps[0].arguments_count, 3);
  assert_string_equal(c.apps[0].arguments[1].name, "--edge");
  assert_string_equal(c.apps[0].arguments[1].feature, "size");
  assert_true(c.apps[0].arguments[2].categorical);
  assert_int_equal(c.apps[0].files_count, 3);
  assert_string_equal(c.apps[0].files[0].counts, "bytes");
  assert_string_equal(c.apps[0].files[1].counts, "lines");
  assert_string_equal(c.apps[0].files[1].feature, "reads");
  assert_string_equal(c.apps[0].files[2].counts, "key:n_cells");
  assert_string_equal(c.apps[0].files[2].feature, "cells");
}

static void the_sample_shows_the_defaults(void **state)
{
  struct ft_config c, defaults;
  struct ft_buf sample, set;
  struct ft_text text, line;
  struct ft_error err;
  char name[512];

  (void)state;
  ft_buf_init(&sample, FT_LIMIT_CONFIG);
  ft_buf_init(&set, FT_LIMIT_CONFIG);
  (void)snprintf(name, sizeof name, "%s/etc/foretell.conf", getenv("FT_TOP_SRCDIR"));
  assert_int_equal(ft_io_read_file(AT_FDCWD, name, &sample, &err), 0);
  text = ft_text_from(ft_buf_text(&sample));
  /* the lines before the sections; the paths are the build's */
  while (ft_text_line(&text, &line) && !ft_text_starts(line, "# These sections")) {
    struct ft_text value = line, key;

    if (ft_text_skip(&value, "# ") && ft_text_word(&value, &key) && ft_text_skip(&value, " = ") &&
        !ft_text_equals(key, "state_dir") && !ft_text_equals(key, "socket") &&
        !ft_text_equals(key, "learner_socket"))
      assert_int_equal(ft_buf_printf(&set, "%.*s\n", (int)(line.end - line.at - 2), line.at + 2),
                       0);
  }
  write_config(ft_buf_text(&set));
  if (ft_config_read(path, &c, &err) < 0)
    fail_msg("%s", err.text);
  ft_config_defaults(&defaults);
  for (size_t i = 0; i < FT_POLICY_KEYS; i++)
    if (ft_policy_value(&c.policy, &ft_policy_keys[i]) !=
        ft_policy_value(&defaults.policy, &ft_policy_keys[i]))
      fail_msg("%s", ft_policy_keys[i].name);
  assert_string_equal(c.network.learners, defaults.network.learners);
  assert_string_equal(c.network.listen, defaults.network.listen);
  assert_int_equal(c.network.auth, defaults.network.auth);
  assert_string_equal(c.network.agent_users, defaults.network.agent_users);
  assert_string_equal(c.network.learner_users, defaults.network.learner_users);
  assert_true(c.sample_hertz == defaults.sample_hertz);
  assert_int_equal(c.cluster_seconds, defaults.cluster_seconds);
  assert_int_equal(c.rule, defaults.rule);
  assert_int_equal(c.helper_milliseconds, defaults.helper_milliseconds);
  assert_int_equal(c.user_apps, defaults.user_apps);
  assert_int_equal(c.max_runs, defaults.max_runs);
  assert_true(c.max_age_seconds == defaults.max_age_seconds);
  assert_int_equal(c.max_apps, defaults.max_apps);
  ft_buf_free(&sample);
  ft_buf_free(&set);
}

static void errors_name_their_line(void **state)
{
  static const struct {
    const char *text;
    const char *said[2];
  } cases[] = { { "mode = check\nmemry = 4\n", { "line 2", "memry" } },
                { "\n\nmin_runs = 0\n", { "line 3", "min_runs" } },
                { "min_runs = many\n", { "line 1", "min_runs" } },
                { "oom_probability = 0.9\n", { "line 1", "oom_probability" } },
                { "mode = sometimes\n", { "line 1", "sometimes" } },
                { "mode = force\n", { "line 1", "force" } },
                { "max_age = 400\n", { "line 1", "max_age: expected 0 or a period" } },
                { "max_age = \"2 minutes\"\n", { "line 1", "max_age" } },
                { "max_age = 200years\n", { "line 1", "from 1hour to 100years" } },
                { "max_age = 0.5hours\n", { "line 1", "max_age" } },
                { "max_apps = -1\n", { "line 1", "max_apps" } },
                { "keep_arguments = \"a\\n\"\n", { "line 1", "keep_arguments" } },
                { "floor = -3\n", { "line 1", "floor" } },
                { "state_dir = here\n", { "line 1", "absolute" } },
                { "counters = some\n", { "line 1", "counters: expected new, always or off" } },
                { "memory_rule = unknown\n", { "line 1", "memory_rule" } },
                { "partition gpu {\n mode = never\n}\n", { "line 2", "never" } },
                { "partition gpu { color = red }\n", { "line 1", "color" } },
                { "app x {\n number = {\"--a\"}\n}\n", { "line 3", "command" } },
                { "app x { command = \"y\" file = {\"--in words\"} }\n",
                  { "line 1", "--in words" } },
                { "partition gpu {\n", { "line 1", "\"}\" before the end" } },
                { "floor = 1G\nround =\n", { "line 2", "a value" } },
                { "mode = \"unterminated\n\n\n", { "line 1", "without closing quote" } },
                { "floor = \"1G\"\nround = '1M\n", { "line 2", "without closing quote" } },
                { "mode = \"set\nfloor = \"1G\"\n", { "line 1", "closing quote" } },
                { "\ncurrency = \"EUR\nfloor = \"1G\"\n", { "line 2", "closing quote" } },
                { "currency = \"\x1b[31m\"\n", { "line 1", "?[31m" } },
                { "\n/* a */ mode = set /* never closed\n\n", { "line 2", "comment" } },
                /* text that looks like a comment or a quote */
                { "state_dir = \"/a/*\"\nslurm_bin = /b/*\n# /* it's\nmode = set\n/* c\n\n",
                  { "line 5", "comment" } },
                { "# it's \"so\nfloor = 'a\\'\n# don t\n", { "line 2", "without closing quote" } },
                { "mode = set\nfloor = \"1\\nG\"\n", { "line 2", "1?G" } },
                { "mode = set\nfloor = \"1\n\nG\"\n", { "line 2", "closing quote" } },
                /* comments of all kinds, and text that only looks like one */
                { "# a #\n// b\n\n/* c\n// */ mode = set # d\n\nround = -3", { "line 7", "-3" } },
                { "mode = set#\"\n/**/floor = /*\"*/ -3//x # /*", { "line 2", "-3//x" } },
                { "/*/ \"*/ floor = -3 /* e */", { "line 1", "-3" } },
                { "}\n", { "line 1", "" } },
                { "mode = set\nplatform = \"milan\"\n", { "line 2", "node_platform" } },
                { "platform milan {\n price = -1\n}\n", { "line 2", "price" } },
                { "platform milan {\n price = cheap\n}\n", { "line 2", "price" } },
                { "platform milan { price = 1 }\n", { "line 1", "price_per" } },
                { "platform milan { price_per = cpu }\n", { "line 1", "price_per" } },
                { "platform milan {\n price = 1\n price_per = core\n}\n", { "line 3", "core" } },
                { "platform milan {\n nodes = \"a b\"\n}\n", { "line 2", "nodes" } },
                { "platform milan {\n nodes = \"--yes\"\n}\n", { "line 2", "nodes" } },
                { "platform milan {\n feature = \"\"\n}\n", { "line 2", "feature" } },
                { "platform \"two words\" { }\n", { "line 1", "platform" } },
                { "platform milan { colour = red }\n", { "line 1", "colour" } },
                { "platform a { }\nplatform a { }\n", { "line 2", "" } },
                { "co2_grams_per_kwh = -1\n", { "line 1", "co2_grams_per_kwh" } },
                { "platform a { watts = 0 }\n", { "line 1", "watts: expected" } },
                { "platform a { watts = nan }\n", { "line 1", "watts: expected" } },
                { "currency = \"more than sixteen\"\n", { "line 1", "currency" } } };
  struct ft_config before, c;
  struct ft_error err;

  (void)state;
  ft_config_defaults(&before);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    c = before;
    write_config(cases[i].text);
    err.text[0] = '\0';
    if (ft_config_read(path, &c, &err) == 0)
      fail_msg("accepted: %s", cases[i].text);
    if (!strstr(err.text, path) || !strstr(err.text, cases[i].said[0]) ||
        !strstr(err.text, cases[i].said[1]))
      fail_msg("'%s' said: %s", cases[i].text, err.text);
    if (strchr(err.text, '\n'))
      fail_msg("more than one line: %s", err.text);
    assert_memory_equal(&c, &before, sizeof c);
  }
  assert_int_equal(ft_config_read("/nonexistent/foretell.conf", &c, &err), -1);
  assert_int_equal(errno, ENOENT);
}

static void users_file_may_only_declare_apps(void **state)
{
  ft_declared_app apps[2];
  struct ft_error err;
  size_t count = 9;

  (void)state;
  write_config("app a { command = \"a *\" number = {\"1\"} }\n");
  assert_int_equal(ft_config_read_apps(path, apps, 2, &count, &err), 0);
  assert_int_equal(count, 1);
  assert_string_equal(apps[0].arguments[0].name, "1");
  write_config("mode = raise\n");
  assert_int_equal(ft_config_read_apps(path, apps, 2, &count, &err), -1);
  write_config("app a { command = \"a\" }\napp b { command = \"b\" }\napp c { command = \"c\" }\n");
  assert_int_equal(ft_config_read_apps(path, apps, 2, &count, &err), -1);
  write_config("app a { command = \"a\" }\napp a { command = \"b\" }\n");
  assert_int_equal(ft_config_read_apps(path, apps, 2, &count, &err), -1);
}

static void the_site_file_equals_the_configuration(void **state)
{
  static ft_site site;
  static ft_apps apps;
  struct ft_config c;
  struct ft_error err;

  (void)state;
  write_config("cluster = beta\ndrop_arguments = patient\nmode = set\nuser root { mode = off "
               "}\napp a { command = \"a\" }\n");
  assert_int_equal(ft_config_read(path, &c, &err), 0);
  site.rule = FT_RULE_RSS;
  ft_config_to_site(&c, &site, &apps);
  assert_string_equal(site.cluster, "beta");
  assert_int_equal(site.rule, FT_RULE_RSS);
  assert_int_equal(site.policy.mode, FT_MODE_SET);
  assert_int_equal(site.overrides_count, 1);
  assert_string_equal(site.drop_arguments, "patient");
  assert_int_equal(site.apps, 1);
  assert_string_equal(apps.apps[0].command, "a");
}

static void platforms_are_described(void **state)
{
  struct ft_config c;
  ft_platforms published;
  struct ft_error err;

  (void)state;
  write_config(
      "currency = \"EUR\"\n"
      "platform \"milan\" { price = 0.04  price_per = cpu  nodes = \"c[001-064],d1\" }\n"
      "platform rome { feature = rome nodes = \"r*\" }\n"
      "platform h100 { price = 2.5 price_per = gpu watts = 10200 }\nplatform old { price = 0 price_per = node "
      "}\n");
  if (ft_config_read(path, &c, &err) < 0)
    fail_msg("%s", err.text);
  assert_int_equal(c.platform_count, 4);
  assert_string_equal(c.platforms[0].nodes, "c[001-064],d1");
  assert_string_equal(c.platforms[0].feature, "");
  assert_string_equal(c.platforms[1].feature, "rome");
  assert_string_equal(c.platforms[1].nodes, "r*");
  ft_config_to_platforms(&c, &published);
  assert_int_equal(published.schema, FT_SCHEMA);
  assert_string_equal(published.currency, "EUR");
  assert_int_equal(published.platforms_count, 4);
  assert_string_equal(published.platforms[0].name, "milan");
  assert_true(published.platforms[0].price == 0.04);
  assert_int_equal(published.platforms[0].price_unit, FT_PRICE_CPU);
  assert_int_equal(published.platforms[1].price_unit, FT_PRICE_NONE);
  assert_int_equal(published.platforms[2].price_unit, FT_PRICE_GPU);
  assert_true(published.platforms[1].watts == 0 && published.platforms[2].watts == 10200);
  /* 0 is no price */
  assert_int_equal(published.platforms[3].price_unit, FT_PRICE_NODE);
}

static void there_are_at_most_32_platforms(void **state)
{
  char text[32 * 33] = "";
  struct ft_config c;
  struct ft_error err;

  (void)state;
  for (int i = 0; i < 33; i++) {
    write_config(text);
    assert_int_equal(ft_config_read(path, &c, &err), 0);
    assert_int_equal(c.platform_count, i);
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "platform p%d { }\n", i);
  }
  write_config(text);
  assert_int_equal(ft_config_read(path, &c, &err), -1);
  assert_non_null(strstr(err.text, "line 33: more than 32 platforms"));
}

static void one_app_too_many_is_an_error_with_its_line(void **state)
{
  char text[40 * 40] = "";
  struct ft_config c;
  struct ft_error err;

  (void)state;
  for (int i = 0; i < 34; i++)
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "app a%d { command = x }\n", i);
  write_config(text);
  assert_int_equal(ft_config_read(path, &c, &err), -1);
  assert_non_null(strstr(err.text, "line 33: more than 32 apps"));
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(empty_file_means_defaults),
                                      cmocka_unit_test(every_key_is_read),
                                      cmocka_unit_test(the_keys_of_the_network_are_read),
                                      cmocka_unit_test(wrong_keys_of_the_network_are_rejected),
                                      cmocka_unit_test(addresses_are_parsed),
                                      cmocka_unit_test(addresses_of_metrics_are_parsed),
                                      cmocka_unit_test(the_sample_shows_the_defaults),
                                      cmocka_unit_test(errors_name_their_line),
                                      cmocka_unit_test(users_file_may_only_declare_apps),
                                      cmocka_unit_test(the_site_file_equals_the_configuration),
                                      cmocka_unit_test(platforms_are_described),
                                      cmocka_unit_test(there_are_at_most_32_platforms),
                                      cmocka_unit_test(
                                          one_app_too_many_is_an_error_with_its_line) };

  return cmocka_run_group_tests_name("config", tests, make_file, remove_file);
}
