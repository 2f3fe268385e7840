/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NVIDIA's management library (NVML), loaded at run time because it belongs to the driver. The
 * prototypes in nvml.c follow NVML API version 12 (CUDA 12); drivers have had these calls and
 * structs since R455.
 */
#ifndef FT_MEASURE_NVML_H
#define FT_MEASURE_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/measure/measure.h"

#define FT_NVML_LIBRARY "libnvidia-ml.so.1"

/* Limits per node: GPUs; GPUs and MIG instances; processes on all of them. */
enum { FT_NVML_DEVICES = 32, FT_NVML_UNITS = 256, FT_NVML_USES = 1024 };

/* A process on a GPU or a MIG instance. */
struct ft_nvml_use {
  pid_t pid;
  unsigned device; /* index of the GPU */
  int instance;    /* index of the MIG device on it; -1: the whole GPU */
  double bytes;    /* GPU memory; negative: the driver does not report it */
};

struct ft_nvml;

/*
 * Loads and initialises LIBRARY. Returns NULL and ERR if it is missing, lacks a function, or finds
 * no GPU.
 */
struct ft_nvml *ft_nvml_open(const char *library, struct ft_error *err);
void ft_nvml_close(struct ft_nvml *nvml);

/* Returns the number of GPUs. */
unsigned ft_nvml_devices(const struct ft_nvml *nvml);

/*
 * Writes the compute processes of all GPUs to USES, at most LIMIT. Returns their number. Omits a
 * GPU whose query fails.
 */
size_t ft_nvml_list_uses(struct ft_nvml *nvml, struct ft_nvml_use *uses, size_t limit);

/* Writes the GPU's product name ("NVIDIA H200") to OUT. */
bool ft_nvml_name(struct ft_nvml *nvml, unsigned device, char *out, size_t size);

/* Writes the profile of a MIG instance ("1g.18gb", "1c.3g.40gb") to OUT. */
bool ft_nvml_mig_profile(struct ft_nvml *nvml, unsigned device, int instance, char *out,
                         size_t size);

/* Sets *PART to the compute slices of a MIG instance as a fraction of the GPU's. */
bool ft_nvml_mig_part(struct ft_nvml *nvml, unsigned device, int instance, double *part);

/* Reads the GPU's energy since the driver was loaded, in joules (Volta and later). */
bool ft_nvml_energy(struct ft_nvml *nvml, unsigned device, double *joules);

/*
 * Reads the PCIe traffic, sent and received, in bytes. A counter restarts from 0 at its WRAP, and
 * may do so at any time: on an H100 after 4 GiB, 0.1 s at full speed. Returns false with older
 * drivers.
 */
bool ft_nvml_transferred(struct ft_nvml *nvml, unsigned device, double out[2], double wrap[2]);

/* Reads the fraction of the last second or less in which the GPU was busy, 0 to 1; not under
 * MIG. */
bool ft_nvml_utilisation(struct ft_nvml *nvml, unsigned device, double *part);

#endif
