// SPDX-License-Identifier: Apache-2.0
#include "base/gzip_inflater.h"

#include <zlib.h>

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace xlatrace {

struct GzipInflater::State {
  explicit State(Source from) : source(std::move(from)) {
    // 15 bits of window; +16: a gzip header and its checksum.
    ready = inflateInit2(&stream, 15 + 16) == Z_OK;
  }
  ~State() { inflateEnd(&stream); }

  // False at the end of the source.
  Result<bool> Refill() {
    XLATRACE_ASSIGN(const std::string_view bytes, source());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    taken += bytes.size();
    return !bytes.empty();
  }

  // zlib's error as text.
  std::string Reason() const {
    const std::string_view message = stream.msg == nullptr ? "" : stream.msg;
    if (message.find("data check") != message.npos || message.find("length") != message.npos) {
      return "its checksum does not fit: bytes of it were changed";
    }
    return message.empty() ? "damaged" : fmt::format("damaged ({})", message);
  }

  Source source;
  z_stream stream = {};
  bool ready = false;
  bool between_members = true;
  bool first_member = true;
  bool ended = false;
  uint64_t taken = 0;
  std::string failure;  // Returned by the next Read.
};

GzipInflater::GzipInflater(Source source) : state_(std::make_unique<State>(std::move(source))) {}
GzipInflater::GzipInflater(GzipInflater&&) noexcept = default;
GzipInflater::~GzipInflater() = default;

uint64_t GzipInflater::bytes_consumed() const { return state_->taken - state_->stream.avail_in; }

Result<size_t> GzipInflater::Read(char* buffer, size_t size) {
  State& s = *state_;
  if (!s.ready) return MakeError("there is no memory to inflate with");
  if (!s.failure.empty()) return MakeError(s.failure);
  s.stream.next_out = reinterpret_cast<Bytef*>(buffer);
  s.stream.avail_out = static_cast<uInt>(std::min<size_t>(size, 1u << 30));
  const uInt wanted = s.stream.avail_out;
  while (!s.ended && s.stream.avail_out > 0) {
    bool at_end = false;
    if (s.stream.avail_in == 0) {
      const Result<bool> more = s.Refill();
      if (!more) {
        s.failure = more.error().message;
        break;
      }
      at_end = !*more;
    }
    if (s.between_members) {
      // First byte of a header. Padding and foreign bytes after the last member are not read.
      if (at_end || (!s.first_member && *s.stream.next_in != 0x1f)) {
        s.ended = true;
        break;
      }
      s.between_members = s.first_member = false;
    }
    const int code = inflate(&s.stream, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      inflateReset(&s.stream);
      s.between_members = true;
    } else if (code == Z_BUF_ERROR && at_end) {
      s.failure = "it is cut off";
      break;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      s.failure = s.Reason();
      break;
    }
  }
  const size_t got = wanted - s.stream.avail_out;
  if (got == 0 && !s.failure.empty()) return MakeError(s.failure);
  return got;
}

}  // namespace xlatrace
