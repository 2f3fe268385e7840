/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "learner/access/credentials.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* More than the 2 of munged by default, so that it is never idle. */
enum { THREADS = 4 };

/* Of a credential that exists; or, without `authorization`, of one to be made over the digest in
 * `credential`. */
struct check {
  char *authorization;
  char peer[64];
  /* the loop's */
  ft_credentials_callback *call;
  void *data;
  double due; /* monotonic */
  struct check *later, *earlier;
  /* the pool's lock guards it: the check was answered without a result */
  bool late;
  /* for the thread, or the loop, that took the check from a list of the pool */
  enum ft_transfer_proof proof;
  struct ft_transfer_credential credential;
  struct ft_buf made; /* the new credential */
  struct ft_error why;
  struct check *next; /* in a list of the pool */
};

struct list {
  struct check *first, *last;
};

/* Shared by loop and threads, and freed with the last reference. */
struct pool {
  pthread_mutex_t lock;
  pthread_cond_t work;
  struct list queued, done;
  size_t checks; /* queued, with a thread, or done */
  unsigned references;
  bool closing;
  int done_fd; /* an eventfd: there are done checks */
  char *socket;
};

struct ft_credentials {
  struct ft_loop *loop;
  struct pool *pool;
  struct ft_watch watch;
  struct ft_timer timer; /* when the oldest check is due */
  double seconds;
  double proved_at;              /* monotonic time of munged's latest acceptance */
  struct check *oldest, *newest; /* not answered yet */
  size_t waiting;
};

static void list_append(struct list *list, struct check *check)
{
  check->next = NULL;
  *(list->last ? &list->last->next : &list->first) = check;
  list->last = check;
}

static struct check *list_pop(struct list *list)
{
  struct check *check = list->first;

  if (check && !(list->first = check->next))
    list->last = NULL;
  return check;
}

static void free_check(struct check *check)
{
  free(check->authorization);
  ft_buf_free(&check->made);
  free(check);
}

/* Drops a reference to POOL, whose lock is held, and releases the lock. */
static void release_pool(struct pool *pool)
{
  bool last = --pool->references == 0;
  struct check *check;

  (void)pthread_mutex_unlock(&pool->lock);
  if (!last)
    return;
  while ((check = list_pop(&pool->queued)) || (check = list_pop(&pool->done)))
    free_check(check);
  (void)pthread_mutex_destroy(&pool->lock);
  (void)pthread_cond_destroy(&pool->work);
  if (pool->done_fd >= 0)
    close(pool->done_fd);
  free(pool->socket);
  free(pool);
}

/* ---- threads ---- */

static void ask_munged(const struct pool *pool, struct check *check)
{
  static const struct ft_transfer_side side = { "the learner's host", "the learner's" };

  if (check->authorization)
    check->proof = ft_transfer_prove(pool->socket, &side, check->authorization, check->peer,
                                     &check->credential, &check->why);
  else if (ft_transfer_sign(pool->socket, &check->credential.digest, &check->made, &check->why) < 0)
    check->proof = FT_TRANSFER_UNKNOWN;
}

static void *check_credentials(void *data)
{
  struct pool *pool = data;
  struct check *check;
  bool late;

  (void)pthread_mutex_lock(&pool->lock);
  while (!pool->closing) {
    check = list_pop(&pool->queued);
    if (!check) {
      (void)pthread_cond_wait(&pool->work, &pool->lock);
      continue;
    }
    late = check->late;
    (void)pthread_mutex_unlock(&pool->lock);
    if (!late)
      ask_munged(pool, check);
    (void)pthread_mutex_lock(&pool->lock);
    list_append(&pool->done, check);
    (void)eventfd_write(pool->done_fd, 1);
  }
  release_pool(pool);
  return NULL;
}

/* Starts the threads of POOL, without signals, which are the loop's. Returns 0, or an errno. */
static int start_threads(struct pool *pool)
{
  pthread_attr_t attributes;
  sigset_t all, before;
  pthread_t thread;
  int status = pthread_attr_init(&attributes);

  if (status)
    return status;
  (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < THREADS && !status; i++) {
    (void)pthread_mutex_lock(&pool->lock);
    status = pthread_create(&thread, &attributes, check_credentials, pool);
    pool->references += !status;
    (void)pthread_mutex_unlock(&pool->lock);
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  (void)pthread_attr_destroy(&attributes);
  return status;
}

/* ---- the loop ---- */

/* Returns when the oldest check is late: a munged that accepts others gets more time. */
static double late_at(const struct ft_credentials *credentials)
{
  return fmax(credentials->oldest->due, credentials->proved_at + credentials->seconds);
}

static void arm_timer(struct ft_credentials *credentials)
{
  if (credentials->oldest)
    ft_loop_at(credentials->loop, &credentials->timer, late_at(credentials));
  else
    ft_loop_cancel(credentials->loop, &credentials->timer);
}

/* Removes CHECK from those that wait and calls its callback with PROOF and WHY. */
static void answer_check(struct ft_credentials *credentials, struct check *check,
                         enum ft_transfer_proof proof, const struct ft_error *why)
{
  struct ft_credentials_result result = { .proof = proof, .why = why };

  *(check->earlier ? &check->earlier->later : &credentials->oldest) = check->later;
  *(check->later ? &check->later->earlier : &credentials->newest) = check->earlier;
  credentials->waiting--;
  /* else a thread may be writing them */
  if (proof == FT_TRANSFER_PROVED) {
    credentials->proved_at = ft_io_monotonic();
    result.credential = check->credential;
    result.authorization = ft_buf_text(&check->made);
  }
  check->call(&result, check->data);
}

/* Answers the oldest check without its result, because of WHY. */
static void give_up_oldest(struct ft_credentials *credentials, const char *why)
{
  struct check *check = credentials->oldest;
  struct ft_error err;

  (void)ft_error_set(&err, "%s", why);
  answer_check(credentials, check, FT_TRANSFER_UNKNOWN, &err);
  /* from here on the thread that takes it from the pool's lists may free it */
  (void)pthread_mutex_lock(&credentials->pool->lock);
  check->late = true;
  (void)pthread_mutex_unlock(&credentials->pool->lock);
}

static void checks_done(struct ft_watch *watch)
{
  struct ft_credentials *credentials = watch->data;
  struct pool *pool = credentials->pool;
  struct list done;
  struct check *check;
  eventfd_t count;

  (void)pthread_mutex_lock(&pool->lock);
  (void)eventfd_read(pool->done_fd, &count);
  done = pool->done;
  pool->done = (struct list){ 0 };
  for (check = done.first; check; check = check->next)
    pool->checks--;
  (void)pthread_mutex_unlock(&pool->lock);
  while ((check = list_pop(&done))) {
    if (!check->late)
      answer_check(credentials, check, check->proof, &check->why);
    free_check(check);
  }
  arm_timer(credentials);
}

static void checks_are_late(void *data)
{
  struct ft_credentials *credentials = data;

  /* before, those that are done */
  checks_done(&credentials->watch);
  while (credentials->oldest && late_at(credentials) <= ft_io_monotonic())
    give_up_oldest(credentials, "munged on the learner's host does not reply");
  arm_timer(credentials);
}

/* Queues CHECK, which it owns from then on. Returns as ft_credentials_check. */
static int queue_check(struct ft_credentials *credentials, struct check *check,
                       ft_credentials_callback *call, void *data, struct ft_error *err)
{
  struct pool *pool = credentials->pool;
  bool full;

  check->call = call;
  check->data = data;
  check->due = ft_io_monotonic() + credentials->seconds;
  (void)pthread_mutex_lock(&pool->lock);
  full = pool->checks == FT_EXCHANGE_CONNECTIONS;
  if (!full) {
    pool->checks++;
    list_append(&pool->queued, check);
    (void)pthread_cond_signal(&pool->work);
  }
  (void)pthread_mutex_unlock(&pool->lock);
  if (full) {
    free_check(check);
    return ft_error_set(err, "munged on the learner's host is too slow: %d credentials wait",
                        FT_EXCHANGE_CONNECTIONS);
  }
  check->earlier = credentials->newest;
  *(check->earlier ? &check->earlier->later : &credentials->oldest) = check;
  credentials->newest = check;
  credentials->waiting++;
  if (!credentials->timer.armed)
    arm_timer(credentials);
  return 0;
}

int ft_credentials_check(struct ft_credentials *credentials, const char *authorization,
                         const char *peer, ft_credentials_callback *call, void *data,
                         struct ft_error *err)
{
  struct check *check = calloc(1, sizeof *check);

  if (!check || !(check->authorization = strdup(authorization))) {
    free(check);
    return ft_error_set(err, "out of memory");
  }
  (void)ft_string_copy(peer, check->peer, sizeof check->peer);
  return queue_check(credentials, check, call, data, err);
}

int ft_credentials_sign(struct ft_credentials *credentials, const struct ft_transfer_digest *digest,
                        ft_credentials_callback *call, void *data, struct ft_error *err)
{
  struct check *check = calloc(1, sizeof *check);

  if (!check)
    return ft_error_set(err, "out of memory");
  check->credential.digest = *digest;
  ft_buf_init(&check->made, FT_LIMIT_PROC);
  return queue_check(credentials, check, call, data, err);
}

size_t ft_credentials_waiting(const struct ft_credentials *credentials)
{
  return credentials->waiting;
}

/* Makes a pool with one reference. Returns NULL and errno. */
static struct pool *new_pool(const char *socket)
{
  struct pool *pool = calloc(1, sizeof *pool);

  if (!pool)
    return NULL;
  (void)pthread_mutex_init(&pool->lock, NULL);
  (void)pthread_cond_init(&pool->work, NULL);
  pool->references = 1;
  pool->socket = strdup(socket);
  pool->done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (pool->socket && pool->done_fd >= 0)
    return pool;
  (void)pthread_mutex_lock(&pool->lock);
  release_pool(pool);
  return NULL;
}

struct ft_credentials *ft_credentials_open(struct ft_loop *loop, const char *socket, double seconds,
                                           struct ft_error *err)
{
  struct ft_credentials *credentials = calloc(1, sizeof *credentials);
  int status = 0;

  if (!credentials || !(credentials->pool = new_pool(socket))) {
    free(credentials);
    ft_error_errno(err, "MUNGE");
    return NULL;
  }
  credentials->loop = loop;
  credentials->seconds = seconds;
  credentials->timer = (struct ft_timer){ .fire = checks_are_late, .data = credentials };
  credentials->watch = (struct ft_watch){ credentials->pool->done_fd, checks_done, credentials };
  if (ft_loop_watch(loop, &credentials->watch) < 0 || (status = start_threads(credentials->pool))) {
    errno = status ? status : errno;
    ft_error_errno(err, "MUNGE");
    ft_credentials_close(credentials);
    return NULL;
  }
  return credentials;
}

void ft_credentials_close(struct ft_credentials *credentials)
{
  if (!credentials)
    return;
  while (credentials->oldest)
    give_up_oldest(credentials, "foretell-learnd is stopping");
  ft_loop_cancel(credentials->loop, &credentials->timer);
  ft_loop_unwatch(credentials->loop, &credentials->watch);
  (void)pthread_mutex_lock(&credentials->pool->lock);
  credentials->pool->closing = true;
  (void)pthread_cond_broadcast(&credentials->pool->work);
  release_pool(credentials->pool);
  free(credentials);
}
