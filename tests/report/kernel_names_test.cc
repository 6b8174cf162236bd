// SPDX-License-Identifier: Apache-2.0
#include "report/kernel_names.h"

#include <gtest/gtest.h>

namespace xlatrace::report {
namespace {

using Names = std::vector<std::string>;

TEST(KernelNames, NamesContainOnlyTheDifferingTemplateArguments) {
  EXPECT_EQ(TopLevelArguments("4, A<float, B<2>>, (C)0, std::array<char*, 3ul>"),
            (Names{"4", "A<float, B<2>>", "(C)0", "std::array<char*, 3ul>"}));
  EXPECT_EQ(KernelNames({{"f", "void f<float, 4, true>(int)"},
                         {"f", "void f<half, 4, true>(int)"},
                         {"g", "void g<x>(int)"}}),
            (Names{"f<float>", "f<half>", "g"}));
}

TEST(KernelNames, NamesStayIfNoArgumentDiffers) {
  EXPECT_EQ(KernelNames({{"f", "a(int)"}, {"f", "a(long)"}, {"copy", ""}, {"copy", ""}}),
            (Names{"f", "f", "copy", "copy"}));
  // One symbol in two rows is one kernel.
  EXPECT_EQ(KernelNames({{"f", "void f<float>(int)"}, {"f", "void f<float>(int)"}}),
            (Names{"f", "f"}));
}

TEST(KernelNames, ScopesAndLongArgumentsAreRemoved) {
  const std::string nested =
      "at::native::BinaryFunctor<float, float, float, "
      "at::native::binary_internal::MulFunctor<float> >";
  EXPECT_EQ(KernelNames({{"e", "void e<4, at::native::CUDAFunctor_add<float> >(int)"},
                         {"e", "void e<4, " + nested + " >(int)"}}),
            (Names{"e<CUDAFunctor_add<float>>", "e<MulFunctor<float>>"}));
}

// The page and the terminal cut names to their width; here the distinguishing part must be
// whole.
TEST(KernelNames, LongSingleWordIsNotCut) {
  const std::string a = "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8";
  const std::string b = "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_64x64_128x2_tn_align8";
  EXPECT_EQ(KernelNames({{"K", "void cutlass::K<" + a + ">(" + a + "::Params)"},
                         {"K", "void cutlass::K<" + b + ">(" + b + "::Params)"}}),
            (Names{"K<" + a + ">", "K<" + b + ">"}));
}

TEST(KernelNames, LambdasAreNamedAfterTheirKernel) {
  const auto symbol = [](const std::string& lambda) {
    return "void u<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::"
           "operator()() const::{lambda()#" +
           lambda + "}::operator()() const::{lambda(float)#1}>(int)";
  };
  EXPECT_EQ(KernelNames({{"u", symbol("6")}, {"u", symbol("7")}}),
            (Names{"u<direct_copy#3#6#1>", "u<direct_copy#3#7#1>"}));
}

TEST(KernelNames, UndemangledSymbolsAreNamedByTheirFunctor) {
  EXPECT_EQ(KernelNames({{"v", "_Z1vI10MulFunctorQQ"}, {"v", "_Z1vI10AddFunctorQQ"}}),
            (Names{"v<MulFunctor>", "v<AddFunctor>"}));
}

}  // namespace
}  // namespace xlatrace::report
