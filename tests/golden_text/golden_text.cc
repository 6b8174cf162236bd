// SPDX-License-Identifier: Apache-2.0

#include "tests/golden_text/golden_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <utility>
#include <vector>

#include <sys/file.h>

namespace xlatrace::golden {
namespace {

namespace fs = std::filesystem;

bool UpdateIsRequested() {
  const char* value = std::getenv("XLATRACE_UPDATE_GOLDEN");
  return value != nullptr && std::string_view(value) == "1";
}

std::string ReadWholeFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Gtest runs parameterised tests as "Prefix/Suite" and "Name/0"; '/' cannot be in a file name.
std::string WithoutSlashes(std::string name) {
  for (char& c : name) {
    if (c == '/') c = '.';
  }
  return name;
}

std::string SectionName(const std::string& test, size_t number) {
  return number == 1 ? test : test + " #" + std::to_string(number);
}

// The texts of the running test, and what becomes of them at its end.
class RunningTest : public testing::EmptyTestEventListener {
 public:
  static RunningTest& Get() {
    static RunningTest* const instance = [] {
      auto* made = new RunningTest;  // Owned by gtest's listeners.
      testing::UnitTest::GetInstance()->listeners().Append(made);
      return made;
    }();
    return *instance;
  }

  void OnTestStart(const testing::TestInfo&) override { texts_.clear(); }

  void OnTestEnd(const testing::TestInfo& test) override {
    if (texts_.empty() || folder_.empty()) return;
    const std::string name = WithoutSlashes(test.name());
    if (UpdateIsRequested()) {
      if (!test.result()->Failed()) Write(name);
    } else if (test.result()->Passed() && Load().contains(SectionName(name, texts_.size() + 1))) {
      ADD_FAILURE() << file_ << ": the test asks for " << texts_.size()
                    << " texts, the file has more. Run scripts/golden to remove them.";
    }
    texts_.clear();
  }

  testing::AssertionResult Check(const std::string& folder, std::string text) {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    if (test == nullptr) return testing::AssertionFailure() << "no test is running";
    folder_ = folder;
    suite_ = WithoutSlashes(test->test_suite_name());
    file_ = fs::path(folder) / (suite_ + ".txt");
    texts_.push_back(std::move(text));
    if (UpdateIsRequested()) return testing::AssertionSuccess();
    const std::string name = SectionName(WithoutSlashes(test->name()), texts_.size());
    const Sections sections = Load();
    const auto found = sections.find(name);
    if (found == sections.end()) {
      return testing::AssertionFailure()
             << file_ << " has no section '" << name << "'. Run scripts/golden, then review:\n"
             << texts_.back();
    }
    if (found->second == texts_.back()) return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << "The text differs from section '" << name << "' of " << file_
           << ".\nIf the new text is right, run scripts/golden and review the difference."
           << "\n--- expected\n"
           << found->second << "\n--- actual\n"
           << texts_.back();
  }

 private:
  Sections Load() const { return ParseSections(ReadWholeFile(file_)); }

  // Replaces the sections of one test. Test processes may run at the same time, so the folder is
  // locked meanwhile.
  void Write(const std::string& test) {
    fs::create_directories(folder_);
    const int lock = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0) flock(lock, LOCK_EX);
    Sections sections = Load();
    std::erase_if(sections, [&](const auto& section) {
      return section.first == test || section.first.starts_with(test + " #");
    });
    for (size_t i = 0; i < texts_.size(); ++i) sections[SectionName(test, i + 1)] = texts_[i];
    std::ofstream(file_, std::ios::binary) << FormatSections(suite_, sections);
    if (lock >= 0) close(lock);
  }

  std::string folder_;
  std::string suite_;
  fs::path file_;
  std::vector<std::string> texts_;
};

}  // namespace

Sections ParseSections(std::string_view file_text) {
  Sections sections;
  std::string* text = nullptr;
  std::istringstream lines{std::string(file_text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("== ")) {
      text = &sections[line.substr(3)];
    } else if (text != nullptr) {
      *text += line.starts_with('\\') ? line.substr(1) : line;
      *text += '\n';
    }
  }
  // The newline of the last line, and the empty line before the next section.
  for (auto& [name, section] : sections) {
    for (int i = 0; i < 2 && section.ends_with('\n'); ++i) section.pop_back();
  }
  return sections;
}

std::string FormatSections(std::string_view suite, const Sections& sections) {
  std::string file_text = "Text of the product that the tests of " + std::string(suite) +
                          " expect. Written by scripts/golden.\n\n";
  for (const auto& [name, section] : sections) {
    file_text += "== " + name + "\n";
    std::istringstream lines(section + "\n");
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("==") || line.starts_with('\\')) file_text += '\\';
      file_text += line + "\n";
    }
    file_text += "\n";
  }
  return file_text;
}

std::string MaskTemporaryFolders(std::string text) {
  std::string root = fs::temp_directory_path().string();
  if (root.ends_with('/')) root.pop_back();
  static const std::regex* const special = new std::regex(R"([.^$|()\[\]{}*+?\\])");
  const std::regex folder(std::regex_replace(root, *special, R"(\$&)") + R"(/[\w.\-]+)");
  return std::regex_replace(text, folder, "<tmp>");
}

testing::AssertionResult Matches(const std::string& folder, std::string text) {
  text = MaskTemporaryFolders(std::move(text));
  while (text.ends_with('\n')) text.pop_back();
  return RunningTest::Get().Check(folder, std::move(text));
}

}  // namespace xlatrace::golden
