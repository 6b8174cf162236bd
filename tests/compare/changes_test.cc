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

namespace xlatrace::compare {
namespace {

using RunRows = Run;  // Test::Run hides it.

// Which of twelve takes most says nothing of the others: their layer and lines do, of four fifths
// of the time.
TEST(Changes, ManyOpsOfOneCauseAreToldByTheirLayerAndLines) {
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
  EXPECT_EQ(changes[0].text, "13 ops of block_*: f64 where it was f32");
  EXPECT_EQ(changes[0].where, "train.py:60 to 69");  // Both ends are of the heaviest.
  EXPECT_EQ(changes[0].rows.size(), 13u);
}

TEST(Changes, WhatMovedMoreThanTheLastOnesShownIsShown) {
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

TEST(Changes, RecomputationIsToldOnceAndALittleMoreIsNone) {
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
TEST(Changes, WhatABusyCpuSlowsIsOneChangeAndNotTheProgram) {
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
  // Copies of the runtime are no instruction: that they are hidden is told.
  RunRows hidden = before;
  hidden.content_id = "z";
  hidden.parts[static_cast<size_t>(model::StepPart::kExposedCopy)] = 20;
  hidden.step_ns -= 430;
  const auto waits = ids(before, hidden);
  EXPECT_EQ(std::count(waits.begin(), waits.end(), "exposed_copy"), 1);
}

TEST(Changes, StructureThatMovesNothingIsNotPutSecond) {
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
  EXPECT_EQ(second(-100), "layers");  // Whatever way it goes.
}

TEST(Changes, ARepetitionTakesAsLongEachTimeAndIsMostOfTheWork) {
  Row row;
  row.base_calls = 10;
  row.now_calls = 20;
  row.base_ns = 1000;
  row.now_ns = 2000;
  row.causes = {{CauseKind::kExecutions, "20 executions instead of 10"}};
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
  EXPECT_EQ(changes[0].text, "4 layers more: layer_8 to layer_11");
}

TEST(Changes, ALostGraphAndAStallAreNotOps) {
  RunRows base = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 1000)}, "x");
  RunRows now = MakeRun({MakeOp("dot.1", "jit(f)/a/dot_general", 1000)}, "y");
  const auto idle = static_cast<size_t>(model::StepPart::kIdle);
  base.has_parts = now.has_parts = true;
  base.step_ns = 1100;
  base.parts[idle] = 100;
  now.step_ns = 1600;
  now.parts[idle] = 600;
  now.gaps.push_back({"host", 500, 1});
  auto changes = FindChanges(base, now, Compare(base, now));
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes[0].id, "idle");
  EXPECT_EQ(changes[0].delta_ns, 500);
  EXPECT_NE(changes[0].text.find("mostly because the host is late"), std::string::npos);
  // A cause that nobody knows is no reason.
  RunRows unknown = now;
  unknown.gaps = {{"unknown", 500, 1}};
  const auto untold = FindChanges(base, unknown, Compare(base, unknown));
  ASSERT_FALSE(untold.empty());
  EXPECT_EQ(untold[0].text.find("because"), std::string::npos) << untold[0].text;
  base.graph_share = 0.9;
  now.graph_share = 0.0;
  changes = FindChanges(base, now, Compare(base, now));
  EXPECT_EQ(changes[0].id, "graphs");
  EXPECT_TRUE(changes[0].text.starts_with("CUDA graphs are gone")) << changes[0].text;
  // Graphs that appeared make no device wait.
  std::swap(base.graph_share, now.graph_share);
  changes = FindChanges(base, now, Compare(base, now));
  EXPECT_EQ(changes[0].id, "idle");
  // More launches in the graphs that there are: as many host calls as before.
  base.graph_share = 0.6;
  now.graph_share = 0.5;
  base.host_calls = now.host_calls = 23;
  changes = FindChanges(base, now, Compare(base, now));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].id, "idle");
}

// Fewer executions of everything, and one op that takes longer all the same.
TEST(Changes, WhatTakesLongerInFewerExecutionsIsNoRepetition) {
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
  EXPECT_NE(
      slower->text.find("each execution takes 1.50x as long, waiting for other ranks included"),
      std::string::npos)
      << slower->text;
}

// A recording of as much time with fewer repetitions is of something that became slower.
TEST(Changes, FewerRepetitionsInAsMuchTimeAreNoShorterRecording) {
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
  EXPECT_NE(text(base, run(80, 1'600'000, "b")).find("another number of steps was recorded"),
            std::string::npos);
  EXPECT_NE(text(base, run(80, 0, "c")).find("another number of steps was recorded"),
            std::string::npos);
  const std::string slower = text(base, run(80, 2'000'000, "d"));
  EXPECT_NE(
      slower.find("everything ran about 20.0% fewer times in the same 2.00 ms, which is slower;"),
      std::string::npos)
      << slower;
  EXPECT_NE(slower.find("per execution the same work takes as long"), std::string::npos) << slower;
  // 80 in 3 ms beside 100 in 2 ms: 8/15 of the rate.
  const std::string longer = text(base, run(80, 3'000'000, "e"));
  EXPECT_NE(longer.find(
                "46.7% fewer times in a second, over 3.00 ms instead of 2.00 ms, which is slower"),
            std::string::npos)
      << longer;
  const std::string thrice = text(base, run(300, 2'000'000, "f"));
  EXPECT_NE(
      thrice.find("everything ran about 3.00 times as often in the same 2.00 ms, which is faster"),
      std::string::npos)
      << thrice;
  EXPECT_EQ(slower.find("another number of steps"), std::string::npos) << slower;

  // Where some ran a little more often than the rest, nothing took longer.
  RunRows uneven = run(80, 2'000'000, "i");
  uneven.ops[0].calls = 84;
  uneven.ops[0].ns = 84 * 10'000;
  const auto even = FindChanges(base, uneven, Compare(base, uneven));
  ASSERT_FALSE(even.empty());
  EXPECT_NE(even[0].text.find("per execution the same work takes as long"), std::string::npos)
      << even[0].text;
  // How often is what all of the work says: 80 of 100 eight times, and 84 once.
  EXPECT_NE(even[0].text.find("about 19.6% fewer times"), std::string::npos) << even[0].text;
  // How long after the one the next began says it better than counts of what the recordings cut.
  RunRows begun = base, later = run(80, 2'000'000, "j");
  for (RunRows* of : {&begun, &later}) {
    for (Op& op : of->ops) op.recurs_ns = of == &begun ? 19'400 : 25'000;
  }
  EXPECT_NE(text(begun, later).find("about 22.4% fewer times in the same 2.00 ms"),
            std::string::npos)
      << text(begun, later);
  // Not where the counts say something else: it came in bursts.
  for (Op& op : later.ops) op.recurs_ns = 50'000;
  EXPECT_NE(text(begun, later).find("about 20.0% fewer times"), std::string::npos);

  // What the device did not do meanwhile: it waited.
  RunRows before = run(100, 2'000'000, "g"), after = run(80, 2'000'000, "h");
  before.gaps = {{"host_late", 300'000, 10}, {"host_waits", 100'000, 5}};
  after.gaps = {{"host_late", 480'000, 10}, {"host_waits", 120'000, 5}};
  const auto idle = [](const RunRows& from, const RunRows& to) {
    for (const Change& change : FindChanges(from, to, Compare(from, to))) {
      if (change.id == "idle") return change;
    }
    return Change{};
  };
  // Causes that grew with it, the largest first.
  EXPECT_EQ(idle(before, after).text,
            "the devices together are idle for 600 us instead of 400 us: host_late +180 us, "
            "host_waits +20.0 us");
  EXPECT_EQ(idle(before, after).delta_ns, 200'000);
  EXPECT_TRUE(idle(before, after).wall);
  // The first word is what the rate says, although the device time is less.
  const Comparison compared = Compare(before, after);
  const Verdict verdict =
      Judge(before, after, compared, FindChanges(before, after, compared), {&before}, {&after});
  EXPECT_EQ(verdict.outcome, "Slower: the same work takes about 25% longer");
  EXPECT_EQ(
      verdict.sentence,
      "Slower: the same work takes about 25% longer. Everything ran about 20.0% fewer times in the "
      "same 2.00 ms, per execution it takes as long; the devices together are idle for 600 us "
      "instead of 400 us: host_late +180 us, host_waits +20.0 us.");
  EXPECT_NE(verdict.noise.find("how much was done, not how fast"), std::string::npos);
  // A host that got slower is said beside the causes; one that did not, or the other way, is not.
  before.launch_call = after.launch_call = "cudaLaunchKernel";
  before.launch_call_ns = 5'650;
  after.launch_call_ns = 8'410;
  EXPECT_EQ(idle(before, after).text,
            "the devices together are idle for 600 us instead of 400 us: host_late +180 us, "
            "host_waits +20.0 us; each launch takes the host 1.49x as long (cudaLaunchKernel: "
            "5.65 us -> 8.41 us)");
  EXPECT_THAT(idle(after, before).text, testing::HasSubstr("takes the host 0.672x as long"));
  for (const int64_t ns : {4'000, 6'000}) {
    after.launch_call_ns = ns;
    EXPECT_EQ(idle(before, after).text.find("each launch"), std::string::npos) << ns;
  }
  after.launch_call_ns = 0;
  // Where less is idle no cause is blamed, and recordings of another length say nothing.
  EXPECT_EQ(idle(after, before).text, "the devices together are idle for 400 us instead of 600 us");
  after.span_ns = 3'000'000;
  EXPECT_TRUE(idle(before, after).id.empty());
}

TEST(Changes, TheSameInAllLayersIsOneChange) {
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
  EXPECT_TRUE(changes[0].text.starts_with("layer_*/attention forward")) << changes[0].text;
  EXPECT_NE(changes[0].text.find("and 5 alike"), std::string::npos) << changes[0].text;
}

TEST(Changes, OpsWithoutNamesAreNotOne) {
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

TEST(Circumstances, AreThePossibleReasonOfWhatTheyCanCause) {
  RunRows base = ThreeOps(1000, 1000, 1000, "x");
  RunRows now = ThreeOps(1000, 1500, 1000, "y");
  base.ops[1].kernels.push_back({.name = "ampere_sgemm_128x64_nn", .ns = 1000, .calls = 10});
  now.ops[1].kernels.push_back({.name = "ampere_sgemm_32x32_nn", .ns = 1500, .calls = 10});
  base.flags_known = now.flags_known = true;
  now.xla_flags = "--xla_gpu_autotune_level=0";
  const std::string sentence = SentenceOf(base, now);
  EXPECT_NE(sentence.find("(possible reason: XLA flags: --xla_gpu_autotune_level=0 now"),
            std::string::npos)
      << sentence;
  // A flag of the compiler makes no kernel slower that is the same.
  now.ops[1].kernels = base.ops[1].kernels;
  EXPECT_EQ(SentenceOf(base, now).find("possible reason"), std::string::npos);
}

}  // namespace
}  // namespace xlatrace::compare
