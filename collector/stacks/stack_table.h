// SPDX-License-Identifier: Apache-2.0

// Numbers of Python stacks. Each stack is stored once, as its innermost frame and the stack of the
// caller.
//
// Thread-safety: one thread at a time, with the GIL held, except Definitions.

#ifndef XLATRACE_COLLECTOR_STACKS_STACK_TABLE_H_
#define XLATRACE_COLLECTOR_STACKS_STACK_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/stacks/python_api.h"
#include "recording/varint.h"

namespace xlatrace::collector {

class StackTable {
 public:
  // The number of the stack whose innermost frame is `frame`; 0: the table is full.
  uint32_t StackOf(PyObject* frame);

  uint32_t TextOf(PyObject* text);

  // Rows of the stacks that were numbered since Clear.
  recording::Encoder& definitions() { return definitions_; }
  uint32_t definition_rows() const { return definition_rows_; }
  void ClearDefinitions() {
    definitions_.Clear();
    definition_rows_ = 0;
  }

 private:
  struct Level {
    uint32_t code = 0;
    int line = 0;
  };
  struct Code {
    uint32_t function = 0;  // Texts.
    uint32_t file = 0;
  };

  uint32_t TextOf(std::string_view text);
  uint32_t CodeOf(PyObject* code);
  uint32_t FrameOf(Level level);

  std::unordered_map<std::string, uint32_t> texts_;
  std::unordered_map<PyObject*, uint32_t> code_numbers_;  // The table owns a reference to each key.
  std::vector<Code> codes_;
  std::unordered_map<uint64_t, uint32_t> frames_;  // Code and line.
  std::unordered_map<uint64_t, uint32_t> stacks_;  // Stack of the caller and frame.
  recording::Encoder definitions_;
  uint32_t definition_rows_ = 0;
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_STACKS_STACK_TABLE_H_
