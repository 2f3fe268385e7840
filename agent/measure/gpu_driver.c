/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/measure/gpu_driver.h"
#include "predictor/core/text.h"

/* Time that the probe waits for the driver, which may have to be loaded; by judgement. */
#define PROBE_SECONDS 3.0

/* In shared memory: a call, then its result. */
struct call {
  enum { DESCRIBE, LIST_USES, NAME, MIG_PROFILE, MIG_PART, ENERGY, UTILISATION, TRANSFERRED } what;
  unsigned device;
  int instance;
  bool done;
  double cpu_seconds;
  double value[4];
  char text[sizeof((struct ft_measure_report *)NULL)->why];
  size_t count;
  struct ft_nvml_use uses[FT_NVML_USES];
};

static void serve_call(void *shared, const struct ft_supervised *child);

/* Global, because NVML has one state per process. */
static struct {
  struct ft_supervised child;
  double cpu_seconds;
} driver = { .child = { .serve = serve_call, .size = sizeof(struct call), .descriptor = -1 } };

/* ---- the child ---- */

static bool describe_devices(struct ft_nvml *nvml, struct call *c)
{
  char name[64] = "a GPU without a name";

  ft_nvml_name(nvml, 0, name, sizeof name);
  (void)snprintf(c->text, sizeof c->text, "%u %s", ft_nvml_devices(nvml), name);
  return true;
}

static bool call_nvml(struct ft_nvml *nvml, struct call *c)
{
  switch (c->what) {
  case DESCRIBE:
    return describe_devices(nvml, c);
  case LIST_USES:
    c->count = ft_nvml_list_uses(nvml, c->uses, FT_NVML_USES);
    return true;
  case NAME:
    return ft_nvml_name(nvml, c->device, c->text, sizeof c->text);
  case MIG_PROFILE:
    return ft_nvml_mig_profile(nvml, c->device, c->instance, c->text, sizeof c->text);
  case MIG_PART:
    return ft_nvml_mig_part(nvml, c->device, c->instance, c->value);
  case ENERGY:
    return ft_nvml_energy(nvml, c->device, c->value);
  case UTILISATION:
    return ft_nvml_utilisation(nvml, c->device, c->value);
  default:
    return ft_nvml_transferred(nvml, c->device, c->value, c->value + 2);
  }
}

static void serve_call(void *shared, const struct ft_supervised *child)
{
  static struct ft_nvml *nvml;
  struct call *c = shared;
  double begun = ft_supervised_cpu_seconds();
  struct ft_error err = { "" };

  if (!nvml)
    nvml = ft_nvml_open(child->data, &err);
  (void)ft_string_copy(err.text, c->text, sizeof c->text);
  c->done = nvml && call_nvml(nvml, c);
  c->cpu_seconds = ft_supervised_cpu_seconds() - begun;
}

/* ---- the caller ---- */

/* Calls WHAT, and waits for SECONDS. Returns the call with its result; NULL without a reply. */
static struct call *call_driver(int what, unsigned device, int instance, double seconds)
{
  struct call *c = ft_supervised_begin(&driver.child);

  if (!c)
    return NULL;
  c->what = what;
  c->device = device;
  c->instance = instance;
  if (ft_supervised_finish(&driver.child, seconds) < 0)
    return NULL;
  driver.cpu_seconds += c->cpu_seconds;
  return c;
}

bool ft_gpu_driver_probe(const char *library, struct ft_measure_report *report)
{
  const struct call *c;
  bool works;

  ft_gpu_driver_close();
  driver.child.data = library;
  c = call_driver(DESCRIBE, 0, 0, fmax(PROBE_SECONDS, ft_supervised_limits.wait_seconds));
  report->blocked = !c;
  if (!c) {
    (void)snprintf(report->why, sizeof report->why,
                   "the NVIDIA driver does not reply; GPUs are measured once it does");
    return true;
  }
  works = c->done;
  (void)ft_string_copy(c->text, report->why, sizeof report->why);
  ft_gpu_driver_close();
  return works;
}

void ft_gpu_driver_close(void)
{
  ft_supervised_close(&driver.child);
}

const struct ft_supervised *ft_gpu_driver_child(void)
{
  return &driver.child;
}

double ft_gpu_driver_cpu_seconds(void)
{
  return driver.cpu_seconds;
}

bool ft_gpu_driver_list_uses(struct ft_nvml_use *uses, size_t limit, size_t *count)
{
  const struct call *c = call_driver(LIST_USES, 0, 0, ft_supervised_limits.wait_seconds);

  if (!c || !c->done)
    return false;
  *count = c->count < limit ? c->count : limit;
  memcpy(uses, c->uses, *count * sizeof *uses);
  return true;
}

static bool call_for_text(int what, unsigned device, int instance, char *out, size_t size)
{
  const struct call *c = call_driver(what, device, instance, ft_supervised_limits.wait_seconds);

  if (!c || !c->done)
    return false;
  (void)ft_string_copy(c->text, out, size);
  return true;
}

bool ft_gpu_driver_name(unsigned device, char *out, size_t size)
{
  return call_for_text(NAME, device, 0, out, size);
}

bool ft_gpu_driver_mig_profile(unsigned device, int instance, char *out, size_t size)
{
  return call_for_text(MIG_PROFILE, device, instance, out, size);
}

/* Sets the COUNT VALUES to those of the call WHAT. */
static bool call_for_values(int what, unsigned device, int instance, double *values, size_t count)
{
  const struct call *c = call_driver(what, device, instance, ft_supervised_limits.wait_seconds);

  if (!c || !c->done)
    return false;
  memcpy(values, c->value, count * sizeof *values);
  return true;
}

bool ft_gpu_driver_mig_part(unsigned device, int instance, double *part)
{
  return call_for_values(MIG_PART, device, instance, part, 1);
}

bool ft_gpu_driver_energy(unsigned device, double *joules)
{
  return call_for_values(ENERGY, device, 0, joules, 1);
}

bool ft_gpu_driver_utilisation(unsigned device, double *part)
{
  return call_for_values(UTILISATION, device, 0, part, 1);
}

bool ft_gpu_driver_transferred(unsigned device, double out[2], double wrap[2])
{
  double values[4];

  if (!call_for_values(TRANSFERRED, device, 0, values, 4))
    return false;
  memcpy(out, values, 2 * sizeof *out);
  memcpy(wrap, values + 2, 2 * sizeof *wrap);
  return true;
}
