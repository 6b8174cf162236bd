// SPDX-License-Identifier: Apache-2.0
#include "hlo/proto/wire.h"

#include <fmt/format.h>
#include <protozero/exception.hpp>

namespace xlatrace::hlo {

std::string DescribeWireError(const std::exception& error, std::string_view whole,
                              const WirePosition& position) {
  const char* const end = whole.data() + whole.size();
  const bool inside = position.field >= whole.data() && position.field <= end;
  const auto offset = inside ? position.field - whole.data() : 0;
  if (dynamic_cast<const protozero::unknown_pbf_wire_type_exception*>(&error) && inside &&
      position.field < end) {
    return fmt::format("unknown wire type {} at byte {}",
                       static_cast<unsigned char>(*position.field) & 7U, offset);
  }
  if (dynamic_cast<const protozero::end_of_buffer_exception*>(&error)) {
    return fmt::format("field at byte {} runs past the end of its message", offset);
  }
  if (dynamic_cast<const protozero::varint_too_long_exception*>(&error)) {
    return fmt::format("number longer than 10 bytes at byte {}", offset);
  }
  if (dynamic_cast<const protozero::invalid_tag_exception*>(&error)) {
    return fmt::format("invalid field number at byte {}", offset);
  }
  return fmt::format("{} at byte {}", error.what(), offset);
}

}  // namespace xlatrace::hlo
