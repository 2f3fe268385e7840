/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NVML in a supervised child, because the first call loads the driver, and a call about a GPU that
 * fell off the bus may never return. Each function is that of nvml.h; it fails without a reply in
 * time.
 */
#ifndef FT_MEASURE_GPU_DRIVER_H
#define FT_MEASURE_GPU_DRIVER_H

#include "agent/measure/nvml.h"
#include "agent/measure/supervised.h"

/* Sets the library, which is borrowed for good, and whether it works: fills REPORT. */
bool ft_gpu_driver_probe(const char *library, struct ft_measure_report *report);

/* Ends the child; the next call starts it again. */
void ft_gpu_driver_close(void);

const struct ft_supervised *ft_gpu_driver_child(void);

/* Returns the CPU time of all calls so far, in seconds. */
double ft_gpu_driver_cpu_seconds(void);

/* Returns false without a reply. */
bool ft_gpu_driver_list_uses(struct ft_nvml_use *uses, size_t limit, size_t *count);
bool ft_gpu_driver_name(unsigned device, char *out, size_t size);
bool ft_gpu_driver_mig_profile(unsigned device, int instance, char *out, size_t size);
bool ft_gpu_driver_mig_part(unsigned device, int instance, double *part);
bool ft_gpu_driver_energy(unsigned device, double *joules);
bool ft_gpu_driver_utilisation(unsigned device, double *part);
bool ft_gpu_driver_transferred(unsigned device, double out[2], double wrap[2]);

#endif
