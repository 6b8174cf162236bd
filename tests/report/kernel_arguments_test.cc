// SPDX-License-Identifier: Apache-2.0
#include "report/page/kernel_arguments.h"

#include <gtest/gtest.h>

namespace xlatrace::report {
namespace {

TEST(KernelArguments, ArgumentsAreOfTheFunctionAndNotOfItsScope) {
  EXPECT_EQ(TemplateArguments("void cutlass::Kernel2<tile_64x64, true>(tile_64x64::Params)"),
            "tile_64x64, true");
  EXPECT_EQ(TemplateArguments("void ns::Outer<int>::run<float, Pair<a, b> >(int, Pair<c, d>)"),
            "float, Pair<a, b> ");
  EXPECT_EQ(TemplateArguments("void at::(anonymous namespace)::norm<float>(int)"), "float");
}

TEST(KernelArguments, ArgumentsOfAMangledSymbolAreDemangled) {
  // void f<float, 4>(int), by the Itanium C++ ABI.
  EXPECT_EQ(TemplateArguments("_Z1fIfLi4EEvi"), "float, 4");
}

TEST(KernelArguments, SymbolWithoutTemplateHasNoArguments) {
  for (const char* symbol :
       {"", "loop_add_fusion_3", "_Z", "_Z1", "operator<", "a<b", "f(int)", ">>>(<"}) {
    EXPECT_EQ(TemplateArguments(symbol), "") << symbol;
  }
}

TEST(KernelArguments, EndlessArgumentsAreCut) {
  const std::string list(1'000'000, 'x');
  EXPECT_EQ(TemplateArguments("f<" + list + ">(int)").size(), 2000u);
}

}  // namespace
}  // namespace xlatrace::report
