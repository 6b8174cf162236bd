// SPDX-License-Identifier: Apache-2.0

// Reads Thrift's compact protocol into a tree. The metadata of Parquet files has this format.
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md)
//
// Limits: 64 levels, a million values. Thread-safety: re-entrant.

#ifndef XLATRACE_IMPORTERS_NSYS_JAX_THRIFT_COMPACT_H_
#define XLATRACE_IMPORTERS_NSYS_JAX_THRIFT_COMPACT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace xlatrace::importers {

struct ThriftValue {
  int64_t integer = 0;                // Integers and booleans.
  std::string_view text;              // Binary.
  std::vector<ThriftValue> items;     // Lists and sets.
  std::map<int, ThriftValue> fields;  // Structs.

  // The field, or an empty value.
  const ThriftValue& operator[](int field) const;
  bool Has(int field) const { return fields.count(field) > 0; }
};

// Reads one struct from the beginning of `bytes` and removes it from `bytes`; nullopt if the struct
// is damaged.
std::optional<ThriftValue> ReadThriftStruct(std::string_view& bytes);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_JAX_THRIFT_COMPACT_H_
