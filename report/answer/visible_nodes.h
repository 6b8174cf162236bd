// SPDX-License-Identifier: Apache-2.0

// Selects the nodes of a time tree that are large enough to be visible in a picture.

#ifndef XLATRACE_REPORT_ANSWER_VISIBLE_NODES_H_
#define XLATRACE_REPORT_ANSWER_VISIBLE_NODES_H_

#include "report/answer/time_nodes.h"

namespace xlatrace::report {

// Copies the root, and each node with a copied parent and at least 1/20,000 of the run or of the
// typical step. A smaller node has less than 0.05 px in a bar of 1,000 px. Nodes keep their order;
// `children` are positions in the result. An empty tree gives an empty result.
TimeNodes VisibleNodes(const TimeNodes& tree);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_ANSWER_VISIBLE_NODES_H_
