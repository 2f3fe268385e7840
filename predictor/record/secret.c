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

static char to_lower(char c)
{
  return is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

/* ---- by the name of the argument ---- */

/* Parts of words that make an argument secret whatever its value. */
static const char *const sufficient_parts[] = { "passw",      "passphrase", "passcode",  "secret",
                                                "credential", "apikey",     "accesskey", "authkey",
                                                "privatekey", "sshkey",     "authtoken", NULL };

/* Whole words with the same effect. */
static const char sufficient_words[] = "bearer,jwt,otp,totp,cred,creds,oauth,oauth2,authorization,"
                                       "authorisation,cookie,cookies,passin,passout,sshpass,dbpass,"
                                       "userpass,psk";

/* Words that make an argument secret unless a word of quantity_words is next to them. */
static const char ambiguous_words[] = "token,tokens,key,keys,pass,pwd,pw,auth,signature";

/* Words for quantities and kinds: "max_tokens", "sort_key". */
static const char quantity_words[] =
    "max,min,num,n,count,counts,size,sizes,len,length,lengths,dim,dims,head,heads,per,type,types,"
    "rate,bits,limit,budget,total,level,pad,eos,bos,unk,sep,cls,mask,special,new,sort,public,group,"
    "column,col,field,foreign,primary,value,first,second,high,low,band,all,single,multi";

/* Values of on-off options, never secret. */
static const char choices[] = "yes,no,true,false,none,null,auto,on,off,never,always,required";

/* Extracts the next WORD of NAME. Words end at punctuation and at the capitals of camelCase. */
static bool next_name_word(struct ft_text *name, struct ft_text *word)
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

static bool contains_ignoring_case(struct ft_text word, const char *part)
{
  size_t length = strlen(part);

  for (; ft_text_left(&word) >= length; word.at++)
    if (to_lower(*word.at) == part[0] && strncasecmp(word.at, part, length) == 0)
      return true;
  return false;
}

static bool ends_ignoring_case(struct ft_text word, const char *tail)
{
  size_t length = strlen(tail), left = ft_text_left(&word);

  return left > length && strncasecmp(word.end - length, tail, length) == 0;
}

static bool is_sufficient_word(struct ft_text word)
{
  for (const char *const *part = sufficient_parts; *part; part++)
    if (contains_ignoring_case(word, *part))
      return true;
  return ends_ignoring_case(word, "token") || ends_ignoring_case(word, "pwd") ||
         ft_text_lists_any_case(ft_text_from(sufficient_words), word);
}

/* Whether VALUE is "12", "0.5", "4k" or "300B", with at most DIGITS digits. */
static bool is_short_number(const char *value, size_t digits)
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

/* Whether VALUE is certainly a path: of a file only its size is stored. */
static bool is_plain_path(const char *value)
{
  if (value[0] != '/' && strncmp(value, "./", 2) != 0 && strncmp(value, "../", 3) != 0)
    return false;
  for (; *value; value++)
    if (!is_alnum(*value) && !strchr("/._-", *value))
      return false;
  return true;
}

/* Whether the words of NAME make VALUE a secret. VALUE matters only for ambiguous words. */
static bool is_secret_name(const char *name, const char *value)
{
  enum {
    COUNT_DIGITS = 5, /* in a count, "65536" tokens; longer numbers may be codes; by judgement */
    ANY_DIGITS = 64   /* after "tokens" or "keys" a number is always a count */
  };
  struct ft_text rest = ft_text_from(name), word;
  bool ambiguous = false, plural = false, quantity = false;

  while (next_name_word(&rest, &word)) {
    if (is_sufficient_word(word))
      return true;
    ambiguous |= ft_text_lists_any_case(ft_text_from(ambiguous_words), word);
    plural |= contains_ignoring_case(word, "tokens") || contains_ignoring_case(word, "keys");
    quantity |= ft_text_lists_any_case(ft_text_from(quantity_words), word);
  }
  return ambiguous && !quantity && !is_short_number(value, plural ? ANY_DIGITS : COUNT_DIGITS) &&
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
 * minimum number of token characters that follow. Text of words only ("sk-learn-...") is no
 * token. */
static const struct prefixes {
  size_t minimum;
  const char *const *text;
} prefixes[] = {
  { 8, (const char *const[]){ "sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "xoxa-",
                              "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-", NULL } },
  { 12, (const char *const[]){ "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "tskey-", NULL } },
  { 16,
    (const char *const[]){
        "sk-",         "whsec_", "ghp_",     "gho_",    "ghu_",    "ghs_",  "ghr_",
        "github_pat_", "AKIA",   "ASIA",     "ABIA",    "ACCA",    "ya29.", "GOCSPX-",
        "shpat_",      "shpss_", "shpca_",   "sq0atp-", "sq0csp-", "glsa_", "dckr_pat_",
        "nvapi-",      "figd_",  "lin_api_", "LTAI",    "SG.",     "NRAK-", "AGE-SECRET-KEY-",
        "sntrys_",     NULL } },
  { 20, (const char *const[]){ "hf_", "npm_", "pypi-", "dop_v1_", "doo_v1_", "glc_", "pul-", "hvs.",
                               "hvb.", "r8_", "xai-", "gsk_", "pplx-", "rubygems_", "ATATT3",
                               "secret_", "ntn_", "sbp_", NULL } },
  { 28, (const char *const[]){ "dapi", "key-", NULL } },
  { 30, (const char *const[]){ "AIza", NULL } },
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

static bool has_token_prefix(struct ft_text rest)
{
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    for (const char *const *prefix = prefixes[i].text; *prefix; prefix++) {
      struct ft_text token = rest;
      bool random;

      if (*rest.at == **prefix && ft_text_skip(&token, *prefix) &&
          token_length(token, &random) >= prefixes[i].minimum && random)
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

/* Whether the ':' or '=' at P separates the name of a secret and its value. */
static bool is_secret_pair(struct ft_text text, const char *p)
{
  enum { NAME = 64, VALUE = 64 }; /* bytes examined, with NUL */
  const char *from = p;
  struct ft_text value = { p + 1, p + 1 };
  char name[NAME], copy[VALUE];

  while (from > text.at && p - from < NAME - 1 && is_token_byte(from[-1]))
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

/* Whether TEXT has a form that no harmless text has: a token, a PEM block, a password. */
static bool has_known_form(struct ft_text text)
{
  for (struct ft_text rest = text; rest.at < rest.end; rest.at++) {
    bool begins = rest.at == text.at || !is_alnum(rest.at[-1]);
    struct ft_text behind = rest;

    if (begins && (has_token_prefix(rest) || is_jwt(rest) || ft_text_starts(rest, "-----BEGIN ")))
      return true;
    if ((ft_text_skip(&behind, "://") && has_url_password(behind)) ||
        ((*rest.at == '=' || *rest.at == ':') && is_secret_pair(text, rest.at)))
      return true;
  }
  return false;
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

bool ft_secret_value(const char *value)
{
  struct ft_text text = examined_part(value);

  return has_known_form(text) || (!is_plain_path(value) && has_random_text(text));
}

bool ft_secret_name(const char *name, const char *value, const struct ft_secret_rules *rules)
{
  if (rules && list_has_name(rules->drop, name))
    return true;
  if (!*value || ft_text_lists_any_case(ft_text_from(choices), ft_text_from(value)))
    return false;
  return !(rules && list_has_name(rules->keep, name)) && is_secret_name(name, value);
}

bool ft_secret_argument(const char *name, const char *value, const struct ft_secret_rules *rules)
{
  if (ft_secret_name(name, value, rules))
    return true;
  if (rules && list_has_name(rules->keep, name))
    return has_known_form(examined_part(value));
  return ft_secret_value(value) || ft_secret_value(name);
}
