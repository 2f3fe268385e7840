/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every key of the policy, one row each, in the order of foretell.conf(5). policy_keys.c makes the
 * defaults and ft_policy_keys of it, tests/docs/check-policy --write the list of foretell.conf(5)
 * and the comments of etc/foretell.conf. The columns are
 *
 *   name in foretell.conf; field of ft_policy; type (FT_POLICY_*); minimum, maximum, default;
 *   merge (FT_MERGE_*); comment of etc/foretell.conf; lines of foretell.conf(5), where RANGE stands
 *   for minimum and maximum. The line with the default is added.
 *
 * A mode has a row of its own kind, because it has no has_ field: FT_MODE_UNSET is unset.
 *
 * No include guard: whoever includes this defines POLICY_KEY and POLICY_MODE.
 */
/* clang-format off */
POLICY_MODE(mode, mode, MODE, FT_MODE_OFF, FT_MODE_TRIM, FT_MODE_OFF, MODE,
  "Jobs without --predict-mem get this mode: off, check, set, raise or trim.",
  "The mode of jobs without",
  ".Fl -predict-mem ;",
  ".Xr foretell-spank 7",
  "describes the modes.")
POLICY_KEY(min_runs, min_runs, COUNT, 1, 100000, 5, LARGEST,
  "An app with fewer completed runs gets no estimate of its own.",
  "Number of completed runs from which on an app has an estimate of its own, RANGE.")
POLICY_KEY(trim_runs, trim_runs, COUNT, 1, 100000, 20, LARGEST,
  "No job of an app with fewer completed runs gets less than without foretell.",
  "Number of completed runs from which on a job can get less than without foretell, RANGE.")
POLICY_KEY(oom_probability, oom_probability, NUMBER, 1e-6, 0.5, 0.01, SMALLEST,
  "Requests that foretell sets aim at this probability of running out of memory.",
  "The probability of running out of memory for which requests are sized, RANGE.",
  "A MIG slice that",
  ".Fl -predict-mig",
  "chooses holds the network with a probability of 1 less this, or 1 less",
  ".Ic reject_probability",
  "if that is smaller.")
POLICY_KEY(reject_probability, reject_probability, NUMBER, 0, 1, 0, SMALLEST_ABOVE_0,
  "A job that runs out of memory with a higher probability is rejected, in every mode; 0 rejects none.",
  "The probability of running out of memory above which a job is rejected, in every",
  ".Ic mode ,",
  ".Cm off",
  "included; 0: never.",
  "A rejection needs more evidence, see Rejection in",
  ".Xr foretell-spank 7 .",
  "It takes effect if",
  ".Pa plugstack.conf",
  "lists the plugin as required.")
POLICY_KEY(force, force, SWITCH, false, true, true, IF_ALL,
  "--predict-mem=force submits a job that would be rejected, and the report counts it.",
  "Whether",
  ".Fl -predict-mem Ns = Ns Cm force",
  "submits a job that would be rejected.",
  ".Xr foretell-report 1",
  "counts these jobs and the rejected ones.")
POLICY_KEY(floor, floor_bytes, BYTES, 0, 0x1p50, 100 * FT_MIB, LARGEST,
  "foretell never sets less than this.",
  "Smallest request that foretell sets.")
POLICY_KEY(round, round_bytes, BYTES, 0x1p20, 0x1p40, 100 * FT_MIB, LARGEST,
  "Requests are multiples of this.",
  "Requests are multiples of this, RANGE.")
POLICY_KEY(trim_factor, trim_factor, NUMBER, 1, 1000, 2, LARGEST,
  "A request above this multiple of the need counts as far too high.",
  "A request above this multiple of the recommended amount counts as far too high, RANGE.")
POLICY_KEY(quiet, quiet, SWITCH, false, true, false, IF_ALL,
  "foretell prints nothing unless it changes the job.",
  "Print a message only if the job is changed or rejected.")
POLICY_KEY(failure_price, failure_price, NUMBER, 0, 1e6, 1.1, LARGEST,
  "This is the cost of running out of memory; the part above 1 counts in gigabyte-minutes.",
  "Cost of running out of memory, RANGE.",
  "Up to 1: this fraction of (allocated memory times duration of the attempt).",
  "Above 1: all of it, plus the excess over 1 in gigabyte-minutes.",
  "Requests minimise the expected sum of this cost and of (unused memory times duration).",
  "Set 10 or more if a failed night is expensive; keep the default if workflows retry by themselves.",
  "The default's excess of 0.1 gigabyte-minutes makes failures of small jobs more expensive.",
  "The learner weights the ensemble's members by the site's own price, and rebuilds the models when it changes; a price in a",
  "section applies to the size of its jobs.")
POLICY_KEY(borrow, borrow, SWITCH, false, true, true, IF_ALL,
  "An app with too few runs gets an estimate from similar apps.",
  "Whether an app with fewer completed runs than",
  ".Ic min_runs",
  "gets an estimate from similar apps of the same user and from the needs of all the site's apps.",
  "Such an estimate is wide; it rejects no job and makes none smaller.")
POLICY_KEY(other_users, other_users, SWITCH, false, true, true, IF_ALL,
  "The message about a new app has what the runs of its program by at least five other users needed.",
  "Whether the message about an app without a run has what the runs of its program by other users needed: the quartiles",
  "over at least five users, rounded.",
  "No job is changed by it.",
  "With",
  ".Cm no",
  "for the whole site, the learner keeps no such figures.")
POLICY_KEY(ceiling_factor, ceiling_factor, NUMBER, 1, 1000, 2, SMALLEST,
  "Few or unlike runs set at most this multiple of what they needed.",
  "Thin evidence (fewer than",
  ".Ic min_runs",
  "runs, borrowed or extrapolated) sets at most this multiple of the largest peak or bound in it, RANGE; see Rules in",
  ".Xr foretell-spank 7 .")
POLICY_KEY(leak_runs, leak_runs, COUNT, 0, 1000, 5, SMALLEST_ABOVE_0,
  "An app that was killed at this many growing limits, one after the other, may leak memory and gets no more.",
  "An app that was killed at this many increasing limits, one after the other, and never completed near them, may leak",
  "memory: its memory is no longer set.",
  "0: the rule is off.")
POLICY_MODE(time_mode, time_mode, MODE, FT_MODE_OFF, FT_MODE_TRIM, FT_MODE_OFF, MODE,
  "Jobs without --predict-time get this mode for their time limit: off, check, set, raise or trim.",
  "The mode for the time limit of jobs without",
  ".Fl -predict-time ;",
  ".Xr foretell-spank 7",
  "describes the modes.",
  "In another mode than",
  ".Cm off",
  "a job whose time limit comparable runs all exceeded can be rejected as one with too little memory, by",
  ".Ic reject_probability .")
POLICY_KEY(timeout_probability, timeout_probability, NUMBER, 1e-6, 0.5, 0.01, SMALLEST,
  "Time limits that foretell sets aim at this probability of a timeout.",
  "The probability of a timeout for which time limits are set, RANGE.")
/* clang-format on */
