/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recognises formats without a readable network by their signatures. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/graph/import/unsupported_formats.h"

enum { MEMBERS = 4096 /* entries of a directory that are looked at */ };

#define EXPORT "torch.export.save, torch.jit.save or torch.onnx.export"
#define UNPACKED "its contents, unpacked"
#define STABLEHLO "an ONNX file of the network, or what Keras writes with model.export(FOLDER)"
#define COREML "the program that it was converted from, written by " EXPORT
#define PICKLE "a Python pickle", "what " EXPORT " writes"
#define KERAS "what model.export(FOLDER) or tf.saved_model.save writes"

/* A signature, LENGTH bytes at offset AT; the content that it indicates; what to use instead. */
static const struct {
  size_t at, length;
  const char *magic, *what, *instead;
} magics[] = {
  { 0, 4, "GGUF", "weights for llama.cpp (GGUF)",
    "the config.json that they were made with, or what the framework exports" },
  { 0, 8, "\x89HDF\r\n\x1a\n", "an HDF5 file, as used for Keras weights", KERAS },
  { 4, 4, "TFL3", "a TensorFlow Lite model", "the SavedModel that it was made from" },
  { 4, 4, "ORTM", "a model in ONNX Runtime's own format", "the ONNX file that it was made from" },
  { 4, 4, "ET12", "an ExecuTorch program", "what torch.export.save writes of the network" },
  { 0, 4, "ML\xefR", "MLIR bytecode (StableHLO)", STABLEHLO },
  { 0, 8, "module @", "MLIR (StableHLO) as text", STABLEHLO },
  { 0, 4, "#loc", "MLIR (StableHLO) as text", STABLEHLO },
  { 0, 9, "HloModule", "HLO as text", STABLEHLO },
  { 0, 2, "\x1f\x8b", "a file compressed by gzip", UNPACKED },
  { 0, 3, "BZh", "a file compressed by bzip2", UNPACKED },
  { 0, 6, "\xfd\x37zXZ", "a file compressed by xz", UNPACKED },
  { 0, 4, "\x28\xb5\x2f\xfd", "a file compressed by zstd", UNPACKED },
  { 0, 4, "\x04\x22\x4d\x18", "a file compressed by lz4", UNPACKED },
  { 257, 5, "ustar", "a tar archive", UNPACKED },
  { 0, 4, "ftrt", "a TensorRT engine", "the ONNX file that it was made from" },
  { 0, 4,
    "\x7f"
    "ELF",
    "compiled code", "what " EXPORT " writes" },
  { 0, 6, "\x93NUMPY", "a NumPy array", "what the framework exports" },
  /* a pickle of protocol 2 that begins with torch.serialization's MAGIC_NUMBER */
  { 0, 14, "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19",
    "weights in the format of PyTorch before 1.6", "what " EXPORT " writes" },
  { 0, 2, "\x80\x02", PICKLE },
  { 0, 2, "\x80\x03", PICKLE },
  { 0, 2, "\x80\x04", PICKLE },
  { 0, 2, "\x80\x05", PICKLE },
  { 0, 5, "<?xml", "an XML file, as OpenVINO's are", "the ONNX file that it was made from" },
};

static int report_unsupported(const char *file, const char *what, const char *instead,
                              struct ft_error *err)
{
  return ft_error_set(err, "%s: byte 0: found %s, which is no readable network; use %s", file, what,
                      instead);
}

/* Returns the bytes of weights in a safetensors file; 0: another format. The file has 8 bytes of
 * header length, the JSON header and the weights (huggingface/safetensors, README.md). */
static uint64_t safetensors_bytes(const char *head, size_t length, uint64_t size)
{
  uint64_t header = 0;

  if (length < 10 || head[8] != '{')
    return 0;
  for (int i = 7; i >= 0; i--)
    header = header << 8 | (unsigned char)head[i];
  return header >= 2 && header < size && size - header > 8 ? size - header - 8 : 0;
}

/* Returns whether HEAD is a parameter file of PaddlePaddle: a version, an empty LoD, a tensor
 * description (SerializeToStream of DenseTensor). */
static bool is_paddle(const char *head, size_t length)
{
  static const char nothing[16];

  return length > 22 && memcmp(head, nothing, sizeof nothing) == 0 && head[20] == 0x08 &&
         head[22] == 0x10;
}

/* Returns whether HEAD is a file of jax.export: flatbuffer tables, then a module that names its
 * version. */
static bool is_jax(const char *head, size_t length)
{
  static const char version[] = "StableHLO_v";

  return length > 4 && memcmp(head + 1, "\0\0\0", 3) == 0 &&
         memmem(head, length, version, sizeof version - 1);
}

/* Returns whether NAME is a model file in a zipped directory. */
static bool is_model(const char *name)
{
  static const char *const ends[] = { ".onnx", ".pb", ".pdmodel", ".pt", ".pt2", "/config.json" };

  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (ft_string_ends(name, ends[i]))
      return true;
  return strcmp(name, "config.json") == 0;
}

int ft_unsupported_head(const char *file, const char *head, size_t length, uint64_t size,
                        struct ft_error *err)
{
  uint64_t weights = safetensors_bytes(head, length, size);
  char shown[32];

  if (ft_string_ends(file, ".mlmodel"))
    return report_unsupported(file, "a Core ML model", COREML, err);
  if (ft_string_ends(file, ".onnx.data") || ft_string_ends(file, ".onnx_data"))
    return report_unsupported(file, "weights of an ONNX file", "the .onnx file beside them", err);
  for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
    if (length >= magics[i].at + magics[i].length &&
        memcmp(head + magics[i].at, magics[i].magic, magics[i].length) == 0)
      return report_unsupported(file, magics[i].what, magics[i].instead, err);
  if (weights)
    return ft_error_set(err,
                        "%s: byte 0: found %s of weights without a network (safetensors); use "
                        "the config.json beside them, or what %s writes",
                        file, ft_units_show_bytes(weights, shown, sizeof shown), EXPORT);
  if (is_jax(head, length))
    return report_unsupported(file, "a serialised jax.export (StableHLO)", STABLEHLO, err);
  if (is_paddle(head, length))
    return report_unsupported(file, "PaddlePaddle's parameters",
                              "the .json or .pdmodel beside them", err);
  return 0;
}

/* Finds the first file of the directory FD, by name, that ends in END. Returns false if none. */
static bool find_directory_entry(int fd, const char *end, char name[NAME_MAX + 1])
{
  int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *directory = own < 0 ? NULL : fdopendir(own);
  const struct dirent *entry;

  if (!directory) {
    if (own >= 0)
      close(own);
    return false;
  }
  name[0] = '\0';
  for (int i = 0; i < MEMBERS && (entry = readdir(directory)); i++)
    if (entry->d_name[0] != '.' && ft_string_ends(entry->d_name, end) &&
        (!name[0] || strcmp(entry->d_name, name) < 0))
      (void)ft_string_copy(entry->d_name, name, NAME_MAX + 1);
  closedir(directory);
  return name[0];
}

int ft_unsupported_directory(const char *path, int fd, struct ft_error *err)
{
  static const char *const readable[] = { ".onnx", ".pt2", ".pdmodel", ".pb" };
  static const struct {
    const char *end, *what, *instead;
  } contents[] = {
    { "adapter_config.json", "an adapter of a network (PEFT)",
      "the config.json of the network that adapter_config.json names" },
    { "model_index.json", "a pipeline of several networks (diffusers)",
      "what " EXPORT " writes of one of them" },
    { "Manifest.json", "a Core ML package", COREML },
    { ".safetensors", "weights without a network (safetensors)",
      "the config.json that belongs to them" },
    { ".bin", "weights without a network (PyTorch)", "the config.json that belongs to them" },
    { ".gguf", "weights for llama.cpp (GGUF)", "the config.json that they were made with" },
    { ".msgpack", "weights without a network (Flax)", "the config.json that belongs to them" },
    { ".weights.h5", "weights without a network (Keras)", KERAS },
  };
  char name[NAME_MAX + 1];

  for (size_t i = 0; i < sizeof readable / sizeof *readable; i++)
    if (find_directory_entry(fd, readable[i], name))
      return ft_error_set(err,
                          "%s: expected a directory with config.json or saved_model.pb; use "
                          "the file %s in it",
                          path, name);
  for (size_t i = 0; i < sizeof contents / sizeof *contents; i++)
    if (find_directory_entry(fd, contents[i].end, name))
      return ft_error_set(err, "%s: found %s: %s, which is no readable network; use %s", path, name,
                          contents[i].what, contents[i].instead);
  if (find_directory_entry(fd, "", name))
    return ft_error_set(err,
                        "%s: expected a directory with config.json or saved_model.pb; found "
                        "others, such as %s",
                        path, name);
  return ft_error_set(err,
                      "%s: expected a directory with config.json or saved_model.pb; found an "
                      "empty one",
                      path);
}

int ft_unsupported_archive(const struct ft_archive *archive, struct ft_error *err)
{
  bool code = false, pickle = false;
  uint64_t bytes = 0;
  char shown[32];

  for (uint64_t i = 0; i < archive->count; i++) {
    const char *name = ft_archive_name(archive, i), *slash = strchr(name, '/');

    if (strcmp(name, "model.weights.h5") == 0)
      return report_unsupported(archive->file, "a Keras archive", KERAS, err);
    if (strstr(name, "/aotinductor/"))
      return report_unsupported(archive->file, "code compiled by AOTInductor",
                                "what torch.export.save writes of the network", err);
    if (!slash && ft_string_ends(name, ".npy"))
      return report_unsupported(archive->file, "NumPy arrays", "what the framework exports", err);
    code = code || ft_archive_is_code(name);
    pickle = pickle || ft_archive_at_top(name, "data.pkl");
    if (slash && strncmp(slash, "/data/", 6) == 0 && ft_archive_size(archive, i) < UINT64_MAX / 4)
      bytes =
          bytes + ft_archive_size(archive, i) < bytes ? bytes : bytes + ft_archive_size(archive, i);
  }
  for (uint64_t i = 0; !code && !pickle && i < archive->count; i++)
    if (is_model(ft_archive_name(archive, i)))
      return report_unsupported(archive->file, "a zip archive", UNPACKED, err);
  if (code || !pickle)
    return 0;
  return ft_error_set(err,
                      "%s: expected a program, found only weights or a pickled object (%s of "
                      "tensors); use what %s writes",
                      archive->file, ft_units_show_bytes(bytes, shown, sizeof shown), EXPORT);
}
