// SPDX-License-Identifier: Apache-2.0

// Numbers of the Parquet format that are read or written here, with their names. They are the
// values of its enums, and the ids of the fields of its Thrift structs.
//
// Source: github.com/apache/parquet-format src/main/thrift/parquet.thrift. Thread-safety:
// constants.

#ifndef XLATRACE_BASE_PARQUET_FORMAT_H_
#define XLATRACE_BASE_PARQUET_FORMAT_H_

#include <string_view>

namespace xlatrace::parquet {

// At both ends of a file. The size of the footer (4 bytes) is before the one at the end.
inline constexpr std::string_view kMagic = "PAR1";

enum Type { kBoolean, kInt32, kInt64, kInt96, kFloat, kDouble, kByteArray, kFixedLenByteArray };
enum ConvertedType { kUtf8 = 0 };
enum Repetition { kRequired = 0, kOptional = 1, kRepeated = 2 };
enum Encoding { kPlain = 0, kPlainDictionary = 2, kRle = 3, kRleDictionary = 8 };
enum Codec { kUncompressed = 0, kSnappy = 1, kGzip = 2, kZstd = 6 };
enum PageType { kDataPage = 0, kIndexPage = 1, kDictionaryPage = 2, kDataPageV2 = 3 };

// Fields of structs: FileMetaData::kNumRows is field 3 of FileMetaData.
struct FileMetaData {
  enum Field {
    kVersion = 1,
    kSchema = 2,
    kNumRows = 3,
    kRowGroups = 4,
    kKeyValueMetadata = 5,
    kCreatedBy = 6
  };
};
struct SchemaElement {
  enum Field {
    kType = 1,
    kRepetitionType = 3,
    kName = 4,
    kNumChildren = 5,
    kConvertedType = 6,
    kLogicalType = 10
  };
};
struct LogicalType {  // A union.
  enum Field { kString = 1 };
};
struct KeyValue {
  enum Field { kKey = 1, kValue = 2 };
};
struct RowGroup {
  enum Field { kColumns = 1, kTotalByteSize = 2, kNumRows = 3 };
};
struct ColumnChunk {
  enum Field { kFileOffset = 2, kMetaData = 3 };
};
struct ColumnMetaData {
  enum Field {
    kType = 1,
    kEncodings = 2,
    kPathInSchema = 3,
    kCodec = 4,
    kNumValues = 5,
    kTotalUncompressedSize = 6,
    kTotalCompressedSize = 7,
    kDataPageOffset = 9,
    kDictionaryPageOffset = 11
  };
};
struct PageHeader {
  enum Field {
    kType = 1,
    kUncompressedPageSize = 2,
    kCompressedPageSize = 3,
    kDataPageHeader = 5,
    kDictionaryPageHeader = 7,
    kDataPageHeaderV2 = 8
  };
};
struct DataPageHeader {
  enum Field {
    kNumValues = 1,
    kEncoding = 2,
    kDefinitionLevelEncoding = 3,
    kRepetitionLevelEncoding = 4
  };
};
struct DataPageHeaderV2 {
  enum Field {
    kNumValues = 1,
    kEncoding = 4,
    kDefinitionLevelsByteLength = 5,
    kRepetitionLevelsByteLength = 6,
    kIsCompressed = 7
  };
};
struct DictionaryPageHeader {
  enum Field { kNumValues = 1, kEncoding = 2 };
};

}  // namespace xlatrace::parquet

#endif  // XLATRACE_BASE_PARQUET_FORMAT_H_
