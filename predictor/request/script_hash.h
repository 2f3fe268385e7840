/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of a text stays when it is run again with other numbers and files: a
 * number, a UUID, or a long hash becomes "0", a path "/". A hash of that is what tells undeclared
 * apps apart.
 */
#ifndef FT_REQUEST_SCRIPT_HASH_H
#define FT_REQUEST_SCRIPT_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/text.h"

enum { FT_UUID_LENGTH = 36 }; /* bytes */

/* Whether a word may name a file: it has a '/' or an extension, and is no number and no URL. */
bool ft_script_is_path(struct ft_text word);

/* Whether TEXT begins with a UUID, 8-4-4-4-12 hexadecimal digits. */
bool ft_script_is_uuid(struct ft_text text);

/* Add the word RAW, as it stands in a script, to HASH. KEEP: a program's name, whose folder alone
 * may change. */
uint64_t ft_script_hash_word(uint64_t hash, struct ft_text raw, bool keep);

/* Add every word of a line. */
uint64_t ft_script_hash_line(uint64_t hash, struct ft_text line);

/* The name of a job with its numbers replaced and what cannot be shown as '_', cut to SIZE. */
void ft_script_normalise_name(const char *name, char *out, size_t size);

#endif
