// SPDX-License-Identifier: Apache-2.0

// A CUDA-graph node was created or updated inside a range that names the instruction. XLA pushes a
// thunk's range while it records the thunk's nodes, and only the range of the command buffer around
// the launch. Exact, because the range is the innermost one on the recording thread, and a node
// belongs to one executable.
//
// This file only reads the hint. Importers find the range of a node:
// importers/recording/graph_node_ranges.h for our recordings, ReadGraphNodes in
// importers/nsys/nsys_sqlite.cc for exports of Nsight Systems.

#ifndef XLATRACE_CORRELATOR_GRAPH_NODE_EVIDENCE_H_
#define XLATRACE_CORRELATOR_GRAPH_NODE_EVIDENCE_H_

#include <optional>

#include "correlator/evidence.h"
#include "correlator/module_join.h"
#include "correlator/module_table.h"

namespace xlatrace::correlator {

class GraphNodeEvidence : public EvidenceSource {
 public:
  // Both must outlive the source.
  GraphNodeEvidence(const ModuleJoin& join, const ModuleTable& modules)
      : join_(join), modules_(modules) {}

  std::optional<Proposal> Propose(const ActivityCase& activity) const override;

 private:
  const ModuleJoin& join_;
  const ModuleTable& modules_;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_GRAPH_NODE_EVIDENCE_H_
