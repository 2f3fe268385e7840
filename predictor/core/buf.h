/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A growing text buffer that never passes its limit. */
#ifndef FT_CORE_BUF_H
#define FT_CORE_BUF_H

#include <stdbool.h>
#include <stddef.h>

/* Every limit of a growing buffer in foretell, in bytes. */
enum {
  FT_LIMIT_SCRIPT =
      4 << 20, /* a batch script (Slurm's own default limit: 4 MB, slurm.conf MaxScriptSize) */
  FT_LIMIT_ANALYSED = 256 << 10,   /* as much of a script, or of a command line, as is looked at */
  FT_LIMIT_FRAME = 1 << 20,        /* what the plugin hands its child */
  FT_LIMIT_RECORD = 1 << 20,       /* an encoded record: model file, site file, observation */
  FT_LIMIT_RECORDS = 4 << 20,      /* all partitions in one file */
  FT_LIMIT_ENVIRONMENT = 64 << 10, /* the submission record in the environment, base64 */
  FT_LIMIT_COMMAND = 64 << 20,     /* what a Slurm command prints about a cluster */
  FT_LIMIT_CONFIG = 1 << 20,       /* foretell.conf, apps.conf */
  FT_LIMIT_PROC = 64 << 10,        /* one file of /proc or /sys */
  FT_LIMIT_ENVIRON = 2 << 20,      /* /proc/PID/environ: a quarter of the usual stack (execve(2)) */
  FT_LIMIT_MOUNTS = 4 << 20,       /* /proc/self/mountinfo of a node full of containers */
  FT_LIMIT_LINE = 1 << 20,         /* one line of an imported table */
  FT_LIMIT_SKIPPED = 64 << 20,     /* of a line that is longer and passed over */
  FT_LIMIT_SQL = 64 << 10,         /* one statement to the store */
  FT_LIMIT_GRAPH =
      128 << 20, /* a model file's operator graph in memory, its results the same again */
  FT_LIMIT_ARCHIVE = 64 << 20,     /* what is unpacked of a model archive */
  FT_LIMIT_GRAPH_READ = 256 << 20, /* as much of a model file as is read: all but weights */
  FT_LIMIT_RELATIVE = 128 << 20,   /* a model of relative performance */
  FT_LIMIT_OUTPUT = 64 << 20       /* what the command prints, SVG included */
};

struct ft_buf {
  char *data;    /* NUL-terminated once anything was added; NULL before */
  size_t length; /* without the NUL */
  size_t size;
  size_t limit;
  bool failed; /* over the limit or out of memory; sticky, contents cut there */
};

/* Start an empty buffer that may hold up to LIMIT bytes; allocates nothing. */
void ft_buf_init(struct ft_buf *buf, size_t limit);

/* Release the contents; BUF may be used again with the same limit. */
void ft_buf_free(struct ft_buf *buf);

/* Add LENGTH bytes. Returns 0, or -1 (and sets failed) over the limit or out of memory. */
int ft_buf_add(struct ft_buf *buf, const void *data, size_t length);

/* Add formatted text. Returns as ft_buf_add. */
int ft_buf_printf(struct ft_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The text, "" while empty. Owned by BUF. */
const char *ft_buf_text(const struct ft_buf *buf);

#endif
