#include "hlo/proto/xspace_modules.h"

#include <cstdint>

#include <protozero/exception.hpp>

#include "hlo/proto/wire.h"

namespace xlatrace::hlo {
namespace {

class XSpaceReader {
 public:
  explicit XSpaceReader(std::string_view xspace) : xspace_(xspace) {}

  Result<std::vector<XSpaceModule>> Read() {
    try {
      Fields fields(xspace_, position_);
      while (fields.Next()) {
        if (fields.Key() == BytesKey(1)) {
          ReadPlane(fields.Bytes());
        } else {
          fields.Skip();
        }
      }
    } catch (const protozero::exception& error) {
      return MakeError(DescribeWireError(error, xspace_, position_));
    }
    return std::move(modules_);
  }

 private:
  // The metadata of stats may come behind the events that use it.
  void ReadPlane(std::string_view plane) {
    int64_t hlo_stat = -1;
    Each(plane, 5, [&](std::string_view entry) {
      const std::string_view metadata = First(entry, 2);
      if (First(metadata, 2) == "Hlo Proto" || First(metadata, 2) == "hlo_proto") {
        hlo_stat = FirstInt(metadata, 1);
      }
    });
    if (hlo_stat < 0) return;
    Each(plane, 4, [&](std::string_view entry) {
      const std::string_view metadata = First(entry, 2);
      Each(metadata, 5, [&](std::string_view stat) {
        if (FirstInt(stat, 1) != hlo_stat) return;
        const std::string_view proto = First(stat, 6);
        if (!proto.empty()) modules_.push_back({First(metadata, 2), proto});
      });
    });
  }

  template <typename Visit>
  void Each(std::string_view message, uint32_t number, Visit visit) {
    Fields fields(message, position_);
    while (fields.Next()) {
      if (fields.Key() == BytesKey(number)) {
        visit(fields.Bytes());
      } else {
        fields.Skip();
      }
    }
  }

  std::string_view First(std::string_view message, uint32_t number) {
    std::string_view found;
    Each(message, number, [&](std::string_view bytes) {
      if (found.data() == nullptr) found = bytes;
    });
    return found;
  }

  int64_t FirstInt(std::string_view message, uint32_t number) {
    Fields fields(message, position_);
    while (fields.Next()) {
      if (fields.Key() == VarintKey(number)) return fields.Int();
      fields.Skip();
    }
    return 0;
  }

  std::string_view xspace_;
  WirePosition position_;
  std::vector<XSpaceModule> modules_;
};

}  // namespace

Result<std::vector<XSpaceModule>> ModulesInXSpace(std::string_view xspace) {
  return XSpaceReader(xspace).Read();
}

}  // namespace xlatrace::hlo
