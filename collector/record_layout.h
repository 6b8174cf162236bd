// SPDX-License-Identifier: Apache-2.0

// Offsets of the fields of CUPTI's activity records. Every record version is a prefix of the next:
// a field keeps its offset from the version that introduced it. One table therefore reads CUDA 11
// to 13. A field is used only if the record is large enough for it. The offsets were checked
// against the headers of CUDA 11.2 to 13.4 (offsetof over 16 releases). record_layout_check.cc
// asserts them for the headers of the build.
//
// Fields that replaced padding without a change of size are not read, because size alone cannot
// identify them: Memset4.isDeviceLaunched, Memcpy6.isDeviceLaunched, Context2.numMultiprocessors.

#ifndef XLATRACE_COLLECTOR_RECORD_LAYOUT_H_
#define XLATRACE_COLLECTOR_RECORD_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace xlatrace::collector {

template <typename T>
struct Field {
  size_t offset;
};

namespace kernel {  // CUpti_ActivityKernel5 and later, kinds 3 and 10.
inline constexpr Field<uint16_t> kRegisters{6};
inline constexpr Field<uint64_t> kStart{16};
inline constexpr Field<uint64_t> kEnd{24};
inline constexpr Field<uint32_t> kDevice{40};
inline constexpr Field<uint32_t> kContext{44};
inline constexpr Field<uint32_t> kStream{48};
inline constexpr Field<int32_t> kGridX{52};
inline constexpr Field<int32_t> kGridY{56};
inline constexpr Field<int32_t> kGridZ{60};
inline constexpr Field<int32_t> kBlockX{64};
inline constexpr Field<int32_t> kBlockY{68};
inline constexpr Field<int32_t> kBlockZ{72};
inline constexpr Field<int32_t> kStaticShared{76};
inline constexpr Field<int32_t> kDynamicShared{80};
inline constexpr Field<uint32_t> kLocalPerThread{84};
inline constexpr Field<uint32_t> kLocalTotal{88};
inline constexpr Field<uint32_t> kCorrelation{92};
inline constexpr Field<const char*> kName{104};
inline constexpr Field<uint8_t> kLaunchType{136};
inline constexpr Field<uint32_t> kSharedExecuted{140};
inline constexpr Field<uint64_t> kGraphNode{144};    // 11.0
inline constexpr Field<uint32_t> kSharedLimit{152};  // 11.0
inline constexpr Field<uint32_t> kGraph{156};        // 11.1
inline constexpr Field<uint32_t> kClusterX{176};     // 11.8
inline constexpr Field<uint32_t> kClusterY{180};
inline constexpr Field<uint32_t> kClusterZ{184};
inline constexpr Field<uint64_t> kLocalTotal64{192};
inline constexpr Field<uint32_t> kMaxActiveClusters{204};  // 12.0
inline constexpr Field<uint64_t> kSourceNode{240};         // 13.4
inline constexpr size_t kMinBytes = 144;                   // Everything up to the graph node.
}  // namespace kernel

namespace memcpy_record {  // Kind 1.
inline constexpr Field<uint8_t> kCopyKind{4};
inline constexpr Field<uint8_t> kSourceKind{5};
inline constexpr Field<uint8_t> kDestinationKind{6};
inline constexpr Field<uint8_t> kFlags{7};
inline constexpr Field<uint64_t> kBytes{8};
inline constexpr Field<uint64_t> kStart{16};
inline constexpr Field<uint64_t> kEnd{24};
inline constexpr Field<uint32_t> kDevice{32};
inline constexpr Field<uint32_t> kContext{36};
inline constexpr Field<uint32_t> kStream{40};
inline constexpr Field<uint32_t> kCorrelation{44};
inline constexpr Field<uint64_t> kGraphNode{64};
inline constexpr Field<uint32_t> kGraph{72};
inline constexpr Field<uint64_t> kSourceNode{104};  // 13.4
inline constexpr size_t kMinBytes = 64;
}  // namespace memcpy_record

namespace peer {  // Kind 22 (MEMCPY2); as Memcpy up to the stream.
inline constexpr Field<uint32_t> kSourceDevice{44};
inline constexpr Field<uint32_t> kDestinationDevice{52};
inline constexpr Field<uint32_t> kCorrelation{60};
inline constexpr Field<uint64_t> kGraphNode{72};
inline constexpr Field<uint32_t> kGraph{80};
inline constexpr size_t kMinBytes = 72;
}  // namespace peer

namespace memset_record {  // Kind 2.
inline constexpr Field<uint64_t> kBytes{8};
inline constexpr Field<uint64_t> kStart{16};
inline constexpr Field<uint64_t> kEnd{24};
inline constexpr Field<uint32_t> kDevice{32};
inline constexpr Field<uint32_t> kContext{36};
inline constexpr Field<uint32_t> kStream{40};
inline constexpr Field<uint32_t> kCorrelation{44};
inline constexpr Field<uint16_t> kMemoryKind{50};
inline constexpr Field<uint64_t> kGraphNode{64};
inline constexpr Field<uint32_t> kGraph{72};
inline constexpr Field<uint64_t> kSourceNode{96};  // 13.4
inline constexpr size_t kMinBytes = 64;
}  // namespace memset_record

namespace graph_trace {  // Kind 51.
inline constexpr Field<uint32_t> kCorrelation{4};
inline constexpr Field<uint64_t> kStart{8};
inline constexpr Field<uint64_t> kEnd{16};
inline constexpr Field<uint32_t> kDevice{24};
inline constexpr Field<uint32_t> kGraph{28};
inline constexpr Field<uint32_t> kContext{32};
inline constexpr Field<uint32_t> kStream{36};
inline constexpr size_t kMinBytes = 40;
}  // namespace graph_trace

namespace device {  // Kind 8.
inline constexpr Field<uint64_t> kBandwidthKb{8};
inline constexpr Field<uint64_t> kMemoryBytes{16};
inline constexpr Field<uint32_t> kL2Bytes{28};
inline constexpr Field<uint32_t> kWarpSize{32};
inline constexpr Field<uint32_t> kClockKhz{36};
inline constexpr Field<uint32_t> kSmCount{44};
inline constexpr Field<uint32_t> kWarpsPerSm{52};
inline constexpr Field<uint32_t> kBlocksPerSm{56};
inline constexpr Field<uint32_t> kSharedPerSm{60};
inline constexpr Field<uint32_t> kRegistersPerSm{64};
inline constexpr Field<uint32_t> kRegistersPerBlock{68};
inline constexpr Field<uint32_t> kSharedPerBlock{72};
inline constexpr Field<uint32_t> kThreadsPerBlock{76};
inline constexpr Field<uint32_t> kComputeMajor{104};
inline constexpr Field<uint32_t> kComputeMinor{108};
inline constexpr Field<uint32_t> kId{112};
inline constexpr size_t kUuidOffset = 120;
inline constexpr Field<const char*> kName{136};
inline constexpr Field<uint8_t> kIsMig{145};  // A slice of a device; padding before Device4.
inline constexpr size_t kMigUuidOffset = 160;
inline constexpr size_t kMigUuidEndOffset = 176;
inline constexpr size_t kMinBytes = 144;
}  // namespace device

namespace context {  // Kind 9.
inline constexpr Field<uint32_t> kContext{4};
inline constexpr Field<uint32_t> kDevice{8};
inline constexpr Field<uint16_t> kNullStream{14};
inline constexpr size_t kMinBytes = 16;
}  // namespace context

namespace stream {  // Kind 37.
inline constexpr Field<uint32_t> kContext{4};
inline constexpr Field<uint32_t> kStream{8};
inline constexpr Field<uint32_t> kPriority{12};
inline constexpr Field<uint32_t> kFlag{16};
inline constexpr size_t kMinBytes = 20;
}  // namespace stream

namespace overhead {  // Kind 17.
inline constexpr Field<uint32_t> kKind{4};
inline constexpr Field<uint32_t> kObjectKind{8};
inline constexpr Field<uint32_t> kThread{16};  // objectId.pt.threadId.
inline constexpr Field<uint64_t> kStart{24};
inline constexpr Field<uint64_t> kEnd{32};
inline constexpr Field<void*> kData{48};  // 12.4
inline constexpr size_t kMinBytes = 40;
}  // namespace overhead

// A record in a buffer; fields beyond its end are read as zero.
class RecordView {
 public:
  RecordView(const uint8_t* data, size_t bytes) : data_(data), bytes_(bytes) {}

  template <typename T>
  T operator[](Field<T> field) const {
    T value{};
    if (field.offset + sizeof(T) <= bytes_) std::memcpy(&value, data_ + field.offset, sizeof(T));
    return value;
  }

  uint32_t kind() const { return (*this)[Field<uint32_t>{0}]; }
  const uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  const uint8_t* data_;
  size_t bytes_;
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_RECORD_LAYOUT_H_
