// SPDX-License-Identifier: Apache-2.0

// importers/: converts files of other tools to one stream of model events.
//
// Detect finds the type of a file from its content, and Import writes its rows to a sink. Input: a
// path; gz, xz, zstd and bzip2 are decompressed. Output: rows of model/events.h, as in the source,
// without attribution, phases and layers.
//        Content that has no place in a run is counted (AddRunStat), never dropped silently.
//
// Sources; each has its own header with its rules:
//   xplane.h        XSpace protobuf of JAX and TensorFlow profilers (GPU, TPU, CPU)
//   nsys_sqlite.h   Nsight Systems `nsys export --type sqlite`
//   chrome_trace.h  JSON traces: PyTorch's Kineto, XProf's trace.json.gz
//   nsys_jax.h      captures of nsys-jax, zip or folder
//   recording_import.h  what xlatrace's own collector wrote: a `run.rec` folder or a file of it
//
// Errors: sentences with the name of the file, and a hint. If a file has an I/O error, rows may
// already be in the sink. Damage is found before the first row, or is local. In the second case the
// damaged part is left out and counted as data loss. Thread-safety: re-entrant; a sink belongs to
// one thread.

#ifndef XLATRACE_IMPORTERS_IMPORTER_H_
#define XLATRACE_IMPORTERS_IMPORTER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/event_sink.h"

namespace xlatrace::importers {

enum class SourceKind : uint8_t { kXplane, kNsysSqlite, kRecording, kChromeTrace, kNsysJax };

// "xplane", "nsys_sqlite", "recording", "chrome_trace", "nsys_jax".
std::string_view Text(SourceKind kind);

// Detects the type of the file at `path` from its content; the name is used in hints only. For a
// file that cannot be imported, the error states the type of the file.
Result<SourceKind> Detect(const std::string& path);

// Detects and imports.
Status Import(const std::string& path, model::EventSink& sink);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_IMPORTER_H_
