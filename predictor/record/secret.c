/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "predictor/core/text.h"
#include "predictor/record/secret.h"

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
  return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
  return c >= 'A' && c <= 'Z';
}

static bool is_alnum(char c)
{
  return is_digit(c) || is_lower(c) || is_upper(c);
}

static char lowered(char c)
{
  return is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

/* ---- by name ---- */

/* Parts of words that no harmless argument has. */
static const char *const strong_parts[] = { "passw",      "passphrase", "passcode",  "secret",
                                            "credential", "apikey",     "accesskey", "authkey",
                                            "privatekey", "sshkey",     "authtoken", NULL };

static const char strong_words[] = "bearer,jwt,otp,totp,cred,creds,oauth,oauth2,authorization,"
                                   "authorisation,cookie,cookies,passin,passout,sshpass,dbpass,"
                                   "userpass,psk";

static const char weak_words[] = "token,tokens,key,keys,pass,pwd,pw,auth,signature";

/* Beside a weak word: the argument counts, sizes or sorts. */
static const char measures[] =
    "max,min,num,n,count,counts,size,sizes,len,length,lengths,dim,dims,head,heads,per,type,types,"
    "rate,bits,limit,budget,total,level,pad,eos,bos,unk,sep,cls,mask,special,new,sort,public,group,"
    "column,col,field,foreign,primary,value,first,second,high,low,band,all,single,multi";

/* Values that say whether or how, under any name. */
static const char choices[] = "yes,no,true,false,none,null,auto,on,off,never,always,required";

/* Words of a name: at '-', '_', '.' and the like, at capitals of camelCase. */
static bool take_name_word(struct ft_text *name, struct ft_text *word)
{
  const char *p;

  while (name->at < name->end && !is_alnum(*name->at))
    name->at++;
  for (p = name->at; p < name->end && is_alnum(*p); p++) {
    bool after_lower = p > name->at && is_upper(*p) && !is_upper(p[-1]);
    bool ends_capitals =
        p > name->at && is_upper(*p) && is_upper(p[-1]) && p + 1 < name->end && is_lower(p[1]);

    if (after_lower || ends_capitals)
      break;
  }
  *word = (struct ft_text){ name->at, p };
  name->at = p;
  return word->at < word->end;
}

static bool has_part(struct ft_text word, const char *part)
{
  size_t length = strlen(part);

  for (; ft_text_left(&word) >= length; word.at++)
    if (lowered(*word.at) == part[0] && strncasecmp(word.at, part, length) == 0)
      return true;
  return false;
}

static bool ends_in(struct ft_text word, const char *tail)
{
  size_t length = strlen(tail), left = ft_text_left(&word);

  return left > length && strncasecmp(word.end - length, tail, length) == 0;
}

static bool is_strong(struct ft_text word)
{
  for (const char *const *part = strong_parts; *part; part++)
    if (has_part(word, *part))
      return true;
  return ends_in(word, "token") || ends_in(word, "pwd") ||
         ft_text_lists_any_case(ft_text_from(strong_words), word);
}

/* "12", "0.5", "4k", "300B": at most DIGITS digits. */
static bool is_number(const char *value, size_t digits)
{
  size_t seen = 0;

  if (*value == '-' || *value == '+')
    value++;
  for (; is_digit(*value) || (*value == '.' && seen); value++)
    seen += *value != '.';
  if (*value && strchr("kKmMgGtTpPbB%", *value))
    value++;
  return seen && seen <= digits && !*value;
}

/* Beyond doubt a file, of which no more than its size is stored. */
static bool is_plain_path(const char *value)
{
  if (value[0] != '/' && strncmp(value, "./", 2) != 0 && strncmp(value, "../", 3) != 0)
    return false;
  for (; *value; value++)
    if (!is_alnum(*value) && !strchr("/._-", *value))
      return false;
  return true;
}

/* An argument NAME that tells by itself, or with its VALUE, what it is. */
static bool is_secret_name(const char *name, const char *value)
{
  enum { WEAK_DIGITS = 5, ANY = 64 }; /* digits; a batch of 65536 tokens, no longer code */
  struct ft_text rest = ft_text_from(name), word;
  bool weak = false, several = false, measure = false;

  while (take_name_word(&rest, &word)) {
    if (is_strong(word))
      return true;
    weak |= ft_text_lists_any_case(ft_text_from(weak_words), word);
    several |= has_part(word, "tokens") || has_part(word, "keys");
    measure |= ft_text_lists_any_case(ft_text_from(measures), word);
  }
  return weak && !measure && !is_number(value, several ? ANY : WEAK_DIGITS) &&
         !is_plain_path(value);
}

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
    if (lowered(*a.at == '-' ? '_' : *a.at) != lowered(*b.at == '-' ? '_' : *b.at))
      return false;
  return true;
}

static bool lists_name(const char *list, const char *name)
{
  struct ft_text rest = ft_text_from(list), piece;
  struct ft_text bare = without_dashes(ft_text_from(name));

  while (ft_text_until(&rest, ',', &piece))
    if (ft_text_left(&bare) && same_name(without_dashes(ft_text_trim(piece)), bare))
      return true;
  return false;
}

/* ---- by shape ---- */

/* How tokens of well-known services begin, and how many characters (letters, digits, '_' and '-')
 * follow at least. Those of words alone ("sk-learn-...") are none. */
static const struct prefix {
  const char *text;
  size_t least;
} prefixes[] = { { "sk-", 16 },
                 { "sk_live_", 8 },
                 { "sk_test_", 8 },
                 { "rk_live_", 8 },
                 { "rk_test_", 8 },
                 { "pk_live_", 8 },
                 { "whsec_", 16 },
                 { "ghp_", 16 },
                 { "gho_", 16 },
                 { "ghu_", 16 },
                 { "ghs_", 16 },
                 { "ghr_", 16 },
                 { "glpat-", 12 },
                 { "gldt-", 12 },
                 { "glrt-", 12 },
                 { "github_pat_", 16 },
                 { "glptt-", 12 },
                 { "glcbt-", 12 },
                 { "xoxa-", 8 },
                 { "xoxb-", 8 },
                 { "xoxe-", 8 },
                 { "xoxp-", 8 },
                 { "xoxr-", 8 },
                 { "xoxs-", 8 },
                 { "xapp-", 8 },
                 { "AKIA", 16 },
                 { "ASIA", 16 },
                 { "ABIA", 16 },
                 { "ACCA", 16 },
                 { "AIza", 30 },
                 { "ya29.", 16 },
                 { "GOCSPX-", 16 },
                 { "hf_", 20 },
                 { "npm_", 20 },
                 { "pypi-", 20 },
                 { "dop_v1_", 20 },
                 { "doo_v1_", 20 },
                 { "shpat_", 16 },
                 { "shpss_", 16 },
                 { "shpca_", 16 },
                 { "sq0atp-", 16 },
                 { "sq0csp-", 16 },
                 { "glsa_", 16 },
                 { "glc_", 20 },
                 { "pul-", 20 },
                 { "dckr_pat_", 16 },
                 { "hvs.", 20 },
                 { "hvb.", 20 },
                 { "r8_", 20 },
                 { "nvapi-", 16 },
                 { "tskey-", 12 },
                 { "xai-", 20 },
                 { "gsk_", 20 },
                 { "pplx-", 20 },
                 { "figd_", 16 },
                 { "lin_api_", 16 },
                 { "dapi", 28 },
                 { "rubygems_", 20 },
                 { "ATATT3", 20 },
                 { "LTAI", 16 },
                 { "secret_", 20 },
                 { "key-", 28 },
                 { "SG.", 16 },
                 { "NRAK-", 16 },
                 { "ntn_", 20 },
                 { "sbp_", 20 },
                 { "AGE-SECRET-KEY-", 16 },
                 { "sntrys_", 16 } };

static bool in_token(char c)
{
  return is_alnum(c) || c == '_' || c == '-';
}

/* How many characters of a token TEXT begins with; *RANDOM: they are not just words. */
static size_t token_length(struct ft_text text, bool *random)
{
  bool digit = false, lower = false, upper = false;
  const char *p = text.at;

  for (; p < text.end && in_token(*p); p++) {
    digit |= is_digit(*p);
    lower |= is_lower(*p);
    upper |= is_upper(*p);
  }
  *random = digit || (lower && upper);
  return (size_t)(p - text.at);
}

static bool has_prefix(struct ft_text rest)
{
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    struct ft_text token = rest;
    bool random;

    if (*rest.at != prefixes[i].text[0] || !ft_text_skip(&token, prefixes[i].text))
      continue;
    if (token_length(token, &random) >= prefixes[i].least && random)
      return true;
  }
  return false;
}

/* Three or more parts of Base64, of which the first is a JSON object ("eyJ"): RFC 7519. */
static bool is_jwt(struct ft_text rest)
{
  enum { HEADER = 10, CLAIMS = 4 };
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

/* Behind "://": user:password@, or somebody's token before the '@'. */
static bool has_password(struct ft_text rest)
{
  enum { TOKEN = 20 }; /* characters; a user's name is shorter */
  const char *colon = NULL, *from = rest.at, *at = NULL;

  for (; rest.at < rest.end && !strchr("/?#", *rest.at) && *rest.at > ' '; rest.at++) {
    if (*rest.at == ':' && !colon)
      colon = rest.at;
    if (*rest.at == '@')
      at = rest.at;
  }
  return at && ((colon && at - colon > 1) || at - from >= TOKEN);
}

/* SEPARATOR (':' or '=') at P: a secret's name before it, and its value behind it. */
static bool is_pair(struct ft_text text, const char *p)
{
  enum { NAME = 64, VALUE = 64 }; /* bytes that are looked at */
  const char *from = p;
  struct ft_text value = { p + 1, p + 1 };
  char name[NAME], copy[VALUE];

  while (from > text.at && p - from < NAME - 1 && in_token(from[-1]))
    from--;
  if (from == p)
    return false;
  while (value.at < text.end && (*value.at == ' ' || *value.at == '"' || *value.at == '\''))
    value.at++;
  value.end = value.at;
  while (value.end < text.end && value.end - value.at < VALUE && !strchr("&;,\"' ", *value.end))
    value.end++;
  (void)ft_text_copy((struct ft_text){ from, p }, name, sizeof name);
  (void)ft_text_copy(value, copy, sizeof copy);
  return copy[0] != '$' && ft_secret_name(name, copy, NULL);
}

/* What no harmless text has. */
static bool is_certain(struct ft_text text)
{
  for (struct ft_text rest = text; rest.at < rest.end; rest.at++) {
    bool begins = rest.at == text.at || !is_alnum(rest.at[-1]);
    struct ft_text behind = rest;

    if (begins && (has_prefix(rest) || is_jwt(rest) || ft_text_starts(rest, "-----BEGIN ")))
      return true;
    if ((ft_text_skip(&behind, "://") && has_password(behind)) ||
        ((*rest.at == '=' || *rest.at == ':') && is_pair(text, rest.at)))
      return true;
  }
  return false;
}

/* What a text is made of. A run is of one class of characters; "Abc" is one. */
struct makeup {
  size_t length, runs, digits, lowers, uppers, others;
  size_t distinct; /* letters */
  bool hexadecimal;
};

static int class_of(char c)
{
  return is_digit(c) ? 1 : is_lower(c) ? 2 : is_upper(c) ? 3 : 4;
}

static struct makeup makeup_of(struct ft_text text)
{
  struct makeup m = { .length = ft_text_left(&text), .hexadecimal = true };
  bool seen[26] = { false };
  int last = 0, before = 0; /* classes */

  for (; text.at < text.end; text.at++) {
    char c = *text.at;
    int class = class_of(c);
    bool capital = class == 2 && last == 3 && before != 3;

    m.runs += class != 4 && class != last && !capital;
    m.digits += class == 1;
    m.lowers += class == 2;
    m.uppers += class == 3;
    m.others += class == 4;
    m.hexadecimal = m.hexadecimal && (class == 1 || (lowered(c) >= 'a' && lowered(c) <= 'f'));
    if (class == 2 || class == 3)
      seen[lowered(c) - 'a'] = true;
    before = last;
    last = class;
  }
  for (size_t i = 0; i < sizeof seen; i++)
    m.distinct += seen[i];
  return m;
}

/* Random characters of Base62 change class after 1.9 of them, of Base36 after 2.5; words and
 * numbers in names after 4 and more. */
static bool alternates(const struct makeup *m)
{
  return m->runs * 3 > m->length - m->others;
}

/* Letters and digits without anything between. */
static bool is_random_run(struct ft_text run, bool checksum)
{
  enum { LEAST = 16, LETTERS = 24, CHECKSUM = 32, DISTINCT = 4 };
  struct makeup m = makeup_of(run);

  if (m.hexadecimal && checksum)
    return false;
  if (m.hexadecimal && m.length >= CHECKSUM && m.digits && m.digits < m.length)
    return true;
  if (m.digits)
    return m.length >= LEAST && m.distinct >= DISTINCT && alternates(&m);
  return m.length >= LETTERS && m.lowers && m.uppers && alternates(&m);
}

/* Whether what stands before P names an algorithm of checksums. */
static bool is_labelled(struct ft_text before)
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

/* Base64, in which '+', '/', '-' and '_' part what would be one run: one character in 32. */
static bool is_base64(struct ft_text text)
{
  enum { LEAST = 32, APART = 10 };
  struct makeup m = makeup_of(text);

  for (const char *p = text.at; p < text.end; p++)
    if (!is_alnum(*p) && !strchr("+/=_-", *p))
      return false;
  return m.length >= LEAST && m.digits && m.lowers && m.uppers && m.others * APART <= m.length &&
         alternates(&m);
}

/* A '/' in it, or an extension of one to eight letters and digits: the name of a file may be a
 * checksum. */
static bool is_file(struct ft_text text)
{
  const char *p = text.end;

  while (p > text.at && is_alnum(p[-1]))
    p--;
  return (ft_text_left(&text) && memchr(text.at, '/', ft_text_left(&text))) ||
         (p - text.at > 1 && p[-1] == '.' && text.end > p && text.end - p <= 8);
}

static bool is_random(struct ft_text text)
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
    if (run.end > run.at && is_random_run(run, is_labelled((struct ft_text){ from, run.at })))
      return true;
    text.at = run.end > run.at ? run.end : text.at + 1;
  }
  return false;
}

/* ---- both ---- */

static struct ft_text looked_at(const char *value)
{
  struct ft_text text = ft_text_from(value);

  if (ft_text_left(&text) > FT_SECRET_EXAMINED)
    text.end = text.at + FT_SECRET_EXAMINED;
  return text;
}

bool ft_secret_value(const char *value)
{
  struct ft_text text = looked_at(value);

  return is_certain(text) || (!is_plain_path(value) && is_random(text));
}

bool ft_secret_name(const char *name, const char *value, const struct ft_secret_rules *rules)
{
  if (rules && lists_name(rules->drop, name))
    return true;
  if (!*value || ft_text_lists_any_case(ft_text_from(choices), ft_text_from(value)))
    return false;
  return !(rules && lists_name(rules->keep, name)) && is_secret_name(name, value);
}

bool ft_secret_argument(const char *name, const char *value, const struct ft_secret_rules *rules)
{
  if (ft_secret_name(name, value, rules))
    return true;
  if (rules && lists_name(rules->keep, name))
    return is_certain(looked_at(value));
  return ft_secret_value(value) || ft_secret_value(name);
}
