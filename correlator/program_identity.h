// SPDX-License-Identifier: Apache-2.0

// Finds modules that are the same program of the user, compiled once or several times.
//
// The name is not sufficient: jax.pmap names all its programs jit__fun, and functions made by one
// wrapper share a name. Modules are one program if they have the same name and most op_names (with
// source lines) of the smaller module occur in the larger one. A function that is compiled for
// other shapes keeps its op_names, but another function has different ones. Modules without
// op_names are compared by name alone.
//
// Thread-safety: pure function.

#ifndef XLATRACE_CORRELATOR_PROGRAM_IDENTITY_H_
#define XLATRACE_CORRELATOR_PROGRAM_IDENTITY_H_

#include <cstddef>
#include <vector>

#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// By module of `tables`: a number, equal for modules of one program and one process.
std::vector<size_t> ProgramsOfModules(const model::RunTables& run,
                                      const model::AttributionTables& tables);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_PROGRAM_IDENTITY_H_
