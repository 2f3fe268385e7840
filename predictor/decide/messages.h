/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A decision as text for the user: what was done, with the number, the evidence and what to do.
 * Lines carry no "foretell: " and no newline.
 */
#ifndef FT_DECIDE_MESSAGES_H
#define FT_DECIDE_MESSAGES_H

#include <stdarg.h>

#include "predictor/decide/sizing.h"

/* Lines of an explanation; bytes of a line with its NUL. The longest line of the tests has 300. */
enum { FT_MESSAGE_LINES = 3, FT_MESSAGE_SIZE = 512 };

struct ft_explanation {
  int count;  /* of lines; 0: nothing to report */
  bool error; /* a rejection: the lines are errors */
  char line[FT_MESSAGE_LINES][FT_MESSAGE_SIZE];
};

/* Fills OUT with the message about DECISION, which SIZING led to for QUESTION. */
void ft_explain(const struct ft_decision_input *question, const struct ft_sizing *sizing,
                const ft_decision *decision, struct ft_explanation *out);

/* ---- message_parts.c: each returns its text, which is in OUT unless it is a constant ---- */

enum { FT_MESSAGE_COUNT = 64, FT_MESSAGE_PERCENT = 24, FT_MESSAGE_BYTES = 32 };

/* "11.2 GiB"; a negative size becomes 0, one above 2^63 - 1 becomes that. */
const char *ft_message_bytes(double bytes, char out[FT_MESSAGE_BYTES]);

/* Appends to LINE; what does not fit is cut. */
__attribute__((format(printf, 2, 0))) void ft_message_append(char line[FT_MESSAGE_SIZE],
                                                             const char *format, va_list ap);

/* "3.1 %", "over 99.9 %": the probability P, 0 to 1. */
const char *ft_message_percent(double p, char out[FT_MESSAGE_PERCENT]);

/* "--mem-per-cpu": the option whose unit is UNIT. */
const char *ft_message_option(ft_mem_unit unit);

/* "3 runs", "4 runs, 1 completed", "6 runs, none completed"; of RECORDED runs, if those are more,
 * "1 comparable run of 4". */
const char *ft_message_count(unsigned runs, unsigned completed, unsigned recorded,
                             char out[FT_MESSAGE_COUNT]);

/*
 * What FACTS show, without a prediction: "used up to 210 MiB and was killed at 227 MiB (4 runs, 1
 * completed)". OF (" of GPU memory", or "") follows the first amount; KILLED is the verb of a run
 * that did not fit ("was killed at").
 */
const char *ft_message_facts(const struct ft_facts *facts, const char *of, const char *killed,
                             char *out, size_t size);

/* Whether ESTIMATE is too vague to report beside facts: extrapolated, with a wide interval. */
bool ft_message_is_vague(const struct ft_estimate *estimate);

/* Why SIZING's rule made an amount other than the estimate's: " (floor)"; "" if it did not. */
const char *ft_message_rule(const struct ft_sizing *sizing, char *out, size_t size);

#endif
