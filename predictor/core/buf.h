/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A growing byte buffer with a limit; its contents are NUL-terminated. */
#ifndef FT_CORE_BUF_H
#define FT_CORE_BUF_H

#include <stdbool.h>
#include <stddef.h>

/* The limit of every growing buffer, in bytes. */
enum {
  FT_LIMIT_SCRIPT = 4 << 20,       /* a batch script; slurm.conf(5): MaxScriptSize, default 4 MB */
  FT_LIMIT_ANALYSED = 256 << 10,   /* the analysed beginning of a script or command line */
  FT_LIMIT_FRAME = 1 << 20,        /* a message from the plugin to the helper process */
  FT_LIMIT_RECORD = 1 << 20,       /* an encoded record: model file, site file, observation */
  FT_LIMIT_RECORDS = 4 << 20,      /* all partitions in one file */
  FT_LIMIT_ENVIRONMENT = 64 << 10, /* the base64 submission record in the environment */
  FT_LIMIT_COMMAND = 64 << 20,     /* the output of a Slurm command about a cluster */
  FT_LIMIT_CONFIG = 1 << 20,       /* foretell.conf, apps.conf */
  FT_LIMIT_PROC = 64 << 10,        /* one file of /proc or /sys */
  FT_LIMIT_ENVIRON = 2 << 20,      /* /proc/PID/environ; execve(2): a quarter of the 8 MiB stack */
  FT_LIMIT_MOUNTS = 4 << 20,       /* /proc/self/mountinfo of a node full of containers */
  FT_LIMIT_LINE = 1 << 20,         /* one line of an imported table */
  FT_LIMIT_SKIPPED = 64 << 20,     /* the skipped part of a longer line */
  FT_LIMIT_SQL = 64 << 10,         /* one SQL statement to the store */
  FT_LIMIT_GRAPH = 128 << 20,      /* an operator graph in memory; as much again for its results */
  FT_LIMIT_ARCHIVE = 64 << 20,     /* the unpacked part of a model archive */
  FT_LIMIT_GRAPH_READ = 256 << 20, /* the part of a model file that is read: all but weights */
  FT_LIMIT_RELATIVE = 128 << 20,   /* a cross-platform model */
  FT_LIMIT_METRICS = 64 << 10,     /* a daemon's metrics: some thirty, with few labels */
  FT_LIMIT_OUTPUT = 64 << 20       /* the output of the command, SVG included */
};

struct ft_buf {
  char *data;    /* NUL-terminated; NULL before the first addition */
  size_t length; /* bytes, without the NUL */
  size_t size;   /* bytes allocated */
  size_t limit;  /* maximum of length, bytes */
  bool failed;   /* limit exceeded or out of memory; once set, every addition fails */
};

/* Initialises an empty buffer of at most LIMIT bytes. Allocates nothing. */
void ft_buf_init(struct ft_buf *buf, size_t limit);

/* Frees the contents. BUF stays usable, with the same limit. */
void ft_buf_free(struct ft_buf *buf);

/* Appends LENGTH bytes of DATA. Returns 0; -1, and sets buf->failed, over the limit or out of
 * memory. */
int ft_buf_add(struct ft_buf *buf, const void *data, size_t length);

/* Appends formatted text. Returns as ft_buf_add. */
int ft_buf_printf(struct ft_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the text, "" while BUF is empty. BUF owns it. */
const char *ft_buf_text(const struct ft_buf *buf);

#endif
