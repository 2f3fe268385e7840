/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The secrets are invented. One that a repository scanner might report is split into two strings.
 */
#include "config.h"

#include "tests/unit/scratch.h"

#include "predictor/record/secret.h"

struct argument {
  const char *name, *value;
};

static const struct argument secrets[] = {
  /* by name */
  { "--password", "hunter2" },
  { "--passwd", "hunter" },
  { "--db-password", "12345" },
  { "--dbPassword", "correcthorse" },
  { "--passphrase", "open sesame" },
  { "PGPASSWORD", "x" },
  { "MYSQL_PWD", "geheim" },
  { "SSHPASS", "geheim" },
  { "-pass", "geheim" },
  { "--pw", "geheim" },
  { "--token", "abcdef" },
  { "--hf-token", "abcdef" },
  { "HF_TOKEN", "abcdef" },
  { "--authtoken", "abcdef" },
  { "--api-key", "sk-LIVE-1" },
  { "--apikey", "abcdef" },
  { "--apiKey", "abcdef" },
  { "WANDB_API_KEY", "local" },
  { "AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI" },
  { "--client_secret", "abcdef" },
  { "--auth", "ada:hunter2" },
  { "--oauth", "abcdef" },
  { "--credentials", "ada" },
  { "--bearer", "abcdef" },
  { "--session-cookie", "abcdef" },
  { "--jwt", "abcdef" },
  { "--otp", "123456" },
  { "--signature", "abcdef" },
  { "--token", "123456" },
  { "--license-key", "ABCD-EFGH-IJKL" },
  { "--pat", "abcdef" },
  { "--github-pat", "abcdef" },
  { "--session", "abcdef" },
  { "--session-id", "1234567" },
  { "PHPSESSID", "abcdef" },
  { "--hmac", "abcdef" },
  { "--hmac-key", "abcdef" },
  { "--unlock", "abcdef" },
  { "--webhook", "abcdef" },
  /* by name, in other languages */
  { "--kennwort", "hunter" },
  { "--Passwort", "hunter" },
  { "--losungswort", "hunter" },
  { "--geheimnis", "hunter" },
  { "--schlüssel", "hunter" },
  { "--mot-de-passe", "hunter" },
  { "--motdepasse", "hunter" },
  { "--mdp", "hunter" },
  { "--clé", "hunter" },
  { "--contraseña", "hunter" },
  { "--contrasena", "hunter" },
  { "--clave", "hunter" },
  { "--senha", "hunter" },
  { "--palavra-passe", "hunter" },
  { "--parola", "hunter" },
  { "--chiave", "hunter" },
  { "--segreto", "hunter" },
  { "--wachtwoord", "hunter" },
  { "--lösenord", "hunter" },
  { "--passord", "hunter" },
  { "--adgangskode", "hunter" },
  { "--salasana", "hunter" },
  { "--hasło", "hunter" },
  { "--heslo", "hunter" },
  { "--jelszó", "hunter" },
  { "--şifre", "hunter" },
  { "--lozinka", "hunter" },
  { "--пароль", "hunter" },
  /* numbers by name */
  { "--pin", "4711" },
  { "PIN", "471112" },
  { "--mfa", "123456" },
  { "--mfa-code", "123456" },
  { "--code", "123456" },
  { "--verification_code", "12 34 56" },
  { "--tan", "123456" },
  { "--ssn", "123456789" },
  { "--ssn", "123-45-6789" },
  { "--card", "4111111111111111" },
  { "--card-number", "4111 1111 1111 1111" },
  { "--cvv", "123" },
  { "--iban", "DE89370400440532013000" },
  { "--unlock", "4711" },
  { "--pw", "4711" },
  { "--geheimzahl", "4711" },
  /* a user with a password */
  { "--user", "ada:hunter22" },
  { "-u", "ada:hunter22" },
  { "--user", "ada:hunter" },
  { "--user", "ada:123456" },
  { "--http-user", "ada:hunter22" },
  { "--username", "ada%hunter22" },
  { "--login", "ada:hunter22" },
  { "--userid", "scott/tiger@orcl" },
  { "--proxy", "ada:hunter22" },
  { "--remote", "ada:hunter22" },
  { "--db", "ada:hunter22" },
  { "--benutzer", "ada:hunter22" },
  { "--utilisateur", "ada:hunter22" },
  { "--x", "ada:hunter22@host" },
  { "--x", "ada:hunter22@host:8080/x" },
  /* by prefix */
  { "--x", "sk-"
           "proj-T3BlbkFJ0a1b2c3d4e5f6g7h" },
  { "--x", "sk_live_"
           "4eC39HqLyjWDarjtT1zdp7dc" },
  { "--x", "ghp_"
           "16C7e42F292c6912E7710c838347Ae178B4a" },
  { "--x", "github_pat_"
           "11ABCDEFG0123456789_abcdefghij" },
  { "--x", "glpat-"
           "a1B2c3D4e5F6g7H8i9J0" },
  { "--x", "xoxb-"
           "123456789012-abcdefABCDEF" },
  { "--x", "AKIA"
           "IOSFODNN7EXAMPLE" },
  { "--x", "ASIA"
           "Y34FZKBOKMUTVV7A" },
  { "--x", "AIza"
           "SyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe" },
  { "--x", "hf_"
           "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH" },
  { "--x", "npm_"
           "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" },
  { "--x", "dckr_pat_"
           "a1B2c3D4e5F6g7H8i9J0k1L2m3N" },
  { "--x", "hvs."
           "CAESIJ3x2a1b4c5d6e7f8g9h0" },
  { "--x", "SG."
           "ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc-1s5cr" },
  { "--x", "nvapi-"
           "a1B2c3D4e5F6g7H8i9J0" },
  { "--x", "run-ghp_"
           "16C7e42F292c6912E7710c838347Ae178B4a" },
  { "--x", "xoxc-"
           "123456789012-abcdef" },
  { "--x", "xoxd-"
           "abcdefABCDEF%2Bx" },
  { "--x", "SK"
           "8f14e45fceea167a5a36dedd4bea2543" },
  { "--x", "ATCTT3"
           "xFfGN0a1B2c3D4e5F6g7H8i9" },
  { "--x", "dp.pt."
           "a1B2c3D4e5F6g7H8i9J0" },
  { "--x", "dckr_oat_"
           "a1B2c3D4e5F6g7H8i9J0" },
  { "--x", "xkeysib-"
           "a1b2c3d4e5f6a7b8" },
  { "--x", "IQoJb3JpZ2lu"
           "X2VjEPT1a2b3c4d5" },
  { "--x", "https://hooks.slack.com/services/T"
           "00000000/B00000000/abc" },
  /* by form */
  { "--x", "https://h.example/b?sv=1&sig=abcdef%3D" },
  { "--x", "https://h.example/b?X-Amz-Signature=abcdef" },
  { "--x", "https://h.example/b?hmac=abcdef" },
  { "--x", "https://h.example/b?code=12345678" },
  { "--x", "https://h.example/b.bam?t=q7Xv2LpZ9sKd4RtYb1Wm" },
  { "--x", "{\"password\": \"hunter\"}" },
  { "--x", "{\"n\": 3, \"pin\" : 4711}" },
  { "--x", "password = hunter" },
  { "--x", "password <- 'hunter'" },
  { "--x", "password := hunter" },
  { "--x", "password => hunter" },
  { "--x",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w" },
  { "--x", "-----BEGIN OPENSSH PRIVATE KEY-----" },
  { "--x", "postgres://ada:hunter2@db/x" },
  { "--x", "https://a1b2c3d4e5f6a7b8c9d0@git.example/x.git" },
  { "--x", "https://example.org/x?user=a&token=abcdefgh" },
  { "--x", "Server=db;Uid=ada;Password=hunter2" },
  { "-H", "Authorization: Bearer abcdef" },
  { "--env", "DB_PASSWORD=hunter2" },
  { "--x", "pass:hunter2" },
  /* random */
  { "--x", "8f14e45fceea167a5a36dedd4bea2543" },
  { "--x", "356a192b7913b04c54574d18c28d46e6395428ab" },
  { "--x", "q7Xv2LpZ9sKd4RtYb1Wm" },
  { "--x", "k3j9x2m4q8w7e1r5t6y0" },
  { "--x", "hT7kQ2/vB9+xZ4mN8pL1sD6wY3cF5gJ0aR2eU7iO" },
  { "--x", "dGhpcyBpcyBhIHNlY3JldCB0b2tlbiAxMjM0NQ==" },
  { "--x", "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs" },
  { "ghp_"
    "16C7e42F292c6912E7710c838347Ae178B4a",
    "yes" },
};

static const struct argument harmless[] = {
  { "--batch", "32" },
  { "--arch", "resnet50" },
  { "--model", "meta-llama/Llama-2-7b-hf" },
  { "--model", "bert-large-uncased-whole-word-masking-finetuned-squad" },
  { "--model", "facebook/wav2vec2-large-960h-lv60-self" },
  { "--model", "Qwen2.5-Coder-7B-Instruct-GPTQ-Int4" },
  { "--model", "vit_large_patch14_clip_quickgelu_336" },
  { "--model", "sk-learn-random-forest" },
  { "--model", "MultiHeadAttentionTransformerEncoderLayer" },
  { "--data", "/data/ada/d41d8cd98f00b204e9800998ecf8427e.bin" },
  { "--data", "work/3f/2a9c8d7e6b5a4f3e2d1c0b9a8f7e6d/x.bam" },
  { "--data", "../runs/NA12878_S1_L001_R1_001.fastq.gz" },
  { "--data", "https://example.org/a/b.tar.gz?n=3" },
  { "--repo", "git@github.com:ada/x.git" },
  { "--repo", "ssh://git@github.com/ada/x.git" },
  { "--db", "postgres://ada@db/x" },
  { "--run", "f3b5d2ee-7ae4-4e18-a2f8-9d1c0b7a6e54" },
  { "--date", "2026-11-22T15:02:37Z" },
  { "--date", "20261122T150237Z" },
  { "--lr", "1e-3" },
  { "--number", "123456789012345678901234567890" },
  { "--sample", "NA12878" },
  { "--sample", "SRR12345678" },
  { "--size", "224x224x3x64" },
  { "--range", "chr1:1000000-2000000" },
  { "--commit", "66338cb" },
  { "--image", "repo/x@sha256:8f14e45fceea167a5a36dedd4bea25438f14e45fceea167a5a36dedd4bea2543" },
  { "--max-tokens", "4096" },
  { "--max_new_tokens", "text" },
  { "--tokens", "300000000000" },
  { "--token-count", "128" },
  { "--tokenizer", "bpe" },
  { "--tokenize", "yes" },
  { "--token", "2048" },
  { "--keyframes", "many" },
  { "--monkey", "bonobo" },
  { "--key-size", "large" },
  { "--sort-key", "name" },
  { "--key", "2" },
  { "--num_key_value_heads", "8" },
  { "--keys", "100000000" },
  { "--pass", "2" },
  { "--bypass", "all" },
  { "--high-pass", "strong" },
  { "--compass", "north" },
  { "--author", "ada" },
  { "--auth", "none" },
  { "--use-auth-token", "false" },
  { "--key", "/home/ada/keys/id" },
  { "--pat", "10" },
  { "--pattern", "random" },
  { "--patience", "10" },
  { "--session", "4" },
  { "--session-count", "4" },
  { "--session-timeout", "864000" },
  { "--sessions", "100000" },
  { "--hmac", "sha256" },
  { "--unlock", "yes" },
  { "--sig", "0.05" },
  { "--pin", "on" },
  { "-pin", "auto" },
  { "--pin", "cores" },
  { "--pin", "1" },
  { "-pinoffset", "128" },
  { "--pin-memory", "65536" },
  { "--code", "aes" },
  { "--code", "3" },
  { "--code", "0.57735" },
  { "--code-size", "65536" },
  { "--code", "/home/ada/code/v2024/main" },
  { "--encoder", "1234" },
  { "--exit-code", "1234" },
  { "--genetic-code", "1111" },
  { "--barcode", "12345678" },
  { "--tan", "0.57735" },
  { "--tan", "45" },
  { "--tangent", "123456" },
  { "--card", "0" },
  { "--cardinality", "123456" },
  { "--num-cards", "4" },
  { "--mfa", "no" },
  { "--user", "ada" },
  { "--user", "1000:1000" },
  { "--users", "123456" },
  { "--login", "node01" },
  { "--server", "node01:29500" },
  { "--proxy", "node01:3128" },
  { "--remote", "host:/data/v20240101" },
  { "--db", "nt:2024" },
  { "--http", "0.0.0.0:8080" },
  { "--image", "ubuntu:22.04" },
  { "--image", "nvcr.io/nvidia/pytorch:24.01-py3" },
  { "--image", "x:v1@sha256:8f14e45fceea167a5a36dedd4bea25438f14e45fceea167a5a36dedd4bea2543" },
  { "--gres", "gpu:a100:2" },
  { "--device", "cuda:0" },
  { "--model", "timm:resnet50" },
  { "--model", "jina_embeddings_v2_base_en" },
  { "--time", "12:30:00" },
  { "--mail", "ada@example.org" },
  { "--expr", "x <- 3" },
  { "--json", "{\"n\": 3, \"mode\": \"dense\"}" },
  { "--data", "https://example.org/a.bam?version=20240101&format=bam" },
  { "--optimizer", "SKAdamWithDecoupledWeightDecay2" },
  { "--metric", "ops_per_second_of_gpu_0" },
  { "--secret", "" },
  { "--mode", "sparse" },
  { "--host", "node01:29500" },
  { "--mount", "/data:/mnt:ro" },
  { "--define", "x=3,y=4" },
};

static void secrets_are_recognised(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT_OF(secrets); i++)
    if (!ft_secret_argument(secrets[i].name, secrets[i].value, NULL))
      fail_msg("%s %s is taken for harmless", secrets[i].name, secrets[i].value);
}

static void harmless_values_are_no_secrets(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT_OF(harmless); i++)
    if (ft_secret_argument(harmless[i].name, harmless[i].value, NULL))
      fail_msg("%s %s is taken for a secret", harmless[i].name, harmless[i].value);
}

static void names_of_jobs_are_no_hiding_place(void **state)
{
  static const char *const secret[] = { "train-pin-4711",    "password_hunter22",
                                        "run-secret-abc123", "kennwort.hunter22",
                                        "login code 123456", "token=hunter",
                                        "x-ada:hunter22@h",  "tan-123456" };
  static const char *const plain[] = { "train-2024-11-27",
                                       "token-classification-3",
                                       "password-bench-2",
                                       "secret-santa",
                                       "exit-code-1234",
                                       "max-tokens-4096",
                                       "pw-relax12",
                                       "resnet50_b32",
                                       "nf-ALIGN_(NA12878)",
                                       "code-size-4096",
                                       "pin",
                                       "card-0",
                                       "" };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(secret); i++)
    if (!ft_secret_label(secret[i]))
      fail_msg("%s is taken for harmless", secret[i]);
  for (size_t i = 0; i < COUNT_OF(plain); i++)
    if (ft_secret_label(plain[i]))
      fail_msg("%s is taken for a secret", plain[i]);
}

static void the_site_lists_names_of_secrets(void **state)
{
  const struct ft_secret_rules rules = { "auth, --api-key,build", "patient,sample_id" };

  (void)state;
  assert_false(ft_secret_argument("--auth", "simple", &rules));
  assert_false(ft_secret_argument("API_KEY", "simple", &rules));
  assert_false(ft_secret_argument("--build", "8f14e45fceea167a5a36dedd4bea2543", &rules));
  /* a value with a known form is always a secret */
  assert_true(ft_secret_argument("--auth",
                                 "ghp_"
                                 "16C7e42F292c6912E7710c838347Ae178B4a",
                                 &rules));
  assert_true(ft_secret_argument("--auth-x", "simple", &rules));
  assert_true(ft_secret_argument("--patient", "3", &rules));
  assert_true(ft_secret_argument("Sample-ID", "NA12878", &rules));
  assert_false(ft_secret_argument("--patients", "3", &rules));
}

static void long_and_unusual_values_are_read_up_to_a_limit(void **state)
{
  static char text[4096];

  (void)state;
  memset(text, '=', sizeof text - 1);
  assert_false(ft_secret_value(text));
  memset(text, 'a', sizeof text - 1);
  assert_false(ft_secret_value(text));
  assert_false(ft_secret_argument(text, "3", NULL));
  assert_false(ft_secret_value(""));
  assert_false(ft_secret_value("\xff\xfe:\x01"));
  assert_false(ft_secret_argument("", "", NULL));
  assert_false(ft_secret_argument("---", "x", &(struct ft_secret_rules){ ",,-", "" }));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(secrets_are_recognised),
    cmocka_unit_test(harmless_values_are_no_secrets),
    cmocka_unit_test(names_of_jobs_are_no_hiding_place),
    cmocka_unit_test(the_site_lists_names_of_secrets),
    cmocka_unit_test(long_and_unusual_values_are_read_up_to_a_limit),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
