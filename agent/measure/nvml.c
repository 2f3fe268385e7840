/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NVML by dlopen. Structs and values are those of nvml.h in CUDA 12; of versioned functions the
 * version whose struct never changed is used.
 */
#include "config.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/measure/nvml.h"
#include "predictor/core/error.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"

enum { NVML_SUCCESS = 0, NVML_NAME_SIZE = 96 };

#define NVML_VALUE_NOT_AVAILABLE (~0ULL)

typedef struct nvml_device *nvml_device;

/* nvmlProcessInfo_v2_t; _v3 is equal except in drivers 535.43 to 535.98. */
struct nvml_process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

struct nvml_memory {
  unsigned long long total, free, used;
};

struct nvml_utilization {
  unsigned gpu, memory; /* percent */
};

struct nvml_attributes {
  unsigned multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
  unsigned gpu_slices, compute_slices;
  unsigned long long memory_mib;
};

/* nvmlFieldValue_t */
struct nvml_field {
  unsigned id, scope;
  long long timestamp, latency;
  unsigned type;
  int status;
  union {
    double d;
    unsigned u;
    unsigned long ul;
    unsigned long long ull;
  } value;
};

/* nvmlValueType_t */
enum {
  NVML_VALUE_UNSIGNED_INT = 1,
  NVML_VALUE_UNSIGNED_LONG = 2,
  NVML_VALUE_UNSIGNED_LONG_LONG = 3
};
/* NVML_FI_DEV_PCIE_COUNT_TX_BYTES, _RX_BYTES */
enum { NVML_FIELD_SENT = 197, NVML_FIELD_RECEIVED = 198 };

struct ft_nvml {
  void *handle;
  unsigned count;
  nvml_device devices[FT_NVML_DEVICES];

  int (*init)(void);
  int (*shutdown)(void);
  const char *(*error_string)(int);
  int (*get_count)(unsigned *);
  int (*get_handle)(unsigned, nvml_device *);
  int (*get_name)(nvml_device, char *, unsigned);
  int (*get_memory)(nvml_device, struct nvml_memory *);
  int (*get_processes)(nvml_device, unsigned *, struct nvml_process *);
  int (*get_utilization)(nvml_device, struct nvml_utilization *);
  int (*get_energy)(nvml_device, unsigned long long *); /* millijoules */

  int (*get_fields)(nvml_device, int, struct nvml_field *);

  /* NULL in drivers older than MIG */
  int (*get_mig_mode)(nvml_device, unsigned *current, unsigned *pending);
  int (*get_mig_count)(nvml_device, unsigned *);
  int (*get_mig_device)(nvml_device, unsigned, nvml_device *);
  int (*get_attributes)(nvml_device, struct nvml_attributes *);
};

static bool resolve_nvml(struct ft_nvml *nvml, struct ft_error *err)
{
  const struct {
    void **call;
    const char *name, *older;
    bool needed;
  } calls[] = {
    { (void **)&nvml->init, "nvmlInit_v2", NULL, true },
    { (void **)&nvml->shutdown, "nvmlShutdown", NULL, true },
    { (void **)&nvml->error_string, "nvmlErrorString", NULL, true },
    { (void **)&nvml->get_count, "nvmlDeviceGetCount_v2", NULL, true },
    { (void **)&nvml->get_handle, "nvmlDeviceGetHandleByIndex_v2", NULL, true },
    { (void **)&nvml->get_name, "nvmlDeviceGetName", NULL, true },
    { (void **)&nvml->get_memory, "nvmlDeviceGetMemoryInfo", NULL, true },
    { (void **)&nvml->get_processes, "nvmlDeviceGetComputeRunningProcesses_v2",
      "nvmlDeviceGetComputeRunningProcesses_v3", true },
    { (void **)&nvml->get_utilization, "nvmlDeviceGetUtilizationRates", NULL, false },
    { (void **)&nvml->get_energy, "nvmlDeviceGetTotalEnergyConsumption", NULL, false },
    { (void **)&nvml->get_fields, "nvmlDeviceGetFieldValues", NULL, false },
    { (void **)&nvml->get_mig_mode, "nvmlDeviceGetMigMode", NULL, false },
    { (void **)&nvml->get_mig_count, "nvmlDeviceGetMaxMigDeviceCount", NULL, false },
    { (void **)&nvml->get_mig_device, "nvmlDeviceGetMigDeviceHandleByIndex", NULL, false },
    { (void **)&nvml->get_attributes, "nvmlDeviceGetAttributes_v2", NULL, false },
  };

  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    *calls[i].call = dlsym(nvml->handle, calls[i].name);
    if (!*calls[i].call && calls[i].older)
      *calls[i].call = dlsym(nvml->handle, calls[i].older);
    if (!*calls[i].call && calls[i].needed) {
      ft_error_set(err, "the NVIDIA driver's NVML has no %s: driver R455 or later is needed",
                   calls[i].name);
      return false;
    }
  }
  return true;
}

/* Finds the GPUs; omits one that cannot be reached (fallen off the bus). */
static int find_devices(struct ft_nvml *nvml, struct ft_error *err)
{
  unsigned count = 0;
  int status = nvml->get_count(&count);

  for (unsigned i = 0; status == NVML_SUCCESS && i < count && nvml->count < FT_NVML_DEVICES; i++)
    if (nvml->get_handle(i, &nvml->devices[nvml->count]) == NVML_SUCCESS)
      nvml->count++;
  if (nvml->count)
    return 0;
  return status == NVML_SUCCESS ? ft_error_set(err, "the NVIDIA driver finds no GPU")
                                : ft_error_set(err, "NVML: %s", nvml->error_string(status));
}

struct ft_nvml *ft_nvml_open(const char *library, struct ft_error *err)
{
  struct ft_nvml *nvml = calloc(1, sizeof *nvml);
  int status;

  if (!nvml) {
    ft_error_set(err, "out of memory");
    return NULL;
  }
  nvml->handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!nvml->handle) {
    ft_error_set(err, "no NVIDIA driver: %s", dlerror());
    goto fail;
  }
  if (!resolve_nvml(nvml, err)) {
    nvml->shutdown = NULL;
    goto fail;
  }
  status = nvml->init();
  if (status != NVML_SUCCESS) {
    ft_error_set(err, "NVML: %s", nvml->error_string(status));
    nvml->shutdown = NULL;
    goto fail;
  }
  if (find_devices(nvml, err) == 0)
    return nvml;

fail:
  ft_nvml_close(nvml);
  return NULL;
}

void ft_nvml_close(struct ft_nvml *nvml)
{
  if (!nvml)
    return;
  if (nvml->shutdown)
    nvml->shutdown();
  if (nvml->handle)
    dlclose(nvml->handle);
  free(nvml);
}

unsigned ft_nvml_devices(const struct ft_nvml *nvml)
{
  return nvml->count;
}

/* Appends the processes of one GPU or MIG instance to the COUNT USES. */
static size_t list_unit_uses(struct ft_nvml *nvml, nvml_device unit, unsigned device, int instance,
                             struct ft_nvml_use *uses, size_t count, size_t limit)
{
  struct nvml_process processes[256];
  unsigned found = sizeof processes / sizeof *processes;
  int status = nvml->get_processes(unit, &found, processes);

  if (status != NVML_SUCCESS)
    return count;
  if (found > sizeof processes / sizeof *processes)
    found = sizeof processes / sizeof *processes;
  for (unsigned i = 0; i < found && count < limit; i++) {
    unsigned long long bytes = processes[i].bytes;

    uses[count++] = (struct ft_nvml_use){
      .pid = (pid_t)processes[i].pid,
      .device = device,
      .instance = instance,
      .bytes = bytes == NVML_VALUE_NOT_AVAILABLE ? -1 : (double)bytes,
    };
  }
  return count;
}

/* Returns the maximum number of MIG instances of GPU DEVICE; 0: MIG is off. */
static unsigned count_instances(struct ft_nvml *nvml, unsigned device)
{
  unsigned current = 0, pending = 0, count = 0;

  if (!nvml->get_mig_mode || !nvml->get_mig_count || !nvml->get_mig_device ||
      nvml->get_mig_mode(nvml->devices[device], &current, &pending) != NVML_SUCCESS || !current ||
      nvml->get_mig_count(nvml->devices[device], &count) != NVML_SUCCESS)
    return 0;
  return count < FT_NVML_UNITS ? count : FT_NVML_UNITS;
}

size_t ft_nvml_list_uses(struct ft_nvml *nvml, struct ft_nvml_use *uses, size_t limit)
{
  size_t count = 0;

  for (unsigned device = 0; device < nvml->count; device++) {
    unsigned divided = count_instances(nvml, device);
    nvml_device unit;

    if (!divided)
      count = list_unit_uses(nvml, nvml->devices[device], device, -1, uses, count, limit);
    for (unsigned i = 0; i < divided; i++)
      if (nvml->get_mig_device(nvml->devices[device], i, &unit) == NVML_SUCCESS)
        count = list_unit_uses(nvml, unit, device, (int)i, uses, count, limit);
  }
  return count;
}

bool ft_nvml_name(struct ft_nvml *nvml, unsigned device, char *out, size_t size)
{
  char name[NVML_NAME_SIZE] = "";

  if (device >= nvml->count ||
      nvml->get_name(nvml->devices[device], name, sizeof name) != NVML_SUCCESS)
    return false;
  name[sizeof name - 1] = 0;
  ft_string_copy(name, out, size);
  return true;
}

/*
 * Returns the GB in a profile's name: the instance's fraction of the GPU's memory, rounded up to
 * eighths, times the GPU's whole GiB (NVIDIA's go-nvlib, mig_profile.go).
 */
static unsigned profile_gigabytes(double instance_bytes, double total_bytes)
{
  double eighths = ceil(8 * instance_bytes / total_bytes);

  return (unsigned)lround(eighths / 8 * ceil(total_bytes / (double)FT_GIB));
}

bool ft_nvml_mig_profile(struct ft_nvml *nvml, unsigned device, int instance, char *out,
                         size_t size)
{
  struct nvml_attributes attributes;
  struct nvml_memory memory;
  char name[NVML_NAME_SIZE] = "";
  const char *profile;
  nvml_device unit;
  unsigned gigabytes;

  if (device >= nvml->count || instance < 0 || !nvml->get_mig_device ||
      nvml->get_mig_device(nvml->devices[device], (unsigned)instance, &unit) != NVML_SUCCESS)
    return false;
  if (nvml->get_name(unit, name, sizeof name) == NVML_SUCCESS) {
    name[sizeof name - 1] = 0;
    profile = strstr(name, " MIG ");
    if (profile) {
      ft_string_copy(profile + strlen(" MIG "), out, size);
      return true;
    }
  }
  if (!nvml->get_attributes || nvml->get_attributes(unit, &attributes) != NVML_SUCCESS ||
      nvml->get_memory(nvml->devices[device], &memory) != NVML_SUCCESS || !memory.total)
    return false;
  gigabytes =
      profile_gigabytes((double)attributes.memory_mib * (double)FT_MIB, (double)memory.total);
  if (attributes.compute_slices == attributes.gpu_slices)
    snprintf(out, size, "%ug.%ugb", attributes.gpu_slices, gigabytes);
  else
    snprintf(out, size, "%uc.%ug.%ugb", attributes.compute_slices, attributes.gpu_slices,
             gigabytes);
  return true;
}

bool ft_nvml_mig_part(struct ft_nvml *nvml, unsigned device, int instance, double *part)
{
  unsigned total = device < nvml->count ? count_instances(nvml, device) : 0;
  char profile[32];
  struct ft_text text;
  uint64_t slices;

  if (!total || !ft_nvml_mig_profile(nvml, device, instance, profile, sizeof profile))
    return false;
  /* "2c.3g.20gb" has 2 of the 7 compute slices, "1g.5gb" has 1 */
  text = ft_text_from(profile);
  if (!ft_text_u64(&text, total, &slices) || !slices)
    return false;
  *part = (double)slices / total;
  return true;
}

bool ft_nvml_energy(struct ft_nvml *nvml, unsigned device, double *joules)
{
  unsigned long long millijoules;

  if (device >= nvml->count || !nvml->get_energy ||
      nvml->get_energy(nvml->devices[device], &millijoules) != NVML_SUCCESS)
    return false;
  *joules = 1e-3 * (double)millijoules;
  return true;
}

bool ft_nvml_utilisation(struct ft_nvml *nvml, unsigned device, double *part)
{
  struct nvml_utilization rates;

  if (device >= nvml->count || !nvml->get_utilization ||
      nvml->get_utilization(nvml->devices[device], &rates) != NVML_SUCCESS || rates.gpu > 100)
    return false;
  *part = rates.gpu / 100.0;
  return true;
}

static bool field_value(const struct nvml_field *field, double *out, double *wrap)
{
  if (field->status != NVML_SUCCESS)
    return false;
  switch (field->type) {
  case NVML_VALUE_UNSIGNED_INT:
    *out = field->value.u;
    *wrap = 0x1p32;
    return true;
  case NVML_VALUE_UNSIGNED_LONG:
    *out = (double)field->value.ul;
    *wrap = 0x1p64;
    return true;
  case NVML_VALUE_UNSIGNED_LONG_LONG:
    *out = (double)field->value.ull;
    *wrap = 0x1p64;
    return true;
  default:
    return false;
  }
}

bool ft_nvml_transferred(struct ft_nvml *nvml, unsigned device, double out[2], double wrap[2])
{
  struct nvml_field fields[2] = { { .id = NVML_FIELD_SENT }, { .id = NVML_FIELD_RECEIVED } };

  return device < nvml->count && nvml->get_fields &&
         nvml->get_fields(nvml->devices[device], 2, fields) == NVML_SUCCESS &&
         field_value(&fields[0], &out[0], &wrap[0]) && field_value(&fields[1], &out[1], &wrap[1]);
}
