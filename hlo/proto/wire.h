// SPDX-License-Identifier: Apache-2.0

// One protobuf message as a stream of fields: protozero's reader, plus the place of the field that
// is being read, for error messages.
//
// Reading damaged bytes throws protozero's exceptions. Readers catch them once, at the top, and
// convert them to a Result with DescribeWireError. Only proto/xspace.h lets them leave this
// component. A field with the right number but an unexpected wire type must be skipped. So fields
// are identified by Key(), which is number and wire type together.

#ifndef XLATRACE_HLO_PROTO_WIRE_H_
#define XLATRACE_HLO_PROTO_WIRE_H_

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <protozero/pbf_reader.hpp>

namespace xlatrace::hlo {

// Start of the current field; shared by nested messages.
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

  // Call after Key() returned BytesKey(n).
  std::string_view Bytes() {
    const protozero::data_view view = reader_.get_view();
    return {view.data(), view.size()};
  }
  // Call after Key() returned VarintKey(n).
  int64_t Int() { return reader_.get_int64(); }
  // Call after a key of 64 bits.
  double Double() { return reader_.get_double(); }
  bool Bool() { return reader_.get_int64() != 0; }

  // Repeated integers, packed or single: calls `add` for each. Call after either key of the field.
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

// "unknown wire type 7 at byte 912"; `whole` is the outermost message.
std::string DescribeWireError(const std::exception& error, std::string_view whole,
                              const WirePosition& position);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_PROTO_WIRE_H_
