/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The message about a decision for the user: action, amounts, evidence and advice. Lines have
 * neither the prefix "foretell: " nor a newline.
 */
#ifndef FT_DECIDE_MESSAGES_H
#define FT_DECIDE_MESSAGES_H

#include <stdarg.h>

#include "predictor/decide/sizing.h"

/* Maximum number of lines of a message, and of bytes of a line with its NUL. The longest line of
 * the tests has 300. */
enum { FT_MESSAGE_LINES = 5, FT_MESSAGE_SIZE = 512 };

struct ft_explanation {
  int count;  /* number of lines; 0: nothing to report */
  bool error; /* the job is rejected: the lines are errors */
  char line[FT_MESSAGE_LINES][FT_MESSAGE_SIZE];
};

/* Fills OUT with the message about DECISION, which ft_decide made from INPUT and SIZING. */
void ft_explain(const struct ft_decision_input *input, const struct ft_sizing *sizing,
                const ft_decision *decision, struct ft_explanation *out);

/* ---- message_parts.c: the functions return OUT or a static string ---- */

/* Sizes in bytes of OUT. */
enum { FT_MESSAGE_COUNT = 64, FT_MESSAGE_PERCENT = 24, FT_MESSAGE_BYTES = 32 };

/* Formats BYTES, clamped to 0 to 2^63 - 1: "11.2 GiB". */
const char *ft_message_bytes(double bytes, char out[FT_MESSAGE_BYTES]);

/* Appends formatted text to LINE, cut to fit. */
__attribute__((format(printf, 2, 0))) void ft_message_append(char line[FT_MESSAGE_SIZE],
                                                             const char *format, va_list ap);

/* Formats the probability P, 0 to 1: "3.1 %", "over 99.9 %". */
const char *ft_message_percent(double p, char out[FT_MESSAGE_PERCENT]);

/* Returns the memory option with UNIT: "--mem-per-cpu". */
const char *ft_message_option(ft_mem_unit unit);

/* Formats the number of RUNS, of which COMPLETED completed: "3 runs", "4 runs, 1 completed"; with
 * more RECORDED runs "1 comparable run of 4". PARTIAL: some completed without a measurement of all
 * tasks. */
const char *ft_message_count(unsigned runs, unsigned completed, unsigned recorded, bool partial,
                             char out[FT_MESSAGE_COUNT]);

/*
 * Formats FACTS: "used up to 210 MiB and was killed at 227 MiB (4 runs, 1 completed)". OF (" of GPU
 * memory", or "") follows the first amount; KILLED is the phrase for a run that ran out of memory
 * ("was killed at"). OUT has SIZE bytes.
 */
const char *ft_message_facts(const struct ft_facts *facts, const char *of, const char *killed,
                             char *out, size_t size);

/* Writes the features by which MODEL's runs are comparable into OUT of SIZE bytes: "a similar
 * input_bytes and the same arch"; "": all are. Returns OUT. */
const char *ft_message_compared(const ft_model *model, char *out, size_t size);

/* Writes "two kinds of runs: about 40 MiB (8) and about 160 MiB (8); what tells them apart is
 * unknown" about GROUPS, of two kinds, into OUT of SIZE bytes; or that the need changed. */
const char *ft_message_groups(const struct ft_run_groups *groups, char *out, size_t size);

/* Returns "may need" of an estimate that is too uncertain to say "needs". */
const char *ft_message_verb(const struct ft_decision_input *q, const struct ft_sizing *sizing);

/* Returns whether the message has facts instead of ESTIMATE: an extrapolation with a wide
 * interval. */
bool ft_message_is_vague(const struct ft_estimate *estimate);

/* Returns whether the message about SIZING, made for INPUT, has facts instead of the estimate:
 * there is none, one that decides is vague or below what killed the only comparable runs, or a
 * comparable run was killed and the runs are too few for a decision by the estimate. */
bool ft_message_reports_facts(const struct ft_decision_input *input,
                              const struct ft_sizing *sizing);

/* Returns whether the limit of SIZING, made for INPUT, is below the median of an estimate that is
 * of too few runs to decide. */
bool ft_message_is_limit_doubtful(const struct ft_decision_input *input,
                                  const struct ft_sizing *sizing);

/* Returns whether the message of SIZING, made for INPUT, names the limit at which the last
 * comparable run was killed with the number of runs: the reason of the amount does not. */
bool ft_message_names_last_kill(const struct ft_decision_input *input,
                                const struct ft_sizing *sizing);

/* Writes the reason for which SIZING's amount is not the estimate's into OUT of SIZE bytes: ",
 * because a comparable run used 118 MiB"; "" if it is the estimate's, or if the message has the
 * reason already. FACTS: of the app's runs; NULL: unknown. */
const char *ft_message_rule(const struct ft_sizing *sizing, const struct ft_facts *facts, char *out,
                            size_t size);

/* Writes the fact that a program may leak memory: "was killed at 5 increasing limits, the last 3.2
 * GiB, and never completed: possible memory leak". */
const char *ft_message_leak(const struct ft_facts *facts, char *out, size_t size);

/* Writes the reason of an estimated amount far above the median: ", which keeps the probability of
 * running out of memory at 1.0 % for an app whose runs vary by a factor of 3.1"; "" for others. */
const char *ft_message_margin(const struct ft_decision_input *input, const struct ft_sizing *sizing,
                              char *out, size_t size);

/* Writes the reason for which nothing is set: "; --mem is not set: runs of up to 74.6 MiB support
 * at most 149M, less than the likely need"; "" if it is the partition, or nothing is withheld. */
const char *ft_message_withheld(const struct ft_decision_input *input,
                                const struct ft_sizing *sizing, char *out, size_t size);

/* Writes what is known of an app without a run: "; runs of bwa-mem by 7 other users here used 4 GiB
 * to 6.20 GiB; your other jobs used 12 % of the memory that they requested (median of 14 apps)"; ""
 * if nothing is. */
const char *ft_message_new_app(const struct ft_new_app *known, char *out, size_t size);

/* Returns whether a step was killed at its own limit since the last completed comparable run. */
bool ft_message_is_step_limited(const struct ft_decision_input *input);

/* Appends lines to OUT, the message about the job of INPUT: that a step was killed at its own
 * limit, that there are two kinds of runs, that script or program changed since the last run. */
void ft_explain_notes(const struct ft_decision_input *input, struct ft_explanation *out);

/* Writes "your script and sim.py changed since the last run; ..." about INPUT's changes into OUT of
 * SIZE bytes; "" without changes. Returns OUT. */
const char *ft_message_changes(const struct ft_decision_input *input, char *out, size_t size);

#endif
