// SPDX-License-Identifier: Apache-2.0
#include "tools/dump_modules.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "hlo/module_origin.h"

namespace xlatrace::tools {
namespace {

std::string ListOf(const dumps::DumpDir& dir, const std::vector<size_t>& which) {
  std::string text;
  for (size_t i = 0; i < which.size(); ++i) {
    if (i == 5) {
      text += fmt::format(" and {} more", which.size() - i);
      break;
    }
    const dumps::DumpModule& module = dir.modules[which[i]];
    text += fmt::format("{}{} {}{}", i == 0 ? "" : ", ", module.program_id, module.name,
                        module.subfolder.empty() ? "" : " in " + module.subfolder);
  }
  return text;
}

bool HasPasses(const dumps::DumpModule& module) {
  return std::any_of(module.files.begin(), module.files.end(), [](const dumps::DumpFile& file) {
    return file.name.stage == dumps::DumpStage::kAfterPass && file.name.pass_number >= 0;
  });
}

}  // namespace

Result<std::vector<size_t>> FindDumpModules(const dumps::DumpDir& dir, const std::string& wanted) {
  std::vector<size_t> found;
  const auto collect = [&](const auto& matches) {
    for (size_t m = 0; m < dir.modules.size(); ++m) {
      if (matches(dir.modules[m])) found.push_back(m);
    }
    return !found.empty();
  };
  int64_t number = -1;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  const bool is_number = error == std::errc() && end == wanted.data() + wanted.size();
  if (is_number && collect([&](const dumps::DumpModule& m) { return m.program_id == number; })) {
    return found;
  }
  if (collect([&](const dumps::DumpModule& m) { return m.name == wanted; }) ||
      collect([&](const dumps::DumpModule& m) {
        return hlo::OriginOfModule(m.name).function == wanted;
      }) ||
      collect([&](const dumps::DumpModule& m) {
        return m.name.find(wanted) != std::string::npos || m.subfolder == wanted;
      })) {
    return found;
  }
  if (dir.modules.empty()) {
    return MakeError(fmt::format("'{}' holds no XLA dump", dir.path),
                     "dump with XLA_FLAGS=--xla_dump_to=DIR");
  }
  std::vector<size_t> all;
  for (size_t m = 0; m < dir.modules.size(); ++m) all.push_back(m);
  return MakeError(fmt::format("no module '{}' in '{}'", wanted, dir.path),
                   "there are " + ListOf(dir, all));
}

Result<size_t> FindDumpModule(const dumps::DumpDir& dir, const std::string& wanted) {
  XLATRACE_ASSIGN(std::vector<size_t> found, FindDumpModules(dir, wanted));
  if (found.size() > 1) {
    std::vector<size_t> with_passes;
    for (const size_t m : found) {
      if (HasPasses(dir.modules[m])) with_passes.push_back(m);
    }
    if (!with_passes.empty()) found = std::move(with_passes);
  }
  if (found.size() == 1) return found.front();
  return MakeError(fmt::format("'{}' names {} modules", wanted, found.size()),
                   "give the number, or name the subfolder as DIR: " + ListOf(dir, found));
}

}  // namespace xlatrace::tools
