/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/estimate/new_apps/common_programs.h"

/* where the documents are */
#define GITHUB "https://github.com/"

/* Only what the named document of the program's authors states, in its units. In order of the
 * names. */
static const struct ft_common_program programs[] = {
  { "STAR", 16e9, 32e9, "for a mammal's genome", GITHUB "alexdobin/STAR/blob/b1edc12/README.md" },
  { "bowtie2", 3.2e9, 3.2e9, "for the human genome",
    GITHUB "BenLangmead/bowtie2/blob/f99fd24/MANUAL.markdown" },
  { "bwa-aln", 3.2e9, 3.2e9, "for short reads and the human genome",
    GITHUB "lh3/bwa/blob/2e9e72d/bwa.1" },
  { "bwa-index", 5e9, 5e9, "for the human genome", GITHUB "lh3/bwa/blob/2e9e72d/bwa.1" },
  { "bwa-mem2-mem", 10e9, 10e9, "for the human genome",
    GITHUB "bwa-mem2/bwa-mem2/blob/97978f9/README.md" },
  { "bwa-sampe", 5.4e9, 5.4e9, "for short reads and the human genome",
    GITHUB "lh3/bwa/blob/2e9e72d/bwa.1" },
  { "flye", 140e9, 450e9, "for a human genome",
    GITHUB "mikolmogorov/Flye/blob/4e5cd79b/docs/FAQ.md" },
  { "gtdbtk-classify_wf", 100e9, 140e9, "for archaea or bacteria, without --full_tree",
    GITHUB "Ecogenomics/GTDBTk/blob/f17dece/docs/src/installing/index.rst" },
  { "hifiasm", 16e9, 16e9, "for its filter at the beginning, without -f",
    GITHUB "chhylp123/hifiasm/blob/ec9a8b2/README.md" },
  { "hisat2-build", 8e9, 200e9, "for the human genome, the most with --snp, --ss or --exon",
    GITHUB "DaehwanKimLab/hisat2/blob/0d24432/MANUAL.markdown" },
  { "kraken2", 29e9, 29e9, "for the default database of 2018",
    GITHUB "DerrickWood/kraken2/blob/6037ef7/docs/MANUAL.markdown" },
};

enum { PROGRAMS = sizeof programs / sizeof *programs };

const struct ft_common_program *ft_common_program_at(size_t i)
{
  return i < PROGRAMS ? &programs[i] : NULL;
}

const struct ft_common_program *ft_common_program_find(const char *program)
{
  size_t length = strcspn(program, "+");

  for (size_t i = 0; i < PROGRAMS; i++)
    if (strlen(programs[i].name) == length && memcmp(programs[i].name, program, length) == 0)
      return &programs[i];
  return NULL;
}
