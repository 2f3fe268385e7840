/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Common start of the tests of the built plugin: the test executes itself under the name of a Slurm
 * command, which plays Slurm to the plugin (fake_spank.h) and prints the results.
 */
#ifndef FT_TESTS_PLAY_PLUGIN_H
#define FT_TESTS_PLAY_PLUGIN_H

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "predictor/core/text.h"
#include "tests/unit/scratch.h"

/* Path of this program; under valgrind /proc/self/exe would be valgrind's. */
static char *play_plugin_self;

/* Changes into the new directory FOLDER and makes it the plugin's state directory. */
static int play_plugin_set_up(char folder[SCRATCH_SIZE])
{
  static char text[3][600];
  const char *top = getenv("FT_TOP_BUILDDIR");
  int fd = scratch_open(folder);

  assert_int_equal(chdir(folder), 0);
  (void)snprintf(text[0], sizeof text[0], "%s/.libs/spank_foretell.so", top ? top : ".");
  (void)snprintf(text[1], sizeof text[1], "state=%s", folder);
  (void)snprintf(text[2], sizeof text[2], "socket=%s/socket", folder);
  setenv("FAKE_PLUGIN", text[0], 1);
  setenv("FAKE_STATE", text[1], 1);
  setenv("FAKE_SOCKET", text[2], 1);
  setenv("FAKE_HELPER", "helper=/nonexistent", 1);
  setenv("HOME", "/nonexistent", 1);
  return fd;
}

/* Returns 0; nonzero if the directory could not be removed. */
static int play_plugin_tear_down(const char *folder, int fd)
{
  return chdir("/") != 0 || scratch_close(folder, fd) != 0;
}

/* Starts the host with the words of LINE. ENVIRONMENT: "NAME=VALUE", or NULL. Returns its
 * output. */
static const char *submit(const char *line, const char *environment)
{
  static char output[65536];
  char words[16384], *argv[32];
  size_t used = 0;
  int ends[2], argc = 0, status;
  ssize_t got;
  pid_t pid;

  assert_true(ft_string_copy(line, words, sizeof words));
  for (char *p = strtok(words, " "); p; p = strtok(NULL, " "))
    argv[argc++] = p;
  argv[argc] = NULL;
  assert_int_equal(pipe(ends), 0);
  pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    char variable[2048];

    (void)dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    (void)setenv("FAKE_HOST", argv[0], 1);
    if (environment && ft_string_copy(environment, variable, sizeof variable))
      (void)putenv(variable);
    if (strcmp(argv[0], "salloc") == 0)
      (void)putenv((char *)"FAKE_SALLOC=1");
    execv(play_plugin_self, argv);
    _exit(126);
  }
  close(ends[1]);
  while ((got = read(ends[0], output + used, sizeof output - used - 1)) > 0)
    used += (size_t)got;
  output[used] = '\0';
  close(ends[0]);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  if (status != 0)
    fail_msg("%s: status %d: %s", line, status, output);
  return output;
}

static size_t lines_said(const char *output)
{
  size_t count = 0;

  for (const char *p = output; p && *p; p = strchr(p, '\n'), p += p != NULL)
    count += strncmp(p, "info: ", 6) == 0 || strncmp(p, "error: ", 7) == 0;
  return count;
}

#define assert_has(text, part)                                                                     \
  do {                                                                                             \
    if (!strstr(text, part))                                                                       \
      fail_msg("\"%s\" is not in: %s", part, text);                                                \
  } while (0)

#endif
