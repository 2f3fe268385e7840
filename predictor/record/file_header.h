/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The beginning of every file of records, and its little-endian numbers. */
#ifndef FT_RECORD_FILE_HEADER_H
#define FT_RECORD_FILE_HEADER_H

#include "predictor/record/record.h"

enum { FT_FILE_START = 12 }; /* bytes: magic "foretell", then type and schema, 16 bits each */

static inline void ft_put32(unsigned char *out, uint32_t value)
{
  for (int i = 0; i < 4; i++)
    out[i] = (unsigned char)(value >> 8 * i);
}

static inline uint32_t ft_get32(const unsigned char *in)
{
  return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

/* Writes the first FT_FILE_START bytes of a file of RECORD with SCHEMA to OUT. */
void ft_file_start(enum ft_record record, uint32_t schema, unsigned char *out);

/* Checks the GOT bytes of a header of SIZE bytes at HEADER, offset AT of the file NAME: magic, type
 * and a schema up to NEWEST. Returns 0; -1 on error, sets errno and fills ERR. */
int ft_file_start_check(const unsigned char *header, size_t got, size_t size, enum ft_record record,
                        uint32_t newest, const char *name, size_t at, struct ft_error *err);

#endif
