/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "predictor/record/secret.h"
#include "predictor/record/secret_names.h"

static struct ft_text without_dashes(struct ft_text name)
{
  while (name.at < name.end && *name.at == '-')
    name.at++;
  return name;
}

static bool same_name(struct ft_text a, struct ft_text b)
{
  if (ft_text_left(&a) != ft_text_left(&b))
    return false;
  for (; a.at < a.end; a.at++, b.at++)
    if (to_lower(*a.at == '-' ? '_' : *a.at) != to_lower(*b.at == '-' ? '_' : *b.at))
      return false;
  return true;
}

static bool list_has_name(const char *list, const char *name)
{
  struct ft_text rest = ft_text_from(list), piece;
  struct ft_text bare = without_dashes(ft_text_from(name));

  while (ft_text_until(&rest, ',', &piece))
    if (ft_text_left(&bare) && same_name(without_dashes(ft_text_trim(piece)), bare))
      return true;
  return false;
}

/* ---- by the form of the value ---- */

/* Prefixes of the tokens of well-known services, from their documentation, each list with the
 * minimum number of token characters that follow, all HEXADECIMAL or not. Text of words only
 * ("sk-learn-...") is no token. */
static const struct prefixes {
  size_t minimum;
  bool hexadecimal;
  const char *const *text;
} prefixes[] = {
  { 8, false,
    (const char *const[]){ "sk_live_",
                           "sk_test_",
                           "rk_live_",
                           "rk_test_",
                           "pk_live_",
                           "xoxa-",
                           "xoxb-",
                           "xoxc-",
                           "xoxd-",
                           "xoxe-",
                           "xoxe.xox",
                           "xoxo-",
                           "xoxp-",
                           "xoxr-",
                           "xoxs-",
                           "xapp-",
                           "hooks.slack.com/services/T",
                           "api.telegram.org/bot",
                           "discord.com/api/webhooks/",
                           "discordapp.com/api/webhooks/",
                           NULL } },
  { 12, false,
    (const char *const[]){ "glpat-", "gldt-", "glrt-", "glft-", "glptt-", "glcbt-", "glimt-",
                           "glsoat-", "glffct-", "glagent-", "gloas-", "tskey-", "tvly-", NULL } },
  { 16, false, (const char *const[]){ "sk-",         "whsec_",       "ghp_",
                                      "gho_",        "ghu_",         "ghs_",
                                      "ghr_",        "github_pat_",  "AKIA",
                                      "ASIA",        "ABIA",         "ACCA",
                                      "ya29.",       "1//0",         "GOCSPX-",
                                      "shpat_",      "shpss_",       "shpca_",
                                      "shppa_",      "sq0atp-",      "sq0csp-",
                                      "EAAA",        "EAAC",         "glsa_",
                                      "dckr_pat_",   "dckr_oat_",    "nvapi-",
                                      "figd_",       "lin_api_",     "lin_oauth_",
                                      "LTAI",        "AKID",         "SG.",
                                      "NRAK-",       "NRJS-",        "AGE-SECRET-KEY-",
                                      "sntrys_",     "sntryu_",      "ATBB",
                                      "AKCp",        "IQoJb3JpZ2lu", "FwoGZXIvYXdzE",
                                      "AQoDYXdzE",   "xkeysib-",     "xsmtpsib-",
                                      "PMAK-",       "CFPAT-",       "dt0c01.",
                                      "HRKU-",       "rdme_",        "pcsk_",
                                      "lsv2_pt_",    "lsv2_sk_",     "sha256~",
                                      "pscale_tkn_", "pscale_pw_",   "pscale_oauth_",
                                      "dp.pt.",      "dp.st.",       "dp.ct.",
                                      "ops_eyJ",     "KGAT_",        "wandb_v1_",
                                      "tgp_v1_",     "duffel_live_", "FLWSECK-",
                                      "CLOJARS_",    "EZAK",         "shippo_live_",
                                      NULL } },
  { 20, false,
    (const char *const[]){ "hf_",  "npm_",     "pypi-",     "dop_v1_", "doo_v1_", "dor_v1_", "glc_",
                           "pul-", "hvs.",     "hvb.",      "hvr.",    "r8_",     "xai-",    "gsk_",
                           "csk-", "pplx-",    "rubygems_", "ATATT3",  "ATCTT3",  "secret_", "ntn_",
                           "sbp_", "api_org_", "atlasv1.",  NULL } },
  { 28, false, (const char *const[]){ "dapi", "key-", NULL } },
  { 30, false, (const char *const[]){ "AIza", "jina_", "rpa_", "nfp_", "phx_", "sgp_", NULL } },
  { 32, true, (const char *const[]){ "SK", "e2b_", NULL } },
};

static bool is_token_byte(char c)
{
  return is_alnum(c) || c == '_' || c == '-';
}

/* Counts the token characters at the start of TEXT. Sets *RANDOM if they have a digit or mixed
 * case. */
static size_t token_length(struct ft_text text, bool *random)
{
  bool digit = false, lower = false, upper = false;
  const char *p = text.at;

  for (; p < text.end && is_token_byte(*p); p++) {
    digit |= is_digit(*p);
    lower |= is_lower(*p);
    upper |= is_upper(*p);
  }
  *random = digit || (lower && upper);
  return (size_t)(p - text.at);
}

/* Counts the hexadecimal digits at the start of TEXT. */
static size_t hexadecimal_length(struct ft_text text)
{
  const char *p = text.at;

  while (p < text.end && (is_digit(*p) || (to_lower(*p) >= 'a' && to_lower(*p) <= 'f')))
    p++;
  return (size_t)(p - text.at);
}

static bool has_token_prefix(struct ft_text rest)
{
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    for (const char *const *prefix = prefixes[i].text; *prefix; prefix++) {
      struct ft_text token = rest;
      bool random;

      if (*rest.at == **prefix && ft_text_skip(&token, *prefix) &&
          token_length(token, &random) >= prefixes[i].minimum && random &&
          (!prefixes[i].hexadecimal || hexadecimal_length(token) >= prefixes[i].minimum))
        return true;
    }
  return false;
}

/* Whether REST begins with a JSON Web Token (RFC 7519): three parts of Base64 separated by '.', the
 * first a JSON object ("eyJ"). */
static bool is_jwt(struct ft_text rest)
{
  enum { HEADER = 10, CLAIMS = 4 }; /* minimum characters of a part; chosen by judgement */
  size_t header, claims;
  bool random;

  if (!ft_text_starts(rest, "eyJ"))
    return false;
  header = token_length(rest, &random);
  rest.at += header;
  if (header < HEADER || rest.at == rest.end || *rest.at != '.')
    return false;
  rest.at++;
  claims = token_length(rest, &random);
  rest.at += claims;
  return claims >= CLAIMS && rest.at < rest.end && *rest.at == '.';
}

/* Whether REST, after "://", begins with user:password@ or TOKEN@. */
static bool has_url_password(struct ft_text rest)
{
  enum { TOKEN = 20 }; /* minimum characters; user names are shorter; by judgement */
  const char *colon = NULL, *from = rest.at, *at = NULL;

  for (; rest.at < rest.end && !strchr("/?#", *rest.at) && *rest.at > ' '; rest.at++) {
    if (*rest.at == ':' && !colon)
      colon = rest.at;
    if (*rest.at == '@')
      at = rest.at;
  }
  return at && ((colon && at - colon > 1) || at - from >= TOKEN);
}

/* Whether TEXT is user:password@host without a scheme. An image may have a tag and a checksum:
 * "image:tag@sha256:...". */
static bool is_login_at_host(struct ft_text text)
{
  struct ft_text user, password;

  return ft_text_until(&text, ':', &user) && ft_text_until(&text, '@', &password) &&
         ft_text_left(&user) && ft_text_left(&password) && ft_text_left(&text) &&
         !memchr(user.at, '/', ft_text_left(&user)) && !memchr(user.at, '@', ft_text_left(&user)) &&
         !memchr(password.at, '/', ft_text_left(&password)) && !ft_text_starts(text, "sha");
}

/* If the operator that ends at P (":", "=", "<-") is between the name of a secret and its value, in
 * any language (password = "x", {"password": "x"}, password <- 'x'), sets VALUE to the value.
 * Returns false otherwise. */
static bool find_pair(struct ft_text text, const char *p, struct ft_text *value)
{
  enum { NAME = 64, VALUE = 64, BETWEEN = 8 }; /* bytes examined, with NUL */
  const char *end = p, *from;
  char name[NAME], copy[VALUE];

  while (end > text.at && p - end < BETWEEN && strchr(" \t\"'<:", end[-1]))
    end--;
  from = end;
  while (from > text.at && end - from < NAME - 1 && (is_token_byte(from[-1]) || from[-1] < 0))
    from--;
  if (from == end)
    return false;
  value->at = p + 1;
  while (value->at < text.end && *value->at && strchr(" \t\"'=>", *value->at))
    value->at++;
  value->end = value->at;
  while (value->end < text.end && value->end - value->at < VALUE && *value->end &&
         !strchr("&;,\"' ", *value->end))
    value->end++;
  (void)ft_text_copy((struct ft_text){ from, end }, name, sizeof name);
  (void)ft_text_copy(*value, copy, sizeof copy);
  return copy[0] != '$' && ft_secret_name(name, copy, NULL);
}

/*
 * Finds the next value in TEXT, a line of any language, that the name before it makes a secret:
 * password = "x", "password": "x", password <- 'x', password=x. Sets VALUE, at most 64 bytes, and
 * advances TEXT behind it. Returns false at the end.
 */
static bool next_secret_pair(struct ft_text *text, struct ft_text *value)
{
  const char *end = text->end;

  for (const char *p = text->at; p < end; p++)
    if ((*p == '=' || *p == ':' || (*p == '-' && p > text->at && p[-1] == '<')) &&
        find_pair(*text, p, value)) {
      text->at = value->end;
      return true;
    }
  text->at = end;
  return false;
}

/* Whether TEXT has a form that no harmless text has: a token, a PEM block, a password. */
static bool has_known_form(struct ft_text text)
{
  struct ft_text pairs = text, value;

  for (struct ft_text rest = text; rest.at < rest.end; rest.at++) {
    bool begins = rest.at == text.at || !is_alnum(rest.at[-1]);
    struct ft_text behind = rest;

    if (begins && (has_token_prefix(rest) || is_jwt(rest) || ft_text_starts(rest, "-----BEGIN ")))
      return true;
    if (ft_text_skip(&behind, "://") && has_url_password(behind))
      return true;
  }
  return next_secret_pair(&pairs, &value) || is_login_at_host(text);
}

/* Character counts of a text. A run is a sequence of characters of one class; a capital and the
 * letters after it, "Abc", are one run. */
struct character_counts {
  size_t length, runs, digits, lowers, uppers, others;
  size_t distinct; /* different letters */
  bool hexadecimal;
};

static int character_class(char c)
{
  return is_digit(c) ? 1 : is_lower(c) ? 2 : is_upper(c) ? 3 : 4;
}

static struct character_counts count_classes(struct ft_text text)
{
  struct character_counts m = { .length = ft_text_left(&text), .hexadecimal = true };
  bool seen[26] = { false };
  int last = 0, before = 0; /* classes */

  for (; text.at < text.end; text.at++) {
    char c = *text.at;
    int class = character_class(c);
    bool capital = class == 2 && last == 3 && before != 3;

    m.runs += class != 4 && class != last && !capital;
    m.digits += class == 1;
    m.lowers += class == 2;
    m.uppers += class == 3;
    m.others += class == 4;
    m.hexadecimal = m.hexadecimal && (class == 1 || (to_lower(c) >= 'a' && to_lower(c) <= 'f'));
    if (class == 2 || class == 3)
      seen[to_lower(c) - 'a'] = true;
    before = last;
    last = class;
  }
  for (size_t i = 0; i < sizeof seen; i++)
    m.distinct += seen[i];
  return m;
}

/* Whether runs are shorter than 3 characters on average. Their expected length in random text is
 * 1.9 for Base62 and 2.5 for Base36; in names of words and numbers it is 4 and more. */
static bool alternates_fast(const struct character_counts *m)
{
  return m->runs * 3 > m->length - m->others;
}

/* Whether RUN, of letters and digits only, is random text. CHECKSUM: it follows the name of a
 * checksum algorithm. */
static bool is_random_alnum(struct ft_text run, bool checksum)
{
  /* minimum characters of text with digits, of text without digits, of hexadecimal text; minimum
   * distinct letters. Chosen on the values of tests/unit/test_secret.c */
  enum { MIN_MIXED = 16, MIN_LETTERS = 24, MIN_HEXADECIMAL = 32, MIN_DISTINCT = 4 };
  struct character_counts m = count_classes(run);

  if (m.hexadecimal && checksum)
    return false;
  if (m.hexadecimal && m.length >= MIN_HEXADECIMAL && m.digits && m.digits < m.length)
    return true;
  if (m.digits)
    return m.length >= MIN_MIXED && m.distinct >= MIN_DISTINCT && alternates_fast(&m);
  return m.length >= MIN_LETTERS && m.lowers && m.uppers && alternates_fast(&m);
}

/* Whether BEFORE ends in the name of a checksum algorithm and a separator. */
static bool follows_checksum_name(struct ft_text before)
{
  static const char *const labels[] = { "sha256", "sha1", "sha512", "md5", "blake2", "blake3" };

  if (before.at == before.end || !strchr(":-=_", before.end[-1]))
    return false;
  before.end--;
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
    size_t length = strlen(labels[i]);

    if (ft_text_left(&before) >= length && strncasecmp(before.end - length, labels[i], length) == 0)
      return true;
  }
  return false;
}

/* Whether TEXT is Base64. In random Base64 one character in 32 is '+', '/', '-' or '_'; accepts at
 * most one in SPACING. */
static bool is_base64(struct ft_text text)
{
  enum { MIN_LENGTH = 32, SPACING = 10 }; /* characters; chosen by judgement */
  struct character_counts m = count_classes(text);

  for (const char *p = text.at; p < text.end; p++)
    if (!is_alnum(*p) && !strchr("+/=_-", *p))
      return false;
  return m.length >= MIN_LENGTH && m.digits && m.lowers && m.uppers &&
         m.others * SPACING <= m.length && alternates_fast(&m);
}

/* Whether TEXT is a file name: it has a '/', or an extension of one to eight letters and digits.
 * File names may be checksums, which are harmless. */
static bool is_file(struct ft_text text)
{
  const char *p = text.end;

  while (p > text.at && is_alnum(p[-1]))
    p--;
  return (ft_text_left(&text) && memchr(text.at, '/', ft_text_left(&text))) ||
         (p - text.at > 1 && p[-1] == '.' && text.end > p && text.end - p <= 8);
}

/* Whether TEXT is Base64, or a sequence of letters and digits in it is random text. */
static bool has_random_text(struct ft_text text)
{
  const char *from = text.at;

  if (is_base64(text))
    return true;
  if (is_file(text))
    return false;
  while (text.at < text.end) {
    struct ft_text run = { text.at, text.at };

    while (run.end < text.end && is_alnum(*run.end))
      run.end++;
    if (run.end > run.at &&
        is_random_alnum(run, follows_checksum_name((struct ft_text){ from, run.at })))
      return true;
    text.at = run.end > run.at ? run.end : text.at + 1;
  }
  return false;
}

/* ---- by name and value ---- */

static struct ft_text examined_part(const char *value)
{
  struct ft_text text = ft_text_from(value);

  if (ft_text_left(&text) > FT_SECRET_EXAMINED)
    text.end = text.at + FT_SECRET_EXAMINED;
  return text;
}

/* Whether a value in the query string of TEXT, a URL, is random text: "?t=4eC39HqLyjWDarjt". */
static bool has_random_query(struct ft_text text)
{
  struct ft_text piece;

  if (!ft_text_until(&text, '?', &piece))
    return false;
  while (ft_text_until(&text, '&', &piece)) {
    struct ft_text name;

    if (ft_text_until(&piece, '=', &name) && has_random_text(piece))
      return true;
  }
  return false;
}

bool ft_secret_value(const char *value)
{
  struct ft_text text = examined_part(value);

  return has_known_form(text) ||
         (!ft_secret_is_path(value) && (has_random_text(text) || has_random_query(text)));
}

bool ft_secret_label(const char *label)
{
  enum { SIZE = 64 }; /* of a password, with NUL */
  static const char separators[] = "-_. ";
  struct ft_text before = { label, label }, name = before;
  char value[SIZE];

  for (const char *p = label; *p && p - label < FT_SECRET_EXAMINED; p += *p != '\0') {
    const struct ft_text part = { p, p + strcspn(p, separators) };
    const struct ft_secret_words found = ft_secret_find_words(name),
                                 both =
                                     ft_secret_find_words((struct ft_text){ before.at, name.end });

    if (ft_text_copy(part, value, sizeof value) && strpbrk(value, "0123456789") &&
        ((found.sufficient &&
          (ft_text_left(&part) >= FT_SECRET_LEAST || ft_secret_is_code(value))) ||
         (found.code && ft_secret_words_hide(&both, value) && ft_secret_is_code(value))))
      return true;
    before = name;
    name = part;
    p = part.end;
  }
  return ft_secret_value(label);
}

bool ft_secret_name(const char *name, const char *value, const struct ft_secret_rules *rules)
{
  struct ft_secret_words found;

  if (rules && list_has_name(rules->drop, name))
    return true;
  if (!*value || ft_secret_is_choice(value))
    return false;
  found = ft_secret_find_words(ft_text_from(name));
  return !(rules && list_has_name(rules->keep, name)) && ft_secret_words_hide(&found, value);
}

bool ft_secret_argument(const char *name, const char *value, const struct ft_secret_rules *rules)
{
  if (ft_secret_name(name, value, rules))
    return true;
  if (rules && list_has_name(rules->keep, name))
    return has_known_form(examined_part(value));
  return ft_secret_value(value) || ft_secret_value(name);
}
