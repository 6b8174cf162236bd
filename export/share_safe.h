// SPDX-License-Identifier: Apache-2.0

// `--share-safe`: replaces names by meaningless names that are still distinct.
//
// A component of a name becomes 12 hexadecimal digits of HMAC-SHA-256 under a salt. Equal
// components stay equal, and the depth is kept ("decoder/layer_7" -> "9c1f.../a3f0..."). The number
// at the end of an instruction's name is also kept. Kernels of libraries (cuBLAS, cuDNN, NCCL,
// CUTLASS, CUB, copies) and calls of CUDA's API keep their names. Two files with the same salt can
// be compared. Without a salt file the salt is random and is not stored.
//
// Thread-safety: a ShareSafeNames belongs to one thread.

#ifndef XLATRACE_EXPORT_SHARE_SAFE_H_
#define XLATRACE_EXPORT_SHARE_SAFE_H_

#include <string>
#include <string_view>

#include "base/error.h"
#include "store/run_copy.h"

namespace xlatrace::exporter {

// 32 random bytes.
Result<std::string> RandomSalt();
// The salt: the bytes of a file that both sides of a comparison use, at least 16.
Result<std::string> ReadSalt(const std::string& path);

// Caches every name that it has replaced.
store::RenameText ShareSafeNames(std::string salt);

// True for a kernel of a library: its name is independent of the program.
bool IsLibraryKernel(std::string_view name);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_SHARE_SAFE_H_
