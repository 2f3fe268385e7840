/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "learner/cluster/scontrol.h"
#include "predictor/core/units.h"
#include "predictor/core/utf8.h"

/* Final job states (slurm.h, job_states) and their outcomes; DEADLINE counts as a time limit. */
static const struct {
  const char *name;
  ft_outcome outcome;
} states[] = { { "COMPLETED", FT_OUTCOME_COMPLETED },
               { "FAILED", FT_OUTCOME_FAILED },
               { "OUT_OF_MEMORY", FT_OUTCOME_OUT_OF_MEMORY },
               { "CANCELLED", FT_OUTCOME_CANCELLED },
               { "TIMEOUT", FT_OUTCOME_TIMEOUT },
               { "DEADLINE", FT_OUTCOME_TIMEOUT },
               { "PREEMPTED", FT_OUTCOME_PREEMPTED },
               { "REQUEUED", FT_OUTCOME_REQUEUED },
               { "NODE_FAIL", FT_OUTCOME_NODE_FAIL },
               { "BOOT_FAIL", FT_OUTCOME_NODE_FAIL } };

/* Parses TEXT as a number of at most MAX, without anything after it. */
static bool parse_whole_number(struct ft_text text, uint64_t max, uint64_t *value)
{
  return ft_text_u64(&text, max, value) && !ft_text_left(&text);
}

bool ft_scontrol_utc_time(struct ft_text text, double *seconds)
{
  static const char separators[] = "--T::";
  uint64_t part[6];
  struct tm tm = { 0 };

  for (int i = 0; i < 6; i++) {
    if (!ft_text_u64(&text, 9999, &part[i]))
      return false;
    if (i < 5 && (!ft_text_left(&text) || *text.at++ != separators[i]))
      return false;
  }
  if (part[0] < 1970 || part[1] < 1 || part[1] > 12 || part[2] < 1 || part[2] > 31 ||
      part[3] > 23 || part[4] > 59 || part[5] > 60 || ft_text_left(&text))
    return false;
  tm.tm_year = (int)part[0] - 1900;
  tm.tm_mon = (int)part[1] - 1;
  tm.tm_mday = (int)part[2];
  tm.tm_hour = (int)part[3];
  tm.tm_min = (int)part[4];
  tm.tm_sec = (int)part[5];
  *seconds = (double)timegm(&tm);
  return true;
}

/* Copies VALUE, truncated to SIZE, with unprintable characters replaced. */
static void parse_printable(struct ft_text value, char *out, size_t size)
{
  (void)ft_text_copy(value, out, size);
  ft_utf8_make_printable(out);
}

/* Parses "name(1000)". */
static void parse_user(struct ft_text value, ft_slurm_job *out)
{
  struct ft_text name;
  uint64_t uid;

  if (!ft_text_until(&value, '(', &name) || !ft_text_u64(&value, UINT32_MAX, &uid))
    return;
  out->uid = (uint32_t)uid;
  parse_printable(name, out->user, sizeof out->user);
}

/* Copies VALUE, unless it is "(null)". */
static void parse_optional_name(struct ft_text value, char *out, size_t size)
{
  if (!ft_text_equals(value, "(null)"))
    parse_printable(value, out, size);
}

static void parse_job_state(struct ft_text value, ft_slurm_job *out)
{
  out->final = false;
  out->ending = ft_text_equals(value, "COMPLETING");
  for (size_t i = 0; i < sizeof states / sizeof *states; i++)
    if (ft_text_equals(value, states[i].name)) {
      out->final = true;
      out->outcome = states[i].outcome;
    }
}

/* What a record has besides the fields of ft_slurm_job. */
struct job_details {
  double run; /* from which the time of suspension follows; negative: unknown */
  struct ft_text nodes;
};

/* Parses an ID that scontrol prints before the job's name. An array's tasks that have not started
 * have one record for all, whose ArrayTaskId is no number: it identifies none. */
static void parse_job_id_field(struct ft_text key, struct ft_text value, ft_slurm_job *out)
{
  uint64_t number = 0;
  bool is_number = parse_whole_number(value, UINT32_MAX, &number);

  if (ft_text_equals(key, "ArrayJobId"))
    out->array_job_id = (uint32_t)number;
  else if (ft_text_equals(key, "ArrayTaskId"))
    out->array_task_id = (uint32_t)number;
  else if (ft_text_equals(key, "HetJobOffset"))
    out->het_offset = (uint32_t)number;
  else
    return;
  out->identified = out->identified && is_number;
}

static void parse_job_field(struct ft_text key, struct ft_text value, ft_slurm_job *out,
                            struct job_details *details)
{
  uint64_t number;

  if (ft_text_equals(key, "UserId"))
    parse_user(value, out);
  else if (ft_text_equals(key, "Account"))
    parse_optional_name(value, out->account, sizeof out->account);
  else if (ft_text_equals(key, "Partition"))
    parse_optional_name(value, out->partition, sizeof out->partition);
  else if (ft_text_equals(key, "JobState"))
    parse_job_state(value, out);
  else if (ft_text_equals(key, "Restarts") && parse_whole_number(value, UINT32_MAX, &number))
    out->restart_count = (uint32_t)number;
  else if (ft_text_equals(key, "NodeList"))
    details->nodes = value;
  else if (ft_text_equals(key, "NumNodes") && ft_text_u64(&value, UINT32_MAX, &number))
    out->nodes = (uint32_t)number;
  else if (ft_text_equals(key, "SubmitTime"))
    (void)ft_scontrol_utc_time(value, &out->submit_time);
  else if (ft_text_equals(key, "EndTime"))
    (void)ft_scontrol_utc_time(value, &out->end_time);
  else if (ft_text_equals(key, "StartTime"))
    (void)ft_scontrol_utc_time(value, &out->start_time);
  else if (ft_text_equals(key, "RunTime"))
    (void)ft_units_parse_seconds(value, &details->run);
  else if (ft_text_equals(key, "TimeLimit"))
    (void)ft_units_parse_seconds(value, &out->time_limit_seconds);
}

/*
 * Parses the fields of one line, and returns its list of nodes. The job's name may contain blanks
 * and "=", and so imitate fields; the real ones follow it, and the last one of a name counts. If
 * two words name different users, one of them is imitated, and the record counts as one without
 * nodes.
 */
static struct ft_text parse_job_line(struct ft_text line, ft_slurm_job *out)
{
  struct ft_text word, key;
  struct job_details details = { .run = -1 };
  bool seen_name = false, seen_paths = false, imitated = false;
  struct ft_text user = { 0 };

  out->identified = true;
  while (ft_text_word(&line, &word)) {
    if (!ft_text_until(&word, '=', &key))
      continue;
    if (ft_text_equals(key, "JobName"))
      parse_optional_name(word, out->name, sizeof out->name);
    seen_name = seen_name || ft_text_equals(key, "JobName");
    if (!seen_name)
      parse_job_id_field(key, word, out);
    if (ft_text_equals(key, "UserId")) {
      imitated = imitated || (user.at && !ft_text_same(user, word));
      user = word;
    }
    /* paths and comments, which the user chose, follow */
    seen_paths = seen_paths ||
                 (user.at && (ft_text_equals(key, "Command") || ft_text_equals(key, "Comment")));
    if (user.at && !seen_paths)
      parse_job_field(key, word, out, &details);
  }
  if (out->final && out->end_time > 0 && out->start_time > 0 && details.run >= 0 &&
      out->end_time - out->start_time > details.run)
    out->suspended_seconds = out->end_time - out->start_time - details.run;
  return imitated ? ft_text_from("(null)") : details.nodes;
}

int ft_scontrol_job(struct ft_text text, uint32_t job_id, ft_slurm_job *out, struct ft_text *nodes,
                    struct ft_error *err)
{
  struct ft_text line, word;
  uint64_t number;

  *out = (ft_slurm_job){ 0 };
  *nodes = (struct ft_text){ 0 };
  while (ft_text_line(&text, &line)) {
    struct ft_text rest;

    while (ft_text_skip(&line, FT_SCONTROL_PROMPT))
      continue;
    rest = line;
    /* for the first ID of an array or a het job, scontrol lists all members */
    if (ft_text_word(&rest, &word) && ft_text_skip(&word, "JobId=") &&
        parse_whole_number(word, UINT32_MAX, &number) && number == job_id) {
      *nodes = parse_job_line(rest, out);
      return 0;
    }
  }
  return ft_error_set(err, "scontrol show job: expected a line that begins with JobId=%" PRIu32,
                      job_id);
}

/* ---- scontrol show config ---- */

static bool contains_any_case(struct ft_text text, const char *part)
{
  size_t length = strlen(part);

  for (; ft_text_left(&text) >= length; text.at++)
    if (strncasecmp(text.at, part, length) == 0)
      return true;
  return false;
}

/* Parses a number of MiB into bytes. No effect for UNLIMITED. */
static void parse_mib(struct ft_text value, uint64_t *bytes)
{
  uint64_t mib;

  if (parse_whole_number(value, UINT64_MAX / FT_MIB, &mib))
    *bytes = mib * FT_MIB;
}

/* Settings that determine the memory accounting rule; whether accounts are enforced. */
struct memory_enforcement {
  bool over_memory_kill, pss, constrain, task_cgroup, associations;
};

static ft_rule enforced_rule(const struct memory_enforcement *e)
{
  if (e->constrain && e->task_cgroup)
    return FT_RULE_CGROUP;
  if (e->over_memory_kill)
    return e->pss ? FT_RULE_PSS : FT_RULE_RSS;
  return FT_RULE_NONE;
}

/* Whether a partition's list of accounts includes sub-accounts: since Slurm 23.02, where it applies
 * only if associations are enforced (part_policy_valid_acct). */
static bool has_account_trees(const char *version)
{
  struct ft_text text = ft_text_from(version);
  uint64_t major, minor;

  return ft_text_u64(&text, 255, &major) && ft_text_skip(&text, ".") &&
         ft_text_u64(&text, 255, &minor) && (major > 23 || (major == 23 && minor >= 2));
}

static void parse_setting(struct ft_text key, struct ft_text value, struct memory_enforcement *e,
                          struct ft_slurm_config *out)
{
  struct ft_text name;
  uint64_t uid;

  if (ft_text_equals(key, "ClusterName")) {
    parse_optional_name(value, out->cluster, sizeof out->cluster);
  } else if (ft_text_equals(key, "AccountingStorageType")) {
    out->has_slurmdbd = ft_text_equals(value, "accounting_storage/slurmdbd");
  } else if (ft_text_equals(key, "SLURM_VERSION")) {
    parse_printable(value, out->version, sizeof out->version);
  } else if (ft_text_equals(key, "SelectTypeParameters")) {
    out->memory_is_consumable = contains_any_case(value, "_MEMORY");
    out->one_task_per_core = ft_text_lists_any_case(value, ft_text_from("CR_ONE_TASK_PER_CORE"));
    (void)ft_scontrol_cpu_unit(value, &out->cpu_unit);
  } else if (ft_text_equals(key, "SlurmdUser")) {
    if (ft_text_until(&value, '(', &name) && ft_text_u64(&value, UINT32_MAX, &uid))
      out->slurmd_uid = (uint32_t)uid;
  } else if (ft_text_equals(key, "SlurmUser")) {
    if (ft_text_until(&value, '(', &name) && ft_text_u64(&value, UINT32_MAX, &uid))
      out->slurm_uid = (uint32_t)uid;
  } else if (ft_text_equals(key, "JobAcctGatherParams")) {
    e->over_memory_kill = ft_text_lists_any_case(value, ft_text_from("OverMemoryKill"));
    e->pss = ft_text_lists_any_case(value, ft_text_from("UsePss"));
  } else if (ft_text_equals(key, "TaskPlugin")) {
    e->task_cgroup = contains_any_case(value, "cgroup");
  } else if (ft_text_equals(key, "ConstrainRAMSpace")) {
    e->constrain = ft_text_lists_any_case(value, ft_text_from("yes"));
  } else if (ft_text_equals(key, "AccountingStorageEnforce")) {
    e->associations = ft_text_lists_any_case(value, ft_text_from("associations"));
  } else if (ft_text_equals(key, "JobDefaults")) {
    ft_scontrol_per_gpu(value, &out->def_mem_per_gpu_bytes, &out->def_cpus_per_gpu);
  } else if (ft_text_equals(key, "DefMemPerNode") || ft_text_equals(key, "DefMemPerCPU")) {
    parse_mib(value, &out->def_mem_bytes);
    out->def_per_cpu = ft_text_equals(key, "DefMemPerCPU");
  } else if (ft_text_equals(key, "MaxMemPerNode") || ft_text_equals(key, "MaxMemPerCPU")) {
    parse_mib(value, &out->max_mem_bytes);
    out->max_per_cpu = ft_text_equals(key, "MaxMemPerCPU");
  }
}

int ft_scontrol_config(struct ft_text text, struct ft_slurm_config *out, struct ft_error *err)
{
  struct memory_enforcement enforcement = { 0 };
  struct ft_text line, key;

  *out = (struct ft_slurm_config){ 0 };
  while (ft_text_line(&text, &line))
    if (ft_text_until(&line, '=', &key))
      parse_setting(ft_text_trim(key), ft_text_trim(line), &enforcement, out);
  if (!out->cluster[0])
    return ft_error_set(err, "scontrol show config: expected a line \"ClusterName = NAME\"");
  out->rule = enforced_rule(&enforcement);
  out->accounts_are_trees = has_account_trees(out->version);
  out->accounts_are_ignored = out->accounts_are_trees && !enforcement.associations;
  return 0;
}
