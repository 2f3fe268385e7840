/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connects the jobs of this node with the clock, the listener, the journal and the learner. */
#include "config.h"

#include <inttypes.h>
#include <malloc.h>
#include <sched.h>

#include "agent/agent_internal.h"
#include "daemon/log.h"
#include "predictor/core/hot.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

struct ft_instant ft_agent_now(void)
{
  return (struct ft_instant){ ft_io_monotonic(), ft_io_now() };
}

/* ---- timers ---- */

/* Starts or stops the sample timer: an idle node is not woken. */
static void arm_sampling(struct ft_agent *agent)
{
  if (!ft_jobs_tree_count(agent->jobs))
    ft_loop_cancel(agent->loop, &agent->sample);
  else if (!agent->sample.armed)
    ft_loop_at(agent->loop, &agent->sample, ft_io_monotonic());
}

/* Logs what has ceased to reply, and what replies again. */
static void log_blocked(struct ft_agent *agent)
{
  struct ft_measure_blocked now = ft_measure_blocked(agent->measure);

  if (now.gpu != agent->blocked.gpu)
    ft_log(now.gpu ? LOG_WARNING : LOG_INFO, "the GPUs' driver %s",
           now.gpu ? "does not reply; jobs are measured without their GPUs" : "replies again");
  if (now.reads != agent->blocked.reads)
    ft_log(now.reads ? LOG_WARNING : LOG_INFO, "/proc: %s",
           now.reads ? "the files of a stuck process cannot be read; jobs are measured without PSS"
                     : "all processes can be read again");
  agent->blocked = now;
}

static void tick_jobs(void *data)
{
  struct ft_agent *agent = data;

  log_blocked(agent);

  ft_loop_at(agent->loop, &agent->tick, ft_jobs_tick(agent->jobs, ft_agent_now()));
  arm_sampling(agent);
  /* an idle agent's memory does not depend on its past */
  if (!ft_jobs_tree_count(agent->jobs))
    (void)malloc_trim(0);
}

FT_HOT static void sample_trees(void *data)
{
  struct ft_agent *agent = data;
  double period = 1 / agent->config.sample_hertz, begun = ft_io_monotonic(), now;

  ft_measure_sample(agent->measure);
  now = ft_io_monotonic();
  agent->samples++;
  agent->sampling_seconds += now - begun;
  /* a multiple of the period after the due time; missed samples are skipped */
  if (ft_jobs_tree_count(agent->jobs))
    ft_loop_at(agent->loop, &agent->sample,
               agent->sample.due +
                   period * (1 + (double)(uint64_t)((now - agent->sample.due) / period)));
  /* a tick that is due before the next sample needs no wake-up of its own */
  if (agent->tick.armed && agent->tick.due < now + period) {
    ft_loop_cancel(agent->loop, &agent->tick);
    tick_jobs(agent);
  }
}

/* Schedules ft_jobs_tick for the next iteration of the loop. */
static void tick_soon(struct ft_agent *agent)
{
  ft_loop_at(agent->loop, &agent->tick, ft_io_monotonic());
}

/* ---- runs ---- */

/* Delivers a run that ended. */
static void deliver_finished(const ft_observation *observation, void *data)
{
  struct ft_agent *agent = data;

  agent->finished = *observation;
  ft_node_info_fill(&agent->node, agent->config.node_platform, &agent->finished);
  ft_delivery_add(agent->delivery, &agent->finished);
  ft_agent_metrics_changed(agent->metrics);
}

static void remove_job_journal(uint32_t job_id, void *data)
{
  struct ft_agent *agent = data;

  ft_journal_remove(agent->journal, job_id);
}

static bool save_partial_run(const ft_observation *observation, void *data)
{
  struct ft_agent *agent = data;
  struct ft_error err;

  if (ft_journal_save_partial(agent->journal, observation, &err) == 0)
    return true;
  ft_log(LOG_ERR, "job %" PRIu32 ": measurements will be lost at the restart: %s",
         observation->job_id, err.text);
  return false;
}

void ft_agent_announced(const ft_announcement *announcement, pid_t peer, const void *packet,
                        size_t length, void *data)
{
  struct ft_agent *agent = data;
  struct ft_instant now = ft_agent_now();
  struct ft_error err;

  /*
   * The kernel may have preempted the announcing slurmstepd to run the agent on its CPU. Yield, so
   * that slurmstepd continues first.
   */
  (void)sched_yield();
  if (ft_jobs_announce(agent->jobs, announcement, peer, false, now) &&
      ft_journal_add(agent->journal, announcement, peer, now.utc, packet, length, &err) < 0)
    ft_log(LOG_WARNING,
           "job %" PRIu32 ": announcement not in the journal, lost if the agent restarts: %s",
           announcement->job_id, err.text);
  arm_sampling(agent);
  tick_soon(agent);
  ft_agent_metrics_changed(agent->metrics);
}

/* Processes an announcement from the journal, at the time of its arrival. */
static void replay_announcement(const ft_announcement *announcement, pid_t peer, double utc,
                                void *data)
{
  struct ft_agent *agent = data;
  struct ft_instant now = ft_agent_now();
  double ago = utc < now.utc ? now.utc - utc : 0;

  (void)ft_jobs_announce(agent->jobs, announcement, peer, true,
                         (struct ft_instant){ now.monotonic - ago, now.utc - ago });
}

static void restore_partial_run(const ft_observation *observation, void *data)
{
  struct ft_agent *agent = data;

  ft_jobs_restore(agent->jobs, observation);
}

/* ---- forgotten runs ---- */

struct run_visit {
  void (*visit)(const ft_observation *run, void *to);
  void *to;
};

static bool visit_undelivered(const ft_observation *run, void *data)
{
  const struct run_visit *v = data;

  v->visit(run, v->to);
  return false;
}

void ft_agent_each_run(void (*visit)(const ft_observation *run, void *to), void *to, void *data)
{
  struct ft_agent *agent = data;
  struct run_visit v = { visit, to };

  ft_jobs_forget(agent->jobs, visit_undelivered, &v);
}

static bool is_same_run(const ft_observation *run, void *data)
{
  const ft_observation *forgotten = data;

  return run->job_id == forgotten->job_id && run->restart_count == forgotten->restart_count;
}

void ft_agent_forget(const ft_observation *run, void *data)
{
  struct ft_agent *agent = data;

  ft_jobs_forget(agent->jobs, is_same_run, (void *)(uintptr_t)run);
}

void ft_agent_restore_jobs(struct ft_agent *agent)
{
  const struct ft_journal_callbacks calls = { replay_announcement, restore_partial_run, agent };
  size_t trees;

  ft_journal_replay(agent->journal, &calls);
  trees = ft_jobs_tree_count(agent->jobs);
  if (trees)
    ft_log(LOG_INFO, "%zu running job%s restored from the journal", trees, ft_plural(trees));
  arm_sampling(agent);
  tick_soon(agent);
}

void ft_agent_set_job_callbacks(struct ft_agent *agent, struct ft_jobs_settings *settings)
{
  agent->sample = (struct ft_timer){ .fire = sample_trees, .data = agent };
  agent->tick = (struct ft_timer){ .fire = tick_jobs, .data = agent };
  settings->finished = deliver_finished;
  settings->remove_journal = remove_job_journal;
  settings->save_partial = save_partial_run;
  settings->data = agent;
}
