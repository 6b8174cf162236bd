// SPDX-License-Identifier: Apache-2.0

// Where the source files of this checkout lie. Only source_folder.cc is compiled with that path, so
// that the compiler cache serves the other tests in every checkout.

#ifndef XLATRACE_TESTS_SOURCE_FOLDER_H_
#define XLATRACE_TESTS_SOURCE_FOLDER_H_

#include <string>

namespace xlatrace {

// The root of the checkout, absolute, without a slash at the end.
std::string SourceFolder();

}  // namespace xlatrace

#endif  // XLATRACE_TESTS_SOURCE_FOLDER_H_
