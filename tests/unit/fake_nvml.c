/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replaces libnvidia-ml.so.1 with three GPUs, by the variable FT_FAKE_NVML: "gpus": GPU 0 whole, 1
 * divided by MIG, 2 lost from the bus; "idle": the same without a process on any GPU; "shared": as
 * "gpus", with an unrelated process on GPU 0 too; "none": no GPU; "driver": the driver is not
 * loaded; "stuck": no call returns. The process on the GPUs has the pid FT_FAKE_NVML_PID and uses 3
 * GiB on GPU 0; the file FT_FAKE_NVML_FILE ("PID MIB") overrides both at any time, and a query that
 * sees it appends a byte to the file of that name with ".read". Between two queries GPU 0 uses 1.5
 * J, sends 1000 bytes and receives 500. Its 32-bit counter of sent bytes is about to overflow. With
 * FT_FAKE_NVML_BUSY=N the first N queries of GPU 0's processes take 30 ms of CPU time each, as
 * while a process creates its context.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum {
  SUCCESS = 0,
  INVALID = 2,
  NOT_SUPPORTED = 3,
  NOT_FOUND = 6,
  DRIVER_NOT_LOADED = 9,
  LOST = 15
};
enum { WHOLE, DIVIDED, FALLEN, SMALL, LARGE, UNITS };

static char units[UNITS];
static unsigned long long energy = 7000000;

struct process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

struct memory {
  unsigned long long total, free, used;
};

struct rates {
  unsigned gpu, memory;
};

struct field {
  unsigned id, scope;
  long long times[2];
  unsigned type;
  int status;
  union {
    unsigned u;
    unsigned long long ull;
  } value;
};

struct attributes {
  unsigned engines[6], gpu_slices, compute_slices;
  unsigned long long memory_mib;
};

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int status);
EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, char **unit);
EXPORT int nvmlDeviceGetName(const char *unit, char *name, unsigned size);
EXPORT int nvmlDeviceGetMemoryInfo(const char *unit, struct memory *memory);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(const char *unit, unsigned *count,
                                                   struct process *processes);
EXPORT int nvmlDeviceGetUtilizationRates(const char *unit, struct rates *rates);
EXPORT int nvmlDeviceGetTotalEnergyConsumption(const char *unit, unsigned long long *millijoules);
EXPORT int nvmlDeviceGetFieldValues(const char *unit, int count, struct field *fields);
EXPORT int nvmlDeviceGetMigMode(const char *unit, unsigned *current, unsigned *pending);
EXPORT int nvmlDeviceGetMaxMigDeviceCount(const char *unit, unsigned *count);
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(const char *unit, unsigned index, char **instance);
EXPORT int nvmlDeviceGetAttributes_v2(const char *unit, struct attributes *attributes);

static int is_script(const char *name)
{
  const char *script = getenv("FT_FAKE_NVML");

  return script && strcmp(script, name) == 0;
}

int nvmlInit_v2(void)
{
  while (is_script("stuck"))
    pause();
  return is_script("driver") ? DRIVER_NOT_LOADED : SUCCESS;
}

int nvmlShutdown(void)
{
  return SUCCESS;
}

const char *nvmlErrorString(int status)
{
  return status == DRIVER_NOT_LOADED ? "Driver Not Loaded" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
  *count = is_script("none") ? 0 : 3;
  return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, char **unit)
{
  if (index >= FALLEN)
    return index == FALLEN ? LOST : INVALID;
  *unit = &units[index];
  return SUCCESS;
}

int nvmlDeviceGetName(const char *unit, char *name, unsigned size)
{
  static const char *const names[UNITS] = { "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", "",
                                            "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
                                            "NVIDIA A100-SXM4-40GB" };

  if (strlen(names[unit - units]) >= size)
    return INVALID;
  strcpy(name, names[unit - units]);
  return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(const char *unit, struct memory *memory)
{
  (void)unit;
  memory->total = 40536ULL << 20;
  memory->used = memory->free = memory->total / 2;
  return SUCCESS;
}

/* Returns the process on the GPUs with its memory on GPU 0; pid 0: none. */
static struct process running(void)
{
  const char *pid = getenv("FT_FAKE_NVML_PID"), *path = getenv("FT_FAKE_NVML_FILE");
  struct process who = { 0, 3ULL << 30, ~0U, ~0U };
  char line[64] = "", *end;
  FILE *file = path ? fopen(path, "re") : NULL;

  if (file) {
    pid = fgets(line, sizeof line, file);
    fclose(file);
  }
  if (!pid)
    return who;
  who.pid = (unsigned)strtoul(pid, &end, 10);
  if (*end == ' ')
    who.bytes = strtoull(end, NULL, 10) << 20;
  return who;
}

/* Appends a byte to the file whose size is the number of queries that have seen FILE's process. */
static void count_query(void)
{
  const char *path = getenv("FT_FAKE_NVML_FILE");
  char name[4096];
  FILE *file;

  if (!path || (size_t)snprintf(name, sizeof name, "%s.read", path) >= sizeof name)
    return;
  file = fopen(name, "ae");
  if (file) {
    fputc('.', file);
    fclose(file);
  }
}

static void be_busy(void)
{
  static unsigned queries;
  const char *busy = getenv("FT_FAKE_NVML_BUSY");
  clock_t until = clock() + 30 * CLOCKS_PER_SEC / 1000;

  if (!busy || queries++ >= strtoul(busy, NULL, 10))
    return;
  while (clock() < until) {
  }
}

int nvmlDeviceGetComputeRunningProcesses_v3(const char *unit, unsigned *count,
                                            struct process *processes)
{
  struct process who = running();
  unsigned found = 0;

  if (unit == &units[WHOLE])
    be_busy();
  if (is_script("idle") || !who.pid || unit == &units[DIVIDED]) {
    *count = 0;
    return SUCCESS;
  }
  if (unit == &units[WHOLE] && is_script("shared"))
    processes[found++] = (struct process){ 1, ~0ULL, ~0U, ~0U };
  if (unit == &units[WHOLE]) {
    processes[found++] = who;
    count_query();
  }
  if (unit == &units[LARGE] && getenv("FT_FAKE_NVML_MIG"))
    processes[found++] = (struct process){ who.pid, 1ULL << 30, 2, 0 };
  *count = found;
  return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(const char *unit, struct rates *rates)
{
  rates->gpu = 50;
  rates->memory = 10;
  return unit == &units[WHOLE] ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetFieldValues(const char *unit, int count, struct field *fields)
{
  static unsigned sent = 0xfffff800U;
  static unsigned long long received = 77;

  for (int i = 0; i < count; i++) {
    fields[i].status = unit == &units[WHOLE] ? SUCCESS : NOT_SUPPORTED;
    fields[i].type = fields[i].id == 197 ? 1 : 3;
    if (fields[i].id == 197)
      fields[i].value.u = sent += 1000;
    else
      fields[i].value.ull = received += 500;
  }
  return SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(const char *unit, unsigned long long *millijoules)
{
  *millijoules = energy;
  energy += 1500;
  return unit == &units[WHOLE] || unit == &units[DIVIDED] ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetMigMode(const char *unit, unsigned *current, unsigned *pending)
{
  *current = *pending = unit == &units[DIVIDED];
  return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(const char *unit, unsigned *count)
{
  *count = unit == &units[DIVIDED] ? 7 : 0;
  return SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(const char *unit, unsigned index, char **instance)
{
  if (unit != &units[DIVIDED] || index > 1)
    return NOT_FOUND;
  *instance = &units[SMALL + index];
  return SUCCESS;
}

int nvmlDeviceGetAttributes_v2(const char *unit, struct attributes *attributes)
{
  memset(attributes, 0, sizeof *attributes);
  attributes->gpu_slices = 3;
  attributes->compute_slices = unit == &units[LARGE] ? 2 : 3;
  attributes->memory_mib = 19968;
  return SUCCESS;
}
