/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recognises passwords, tokens and keys among the arguments of programs, so that none enters a
 * record. Errors are meant to lie on one side: a harmless value taken for a secret costs a feature,
 * a secret taken for harmless is stored.
 */
#ifndef FT_RECORD_SECRET_H
#define FT_RECORD_SECRET_H

#include <stdbool.h>

/* The site's say (foretell.conf): names of arguments with commas between; NULL or "": none. Case,
 * leading dashes, and '-' against '_' do not count. */
struct ft_secret_rules {
  const char *keep; /* harmless whatever the name, and however random the value */
  const char *drop; /* secret whatever the value */
};

/*
 * Whether the argument NAME ("--api-key", "DB_PASSWORD") tells that its VALUE is secret. RULES may
 * be NULL. A name is taken word by word. "password", "secret", "credential" and the like decide
 * alone. "token", "key", "pass" and "auth" do not with a word that measures ("max_tokens",
 * "key_size"), a number of at most five digits, or an absolute path. "yes", "none" and the like are
 * never secret.
 */
bool ft_secret_name(const char *name, const char *value, const struct ft_secret_rules *rules);

/*
 * Whether VALUE alone shows that it is secret, wherever in it:
 *  - known prefixes (sk-, ghp_, AKIA, ...), JSON Web Tokens, PEM blocks;
 *  - URLs with a password, name=value with the name of a secret;
 *  - random text: 16 or more letters and digits in short alternation, 32 or more hexadecimal
 *    digits, 32 or more characters of Base64.
 * A checksum is random text unless its algorithm stands before it ("sha256:..."): as a category it
 * would be worth nothing. UUIDs, dates, numbers, paths and names made of words are harmless. A
 * secret of letters alone, or of less than 16 characters, is known by its argument's name only.
 * Only the first FT_SECRET_EXAMINED bytes are judged: no record holds a longer text.
 */
bool ft_secret_value(const char *value);

/* Whether NAME with VALUE is secret by either, or NAME looks like a value that is. */
bool ft_secret_argument(const char *name, const char *value, const struct ft_secret_rules *rules);

/* What a job is called in records whose name is secret: one without a name would get it from Slurm.
 */
#define FT_SECRET_JOB_NAME "job"

enum { FT_SECRET_EXAMINED = 512 };

#endif
