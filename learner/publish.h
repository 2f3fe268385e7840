/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Publishes the files that submissions read: each user's models, readable by that user only, and
 * the site's files. Each file is replaced by rename. The models of the apps that ran last are also
 * in memory, where runs change them before they are published (recorder.h). Functions return 0, or
 * -1 and ERR, unless stated otherwise.
 */
#ifndef FT_LEARNER_PUBLISH_H
#define FT_LEARNER_PUBLISH_H

#include <stdbool.h>

#include "learner/model_cache.h"
#include "predictor/record/record.h"

struct ft_publisher;

/*
 * Publishes below the state directory STATE_FD (borrowed); creates its subdirectories. Returns NULL
 * and ERR.
 */
struct ft_publisher *ft_publisher_open(int state_fd, struct ft_error *err);
void ft_publisher_close(struct ft_publisher *publisher);

/* Returns the models in memory, owned by PUBLISHER. */
struct ft_model_cache *ft_publisher_cache(struct ft_publisher *publisher);

/* The apps of the site-wide prior (similar_apps_index.h), owned by PUBLISHER; CHANGED since their
 * file was written, else the file has them. */
struct ft_cached_prior {
  bool changed;
  ft_prior apps;
};
struct ft_cached_prior *ft_publisher_prior(struct ft_publisher *publisher);

/* Copies the newest models of UID's APP to MODELS: from memory, else from the file
 * (ft_state_read_own_app). */
int ft_published_app(struct ft_publisher *publisher, uint32_t uid, const char *app,
                     struct ft_app_models *models, struct ft_error *err);

/* Called after MODELS were published. It must not publish the same quantity itself. */
typedef void ft_published_call(const struct ft_app_models *models, void *data);

/* Sets the call after each publication in which the model of QUANTITY has changed; NULL: none. */
void ft_publisher_on(struct ft_publisher *publisher, uint32_t quantity, ft_published_call *call,
                     void *data);

/*
 * Replaces the model file of MODELS' app and user, with the models that follow from the runs
 * (online/quantity_models.h), and the models in memory. CHANGED: the quantities whose models
 * have changed, a sum of 1 << FT_QUANTITY_...; the file has the others, too. The learner owns the
 * user's directory (0700); an ACL entry grants the user read access. On a file system without ACLs
 * the user gets the files from the learner (query_file.h).
 *
 * Of a pooled app (FT_STATE_POOLED) only the learner may read the file; all users may read a copy
 * without its runs (ft_pool_shared_model), which has what enough users contribute to.
 */
int ft_publish_app(struct ft_publisher *publisher, const struct ft_app_models *models,
                   unsigned changed, struct ft_error *err);

/* Replaces the file NAME in UID's directory; MESSAGE is of type RECORD. */
int ft_publish_user_file(struct ft_publisher *publisher, uint32_t uid, enum ft_record record,
                         const void *message, const char *name, struct ft_error *err);

/* Whether figures of programs over all users are published (usage_index.h); at first they are. */
bool ft_publisher_has_programs(const struct ft_publisher *publisher);

/* Sets that; NO removes those that were published, and their data. */
void ft_publisher_set_programs(struct ft_publisher *publisher, bool has);

/* Replaces the learner's own file of PROGRAM with KNOWN, and the public one with PUBLIC. NULL:
 * removes the file. */
int ft_publish_program(struct ft_publisher *publisher, const char *program, const ft_program *known,
                       const ft_program *public, struct ft_error *err);

/* Reads the learner's own file of PROGRAM. Returns as ft_record_read. */
int ft_published_program(struct ft_publisher *publisher, const char *program, ft_program *known,
                         struct ft_error *err);

/* Removes the file NAME in UID's directory. */
void ft_publish_remove_user_file(struct ft_publisher *publisher, uint32_t uid, const char *name);

/* The apps with pooled models: those that foretell.conf declares. */
struct ft_shared_apps {
  size_t count;
  char name[sizeof((ft_apps *)NULL)->apps / sizeof(ft_declared_app)][128];
};

/* Whether APP is in SHARED, which may be NULL. */
bool ft_is_shared_app(const struct ft_shared_apps *shared, const char *app);

/* Removes the pooled files of apps that are not in SHARED. */
void ft_publish_remove_unshared(struct ft_publisher *publisher,
                                const struct ft_shared_apps *shared);

/* Removes the models of UID's APP, which has no runs left. */
void ft_publish_remove_model(struct ft_publisher *publisher, uint32_t uid, const char *app);

/* Removes UID's directory if it is empty. */
void ft_publish_remove_user(struct ft_publisher *publisher, uint32_t uid);

/* Replaces the site file and the file of declared apps. */
int ft_publish_site(struct ft_publisher *publisher, const ft_site *site, const ft_apps *apps,
                    struct ft_error *err);

/* Replaces the file of platforms. */
int ft_publish_platforms(struct ft_publisher *publisher, const ft_platforms *platforms,
                         struct ft_error *err);

/* Replaces the file of GPU observations. */
int ft_publish_gpus(struct ft_publisher *publisher, const ft_gpus *gpus, struct ft_error *err);

/* Replaces the file of one partition. */
int ft_publish_partition(struct ft_publisher *publisher, const ft_partition *partition,
                         struct ft_error *err);

/*
 * Replaces the file with all COUNT partitions. On failure removes it, so that readers use the newer
 * files of the single partitions.
 */
int ft_publish_partition_list(struct ft_publisher *publisher, const ft_partition *partitions,
                              size_t count, struct ft_error *err);

/* Removes the files of all partitions that are not among the COUNT PARTITIONS. */
void ft_publish_remove_partitions(struct ft_publisher *publisher, const ft_partition *partitions,
                                  size_t count);

#endif
