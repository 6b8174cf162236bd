// SPDX-License-Identifier: Apache-2.0

// The nodes of a time tree that a picture of it can show.

#ifndef XLATRACE_REPORT_ANSWER_VISIBLE_NODES_H_
#define XLATRACE_REPORT_ANSWER_VISIBLE_NODES_H_

#include "report/answer/time_nodes.h"

namespace xlatrace::report {

// Copies the root and each node that has at least 1/20,000 of the run, or of the typical step, and
// whose parents are copied, too. A bar of 1,000 px has 0.05 px for a smaller node. The order of
// nodes stays; `children` are positions in the result. Empty for an empty tree.
TimeNodes VisibleNodes(const TimeNodes& tree);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_ANSWER_VISIBLE_NODES_H_
