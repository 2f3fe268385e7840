/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The accounts of a partition and its memory per GPU, by release of Slurm. */
#include "config.h"

#include "tests/unit/unit.h"

#include "learner/cluster/scontrol.h"
#include "predictor/core/buf.h"
#include "predictor/core/units.h"

/* Returns PARTITION_LINE under a Slurm of VERSION that enforces ENFORCED, with the accounts of
 * assoc_mgr. */
static ft_partition of_accounts(const char *partition_line, const char *version,
                                const char *enforced, const char *accounts)
{
  const struct ft_scontrol_host host = { "vm", "", NULL };
  struct ft_slurm_config config;
  struct ft_error err;
  ft_partition p = { 0 };
  char text[256];
  size_t count = 0;

  (void)snprintf(text, sizeof text,
                 "AccountingStorageEnforce = %s\nClusterName = c\nSLURM_VERSION = %s\n"
                 "JobDefaults = DefCpuPerGPU=2,DefMemPerGPU=700\n",
                 enforced, version);
  if (ft_scontrol_config(ft_text_from(text), &config, &err) < 0 ||
      ft_scontrol_partitions(ft_text_from(partition_line), ft_text_from(""), &config, &host, &p, 1,
                             &count, &err) < 0)
    fail_msg("%s", err.text);
  ft_scontrol_add_subaccounts(ft_text_from(accounts), &p, count);
  return p;
}

static void accounts_below_a_partitions_are_found(void **state)
{
  static const char bio[] = "PartitionName=a AllowAccounts=bio JobDefaults=(null)\n";
  static const char tree[] =
      "Current Association Manager state\n\nAssociation Records\n\n"
      "ClusterName=c Account=root UserName= Partition= ID=1 ParentAccount= Lineage=/ \n"
      "ClusterName=c Account=root UserName=root(0) ID=2 ParentAccount= Lineage=/0-root/ \n"
      "ClusterName=c Account=cell UserName= ID=5 ParentAccount=lab(4) Lineage=/bio/lab/cell/ \n"
      "ClusterName=c Account=Lab UserName= ID=4 ParentAccount=bio(3) Lineage=/bio/lab/ \n"
      "ClusterName=c Account=bio UserName= ID=3 ParentAccount=root(1) Lineage=/bio/ \n"
      "ClusterName=c Account=chem UserName= ID=6 ParentAccount=root(1) Lineage=/chem/ \n"
      "ClusterName=c Account=mine UserName=me(7) ID=7 ParentAccount=bio(3)\n";
  static const struct {
    const char *partition, *version, *enforced, *tree, *names; /* NULL: for all */
    bool open;
  } cases[] = {
    { bio, "22.05.8", "none", tree, "bio", false },
    { bio, "22.05.8", "associations,limits", tree, "bio", false },
    { bio, "23.02.1", "none", tree, NULL, false },
    { bio, "24.11.5", "", tree, NULL, false },
    { bio, "24.11.5", "ASSOCIATIONS,limits,qos", tree, "bio,Lab,cell", false },
    { bio, "24.11.5", "associations", "", "bio", true },
    /* an ordinary user's view */
    { bio, "24.11.5", "associations", "Account=lab UserName= ParentAccount=bio(3)\n", "bio", true },
    { "PartitionName=a DenyAccounts=lab,chem\n", "26.05.3", "associations", tree, "lab,chem,cell",
      false },
    /* root has no parent, and no account has an empty name */
    { "PartitionName=a AllowAccounts=chem,,\n", "24.11.5", "associations", tree, "chem,,", false },
    { "PartitionName=a AllowAccounts=root\n", "24.11.5", "associations", tree,
      "root,bio,chem,Lab,cell", false },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const ft_partition p =
        of_accounts(cases[i].partition, cases[i].version, cases[i].enforced, cases[i].tree);

    assert_int_equal(p.restrictions_count, cases[i].names ? 1 : 0);
    assert_int_equal(p.restricted, cases[i].names != NULL);
    if (!cases[i].names)
      continue;
    assert_string_equal(p.restrictions[0].names, cases[i].names);
    assert_int_equal(p.restrictions[0].open_ended, cases[i].open);
  }
}

static void too_many_accounts_make_the_list_incomplete(void **state)
{
  struct ft_buf tree;
  ft_partition p;

  (void)state;
  ft_buf_init(&tree, 1 << 20);
  assert_int_equal(ft_buf_printf(&tree, "Account=root UserName= ParentAccount=\n"), 0);
  for (int i = 0; i < 300; i++)
    assert_int_equal(
        ft_buf_printf(&tree, "Account=a%d UserName= ParentAccount=%s\n", i, i ? "a0(1)" : "bio(1)"),
        0);
  p = of_accounts("PartitionName=a AllowAccounts=bio\n", "24.11.5", "associations",
                  ft_buf_text(&tree));
  assert_true(p.restrictions[0].open_ended);
  assert_true(strncmp(p.restrictions[0].names, "bio,a0,a1,", 10) == 0);
  assert_true(strlen(p.restrictions[0].names) < sizeof p.restrictions[0].names);
  ft_buf_free(&tree);
}

static void memory_per_gpu_is_the_partitions_or_the_clusters(void **state)
{
  ft_partition p = of_accounts("PartitionName=a JobDefaults=(null)\n", "24.11.5", "", "");

  (void)state;
  assert_true(p.def_mem_per_gpu_bytes == 700 * FT_MIB);
  assert_int_equal(p.def_cpus_per_gpu, 2);
  p = of_accounts("PartitionName=a JobDefaults=DefMemPerGPU=300,DefCpuPerGPU=1\n", "22.05.8", "",
                  "");
  assert_true(p.def_mem_per_gpu_bytes == 300 * FT_MIB);
  assert_int_equal(p.def_cpus_per_gpu, 1);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
    cmocka_unit_test(accounts_below_a_partitions_are_found),
    cmocka_unit_test(too_many_accounts_make_the_list_incomplete),
    cmocka_unit_test(memory_per_gpu_is_the_partitions_or_the_clusters),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
