// SPDX-License-Identifier: Apache-2.0

// Evidence for and against the candidate CUDA graphs of a graph-level row. The evidence is the
// number and time of its graph (graph_choice) and the arguments of its program.
//
// Thread-safety: pure.

#ifndef XLATRACE_CORRELATOR_GRAPH_CANDIDATES_H_
#define XLATRACE_CORRELATOR_GRAPH_CANDIDATES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "correlator/module_table.h"
#include "correlator/thunk_order/execution_solver.h"
#include "correlator/thunk_order/program/thunk_program.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// `graph_of`: per case the number of its graph; 0: no graph-level row, or not known. `case_of`: per
// activity. Sets only the doubt of the candidates of such cases.
void WeighGraphCandidates(const model::RunTables& run, const ModuleTable& modules,
                          std::span<const ThunkProgram* const> programs,
                          std::span<const uint32_t> graph_of, std::span<const uint32_t> case_of,
                          std::vector<LaunchCase>* cases);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_GRAPH_CANDIDATES_H_
