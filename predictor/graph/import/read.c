/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the reader of a model file by its content. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/core/buf.h"
#include "predictor/graph/import/unsupported_formats.h"
#include "predictor/graph/import/huggingface/hf.h"
#include "predictor/graph/import/onnx/onnx.h"
#include "predictor/graph/import/onnx/onnx_literals.h"
#include "predictor/graph/import/onnx/onnx_metadata.h"
#include "predictor/graph/import/onnx/onnx_unmerge.h"
#include "predictor/graph/import/onnx/onnx_weights.h"
#include "predictor/graph/import/paddle/paddle.h"
#include "predictor/graph/import/protobuf.h"
#include "predictor/graph/import/read.h"
#include "predictor/graph/import/tensorflow/tensorflow.h"
#include "predictor/graph/import/torch/pt2.h"
#include "predictor/graph/import/torch/torchscript.h"

/*
 * Opens a model, or saved_model.pb or config.json in the directory PATH, and its directory as DIRFD
 * (-1: none). Follows symbolic links, as models are often links into a cache. Returns the
 * descriptor or -1.
 */
static int open_model(const char *path, int *dirfd, struct ft_error *err)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const char *slash = strrchr(path, '/');
  struct stat st;
  char *folder;

  if (fd < 0)
    return ft_error_errno(err, "%s", path);
  if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
    static const char *const names[] = { "saved_model.pb", "config.json" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      int inside = openat(fd, names[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

      if (inside >= 0) {
        close(fd);
        fd = inside;
        break;
      }
    }
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
      (void)ft_unsupported_directory(path, fd, err);
      close(fd);
      return -1;
    }
  }
  if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
    close(fd);
    errno = EINVAL;
    return ft_error_set(err, "%s: not a regular file", path);
  }
  folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
  *dirfd = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
  free(folder);
  return fd;
}

/* Reads a zip archive: TorchScript or torch.export. */
static int read_archive(struct ft_build *build, int fd)
{
  struct ft_archive archive;
  uint64_t member;
  int status;

  if (ft_archive_open(&archive, fd, build->graph->file, build->err) < 0)
    return -1;
  member = ft_pt2_find(&archive);
  if (member < archive.count)
    status = ft_pt2_read(build, &archive, member);
  else if (ft_unsupported_archive(&archive, build->err) < 0)
    status = -1;
  else
    status = ft_torchscript_read(build, &archive);
  ft_archive_close(&archive);
  return status;
}

enum kind { KIND_NONE, KIND_ONNX, KIND_GRAPH_DEF, KIND_SAVED_MODEL, KIND_PADDLE };

/*
 * Returns the message type of a file by its first fields. ONNX's ModelProto has its graph in field
 * 7: without one, what ends in an error is no protobuf. SavedModel has a number in 1 and a message
 * in 2. GraphDef has nodes in 1, which begin with a name. PaddlePaddle's ProgramDesc has blocks in
 * 1, which begin with a number.
 */
static enum kind message_kind(struct ft_proto *p)
{
  struct ft_proto_field f = { 0 }, inner = { 0 };
  bool first = true, numbered = false, second = false, onnx = false;
  int status;

  while ((status = ft_proto_next(p, p->size, &f)) > 0) {
    bool bytes = f.wire == FT_PROTO_BYTES;

    if (first && f.number == 1 && bytes && ft_proto_next(p, f.end, &inner) > 0 && inner.number <= 2)
      return inner.wire == FT_PROTO_VARINT ? KIND_PADDLE : KIND_GRAPH_DEF;
    numbered = numbered || (f.number == 1 && !bytes);
    second = second || (f.number == 2 && bytes);
    if (f.number == 7)
      return KIND_ONNX;
    onnx = onnx || f.number > 2;
    first = false;
  }
  if (first || (status < 0 && f.number != 7))
    return KIND_NONE;
  if (onnx)
    return KIND_ONNX;
  return numbered && second ? KIND_SAVED_MODEL : KIND_ONNX;
}

/* Returns what a file of no known format holds, by its first LENGTH bytes. */
static const char *unknown_content(const char *head, size_t length)
{
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)head[i] < ' ' && !memchr("\t\n\r\f", head[i], 4))
      return "binary data of another format";
  return length ? "text" : "an empty file";
}

/* Reads a protobuf file, which begins with the LENGTH bytes HEAD, by its message type. DIRFD: its
 * directory, with external data. */
static int read_message(struct ft_build *build, int fd, int dirfd, const char *head, size_t length)
{
  struct ft_proto *p = ft_arena_take(&build->arena, sizeof *p);
  struct ft_error err;
  enum kind kind;

  if (!p)
    return ft_build_exhausted(build);
  if (ft_proto_init(p, fd, build->graph->file, &err) < 0)
    return ft_error_set(build->err, "%s", err.text);
  kind = message_kind(p);
  if (kind == KIND_NONE)
    return ft_error_set(build->err,
                        "%s: byte 0: expected a model file: ONNX, TorchScript, torch.export, "
                        "TensorFlow, PaddlePaddle or a config.json; found %s",
                        build->graph->file, unknown_content(head, length));
  if (kind == KIND_GRAPH_DEF || kind == KIND_SAVED_MODEL)
    return ft_tensorflow_read(build, fd, kind == KIND_SAVED_MODEL);
  if (kind == KIND_PADDLE)
    return ft_paddle_read(build, fd);
  if (ft_onnx_read(build, fd, dirfd) < 0 || ft_build_finish(build) < 0 ||
      ft_onnx_take_weights(build) < 0)
    return -1;
  ft_onnx_hint_norms(build->graph);
  return ft_onnx_mark_literals(build) < 0 ? -1 : ft_onnx_unmerge(build);
}

/* Selects the reader by the first bytes. */
static int read_by_content(struct ft_build *build, int fd, int dirfd)
{
  char head[512] = "";
  ssize_t length = pread(fd, head, sizeof head, 0);
  struct stat st;

  if (length > 0 && fstat(fd, &st) == 0 &&
      ft_unsupported_head(build->graph->file, head, (size_t)length, (uint64_t)st.st_size,
                          build->err) < 0)
    return -1;
  if (length >= 4 && memcmp(head, "PK\3\4", 4) == 0)
    return read_archive(build, fd);
  if (head[0] == '{')
    return ft_paddle_is_json(head, (size_t)length) ? ft_paddle_read_json(build, fd)
                                                   : ft_hf_read(build, fd);
  return read_message(build, fd, dirfd, head, length > 0 ? (size_t)length : 0);
}

struct ft_graph *ft_graph_read(const char *path, struct ft_error *err)
{
  struct ft_graph *graph;
  struct ft_build build;
  char *kept;
  int dirfd = -1, fd = open_model(path, &dirfd, err), status;

  if (fd < 0)
    return NULL;
  graph = calloc(1, sizeof *graph);
  if (!graph) {
    (void)ft_error_set(err, "%s: out of memory", path);
    goto out;
  }
  graph->arena.limit = graph->results.limit = FT_LIMIT_GRAPH;
  /* a copy: errors are reported after the caller has freed the name */
  kept = ft_arena_take(&graph->arena, strlen(path) + 1);
  if (!kept) {
    (void)ft_error_set(err, "%s: out of memory", path);
    ft_graph_free(graph);
    graph = NULL;
    goto out;
  }
  memcpy(kept, path, strlen(path) + 1);
  graph->file = kept;
  ft_build_init(&build, graph, err);
  status =
      ft_build_name(&build, "", 0) == UINT32_MAX || read_by_content(&build, fd, dirfd) < 0 ? -1 : 0;
  ft_build_free(&build);
  if (status < 0) {
    ft_graph_free(graph);
    graph = NULL;
  }
out:
  if (dirfd >= 0)
    close(dirfd);
  close(fd);
  return graph;
}
