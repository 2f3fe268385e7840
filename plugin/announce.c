/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Announces the start and end of jobs and tasks to the node's agent. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plugin/announce.h"
#include "plugin/cgroup.h"
#include "plugin/packet.h"
#include "predictor/core/base64.h"
#include "predictor/core/process.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/record/record.h"

/* The smallest of Slurm's "no value" numbers (slurm.h): INFINITE - 2. */
#define SLURM_NO_VALUE_32 UINT32_C(0xfffffffd)
#define SLURM_NO_VALUE_64 UINT64_C(0xfffffffffffffffd)

/* Tasks of a step whose cgroups are kept on a node. */
enum { MAX_TASKS = 4096 };

static struct task {
  pid_t pid;
  struct ft_cgroup cgroup;
} *tasks;
static size_t task_count, tasks_alive;

/* Usage of the earlier tasks of this step: the kernel reports only the sum over all children. */
static struct rusage earlier_usage;

static uint32_t read_spank_number(spank_t spank, spank_item_t which)
{
  uint32_t value = 0;

  if (spank_get_item(spank, which, &value) != ESPANK_SUCCESS || value >= SLURM_NO_VALUE_32)
    return 0;
  return value;
}

static uint32_t parse_slurm_number(const char *text)
{
  struct ft_text cursor = ft_text_from(text);
  uint64_t value;

  return ft_text_u64(&cursor, SLURM_NO_VALUE_32 - 1, &value) ? (uint32_t)value : 0;
}

/* Decodes the submission record; the agent checks its content. */
static void decode_submission(const char *text, pb_size_t *size, uint8_t *bytes, size_t room)
{
  ssize_t length = text ? ft_base64_decode(text, bytes, room) : -1;

  *size = length > 0 ? (pb_size_t)length : 0;
}

/* Source of a job's environment variables: this process, or the tasks of a step. */
struct job_environment {
  spank_t step; /* NULL: this process */
  char value[12 << 10];
};

/* Returns the value of NAME, valid until the next call; NULL if it is not set. */
static const char *read_job_variable(struct job_environment *s, const char *name)
{
  if (!s->step)
    return getenv(name);
  if (spank_getenv(s->step, name, s->value, sizeof s->value) != ESPANK_SUCCESS)
    return NULL;
  return s->value;
}

static void fill_node(struct job_environment *s, ft_announcement *out)
{
  /* Slurm sets this variable for slurmstepd; the step's environment may have another value */
  const char *node = getenv("SLURMD_NODENAME");

  out->schema = FT_SCHEMA;
  if (node)
    (void)ft_string_copy(node, out->node, sizeof out->node);
  else if (gethostname(out->node, sizeof out->node - 1) < 0)
    out->node[0] = '\0';
  (void)ft_string_copy(read_job_variable(s, "SLURM_JOB_PARTITION"), out->partition,
                       sizeof out->partition);
  (void)ft_string_copy(read_job_variable(s, "SLURM_JOB_ACCOUNT"), out->account,
                       sizeof out->account);
}

static void fill_script_event(spank_t spank, struct job_environment *s, ft_announcement *out)
{
  uid_t uid = (uid_t)-1;

  fill_node(s, out);
  (void)spank_get_item(spank, S_JOB_UID, &uid);
  out->uid = uid;
  out->job_id = read_spank_number(spank, S_JOB_ID);
  out->restart_count = parse_slurm_number(read_job_variable(s, "SLURM_RESTART_COUNT"));
  out->array_job_id = parse_slurm_number(read_job_variable(s, "SLURM_ARRAY_JOB_ID"));
  out->array_task_id = parse_slurm_number(read_job_variable(s, "SLURM_ARRAY_TASK_ID"));
}

/* Whether the step's environment calls JOB_ID the first component of a heterogeneous job, or names
 * none. srun passes the batch script's environment to the steps of all components. */
static bool is_first_component(struct job_environment *s, uint32_t job_id)
{
  const char *first = read_job_variable(s, "SLURM_JOB_ID_HET_GROUP_0");

  return !first || parse_slurm_number(first) == job_id;
}

/* Fills the fields that all events of a task have. Returns the task's pid; 0 for the extern step,
 * which has no task and sends no event. */
static pid_t fill_task_event(spank_t spank, struct job_environment *s, ft_announcement *out)
{
  pid_t pid = 0;
  uint64_t mib = 0;
  uint32_t array_task = 0;
  uint16_t cpus = 0;
  uid_t uid = (uid_t)-1;

  if (spank_get_item(spank, S_TASK_PID, &pid) != ESPANK_SUCCESS || pid <= 0)
    return 0;
  fill_node(s, out);
  (void)spank_get_item(spank, S_JOB_UID, &uid);
  (void)spank_get_item(spank, S_JOB_NCPUS, &cpus);
  out->uid = uid;
  out->cpus = cpus;
  out->job_id = read_spank_number(spank, S_JOB_ID);
  if (spank_get_item(spank, S_JOB_STEPID, &out->step_id) != ESPANK_SUCCESS)
    out->step_id = 0;
  /* Slurm 22.05 has the restart count only in the environment, from a task's start on */
  out->restart_count = read_spank_number(spank, S_SLURM_RESTART_COUNT);
  if (!out->restart_count)
    out->restart_count = parse_slurm_number(read_job_variable(s, "SLURM_RESTART_COUNT"));
  /* without an array Slurm returns the job's ID and no task */
  if (spank_get_item(spank, S_JOB_ARRAY_TASK_ID, &array_task) == ESPANK_SUCCESS &&
      array_task < SLURM_NO_VALUE_32) {
    out->array_job_id = read_spank_number(spank, S_JOB_ARRAY_ID);
    out->array_task_id = out->array_job_id ? array_task : 0;
  }
  if (spank_get_item(spank, S_JOB_ALLOC_MEM, &mib) == ESPANK_SUCCESS &&
      mib < SLURM_NO_VALUE_64 / FT_MIB)
    out->alloc_mem_bytes = mib * FT_MIB;
  return pid;
}

void ft_announce_job_start(spank_t spank, const char *socket)
{
  struct job_environment s = { 0 };
  ft_announcement a = { .which_event = ft_announcement_job_start_tag };
  ft_job_start *start = &a.event.job_start;

  fill_script_event(spank, &s, &a);
  decode_submission(getenv("SPANK_FORETELL"), &start->submission.size, start->submission.bytes,
                    sizeof start->submission.bytes);
  ft_packet_send(socket, FT_RECORD_ANNOUNCEMENT, &a);
}

void ft_announce_job_end(spank_t spank, const char *socket)
{
  struct job_environment s = { 0 };
  ft_announcement a = { .which_event = ft_announcement_job_end_tag };
  ft_job_end *end = &a.event.job_end;
  const char *code = getenv("SLURM_JOB_EXIT_CODE");

  fill_script_event(spank, &s, &a);
  decode_submission(getenv("SPANK_FORETELL"), &end->submission.size, end->submission.bytes,
                    sizeof end->submission.bytes);
  if (code) {
    end->has_exit_code = true;
    end->exit_code = (int32_t)parse_slurm_number(code);
  }
  ft_packet_send(socket, FT_RECORD_ANNOUNCEMENT, &a);
}

/* Keeps the cgroup of task PID, to be read at its end; of at most MAX_TASKS tasks. */
static void remember_task(pid_t pid)
{
  struct task *grown;

  tasks_alive++;
  if (task_count == MAX_TASKS)
    return;
  grown = realloc(tasks, (task_count + 1) * sizeof *tasks);
  if (!grown)
    return;
  tasks = grown;
  tasks[task_count].pid = pid;
  (void)ft_cgroup_find("/proc", pid, &tasks[task_count].cgroup);
  task_count++;
}

void ft_announce_task_start(spank_t spank, const char *socket)
{
  struct job_environment s = { .step = spank };
  ft_announcement a = { .which_event = ft_announcement_task_start_tag };
  ft_task_start *start = &a.event.task_start;
  uint64_t mib = 0;
  pid_t pid = fill_task_event(spank, &s, &a);

  if (!pid)
    return;
  remember_task(pid);
  start->pid = (uint32_t)pid;
  start->start_ticks = ft_process_start_ticks(start->pid);
  start->tasks = read_spank_number(spank, S_JOB_LOCAL_TASK_COUNT);
  start->limit_bytes = a.alloc_mem_bytes;
  if (spank_get_item(spank, S_STEP_ALLOC_MEM, &mib) == ESPANK_SUCCESS && mib &&
      mib < SLURM_NO_VALUE_64 / FT_MIB)
    start->limit_bytes = mib * FT_MIB;
  /* the steps of every component have the first component's record in their environment */
  if (is_first_component(&s, a.job_id))
    decode_submission(read_job_variable(&s, "SLURM_SPANK_FORETELL"), &start->submission.size,
                      start->submission.bytes, sizeof start->submission.bytes);
  ft_packet_send(socket, FT_RECORD_ANNOUNCEMENT, &a);
}

static double timeval_seconds(const struct timeval *t)
{
  return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

/* Fills OUT with the usage since the last call: the kernel sums the usage of all reaped children.
 * ru_maxrss, in KiB, is the largest process of all of them. */
static void fill_resource_usage(ft_task_end *out)
{
  struct rusage now;

  if (getrusage(RUSAGE_CHILDREN, &now) < 0)
    return;
  out->has_largest_process_bytes = now.ru_maxrss > 0;
  out->largest_process_bytes = (uint64_t)now.ru_maxrss * FT_KIB;
  out->has_cpu_seconds = out->has_minor_faults = out->has_major_faults = true;
  out->has_system_seconds = true;
  out->system_seconds = timeval_seconds(&now.ru_stime) - timeval_seconds(&earlier_usage.ru_stime);
  out->cpu_seconds = timeval_seconds(&now.ru_utime) - timeval_seconds(&earlier_usage.ru_utime) +
                     out->system_seconds;
  out->minor_faults = (uint64_t)(now.ru_minflt - earlier_usage.ru_minflt);
  out->major_faults = (uint64_t)(now.ru_majflt - earlier_usage.ru_majflt);
  earlier_usage = now;
}

void ft_announce_task_end(spank_t spank, const char *socket)
{
  struct job_environment s = { .step = spank };
  ft_announcement a = { .which_event = ft_announcement_task_end_tag };
  ft_task_end *end = &a.event.task_end;
  int status = 0;
  pid_t pid = fill_task_event(spank, &s, &a);

  if (!pid)
    return;
  (void)spank_get_item(spank, S_TASK_EXIT_STATUS, &status);
  end->pid = (uint32_t)pid;
  end->status = status;
  fill_resource_usage(end);
  for (size_t i = 0; i < task_count; i++) {
    if (tasks[i].pid != pid)
      continue;
    ft_cgroup_read(&tasks[i].cgroup, end);
    ft_cgroup_free(&tasks[i].cgroup);
    tasks[i] = tasks[--task_count];
    break;
  }
  if (tasks_alive)
    tasks_alive--;
  end->last = tasks_alive == 0;
  ft_packet_send(socket, FT_RECORD_ANNOUNCEMENT, &a);
}

void ft_announce_forget(void)
{
  for (size_t i = 0; i < task_count; i++)
    ft_cgroup_free(&tasks[i].cgroup);
  free(tasks);
  tasks = NULL;
  task_count = tasks_alive = 0;
}
