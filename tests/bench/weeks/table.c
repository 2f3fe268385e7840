/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the statistics as tables beside their goals, and as JSON. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "tests/bench/weeks/figures.h"

/* JSON key, title, and the goal as a probability. */
static const struct {
  const char *key, *title;
  double goal;
} counts[WEEKS_COUNTS] = {
  [WEEKS_KILLED_BY] = { "killed_by_foretell", "killed", 0.001 },
  [WEEKS_REJECTED_WRONG] = { "rejected_wrongly", "rejected", 0.0001 },
  [WEEKS_NOT_RECOVERED] = { "not_recovered", "not recov.", 0.015 },
  [WEEKS_TOO_MUCH] = { "more_than_3_times", "over 3x", 0.005 },
  [WEEKS_NOT_ACTED] = { "not_acted_on", "not acted", 0.4 },
};

static const char *row_name(const struct weeks_table *t, uint32_t row)
{
  return row == WEEKS_KINDS ? "all" : t->stream->kind_name[row];
}

/* Returns the row after ROW: the next kind's, after the last kind the total. */
static uint32_t next_row(const struct weeks_table *t, uint32_t row)
{
  return row + 1 == t->stream->kinds ? WEEKS_KINDS : row + 1;
}

/* Returns the peer with the least waste. */
static unsigned best_peer(const struct weeks_figures *f)
{
  unsigned best = 1;

  for (unsigned p = 2; p <= WEEKS_PEERS; p++)
    if (f->of[p].wasted_gib_hours < f->of[best].wasted_gib_hours)
      best = p;
  return best;
}

static void print_part(struct weeks_part p, FILE *out)
{
  if (p.of)
    fprintf(out, " %6llu %6.2f<%6.2f", (unsigned long long)p.count,
            100 * (double)p.count / (double)p.of, 100 * weeks_upper(p));
  else
    fprintf(out, " %20s", "-");
}

static void print_row(const char *name, const struct weeks_figures *f, FILE *out)
{
  fprintf(out, "%-22s %8llu %8llu %8llu", name, (unsigned long long)f->submissions,
          (unsigned long long)f->changed, (unsigned long long)f->rejected);
  for (unsigned c = 0; c < WEEKS_COUNTS; c++)
    print_part(f->part[c], out);
  fprintf(out, " %12.1f%% %10llu %10.0f\n",
          100 * (double)f->acted_at_all.count / fmax((double)f->acted_at_all.of, 1),
          (unsigned long long)f->died_again, f->of[0].wasted_gib_hours);
}

static void print_counts(const struct weeks_table *t, FILE *out)
{
  fprintf(out, "Of what foretell changed or rejected: count, %% and its upper 95 %% bound\n%-22s",
          "");
  fprintf(out, " %8s %8s %8s", "attempts", "changed", "rejected");
  for (unsigned c = 0; c < WEEKS_COUNTS; c++)
    fprintf(out, " %20s", counts[c].title);
  fprintf(out, " %13s %10s %10s\n%-22s %26s", "all not acted", "OOM again", "GiB h", "goal", "");
  for (unsigned c = 0; c < WEEKS_COUNTS; c++)
    fprintf(out, " %20.2f", 100 * counts[c].goal);
  fprintf(out, "\n");
  for (uint32_t row = 0; row <= WEEKS_KINDS; row = next_row(t, row))
    print_row(row_name(t, row), &t->kind[row], out);
  fprintf(out, "By the deciding rule; GiB h wasted by foretell as below\n");
  for (unsigned r = 0; r < WEEKS_RULES; r++)
    print_row(ft_decision_rule_name((ft_decision_rule)r), &t->rule[r], out);
}

/* Prints foretell's waste and kills as shares of the best peer's. */
static void print_share_of_best(const struct weeks_figures *f, FILE *out)
{
  unsigned best = best_peer(f);

  fprintf(out, " %7.0f%% %7.0f%%\n",
          100 * f->of[0].wasted_gib_hours / fmax(f->of[best].wasted_gib_hours, 1e-9),
          100 * (double)f->of[0].deaths / fmax((double)f->of[best].deaths, 1));
}

/* Returns the geometric mean over apps of allocated over required memory-time. */
static double mean_ratio(const struct weeks_figures *f, unsigned policy)
{
  return f->of[policy].apps ? exp(f->of[policy].log_ratios / (double)f->of[policy].apps) : 1;
}

static void print_waste_of(const char *name, const struct weeks_figures *f, FILE *out)
{
  fprintf(out, "%-14s", name);
  for (unsigned p = 0; p <= WEEKS_PEERS; p++)
    fprintf(out, " %10.0f/%6llu/%6llu", f->of[p].wasted_gib_hours,
            (unsigned long long)f->of[p].deaths, (unsigned long long)f->of[p].unfinished);
  print_share_of_best(f, out);
}

static void print_waste(const struct weeks_table *t, FILE *out)
{
  fprintf(
      out,
      "\nWhere the mode lets foretell size the job: GiB h above the need / killed submissions / "
      "work given up; foretell's share of the best peer's (goal 50 %% at no more kills), and of "
      "its kills. \"all\" excludes leaking runs, "
      "\"changed alone\" has the submissions that foretell changed or rejected\n"
      "%-14s %24s",
      "", "foretell");
  for (unsigned p = 0; p < WEEKS_PEERS; p++)
    fprintf(out, " %24s", weeks_peers[p].name);
  fprintf(out, " %8s %8s\n", "of best", "of kills");
  for (uint32_t row = 0; row <= WEEKS_KINDS; row = next_row(t, row))
    print_waste_of(row_name(t, row), &t->kind[row], out);
  print_waste_of("changed alone", &t->of_touched, out);
}

static void print_ratios(const struct weeks_table *t, FILE *out)
{
  fprintf(out,
          "\nThe same with equal weight for each app: memory-hours allocated over those needed, "
          "geometric mean\n%-14s %24s",
          "", "foretell");
  for (unsigned p = 0; p < WEEKS_PEERS; p++)
    fprintf(out, " %24s", weeks_peers[p].name);
  fprintf(out, "\n");
  for (uint32_t row = 0; row <= WEEKS_KINDS; row = next_row(t, row)) {
    const struct weeks_figures *f = &t->kind[row];

    fprintf(out, "%-14s", row_name(t, row));
    for (unsigned p = 0; p <= WEEKS_PEERS; p++)
      fprintf(out, " %24.2f", mean_ratio(f, p));
    fprintf(out, "\n");
  }
}

/* Writes the range I of ended submissions, as "3 to 4", to TEXT. */
static const char *known_name(unsigned i, char text[32])
{
  unsigned first = weeks_known[i], next = i + 1 < WEEKS_KNOWN ? weeks_known[i + 1] : 0;

  (void)snprintf(text, 32,
                 !next               ? "%u or more"
                 : next == first + 1 ? "%u"
                                     : "%u to %u",
                 first, next - 1);
  return text;
}

static void print_known(const struct weeks_table *t, FILE *out)
{
  char name[32];
  double after = 0;
  uint64_t deaths = 0;

  fprintf(out,
          "\nThe counts, then waste, killed, given up, by ended submissions of the app, without "
          "leaks\n");
  for (unsigned i = 0; i < WEEKS_KNOWN; i++)
    print_row(known_name(i, name), &t->known[i], out);
  for (unsigned i = 0; i < WEEKS_KNOWN; i++) {
    print_waste_of(known_name(i, name), &t->known[i], out);
    after += i ? t->known[i].of[0].wasted_gib_hours : 0;
    deaths += i ? t->known[i].of[0].deaths : 0;
  }
  fprintf(out, "after the first: %.0f GiB h, %llu killed\n", after, (unsigned long long)deaths);
}

static void print_told(const struct weeks_table *t, FILE *out)
{
  fprintf(out, "\nProbability of running out of memory: attempts, told, seen, %%\n");
  for (unsigned i = 0; i < WEEKS_TOLD; i++) {
    double of = fmax((double)t->told[i].killed.of, 1);

    fprintf(out, "from %3.0f %8llu %8.2f %8.2f\n", 100 * weeks_told[i],
            (unsigned long long)t->told[i].killed.of, 100 * t->told[i].told / of,
            100 * (double)t->told[i].killed.count / of);
  }
}

void weeks_print(const struct weeks_table *t, FILE *out)
{
  fprintf(out, "%zu submissions of %zu apps, generator %d, stream %016" PRIx64 "\n",
          t->stream->submissions, t->stream->apps, WEEKS_VERSION, weeks_stream_hash(t->stream));
  print_counts(t, out);
  print_waste(t, out);
  print_known(t, out);
  print_told(t, out);
  print_ratios(t, out);
}

static json_t *figures_json(const struct weeks_figures *f)
{
  json_t *object = json_pack("{s:I, s:I, s:I, s:I}", "attempts", (json_int_t)f->submissions,
                             "changed", (json_int_t)f->changed, "rejected", (json_int_t)f->rejected,
                             "died_again", (json_int_t)f->died_again);

  for (unsigned c = 0; object && c < WEEKS_COUNTS; c++)
    (void)json_object_set_new(object, counts[c].key,
                              json_pack("{s:I, s:I, s:f, s:f}", "count",
                                        (json_int_t)f->part[c].count, "of",
                                        (json_int_t)f->part[c].of, "upper95",
                                        weeks_upper(f->part[c]), "goal", counts[c].goal));
  for (unsigned p = 0; object && p <= WEEKS_PEERS; p++)
    (void)json_object_set_new(
        object, p ? weeks_peers[p - 1].name : weeks_foretell.name,
        json_pack("{s:f, s:f, s:I, s:I}", "given_over_needed", mean_ratio(f, p), "wasted_gib_hours",
                  f->of[p].wasted_gib_hours, "killed", (json_int_t)f->of[p].deaths, "given_up",
                  (json_int_t)f->of[p].unfinished));
  return object;
}

json_t *weeks_json(const struct weeks_table *t)
{
  json_t *object = json_object(), *rules = json_object(), *known = json_object();
  char name[32];

  for (uint32_t row = 0; object && row <= WEEKS_KINDS; row = next_row(t, row))
    (void)json_object_set_new(object, row_name(t, row), figures_json(&t->kind[row]));
  for (unsigned r = 0; rules && r < WEEKS_RULES; r++)
    (void)json_object_set_new(rules, ft_decision_rule_name((ft_decision_rule)r),
                              figures_json(&t->rule[r]));
  (void)json_object_set_new(object, "changed_alone", figures_json(&t->of_touched));
  for (unsigned i = 0; known && i < WEEKS_KNOWN; i++)
    (void)json_object_set_new(known, known_name(i, name), figures_json(&t->known[i]));
  (void)json_object_set_new(object, "rules", rules);
  (void)json_object_set_new(object, "ended_submissions", known);
  return object;
}
