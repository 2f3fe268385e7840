/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A union of all records. */
#ifndef FT_TESTS_FUZZ_MESSAGE_H
#define FT_TESTS_FUZZ_MESSAGE_H

#include "predictor/record/record.h"

union fuzz_message {
  ft_submission submission;
  ft_job_array array;
  ft_observation observation;
  ft_model model;
  ft_site site;
  ft_partition partition;
  ft_apps apps;
  ft_announcement announcement;
  ft_answer answer;
  ft_performance performance;
  ft_platforms platforms;
  ft_similar_apps kin;
  ft_prior prior;
  ft_gpus gpus;
  ft_question question;
  ft_reply reply;
  ft_verdicts verdicts;
  ft_jobs_query jobs_query;
  ft_jobs_reply jobs_reply;
  ft_settings_query settings_query;
  ft_settings settings;
  ft_running running;
  ft_usage usage;
  ft_program program;
};

#endif
