/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Probe of PAPI under a given library name, so that a test can name a missing one. */
#ifndef FT_MEASURE_PAPI_H
#define FT_MEASURE_PAPI_H

#include "agent/measure/measure.h"

/*
 * Whether LIBRARY (NULL: the one that belongs to papi.h) can be loaded and counts at least one
 * preset event. REPORT then names the presets that this processor lacks, otherwise the missing
 * requirement.
 */
bool ft_papi_probe(const char *library, struct ft_measure_report *report);

#endif
