/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The records of foretell.proto, to bytes and back. The generated structs are
 * the types that every room uses; their fields are documented in the schema.
 */
#ifndef FT_RECORD_RECORD_H
#define FT_RECORD_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "predictor/core/buf.h"
#include "predictor/core/error.h"
#include "predictor/record/foretell.pb.h"

/* The newest schema this build writes and understands, of every record. */
#define FT_SCHEMA 1

enum ft_record {
  FT_RECORD_SUBMISSION,
  FT_RECORD_OBSERVATION,
  FT_RECORD_MODEL,
  FT_RECORD_SITE,
  FT_RECORD_PARTITION,
  FT_RECORD_APPS,
  FT_RECORD_ANNOUNCEMENT,
  FT_RECORD_ANSWER,
  FT_RECORD_PERFORMANCE,
  FT_RECORD_PLATFORMS,
  FT_RECORD_SIMILAR_APPS,
  FT_RECORD_PRIOR,
  FT_RECORD_GPUS,
  FT_RECORD_QUESTION,
  FT_RECORD_REPLY
};

/*
 * Encode MESSAGE, a struct of the kind RECORD, at the end of OUT.
 * Returns 0, or -1 with ERR when it does not fit OUT's limit.
 */
int ft_record_encode(enum ft_record record, const void *message, struct ft_buf *out,
                     struct ft_error *err);

/* Clean all text in MESSAGE (ft_utf8_make_printable). */
void ft_record_clean(enum ft_record record, void *message);

/*
 * Decode LENGTH bytes into MESSAGE, which is overwritten whole. Strings end in
 * NUL, lists keep their bounds, the schema is not newer than FT_SCHEMA, enums
 * are of the schema's values and no number is a NaN or infinite, but for x of a
 * run. Returns 0, or -1 with ERR; MESSAGE then holds nothing to be used.
 */
int ft_record_decode(enum ft_record record, const void *data, size_t length, void *message,
                     struct ft_error *err);

/*
 * A record as a file: a header of 28 bytes (magic "foretell", kind, schema, then length
 * and ft_checksum of the head and of the tail; little-endian), then the encoding. The
 * tail is a model's or a performance's history, which only learning reads. Replaced by rename.
 */
int ft_record_write(enum ft_record record, const void *message, int dirfd, const char *name,
                    mode_t mode, struct ft_error *err);

/* The same without the tail: what has a history is read back with none. */
int ft_record_write_head(enum ft_record record, const void *message, int dirfd, const char *name,
                         mode_t mode, struct ft_error *err);

/*
 * Read such a file with bounded pread, never waiting for anything but a disk.
 * Returns 0; -1 with ERR, errno being ENOENT where there is no such file.
 */
int ft_record_read(enum ft_record record, int dirfd, const char *name, void *message,
                   struct ft_error *err);

/* The same without the tail: of what has a history all but that, which is empty then. */
int ft_record_read_head(enum ft_record record, int dirfd, const char *name, void *message,
                        struct ft_error *err);

/*
 * COUNT MESSAGES, each of SIZE bytes, one behind another in one file: 64 of them are read in the
 * time of three files. 0; -1 with ERR.
 */
int ft_record_write_list(enum ft_record record, const void *messages, size_t size, size_t count,
                         int dirfd, const char *name, mode_t mode, struct ft_error *err);

/* Read such a file into LIST, to be freed in either case. 0; -1 with ERR, errno being ENOENT where
 * there is none. */
int ft_record_list_open(int dirfd, const char *name, struct ft_buf *list, struct ft_error *err);

/* The record AT bytes into LIST, which NAME was read into; AT, first 0, is set behind it. 1; 0:
 * there are no more; -1 with ERR. */
int ft_record_list_next(enum ft_record record, const struct ft_buf *list, const char *name,
                        size_t *at, void *message, struct ft_error *err);

/* A submission as it travels in the environment: base64. TEXT is added to OUT. */
int ft_submission_to_text(const ft_submission *submission, struct ft_buf *out,
                          struct ft_error *err);
int ft_submission_from_text(const char *text, ft_submission *submission, struct ft_error *err);

/* The policy that holds where a site says nothing, as foretell.conf(5) states; every field is set.
 */
extern const ft_policy ft_policy_defaults;

/* Names of enum values as shown and stored: "completed", "raise", "cgroup". Unknown ones:
 * "unknown". */
const char *ft_outcome_name(ft_outcome outcome);
const char *ft_mode_name(ft_mode mode);
const char *ft_action_name(ft_action action);
const char *ft_rule_name(ft_rule rule);
const char *ft_decision_rule_name(ft_decision_rule rule);
const char *ft_source_name(ft_source source);

/* The other way; -1 when NAME is none of them. */
int ft_outcome_from_name(const char *name);
int ft_mode_from_name(const char *name);
int ft_rule_from_name(const char *name);

/* The peak that counts under RULE, in bytes; 0 when OBSERVATION has no evidence of it. */
double ft_observation_peak(const ft_observation *observation, ft_rule rule);

/* The feature that says what a submission's model file needs of a GPU, without the GPU's context.
 */
#define FT_FEATURE_NETWORK "model_gpu_bytes"

/* What OBSERVATION took of one GPU's memory, in bytes; 0 where that was not measured. */
double ft_observation_gpu_bytes(const ft_observation *observation);

/* A hash of the key that names an observation: one run of one job on one node. */
uint64_t ft_observation_key(const ft_observation *observation);

/* Put a number or a category among FEATURES (COUNT of at most LIMIT); replaces one of that name.
 * False when full. */
bool ft_feature_number(ft_feature *features, pb_size_t *count, size_t limit, const char *name,
                       double number);
bool ft_feature_category(ft_feature *features, pb_size_t *count, size_t limit, const char *name,
                         const char *category);

/*
 * Make the prediction in S's decision, which is the largest task's of a job array, that of the task
 * INDEX: one that was not looked at has none. Without INDEX, or where nothing told the tasks apart,
 * it stays.
 */
void ft_prediction_of_task(ft_submission *s, const uint32_t *index);

/* The feature called NAME, or NULL. */
const ft_feature *ft_feature_find(const ft_feature *features, size_t count, const char *name);

/*
 * What VALUE, a word of a command line, says as a number: itself, or the bytes of a size
 * with K, M, G, T or P. False where it is neither.
 */
bool ft_feature_parse(const char *value, double *number);

/*
 * Make FEATURES (COUNT of at most LIMIT), as a submission of a job array has them, those of the
 * element INDEX: "%a" becomes the index, and what the KNOWN lists ELEMENTS say of it joins
 * them. INDEX may be NULL: no element, and what differs between them is left out.
 */
void ft_features_of_task(ft_feature *features, pb_size_t *count, size_t limit,
                         const ft_task_values *elements, size_t known, const uint32_t *index);

#endif
