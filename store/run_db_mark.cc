// SPDX-License-Identifier: Apache-2.0
#include "store/run_db_mark.h"

#include <cstddef>
#include <cstdint>

#include "base/file.h"
#include "store/schema.h"

namespace xlatrace::store {

bool LooksLikeRunDb(const std::string& path) {
  // https://www.sqlite.org/fileformat.html#the_database_header: application id at 68, big-endian.
  constexpr size_t kIdAt = 68;
  const auto head = ReadFileHead(path, kIdAt + 4);
  if (!head || head->size() != kIdAt + 4 || !head->starts_with("SQLite format 3")) return false;
  int64_t id = 0;
  for (size_t i = kIdAt; i < head->size(); ++i) {
    id = id << 8 | static_cast<unsigned char>((*head)[i]);
  }
  return id == kApplicationId;
}

}  // namespace xlatrace::store
