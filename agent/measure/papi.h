/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Probing PAPI under a given name, so that a test can look for one that is not there. */
#ifndef FT_MEASURE_PAPI_H
#define FT_MEASURE_PAPI_H

#include "agent/measure/measure.h"

/*
 * Whether LIBRARY (NULL: the one that papi.h belongs to) can be loaded and counts
 * at least one preset here. REPORT's text then names the presets that this
 * processor lacks, else what is missing.
 */
bool ft_papi_probe(const char *library, struct ft_measure_report *report);

#endif
