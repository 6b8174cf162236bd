// SPDX-License-Identifier: Apache-2.0

// The matcher against labels that people made by reading both texts (labels/README.md).

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "compare/instruction_match.h"
#include "hlo/text/text_printer.h"
#include "hlo/text/text_reader.h"
#include "tests/shared_data.h"
#include "tests/source_folder.h"
#include "tests/tiers.h"

namespace xlatrace::compare {
namespace {

namespace fs = std::filesystem;

using NamePair = std::pair<std::string, std::string>;

struct Labels {
  std::string base, now;  // "ARCHIVE MEMBER".
  std::set<NamePair> pairs;
  std::set<std::string> doubtful_base, doubtful_now;
};

Labels ReadLabels(const fs::path& path) {
  Labels labels;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::vector<std::string> list;
    for (std::string word; words >> word;) list.push_back(word);
    if (list.empty()) continue;
    if (list[0] == "a:") labels.base = list[1] + " " + list[2];
    if (list[0] == "b:") labels.now = list[1] + " " + list[2];
    if (list[0].back() == ':') continue;
    const bool doubtful = list[0] == "?";
    if (doubtful) list.erase(list.begin());
    std::vector<std::string> base, now;
    bool right = list[0] == "-";
    for (const std::string& word : list) {
      if (word == "=") right = true;
      if (word == "=" || word == "+" || word == "-") continue;
      (right ? now : base).push_back(word);
    }
    if (doubtful) {
      labels.doubtful_base.insert(base.begin(), base.end());
      labels.doubtful_now.insert(now.begin(), now.end());
      continue;
    }
    for (const std::string& b : base) {
      for (const std::string& n : now) labels.pairs.emplace(b, n);
    }
  }
  return labels;
}

// Texts of all archives that labels speak of, by "ARCHIVE MEMBER".
std::map<std::string, std::string> ReadTexts(const fs::path& data,
                                             const std::set<std::string>& wanted) {
  std::map<std::string, std::string> texts;
  std::set<std::string> archives;
  for (const std::string& place : wanted) archives.insert(place.substr(0, place.find(' ')));
  for (const std::string& archive : archives) {
    const auto key = [&](std::string name) {
      if (name.starts_with("./")) name.erase(0, 2);
      return archive + " " + name;
    };
    const std::unique_ptr<::archive, decltype(&archive_read_free)> reader(archive_read_new(),
                                                                          archive_read_free);
    archive_read_support_filter_all(reader.get());
    archive_read_support_format_tar(reader.get());
    const fs::path path = data / archive;
    EXPECT_EQ(archive_read_open_filename(reader.get(), path.c_str(), 1 << 16), ARCHIVE_OK) << path;
    archive_entry* entry = nullptr;
    while (archive_read_next_header(reader.get(), &entry) == ARCHIVE_OK) {
      const std::string place = key(archive_entry_pathname(entry));
      if (!wanted.contains(place)) continue;
      std::string& text = texts[place];
      text.resize(static_cast<size_t>(archive_entry_size(entry)));
      EXPECT_EQ(archive_read_data(reader.get(), text.data(), text.size()),
                static_cast<la_ssize_t>(text.size()));
    }
  }
  return texts;
}

model::HloModule Parse(const std::string& text) {
  auto module = hlo::ReadText(std::make_shared<const std::string>(text));
  EXPECT_TRUE(module) << module.error().message;
  return module ? std::move(*module) : model::HloModule();
}

class LabelsTest : public testing::Test {
 protected:
  void SetUp() override {
    XLATRACE_SHARED_OR_SKIP(eras, "own/jax-eras");
    std::set<std::string> wanted;
    for (const auto& entry : fs::directory_iterator(SourceFolder() + "/tests/compare/labels")) {
      if (entry.path().extension() != ".txt") continue;
      files_[entry.path().filename().string()] = ReadLabels(entry.path());
      wanted.insert(files_[entry.path().filename().string()].base);
      wanted.insert(files_[entry.path().filename().string()].now);
    }
    texts_ = ReadTexts(SharedData(), wanted);
  }

  std::map<std::string, Labels> files_;
  std::map<std::string, std::string> texts_;
};

TEST_F(LabelsTest, PairsEqualTheLabels) {
  double right = 0, wrong = 0, missed = 0;
  for (const auto& [name, labels] : files_) {
    const model::HloModule base = Parse(texts_[labels.base]);
    const model::HloModule now = Parse(texts_[labels.now]);
    std::set<NamePair> found;
    for (const UnitGroup& group : MatchPrograms(base, now).groups) {
      for (const uint32_t b : group.base) {
        for (const uint32_t n : group.now) {
          found.emplace(base.instructions[b].name, now.instructions[n].name);
        }
      }
    }
    double here = 0, off = 0;
    for (const NamePair& pair : found) {
      if (labels.doubtful_base.contains(pair.first) || labels.doubtful_now.contains(pair.second)) {
        continue;
      }
      (labels.pairs.contains(pair) ? here : off) += 1;
    }
    const double all = static_cast<double>(labels.pairs.size());
    EXPECT_GE(here / (here + off), 0.95) << name;
    EXPECT_GE(here / all, 0.95) << name;
    std::cout << name << ": precision " << here / (here + off) << ", recall " << here / all << "\n";
    right += here;
    wrong += off;
    missed += all - here;
  }
  ASSERT_GE(right + missed, 200);
  std::cout << right + missed << " labelled pairs: precision " << right / (right + wrong)
            << ", recall " << right / (right + missed) << "\n";
  EXPECT_GE(right / (right + wrong), 0.95);
  EXPECT_GE(right / (right + missed), 0.95);
}

// Which side is called the base turns the answer and changes nothing else.
TEST_F(LabelsTest, SwappedSidesGiveSwappedPairs) {
  for (const auto& [name, labels] : files_) {
    const model::HloModule base = Parse(texts_[labels.base]);
    const model::HloModule now = Parse(texts_[labels.now]);
    const ProgramMatch there = MatchPrograms(base, now);
    const ProgramMatch back = MatchPrograms(now, base);
    EXPECT_EQ(there.similarity, back.similarity) << name;
    EXPECT_EQ(there.only_base, back.only_now) << name;
    EXPECT_EQ(there.only_now, back.only_base) << name;
    std::set<std::tuple<std::vector<uint32_t>, std::vector<uint32_t>, double>> forth, turned;
    for (const UnitGroup& group : there.groups) {
      forth.emplace(group.base, group.now, group.common);
    }
    for (const UnitGroup& group : back.groups) {
      turned.emplace(group.now, group.base, group.common);
    }
    EXPECT_EQ(forth, turned) << name;
  }
}

// Every name another, computations in another order: content is all that is left.
struct Renumbered {
  std::string text;
  std::map<std::string, std::string> new_name;
};

Renumbered Renumber(const model::HloModule& module, uint64_t seed) {
  Renumbered result;
  std::mt19937_64 random(seed);
  std::vector<std::string> names;
  for (const model::Instruction& instruction : module.instructions)
    names.emplace_back(instruction.name);
  std::vector<size_t> numbers(names.size());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  std::shuffle(numbers.begin(), numbers.end(), random);
  for (size_t i = 0; i < names.size(); ++i) {
    result.new_name[names[i]] = "op." + std::to_string(numbers[i]);
  }
  // '%' marks a name in the long form.
  const std::string text = hlo::PrintText(module);
  std::string renamed;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '%') {
      renamed += text[at++];
      continue;
    }
    size_t end = at + 1;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) ||
            std::string_view("._-").find(text[end]) != std::string_view::npos)) {
      ++end;
    }
    const auto found = result.new_name.find(text.substr(at + 1, end - at - 1));
    renamed +=
        "%" + (found == result.new_name.end() ? text.substr(at + 1, end - at - 1) : found->second);
    at = end;
  }
  // Header, then computations, which end in a line of '}'.
  const size_t head = std::min(renamed.find("\n%"), renamed.find("\nENTRY"));
  std::vector<std::string> blocks;
  for (size_t at = head; at != std::string::npos && at < renamed.size();) {
    const size_t end = renamed.find("\n}", at);
    if (end == std::string::npos) break;
    blocks.push_back(renamed.substr(at, end + 2 - at));
    at = end + 2;
  }
  // Any order in which what is called comes first.
  const auto name_of = [](const std::string& block) {
    const size_t at = block.find('%');
    return block.substr(at, block.find_first_of(" (", at) - at);
  };
  const auto calls = [](const std::string& block, const std::string& name) {
    const auto is_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) ||
             std::string_view("._-").find(c) != std::string_view::npos;
    };
    const std::string plain = name.substr(1);
    for (size_t at = block.find(plain); at != std::string::npos; at = block.find(plain, at + 1)) {
      const size_t end = at + plain.size();
      const bool in_list = at > 1 && block[at - 1] == ' ' && block[at - 2] == ',';
      const bool named = at > 0 && (in_list || std::string_view("=%{").find(block[at - 1]) !=
                                                   std::string_view::npos);
      if (named && (end == block.size() || !is_name(block[end]))) {
        return true;
      }
    }
    return false;
  };
  std::shuffle(blocks.begin(), blocks.end(), random);
  result.text = renamed.substr(0, head);
  while (!blocks.empty()) {
    const auto ready = std::find_if(blocks.begin(), blocks.end(), [&](const std::string& block) {
      return std::none_of(blocks.begin(), blocks.end(), [&](const std::string& other) {
        return &other != &block && calls(block, name_of(other));
      });
    });
    const auto next = ready == blocks.end() ? blocks.begin() : ready;
    result.text += *next + "\n";
    blocks.erase(next);
  }
  return result;
}

TEST_F(LabelsTest, RenumberedModuleIsMatchedCompletely) {
  size_t tried = 0;
  for (const auto& [place, text] : texts_) {
    if (tried == static_cast<size_t>(Repetitions(10, 1000))) break;
    const model::HloModule module = Parse(text);
    // Names that two computations share cannot be renamed by themselves.
    std::set<std::string_view> names;
    for (const model::Instruction& instruction : module.instructions)
      names.insert(instruction.name);
    if (names.size() != module.instructions.size()) continue;
    const Renumbered other = Renumber(module, 5 + tried);
    auto read = hlo::ReadText(std::make_shared<const std::string>(other.text));
    // A computation with the name of an opcode (`add`) cannot be distinguished from it here.
    if (!read) continue;
    const model::HloModule renumbered = std::move(*read);
    ASSERT_EQ(renumbered.instructions.size(), module.instructions.size()) << place;
    const ProgramMatch match = MatchPrograms(module, renumbered);
    EXPECT_TRUE(match.only_base.empty() && match.only_now.empty())
        << place << " "
        << (match.only_base.empty() ? "" : module.instructions[match.only_base[0]].name);
    for (const UnitGroup& group : match.groups) {
      ASSERT_EQ(group.base.size(), 1u) << place << " " << module.instructions[group.base[0]].name
                                       << " " << module.instructions[group.base.back()].name;
      ASSERT_EQ(group.now.size(), 1u) << place;
      EXPECT_EQ(other.new_name.at(std::string(module.instructions[group.base[0]].name)),
                renumbered.instructions[group.now[0]].name)
          << place;
    }
    ++tried;
  }
  EXPECT_GE(tried, 10u);
}

}  // namespace
}  // namespace xlatrace::compare
