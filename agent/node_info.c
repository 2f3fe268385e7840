/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/measure/measure.h"
#include "agent/node_info.h"
#include "daemon/log.h"
#include "predictor/core/hash.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/record/state_files.h"

/* Deadline for hwloc, which usually takes 0.1 s; afterwards the fingerprint remains unknown. */
#define FINGERPRINT_SECONDS 10

/* Reads the fingerprint in a child, because hwloc allocates megabytes that the agent would keep. */
static void read_fingerprint(struct ft_node_info *info)
{
  struct ft_error err;
  ssize_t got = 0;
  int ends[2];
  pid_t pid;

  if (pipe2(ends, O_CLOEXEC) < 0)
    return;
  pid = fork();
  if (pid == 0) {
    char line[sizeof info->fingerprint] = "";

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)alarm(FINGERPRINT_SECONDS);
    if (ft_platform_fingerprint(line, sizeof line, &err) < 0)
      ft_log(LOG_WARNING, "platform fingerprint: %s", err.text);
    (void)ft_io_write_all(ends[1], line, strlen(line));
    _exit(0);
  }
  close(ends[1]);
  if (pid > 0) {
    got = read(ends[0], info->fingerprint, sizeof info->fingerprint - 1);
    (void)waitpid(pid, NULL, 0);
  }
  info->fingerprint[got > 0 ? got : 0] = '\0';
  close(ends[0]);
}

void ft_node_info_read(struct ft_node_info *info)
{
  struct utsname name;

  *info = (struct ft_node_info){ 0 };
  if (uname(&name) == 0) {
    (void)ft_string_copy(name.release, info->kernel, sizeof info->kernel);
    name.nodename[strcspn(name.nodename, ".")] = '\0';
    (void)ft_string_copy(name.nodename, info->name, sizeof info->name);
  }
  read_fingerprint(info);
}

void ft_node_info_fill(const struct ft_node_info *info, const char *platform, ft_observation *o)
{
  if (!o->node[0])
    (void)ft_string_copy(info->name, o->node, sizeof o->node);
  (void)ft_string_copy(PACKAGE_VERSION, o->foretell_version, sizeof o->foretell_version);
  (void)ft_string_copy(info->kernel, o->kernel_version, sizeof o->kernel_version);
  (void)ft_string_copy(info->fingerprint, o->fingerprint, sizeof o->fingerprint);
  (void)ft_string_copy(platform[0] ? platform : info->fingerprint, o->platform, sizeof o->platform);
}

uint64_t ft_node_number(int state_fd, const char *node, const char *state)
{
  uint64_t secret = 0, number;
  struct ft_buf buf;
  struct ft_error err;

  ft_buf_init(&buf, FT_LIMIT_PROC);
  if (ft_io_read_file(state_fd, FT_STATE_AGENT_NUMBER, &buf, &err) == 0 &&
      buf.length == sizeof secret) {
    memcpy(&secret, buf.data, sizeof secret);
  } else {
    /* without either the agent still works: the number is a means against other hosts only */
    (void)!getrandom(&secret, sizeof secret, 0);
    if (ft_io_write_file(state_fd, FT_STATE_AGENT_NUMBER, &secret, sizeof secret, 0600, &err) < 0)
      ft_log(LOG_WARNING, "%s", err.text);
  }
  ft_buf_free(&buf);
  number = ft_hash64(FT_HASH_SEED, &secret, sizeof secret);
  number = ft_hash64(ft_hash64(number, node, strlen(node) + 1), state, strlen(state));
  return number ? number : 1;
}
