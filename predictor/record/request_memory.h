/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory that a request asks for on a node. */
#ifndef FT_RECORD_REQUEST_MEMORY_H
#define FT_RECORD_REQUEST_MEMORY_H

#include <stdint.h>

#include "predictor/record/foretell.pb.h"

/* Returns how often request->mem_bytes counts on a node on which the job has CPUS CPUs: with
 * --mem-per-cpu for each CPU, with --mem-per-gpu for each GPU, else once. An unknown number, 0,
 * counts as one. */
uint64_t ft_request_units_per_node(const ft_request *request, uint64_t cpus);

/* Returns the memory in bytes that REQUEST asks for on such a node, at most UINT64_MAX; 0: the
 * default, or the whole node. */
uint64_t ft_request_node_bytes(const ft_request *request, uint64_t cpus);

#endif
