// SPDX-License-Identifier: Apache-2.0
#include "dumps/dump_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/archive.h"
#include "base/compress.h"
#include "base/file.h"
#include "base/inflate_stream.h"
#include "base/number_format.h"
#include "dumps/dump_name.h"
#include "dumps/file_kind.h"

namespace xlatrace::dumps {
namespace {

namespace fs = std::filesystem;

// Entries of archives by the path in ListFiles(). The first entries stay in memory. Later ones go
// to an unnamed file, which is deleted with the process.
class KeptEntries {
 public:
  Status Add(std::string path, std::string bytes) {
    const std::lock_guard lock(mutex_);
    Place& place = entries_[std::move(path)];
    place = {};
    if (in_memory_ + bytes.size() <= kMaxInMemoryBytes) {
      in_memory_ += bytes.size();
      place.bytes = std::make_shared<const std::string>(std::move(bytes));
      return {};
    }
    if (file_ < 0) XLATRACE_TRY(OpenFile());
    place.offset = end_;
    place.size = bytes.size();
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t wrote =
          pwrite(file_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(end_ + done));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return Failure("writing to");
      done += static_cast<size_t>(wrote);
    }
    end_ += bytes.size();
    return {};
  }

  // Null: no such entry, or it can no longer be read.
  std::shared_ptr<const std::string> Find(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const auto it = entries_.find(path);
    if (it == entries_.end()) return nullptr;
    const Place& place = it->second;
    if (place.bytes != nullptr) return place.bytes;
    auto bytes = std::make_shared<std::string>(place.size, '\0');
    for (size_t done = 0; done < place.size;) {
      const ssize_t got = pread(file_, bytes->data() + done, place.size - done,
                                static_cast<off_t>(place.offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return nullptr;
      done += static_cast<size_t>(got);
    }
    return bytes;
  }

 private:
  static constexpr size_t kMaxInMemoryBytes = size_t{64} << 20;

  struct Place {
    std::shared_ptr<const std::string> bytes;  // Null: the entry is in the file.
    uint64_t offset = 0;
    size_t size = 0;
  };

  static tl::unexpected<Error> Failure(std::string_view doing) {
    return MakeError(
        fmt::format("{} a file in '{}': {}", doing, TemporaryFolder(),
                    std::generic_category().message(errno)),
        "unpack the archive and name the folder, or set TMPDIR to a place with free space");
  }
  static std::string TemporaryFolder() {
    const char* const folder = std::getenv("TMPDIR");
    return folder != nullptr && *folder != '\0' ? folder : "/tmp";
  }
  Status OpenFile() {
    std::string name = TemporaryFolder() + "/xlatrace_entries_XXXXXX";
    file_ = mkostemp(name.data(), O_CLOEXEC);
    if (file_ < 0) return Failure("making");
    unlink(name.c_str());
    return {};
  }

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Place> entries_;
  size_t in_memory_ = 0;
  int file_ = -1;
  uint64_t end_ = 0;
};

KeptEntries& Kept() {
  static KeptEntries& kept = *new KeptEntries;
  return kept;
}

class FolderWalk {
 public:
  FolderWalk(const fs::path& top, const ListLimits& limits, FileList& out)
      : top_(top), limits_(limits), out_(out) {
    std::error_code ignored;
    real_top_ = fs::canonical(top, ignored);
  }

  void Walk() {
    struct Folder {
      fs::path path;
      std::string below;
      int depth;
    };
    std::vector<Folder> open = {{top_, "", 0}};
    while (!open.empty() && !full_) {
      const Folder folder = std::move(open.back());
      open.pop_back();
      if (folder.depth > limits_.depth) {
        ++out_.skipped[fmt::format("folders more than {} deep", limits_.depth)];
        continue;
      }
      std::vector<std::string> below;
      List(folder.path, folder.below, below);
      for (const std::string& name : below) {
        open.push_back({folder.path / name, folder.below.empty() ? name : folder.below + "/" + name,
                        folder.depth + 1});
      }
    }
    if (full_) {
      out_.warnings.push_back(fmt::format("'{}': stopped after {} files and folders", top_.string(),
                                          Thousands(static_cast<int64_t>(limits_.entries))));
    }
  }

 private:
  void List(const fs::path& folder, const std::string& below, std::vector<std::string>& folders) {
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      if (++entries_ > limits_.entries) {
        full_ = true;
        return;
      }
      std::error_code ignored;
      const std::string name = entries->path().filename().string();
      if (entries->is_symlink(ignored)) {
        AddLink(*entries, below, name);
      } else if (entries->is_directory(ignored)) {
        folders.push_back(name);
      } else if (entries->is_regular_file(ignored)) {
        out_.files.push_back({entries->path().string(), below, name, entries->file_size(ignored)});
      } else {
        ++out_.skipped["FIFOs, sockets and devices"];
      }
    }
    if (error) {
      ++out_.skipped["folders that cannot be read"];
      out_.warnings.push_back(
          fmt::format("cannot read '{}': {}", folder.string(), error.message()));
    }
  }

  // A link to a file of this folder is a second name of it, usually the better one.
  void AddLink(const fs::directory_entry& entry, const std::string& below,
               const std::string& name) {
    std::error_code error;
    if (entry.is_directory(error)) {
      ++out_.skipped["links to folders"];
      return;
    }
    const fs::path real = fs::canonical(entry.path(), error);
    if (error || !entry.is_regular_file(error)) {
      ++out_.skipped["links that lead nowhere"];
      return;
    }
    const auto [at, end] =
        std::mismatch(real_top_.begin(), real_top_.end(), real.begin(), real.end());
    if (at != real_top_.end()) {
      ++out_.skipped["links out of the folder"];
      return;
    }
    out_.files.push_back({entry.path().string(), below, name, entry.file_size(error)});
  }

  fs::path top_;
  fs::path real_top_;
  const ListLimits& limits_;
  FileList& out_;
  size_t entries_ = 0;
  bool full_ = false;
};

// Folder and name of an entry, without ".." and without a leading '/'.
std::pair<std::string, std::string> PlaceOf(std::string_view entry) {
  std::string folder;
  std::string name;
  while (!entry.empty()) {
    const size_t slash = entry.find_first_of("/\\");
    const std::string_view part = entry.substr(0, slash);
    entry.remove_prefix(slash == std::string_view::npos ? entry.size() : slash + 1);
    if (part.empty() || part == "." || part == "..") continue;
    if (!name.empty()) folder += (folder.empty() ? "" : "/") + name;
    name = part;
  }
  return {std::move(folder), std::move(name)};
}

// Kinds of files whose content is kept.
bool IsKept(const std::string& name) {
  const std::optional<DumpName> dump = ParseDumpName(name);
  if (!dump) return true;  // Possibly HLO under another name: the content decides.
  switch (dump->kind) {
    case DumpKind::kHloText:
    case DumpKind::kHloProto:
    case DumpKind::kThunkSequence:
    case DumpKind::kThunkSequenceFinal:
    case DumpKind::kThunkMetadata:
    case DumpKind::kBufferAssignment:
    case DumpKind::kMemoryReport:
      return true;
    default:
      return false;
  }
}

bool IsHlo(std::string_view head) {
  const FileKind kind = KindOfContent(head);
  return kind == FileKind::kHloText || kind == FileKind::kHloProto ||
         kind == FileKind::kHloTextProto;
}

constexpr size_t kSniffBytes = 1 << 14;

// `bytes` compressed, or unchanged if they are compressed already.
std::string Packed(std::string bytes) {
  constexpr int kFastLevel = 1;
  return bytes.size() >= 6 && LooksCompressed(bytes) ? std::move(bytes)
                                                     : ZstdCompress(bytes, kFastLevel);
}

Status ListArchive(const std::string& path, const ListLimits& limits, FileList& out) {
  // Dumps of passes repeat each other, and xz detects this, so they compress better than other
  // files.
  const ArchiveLimits archive_limits{.entry_bytes = uint64_t{512} << 20,
                                     .ratio = 2000,
                                     .deflate_ratio = 250,
                                     .ratio_free_bytes = uint64_t{256} << 20,
                                     .entries = static_cast<int64_t>(limits.entries)};
  uint64_t kept = 0;
  const auto file_of = [&](const ArchiveEntry& entry) {
    auto [folder, name] = PlaceOf(entry.name);
    const std::string full = folder.empty() ? name : folder + "/" + name;
    return ListedFile{path + ":" + full, std::move(folder), std::move(name), entry.size_bytes};
  };
  Status read = VisitArchive(
      path, archive_limits,
      [&](const ArchiveEntry& entry) {
        if (entry.kind == ArchiveEntry::Kind::kLink) ++out.skipped["links"];
        if (entry.kind == ArchiveEntry::Kind::kOther) ++out.skipped["FIFOs, sockets and devices"];
        if (entry.kind != ArchiveEntry::Kind::kFile) return false;
        ListedFile file = file_of(entry);
        if (file.name.empty()) {
          ++out.skipped["entries without a name"];
          return false;
        }
        if (IsKept(file.name)) return true;
        file.readable = false;
        out.files.push_back(std::move(file));
        return false;
      },
      [&](ArchiveEntry entry, std::string content) -> Status {
        ListedFile file = file_of(entry);
        file.size_bytes = content.size();
        std::string packed = Packed(std::move(content));
        kept += packed.size();
        if (kept > limits.kept_bytes) {
          return MakeError(fmt::format("'{}' holds more than {} of HLO", path,
                                       Bytes(static_cast<double>(limits.kept_bytes))),
                           "unpack the archive and name the folder");
        }
        XLATRACE_TRY(Kept().Add(file.path, std::move(packed)));
        out.files.push_back(std::move(file));
        return {};
      },
      [&](const ArchiveEntry& entry, std::string_view head) {
        ListedFile file = file_of(entry);
        if (ParseDumpName(file.name) || IsHlo(head.substr(0, kSniffBytes)) ||
            (head.size() >= 6 && LooksCompressed(head))) {
          return true;
        }
        file.readable = false;
        out.files.push_back(std::move(file));
        return false;
      });
  if (read || out.files.empty()) return read;
  // Files before the damage are used.
  out.warnings.push_back(fmt::format("{}; {} files before that are used", read.error().message,
                                     Thousands(static_cast<int64_t>(out.files.size()))));
  return {};
}

}  // namespace

Result<FileList> ListFiles(const std::string& path, const ListLimits& limits) {
  FileList list;
  if (IsDirectory(path)) {
    FolderWalk(path, limits, list).Walk();
  } else if (LooksLikeArchive(path)) {
    XLATRACE_TRY(ListArchive(path, limits, list));
  } else {
    XLATRACE_TRY(ReadFileHead(path, 1));  // Returns the error of the path.
    std::error_code ignored;
    list.files.push_back(
        {path, "", fs::path(path).filename().string(), fs::file_size(path, ignored)});
  }
  std::sort(list.files.begin(), list.files.end(), [](const ListedFile& a, const ListedFile& b) {
    return std::tie(a.folder, a.name, a.path) < std::tie(b.folder, b.name, b.path);
  });
  return list;
}

Result<std::string> ReadDumpFile(const std::string& path) {
  if (const auto kept = Kept().Find(path)) return Inflate(*kept, path);
  return ReadFileInflated(path);
}

std::string HeadOfDumpFile(const std::string& path, size_t count) {
  if (const auto kept = Kept().Find(path)) {
    auto bytes = Inflate(*kept, path);
    return bytes ? bytes->substr(0, count) : std::string();
  }
  auto stream = InflateStream::Open(path);
  std::string head(count, '\0');
  size_t size = 0;
  while (stream && size < count) {
    const auto got = stream->Read(head.data() + size, count - size);
    if (!got || *got == 0) break;
    size += *got;
  }
  head.resize(size);
  return head;
}

}  // namespace xlatrace::dumps
