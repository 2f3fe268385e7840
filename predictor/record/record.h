/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Encodes, decodes, writes and reads the records of foretell.proto, and has helpers for their
 * fields. The structs are generated; foretell.proto documents their fields.
 */
#ifndef FT_RECORD_RECORD_H
#define FT_RECORD_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "predictor/core/buf.h"
#include "predictor/core/error.h"
#include "predictor/record/foretell.pb.h"

/* Schema version of every record: the version written, and the newest that can be read. */
#define FT_SCHEMA 1

/* Types of records. The order is part of the file format: append only. */
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
  FT_RECORD_REPLY,
  FT_RECORD_VERDICTS,
  FT_RECORD_JOBS_QUERY,
  FT_RECORD_JOBS_REPLY,
  FT_RECORD_SETTINGS_QUERY,
  FT_RECORD_SETTINGS,
  FT_RECORD_RUNNING,
  FT_RECORD_HOST_QUERY,
  FT_RECORD_HOST,
  FT_RECORD_JOB_ARRAY,
  FT_RECORD_CATEGORIES,
  FT_RECORD_USAGE,
  FT_RECORD_PROGRAM
};

/* Appends the encoded MESSAGE, a struct of type RECORD, to OUT. Returns 0; -1 over OUT's limit and
 * fills ERR. */
int ft_record_encode(enum ft_record record, const void *message, struct ft_buf *out,
                     struct ft_error *err);

/* Makes all text in MESSAGE printable (ft_utf8_make_printable). */
void ft_record_clean(enum ft_record record, void *message);

/*
 * Decodes LENGTH bytes of DATA into MESSAGE, a struct of type RECORD, and checks it: strings end in
 * NUL, lists keep their bounds, the schema is not newer than FT_SCHEMA, enums have values of the
 * schema and numbers are finite (the columns x of a run can be NaN). Makes the text of users'
 * records printable. Returns 0; -1 on error, sets errno and fills ERR; then MESSAGE is undefined.
 */
int ft_record_decode(enum ft_record record, const void *data, size_t length, void *message,
                     struct ft_error *err);

/*
 * Replaces the file NAME under DIRFD with MESSAGE and permissions MODE (ft_io_write_file). The file
 * is a header of 28 bytes, then the encoding. Header, little-endian: magic "foretell", type and
 * schema, then length and ft_checksum of the encoding and of no bytes. Returns 0; -1 on error and
 * fills ERR.
 */
int ft_record_write(enum ft_record record, const void *message, int dirfd, const char *name,
                    mode_t mode, struct ft_error *err);

/* The same without fdatasync(2) (ft_io_write_file_unsynced). */
int ft_record_write_unsynced(enum ft_record record, const void *message, int dirfd,
                             const char *name, mode_t mode, struct ft_error *err);

/* Reads a file of ft_record_write into MESSAGE with bounded pread; never blocks on a FIFO or a
 * device. Returns 0; -1 on error, sets errno (ENOENT: no such file) and fills ERR. */
int ft_record_read(enum ft_record record, int dirfd, const char *name, void *message,
                   struct ft_error *err);

/* The same from the open file FD; NAME is for messages. */
int ft_record_read_open(enum ft_record record, int fd, const char *name, void *message,
                        struct ft_error *err);

/*
 * Replaces the file NAME under DIRFD with COUNT structs of SIZE bytes at MESSAGES, one after
 * another, each with a header. Reading 64 of them takes the time of three files. Returns 0; -1 on
 * error and fills ERR.
 */
int ft_record_write_list(enum ft_record record, const void *messages, size_t size, size_t count,
                         int dirfd, const char *name, mode_t mode, struct ft_error *err);

/* Reads a file of ft_record_write_list into LIST, which the caller frees with ft_buf_free, also
 * after an error. Returns 0; -1 on error, sets errno (ENOENT: no such file) and fills ERR. */
int ft_record_list_open(int dirfd, const char *name, struct ft_buf *list, struct ft_error *err);

/* Decodes the record at offset *AT, initially 0, of LIST into MESSAGE and moves *AT after it. NAME
 * is for messages. Returns 1; 0 at the end; -1 on error and fills ERR. */
int ft_record_list_next(enum ft_record record, const struct ft_buf *list, const char *name,
                        size_t *at, void *message, struct ft_error *err);

/* Appends SUBMISSION and ARRAY (NULL: no array) as base64, for an environment variable, to OUT.
 * Returns 0; -1 on error and fills ERR. */
int ft_submission_to_text(const ft_submission *submission, const ft_job_array *array,
                          struct ft_buf *out, struct ft_error *err);

/* Decodes the LENGTH bytes DATA of a job's submission record into SUBMISSION and ARRAY. Returns as
 * ft_record_decode. */
int ft_submission_decode(const void *data, size_t length, ft_submission *submission,
                         ft_job_array *array, struct ft_error *err);

/* The same for the TEXT of ft_submission_to_text. */
int ft_submission_from_text(const char *text, ft_submission *submission, ft_job_array *array,
                            struct ft_error *err);

/* The default policy of foretell.conf(5) (policy_table.h), with every field set. */
extern const ft_policy ft_policy_defaults;

/* The names of an enum's values, from value 0 on. */
struct ft_enum_names {
  const char *const *name;
  size_t count;
};

/* Initialiser of struct ft_enum_names from string literals. */
#define FT_ENUM_NAMES(...)                                                                         \
  {                                                                                                \
    (const char *const[]){ __VA_ARGS__ }, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *) \
  }

extern const struct ft_enum_names ft_outcome_names, ft_mode_names, ft_action_names, ft_rule_names,
    ft_decision_rule_names, ft_source_names;

/* Returns the name of VALUE; "unknown" for a value without one. */
const char *ft_enum_name(const struct ft_enum_names *names, unsigned value);

/* Returns the value of NAME; -1 for other names. */
int ft_enum_value(const struct ft_enum_names *names, const char *name);

/* Return the name of an enum value as shown and stored, "completed", "raise", "cgroup"; "unknown"
 * for other values. */
const char *ft_outcome_name(ft_outcome outcome);
const char *ft_mode_name(ft_mode mode);
const char *ft_action_name(ft_action action);
const char *ft_rule_name(ft_rule rule);
const char *ft_decision_rule_name(ft_decision_rule rule);
const char *ft_source_name(ft_source source);

/* Return the enum value of NAME; -1 for other names. */
int ft_outcome_from_name(const char *name);
int ft_mode_from_name(const char *name);
int ft_rule_from_name(const char *name);

/* Returns the peak in bytes under the memory accounting RULE; 0 if not measured. */
double ft_observation_peak(const ft_observation *observation, ft_rule rule);

/* Returns the time of submission, or if unknown of the start, in UTC seconds. */
double ft_observation_submitted(const ft_observation *observation);

/* Name of the feature with the GPU memory, in bytes, that the submission's model file needs without
 * the GPU context. */
#define FT_FEATURE_NETWORK "model_gpu_bytes"

/* The power 0 in ft_products.powers. */
#define FT_PRODUCTS_POWER_0 8

/* Names of the features with the numbers of tasks and of nodes that a submission requests. */
#define FT_FEATURE_TASKS "tasks"
#define FT_FEATURE_NODES "nodes"

/* Returns the peak memory of one GPU in bytes, the mean over the requested GPUs; 0 if not measured.
 */
double ft_observation_gpu_bytes(const ft_observation *observation);

/* Returns a hash of the fields that identify an observation: one run of one job on one node. */
uint64_t ft_observation_key(const ft_observation *observation);

/* The same for the run on all its nodes; without a job ID its node still counts. */
uint64_t ft_observation_run_key(const ft_observation *observation);

/* Insert a number or a category into FEATURES, with *COUNT of at most LIMIT entries, or replace the
 * feature NAME. Return false if FEATURES is full or NUMBER is not finite. */
bool ft_feature_number(ft_feature *features, pb_size_t *count, size_t limit, const char *name,
                       double number);
bool ft_feature_category(ft_feature *features, pb_size_t *count, size_t limit, const char *name,
                         const char *category);

/* Returns the hash of the category NAME, as columns store it. */
uint64_t ft_category_hash(const char *name);

/* Sets the quantiles in DECISION to those of the array task INDEX; a task without a prediction gets
 * none. Leaves them unchanged if TASKS is empty. */
void ft_prediction_of_task(const ft_task_predictions *tasks, uint32_t index, ft_decision *decision);

/* Returns the feature NAME of COUNT FEATURES, or NULL. */
const ft_feature *ft_feature_find(const ft_feature *features, size_t count, const char *name);

/* Parses VALUE, an argument, as a number or as a size with K, M, G, T or P, in bytes. Returns false
 * for other text. */
bool ft_feature_parse(const char *value, double *number);

/* Replaces the FEATURES of a job array, *COUNT of at most LIMIT, by the features of its task
 * *INDEX: inserts the index for "%a", the number for "%(EXPRESSION)" (index_arithmetic.h), and adds
 * the values of the task from ARRAY (NULL: none).
 * INDEX NULL (no task) removes the features that differ between tasks. */
void ft_features_of_task(ft_feature *features, pb_size_t *count, size_t limit,
                         const ft_job_array *array, const uint32_t *index);

#endif
