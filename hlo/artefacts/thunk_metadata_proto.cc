// SPDX-License-Identifier: Apache-2.0
#include "hlo/artefacts/thunk_metadata_proto.h"

#include <utility>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

namespace xlatrace::hlo {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

struct Entry {
  int64_t id = 0;  // proto3's default is not written.
  std::string instruction;
};

// ThunkInfoProto: profile_annotation = 1, thunk_id = 3.
Entry ReadInfo(pbf_reader info) {
  Entry entry;
  while (info.next()) {
    if (info.tag() == 1 && info.wire_type() == pbf_wire_type::length_delimited) {
      entry.instruction = info.get_string();
    } else if (info.tag() == 3 && info.wire_type() == pbf_wire_type::varint) {
      entry.id = info.get_int64();
    } else {
      info.skip();
    }
  }
  return entry;
}

}  // namespace

std::optional<std::unordered_map<int64_t, std::string>> ReadThunkMetadataProto(
    std::string_view bytes) {
  std::unordered_map<int64_t, std::string> instructions;
  bool is_list = false;
  try {
    pbf_reader list(bytes.data(), bytes.size());
    while (list.next()) {
      if (list.tag() != 1 || list.wire_type() != pbf_wire_type::length_delimited) {
        if (!is_list) return std::nullopt;
        list.skip();
        continue;
      }
      // ThunkMetadataProto: thunk_info = 1, thunk_kind = 2.
      pbf_reader metadata = list.get_message();
      while (metadata.next()) {
        if (metadata.wire_type() != pbf_wire_type::length_delimited || metadata.tag() > 2) {
          if (!is_list) return std::nullopt;
          metadata.skip();
        } else if (metadata.tag() == 1) {
          Entry entry = ReadInfo(metadata.get_message());
          if (!entry.instruction.empty()) {
            instructions.try_emplace(entry.id, std::move(entry.instruction));
          }
          is_list = true;
        } else {
          metadata.skip();
        }
      }
    }
  } catch (const protozero::exception&) {
    // Cut off: the rest is as good as it was.
  }
  if (!is_list) return std::nullopt;
  return instructions;
}

}  // namespace xlatrace::hlo
