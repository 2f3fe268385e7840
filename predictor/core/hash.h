/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hashes for names and for spotting damage; neither resists an attacker. */
#ifndef FT_CORE_HASH_H
#define FT_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define FT_HASH_SEED UINT64_C(0xcbf29ce484222325)

/* FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv): go on from SEED, FT_HASH_SEED to begin. */
uint64_t ft_hash64(uint64_t seed, const void *data, size_t length);

/* CRC-32 (IEEE 802.3, reflected, as in zlib) of DATA. */
uint32_t ft_crc32(const void *data, size_t length);

#endif
