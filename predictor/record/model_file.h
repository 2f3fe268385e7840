/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The model file of an app. It has one section for each quantity that the app's runs told of (an
 * ft_model; of run time an ft_performance) and three that only learning and messages read: the runs
 * themselves (run_columns.h), those whose platform is known, and the names of their categories. A
 * submission reads the head and the sections that it needs.
 *
 * Head, little-endian: magic "foretell", type and schema 2 (16 bits each), number of sections,
 * ft_checksum of the table that follows. A row of the table has 12 bytes: number, length and
 * ft_checksum of a section. The sections follow in the order of the table. The number of a section
 * is its quantity (estimate/quantity.h), or one of those below.
 *
 * Files of the previous release are read, too, which have the names in their models: schema 1, a
 * record of ft_record_write with the quantity 0, host memory, and the runs as its tail; and the
 * same with run times.
 */
#ifndef FT_RECORD_MODEL_FILE_H
#define FT_RECORD_MODEL_FILE_H

#include "predictor/record/record.h"
#include "predictor/record/run_columns.h"

enum {
  FT_SECTION_RUNTIME = 2, /* the quantity run time */
  FT_SECTION_CATEGORIES = 0xfffd,
  FT_SECTION_RUNTIMES = 0xfffe,
  FT_SECTION_HISTORY = 0xffff
};

/* Raised where a new release writes sections or fields that older files lack: the learner rebuilds
 * them. */
enum { FT_MODEL_FORMAT = 4 };

/* What a model file is written from. NULL or 0: no such section. */
struct ft_model_sections {
  const ft_model *const *models;
  size_t count; /* of models */
  const ft_performance *performance;
  const ft_categories *categories;
  const struct ft_history *history; /* the runs only */
  const struct ft_runtimes *runtimes;
};

/* Appends a model file of SECTIONS to OUT. Returns 0; -1 over OUT's limit and fills ERR. */
int ft_model_sections_encode(const struct ft_model_sections *sections, struct ft_buf *out,
                             struct ft_error *err);

/* Replaces the file NAME under DIRFD with such a file and permissions MODE (ft_io_write_file).
 * Returns 0; -1 on error and fills ERR. */
int ft_model_sections_write(const struct ft_model_sections *sections, int dirfd, const char *name,
                            mode_t mode, struct ft_error *err);

/* The same with a section for each of COUNT MODELS, and HISTORY with its names (NULL: none). */
int ft_model_file_encode(const ft_model *const *models, size_t count,
                         const struct ft_history *history, struct ft_buf *out,
                         struct ft_error *err);
int ft_model_file_write(const ft_model *const *models, size_t count,
                        const struct ft_history *history, int dirfd, const char *name, mode_t mode,
                        struct ft_error *err);

/* Where the sections of a model file are read to. NULL: not read. */
struct ft_model_parts {
  uint32_t quantity; /* of model */
  ft_model *model;
  struct ft_history *history; /* only with model */
  ft_performance *performance;
  struct ft_runtimes *runtimes; /* only with performance */
  bool has_model,
      has_performance; /* set: the file has this section; else the struct is undefined */
};

/*
 * Reads PARTS of the open file FD, with bounded pread; NAME is for messages. A file without the
 * runs has an empty history. Returns 0; -1 on error, sets errno and fills ERR.
 */
int ft_model_parts_read(int fd, const char *name, struct ft_model_parts *parts,
                        struct ft_error *err);

/* The same from the LENGTH bytes DATA of a file. */
int ft_model_parts_decode(const void *data, size_t length, const char *name,
                          struct ft_model_parts *parts, struct ft_error *err);

/* Reads the performance of PARTS from FD, the file of run times that the previous release kept
 * beside the model file. Returns as ft_model_parts_read. */
int ft_model_parts_read_before(int fd, const char *name, struct ft_model_parts *parts,
                               struct ft_error *err);

/*
 * Reads the section of QUANTITY into MODEL and, unless HISTORY is NULL, the runs, from the file
 * NAME under DIRFD; never blocks on a FIFO or a device. Returns 0; -1 on error, sets errno (ENOENT:
 * no such file or section) and fills ERR.
 */
int ft_model_file_read(int dirfd, const char *name, uint32_t quantity, ft_model *model,
                       struct ft_history *history, struct ft_error *err);

/* The same from the LENGTH bytes DATA of a file. */
int ft_model_file_decode(const void *data, size_t length, const char *name, uint32_t quantity,
                         ft_model *model, struct ft_history *history, struct ft_error *err);

#endif
