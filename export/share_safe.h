// SPDX-License-Identifier: Apache-2.0

// `--share-safe`: names that tell nothing, but that still tell things apart.
//
// A component of a name becomes 12 hexadecimal digits of HMAC-SHA-256 under a salt: equal ones stay
// equal, and depth stays ("decoder/layer_7" -> "9c1f.../a3f0..."). The number at the end of an
// instruction's name stays too. Kernels of libraries (cuBLAS, cuDNN, NCCL, CUTLASS, CUB, copies)
// and calls of CUDA's API keep their names. Under one salt two files can be compared; without one
// the salt is random and nobody has it.
//
// Thread-safety: what ShareSafeNames gives belongs to one thread.

#ifndef XLATRACE_EXPORT_SHARE_SAFE_H_
#define XLATRACE_EXPORT_SHARE_SAFE_H_

#include <string>
#include <string_view>

#include "base/error.h"
#include "store/run_copy.h"

namespace xlatrace::exporter {

// 32 random bytes.
Result<std::string> RandomSalt();
// Of a file that both sides of a comparison use: its bytes, 16 at least.
Result<std::string> ReadSalt(const std::string& path);

// Remembers every name that it has seen.
store::RenameText ShareSafeNames(std::string salt);

// A kernel of a library: its name says nothing of the program.
bool IsLibraryKernel(std::string_view name);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_SHARE_SAFE_H_
