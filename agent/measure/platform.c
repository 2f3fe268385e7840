/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The node's fingerprint, from hwloc: the same line on all nodes of one type, so that their runs
 * can be compared. Only packages, cores, L3 caches and memory are loaded, and the topology is freed
 * at once.
 */
#include "config.h"

#include <hwloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/measure/measure.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"

static int load_topology(hwloc_topology_t *topology, struct ft_error *err)
{
  static const hwloc_obj_type_t kept[] = { HWLOC_OBJ_PACKAGE, HWLOC_OBJ_CORE, HWLOC_OBJ_L3CACHE };

  if (hwloc_topology_init(topology) < 0)
    return ft_error_set(err, "hwloc: out of memory");
  hwloc_topology_set_all_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    hwloc_topology_set_type_filter(*topology, kept[i], HWLOC_TYPE_FILTER_KEEP_ALL);
  /* the whole node, not the part in the agent's cgroup */
  hwloc_topology_set_flags(*topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  /* the x86 component would bind the process to each processor in turn to run cpuid */
  hwloc_topology_set_components(*topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  if (hwloc_topology_load(*topology) == 0)
    return 0;
  ft_error_errno(err, "hwloc cannot read this machine's topology");
  hwloc_topology_destroy(*topology);
  return -1;
}

/* Whether WORD of a processor's name is redundant beside its model number. */
static bool is_filler(struct ft_text word)
{
  size_t length = ft_text_left(&word);

  return ft_text_equals(word, "CPU") || ft_text_equals(word, "Processor") ||
         (length > 5 && memcmp(word.end - 5, "-Core", 5) == 0);
}

/* Shortens "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz" to "Intel Xeon Gold 6130". */
static void tidy_model(const char *name, char *out, size_t size)
{
  struct ft_text text = ft_text_from(name), word;
  size_t used = 0;

  out[0] = 0;
  while (ft_text_word(&text, &word) && !ft_text_equals(word, "@")) {
    const char *mark = memchr(word.at, '(', ft_text_left(&word));
    int length;

    if (mark && mark > word.at)
      word.end = mark;
    if (is_filler(word))
      continue;
    length = snprintf(out + used, size - used, "%s%.*s", used ? " " : "", (int)ft_text_left(&word),
                      word.at);
    if (length < 0 || (size_t)length >= size - used)
      return;
    used += (size_t)length;
  }
}

/* Writes the processor's name, or its ID numbers where the kernel has no name (arm64). */
static void model_of(hwloc_topology_t topology, char *out, size_t size)
{
  hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  hwloc_obj_t from = package ? package : hwloc_get_root_obj(topology);
  const char *name = hwloc_obj_get_info_by_name(from, "CPUModel");
  const char *vendor = hwloc_obj_get_info_by_name(from, "CPUImplementer");
  const char *part = hwloc_obj_get_info_by_name(from, "CPUPart");
  const char *machine = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "Architecture");
  struct utsname names;

  if (name)
    tidy_model(name, out, size);
  else if (vendor && part)
    snprintf(out, size, "%s implementer %s part %s", machine ? machine : "arm64", vendor, part);
  else if (machine)
    snprintf(out, size, "%s", machine);
  else
    snprintf(out, size, "%s", uname(&names) == 0 ? names.machine : "unknown processor");
}

/*
 * Returns the installed memory: BYTES, from which the kernel has reserved a part that depends on
 * its version, rounded up to eighths of a power of two, the steps of memory modules.
 */
static uint64_t installed_bytes(uint64_t bytes)
{
  uint64_t step = 1;

  while (bytes / step >= 16)
    step *= 2;
  return (bytes + step - 1) / step * step;
}

/*
 * Returns the memory in bytes: the kernel's total on this machine, because hwloc's sum over NUMA
 * nodes lacks memory that was added to a virtual machine later.
 */
static uint64_t memory_of(hwloc_topology_t topology)
{
  uint64_t bytes = hwloc_get_root_obj(topology)->total_memory;
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  uint64_t physical = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;

  return hwloc_topology_is_thissystem(topology) && physical > bytes ? physical : bytes;
}

static unsigned count_of(hwloc_topology_t topology, hwloc_obj_type_t type)
{
  int count = hwloc_get_nbobjs_by_type(topology, type);

  return count > 0 ? (unsigned)count : 0;
}

static void put_part(char *out, size_t size, const char *separator, const char *part)
{
  size_t used = strlen(out);

  snprintf(out + used, size - used, "%s%s", separator, part);
}

static void put_count(char *out, size_t size, const char *separator, unsigned count,
                      const char *one, const char *many)
{
  char part[48];

  snprintf(part, sizeof part, "%u %s", count, count == 1 ? one : many);
  put_part(out, size, separator, part);
}

int ft_platform_fingerprint(char *out, size_t size, struct ft_error *err)
{
  hwloc_topology_t topology;
  hwloc_obj_t cache;
  unsigned packages, cores, threads;
  uint64_t memory;
  char part[48], shown[32];

  if (size)
    out[0] = 0;
  if (load_topology(&topology, err) < 0)
    return -1;
  model_of(topology, out, size);
  packages = count_of(topology, HWLOC_OBJ_PACKAGE);
  threads = count_of(topology, HWLOC_OBJ_PU);
  cores = count_of(topology, HWLOC_OBJ_CORE);
  cores = cores ? cores : threads;
  put_count(out, size, "; ", packages ? packages : 1, "package", "packages");
  put_count(out, size, ", ", cores, "core", "cores");
  if (cores && threads > cores)
    put_count(out, size, ", ", (threads + cores - 1) / cores, "thread a core", "threads a core");
  cache = hwloc_get_obj_by_type(topology, HWLOC_OBJ_L3CACHE, 0);
  if (cache && cache->attr->cache.size) {
    snprintf(part, sizeof part, "L3 %s",
             ft_units_show_bytes(cache->attr->cache.size, shown, sizeof shown));
    put_part(out, size, "; ", part);
  }
  memory = memory_of(topology);
  if (memory)
    put_part(out, size, "; ", ft_units_show_bytes(installed_bytes(memory), shown, sizeof shown));
  hwloc_topology_destroy(topology);
  return 0;
}
