/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a model: what nanopb takes number by number stands there as the machine has it. */
#ifndef FT_RECORD_MODEL_DECODE_H
#define FT_RECORD_MODEL_DECODE_H

#include <pb_decode.h>

/*
 * As pb_decode of the ft_model in the buffer that STREAM is of; equal in all it accepts, refuses
 * and leaves in MESSAGE. Lists of floats and doubles in an evaluator and its views are copied at
 * once, where nanopb takes some 200 instructions for each of up to 3000 numbers. Where it fails,
 * STREAM says why and, by bytes_left, about where.
 */
bool ft_model_decode(pb_istream_t *stream, void *message);

#endif
