// SPDX-License-Identifier: Apache-2.0
#include "recording/host_samples.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "recording/host_rows.h"
#include "recording/varint.h"
#include "tests/recording/fuzz/host_samples_input.h"

namespace xlatrace::recording {
namespace {

constexpr int64_t kStartNs = 1'700'000'000'000'000'000;

std::string Block(const Encoder& rows, uint64_t sequence) {
  BlockHeader header;
  header.type = kHostSamplesBlock;
  header.payload_bytes = static_cast<uint32_t>(rows.size());
  header.sequence = sequence;
  header.checksum = BlockChecksum(header, rows.data());
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) +
         std::string(reinterpret_cast<const char*>(rows.data()), rows.size());
}

void Put(Encoder& rows, HostRow row) { rows.Number(static_cast<uint64_t>(row)); }

void PutTick(Encoder& rows, int64_t after_ns) {
  Put(rows, HostRow::kTick);
  rows.Signed(after_ns);
  rows.Number(0);
}

void PutSample(Encoder& rows, int64_t change, model::ThreadState state, uint64_t cpu_us) {
  Put(rows, HostRow::kSample);
  rows.Number(1);
  rows.Signed(change);
  rows.Number(static_cast<uint64_t>(state));
  rows.Number(cpu_us);
}

// A function `step` that calls `load`; one thread, which is in `load`, sleeps there for two ticks
// and is back in `step`.
std::string File() {
  Encoder rows;
  Put(rows, HostRow::kBegin);
  for (const int64_t value : {int64_t{1}, int64_t{77}, kStartNs, int64_t{5}, int64_t{10}}) {
    rows.Number(static_cast<uint64_t>(value));
  }
  for (const char* text : {"step", "load", "train.py"}) {
    Put(rows, HostRow::kText);
    rows.Text(text);
  }
  for (const auto& [function, line] : {std::pair<uint64_t, uint64_t>{1, 12}, {2, 30}}) {
    Put(rows, HostRow::kFrame);
    rows.Number(function);
    rows.Number(3);
    rows.Number(line);
  }
  for (const auto& [parent, frame] : {std::pair<uint64_t, uint64_t>{0, 1}, {1, 2}}) {
    Put(rows, HostRow::kStack);
    rows.Number(parent);
    rows.Number(frame);
  }
  Put(rows, HostRow::kThread);
  rows.Number(140'000);
  rows.Number(78);
  rows.Number(0);
  PutTick(rows, 100);
  PutSample(rows, 2, model::ThreadState::kPython, 9);
  PutTick(rows, 100);
  PutSample(rows, 0, model::ThreadState::kSleep, 1);
  PutTick(rows, 100);
  std::string file = Block(rows, 0);
  rows.Clear();
  PutTick(rows, 100);
  PutTick(rows, 100);
  PutSample(rows, -1, model::ThreadState::kNative, 3);
  Put(rows, HostRow::kSecond);
  for (const uint64_t value :
       {uint64_t{1}, uint64_t{500}, uint64_t{40}, uint64_t{30}, uint64_t{2}}) {
    rows.Number(value);
  }
  Put(rows, HostRow::kUsage);
  for (const uint64_t value : {78, 20, 11, 1, 2, 3, 4096}) rows.Number(value);
  Put(rows, HostRow::kCollection);
  rows.Signed(-50);
  rows.Number(25);
  rows.Number(2);
  Put(rows, HostRow::kPause);
  rows.Signed(60);
  return file + Block(rows, 1);
}

TEST(HostSamples, UnchangedSampleLastsUntilItsLastTick) {
  const auto read = ParseHostSamples(File());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->pid, 77);
  EXPECT_EQ(read->lost_bytes, 0);
  const std::vector<model::HostSample>& samples = read->tables.samples;
  ASSERT_EQ(samples.size(), 3);
  const int64_t times[][3] = {{100, 100, 200}, {200, 400, 500}, {500, 500, 560}};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(samples[i].thread_id, 78);
    EXPECT_EQ(samples[i].time_ns - kStartNs, times[i][0]);
    EXPECT_EQ(samples[i].last_ns - kStartNs, times[i][1]);
    EXPECT_EQ(samples[i].until_ns - kStartNs, times[i][2]);
  }
  EXPECT_EQ(samples[1].state, model::ThreadState::kSleep);
  EXPECT_EQ(samples[1].stack_id, 2);
  EXPECT_EQ(samples[2].stack_id, 1);
  EXPECT_EQ(samples[2].cpu_ns, 3'000);
  ASSERT_EQ(read->tables.frames.size(), 2);
  EXPECT_EQ(read->tables.frames[1].function, "load");
  EXPECT_EQ(read->tables.frames[1].file, "train.py");
  EXPECT_EQ(read->tables.frames[1].line, 30);
  EXPECT_EQ(read->tables.stacks[1].parent_id, 1);
}

TEST(HostSamples, UseOfThreadsHasTheTimesOfItsSecond) {
  const auto read = ParseHostSamples(File());
  ASSERT_TRUE(read);
  ASSERT_EQ(read->tables.thread_use.size(), 1);
  const model::ThreadUse& use = read->tables.thread_use[0];
  EXPECT_EQ(use.end_ns - use.start_ns, 500);
  EXPECT_EQ(use.cpu_ns, 20);
  EXPECT_EQ(use.run_delay_ns, 11);
  EXPECT_EQ(use.read_bytes, 4096);
  ASSERT_EQ(read->tables.machine_use.size(), 1);
  EXPECT_EQ(read->tables.machine_use[0].busy_ns, 40);
  ASSERT_EQ(read->tables.collections.size(), 1);
  EXPECT_EQ(read->tables.collections[0].start_ns - kStartNs, 450);
  EXPECT_EQ(read->tables.collections[0].end_ns - kStartNs, 475);
}

TEST(HostSamples, CutFileGivesTheBlocksBefore) {
  const std::string file = File();
  const auto read = ParseHostSamples(file.substr(0, file.size() - 1));
  ASSERT_TRUE(read);
  EXPECT_GT(read->lost_bytes, 0);
  ASSERT_EQ(read->tables.samples.size(), 2);
  EXPECT_EQ(read->tables.samples[1].until_ns - kStartNs, 300);
}

TEST(HostSamples, EveryChangedByteIsNoticed) {
  const std::string file = File();
  for (size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const auto read = ParseHostSamples(damaged);
    EXPECT_TRUE(!read || read->lost_bytes > 0) << at;
  }
}

TEST(HostSamples, DamagedRowsBehindAValidChecksumKeepTheContract) {
  const std::string file = File();
  const size_t end = file.rfind(file.substr(0, 4));  // The header of the second block.
  const std::string rows = file.substr(sizeof(BlockHeader), end - sizeof(BlockHeader)) +
                           file.substr(end + sizeof(BlockHeader));
  std::mt19937_64 random(7);
  for (int i = 0; i < 4000; ++i) {
    std::string damaged = rows;
    for (int change = 0; change <= i % 3; ++change) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    RunHostSamplesInput(reinterpret_cast<const uint8_t*>(damaged.data()), damaged.size());
  }
}

TEST(HostSamples, OtherFilesAreNotSamples) {
  EXPECT_FALSE(ParseHostSamples(""));
  EXPECT_FALSE(ParseHostSamples(std::string(1000, 'x')));
}

}  // namespace
}  // namespace xlatrace::recording
