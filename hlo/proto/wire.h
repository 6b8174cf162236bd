// SPDX-License-Identifier: Apache-2.0

// One protobuf message as a stream of fields: protozero's reader, plus the place of the field that
// is being read, for error messages.
//
// Reading damaged bytes throws protozero's exceptions: readers catch them once, at the top, and
// turn them into a Result with DescribeWireError. None leaves this room but from proto/xspace.h. A
// field with the right number but an unexpected wire type must be skipped, which is why fields are
// told apart by Key(), number and wire type together.

#ifndef XLATRACE_HLO_PROTO_WIRE_H_
#define XLATRACE_HLO_PROTO_WIRE_H_

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <protozero/pbf_reader.hpp>

namespace xlatrace::hlo {

// Start of the field that is read right now; shared by nested messages.
struct WirePosition {
  const char* field = nullptr;
};

constexpr uint32_t VarintKey(uint32_t number) { return number << 3; }
constexpr uint32_t BytesKey(uint32_t number) { return number << 3 | 2; }

class Fields {
 public:
  Fields(std::string_view message, WirePosition& position)
      : reader_(message.data(), message.size()), position_(position) {}

  bool Next() {
    position_.field = reader_.data().data();
    return reader_.next();
  }
  uint32_t Key() const { return reader_.tag_and_type(); }
  void Skip() { reader_.skip(); }

  // After Key() said BytesKey(n).
  std::string_view Bytes() {
    const protozero::data_view view = reader_.get_view();
    return {view.data(), view.size()};
  }
  // After Key() said VarintKey(n).
  int64_t Int() { return reader_.get_int64(); }
  // After a key of 64 bits.
  double Double() { return reader_.get_double(); }
  bool Bool() { return reader_.get_int64() != 0; }

  // Repeated integers, packed or one by one: calls `add` for each. After either key of the field.
  template <typename Add>
  void Ints(Add add) {
    if (reader_.has_wire_type(protozero::pbf_wire_type::varint)) {
      add(reader_.get_int64());
      return;
    }
    for (const int64_t value : reader_.get_packed_int64()) add(value);
  }

 private:
  protozero::pbf_reader reader_;
  WirePosition& position_;
};

// "unknown wire type 7 at byte 912"; `whole` is the message that reading began with.
std::string DescribeWireError(const std::exception& error, std::string_view whole,
                              const WirePosition& position);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_PROTO_WIRE_H_
