// SPDX-License-Identifier: Apache-2.0
#include "importers/importer.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/byte_source.h"
#include "base/compress.h"
#include "base/file.h"
#include "base/inflate_stream.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "dumps/file_kind.h"
#include "importers/chrome/chrome_trace.h"
#include "importers/chrome/run_metadata.h"
#include "importers/known_formats.h"
#include "importers/nsys/nsys_sqlite.h"
#include "importers/nsys_jax/nsys_jax.h"
#include "importers/recording/recording_import.h"
#include "importers/xplane/xplane.h"
#include "recording/folder.h"
#include "store/sqlite.h"

namespace xlatrace::importers {
namespace {

constexpr size_t kHeadBytes = 65536;

tl::unexpected<Error> NotImportable(const std::string& path, std::string_view what,
                                    std::string hint) {
  return MakeError(fmt::format("'{}' {}", path, what), std::move(hint));
}

// `head`: the first bytes, inflated. dumps/file_kind.h detects the file type. This function returns
// the kind of a recording, or an error with a hint for other files.
Result<SourceKind> DetectHead(const std::string& path, std::string_view head) {
  using namespace std::string_view_literals;
  using dumps::FileKind;
  if (head.starts_with("\x0a\xEF\xBF\xBD"sv)) return SourceKind::kXplane;  // A reader error.
  const bool marked = head.starts_with("\xEF\xBB\xBF"sv);                  // As UTF-8.
  const FileKind kind = dumps::KindOfContent(marked ? head.substr(3) : head);
  if (kind == FileKind::kXSpace) return SourceKind::kXplane;
  if (kind == FileKind::kZip) return SourceKind::kNsysJax;
  if (LooksLikeNsightReport(path, head)) {
    return NotImportable(path, "looks like a report of Nsight Systems, not like an export of one",
                         fmt::format("nsys export --type sqlite '{}'", path));
  }
  if (head.starts_with("\xFF\xFE"sv) || head.starts_with("\xFE\xFF"sv)) {
    return NotImportable(path, "is UTF-16 text, which no profiler writes",
                         fmt::format("iconv -f UTF-16 -t UTF-8 {} > utf8.json", ShellWord(path)));
  }
  if (LooksLikeRunMetadata(head)) return SourceKind::kChromeTrace;
  if (const auto known = FindKnownFormat(path, marked ? head.substr(3) : head)) {
    return NotImportable(path, known->what, known->hint);
  }
  if (LooksLikeChromeTrace(head)) return SourceKind::kChromeTrace;
  if (kind == FileKind::kJson) {
    return NotImportable(path, "is JSON, but no trace",
                         "import what the profiler exported (PyTorch: prof.export_chrome_trace)");
  }
  if (kind == FileKind::kHtml) {
    return NotImportable(path, "is a web page",
                         "a download of a page about the file, perhaps; fetch the file itself");
  }
  if (kind == FileKind::kHloText) {
    return NotImportable(path, "is HLO text: a program, not a recording",
                         fmt::format("xlatrace explain {}", ShellWord(path)));
  }
  return NotImportable(
      path, "is not a supported kind of recording",
      "it imports .xplane.pb files of JAX and TensorFlow, nsys exports (nsys export "
      "--type sqlite), Kineto's .json and captures of nsys-jax");
}

bool IsSqlite(std::string_view head) {
  return dumps::KindOfContent(head) == dumps::FileKind::kSqlite;
}

Result<SourceKind> DetectSqlite(const std::string& path) {
  XLATRACE_ASSIGN(store::Database db, store::Database::OpenTrace(path));
  const auto has = [&](const char* table) -> Result<bool> {
    XLATRACE_ASSIGN(const std::vector<std::string> columns, db.ColumnNames(table));
    return !columns.empty();
  };
  XLATRACE_ASSIGN(const bool is_run, db.IsView("run_info"));
  if (is_run) {
    return NotImportable(path, "is a run.db already",
                         fmt::format("xlatrace report {}", ShellWord(path)));
  }
  for (const char* table : {"META_DATA_EXPORT", "EXPORT_META_DATA", "StringIds", "NVTX_EVENTS",
                            "CUPTI_ACTIVITY_KIND_KERNEL", "TARGET_INFO_GPU"}) {
    XLATRACE_ASSIGN(const bool found, has(table));
    if (found) return SourceKind::kNsysSqlite;
  }
  return NotImportable(path, "is an SQLite database, but no export of Nsight Systems",
                       "nsys export --type sqlite REPORT.nsys-rep");
}

Result<std::string> ReadHead(const std::string& path) {
  if (IsDirectory(path)) {
    return MakeError(
        fmt::format("'{}' is a directory", path),
        fmt::format("find {} -name '*.xplane.pb' -o -name '*.sqlite'", ShellWord(path)));
  }
  XLATRACE_ASSIGN(std::string head, ReadFileHead(path, kHeadBytes));
  if (head.empty()) {
    return MakeError(fmt::format("'{}' is empty", path),
                     "the profiler did not finish; stop it before the program ends");
  }
  return head;
}

// First bytes of what a compressed file holds; of one that is cut off, what there is of them.
Result<std::string> ReadInflatedHead(const std::string& path) {
  XLATRACE_ASSIGN(InflateStream stream, InflateStream::Open(path));
  std::string head(kHeadBytes, '\0');
  size_t size = 0;
  while (size < head.size()) {
    const Result<size_t> got = stream.Read(head.data() + size, head.size() - size);
    if (!got && size == 0) return tl::unexpected<Error>(got.error());
    if (!got || *got == 0) break;
    size += *got;
  }
  if (size == 0) {
    return MakeError(fmt::format("'{}' is empty inside", path),
                     "the profiler did not finish; stop it before the program ends");
  }
  head.resize(size);
  return head;
}

Status RefuseCompressedSqlite(const std::string& path, std::string_view inflated) {
  if (!IsSqlite(inflated)) return {};
  return NotImportable(path, "is a compressed SQLite database, which cannot be read in place",
                       fmt::format("decompress it first (gunzip, unxz): '{}'", path));
}

}  // namespace

std::string_view Text(SourceKind kind) {
  switch (kind) {
    case SourceKind::kXplane:
      return "xplane";
    case SourceKind::kNsysSqlite:
      return "nsys_sqlite";
    case SourceKind::kRecording:
      return "recording";
    case SourceKind::kChromeTrace:
      return "chrome_trace";
    case SourceKind::kNsysJax:
      return "nsys_jax";
  }
  return "xplane";
}

Result<SourceKind> Detect(const std::string& path) {
  if (recording::LooksLikeRecordingFolder(path) || recording::LooksLikeRecording(path)) {
    return SourceKind::kRecording;
  }
  if (LooksLikeNsysJaxFolder(path)) return SourceKind::kNsysJax;
  XLATRACE_ASSIGN(std::string head, ReadHead(path));
  if (LooksCompressed(head)) {
    // The head of a stream that breaks off early may still identify the file.
    XLATRACE_ASSIGN(head, ReadInflatedHead(path));
    XLATRACE_TRY(RefuseCompressedSqlite(path, head));
  }
  if (IsSqlite(head)) return DetectSqlite(path);
  return DetectHead(path, head);
}

Status Import(const std::string& path, model::EventSink& sink) {
  XLATRACE_ASSIGN(const SourceKind kind, Detect(path));
  switch (kind) {
    case SourceKind::kRecording: {
      if (recording::LooksLikeRecordingFolder(path)) return ImportRecordingFolder(path, sink);
      XLATRACE_ASSIGN(const recording::FolderEntry entry, recording::DescribeRecording(path));
      XLATRACE_TRY(ImportRecording(path, entry.live, sink));
      return {};
    }
    case SourceKind::kNsysSqlite:
      return ImportNsysSqlite(path, sink);
    case SourceKind::kChromeTrace:
      return ImportChromeTrace(path, sink);
    case SourceKind::kNsysJax:
      return ImportNsysJax(path, sink);
    case SourceKind::kXplane:
      break;
  }
  XLATRACE_ASSIGN(const ByteSource source, ByteSource::Open(path));
  return ImportXplane(source, path, sink);
}

}  // namespace xlatrace::importers
