/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs written by torch.export.save (torch/_export/serde/schema.py, export_schema.thrift): a
 * zip archive with the graph as JSON, serialized_exported_program.json until PyTorch 2.7,
 * models/MODEL.json since.
 */
#ifndef FT_GRAPH_PT2_H
#define FT_GRAPH_PT2_H

#include "predictor/graph/import/archive.h"
#include "predictor/graph/import/build.h"

/* Returns the index of the member that holds the graph; ARCHIVE's count if there is none. */
uint64_t ft_pt2_find(const struct ft_archive *archive);

/* Reads MEMBER of ARCHIVE into BUILD's graph. Returns 0, or -1 and fills BUILD's error. */
int ft_pt2_read(struct ft_build *build, struct ft_archive *archive, uint64_t member);

/* As ft_pt2_read, from TEXT of LENGTH bytes, the content of a member named MEMBER. */
int ft_pt2_parse(struct ft_build *build, const char *member, const char *text, size_t length);

#endif
