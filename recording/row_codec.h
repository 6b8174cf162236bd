// SPDX-License-Identifier: Apache-2.0

// Encoding of rows as bytes: one Put and one Get per kind of row, next to each other, so that they
// stay consistent. Activities, API calls, ranges and nodes are encoded as differences from the
// previous row of the block (BlockContext). Every block starts from zero and can be read alone.
//
// Get returns false for damaged bytes. Thread-safety: re-entrant.

#ifndef XLATRACE_RECORDING_ROW_CODEC_H_
#define XLATRACE_RECORDING_ROW_CODEC_H_

#include "recording/rows.h"
#include "recording/varint.h"

namespace xlatrace::recording {

// The previous row. Use a new object for every block.
struct BlockContext {
  ActivityRow activity;
  ApiCallRow api;
  RangeRow range;
  GraphNodeRow node;
};

void Put(Encoder& out, const ActivityRow& row, BlockContext& before);
bool Get(Decoder& in, ActivityRow* row, BlockContext& before);
void Put(Encoder& out, const ApiCallRow& row, BlockContext& before);
bool Get(Decoder& in, ApiCallRow* row, BlockContext& before);
void Put(Encoder& out, const RangeRow& row, BlockContext& before);
bool Get(Decoder& in, RangeRow* row, BlockContext& before);
void Put(Encoder& out, const GraphNodeRow& row, BlockContext& before);
bool Get(Decoder& in, GraphNodeRow* row, BlockContext& before);

void Put(Encoder& out, const ConfigRow& row);
bool Get(Decoder& in, ConfigRow* row);
void Put(Encoder& out, const LaneRow& row);
bool Get(Decoder& in, LaneRow* row);
void Put(Encoder& out, const StringRow& row);
bool Get(Decoder& in, StringRow* row);
void Put(Encoder& out, const SchemaRow& row);
bool Get(Decoder& in, SchemaRow* row);
void Put(Encoder& out, const PayloadRow& row);
bool Get(Decoder& in, PayloadRow* row);
void Put(Encoder& out, const DeviceRow& row);
bool Get(Decoder& in, DeviceRow* row);
void Put(Encoder& out, const ContextRow& row);
bool Get(Decoder& in, ContextRow* row);
void Put(Encoder& out, const StreamRow& row);
bool Get(Decoder& in, StreamRow* row);
void Put(Encoder& out, const ThreadRow& row);
bool Get(Decoder& in, ThreadRow* row);
void Put(Encoder& out, const StreamNameRow& row);
bool Get(Decoder& in, StreamNameRow* row);
void Put(Encoder& out, const CubinRow& row);
bool Get(Decoder& in, CubinRow* row);
void Put(Encoder& out, const ClockRow& row);
bool Get(Decoder& in, ClockRow* row);
void Put(Encoder& out, const OverheadRow& row);
bool Get(Decoder& in, OverheadRow* row);
void Put(Encoder& out, const StatRow& row);
bool Get(Decoder& in, StatRow* row);
void Put(Encoder& out, const FactRow& row);
bool Get(Decoder& in, FactRow* row);

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_ROW_CODEC_H_
