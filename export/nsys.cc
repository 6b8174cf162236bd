// SPDX-License-Identifier: Apache-2.0
#include "export/nsys.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/abandoned_files.h"
#include "base/file.h"
#include "export/export_format.h"
#include "export/run_rows.h"
#include "store/sqlite.h"

namespace xlatrace::exporter {
namespace {

using store::Database;
using store::Statement;

constexpr int64_t kNsysRowsPerProgress = 1 << 16;

struct NsysTable {
  std::string_view name;
  std::string_view columns;  // With types; in the order of `select`.
  std::string_view select;
};

// Tables and columns of Nsight Systems' export, schema 3.24, as its documentation has them.
constexpr NsysTable kTables[] = {
    {"StringIds", "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
     "SELECT id, value FROM StringIds"},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId"
     " INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,"
     " globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName"
     " INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER, gridX INTEGER,"
     " gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,"
     " staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER,"
     " localMemoryTotal INTEGER, gridId INTEGER, sharedMemoryExecuted INTEGER, graphNodeId INTEGER,"
     " sharedMemoryLimitConfig INTEGER, graphId INTEGER, clusterX INTEGER, clusterY INTEGER,"
     " clusterZ INTEGER",
     "SELECT start, \"end\", coalesce(deviceId, 0), coalesce(contextId, 0), greenContextId,"
     " coalesce(streamId, 0), correlationId, globalPid, coalesce(demangledName, shortName, 0),"
     " coalesce(shortName, demangledName, 0), mangledName, launchType, cacheConfig,"
     " registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory,"
     " dynamicSharedMemory, localMemoryPerThread, localMemoryTotal, gridId, sharedMemoryExecuted,"
     " graphNodeId, sharedMemoryLimitConfig, graphId, clusterX, clusterY, clusterZ"
     " FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start IS NOT NULL AND \"end\" IS NOT NULL"
     // Ops of CPU and TPU and projected ranges have no table: rows with the op's name.
     " UNION ALL SELECT a.start_ns, a.start_ns + a.duration_ns, d.ordinal, coalesce(l.context_id, "
     "0),"
     " NULL, coalesce(l.stream_id, 0), a.correlation_id, coalesce(p.source_id, p.pid << 24),"
     " c.name_id, c.name_id, c.symbol_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,"
     " NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"
     " FROM x_activity a JOIN x_config c USING (config_id) JOIN x_lane l USING (lane_id)"
     " JOIN x_device d USING (device_id) JOIN x_process p USING (process_id)"
     " WHERE c.kind IN (4, 5) AND a.duration_ns IS NOT NULL AND a.start_ns IS NOT NULL"},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
     "start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId INTEGER NOT NULL, graphId INTEGER,"
     " originalGraphId INTEGER, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId "
     "INTEGER"
     " NOT NULL, correlationId INTEGER, globalPid INTEGER, graphExecId INTEGER",
     "SELECT a.start_ns, a.start_ns + a.duration_ns, d.ordinal, a.graph_id, NULL,"
     " coalesce(l.context_id, 0), NULL, coalesce(l.stream_id, 0), a.correlation_id,"
     " coalesce(p.source_id, p.pid << 24), a.graph_id"
     " FROM x_activity a JOIN x_config c USING (config_id) JOIN x_lane l USING (lane_id)"
     " JOIN x_device d USING (device_id) JOIN x_process p USING (process_id)"
     " WHERE c.kind = 3 AND a.duration_ns IS NOT NULL AND a.start_ns IS NOT NULL"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId"
     " INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,"
     " globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId"
     " INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER,"
     " dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER,"
     " virtualAddress INTEGER",
     "SELECT start, \"end\", coalesce(deviceId, 0), coalesce(contextId, 0), greenContextId,"
     " coalesce(streamId, 0), correlationId, globalPid, coalesce(bytes, 0), copyKind,"
     " deprecatedSrcId, srcKind, dstKind, srcDeviceId, srcContextId, dstDeviceId, dstContextId,"
     " migrationCause, graphNodeId, virtualAddress FROM CUPTI_ACTIVITY_KIND_MEMCPY"
     " WHERE start IS NOT NULL AND \"end\" IS NOT NULL"},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     "start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId"
     " INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,"
     " globalPid INTEGER, value INTEGER, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind"
     " INTEGER",
     "SELECT start, \"end\", coalesce(deviceId, 0), coalesce(contextId, 0), greenContextId,"
     " coalesce(streamId, 0), correlationId, globalPid, value, coalesce(bytes, 0), graphNodeId,"
     " memKind FROM CUPTI_ACTIVITY_KIND_MEMSET WHERE start IS NOT NULL AND \"end\" IS NOT NULL"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, eventClass INTEGER, globalTid INTEGER,"
     " correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER, callchainId INTEGER",
     "SELECT start, \"end\", eventClass, globalTid, correlationId, nameId, returnValue, callchainId"
     " FROM CUPTI_ACTIVITY_KIND_RUNTIME"},
    {"NVTX_EVENTS",
     "start INTEGER NOT NULL, \"end\" INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,"
     " category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId"
     " INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL,"
     " uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT,"
     " binaryData TEXT",
     // A text is in one of the two places.
     "SELECT coalesce(start, 0), \"end\", eventType, rangeId, category, color,"
     " CASE WHEN textId IS NULL THEN text END, globalTid, endGlobalTid, textId, domainId,"
     " uint64Value, int64Value, doubleValue, uint32Value, int32Value, floatValue, jsonTextId,"
     " jsonText, NULL FROM NVTX_EVENTS"},
    {"TARGET_INFO_GPU",
     "vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT, isDiscrete INTEGER, l2CacheSize"
     " INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER,"
     " uuid TEXT, computeMajor INTEGER, computeMinor INTEGER",
     "SELECT DISTINCT NULL, id, name, NULL, NULL, NULL, totalMemory, memoryBandwidth, clockRate,"
     " smCount, uuid, CAST(computeCapability AS INTEGER),"
     " CAST(substr(computeCapability, instr(computeCapability, '.') + 1) AS INTEGER)"
     " FROM TARGET_INFO_GPU"},
    {"TARGET_INFO_SESSION_START_TIME", "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
     "SELECT CAST(value AS INTEGER), NULL, NULL FROM run_info WHERE key = 'start_unix_ns'"},
    {"ThreadNames", "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER",
     "SELECT s.id, NULL, (p.pid << 24) | t.thread_id FROM thread t JOIN process p USING"
     " (process_id) JOIN StringIds s ON s.value = t.name"},
    {"ENUM_CUDA_MEMCPY_OPER", "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT",
     "VALUES (0, 'CUDA_MEMCPY_KIND_UNKNOWN', 'Unknown'),"
     " (1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device'),"
     " (2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host'),"
     " (8, 'CUDA_MEMCPY_KIND_DTOD', 'Device-to-Device'),"
     " (9, 'CUDA_MEMCPY_KIND_HTOH', 'Host-to-Host'),"
     " (10, 'CUDA_MEMCPY_KIND_PTOP', 'Peer-to-Peer'),"
     " (11, 'CUDA_MEMCPY_KIND_UVM_HTOD', 'Unified Host-to-Device'),"
     " (12, 'CUDA_MEMCPY_KIND_UVM_DTOH', 'Unified Device-to-Host'),"
     " (13, 'CUDA_MEMCPY_KIND_UVM_DTOD', 'Unified Device-to-Device')"},
    {"META_DATA_EXPORT", "name TEXT, value TEXT",
     "VALUES ('EXPORT_SCHEMA_VERSION_MAJOR', '3'), ('EXPORT_SCHEMA_VERSION_MINOR', '24'),"
     " ('EXPORT_SCHEMA_VERSION_MICRO', '0'), ('EXPORT_SCHEMA_VERSION', '3.24.0'),"
     " ('EXPORT_PRODUCT_NAME', 'xlatrace')"},
};

Status CopyTable(store::RunDb& db, Database& out, const NsysTable& table,
                 const ExportRequest& request, ExportCount& count) {
  XLATRACE_TRY(out.Execute(fmt::format("CREATE TABLE {}({})", table.name, table.columns)));
  XLATRACE_ASSIGN(Statement from, db.Prepare(table.select));
  std::string marks = "?";
  for (int i = 1; i < from.ColumnCount(); ++i) marks += ",?";
  XLATRACE_ASSIGN(Statement to,
                  out.Prepare(fmt::format("INSERT INTO {} VALUES({})", table.name, marks)));
  while (true) {
    XLATRACE_ASSIGN(const bool more, from.Step());
    if (!more) return {};
    for (int i = 0; i < from.ColumnCount(); ++i) {
      switch (from.ColumnType(i)) {
        case Statement::Type::kNull:
          to.BindNull(i);
          break;
        case Statement::Type::kInteger:
          to.BindInt64(i, from.Int64(i));
          break;
        case Statement::Type::kReal:
          to.BindReal(i, from.Real(i));
          break;
        default:
          to.BindText(i, from.Text(i));
      }
    }
    XLATRACE_TRY(to.Run());
    if (++count.rows % kNsysRowsPerProgress == 0 && request.progress)
      request.progress(count.rows, 0);
  }
}

Result<ExportCount> Write(store::RunDb& db, const std::string& path, const ExportRequest& request) {
  XLATRACE_ASSIGN(Database out, Database::Create(path));
  ExportCount count{0, 1};
  XLATRACE_TRY(out.Execute("BEGIN"));
  for (const NsysTable& table : kTables) {
    XLATRACE_TRY(CopyTable(db, out, table, request, count));
  }
  XLATRACE_TRY(out.Execute("COMMIT"));
  return count;
}

}  // namespace

Result<ExportCount> WriteNsys(store::RunDb& db, const ExportRequest& request) {
  XLATRACE_ASSIGN(const RunRows run, RunRows::Load(db, {}));
  RemoveAbandonedFiles(request.output);
  const std::string temporary = fmt::format("{}.tmp.{}", request.output, getpid());
  RegisterTemporaryFile(temporary);
  auto written = Write(db, temporary, request);
  const bool renamed = written && rename(temporary.c_str(), request.output.c_str()) == 0;
  const std::string reason = std::strerror(errno);
  if (!renamed) unlink(temporary.c_str());
  UnregisterTemporaryFile(temporary);
  if (written && !renamed) {
    return MakeError(fmt::format("writing '{}': {}", request.output, reason));
  }
  return written;
}

}  // namespace xlatrace::exporter
