// SPDX-License-Identifier: Apache-2.0

// importers/: files that other tools wrote -> one stream of model events.
//
// Does:  detects the type of a file from its content (Detect), writes its rows to a sink (Import).
// Gets:  a path; gz, xz, zstd and bzip2 are inflated on the way.
// Gives: rows of model/events.h, as the source has them: no attribution, no phases, no layers.
//        Content that has no place in a run is counted (AddRunStat), never dropped silently.
//
// Sources, each in its own header with the rules it follows:
//   xplane.h        XSpace protobuf of JAX and TensorFlow profilers (GPU, TPU, CPU)
//   nsys_sqlite.h   Nsight Systems `nsys export --type sqlite`
//   chrome_trace.h  JSON traces: PyTorch's Kineto, XProf's trace.json.gz
//   nsys_jax.h      captures of nsys-jax, zip or folder
//   recording_import.h  what xlatrace's own collector wrote: a `run.rec` folder or a file of it
//
// Errors: sentences that name the file, with a hint. If a file itself has an I/O
// error, rows may already be in the sink. Damage is found either before the
// first row, or is local: then the damaged part is left out and counted as data
// loss.
// Thread-safety: re-entrant; a sink belongs to one thread.

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
