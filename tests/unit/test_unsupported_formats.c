/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The error for a file without a network names its format and what to pass instead. */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zip.h>

#include "predictor/core/io.h"
#include "predictor/graph/import/read.h"
#include "predictor/graph/ir/graph.h"

static void expect_error(const char *path, const char *what)
{
  struct ft_error err = { "" };

  assert_null(ft_graph_read(path, &err));
  if (strncmp(err.text, path, strlen(path)) != 0 || !strstr(err.text, what) ||
      strchr(err.text, '\n'))
    fail_msg("'%s', expected '%s'", err.text, what);
}

#define FILE_OF(bytes, what)                                                                       \
  {                                                                                                \
    bytes, sizeof bytes - 1, what                                                                  \
  }

static void files_without_a_network_are_named_by_their_format(void **state)
{
  static const struct {
    const char *bytes;
    size_t length;
    const char *says;
  } cases[] = {
    FILE_OF("GGUF\3\0\0\0\1\0\0\0\0\0\0\0",
            "weights for llama.cpp (GGUF), which is no readable network"),
    FILE_OF("\2\0\0\0\0\0\0\0{}12345678", "found 8 B of weights without a network (safetensors)"),
    FILE_OF("\x89HDF\r\n\x1a\n....", "model.export(FOLDER)"),
    FILE_OF("\x1c\0\0\0TFL3....", "TensorFlow Lite"),
    FILE_OF("\x1c\0\0\0ORTM....", "ONNX Runtime's own format"),
    FILE_OF("\x1c\0\0\0ET12....", "ExecuTorch"),
    FILE_OF("ML\xefR....", "StableHLO"),
    FILE_OF("module @jit_f attributes", "MLIR (StableHLO) as text"),
    FILE_OF("<\0\0\0....ML\xefR\rStableHLO_v1.15.0", "jax.export"),
    FILE_OF("\x1f\x8b\x08\0....", "found a file compressed by gzip, which is no readable network; "
                                  "use its contents, unpacked"),
    FILE_OF("BZh91AY", "compressed by bzip2"),
    FILE_OF("\xfd\x37zXZ\0", "compressed by xz"),
    FILE_OF("\x28\xb5\x2f\xfd....", "compressed by zstd"),
    FILE_OF("ftrt....", "TensorRT"),
    FILE_OF("\x7f"
            "ELF\2\1\1",
            "compiled code"),
    FILE_OF("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.", "before 1.6"),
    FILE_OF("\x80\x04\x95\x0f\0\0\0\0\0\0\0",
            "found a Python pickle, which is no readable network"),
    FILE_OF("{\"peft_type\": \"LORA\", \"base_model_name_or_path\": \"org/base\"}",
            "found an adapter (PEFT) of org/base; use the config.json of that network"),
    FILE_OF("{\"metadata\": {}, \"weight_map\": {\"a\": \"model-00001-of-00002.safetensors\"}}",
            "found an index of weights in several files, without a network; use the config.json"),
    FILE_OF("{\"_class_name\": \"UNet2DConditionModel\"}", "networks of diffusers are unsupported"),
    FILE_OF("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\7\0\0\0\x08\5\x10\xe8\7",
            "PaddlePaddle's parameters"),
    FILE_OF("<?xml version=\"1.0\"?><net/>", "OpenVINO"),
    /* a header that is longer than the file: no safetensors */
    FILE_OF("\xff\0\0\0\0\0\0\0{}", "byte 0: expected a model file: ONNX"),
    FILE_OF("", "byte 0: expected a model file: ONNX"),
    FILE_OF("", "or a config.json; found an empty file"),
    FILE_OF("# A project\n\nIts text.\n", "or a config.json; found text"),
    FILE_OF("batch=32\n", "or a config.json; found text"),
    /* valid first fields, then a wire type that does not exist */
    FILE_OF("\x18\x07\x20\x01\x0b", "or a config.json; found binary data of another format"),
    /* a zip archive that was cut */
    FILE_OF("PK\3\4\0\0\0\0\0\0", "a directory at its end: the file is incomplete"),
    /* an ONNX file that was cut names the place */
    FILE_OF("\x08\x07\x3a\x7f\x0a",
            "byte 2: field 7 of 127 bytes, but its message ends at byte 5: the file is incomplete"),
    FILE_OF("/////", "byte 0: expected a model file: ONNX"),
  };
  char path[] = "/tmp/test-unsupported-XXXXXX";
  int fd = mkstemp(path);

  (void)state;
  assert_true(fd >= 0);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_true(lseek(fd, 0, SEEK_SET) == 0);
    assert_int_equal(ft_io_write_all(fd, cases[i].bytes, cases[i].length), 0);
    expect_error(path, cases[i].says);
  }
  unlink(path);
  close(fd);
}

static void directories_without_a_network_are_named_by_their_content(void **state)
{
  static const struct {
    const char *file, *says;
  } cases[] = {
    { NULL, ": expected a directory with config.json or saved_model.pb; found an empty one" },
    { "README.md", "config.json or saved_model.pb; found others, such as README.md" },
    { "net.onnx", "config.json or saved_model.pb; use the file net.onnx in it" },
    { "model.safetensors.index.json", "found others, such as model.safetensors.index.json" },
    { "model-00001-of-00002.safetensors", "use the config.json that belongs to them" },
    { "pytorch_model-00001-of-00002.bin", "weights without a network (PyTorch)" },
    { "llama-q4.gguf", "weights for llama.cpp (GGUF)" },
    { "adapter_config.json", "an adapter of a network (PEFT)" },
    { "model_index.json", "a pipeline of several networks (diffusers)" },
    { "Manifest.json", "a Core ML package" },
    { "model.safetensors", "use the config.json that belongs to them" },
  };
  char folder[] = "/tmp/test-unsupported-XXXXXX", path[64];
  int fd;

  (void)state;
  assert_non_null(mkdtemp(folder));
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    (void)snprintf(path, sizeof path, "%s/%s", folder, cases[i].file ? cases[i].file : "");
    if (cases[i].file)
      assert_int_equal(close(creat(path, 0600)), 0);
    expect_error(folder, cases[i].says);
    if (cases[i].file)
      unlink(path);
  }
  (void)snprintf(path, sizeof path, "%s/net.mlmodel", folder);
  fd = creat(path, 0600);
  assert_int_equal(ft_io_write_all(fd, "\x08\x07\x12\x04", 4), 0);
  assert_int_equal(close(fd), 0);
  expect_error(path, "a Core ML model");
  unlink(path);
  rmdir(folder);
}

static void archives_without_a_network_are_named_by_their_format(void **state)
{
  static const struct {
    const char *members[3], *says;
  } cases[] = {
    { { "metadata.json", "config.json", "model.weights.h5" }, "a Keras archive" },
    { { "net/data/aotinductor/model/c.wrapper.so" }, "compiled by AOTInductor" },
    { { "arr_0.npy" }, "NumPy arrays" },
    { { "net/data.pkl", "net/data/0", "net/data/1" }, "(10 B of tensors)" },
    { { "resnet.onnx" }, "found a zip archive, which is no readable network" },
    { { "llama/README.md", "llama/config.json" }, "found a zip archive" },
    { { "notes.txt" }, "expected a TorchScript archive" },
  };
  char path[] = "/tmp/test-unsupported-XXXXXX";
  int fd = mkstemp(path);

  (void)state;
  assert_true(fd >= 0);
  close(fd);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);

    assert_non_null(zip);
    for (size_t j = 0; j < COUNT_OF(cases[i].members) && cases[i].members[j]; j++)
      assert_true(
          zip_file_add(zip, cases[i].members[j], zip_source_buffer(zip, "12345", 5, 0), 0) >= 0);
    assert_int_equal(zip_close(zip), 0);
    expect_error(path, cases[i].says);
  }
  unlink(path);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(files_without_a_network_are_named_by_their_format),
    cmocka_unit_test(directories_without_a_network_are_named_by_their_content),
    cmocka_unit_test(archives_without_a_network_are_named_by_their_format),
  };

  return cmocka_run_group_tests_name("foreign", tests, NULL, NULL);
}
