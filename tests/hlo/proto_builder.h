// SPDX-License-Identifier: Apache-2.0

// Writes HloProto bytes by hand, so that tests state what is in a file field by field.

#ifndef XLATRACE_TESTS_HLO_PROTO_BUILDER_H_
#define XLATRACE_TESTS_HLO_PROTO_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace xlatrace::hlo {

class Message {
 public:
  Message& Int(uint32_t field, int64_t value) {
    Writer().add_int64(field, value);
    return *this;
  }
  Message& Text(uint32_t field, const std::string& value) {
    Writer().add_bytes(field, value);
    return *this;
  }
  Message& Nested(uint32_t field, const Message& value) { return Text(field, value.bytes_); }
  Message& Packed(uint32_t field, const std::vector<int64_t>& values) {
    Writer().add_packed_int64(field, values.begin(), values.end());
    return *this;
  }
  // All fields of another one.
  Message& Append(const Message& other) {
    bytes_ += other.bytes_;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  protozero::pbf_writer Writer() { return protozero::pbf_writer(bytes_); }
  std::string bytes_;
};

// xla.PrimitiveType numbers.
inline constexpr int64_t kS32 = 4;
inline constexpr int64_t kF32 = 11;
inline constexpr int64_t kTupleType = 13;
inline constexpr int64_t kBf16 = 16;

inline Message ArrayProto(int64_t type, const std::vector<int64_t>& dims,
                          const std::vector<int64_t>& minor_to_major) {
  Message shape;
  shape.Int(2, type);
  if (!dims.empty()) shape.Packed(3, dims);
  Message layout;
  if (!minor_to_major.empty()) layout.Packed(1, minor_to_major);
  return shape.Nested(5, layout);
}

inline Message InstructionProto(const std::string& name, const std::string& opcode, int64_t id,
                                const std::vector<int64_t>& operands = {}) {
  Message instruction;
  instruction.Text(1, name).Text(2, opcode);
  instruction.Nested(3, ArrayProto(kF32, {8, 16}, {1, 0}));
  instruction.Int(35, id);
  if (!operands.empty()) instruction.Packed(36, operands);
  return instruction;
}

inline Message ComputationProto(const std::string& name, int64_t id, int64_t root,
                                const std::vector<Message>& instructions) {
  Message computation;
  computation.Text(1, name);
  for (const Message& instruction : instructions) computation.Nested(2, instruction);
  return computation.Int(5, id).Int(6, root);
}

}  // namespace xlatrace::hlo

#endif  // XLATRACE_TESTS_HLO_PROTO_BUILDER_H_
