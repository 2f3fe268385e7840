/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What NVIDIA's management library tells, through prototypes of our own: NVML API
 * version 12 as of CUDA 12, whose calls of these names and structs drivers have kept
 * since R455. The library belongs to the driver and is found at run time.
 */
#ifndef FT_MEASURE_NVML_H
#define FT_MEASURE_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/measure/measure.h"

#define FT_NVML_LIBRARY "libnvidia-ml.so.1"

/* GPUs of a node; GPUs and MIG instances in one look; processes on all of them. */
enum { FT_NVML_DEVICES = 32, FT_NVML_UNITS = 256, FT_NVML_USES = 1024 };

/* A process on a GPU or on a MIG instance of one. */
struct ft_nvml_use {
  pid_t pid;
  unsigned device; /* index of the GPU */
  int instance;    /* index of the MIG device on it; -1: the whole GPU */
  double bytes;    /* GPU memory; negative where the driver cannot say */
};

struct ft_nvml;

/*
 * Load LIBRARY and begin with it. Returns NULL with ERR when it is not there, lacks
 * a call, or finds no GPU.
 */
struct ft_nvml *ft_nvml_open(const char *library, struct ft_error *err);
void ft_nvml_close(struct ft_nvml *nvml);

/* How many GPUs there are. */
unsigned ft_nvml_devices(const struct ft_nvml *nvml);

/*
 * Every process that computes on any GPU now, at most LIMIT of them; how many.
 * A GPU that fails is left out.
 */
size_t ft_nvml_look(struct ft_nvml *nvml, struct ft_nvml_use *uses, size_t limit);

/* The GPU's product name, "NVIDIA H200". */
bool ft_nvml_name(struct ft_nvml *nvml, unsigned device, char *out, size_t size);

/* The profile of a MIG instance as NVIDIA and Slurm's gres call it: "1g.18gb", "1c.3g.40gb". */
bool ft_nvml_mig_profile(struct ft_nvml *nvml, unsigned device, int instance, char *out,
                         size_t size);

/* What the GPU has used since its driver was loaded, in joules (Volta and later). */
bool ft_nvml_energy(struct ft_nvml *nvml, unsigned device, double *joules);

/*
 * What has gone over its PCIe link, both ways, in bytes; a counter may begin anew at any time, and does
 * at WRAP. Half a millisecond. Older drivers do not count it.
 */
bool ft_nvml_transferred(struct ft_nvml *nvml, unsigned device, double out[2], double wrap[2]);

/* Part of the last second or less in which the GPU computed, 0 to 1; not under MIG. */
bool ft_nvml_utilisation(struct ft_nvml *nvml, unsigned device, double *part);

/* Whether LIBRARY works here. The sampler uses that one from then on; the name is kept as it is. */
bool ft_nvml_probe(const char *library, struct ft_measure_report *report);

#endif
