// SPDX-License-Identifier: Apache-2.0
#include "store/range_rows.h"

#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "base/hash.h"

namespace xlatrace::store {

struct RangeRows::Batch {
  static constexpr size_t kPieceRangeCount = 4096;
  static constexpr size_t kTextBytes = size_t{1} << 20;

  struct Range {
    model::Id process_id;
    int64_t thread_id;
    int64_t start_ns;
    int64_t end_ns;
    int64_t domain_number;
    int32_t depth;
    uint32_t domain_bytes;  // Length of the domain in `texts`; the text follows.
    size_t text_bytes;
  };
  std::vector<Range> ranges;
  std::string texts;

  bool full() const { return ranges.size() >= kPieceRangeCount || texts.size() >= kTextBytes; }
  void Clear() {
    ranges.clear();
    texts.clear();
    if (texts.capacity() > 2 * kTextBytes) std::string().swap(texts);  // After a huge text.
  }
};

// Makes the rows; used by one thread at a time.
class RangeRows::Maker {
 public:
  explicit Maker(std::string beside)
      : spool_(std::move(beside)),
        rows_([this](std::string_view page, int64_t last) { spool_.Add(page, last); }) {}

  void Add(const Batch& batch) {
    std::string_view texts = batch.texts;
    for (const Batch::Range& range : batch.ranges) {
      const std::string_view domain = texts.substr(0, range.domain_bytes);
      const std::string_view text = texts.substr(range.domain_bytes, range.text_bytes);
      texts.remove_prefix(range.domain_bytes + range.text_bytes);
      const uint32_t kind = KindOf(range, domain, text);
      // Negative: a start/end range, which is not on a thread's stack.
      const int64_t values[] = {kind, range.start_ns, range.end_ns - range.start_ns,
                                range.depth < 0 ? kNullNumber : range.depth};
      const int64_t id = rows_.rows() + 1;
      rows_.Append(id, values);
      host_events_.Add({.process_id = range.process_id,
                        .thread_id = range.thread_id,
                        .start_ns = range.start_ns,
                        .end_ns = range.end_ns,
                        .name_id = kind,
                        .range_id = static_cast<uint32_t>(id)});
    }
  }

  Status Drain(const TableBuilder::LeafSink& sink) {
    rows_.Finish();
    return spool_.Drain(sink);
  }

  TextMap<model::Id> TakeTexts() { return std::exchange(texts_, {}); }
  const std::vector<Kind>& kinds() const { return kinds_; }
  const HostEventList& host_events() const { return host_events_; }

 private:
  // Kinds by the hash of their parts (open addressing, at most half full). The 64 bits identify a
  // kind: texts are kept once, and comparing them for every range would cost more than all other
  // work.
  struct Slot {
    uint64_t hash = 0;
    uint32_t kind = 0;  // From 1.
  };

  struct Owner {
    int64_t thread_id = 0;
    model::Id process_id = 0;
    int64_t domain_number = 0;
    uint64_t mixed = 0;  // 0: none yet.
  };

  Slot& SlotOf(uint64_t hash) {
    const size_t mask = slots_.size() - 1;  // A power of two.
    size_t at = hash & mask;
    while (slots_[at].kind != 0 && slots_[at].hash != hash) at = (at + 1) & mask;
    return slots_[at];
  }

  uint32_t KindOf(const Batch::Range& range, std::string_view domain, std::string_view text) {
    // Not as the seed of the hash: in XXH3 of a few bytes, a similar seed can cancel a similar
    // text.
    uint64_t hash = Mix(Hash(text, seed_), OwnerOf(range));
    if (!domain.empty()) hash = Mix(hash, Hash(domain, seed_));
    Slot& slot = SlotOf(hash);
    if (slot.kind != 0) return slot.kind;
    const uint32_t domain_text = domain.empty() ? 0 : TextNumber(domain);
    kinds_.push_back(
        {range.process_id, range.thread_id, domain_text, TextNumber(text), range.domain_number});
    const auto kind = static_cast<uint32_t>(kinds_.size());
    slot = {hash, kind};
    if (kinds_.size() >= slots_.size() / 2) {
      const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
      for (const Slot& full : old) {
        if (full.kind != 0) SlotOf(full.hash) = full;
      }
    }
    return kind;
  }

  // Thread, process and domain of a range as one number, with a cache, because only few alternate.
  uint64_t OwnerOf(const Batch::Range& range) {
    Owner& owner =
        owners_[static_cast<size_t>(range.thread_id ^ range.domain_number) % owners_.size()];
    if (owner.mixed == 0 || owner.thread_id != range.thread_id ||
        owner.process_id != range.process_id || owner.domain_number != range.domain_number) {
      uint64_t mixed = Mix(seed_, static_cast<uint64_t>(range.thread_id));
      mixed = Mix(mixed, static_cast<uint64_t>(range.process_id));
      mixed = Mix(mixed, static_cast<uint64_t>(range.domain_number));
      owner = {range.thread_id, range.process_id, range.domain_number, mixed};
    }
    return owner.mixed;
  }

  uint32_t TextNumber(std::string_view text) {
    const auto known = texts_.find(text);
    if (known != texts_.end()) return static_cast<uint32_t>(known->second);
    texts_.emplace(text, ++last_text_);
    return last_text_;
  }

  // Random, so that no input can be prepared with colliding hashes. Results do not depend on it.
  const uint64_t seed_ = uint64_t{std::random_device{}()} << 32 | std::random_device{}();
  std::vector<Kind> kinds_;
  TextMap<model::Id> texts_;
  uint32_t last_text_ = 0;
  std::vector<Slot> slots_ = std::vector<Slot>(4096);
  std::array<Owner, 16> owners_;
  PageSpool spool_;
  TableBuilder rows_;
  HostEventList host_events_;
};

// The thread, and the batches between it and the caller of Add.
struct RangeRows::Worker {
  static constexpr size_t kMaxWaitingPieceCount = 4;

  explicit Worker(Maker& the_maker) : maker(the_maker) {
    // The thread itself allocates memory only inside Add.
    waiting.reserve(kMaxWaitingPieceCount);
    empties.reserve(kMaxWaitingPieceCount + 2);
    thread = std::thread([this] { Run(); });
  }
  ~Worker() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    thread.join();
  }

  // Returns an empty batch.
  std::unique_ptr<Batch> Exchange(std::unique_ptr<Batch> batch) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return waiting.size() < kMaxWaitingPieceCount; });
    waiting.push_back(std::move(batch));
    std::unique_ptr<Batch> empty;
    if (!empties.empty()) {
      empty = std::move(empties.back());
      empties.pop_back();
    }
    lock.unlock();
    changed.notify_all();
    return empty != nullptr ? std::move(empty) : std::make_unique<Batch>();
  }

  void WaitUntilDone() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return waiting.empty() && !busy; });
    if (thrown) std::rethrow_exception(thrown);
  }

  void Run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return stopping || !waiting.empty(); });
      if (stopping) return;  // Readers of the rows have waited for them.
      std::unique_ptr<Batch> batch = std::move(waiting.front());
      waiting.erase(waiting.begin());
      busy = true;
      lock.unlock();
      changed.notify_all();
      std::exception_ptr caught;
      try {
        maker.Add(*batch);
      } catch (...) {  // Out of memory: Settle reports it.
        caught = std::current_exception();
      }
      batch->Clear();
      lock.lock();
      if (caught && !thrown) thrown = caught;
      empties.push_back(std::move(batch));
      busy = false;
      changed.notify_all();
    }
  }

  Maker& maker;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::unique_ptr<Batch>> waiting, empties;
  std::exception_ptr thrown;
  bool busy = false;
  bool stopping = false;
  std::thread thread;  // Last member: the thread uses the others.
};

RangeRows::RangeRows(std::string beside)
    : maker_(std::make_unique<Maker>(std::move(beside))), batch_(std::make_unique<Batch>()) {}

RangeRows::~RangeRows() = default;

model::Id RangeRows::Add(const model::Range& range) {
  Batch& batch = *batch_;
  batch.ranges.push_back({range.process_id, range.thread_id, range.start_ns, range.end_ns,
                          range.domain_number, range.depth,
                          static_cast<uint32_t>(range.domain.size()), range.text.size()});
  batch.texts.append(range.domain).append(range.text);
  if (batch.full()) HandOver();
  return ++rows_;
}

void RangeRows::HandOver() {
  if (worker_ == nullptr) {
    try {
      worker_ = std::make_unique<Worker>(*maker_);
    } catch (const std::system_error&) {  // The system refused a new thread.
      maker_->Add(*batch_);
      batch_->Clear();
      return;
    }
  }
  batch_ = worker_->Exchange(std::move(batch_));
}

void RangeRows::Settle() {
  if (worker_ != nullptr) worker_->WaitUntilDone();
  maker_->Add(*batch_);
  batch_->Clear();
}

const std::vector<RangeRows::Kind>& RangeRows::kinds() const { return maker_->kinds(); }

TextMap<model::Id> RangeRows::TakeTexts() { return maker_->TakeTexts(); }

const HostEventList& RangeRows::host_events() const { return maker_->host_events(); }

Status RangeRows::Drain(const TableBuilder::LeafSink& sink) {
  Settle();
  return maker_->Drain(sink);
}

}  // namespace xlatrace::store
