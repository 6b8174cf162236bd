// SPDX-License-Identifier: Apache-2.0

// Ids of strings: what the traced program holds as NVTX handles.

#include "collector/string_table.h"

#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::collector {
namespace {

std::vector<Owned<recording::StringRow>> Strings(Definitions& definitions) {
  std::vector<Definition> taken;
  definitions.Take(&taken);
  std::vector<Owned<recording::StringRow>> strings;
  for (const Definition& definition : taken) {
    strings.push_back(std::get<Owned<recording::StringRow>>(definition));
  }
  return strings;
}

TEST(RangeKindTest, XlasTitlesAreKnownInOldAndNewSpelling) {
  EXPECT_EQ(RangeKindOf("Thunk:#name=jit(f),hlo_op=fusion.9#"), RangeKind::kThunk);
  EXPECT_EQ(RangeKindOf("TSL:Thunk:#hlo_op=copy.28#"), RangeKind::kThunk);
  EXPECT_EQ(RangeKindOf("XlaModule:#hlo_module=jit_f,program_id=7#"), RangeKind::kModule);
  EXPECT_EQ(RangeKindOf("XlaModule"), RangeKind::kOther);
  EXPECT_EQ(RangeKindOf("XlaPass:#name=dce,module=jit_f,program_id=1#"), RangeKind::kCompiler);
  EXPECT_EQ(RangeKindOf("XlaStep"), RangeKind::kOther);
  EXPECT_EQ(RangeKindOf("command_buffer_1"), RangeKind::kOther);
  EXPECT_EQ(RangeKindOf(""), RangeKind::kOther);
}

TEST(RangeKindTest, TensorFlowsOpsAreKnownByNameAndType) {
  EXPECT_EQ(RangeKindOf("gradient_tape/dense_2/MatMul/MatMul:MatMul"), RangeKind::kOp);
  EXPECT_EQ(RangeKindOf("IteratorGetNext/_3:_Send#from=a,to=b#"), RangeKind::kOp);
  EXPECT_EQ(RangeKindOf("Foo::Bar"), RangeKind::kOther);
  EXPECT_EQ(RangeKindOf("jit_f:XLA GPU module"), RangeKind::kOther);
  EXPECT_EQ(RangeKindOf("XlaModule:"), RangeKind::kOther);
  EXPECT_EQ(RangeKindOf("a:"), RangeKind::kOther);
}

TEST(StringTableTest, EveryRegistrationHasItsOwnId) {
  Definitions definitions;
  auto table = std::make_unique<StringTable>(&definitions);
  const uint32_t first = table->Register("Thunk:#hlo_op=copy.28#", 1, 10);
  const uint32_t second = table->Register("Thunk:#hlo_op=copy.28#", 1, 10);
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, second);
  EXPECT_EQ(table->KindOf(second), RangeKind::kThunk);
  const auto rows = Strings(definitions);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].text, "Thunk:#hlo_op=copy.28#");
  EXPECT_EQ(rows[0].row.same_as, 0u);
  EXPECT_EQ(rows[1].text, "");
  EXPECT_EQ(rows[1].row.same_as, first);
}

TEST(StringTableTest, MessagesOfTheSameTextAreOne) {
  Definitions definitions;
  auto table = std::make_unique<StringTable>(&definitions);
  const uint32_t id = table->Intern("step");
  EXPECT_EQ(table->Intern("step"), id);
  EXPECT_NE(table->Intern("step 2"), id);
  EXPECT_EQ(table->Intern(""), 0u);
  EXPECT_EQ(Strings(definitions).size(), 2u);
}

TEST(StringTableTest, ForeignHandlesHaveNoId) {
  Definitions definitions;
  auto table = std::make_unique<StringTable>(&definitions);
  const uint32_t id = table->Register("x", 0, 0);
  EXPECT_TRUE(table->Contains(id));
  EXPECT_FALSE(table->Contains(0));
  EXPECT_FALSE(table->Contains(id + 1));
  EXPECT_FALSE(table->Contains(0x7fffdeadbeef));
  EXPECT_EQ(table->KindOf(id + 1000), RangeKind::kOther);
  EXPECT_FALSE(table->MarkPayload(id + 1));
}

TEST(StringTableTest, PayloadOfAStringIsRequestedOnce) {
  Definitions definitions;
  auto table = std::make_unique<StringTable>(&definitions);
  const uint32_t id = table->Register("Thunk:#hlo_op=a#", 0, 0);
  EXPECT_TRUE(table->MarkPayload(id));
  EXPECT_FALSE(table->MarkPayload(id));
  EXPECT_EQ(table->KindOf(id), RangeKind::kThunk);
}

TEST(StringTableTest, RowsOfAllThreadsAreInOrderOfIds) {
  Definitions definitions;
  auto table = std::make_unique<StringTable>(&definitions);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&table, t] {
      for (int i = 0; i < 5000; ++i) {
        table->Register("text " + std::to_string(t * 100000 + i), 1, static_cast<uint32_t>(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto rows = Strings(definitions);
  ASSERT_EQ(rows.size(), 20000u);
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].row.id, i + 1);
}

TEST(DefinitionsTest, UnreadTextsAreDroppedAndCounted) {
  Definitions definitions;
  auto table = std::make_unique<StringTable>(&definitions);
  const std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 100; ++i) table->Register(megabyte + std::to_string(i), 0, 0);
  EXPECT_LE(definitions.waiting_bytes(), size_t{64} << 20);
  EXPECT_GE(definitions.dropped_texts(), 30u);
  EXPECT_EQ(Strings(definitions).size(), 100u);  // The ids stay valid.
}

}  // namespace
}  // namespace xlatrace::collector
