// SPDX-License-Identifier: Apache-2.0
#include "store/dictionary_index.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::store {
namespace {

void NoMask(model::Lane&) {}

model::Lane Named(std::string name) {
  model::Lane lane;
  lane.name = std::move(name);
  return lane;
}

TEST(DictionaryIndex, ARowIsAddedOnce) {
  DictionaryIndex<model::Lane> index;
  std::vector<model::Lane> rows;
  EXPECT_EQ(index.IdOf(Named("a"), 1, rows, NoMask), 1);
  EXPECT_EQ(index.IdOf(Named("b"), 2, rows, NoMask), 2);
  EXPECT_EQ(index.IdOf(Named("a"), 1, rows, NoMask), 1);
  EXPECT_EQ(rows.size(), 2u);
}

TEST(DictionaryIndex, RowsOfEqualHashStayDifferent) {
  DictionaryIndex<model::Lane> index;
  std::vector<model::Lane> rows;
  EXPECT_EQ(index.IdOf(Named("a"), 7, rows, NoMask), 1);
  EXPECT_EQ(index.IdOf(Named("b"), 7, rows, NoMask), 2);
  EXPECT_EQ(index.IdOf(Named("a"), 7, rows, NoMask), 1);
  EXPECT_EQ(index.IdOf(Named("b"), 7, rows, NoMask), 2);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].name, "b");
}

TEST(DictionaryIndex, MaskedRowIsFoundAgain) {
  DictionaryIndex<model::Lane> index;
  std::vector<model::Lane> rows;
  const auto mask = [](model::Lane& lane) { lane.name = "***"; };
  EXPECT_EQ(index.IdOf(Named("secret"), 3, rows, mask), 1);
  EXPECT_EQ(index.IdOf(Named("secret"), 3, rows, mask), 1);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "***");
}

}  // namespace
}  // namespace xlatrace::store
