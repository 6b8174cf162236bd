// SPDX-License-Identifier: Apache-2.0

// Golden text: sentences of the product that tests expect, kept beside the tests instead of inside
// them. So a sentence can be edited without editing a test.
//
// EXPECT_GOLDEN_TEXT(text) compares `text` with a section of
// `tests/COMPONENT/golden_text/SUITE.txt`. The section is named after the running test; the
// second call in one test has the section "TestName #2", and so on. Names of temporary
// folders are replaced by "<tmp>" before the comparison. An unused section of a test fails
// that test.
//
// With XLATRACE_UPDATE_GOLDEN=1 in the environment the sections of all tests that run are written
// instead of compared (`scripts/golden`). A person then reviews the difference.
//
// Thread-safety: call it on the thread that runs the test.

#ifndef XLATRACE_TESTS_GOLDEN_TEXT_GOLDEN_TEXT_H_
#define XLATRACE_TESTS_GOLDEN_TEXT_GOLDEN_TEXT_H_

#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/source_folder.h"

namespace xlatrace::golden {

// Section name -> text, without the newline at the end of a section.
using Sections = std::map<std::string, std::string>;

// The file format: "== NAME" starts a section. A line of text that starts with "==" or a backslash
// gets a backslash as prefix. One empty line ends a section. Lines before the first section are
// comments.
Sections ParseSections(std::string_view file_text);
std::string FormatSections(std::string_view suite, const Sections& sections);

// `text` with the names of temporary folders replaced.
std::string MaskTemporaryFolders(std::string text);

// Compares or records `text` for the running test. `folder` holds the golden files of a component.
testing::AssertionResult Matches(const std::string& folder, std::string text);

}  // namespace xlatrace::golden

#define EXPECT_GOLDEN_TEXT(text)           \
  EXPECT_TRUE(::xlatrace::golden::Matches( \
      ::xlatrace::SourceFolder() + "/tests/" XLATRACE_TEST_COMPONENT "/golden_text", (text)))

#endif  // XLATRACE_TESTS_GOLDEN_TEXT_GOLDEN_TEXT_H_
