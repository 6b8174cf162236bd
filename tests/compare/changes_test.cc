// SPDX-License-Identifier: Apache-2.0
#include "compare/changes.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/change_order.h"
#include "compare/circumstances.h"
#include "compare/repeated_work.h"
#include "tests/compare/run_case.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::compare {
namespace {

using testing::HasSubstr;
using testing::Not;
using RunRows = Run;  // Test::Run hides it.

// The name of the heaviest of 13 ops would not describe the others. Their layer and their lines do,
// for the ops of four fifths of the time.
TEST(Changes, ManyOpsOfOneCauseShareLayerAndLines) {
  const auto run = [](const std::string& type, int64_t ns, const std::string& id) {
    std::vector<Op> ops;
    for (int i = 0; i < 13; ++i) {
      const std::string layer = i == 12 ? "head" : i % 2 == 0 ? "block_*/scan" : "block_*/scanned";
      Op op = MakeOp("dot." + std::to_string(i), "jit(f)/" + std::to_string(i) + "/dot",
                     i >= 10            ? ns / 100
                     : i == 0 || i == 9 ? 2 * ns
                                        : ns);
      op.layer = op.layer_group = layer;
      op.source_file = "/home/u/train.py";
      op.source_line = i == 12 ? 900 : 60 + i;
      op.shape = type + "[8,8]{1,0}";
      ops.push_back(op);
    }
    return MakeRun(ops, id);
  };
  const RunRows base = run("f32", 1000, "x"), now = run("f64", 2000, "y");
  const auto changes = FindChanges(base, now, Compare(base, now));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_GOLDEN_TEXT(changes[0].text);
  EXPECT_EQ(changes[0].where, "train.py:60 to 69");  // Both ends are of the heaviest.
  EXPECT_EQ(changes[0].rows.size(), 13u);
}

TEST(Changes, LargestChangesAreAlwaysShown) {
  std::vector<Change> changes;
  for (int i = 0; i < 10; ++i) {
    Change& change = changes.emplace_back();
    change.id = std::to_string(i);
    change.delta_ns = i == 8 ? -300 : i == 9 ? -70 : 100 - 10 * i;
  }
  const auto order = [&](size_t shown) {
    std::vector<Change> ordered = changes;
    ShowHeaviest(&ordered, shown);
    std::string text;
    for (const Change& change : ordered) text += change.id;
    return text;
  };
  EXPECT_EQ(order(8), "0123458967");
  EXPECT_EQ(order(10), "0123456789");
  // Lighter than what is shown.
  changes[8].delta_ns = changes[9].delta_ns = -5;
  EXPECT_EQ(order(8), "0123456789");
}

// Forward work, and so many ops of it again in backward.
RunRows WithRemat(int ops, std::string id) {
  std::vector<Op> all = {MakeOp("dot.f", "jit(f)/a/dot_general", 1000)};
  for (int i = 0; i < ops; ++i) {
    const std::string number = std::to_string(i);
    all.push_back(MakeOp("dot." + number, "jit(f)/rematted/part_" + number + "/dot_general", 100));
    all.back().phase = model::Phase::kRecompute;
  }
  return MakeRun(std::move(all), std::move(id));
}

TEST(Changes, RecomputationIsReportedOnce) {
  const RunRows none = WithRemat(0, "x"), some = WithRemat(10, "y"), more = WithRemat(11, "z");
  const auto appeared = FindChanges(none, some, Compare(none, some));
  ASSERT_EQ(appeared.size(), 1u);
  EXPECT_EQ(appeared[0].id, "recompute");
  EXPECT_EQ(appeared[0].delta_ns, 1000);
  for (const Change& change : FindChanges(some, more, Compare(some, more))) {
    EXPECT_NE(change.id, "recompute");
  }
}

// Other programs hold up the ops of a CPU by a quarter to a half; a copy that is gone is the
// program's.
TEST(Changes, UniformCpuSlowdownIsOneChange) {
  const auto run = [](bool busy, bool copies, bool cpu, std::string id) {
    std::vector<Op> all;
    for (int64_t i = 0; i < 9; ++i) {
      const std::string number = std::to_string(i);
      all.push_back(MakeOp("dot." + number, "jit(f)/part_" + number + "/dot_general",
                           busy ? 1250 + 30 * i : 1000));
    }
    if (copies) {
      all.push_back(MakeOp("copy.1", "jit(f)/scatter", 500, "copy"));
      all.back().opcode = "copy";
    }
    RunRows made = MakeRun(std::move(all), std::move(id));
    made.cpu = cpu;
    made.has_parts = true;
    const int64_t exposed = copies ? 450 : 20;
    made.parts[static_cast<size_t>(model::StepPart::kExposedCopy)] = exposed;
    made.parts[static_cast<size_t>(model::StepPart::kForward)] = made.step_ns - exposed;
    return made;
  };
  const auto ids = [](const RunRows& base, const RunRows& now) {
    std::vector<std::string> found;
    for (const Change& change : FindChanges(base, now, Compare(base, now))) {
      found.push_back(change.id);
    }
    return found;
  };
  const RunRows before = run(false, true, true, "x");
  EXPECT_EQ(ids(before, run(true, false, true, "y")),
            (std::vector<std::string>{"uniform", "lost"}));
  // A GPU has no other programs: by how much its kernels differ is each one's own.
  const auto gpu = ids(run(false, true, false, "x"), run(true, false, false, "y"));
  EXPECT_EQ(std::count(gpu.begin(), gpu.end(), "uniform"), 0);
  // Copies made by the runtime have no instruction. A change of their exposed time is reported.
  const RunRows exposed = run(false, true, false, "x");
  RunRows hidden = exposed;
  hidden.content_id = "z";
  hidden.parts[static_cast<size_t>(model::StepPart::kExposedCopy)] = 20;
  hidden.step_ns -= 430;
  hidden.steps.assign(10, hidden.step_ns);
  const auto waits = ids(exposed, hidden);
  EXPECT_EQ(std::count(waits.begin(), waits.end(), "exposed_copy"), 1);
}

TEST(Changes, StructuralChangeIsSecondFromFivePercent) {
  const auto change = [](std::string id, int64_t delta_ns) {
    Change made;
    made.id = std::move(id);
    made.delta_ns = delta_ns;
    return made;
  };
  const auto second = [&](int64_t layers_ns) {
    std::vector<Change> changes = {change("time", 1000), change("new", 900),
                                   change("layers", layers_ns)};
    PutStructureSecond(&changes, 2000);
    return changes[1].id;
  };
  EXPECT_EQ(second(99), "new");       // Less than a twentieth.
  EXPECT_EQ(second(-100), "layers");  // In either direction.
}

TEST(Changes, RepetitionHasEqualTimePerCall) {
  Row row;
  row.base_calls = 10;
  row.now_calls = 20;
  row.base_ns = 1000;
  row.now_ns = 2000;
  row.causes = {{CauseKind::kExecutions, "alpha"}};
  EXPECT_TRUE(IsRepetition(row, 2));
  EXPECT_FALSE(IsRepetition(row, 3));
  Row slower = row;
  slower.now_ns = 3000;  // 1.5 times as long.
  EXPECT_FALSE(IsRepetition(slower, 2));
  Comparison comparison;
  comparison.rows.assign(9, row);
  RunRows base, now;
  base.device_ns = 9 * 1000;
  now.device_ns = 9 * 2000;
  EXPECT_DOUBLE_EQ(RepetitionRatio(base, now, comparison), 2);
  base.device_ns += 30'000;  // Other work, which both have most of.
  EXPECT_DOUBLE_EQ(RepetitionRatio(base, now, comparison), 0);
}

TEST(Changes, LayersAreNamedInTheirOwnOrder) {
  std::vector<Op> ops, more;
  for (int i = 0; i < 12; ++i) {
    Op op = MakeOp("dot." + std::to_string(i), "jit(f)/layer_" + std::to_string(i) + "/dot", 100);
    op.layer = "layer_" + std::to_string(i);
    op.layer_group = "layer_*";
    if (i < 8) ops.push_back(op);
    more.push_back(op);
  }
  const RunRows base = MakeRun(ops, "x");
  const RunRows now = MakeRun(more, "y");
  const auto changes = FindChanges(base, now, Compare(base, now));
  ASSERT_FALSE(changes.empty());
  EXPECT_GOLDEN_TEXT(changes[0].text);  // Four layers: layer_8 to layer_11.
}

TEST(Changes, LostGraphOrIdleTimeIsOneChange) {
  RunRows base = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 1000)}, "x");
  RunRows now = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 1000)}, "y");
  const auto idle = static_cast<size_t>(model::StepPart::kIdle);
  base.has_parts = now.has_parts = true;
  base.step_ns = 1100;
  base.parts[idle] = 100;
  now.step_ns = 1600;
  now.parts[idle] = 600;
  base.steps.assign(10, base.step_ns);
  now.steps.assign(10, now.step_ns);
  now.gaps.push_back({"host", 500, 1});
  auto changes = FindChanges(base, now, Compare(base, now));
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes[0].id, "idle");
  EXPECT_EQ(changes[0].delta_ns, 500);
  EXPECT_GOLDEN_TEXT(changes[0].text);
  // An unknown cause is not given as a reason.
  RunRows unknown = now;
  unknown.gaps = {{"unknown", 500, 1}};
  const auto untold = FindChanges(base, unknown, Compare(base, unknown));
  ASSERT_FALSE(untold.empty());
  EXPECT_EQ(untold[0].id, "idle");
  EXPECT_GOLDEN_TEXT(untold[0].text);
  base.graph_share = 0.9;
  now.graph_share = 0.0;
  changes = FindChanges(base, now, Compare(base, now));
  EXPECT_EQ(changes[0].id, "graphs");
  EXPECT_GOLDEN_TEXT(changes[0].text);
  // New graphs are no reason for idle time.
  std::swap(base.graph_share, now.graph_share);
  changes = FindChanges(base, now, Compare(base, now));
  EXPECT_EQ(changes[0].id, "idle");
  // The graphs that exist have more launches: the number of host calls is the same.
  base.graph_share = 0.6;
  now.graph_share = 0.5;
  base.host_calls = now.host_calls = 23;
  changes = FindChanges(base, now, Compare(base, now));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].id, "idle");
}

// Fewer executions of everything, and one op that takes longer all the same.
TEST(Changes, SlowerOpInFewerExecutionsIsASeparateChange) {
  const auto run = [](int64_t calls, int64_t slow_ns, std::string id) {
    return WithoutSteps(
        MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", calls * 10'000),
                 MakeOp("send.1", "jit(f)/b/ppermute", calls * slow_ns, "collective")},
                std::move(id)),
        calls);
  };
  const RunRows base = run(100, 1'000, "a");
  const RunRows now = run(90, 1'500, "b");
  const auto changes = FindChanges(base, now, Compare(base, now));
  ASSERT_EQ(changes.size(), 2u);
  const auto slower = std::find_if(changes.begin(), changes.end(),
                                   [](const Change& change) { return change.id == "time"; });
  ASSERT_NE(slower, changes.end());
  EXPECT_EQ(slower->delta_ns, 90 * 1'500 - 100 * 1'000);
  EXPECT_FALSE(slower->certain);
  EXPECT_GOLDEN_TEXT(slower->text);  // 1.50 times per execution.
}

// If a recording of the same length has fewer repetitions, the program became slower.
TEST(Changes, FewerRepetitionsInTheSameTimeAreASlowerProgram) {
  const auto run = [](int64_t calls, int64_t span_ns, std::string id) {
    std::vector<Op> ops;
    for (int n = 0; n < 9; ++n) {
      ops.push_back(MakeOp(fmt::format("dot.{}", n), fmt::format("jit(f)/part_{}/dot_general", n),
                           calls * (10'000 + n)));
    }
    RunRows rows = WithoutSteps(MakeRun(std::move(ops), std::move(id)), calls);
    rows.span_ns = span_ns;
    return rows;
  };
  const auto text = [&](const RunRows& base, const RunRows& now) {
    const auto changes = FindChanges(base, now, Compare(base, now));
    return changes.size() == 1 ? changes[0].text : std::string();
  };
  const RunRows base = run(100, 2'000'000, "a");
  // A shorter recording, and one of unknown length: the number of steps differs.
  EXPECT_GOLDEN_TEXT(text(base, run(80, 1'600'000, "b")));
  EXPECT_GOLDEN_TEXT(text(base, run(80, 0, "c")));
  // 20.0 % fewer executions in the same 2.00 ms.
  EXPECT_GOLDEN_TEXT(text(base, run(80, 2'000'000, "d")));
  // 80 in 3 ms and 100 in 2 ms: 8/15 of the rate, 46.7 % fewer.
  EXPECT_GOLDEN_TEXT(text(base, run(80, 3'000'000, "e")));
  EXPECT_GOLDEN_TEXT(text(base, run(300, 2'000'000, "f")));  // 3.00 times as many.

  // Some ops ran a little more often than the others: nothing took longer.
  RunRows uneven = run(80, 2'000'000, "i");
  uneven.ops[0].calls = 84;
  uneven.ops[0].ns = 84 * 10'000;
  const auto even = FindChanges(base, uneven, Compare(base, uneven));
  ASSERT_FALSE(even.empty());
  // The rate is that of all work: 80 of 100 eight times, and 84 once: 19.6 % fewer.
  EXPECT_THAT(even[0].text, HasSubstr("19.6%"));
  EXPECT_GOLDEN_TEXT(even[0].text);
  // The time from one start to the next is more precise than counts of cut recordings.
  RunRows begun = base, later = run(80, 2'000'000, "j");
  for (RunRows* of : {&begun, &later}) {
    for (Op& op : of->ops) op.recurs_ns = of == &begun ? 19'400 : 25'000;
  }
  EXPECT_THAT(text(begun, later), HasSubstr("22.4%"));
  // If the counts contradict it (executions come in bursts), the counts decide.
  for (Op& op : later.ops) op.recurs_ns = 50'000;
  EXPECT_THAT(text(begun, later), HasSubstr("20.0%"));

  // The device waited meanwhile.
  RunRows before = run(100, 2'000'000, "g"), after = run(80, 2'000'000, "h");
  before.gaps = {{"host_late", 300'000, 10}, {"host_waits", 100'000, 5}};
  after.gaps = {{"host_late", 480'000, 10}, {"host_waits", 120'000, 5}};
  const auto idle = [](const RunRows& from, const RunRows& to) {
    for (const Change& change : FindChanges(from, to, Compare(from, to))) {
      if (change.id == "idle") return change;
    }
    return Change{};
  };
  // 600 us instead of 400 us, and the causes that grew, the largest first: 180 and 20.0 us.
  EXPECT_GOLDEN_TEXT(idle(before, after).text);
  EXPECT_EQ(idle(before, after).delta_ns, 200'000);
  EXPECT_TRUE(idle(before, after).wall);
  // The outcome follows the rate (about 25 % longer), although the device time is less.
  const Comparison compared = Compare(before, after);
  const Verdict verdict = ComputeVerdict(before, after, compared,
                                         FindChanges(before, after, compared), {&before}, {&after});
  EXPECT_THAT(verdict.outcome, HasSubstr("25%"));
  EXPECT_GOLDEN_TEXT(verdict.outcome + "\n" + verdict.sentence + "\n" + verdict.noise);
  // A slower host is named with the causes: 1.49 times as long per launch.
  before.launch_call = after.launch_call = "cudaLaunchKernel";
  before.launch_call_ns = 5'650;
  after.launch_call_ns = 8'410;
  EXPECT_GOLDEN_TEXT(idle(before, after).text);
  EXPECT_THAT(idle(after, before).text, HasSubstr(" 0.672x "));
  // A faster host, or one that is hardly slower, is not named.
  for (const int64_t ns : {4'000, 6'000}) {
    after.launch_call_ns = ns;
    EXPECT_EQ(idle(before, after).text.find("cudaLaunchKernel"), std::string::npos) << ns;
  }
  after.launch_call_ns = 0;
  // Less idle time has no cause. If the lengths of the recordings differ, idle time is not
  // compared.
  EXPECT_GOLDEN_TEXT(idle(after, before).text);  // 400 us instead of 600 us.
  after.span_ns = 3'000'000;
  EXPECT_TRUE(idle(before, after).id.empty());
}

TEST(Changes, EqualChangeInAllLayersIsOneChange) {
  std::vector<Op> ops, slower;
  for (int i = 0; i < 6; ++i) {
    Op op = MakeOp("dot." + std::to_string(i),
                   "jit(f)/layer_" + std::to_string(i) + "/attention/dot_general", 100);
    op.layer = "layer_" + std::to_string(i) + "/attention";
    op.layer_group = "layer_*/attention";
    ops.push_back(op);
    op.ns = 130 + 20 * i;
    op.calls = 20;
    slower.push_back(op);
  }
  const RunRows base = MakeRun(ops, "x");
  const RunRows now = MakeRun(slower, "y");
  const auto changes = FindChanges(base, now, Compare(base, now));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].rows.size(), 6u);
  EXPECT_GOLDEN_TEXT(changes[0].text);  // layer_*/attention.
}

TEST(Changes, OpsWithoutNamesAreNotMerged) {
  std::vector<Op> ops;
  for (int i = 0; i < 4; ++i) ops.push_back(MakeOp("fusion." + std::to_string(i), "", 100));
  std::vector<Op> slower = ops;
  slower[0].ns = 150;
  slower[1].ns = 120;
  const RunRows base = MakeRun(ops, "x");
  const RunRows now = MakeRun(slower, "y");
  const auto changes = FindChanges(base, now, Compare(base, now));
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].delta_ns, 50);
}

TEST(Circumstances, DifferentCircumstancesAreNamedAsPossibleReason) {
  RunRows base = ThreeOps(1000, 1000, 1000, "x");
  RunRows now = ThreeOps(1000, 1500, 1000, "y");
  base.ops[1].kernels.push_back({.name = "ampere_sgemm_128x64_nn", .ns = 1000, .calls = 10});
  now.ops[1].kernels.push_back({.name = "ampere_sgemm_32x32_nn", .ns = 1500, .calls = 10});
  base.flags_known = now.flags_known = true;
  now.xla_flags = "--xla_gpu_autotune_level=0";
  const std::string sentence = SentenceOf(base, now);
  EXPECT_THAT(sentence, HasSubstr("--xla_gpu_autotune_level=0"));
  EXPECT_GOLDEN_TEXT(sentence);
  // A compiler flag does not slow down an identical kernel.
  now.ops[1].kernels = base.ops[1].kernels;
  EXPECT_THAT(SentenceOf(base, now), Not(HasSubstr("--xla_gpu_autotune_level")));
}

}  // namespace
}  // namespace xlatrace::compare
