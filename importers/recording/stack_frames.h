// SPDX-License-Identifier: Apache-2.0

// Converts Python stacks, as XLA prints them for NVTX, to the frame tables of HLO text.
//
// One line per frame, `--- /path/train.py:59:13[layer_norm] op_name`, with one dash per level below
// the module's common frames. If an instruction calls computations, the stack is a tree whose
// leaves have the op_name. '<', '>' and '&' are HTML-escaped
// (xla/backends/gpu/runtime/annotation.cc).
//
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_RECORDING_STACK_FRAMES_H_
#define XLATRACE_IMPORTERS_RECORDING_STACK_FRAMES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace xlatrace::importers {

class StackFrames {
 public:
  // `common`: the frames that all instructions share, outermost first.
  explicit StackFrames(std::string_view common);

  // Stores the stack of the module's frame number `frame_id`, from the stack printed for an
  // instruction with that number. False if the text has no answer: a tree without a leaf that has
  // `op_name`.
  bool Add(int64_t frame_id, std::string_view stack, std::string_view op_name);
  bool Contains(int64_t frame_id) const { return frame_of_id_.contains(frame_id); }

  // This table's number for a frame of the module; 0: the frame is not known.
  uint32_t Number(int64_t frame_id) const;

  // FileNames, FunctionNames, FileLocations and StackFrames in the form of HLO text; empty without
  // frames.
  std::string Tables() const;

 private:
  struct Frame {
    // Number of the parent frame, 0: none. It is smaller than the number of the frame.
    uint32_t parent;
    uint32_t location;
  };

  // The number of the frame in `line` (without dashes), below `parent`; 0: no frame.
  uint32_t FrameOf(std::string_view line, uint32_t parent);

  static uint32_t Intern(const std::string& text, std::map<std::string, uint32_t>* numbers,
                         std::vector<std::string>* texts);

  std::map<std::string, uint32_t> file_numbers_;
  std::vector<std::string> files_;
  std::map<std::string, uint32_t> function_numbers_;
  std::vector<std::string> functions_;
  // file, function, line, column
  using Location = std::tuple<uint32_t, uint32_t, int64_t, int64_t>;
  std::map<Location, uint32_t> location_numbers_;
  std::vector<Location> locations_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> frame_numbers_;  // (parent, location)
  std::vector<Frame> frames_;
  uint32_t common_ = 0;  // Innermost common frame.
  std::unordered_map<int64_t, uint32_t> frame_of_id_;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_STACK_FRAMES_H_
