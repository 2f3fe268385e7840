/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/history/fields.h"

static const struct ft_enum_names command_names =
    FT_ENUM_NAMES("unknown", "sbatch", "salloc", "srun");
static const struct ft_enum_names unit_names = FT_ENUM_NAMES("none", "node", "cpu", "gpu", "all");

/* Offset, offset of the presence flag, and size of a member: without a flag, with a flag,
 * and with a flag inside a nested message. */
#define AT(member) offsetof(ft_observation, member), 0, sizeof(((ft_observation *)0)->member)
#define HAS(member) \
  offsetof(ft_observation, member), offsetof(ft_observation, has_##member), \
      sizeof(((ft_observation *)0)->member)
#define HAS_IN(message, member) \
  offsetof(ft_observation, message.member), offsetof(ft_observation, message.has_##member), \
      sizeof(((ft_observation *)0)->message.member)

/* Rows of the table: field N of group P, type T, enum names E, since schema S. */
#define TEXT(n, p) { #n, FT_FIELD_TEXT, p, AT(n), NULL, 1 }
#define U32(n, p) { #n, FT_FIELD_U32, p, AT(n), NULL, 1 }
#define I32(n, p) { #n, FT_FIELD_I32, p, AT(n), NULL, 1 }
#define REAL(n, p) { #n, FT_FIELD_DOUBLE, p, AT(n), NULL, 1 }
#define FLAG(n, p) { #n, FT_FIELD_BOOL, p, AT(n), NULL, 1 }
#define NAMED(n, p, e) { #n, FT_FIELD_ENUM, p, AT(n), e, 1 }
#define OPTIONAL(n, t, p) { #n, t, p, HAS(n), NULL, 1 }
#define SUBMITTED(n, t, s) { #n, t, FT_GROUP_SUBMIT, AT(submission.n), NULL, s }
#define REQUEST(n, t) { "request_" #n, t, FT_GROUP_REQUEST, AT(submission.request.n), NULL, 1 }
#define REQUEST_NAMED(n, e) \
  { "request_" #n, FT_FIELD_ENUM, FT_GROUP_REQUEST, AT(submission.request.n), e, 1 }
#define DECISION(n, t) \
  { "decision_" #n, t, FT_GROUP_DECISION, AT(submission.decision.n), NULL, 1 }
#define DECISION_HAS(n, t) \
  { "decision_" #n, t, FT_GROUP_DECISION, HAS_IN(submission.decision, n), NULL, 1 }
#define DECISION_NAMED(n, e) \
  { "decision_" #n, FT_FIELD_ENUM, FT_GROUP_DECISION, AT(submission.decision.n), e, 1 }
#define DECIDED_TIME(n, t, e) \
  { "decision_" #n, t, FT_GROUP_DECISION, AT(submission.decision.n), e, 15 }
#define DECIDED_TIME_HAS(n) \
  { "decision_" #n, FT_FIELD_DOUBLE, FT_GROUP_DECISION, HAS_IN(submission.decision, n), NULL, 15 }

/* Never change a row's `since`. Append a new field with the next schema of the store. */
const struct ft_field ft_fields[] = {
  U32(schema, FT_GROUP_SUBMIT),
  TEXT(cluster, FT_GROUP_KEY),
  U32(job_id, FT_GROUP_KEY),
  REAL(submit_time, FT_GROUP_KEY),
  U32(restart_count, FT_GROUP_KEY),
  U32(het_offset, FT_GROUP_KEY),
  U32(array_job_id, FT_GROUP_KEY),
  U32(array_task_id, FT_GROUP_KEY),
  TEXT(node, FT_GROUP_KEY),
  SUBMITTED(app, FT_FIELD_TEXT, 1),
  U32(uid, FT_GROUP_SUBMIT),
  TEXT(user, FT_GROUP_SUBMIT),
  TEXT(account, FT_GROUP_SUBMIT),
  TEXT(partition, FT_GROUP_SUBMIT),
  SUBMITTED(job_name, FT_FIELD_TEXT, 1),
  SUBMITTED(features, FT_FIELD_FEATURES, 1),
  NAMED(source, FT_GROUP_SOURCE, &ft_source_names),
  NAMED(rule, FT_GROUP_SUBMIT, &ft_rule_names),
  REQUEST_NAMED(command, &command_names),
  REQUEST_NAMED(mem_unit, &unit_names),
  REQUEST(mem_bytes, FT_FIELD_U64),
  REQUEST(exclusive, FT_FIELD_BOOL),
  REQUEST(nodes, FT_FIELD_U32),
  REQUEST(tasks, FT_FIELD_U32),
  REQUEST(cpus_per_task, FT_FIELD_U32),
  REQUEST(tasks_per_node, FT_FIELD_U32),
  REQUEST(gpus_per_node, FT_FIELD_U32),
  REQUEST(partition, FT_FIELD_TEXT),
  REQUEST(account, FT_FIELD_TEXT),
  REQUEST(qos, FT_FIELD_TEXT),
  REQUEST(constraint, FT_FIELD_TEXT),
  REQUEST(gres, FT_FIELD_TEXT),
  REQUEST(time_limit_seconds, FT_FIELD_DOUBLE),
  REQUEST(array_tasks, FT_FIELD_U32),
  REQUEST(container, FT_FIELD_TEXT),
  REQUEST(threads_per_core, FT_FIELD_U32),
  OPTIONAL(partition_default_bytes, FT_FIELD_U64, FT_GROUP_SUBMIT),
  OPTIONAL(limit_bytes, FT_FIELD_U64, FT_GROUP_SUBMIT),
  DECISION_NAMED(action, &ft_action_names),
  DECISION_NAMED(mode, &ft_mode_names),
  DECISION_NAMED(mem_unit, &unit_names),
  DECISION(mem_bytes, FT_FIELD_U64),
  DECISION_HAS(p_oom, FT_FIELD_DOUBLE),
  DECISION(reason, FT_FIELD_TEXT),
  DECISION_HAS(p05_bytes, FT_FIELD_DOUBLE),
  DECISION_HAS(p50_bytes, FT_FIELD_DOUBLE),
  DECISION_HAS(p95_bytes, FT_FIELD_DOUBLE),
  DECISION(runs, FT_FIELD_U32),
  DECISION(method, FT_FIELD_TEXT),
  REAL(start_time, FT_GROUP_TIME),
  REAL(end_time, FT_GROUP_TIME),
  REAL(runtime_seconds, FT_GROUP_TIME),
  NAMED(outcome, FT_GROUP_OUTCOME, &ft_outcome_names),
  FLAG(censored, FT_GROUP_OUTCOME),
  I32(exit_code, FT_GROUP_OUTCOME),
  I32(signal, FT_GROUP_OUTCOME),
  FLAG(peak_is_bound, FT_GROUP_SOURCE),
  OPTIONAL(rss_bytes, FT_FIELD_U64, FT_GROUP_MEASURED),
  OPTIONAL(pss_bytes, FT_FIELD_U64, FT_GROUP_MEASURED),
  OPTIONAL(charge_bytes, FT_FIELD_U64, FT_GROUP_MEASURED),
  OPTIONAL(charge_less_cache_bytes, FT_FIELD_U64, FT_GROUP_MEASURED),
  OPTIONAL(swap_bytes, FT_FIELD_U64, FT_GROUP_MEASURED),
  OPTIONAL(hugetlb_bytes, FT_FIELD_U64, FT_GROUP_MEASURED),
  OPTIONAL(shmem_bytes, FT_FIELD_U64, FT_GROUP_MEASURED),
  OPTIONAL(largest_process_bytes, FT_FIELD_U64, FT_GROUP_MEASURED),
  OPTIONAL(time_to_peak_seconds, FT_FIELD_DOUBLE, FT_GROUP_MEASURED),
  OPTIONAL(cpu_seconds, FT_FIELD_DOUBLE, FT_GROUP_MEASURED),
  U32(cpus, FT_GROUP_SUBMIT),
  U32(threads_per_core, FT_GROUP_SUBMIT),
  OPTIONAL(threads, FT_FIELD_U32, FT_GROUP_MEASURED),
  OPTIONAL(processes, FT_FIELD_U32, FT_GROUP_MEASURED),
  OPTIONAL(open_files, FT_FIELD_U32, FT_GROUP_MEASURED),
  OPTIONAL(read_bytes, FT_FIELD_U64, FT_GROUP_MEASURED),
  OPTIONAL(write_bytes, FT_FIELD_U64, FT_GROUP_MEASURED),
  OPTIONAL(minor_faults, FT_FIELD_U64, FT_GROUP_MEASURED),
  OPTIONAL(major_faults, FT_FIELD_U64, FT_GROUP_MEASURED),
  { "counters", FT_FIELD_COUNTERS, FT_GROUP_MEASURED, AT(counters), NULL, 1 },
  OPTIONAL(gpu_memory_bytes, FT_FIELD_U64, FT_GROUP_MEASURED),
  OPTIONAL(gpu_utilisation, FT_FIELD_DOUBLE, FT_GROUP_MEASURED),
  OPTIONAL(gpu_energy_joules, FT_FIELD_DOUBLE, FT_GROUP_MEASURED),
  TEXT(gpu_name, FT_GROUP_SUBMIT),
  TEXT(mig_profile, FT_GROUP_SUBMIT),
  TEXT(container, FT_GROUP_SUBMIT),
  TEXT(platform, FT_GROUP_SUBMIT),
  TEXT(fingerprint, FT_GROUP_SUBMIT),
  TEXT(foretell_version, FT_GROUP_SUBMIT),
  TEXT(slurm_version, FT_GROUP_SUBMIT),
  TEXT(kernel_version, FT_GROUP_SUBMIT),
  U32(samples, FT_GROUP_MEASURED),
  REAL(sample_seconds, FT_GROUP_MEASURED),
  { "killed_at_bytes", FT_FIELD_U64, FT_GROUP_MEASURED, HAS(killed_at_bytes), NULL, 3 },
  { "system_seconds", FT_FIELD_DOUBLE, FT_GROUP_MEASURED, HAS(system_seconds), NULL, 4 },
  { "gpu_transfer_bytes", FT_FIELD_U64, FT_GROUP_MEASURED, HAS(gpu_transfer_bytes), NULL, 4 },
  SUBMITTED(script_hash, FT_FIELD_U32, 5),
  SUBMITTED(directory_hash, FT_FIELD_U32, 5),
  SUBMITTED(code_hash, FT_FIELD_U32, 14),
  { "decision_rule", FT_FIELD_ENUM, FT_GROUP_DECISION, AT(submission.decision.rule),
    &ft_decision_rule_names, 8 },
  { "decision_overrode", FT_FIELD_BOOL, FT_GROUP_DECISION, AT(submission.decision.overrode), NULL,
    9 },
  { "command_ran", FT_FIELD_BOOL, FT_GROUP_MEASURED, HAS(command_ran), NULL, 10 },
  { "allocated_nodes", FT_FIELD_U32, FT_GROUP_SUBMIT, AT(allocated_nodes), NULL, 11 },
  { "package_energy_joules", FT_FIELD_DOUBLE, FT_GROUP_MEASURED, HAS(package_energy_joules), NULL,
    12 },
  { "package_energy_share", FT_FIELD_DOUBLE, FT_GROUP_MEASURED, HAS(package_energy_share), NULL,
    12 },
  DECIDED_TIME(time_mode, FT_FIELD_ENUM, &ft_mode_names),
  DECIDED_TIME(time_action, FT_FIELD_ENUM, &ft_action_names),
  DECIDED_TIME(time_seconds, FT_FIELD_DOUBLE, NULL),
  DECIDED_TIME_HAS(p05_seconds),
  DECIDED_TIME_HAS(p50_seconds),
  DECIDED_TIME_HAS(p95_seconds),
  DECIDED_TIME_HAS(p_timeout),
  { "node_energy_joules", FT_FIELD_DOUBLE, FT_GROUP_MEASURED, HAS(node_energy_joules), NULL, 15 }
};

const size_t ft_field_count = sizeof ft_fields / sizeof *ft_fields;

const struct ft_field *ft_field_find(const char *name)
{
  size_t i = FT_TABLE_FIND(ft_fields, name);

  return i < ft_field_count ? &ft_fields[i] : NULL;
}

static const void *field_address(const ft_observation *o, const struct ft_field *field)
{
  return (const char *)o + field->offset;
}

static bool read_flag(const ft_observation *o, size_t offset)
{
  return *(const bool *)((const char *)o + offset);
}

/* Returns whether O has the request or decision that FIELD may belong to. */
static bool message_present(const ft_observation *o, const struct ft_field *field)
{
  return !(field->group == FT_GROUP_REQUEST && !o->submission.has_request) &&
         !(field->group == FT_GROUP_DECISION && !o->submission.has_decision);
}

bool ft_field_present(const ft_observation *o, const struct ft_field *field)
{
  if (!message_present(o, field))
    return false;
  if (field->has)
    return read_flag(o, field->has);
  switch (field->type) {
  case FT_FIELD_TEXT:
    return *(const char *)field_address(o, field) != '\0';
  case FT_FIELD_FEATURES:
    return o->submission.features_count > 0;
  case FT_FIELD_COUNTERS:
    return o->counters_count > 0;
  case FT_FIELD_DOUBLE:
    return ft_field_number(o, field) != 0;
  default:
    return ft_field_integer(o, field) != 0;
  }
}

bool ft_field_non_null(const ft_observation *o, const struct ft_field *field)
{
  switch (field->type) {
  case FT_FIELD_TEXT:
  case FT_FIELD_FEATURES:
  case FT_FIELD_COUNTERS:
    return ft_field_present(o, field);
  default:
    return message_present(o, field) && (!field->has || read_flag(o, field->has));
  }
}

uint64_t ft_field_integer(const ft_observation *o, const struct ft_field *field)
{
  const void *p = field_address(o, field);

  switch (field->type) {
  case FT_FIELD_U64:
    return *(const uint64_t *)p;
  case FT_FIELD_U32:
    return *(const uint32_t *)p;
  case FT_FIELD_I32:
    return (uint64_t)(int64_t)(*(const int32_t *)p);
  case FT_FIELD_BOOL:
    return *(const bool *)p;
  case FT_FIELD_ENUM:
    return *(const unsigned *)p;
  default:
    return 0;
  }
}

double ft_field_number(const ft_observation *o, const struct ft_field *field)
{
  if (field->type == FT_FIELD_DOUBLE)
    return *(const double *)field_address(o, field);
  if (field->type == FT_FIELD_I32)
    return *(const int32_t *)field_address(o, field);
  return (double)ft_field_integer(o, field);
}

const char *ft_field_text(const ft_observation *o, const struct ft_field *field)
{
  if (field->type == FT_FIELD_ENUM)
    return ft_enum_name(field->names, (unsigned)ft_field_integer(o, field));
  return field->type == FT_FIELD_TEXT ? field_address(o, field) : "";
}

/* Sets the presence flags of FIELD. Returns the address of its value. */
static void *mark_present(ft_observation *o, const struct ft_field *field)
{
  if (field->group == FT_GROUP_REQUEST)
    o->submission.has_request = true;
  if (field->group == FT_GROUP_DECISION)
    o->submission.has_decision = true;
  if (field->has)
    *(bool *)((char *)o + field->has) = true;
  return (char *)o + field->offset;
}

bool ft_field_set_integer(ft_observation *o, const struct ft_field *field, int64_t value)
{
  switch (field->type) {
  case FT_FIELD_U64:
    if (value < 0)
      return false;
    *(uint64_t *)mark_present(o, field) = (uint64_t)value;
    return true;
  case FT_FIELD_U32:
    if (value < 0 || value > UINT32_MAX)
      return false;
    *(uint32_t *)mark_present(o, field) = (uint32_t)value;
    return true;
  case FT_FIELD_I32:
    if (value < INT32_MIN || value > INT32_MAX)
      return false;
    *(int32_t *)mark_present(o, field) = (int32_t)value;
    return true;
  case FT_FIELD_BOOL:
    if (value != 0 && value != 1)
      return false;
    *(bool *)mark_present(o, field) = value;
    return true;
  case FT_FIELD_DOUBLE:
    *(double *)mark_present(o, field) = (double)value;
    return true;
  default:
    return false;
  }
}

bool ft_field_set_number(ft_observation *o, const struct ft_field *field, double value)
{
  if (!isfinite(value))
    return false;
  if (field->type == FT_FIELD_DOUBLE) {
    *(double *)mark_present(o, field) = value;
    return true;
  }
  if (value <= -0x1p63 || value >= 0x1p63)
    return false;
  return ft_field_set_integer(o, field, (int64_t)llround(value));
}

bool ft_field_set_text(ft_observation *o, const struct ft_field *field, const char *value)
{
  int number;

  if (field->type == FT_FIELD_TEXT) {
    if (strlen(value) >= field->size || ft_string_has_control(value))
      return false;
    return ft_string_copy(value, mark_present(o, field), field->size);
  }
  number = field->type == FT_FIELD_ENUM ? ft_enum_value(field->names, value) : -1;
  if (number < 0)
    return false;
  memcpy(mark_present(o, field), &number, sizeof number);
  return true;
}

void ft_field_copy(ft_observation *to, const ft_observation *from, const struct ft_field *field)
{
  memcpy((char *)to + field->offset, field_address(from, field), field->size);
  if (field->has)
    *(bool *)((char *)to + field->has) = read_flag(from, field->has);
  if (field->type == FT_FIELD_FEATURES)
    to->submission.features_count = from->submission.features_count;
  if (field->type == FT_FIELD_COUNTERS)
    to->counters_count = from->counters_count;
}
