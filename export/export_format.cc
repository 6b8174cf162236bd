// SPDX-License-Identifier: Apache-2.0
#include "export/export_format.h"

#include "export/csv.h"
#include "export/database.h"
#include "export/folded.h"
#include "export/kineto.h"
#include "export/nsys.h"
#include "export/parquet.h"
#include "export/perfetto.h"
#include "export/pgle.h"
#include "export/pprof.h"
#include "export/speedscope.h"
#include "export/xplane.h"

namespace xlatrace::exporter {
namespace {

constexpr ExportFormat kFormats[] = {
    {"perfetto", ".pftrace", "https://ui.perfetto.dev", false, WritePerfetto},
    {"kineto", ".kineto", "HolisticTraceAnalysis (trace_dir), https://ui.perfetto.dev", true,
     WriteKineto},
    {"pprof", ".pb.gz", "pprof -http : FILE", false, WritePprof},
    {"speedscope", ".speedscope.json", "https://www.speedscope.app", false, WriteSpeedscope},
    {"folded", ".folded", "flamegraph.pl, inferno", false, WriteFolded},
    {"pgle", ".pgle", "XLA: --xla_gpu_pgle_profile_file_or_directory_path=FOLDER", true, WritePgle},
    {"xplane", ".xplane.pb", "XProf, TensorBoard", false, WriteXplane},
    {"parquet", ".parquet", "DuckDB, pandas, Polars, Spark", true, WriteParquet},
    {"nsys", ".sqlite", "SQL written for Nsight Systems' exports", false, WriteNsys},
    {"db", ".copy.db", "xlatrace, SQLite", false, WriteDatabase},
    {"csv", ".csv", "any reader of tables", true, WriteCsv},
};

}  // namespace

std::span<const ExportFormat> ExportFormats() { return kFormats; }

const ExportFormat* FindFormat(std::string_view name) {
  for (const ExportFormat& format : kFormats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

}  // namespace xlatrace::exporter
