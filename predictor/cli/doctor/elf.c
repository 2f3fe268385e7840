/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads one number from a shared object: the value of plugin_version. The file is not loaded:
 * loading would run its constructors and needs Slurm's symbols. System V ABI, chapters 4 and 5; 64
 * bits, this machine's byte order.
 */
#include "config.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/cli/doctor/doctor.h"
#include "predictor/core/buf.h"
#include "predictor/core/io.h"

/* Copies SIZE bytes at OFFSET to OUT. Returns false past the end of the file. */
static bool copy_file_bytes(const struct ft_buf *file, uint64_t offset, void *out, size_t size)
{
  if (offset > file->length || size > file->length - offset)
    return false;
  memcpy(out, file->data + offset, size);
  return true;
}

static bool read_section(const struct ft_buf *file, const Elf64_Ehdr *head, uint64_t index,
                         Elf64_Shdr *out)
{
  return index < head->e_shnum && head->e_shoff < file->length &&
         copy_file_bytes(file, head->e_shoff + index * sizeof *out, out, sizeof *out);
}

/* True if the string at OFFSET is WORD. */
static bool string_matches(const struct ft_buf *file, uint64_t offset, const char *word)
{
  char name[32];
  size_t size = strlen(word) + 1;

  return copy_file_bytes(file, offset, name, size) && memcmp(name, word, size) == 0;
}

/* Finds the symbol WORD in the dynamic symbol table; a file has one such table (gABI, chapter
 * 4). */
static bool find_symbol(const struct ft_buf *file, const Elf64_Ehdr *head, const char *word,
                        Elf64_Sym *out)
{
  Elf64_Shdr symbols, names;

  for (unsigned i = 0; i < head->e_shnum; i++) {
    if (!read_section(file, head, i, &symbols) || symbols.sh_type != SHT_DYNSYM)
      continue;
    if (!read_section(file, head, symbols.sh_link, &names) || names.sh_offset > file->length)
      return false;
    for (uint64_t at = 0; at + sizeof *out <= symbols.sh_size; at += sizeof *out)
      if (symbols.sh_offset > file->length ||
          !copy_file_bytes(file, symbols.sh_offset + at, out, sizeof *out))
        return false;
      else if (string_matches(file, names.sh_offset + out->st_name, word))
        return true;
    return false;
  }
  return false;
}

/* Reads the 32-bit value of SYMBOL from its section. */
static bool read_symbol_value(const struct ft_buf *file, const Elf64_Ehdr *head,
                              const Elf64_Sym *symbol, unsigned *value)
{
  Elf64_Shdr section;
  uint32_t number;

  if (!read_section(file, head, symbol->st_shndx, &section) || symbol->st_value < section.sh_addr ||
      section.sh_type == SHT_NOBITS || section.sh_offset > file->length ||
      !copy_file_bytes(file, section.sh_offset + (symbol->st_value - section.sh_addr), &number,
                       sizeof number))
    return false;
  *value = number;
  return true;
}

int ft_plugin_version(const char *path, unsigned *version, struct ft_error *err)
{
  struct ft_buf file;
  struct ft_error why;
  struct stat about;
  Elf64_Ehdr head;
  Elf64_Sym symbol;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), result = -1;

  ft_buf_init(&file, FT_LIMIT_OUTPUT);
  if (fd < 0)
    return ft_error_errno(err, "%s", path);
  if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
    ft_error_set(err, "%s: not a regular file", path);
  else if (ft_io_read_fd(fd, &file, &why) < 0)
    ft_error_set(err, "%s: %s", path, why.text);
  else if (!copy_file_bytes(&file, 0, &head, sizeof head) ||
           memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
           head.e_shentsize != sizeof(Elf64_Shdr))
    ft_error_set(err, "%s: not a shared object of 64 bits", path);
  else if (!find_symbol(&file, &head, "plugin_version", &symbol) ||
           !read_symbol_value(&file, &head, &symbol, version))
    ft_error_set(err, "%s: no symbol plugin_version: not a SPANK plugin", path);
  else
    result = 0;
  close(fd);
  ft_buf_free(&file);
  return result;
}
