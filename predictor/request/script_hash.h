/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hashes a normalised script, to identify undeclared apps. Normalisation removes what differs
 * between runs: a number, a UUID or a long hash becomes "0", a path becomes "/".
 */
#ifndef FT_REQUEST_SCRIPT_HASH_H
#define FT_REQUEST_SCRIPT_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/text.h"

enum { FT_UUID_LENGTH = 36 }; /* bytes */

enum { FT_SCRIPT_PATH = 1000 }; /* bytes; a longer word is no path */

/* Whether WORD may be a path: it has a '/' or an extension and is neither number, option nor URL.
 */
bool ft_script_is_path(struct ft_text word);

/* Whether C is a hexadecimal digit, in any locale. */
bool ft_script_is_hex_digit(char c);

/* Whether TEXT begins with a UUID, 8-4-4-4-12 hexadecimal digits. */
bool ft_script_is_uuid(struct ft_text text);

/* Returns HASH continued by the normalised word RAW of a script. KEEP: RAW is a program; only its
 * directory and numbers are removed. */
uint64_t ft_script_hash_word(uint64_t hash, struct ft_text raw, bool keep);

/* The same for every word of LINE. */
uint64_t ft_script_hash_line(uint64_t hash, struct ft_text line);

/* Copies NAME to OUT, of SIZE bytes, with "0" for numbers and '_' for unprintable bytes. */
void ft_script_normalise_name(const char *name, char *out, size_t size);

#endif
