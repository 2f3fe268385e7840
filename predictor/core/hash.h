/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hashes for names and for spotting damage; neither resists an attacker. */
#ifndef FT_CORE_HASH_H
#define FT_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define FT_HASH_SEED UINT64_C(0xcbf29ce484222325)

/* FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv): go on from SEED, FT_HASH_SEED to begin.
 */
uint64_t ft_hash64(uint64_t seed, const void *data, size_t length);

/* CRC-32 (IEEE 802.3, reflected, as in zlib) of DATA. */
uint32_t ft_crc32(const void *data, size_t length);

/*
 * A checksum of DATA that any damage changes but once in 2^32, at a thirtieth of what CRC-32 costs
 * where there is no instruction for that: as FNV-1a, by eight bytes at a time, low byte first.
 */
uint32_t ft_checksum(const void *data, size_t length);

#endif
