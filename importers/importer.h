// SPDX-License-Identifier: Apache-2.0

// importers/: files that other tools wrote -> one stream of model events.
//
// Does:  tells by content what a file is (Detect) and pours it into an EventSink (Import).
// Gets:  a path; gz, xz, zstd and bzip2 are inflated on the way.
// Gives: rows of model/events.h, as the source has them: no attribution, no phases, no layers.
//        What a source holds and a run has no place for is counted (AddRunStat), never silent.
//
// Sources, each in its own header with the rules it follows:
//   xplane.h        XSpace protobuf of JAX and TensorFlow profilers (GPU, TPU, CPU)
//   nsys_sqlite.h   Nsight Systems `nsys export --type sqlite`
//   chrome_trace.h  JSON traces: PyTorch's Kineto, XProf's trace.json.gz
//   nsys_jax.h      captures of nsys-jax, zip or folder
//   recording_import.h  what xlatrace's own collector wrote: a `run.rec` folder or a file of it
//
// Errors: sentences that name the file, with a hint at what to do. A file that fails may already
// have poured rows only when the failure is an I/O error of the file itself; damage found while
// reading is either found before the first row (then nothing was poured) or local (then the damaged
// part is left out and counted as data loss).
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

// What the file at `path` is. Never decided by its name; the name only words the hints. Everything
// that cannot be imported is an error saying what the file is instead.
Result<SourceKind> Detect(const std::string& path);

// Detects and imports.
Status Import(const std::string& path, model::EventSink& sink);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_IMPORTER_H_
