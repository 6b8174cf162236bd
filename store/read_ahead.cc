#include "store/read_ahead.h"

#include <bit>
#include <cstdlib>
#include <utility>

namespace xlatrace::store {

ReadAhead::ReadAhead(TableReader reader, size_t columns)
    : reader_(std::move(reader)),
      columns_(columns),
      converted_(columns),
      thread_([this] { Run(); }) {}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReadAhead::Run() {
  bool last = false;
  while (!last) {
    Batch* batch = nullptr;
    {
      std::unique_lock lock(mutex_);
      // The caller still reads the batch it took last.
      changed_.wait(lock, [this] {
        return stop_ || filled_ + (taken_ == 0 ? 0 : 1) < taken_ + batches_.size();
      });
      if (stop_) return;
      batch = &batches_[filled_ % batches_.size()];
    }
    Fill(*batch);
    last = batch->last;
    {
      const std::lock_guard lock(mutex_);
      ++filled_;
    }
    changed_.notify_all();
  }
}

void ReadAhead::Fill(Batch& batch) {
  constexpr size_t kKeptTextBytes = 4 * kBatchTextBytes;
  if (batch.texts.capacity() > kKeptTextBytes) batch.texts = {};
  batch.texts.clear();
  batch.rows = 0;
  batch.values.resize(kBatchRows * columns_);
  Value* out = batch.values.data();
  while (batch.rows < kBatchRows && batch.texts.size() < kBatchTextBytes) {
    const Result<bool> more = reader_.Next();
    if (!more) batch.error = more.error();
    if (!more || !*more) {
      batch.last = true;
      return;
    }
    for (size_t c = 0; c < columns_; ++c, ++out) {
      const int column = static_cast<int>(c);
      out->type = reader_.ColumnType(column);
      switch (out->type) {
        case Statement::Type::kNull:
          out->number = 0;
          break;
        case Statement::Type::kInteger:
          out->number = reader_.Int64(column);
          break;
        case Statement::Type::kReal:
          out->number = std::bit_cast<int64_t>(reader_.Real(column));
          break;
        default:
          const std::string_view text = reader_.Text(column);
          out->number = static_cast<int64_t>(batch.texts.size());
          out->size = static_cast<uint32_t>(text.size());  // SQLite's rows are below 2 GiB.
          batch.texts += text;
      }
    }
    ++batch.rows;
  }
}

Result<bool> ReadAhead::Next() {
  if (ended_) return false;
  while (batch_ == nullptr || next_row_ == batch_->rows) {
    if (batch_ != nullptr && batch_->last) {
      ended_ = true;
      if (batch_->error) return tl::unexpected<Error>(*batch_->error);
      return false;
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return filled_ > taken_; });
    batch_ = &batches_[taken_ % batches_.size()];
    ++taken_;
    next_row_ = 0;
    lock.unlock();
    changed_.notify_all();
  }
  row_ = batch_->values.data() + next_row_ * columns_;
  ++next_row_;
  return true;
}

std::string_view ReadAhead::BytesOf(const Value& v) const {
  return std::string_view(batch_->texts).substr(static_cast<size_t>(v.number), v.size);
}

int64_t ReadAhead::OtherInt64(const Value& v) const {
  switch (v.type) {
    case Statement::Type::kNull:
      return 0;
    case Statement::Type::kReal:
      return IntegerOfReal(std::bit_cast<double>(v.number));
    default:
      return IntegerOfText(BytesOf(v));
  }
}

double ReadAhead::Real(int column) const {
  const Value& v = value(column);
  if (v.type == Statement::Type::kReal) return std::bit_cast<double>(v.number);
  if (v.type == Statement::Type::kInteger) return static_cast<double>(v.number);
  return std::strtod(std::string(Text(column)).c_str(), nullptr);
}

std::string_view ReadAhead::Text(int column) const {
  const Value& v = value(column);
  if (v.type == Statement::Type::kText || v.type == Statement::Type::kBlob) return BytesOf(v);
  if (v.type == Statement::Type::kNull) return {};
  std::string& text = converted_[static_cast<size_t>(column)];
  text = v.type == Statement::Type::kReal ? TextOfReal(std::bit_cast<double>(v.number))
                                          : std::to_string(v.number);
  return text;
}

}  // namespace xlatrace::store
