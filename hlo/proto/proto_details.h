// SPDX-License-Identifier: Apache-2.0

// Fields of an HloInstructionProto that only the cost model needs: window, convolution and group
// numbers (model::OpDetails). Used by proto_instructions.cc only; field numbers from
// xla/service/hlo.proto and xla/xla_data.proto.

#ifndef XLATRACE_HLO_PROTO_PROTO_DETAILS_H_
#define XLATRACE_HLO_PROTO_PROTO_DETAILS_H_

#include <string_view>
#include <vector>

#include "hlo/proto/wire.h"
#include "model/hlo_module.h"

namespace xlatrace::hlo {

class ProtoDetails {
 public:
  ProtoDetails(model::HloModule& module, WirePosition& position)
      : module_(module), position_(position) {}

  // Consumes the current field if it is one of the details; otherwise returns false.
  bool Read(Fields& fields);
  // Call after the whole message was read: moves the details into `instruction`.
  void Finish(model::Instruction& instruction);

 private:
  std::vector<int64_t> ReadWindow(std::string_view message);
  std::vector<int64_t> ReadConvolution(std::string_view message);
  uint8_t ReadPrecision(std::string_view message);
  int64_t CountIds(std::string_view replica_group);
  void ReadRaggedDot(std::string_view message);
  void ReadDeviceList(std::string_view message);
  void ReadIotaGroups(std::string_view message);
  void ReadMeshGroups(std::string_view message);

  model::HloModule& module_;
  WirePosition& position_;
  bool used_ = false;
  model::OpDetails details_;
  std::vector<int64_t> dimensions_;
  std::vector<int64_t> window_;
  std::vector<int64_t> convolution_;
  std::vector<int64_t> fft_length_;
  std::vector<int64_t> ragged_contracting_;
};

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_PROTO_PROTO_DETAILS_H_
