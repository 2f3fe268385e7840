/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/core/hash.h"

uint64_t ft_hash64(uint64_t seed, const void *data, size_t length)
{
  const unsigned char *p = data;

  for (size_t i = 0; i < length; i++)
    seed = (seed ^ p[i]) * UINT64_C(0x100000001b3);
  return seed;
}

/* Half a byte at a time: a table of 16 entries, no state to set up. */
uint32_t ft_crc32(const void *data, size_t length)
{
  static const uint32_t table[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c
  };
  const unsigned char *p = data;
  uint32_t crc = UINT32_MAX;

  for (size_t i = 0; i < length; i++) {
    crc ^= p[i];
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return ~crc;
}
