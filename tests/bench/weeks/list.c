/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints every attempt of a world as CSV, for further analysis. */
#include "config.h"

#include "tests/bench/weeks/figures.h"

void weeks_print_list(const struct weeks_world *w, FILE *out)
{
  fprintf(out, "app,kind,submission,number,time,mode,typed,reacted,array,runs,without,action,rule,"
               "given,p_oom,"
               "known,need,peak,deaths,all_complete,like_known,recovered,wasted_gib_hours\n");
  for (size_t i = 0; i < w->attempts; i++) {
    const struct weeks_attempt *a = &w->attempt[i];
    const struct weeks_submission *s = &w->stream->submission[a->submission];
    const struct weeks_app *app = &w->stream->app[s->app];
    bool recovered, may_recover = weeks_recovers(w, i, &recovered);

    fprintf(out,
            "%s,%s,%u,%u,%.0f,%s,%d,%d,%d,%u,%llu,%s,%s,%llu,%.4g,%u,%.0f,%.0f,%u,%d,%d,%s,%.4g\n",
            app->name, w->stream->kind_name[app->kind], a->submission, a->number, a->time,
            ft_mode_name(a->mode), a->mem_unit != FT_MEM_NONE, a->reacted, s->array, a->runs,
            (unsigned long long)a->without_bytes, ft_action_name(a->action),
            ft_decision_rule_name(a->rule), (unsigned long long)a->given_bytes, a->p_oom, a->known,
            a->need_bytes, a->peak_bytes, a->deaths, a->all_complete, a->like_known,
            may_recover ? recovered ? "yes" : "no" : "", a->wasted / (0x1p30 * 3600));
  }
}
