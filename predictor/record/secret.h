/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recognises passwords, tokens and keys in the arguments of programs, so that no record contains
 * them. The rules prefer false positives: a harmless value that counts as a secret costs a feature,
 * but an unrecognised secret is stored. */
#ifndef FT_RECORD_SECRET_H
#define FT_RECORD_SECRET_H

#include <stdbool.h>

#include "predictor/core/text.h"

/* Fewest bytes of a password: shorter values occur in other words by chance. By judgement. */
enum { FT_SECRET_LEAST = 6 };

/* keep_arguments and drop_arguments of foretell.conf: comma-separated argument names; NULL or "":
 * none. Case, leading dashes and the difference of '-' and '_' are ignored. Borrowed. */
struct ft_secret_rules {
  const char *keep; /* harmless despite the name or a random value */
  const char *drop; /* secret, whatever the value */
};

/*
 * Whether the argument NAME ("--api-key", "DB_PASSWORD") makes its VALUE a secret. RULES may be
 * NULL. The words of NAME decide. "password", "secret", "credential" and similar words make every
 * value a secret. "token", "key", "session" and "auth" do not if a word for a quantity is next to
 * them ("max_tokens", "key_size"), or if VALUE is a path or a number of at most five digits. "pin",
 * "code", "card" and similar words make a secret of four or more digits. "user", "login" and
 * similar words make a secret of "user:password". "yes", "none", "sha256" and similar values are
 * never secrets.
 */
bool ft_secret_name(const char *name, const char *value, const struct ft_secret_rules *rules);

/*
 * Whether any part of VALUE looks like a secret:
 *  - known prefixes (sk-, ghp_, AKIA, ...), JSON Web Tokens, PEM blocks;
 *  - URLs with a password, name=value with the name of a secret;
 *  - random text: 16 or more letters and digits in short alternation, 32 or more hexadecimal
 *    digits, 32 or more characters of Base64.
 * A checksum counts as random text unless its algorithm precedes it ("sha256:..."): it is useless
 * as a category. UUIDs, dates, numbers, paths and names made of words are harmless. A secret of
 * letters only, or of less than 16 characters, is recognised only by the name of its argument.
 * Examines the first FT_SECRET_EXAMINED bytes.
 */
bool ft_secret_value(const char *value);

/* As ft_secret_value, for the name of a job or an app: also a secret after its name,
 * "run-pin-4711", if it has a digit. */
bool ft_secret_label(const char *label);

/* Whether VALUE is a secret by itself or by the NAME of its argument, or NAME itself looks like a
 * secret. RULES may be NULL. */
bool ft_secret_argument(const char *name, const char *value, const struct ft_secret_rules *rules);

/* Recorded instead of a secret job name. An empty name would be filled in from Slurm's record. */
#define FT_SECRET_JOB_NAME "job"

enum { FT_SECRET_EXAMINED = 512 }; /* bytes; the longest string of a record (foretell.options) */

#endif
