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
    {"perfetto", ".pftrace", "https://ui.perfetto.dev", false, WritePerfetto, "HLO and findings"},
    {"kineto", ".kineto", "HolisticTraceAnalysis (trace_dir), https://ui.perfetto.dev", true,
     WriteKineto, "HLO, layers of fusions that are mixed, causes of gaps and findings"},
    {"pprof", ".pb.gz", "pprof -http : FILE", false, WritePprof,
     "times of single launches, idle time and HLO"},
    {"speedscope", ".speedscope.json", "https://www.speedscope.app", false, WriteSpeedscope,
     "times of single launches, idle time and HLO"},
    {"folded", ".folded", "flamegraph.pl, inferno", false, WriteFolded,
     "times of single launches, idle time and HLO"},
    {"pgle", ".pgle", "XLA: --xla_gpu_pgle_profile_file_or_directory_path=FOLDER", true, WritePgle,
     "time without an HLO instruction: it has one cost per instruction"},
    {"xplane", ".xplane.pb", "XProf, TensorBoard", false, WriteXplane,
     "phases, layers, causes of gaps and findings"},
    {"parquet", ".parquet", "DuckDB, pandas, Polars, Spark", true, WriteParquet, "HLO text"},
    {"nsys", ".sqlite", "SQL written for Nsight Systems' exports", false, WriteNsys,
     "HLO, phases, layers, steps and findings"},
    {"db", ".copy.db", "xlatrace, SQLite", false, WriteDatabase},
    {"csv", ".csv", "any reader of tables", true, WriteCsv, "HLO text"},
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
