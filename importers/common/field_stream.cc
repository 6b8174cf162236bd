// SPDX-License-Identifier: Apache-2.0
#include "importers/common/field_stream.h"

#include <algorithm>

namespace xlatrace::importers {
namespace {

constexpr size_t kReadWindowBytes = 1 << 18;
constexpr size_t kVarintBytes = 10;

}  // namespace

FieldStream::FieldStream(const ByteSource& source, ByteRange message)
    : source_(source),
      end_(std::min(message.end(), source.size())),
      at_(message.offset),
      end_of_field_(message.offset) {}

std::string_view FieldStream::Ahead(size_t count) {
  count = static_cast<size_t>(std::min<uint64_t>(count, end_ - at_));
  const bool inside = at_ >= window_start_ && at_ <= window_start_ + window_size_;
  size_t skip = inside ? static_cast<size_t>(at_ - window_start_) : window_size_;
  if (window_size_ - skip < count) {
    // A small message takes a small window: a profile has thousands of lines.
    const auto want =
        static_cast<size_t>(std::min<uint64_t>(std::max(count, kReadWindowBytes), end_ - at_));
    const size_t kept = window_size_ - skip;
    if (window_.size() < want) {
      std::string larger(want, '\0');
      window_.copy(larger.data(), kept, skip);
      window_ = std::move(larger);
    } else if (kept > 0) {
      std::char_traits<char>::move(window_.data(), window_.data() + skip, kept);
    }
    window_start_ = at_;
    window_size_ = kept + source_.ReadAt(at_ + kept, window_.data() + kept, want - kept);
    skip = 0;
  }
  return std::string_view(window_).substr(skip, window_size_ - skip);
}

uint64_t FieldStream::ReadVarint() {
  const std::string_view bytes = Ahead(kVarintBytes);
  const char* at = bytes.data();
  const uint64_t value = protozero::decode_varint(&at, bytes.data() + bytes.size());
  at_ += static_cast<uint64_t>(at - bytes.data());
  return value;
}

bool FieldStream::Next() {
  at_ = end_of_field_;
  if (at_ >= end_) return false;
  field_ = at_;
  remains_ = {};
  key_ = static_cast<uint32_t>(ReadVarint());
  const uint32_t tag = field();
  if (tag == 0 || (tag >= 19000 && tag <= 19999)) throw protozero::invalid_tag_exception{};
  uint64_t size = 0;
  switch (static_cast<protozero::pbf_wire_type>(key_ & 7)) {
    case protozero::pbf_wire_type::varint:
      payload_ = at_;
      value_ = ReadVarint();
      size = at_ - payload_;
      break;
    case protozero::pbf_wire_type::fixed64:
      payload_ = at_;
      size = 8;
      break;
    case protozero::pbf_wire_type::length_delimited: {
      const uint64_t length = ReadVarint();
      payload_ = at_;
      size = static_cast<uint32_t>(length);  // As protozero: lengths have 32 bits.
      break;
    }
    case protozero::pbf_wire_type::fixed32:
      payload_ = at_;
      size = 4;
      break;
    default:
      throw protozero::unknown_pbf_wire_type_exception{};
  }
  if (size > end_ - payload_) {
    if ((key_ & 7) == static_cast<uint32_t>(protozero::pbf_wire_type::length_delimited)) {
      remains_ = {payload_, end_ - payload_};
    }
    throw protozero::end_of_buffer_exception{};
  }
  end_of_field_ = payload_ + size;
  return true;
}

bool FieldStream::Resume(const Begins& begins) {
  constexpr size_t kHeadBytes = 64;
  constexpr uint32_t kLengthDelimited = 2;
  for (uint64_t at = field_ + 1; at < end_; ++at) {
    at_ = at;
    const std::string_view ahead = Ahead(1 + kVarintBytes + kHeadBytes);
    if (ahead.empty()) break;
    const auto key = static_cast<unsigned char>(ahead.front());
    if ((key & 7) != kLengthDelimited || key < 8 || key >= 0x80) continue;
    const char* payload = ahead.data() + 1;
    uint64_t size = 0;
    try {
      size = protozero::decode_varint(&payload, ahead.data() + ahead.size());
    } catch (const protozero::exception&) {
      continue;
    }
    const auto skipped = static_cast<uint64_t>(payload - ahead.data());
    if (size > end_ - at - skipped) continue;
    const std::string_view head = ahead.substr(skipped, std::min<uint64_t>(size, kHeadBytes));
    if (!begins(key, size, head)) continue;
    end_of_field_ = at;
    return true;
  }
  end_of_field_ = end_;
  return false;
}

std::string_view FieldStream::View() {
  at_ = payload_;
  const uint64_t size = end_of_field_ - payload_;
  const std::string_view bytes = Ahead(static_cast<size_t>(size));
  if (bytes.size() < size) throw protozero::end_of_buffer_exception{};  // The file shrank.
  return bytes.substr(0, static_cast<size_t>(size));
}

void FieldStream::AppendTo(std::vector<char>& out) {
  const size_t size = static_cast<size_t>(end_of_field_ - field_);
  if (size <= kReadWindowBytes) {
    at_ = field_;
    const std::string_view bytes = Ahead(size);
    if (bytes.size() < size) throw protozero::end_of_buffer_exception{};
    out.insert(out.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    return;
  }
  const size_t before = out.size();
  out.resize(before + size);
  if (source_.ReadAt(field_, out.data() + before, size) < size) {
    throw protozero::end_of_buffer_exception{};
  }
}

}  // namespace xlatrace::importers
