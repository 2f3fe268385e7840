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

static bool copy_port(struct ft_text text, char out[6])
{
  struct ft_text digits = text;
  uint64_t port;

  return ft_text_u64(&digits, UINT16_MAX, &port) && port && !ft_text_left(&digits) &&
         ft_text_copy(text, out, sizeof(((struct ft_address *)0)->port));
}

/* Parses TEXT, a host with or without a port. Returns 0; -1 and ERR. */
static int parse_address(struct ft_text text, struct ft_address *out, struct ft_error *err)
{
  struct ft_text rest = text, host = text;
  bool bracketed = ft_text_skip(&rest, "["), has_port;

  (void)ft_text_until(&rest, bracketed ? ']' : ':', &host);
  has_port = host.end < text.end;
  if (bracketed)
    has_port = ft_text_skip(&rest, ":");
  if (!is_host(host, bracketed ? ":" : "_") || !ft_text_copy(host, out->host, sizeof out->host) ||
      (bracketed && (host.end == text.end || (!has_port && ft_text_left(&rest)))))
    return expect_address(text, "HOST, HOST:PORT or [IPv6]:PORT", err);
  (void)ft_string_copy(FT_ADDRESS_PORT, out->port, sizeof out->port);
  return !has_port || copy_port(rest, out->port)
             ? 0
             : expect_address(text, "a port from 1 to 65535 after the host", err);
}

int ft_address_next(struct ft_text *list, struct ft_address *out, struct ft_error *err)
{
  struct ft_text piece;

  if (!ft_text_until(list, ',', &piece))
    return 0;
  return parse_address(ft_text_trim(piece), out, err) < 0 ? -1 : 1;
}

int ft_address_parse_listen(struct ft_text text, struct ft_address *out, struct ft_error *err)
{
  text = ft_text_trim(text);
  out->host[0] = '\0';
  if (copy_port(text, out->port))
    return 0;
  return parse_address(text, out, err);
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
