/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What submissions read: model files, each user's readable by that user alone,
 * and the files of the site. Every one is replaced by rename.
 */
#ifndef FT_AGENT_PUBLISH_H
#define FT_AGENT_PUBLISH_H

#include <stdbool.h>

#include "predictor/record/record.h"

struct ft_publisher;

/* Publish under the state folder STATE_FD (borrowed); makes its folders. NULL with ERR. */
struct ft_publisher *ft_publisher_open(int state_fd, struct ft_error *err);
void ft_publisher_close(struct ft_publisher *publisher);

/* Call PUBLISHED after each model that was; it may not publish one itself. */
void ft_publisher_on_model(struct ft_publisher *publisher,
                           void (*published)(const ft_model *model, void *data), void *data);

/* Call TIMED after each file of run times that was; it may not publish one itself. */
void ft_publisher_on_performance(struct ft_publisher *publisher,
                                 void (*timed)(const ft_performance *performance, void *data),
                                 void *data);

/*
 * Replace the model file of MODEL's app and user. The user's folder is ours
 * (0700) and has an ACL entry that lets him read it; where the filesystem has
 * no ACLs only its files are given to him, to be read, which only root can do, and who does not
 * know their names finds none. A pooled model's (FT_STATE_POOLED) is ours alone, and all may read
 * what ft_pool_shared_model makes of it, without its history; where that is nothing there is no
 * such file.
 */
int ft_publish_model(struct ft_publisher *publisher, const ft_model *model, struct ft_error *err);

/* The same of the file with its run times, beside the model's. */
int ft_publish_performance(struct ft_publisher *publisher, const ft_performance *performance,
                           struct ft_error *err);

/* Replace the file NAME in user UID's folder, as above. Returns 0 or -1 with ERR. */
int ft_publish_user_file(struct ft_publisher *publisher, uint32_t uid, enum ft_record record,
                         const void *message, const char *name, struct ft_error *err);

/* The apps whose models are shared: those that foretell.conf declares. */
struct ft_shared_apps {
  size_t count;
  char name[sizeof((ft_apps *)NULL)->apps / sizeof(ft_declared_app)][128];
};

bool ft_is_shared_app(const struct ft_shared_apps *shared, const char *app);

/* Remove the files of shared apps that are none of SHARED's. */
void ft_publish_remove_unshared(struct ft_publisher *publisher,
                                const struct ft_shared_apps *shared);

/* Remove the files of user UID's APP, which has no run any more. */
void ft_publish_remove_model(struct ft_publisher *publisher, uint32_t uid, const char *app);

/* Remove user UID's folder if it is empty. */
void ft_publish_remove_user(struct ft_publisher *publisher, uint32_t uid);

/* Replace the site file and the file of declared apps. */
int ft_publish_site(struct ft_publisher *publisher, const ft_site *site, const ft_apps *apps,
                    struct ft_error *err);

/* Replace the file of platforms. */
int ft_publish_platforms(struct ft_publisher *publisher, const ft_platforms *platforms,
                         struct ft_error *err);

/* Replace the file of what networks have needed on the cluster's GPUs. */
int ft_publish_gpus(struct ft_publisher *publisher, const ft_gpus *gpus, struct ft_error *err);

/* Replace one partition's file. */
int ft_publish_partition(struct ft_publisher *publisher, const ft_partition *partition,
                         struct ft_error *err);

/* Replace the file of all COUNT partitions; where that fails there is none, and no old one is read
 * for the files of each, which are newer. */
int ft_publish_partition_list(struct ft_publisher *publisher, const ft_partition *partitions,
                              size_t count, struct ft_error *err);

/* Remove the files of partitions that are none of COUNT's NAMES. */
void ft_publish_remove_partitions(struct ft_publisher *publisher, const ft_partition *partitions,
                                  size_t count);

#endif
