// SPDX-License-Identifier: Apache-2.0

// Finds the instruction of each thunk in a list without instructions (jaxlib before 0.8.0 dumps no
// thunk_metadata). List and schedule are both in the order of emission, so they are aligned.
//
// Thread-safety: pure.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_FILL_THUNK_LIST_JOIN_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_FILL_THUNK_LIST_JOIN_H_

#include <span>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::correlator {

// True if a loop, a branch or a command buffer is in the list without its content. Such lists come
// from jaxlib until 0.4.x (loops, branches) and 0.5.x (command buffers). Then a kernel that occurs
// once in the list may have other users, and kernels outside of the list may run.
bool LacksNestedThunks(std::span<const model::Thunk> thunks);

// Sets Thunk::instruction if it is empty and the alignment allows one instruction only. Does
// nothing if the list contains any instruction.
void JoinThunkList(const model::HloModule& module, std::vector<model::Thunk>* thunks);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_FILL_THUNK_LIST_JOIN_H_
