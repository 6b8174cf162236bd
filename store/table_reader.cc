// SPDX-License-Identifier: Apache-2.0
#include "store/table_reader.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/file.h"
#include "base/hash.h"

namespace xlatrace::store {
namespace {

constexpr size_t kSlackBytes = 32;           // Two varints may start at the last byte.
constexpr size_t kWindowBytes = 256u << 10;  // Read at once if the table is contiguous.
constexpr size_t kMaxDepth = 20;             // SQLite's own limit (BTCURSOR_MAX_DEPTH).
constexpr size_t kHeaderBytes = 100;
constexpr size_t kLeafHeaderBytes = 8;
constexpr size_t kInteriorHeaderBytes = 12;
constexpr unsigned char kLeafPage = 0x0D;
constexpr unsigned char kInteriorPage = 0x05;

uint32_t Byte(const char* at) { return static_cast<unsigned char>(*at); }
uint32_t Big16(const char* at) { return Byte(at) << 8 | Byte(at + 1); }
uint32_t Big32(const char* at) { return Big16(at) << 16 | Big16(at + 2); }

// Section 1.6: 7 bits per byte, most significant first, the ninth byte whole. Returns its length.
size_t ReadVarint(const char* at, uint64_t* value) {
  uint64_t read = 0;
  for (size_t i = 0; i < 8; ++i) {
    read = read << 7 | (Byte(at + i) & 0x7F);
    if (Byte(at + i) < 0x80) {
      *value = read;
      return i + 1;
    }
  }
  *value = read << 8 | Byte(at + 8);
  return 9;
}

// Reads the bytes at `header` and up to seven more, which exist (kSlackBytes).
size_t HeaderHash(const char* header, size_t bytes) {
  uint64_t hash = bytes;
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, header + i, sizeof(word));
    if (bytes - i < 8) word &= (uint64_t{1} << (8 * (bytes - i))) - 1;
    hash = MixQuickly(hash, word);
  }
  return hash;
}

// Number of bytes of a value of this serial type (section 2.1).
uint64_t SerialBytes(uint64_t serial) {
  constexpr uint8_t kBytes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  return serial < 12 ? kBytes[serial] : (serial - 12) / 2;
}

bool ContainsWord(std::string_view text, std::string_view lower_case) {
  return std::search(text.begin(), text.end(), lower_case.begin(), lower_case.end(),
                     [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; }) !=
         text.end();
}

}  // namespace

int64_t IntegerOfReal(double real) {
  constexpr int64_t kMinInt = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();
  if (!(real > static_cast<double>(kMinInt))) return real < 0 ? kMinInt : 0;
  return real >= static_cast<double>(kMaxInt) ? kMaxInt : static_cast<int64_t>(real);
}

// The leading digits of a text.
int64_t IntegerOfText(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    return text.starts_with('-') ? std::numeric_limits<int64_t>::min()
                                 : std::numeric_limits<int64_t>::max();
  }
  return value;
}

// Uses SQLite's own printf, as SQLite does for a REAL that is read as text. It has its own
// rounding, always prints a point, and has its own words for infinities.
std::string TextOfReal(double real) {
  char text[64];
  return sqlite3_snprintf(sizeof(text), text, "%!.15g", real);
}

Error TableReader::Damaged(std::string_view what) const {
  return Error{fmt::format("table {} is damaged: {}", table_, what), {}, ErrorCode::kFailed};
}

// An open statement, so that the file does not change.
struct TableReader::Connection {
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    sqlite3_finalize(lock);
    sqlite3_close_v2(handle);
  }
  sqlite3* handle = nullptr;
  sqlite3_stmt* lock = nullptr;
};

void TableReader::CloseConnection::operator()(Connection* connection) const { delete connection; }

std::optional<TableReader> TableReader::Open(const std::string& path, const std::string& table,
                                             std::span<const std::string> columns,
                                             AtDamage at_damage) {
  TableReader reader;
  reader.at_damage_ = at_damage;
  reader.table_ = table;
  reader.no_fields_.resize(columns.size());
  reader.row_ = reader.no_fields_.data();
  reader.shapes_.resize(kMaxShapes + 1);
  reader.converted_.resize(columns.size());
  const auto rowid = std::find(columns.begin(), columns.end(), "rowid");
  // Not if the table has a column of that name.
  if (rowid != columns.end()) {
    reader.no_fields_[static_cast<size_t>(rowid - columns.begin())].serial = kRowidSerialType;
  }
  if (!reader.OpenFile(path) || !reader.ReadFileHeader() || !reader.ReadSchema(table, columns)) {
    return std::nullopt;
  }
  for (const int8_t slot : reader.slot_of_column_) {
    if (slot >= 0) reader.no_fields_[static_cast<size_t>(slot)] = {};
  }
  return reader;
}

bool TableReader::OpenFile(const std::string& path) {
  // Opening a database in WAL mode makes files beside it. Byte 18: see ReadFileHeader.
  const Result<std::string> head = ReadFileHead(path, kHeaderBytes);
  if (!head || head->size() < kHeaderBytes || (*head)[18] != 1) return false;
  connection_.reset(new Connection);
  sqlite3*& handle = connection_->handle;
  // Never a URI: SQLite may be built to interpret names with this prefix as URIs.
  const std::string plain = path.starts_with("file:") ? "./" + path : path;
  if (sqlite3_open_v2(plain.c_str(), &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK) {
    return false;
  }
  // SQLite opens a file with missing pages only if the schema is writable, which this connection
  // cannot use.
  const bool tolerant = at_damage_ == AtDamage::kSkip;
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, tolerant ? 0 : 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_WRITABLE_SCHEMA, tolerant ? 1 : 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return sqlite3_prepare_v2(handle, "SELECT rootpage FROM sqlite_master", -1, &connection_->lock,
                            nullptr) == SQLITE_OK &&
         sqlite3_step(connection_->lock) == SQLITE_ROW &&
         sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file_) == SQLITE_OK &&
         file_ != nullptr && file_->pMethods != nullptr;
}

bool TableReader::ReadFileHeader() {
  char header[kHeaderBytes];
  sqlite3_int64 size = 0;
  if (file_->pMethods->xRead(file_, header, sizeof(header), 0) != SQLITE_OK ||
      file_->pMethods->xFileSize(file_, &size) != SQLITE_OK) {
    return false;
  }
  page_bytes_ = Big16(header + 16) == 1 ? 65536 : Big16(header + 16);
  const uint32_t reserved = Byte(header + 20);
  const bool journal = header[18] == 1 && header[19] == 1;  // 2: write-ahead log.
  const bool utf8 = Big32(header + 56) == 1;
  if (std::string_view(header, 15) != "SQLite format 3" || !journal || !utf8 || page_bytes_ < 512 ||
      (page_bytes_ & (page_bytes_ - 1)) != 0 || reserved > 32) {
    return false;
  }
  usable_bytes_ = page_bytes_ - reserved;
  const uint64_t pages = static_cast<uint64_t>(size) / page_bytes_;
  page_count_ =
      static_cast<uint32_t>(std::min<uint64_t>(pages, std::numeric_limits<uint32_t>::max() - 1));
  // Twice, because a row with overflow pages may be read in two rounds.
  pages_left_ = 2 * uint64_t{page_count_};
  return true;
}

bool TableReader::ReadSchema(const std::string& table, std::span<const std::string> columns) {
  // One row per column of the table; each also has the properties of the table.
  sqlite3_stmt* info = nullptr;
  if (sqlite3_prepare_v2(connection_->handle,
                         "SELECT c.name, c.type, c.dflt_value, c.pk, c.hidden, m.rootpage, m.sql"
                         " FROM sqlite_master m, pragma_table_xinfo(m.name) c"
                         " WHERE m.type = 'table' AND m.name = ?1 ORDER BY c.cid",
                         -1, &info, nullptr) != SQLITE_OK) {
    return false;
  }
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owner(info, sqlite3_finalize);
  sqlite3_bind_text64(info, 1, table.data(), table.size(), SQLITE_STATIC, SQLITE_UTF8);
  const auto text = [&](int column) -> std::string_view {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(info, column));
    return bytes == nullptr ? std::string_view() : std::string_view(bytes);
  };
  int64_t root = 0;
  int keys = 0;
  std::vector<int8_t> slots;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(info)) == SQLITE_ROW) {
    root = sqlite3_column_int64(info, 5);
    // WITHOUT ROWID tables are stored as indices. If the word is in a comment only, SQL is used,
    // which is slower.
    if (ContainsWord(text(6), "without") || sqlite3_column_int(info, 4) != 0) return false;
    const auto wanted = std::find(columns.begin(), columns.end(), text(0));
    const auto slot = static_cast<int8_t>(wanted - columns.begin());
    slots.push_back(wanted == columns.end() ? int8_t{-1} : slot);
    if (wanted != columns.end()) {
      // Rows that are older than the column would need its default.
      if (sqlite3_column_type(info, 2) != SQLITE_NULL) return false;
      slot_of_column_ = slots;
    }
    if (sqlite3_column_int(info, 3) == 0) continue;
    ++keys;
    const bool integer = text(1).size() == 7 && ContainsWord(text(1), "integer");
    if (integer && wanted != columns.end()) rowid_slot_ = slot;
  }
  if (keys > 1) rowid_slot_ = -1;  // A key of several columns is not a rowid.
  if (code != SQLITE_DONE || root < 2 || root > page_count_) return false;
  levels_.push_back({{static_cast<uint32_t>(root)}, 0});
  return true;
}

Status TableReader::LoadPage(uint32_t number, size_t ahead) {
  if (number < 1 || number > page_count_) return tl::unexpected<Error>(Damaged("no such page"));
  if (pages_left_ == 0) return tl::unexpected<Error>(Damaged("its pages go in a circle"));
  --pages_left_;
  if (number < window_first_ || number - window_first_ >= window_pages_) {
    const size_t pages =
        std::clamp<size_t>(1 + ahead, 1, std::max<size_t>(kWindowBytes / page_bytes_, 1));
    const size_t bytes = pages * page_bytes_;
    window_.resize(std::max(window_.size(), bytes + kSlackBytes));
    window_pages_ = 0;
    if (file_->pMethods->xRead(file_, window_.data(), static_cast<int>(bytes),
                               int64_t{number - 1} * page_bytes_) != SQLITE_OK) {
      return tl::unexpected<Error>(Damaged("a page could not be read"));
    }
    window_first_ = number;
    window_pages_ = pages;
  }
  page_ = window_.data() + size_t{number - window_first_} * page_bytes_;
  return {};
}

Result<bool> TableReader::NextLeaf() {
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.next == level.children.size()) {
      levels_.pop_back();
      continue;
    }
    // Children that are adjacent in the file are read together.
    const uint32_t number = level.children[level.next++];
    size_t ahead = 0;
    while (level.next + ahead < level.children.size() &&
           level.children[level.next + ahead] == number + 1 + ahead &&
           number + 1 + ahead <= page_count_) {
      ++ahead;
    }
    XLATRACE_TRY(LoadPage(number, ahead));
    const size_t cells = Big16(page_ + 3);
    if (Byte(page_) == kLeafPage) {
      if (kLeafHeaderBytes + 2 * cells > usable_bytes_) {
        return tl::unexpected<Error>(Damaged("a page with too many rows"));
      }
      cells_ = cells;
      next_cell_ = 0;
      if (cells > 0) return true;
      continue;
    }
    if (Byte(page_) != kInteriorPage || kInteriorHeaderBytes + 2 * cells > usable_bytes_ ||
        levels_.size() >= kMaxDepth) {
      return tl::unexpected<Error>(Damaged("a page of another kind"));
    }
    Level below;
    below.children.reserve(cells + 1);
    for (size_t i = 0; i < cells; ++i) {
      const size_t cell = Big16(page_ + kInteriorHeaderBytes + 2 * i);
      if (cell + 4 > usable_bytes_)
        return tl::unexpected<Error>(Damaged("a cell outside its page"));
      below.children.push_back(Big32(page_ + cell));
    }
    below.children.push_back(Big32(page_ + 8));
    levels_.push_back(std::move(below));
  }
  return false;
}

Result<bool> TableReader::Next() {
  while (!ended_) {
    Result<bool> row = NextSound();
    if (row && *row) return row;
    if (!row && at_damage_ == AtDamage::kSkip) {
      ++damaged_parts_;
      if (!first_damage_) first_damage_ = std::move(row).error();
      if (pages_left_ > 0) continue;
    }
    ended_ = true;
    if (first_damage_) return tl::unexpected<Error>(*first_damage_);
    return row;
  }
  return false;
}

Result<bool> TableReader::NextSound() {
  if (next_cell_ == cells_) {
    cells_ = next_cell_ = 0;
    XLATRACE_ASSIGN(const bool leaf, NextLeaf());
    if (!leaf) return false;
  }
  XLATRACE_TRY(ReadCell());
  if (last_rowid_ && rowid_ <= *last_rowid_) {
    return tl::unexpected<Error>(Damaged("a row in the wrong place"));
  }
  last_rowid_ = rowid_;
  return true;
}

Status TableReader::ReadCell() {
  const size_t start = Big16(page_ + kLeafHeaderBytes + 2 * next_cell_++);
  if (start >= usable_bytes_) return tl::unexpected<Error>(Damaged("a row outside its page"));
  const char* at = page_ + start;
  uint64_t payload = 0;
  uint64_t rowid = 0;
  at += ReadVarint(at, &payload);
  at += ReadVarint(at, &rowid);
  rowid_ = static_cast<int64_t>(rowid);
  // Section 1.6: the part of a large payload that stays on the page.
  const uint64_t most = usable_bytes_ - 35;
  uint64_t local = payload;
  if (payload > most) {
    const uint64_t least = (uint64_t{usable_bytes_} - 12) * 32 / 255 - 23;
    const uint64_t fitting = least + (payload - least) % (usable_bytes_ - 4);
    local = fitting <= most ? fitting : least;
  }
  const auto offset = static_cast<uint64_t>(at - page_);
  if (offset + local + (local < payload ? 4 : 0) > usable_bytes_) {
    return tl::unexpected<Error>(Damaged("a row beyond its page"));
  }
  record_ = at;
  record_size_ = local;
  uint64_t need = 0;
  XLATRACE_ASSIGN(bool decoded, Decode(payload, &need));
  if (decoded) return {};
  const std::string_view on_page(at, local);
  const uint32_t overflow = Big32(at + local);
  // Once for the header, if it does not fit the page, then for the values.
  for (int tries = 0; !decoded && tries < 2; ++tries) {
    XLATRACE_TRY(Gather(on_page, overflow, need));
    XLATRACE_ASSIGN(decoded, Decode(payload, &need));
  }
  if (!decoded) return tl::unexpected<Error>(Damaged("a row that does not end"));
  return {};
}

Status TableReader::Gather(std::string_view local, uint32_t overflow_page, uint64_t size) {
  const uint64_t in_page = usable_bytes_ - 4;
  if (size > uint64_t{page_count_} * usable_bytes_) {
    return tl::unexpected<Error>(Damaged("a row larger than the file"));
  }
  gathered_.assign(local);
  std::string page(page_bytes_, '\0');
  while (gathered_.size() < size) {
    if (overflow_page < 2 || overflow_page > page_count_ || pages_left_ == 0) {
      return tl::unexpected<Error>(Damaged("the rest of a row is not there"));
    }
    --pages_left_;
    if (file_->pMethods->xRead(file_, page.data(), static_cast<int>(page_bytes_),
                               int64_t{overflow_page - 1} * page_bytes_) != SQLITE_OK) {
      return tl::unexpected<Error>(Damaged("a page could not be read"));
    }
    gathered_.append(page, 4, std::min<uint64_t>(in_page, size - gathered_.size()));
    overflow_page = Big32(page.data());
  }
  record_size_ = gathered_.size();
  gathered_.append(kSlackBytes, '\0');
  record_ = gathered_.data();
  return {};
}

Result<bool> TableReader::Decode(uint64_t payload, uint64_t* need) {
  uint64_t header = 0;
  const size_t varint = ReadVarint(record_, &header);
  if (header < varint || header > payload) return tl::unexpected<Error>(Damaged("a row's header"));
  if (header > record_size_) {
    *need = header;
    return false;
  }
  const bool is_short = header <= Shape::kMaxHeaderBytes;
  Shape& shape = shapes_[is_short ? HeaderHash(record_, header) % kMaxShapes : kMaxShapes];
  if (!is_short || shape.header_bytes != header || shape.end > payload ||
      std::memcmp(shape.header.data(), record_, header) != 0) {
    shape.header_bytes = 0;
    XLATRACE_TRY(ReadShape(header, payload, shape));
    if (is_short) {
      std::memcpy(shape.header.data(), record_, header);
      shape.header_bytes = header;
    }
  }
  row_ = shape.fields.data();
  *need = shape.wanted_end;
  return shape.wanted_end <= record_size_;
}

Status TableReader::ReadShape(uint64_t header, uint64_t payload, Shape& shape) const {
  shape.fields = no_fields_;
  uint64_t size = 0;
  size_t at = ReadVarint(record_, &size);
  uint64_t offset = header;
  uint64_t last = header;
  for (size_t column = 0; column < slot_of_column_.size() && at < header; ++column) {
    uint64_t serial = 0;
    at += ReadVarint(record_ + at, &serial);
    const uint64_t bytes = SerialBytes(serial);
    if (at > header || bytes > payload - offset)
      return tl::unexpected<Error>(Damaged("a row's header"));
    const int slot = slot_of_column_[column];
    if (slot >= 0) {
      if (serial == 10 || serial == 11) serial = kNullSerialType;  // Reserved.
      if (serial == kNullSerialType && slot == rowid_slot_) serial = kRowidSerialType;
      shape.fields[static_cast<size_t>(slot)] = {serial, offset};
      last = offset + bytes;
    }
    offset += bytes;
  }
  shape.wanted_end = last;
  shape.end = offset;
  return {};
}

int64_t TableReader::OtherInt64(const Field& f) const {
  if (f.serial == 8) return 0;
  if (f.serial == 9) return 1;
  if (f.serial == kRowidSerialType) return rowid_;
  if (f.serial == 7) return IntegerOfReal(RealAt(f));
  if (f.serial < 12) return 0;
  return IntegerOfText({record_ + f.offset, SerialBytes(f.serial)});
}

double TableReader::RealAt(const Field& f) const {
  uint64_t bits = 0;
  std::memcpy(&bits, record_ + f.offset, sizeof(bits));
  return std::bit_cast<double>(__builtin_bswap64(bits));
}

double TableReader::Real(int column) const {
  const Field& f = field(column);
  if (f.serial == 7) return RealAt(f);
  if (f.serial < 12) return static_cast<double>(Int64(column));
  return std::strtod(std::string(Text(column)).c_str(), nullptr);
}

std::string_view TableReader::Text(int column) const {
  const Field& f = field(column);
  if (f.serial >= 12) return {record_ + f.offset, SerialBytes(f.serial)};
  if (f.serial == kNullSerialType) return {};
  std::string& text = converted_[static_cast<size_t>(column)];
  text = f.serial == 7 ? TextOfReal(RealAt(f)) : std::to_string(Int64(column));
  return text;
}

}  // namespace xlatrace::store
