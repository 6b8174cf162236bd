// SPDX-License-Identifier: Apache-2.0

// Which instruction each thunk of a list executes, where the list does not say (jaxlib before 0.8.0
// dumps no thunk_metadata): the list and the module's schedule are both in the order of emission,
// so one is aligned with the other.
//
// Thread-safety: pure.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_FILL_THUNK_LIST_JOIN_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_FILL_THUNK_LIST_JOIN_H_

#include <span>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::correlator {

// True where a loop, a branch or a command buffer stands in the list without what it holds, as
// until jaxlib 0.4.x for the first two and until 0.5.x for the last: a kernel that such a list
// names once may have other users, and what it does not name may run all the same.
bool LacksNestedThunks(std::span<const model::Thunk> thunks);

// Fills in Thunk::instruction where it is empty and the alignment allows one instruction only. Does
// nothing with a list that names any instruction itself.
void JoinThunkList(const model::HloModule& module, std::vector<model::Thunk>* thunks);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_FILL_THUNK_LIST_JOIN_H_
