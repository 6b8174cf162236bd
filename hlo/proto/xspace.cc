// SPDX-License-Identifier: Apache-2.0
#include "hlo/proto/xspace.h"

#include <algorithm>

namespace xlatrace::hlo {
namespace {

constexpr uint32_t kDoubleValueTag = 2 << 3 | 1;  // XStat, 64 bits.

// A key of one byte, as all of an XSpace's first fields have.
bool TakeKey(std::string_view& text, uint32_t key) {
  if (text.empty() || static_cast<unsigned char>(text.front()) != key) return false;
  text.remove_prefix(1);
  return true;
}

void SkipVarint(std::string_view& text) {
  size_t size = 0;
  while (size < text.size() && (text[size] & 0x80) != 0) ++size;
  text.remove_prefix(std::min(size + 1, text.size()));
}

}  // namespace

XMapEntry ReadXMapEntry(std::string_view bytes, WirePosition& position) {
  XMapEntry entry;
  Fields fields(bytes, position);
  while (fields.Next()) {
    switch (fields.Key()) {
      case VarintKey(1):
        entry.key = fields.Int();
        break;
      case BytesKey(2):
        entry.value = fields.Bytes();
        break;
      default:
        fields.Skip();
    }
  }
  return entry;
}

XEventMetadata ReadXEventMetadata(std::string_view bytes, WirePosition& position) {
  XEventMetadata metadata;
  Fields fields(bytes, position);
  while (fields.Next()) {
    switch (fields.Key()) {
      case BytesKey(2):
        metadata.name = fields.Bytes();
        break;
      case BytesKey(4):
        metadata.display_name = fields.Bytes();
        break;
      case BytesKey(5):
        metadata.stats.push_back(fields.Bytes());
        break;
      default:
        fields.Skip();
    }
  }
  return metadata;
}

std::string_view ReadXStatName(std::string_view bytes, WirePosition& position) {
  std::string_view name;
  Fields fields(bytes, position);
  while (fields.Next()) {
    if (fields.Key() == BytesKey(2)) {
      name = fields.Bytes();
    } else {
      fields.Skip();
    }
  }
  return name;
}

XStat ReadXStat(std::string_view bytes, WirePosition& position) {
  XStat stat;
  Fields fields(bytes, position);
  while (fields.Next()) {
    switch (fields.Key()) {
      case VarintKey(1):
        stat.id = fields.Int();
        break;
      case kDoubleValueTag:
        stat.real = fields.Double();
        stat.kind = XStat::Kind::kDouble;
        break;
      case VarintKey(3):  // uint64
      case VarintKey(4):  // int64
        stat.integer = fields.Int();
        stat.kind = XStat::Kind::kInt;
        break;
      case BytesKey(5):
        stat.text = fields.Bytes();
        stat.kind = XStat::Kind::kText;
        break;
      case BytesKey(6):
        stat.text = fields.Bytes();
        stat.kind = XStat::Kind::kBytes;
        break;
      case VarintKey(7):
        stat.integer = fields.Int();
        stat.kind = XStat::Kind::kRef;
        break;
      default:
        fields.Skip();
    }
  }
  return stat;
}

int64_t ReadXStatId(std::string_view bytes, WirePosition& position) {
  Fields fields(bytes, position);
  while (fields.Next()) {
    if (fields.Key() == VarintKey(1)) return fields.Int();
    fields.Skip();
  }
  return 0;
}

bool LooksLikeXSpace(std::string_view head) {
  if (!TakeKey(head, XSpaceKeys::kPlaneTag)) return false;
  SkipVarint(head);
  return LooksLikeXPlane(head);
}

bool LooksLikeXPlane(std::string_view head) {
  if (TakeKey(head, XPlaneKeys::kIdTag)) SkipVarint(head);
  if (!TakeKey(head, XPlaneKeys::kNameTag)) return false;
  SkipVarint(head);
  return head.starts_with("/host:") || head.starts_with("/device:") ||
         head.starts_with("Task Environment");
}

}  // namespace xlatrace::hlo
