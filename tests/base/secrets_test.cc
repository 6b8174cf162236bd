// SPDX-License-Identifier: Apache-2.0
#include "base/secrets.h"

#include <time.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/source_folder.h"
#include "tests/tiers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace xlatrace {
namespace {

// Keys are put together here, so that no scanner takes this file for a leak.
const std::string kLetters = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3";

std::string Masked(const std::string& text) { return WithoutSecrets(text).value_or(text); }

TEST(SecretsTest, ValuesOfSecretNamesAreMasked) {
  EXPECT_EQ(Masked("train.py --api_key=abc123 --steps=3"), "train.py --api_key=*** --steps=3");
  EXPECT_EQ(Masked("train.py --api-key abc123 --steps 3"), "train.py --api-key *** --steps 3");
  EXPECT_EQ(Masked("WANDB_API_KEY=abc123 python x.py"), "WANDB_API_KEY=*** python x.py");
  EXPECT_EQ(Masked("HF_TOKEN=abcdef"), "HF_TOKEN=***");
  EXPECT_EQ(Masked("SSH_KEY=abcdef DB_PASSWORD1=x"), "SSH_KEY=*** DB_PASSWORD1=***");
  EXPECT_EQ(Masked("--db.password='with blanks' --token q"), "--db.password='***' --token ***");
  EXPECT_EQ(Masked(R"({"password": "a\"b", "user": "me"})"),
            R"({"password": "***", "user": "me"})");
  EXPECT_EQ(Masked(R"({\"clientSecret\":\"abc\",\"n\":1})"),
            R"({\"clientSecret\":\"***\",\"n\":1})");
  EXPECT_EQ(Masked("Authorization: Bearer abc.def-ghi\nHost: x"),
            "Authorization: Bearer ***\nHost: x");
  EXPECT_EQ(Masked("token=a1b2c3d4e5f6"), "token=***");
}

TEST(SecretsTest, KeysOfServicesAreMaskedAnywhere) {
  const std::string upper = "ABCDEFGH12345678";
  for (const std::string& key :
       {"AKIA" + upper, "ASIA" + upper, "ghp_" + kLetters, "github_pat_" + kLetters,
        "hf_" + kLetters, "sk-" + kLetters, "sk-proj-" + kLetters, "xoxb-" + kLetters,
        "AIza" + kLetters.substr(0, 35), "glpat-" + kLetters, "npm_" + kLetters,
        "eyJ" + kLetters + ".eyJ" + kLetters + "." + kLetters}) {
    EXPECT_EQ(Masked(key), "***");
    EXPECT_EQ(Masked("step (" + key + ") of run"), "step (***) of run");
    EXPECT_EQ(Masked("/data/" + key), "/data/***");
    EXPECT_EQ(FindSecrets(key + " and " + key).size(), 2U) << key;
  }
  EXPECT_EQ(Masked("https://me:pa55@host/x?y"), "https://me:***@host/x?y");
  EXPECT_EQ(Masked("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"),
            "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----");
}

TEST(SecretsTest, OutputOfModelsAndCompilersIsNotMasked) {
  for (const char* text : {"",
                           "=",
                           "token",
                           "token=",
                           "--token",
                           "--tokens=4096",
                           "max_token=2048",
                           "--num-token 12",
                           "tokenizer=llama3_8b",
                           "jit(f)/embed/token=embedding",
                           "PRNG_KEY",
                           "rng_key=u32[2]{0}",
                           "%after-all.1 = token[] after-all()",
                           "random_key: u32[2]",
                           "key=value12345678",
                           "dropout_key=abc123def456",
                           "std::token::Value1234567",
                           "HF_TOKEN=$HF_TOKEN",
                           "HF_TOKEN=***",
                           "--use-token=true",
                           "HF_TOKEN_PATH=/home/me/t0ken",
                           "PWD=/home/me",
                           "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
                           "loop_multiply_fusion_12",
                           "fingerprint=5f4dcc3b5aa765d61d8327deb882cf99",
                           "sha256:9f86d081884c7d659a2feaa0c55ad015",
                           "hf_attention_layer_norm_backward_kernel_v2",
                           "sk-learn",
                           "task-1234567890abcdefghij",
                           "http://host:8080/x",
                           "https://user@host",
                           "ssh://git@github.com:22/x",
                           "eyJ.eyJ.x",
                           "void cutlass::Kernel<cutlass_80_tensorop_s16816gemm>(Params)",
                           "a==b",
                           "AKIA1234",
                           "_ZN7AKIAABCDEFGH12345678Ev",
                           "token=forward_embedding"}) {
    EXPECT_FALSE(WithoutSecrets(text)) << text << " -> " << Masked(text);
  }
}

// A run.db that lost it would be taken for one of another job, and set aside.
TEST(SecretsTest, TokenOfARecordingIsNotMasked) {
  EXPECT_TRUE(FindSecrets("recording_token=5f3a09c1d2e4b687").empty());
  EXPECT_FALSE(FindSecrets("my_recording_token=5f3a09c1d2e4b687").empty());
}

TEST(SecretsTest, MaskingAgainChangesNothing) {
  const std::string once =
      Masked("HF_TOKEN=abc --password x https://a:b1@c sk-" + kLetters + " {\"secret\": \"x\"}");
  EXPECT_EQ(once, "HF_TOKEN=*** --password *** https://a:***@c *** {\"secret\": \"***\"}");
  EXPECT_FALSE(WithoutSecrets(once));
}

// Seconds that this thread has worked: what else runs on the machine is not in it.
double WorkedSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Each text would take minutes if it were scanned again from every place. One pass over 4 MB takes
// a few hundredths of a second, some tenths under a sanitizer. The square is 10^13 bytes.
TEST(SecretsTest, LongHostileTextsAreReadOnce) {
  const size_t size = static_cast<size_t>(Repetitions(1, 4)) << 20;
  for (const std::string part : {"token=\"\\\"", "sk-", "eyJaaaaaaaaaa.", "://", "--token ",
                                 "-----BEGIN PRIVATE KEY", "password=\"", "a", "=", "token:'"}) {
    SCOPED_TRACE(part);
    std::string text;
    while (text.size() < size) text += part;
    const double before = WorkedSeconds();
    const std::vector<SecretPlace> places = FindSecrets(text);
    EXPECT_LT(WorkedSeconds() - before, 30.0);
    size_t end = 0;
    for (const SecretPlace& place : places) {
      ASSERT_LE(end, place.begin) << "they ascend and lie apart";
      ASSERT_LT(place.begin, place.end);
      ASSERT_LE(place.end, text.size());
      end = place.end;
    }
    // Letters, signs and addresses without a password are no secrets.
    if (part == "a" || part == "=" || part == "://") {
      EXPECT_TRUE(places.empty());
    }
  }
}

// The corpus of the fuzz target, every file cut and changed.
TEST(SecretsTest, FuzzCorpusReplaysWithoutCrash) {
  const auto run = [](const std::string& bytes) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  };
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(SourceFolder() + "/tests/base/fuzz/secrets_corpus")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    ++files;
    run(bytes);
    for (size_t at = 0; at < bytes.size(); ++at) {
      run(bytes.substr(0, at));
      run(bytes.substr(at));
      for (const char c : {'\0', '"', '\\', '=', ' ', '-', 'A', '\xff'}) {
        std::string changed = bytes;
        changed[at] = c;
        run(changed);
      }
    }
  }
  EXPECT_GE(files, 4U);
}

}  // namespace
}  // namespace xlatrace
