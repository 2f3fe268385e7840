/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "predictor/site/address.h"

static int expect_address(struct ft_text text, const char *expected, struct ft_error *err)
{
  int length = ft_text_left(&text) > 80 ? 80 : (int)ft_text_left(&text);

  return ft_error_set(err, "expected %s, not \"%.*s\"", expected, length, text.at);
}

/* Whether TEXT is a name, or a numeric address with the characters that EXTRA adds. */
static bool is_host(struct ft_text text, const char *extra)
{
  if (text.at == text.end || *text.at == '-')
    return false;
  for (const char *p = text.at; p < text.end; p++)
    if (!isalnum((unsigned char)*p) && *p != '.' && *p != '-' && (!*p || !strchr(extra, *p)))
      return false;
  return true;
}

/* What completes an address. */
struct completion {
  const char *host; /* of a port alone; NULL: that is a host */
  const char *port; /* of a host alone; NULL: none, it is malformed */
  uint64_t least_port;
  const char *expected;
};
static const struct completion of_learner = { NULL, FT_ADDRESS_PORT, 1,
                                              "HOST, HOST:PORT or [IPv6]:PORT" };
static const struct completion to_listen = { "", FT_ADDRESS_PORT, 1,
                                             "PORT, ADDRESS, ADDRESS:PORT or [IPv6]:PORT" };
static const struct completion of_metrics = {
  "127.0.0.1", NULL, 0, "PORT, ADDRESS:PORT or [IPv6]:PORT, such as 127.0.0.1:9841"
};

static bool copy_port(struct ft_text text, const struct completion *by, char out[6])
{
  struct ft_text digits = text;
  uint64_t port;

  return ft_text_u64(&digits, UINT16_MAX, &port) && port >= by->least_port &&
         !ft_text_left(&digits) && ft_text_copy(text, out, sizeof(((struct ft_address *)0)->port));
}

/* Parses TEXT, completed BY what it leaves out. Returns 0; -1 and ERR. */
static int parse_address(struct ft_text text, const struct completion *by, struct ft_address *out,
                         struct ft_error *err)
{
  struct ft_text rest, host;
  bool bracketed, has_port;

  text = rest = host = ft_text_trim(text);
  if (by->host && copy_port(text, by, out->port)) {
    (void)ft_string_copy(by->host, out->host, sizeof out->host);
    return 0;
  }
  bracketed = ft_text_skip(&rest, "[");
  (void)ft_text_until(&rest, bracketed ? ']' : ':', &host);
  has_port = host.end < text.end;
  if (bracketed)
    has_port = ft_text_skip(&rest, ":");
  if (!is_host(host, bracketed ? ":" : "_") || !ft_text_copy(host, out->host, sizeof out->host) ||
      (!has_port && !by->port) ||
      (bracketed && (host.end == text.end || (!has_port && ft_text_left(&rest)))))
    return expect_address(text, by->expected, err);
  if (!has_port)
    (void)ft_string_copy(by->port, out->port, sizeof out->port);
  return !has_port || copy_port(rest, by, out->port)
             ? 0
             : expect_address(text, "a port, at most 65535, after the host", err);
}

int ft_address_next(struct ft_text *list, struct ft_address *out, struct ft_error *err)
{
  struct ft_text piece;

  if (!ft_text_until(list, ',', &piece))
    return 0;
  return parse_address(piece, &of_learner, out, err) < 0 ? -1 : 1;
}

int ft_address_parse_listen(struct ft_text text, struct ft_address *out, struct ft_error *err)
{
  return parse_address(text, &to_listen, out, err);
}

int ft_address_parse_metrics(struct ft_text text, struct ft_address *out, struct ft_error *err)
{
  return parse_address(text, &of_metrics, out, err);
}

int ft_address_check(const char *text, bool listen, struct ft_error *err)
{
  struct ft_text list = ft_text_from(text);
  struct ft_address address;
  int status = 1;

  if (ft_text_left(&list) >= FT_ADDRESS_TEXT)
    return ft_error_set(err, "expected less than %d bytes", FT_ADDRESS_TEXT);
  if (listen)
    return ft_address_parse_listen(list, &address, err);
  for (int i = 0; i <= FT_ADDRESS_LIMIT && status > 0; i++)
    status = ft_address_next(&list, &address, err);
  return status > 0 ? ft_error_set(err, "expected at most %d addresses", FT_ADDRESS_LIMIT) : status;
}
