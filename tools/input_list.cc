// SPDX-License-Identifier: Apache-2.0
#include "tools/input_list.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/inflate_stream.h"
#include "base/number_format.h"
#include "importers/importer.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;

// Limits for one folder. The files that a limit excludes are reported. Real log folders are far
// below the limits.
constexpr int kMaxFolderDepth = 64;
constexpr size_t kMaxRecordings = 10'000;
constexpr size_t kMaxEntries = 1'000'000;
constexpr size_t kMaxListedUnread =
    5;  // Unreadable files that are listed; further ones are counted.
constexpr std::string_view kPerfettoTrace = "perfetto_trace.json.gz";

// The last name of `folder`, also where it is spelled "profile/" or ".".
fs::path NameOf(const fs::path& folder) {
  std::error_code error;
  const fs::path normal = fs::absolute(folder, error).lexically_normal();
  return normal.has_filename() ? normal.filename() : normal.parent_path().filename();
}

// Whether `entry` is a link that leads out of `top`. Folders that come from elsewhere may have
// links to any file of the machine.
bool LeadsOut(const fs::directory_entry& entry, const fs::path& top) {
  std::error_code error;
  if (!entry.is_symlink(error)) return false;
  const fs::path target = fs::canonical(entry.path(), error);
  if (error) return true;
  const fs::path folder = fs::canonical(top, error);
  return error || std::mismatch(folder.begin(), folder.end(), target.begin(), target.end()).first !=
                      folder.end();
}

// LOG/plugins/profile/2026_01_31_10_00_00: the newest session of a log folder, else `folder`. The
// names are times, so they sort by age.
struct Session {
  fs::path folder;
  size_t older = 0;
};
Session NewestSession(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> sessions;
  for (const fs::path& place : {folder / "plugins" / "profile", folder / "profile", folder}) {
    const bool is_profile = NameOf(place) == "profile";
    for (auto it = fs::directory_iterator(place, error);
         is_profile && !error && it != fs::directory_iterator(); it.increment(error)) {
      std::error_code entry_error;
      if (it->is_directory(entry_error) && !LeadsOut(*it, folder)) sessions.push_back(it->path());
    }
    if (!sessions.empty()) break;
  }
  if (sessions.empty()) return {folder};
  return {*std::max_element(sessions.begin(), sessions.end()), sessions.size() - 1};
}

// Every JSON file that the user named is tried. In a folder, only JSON that is named like a trace
// or begins like one is tried.
bool IsTrace(const std::string& path, importers::SourceKind kind) {
  if (kind != importers::SourceKind::kChromeTrace) return true;
  if (fs::path(path).filename().string().find("trace") != std::string::npos) return true;
  auto stream = InflateStream::Open(path);
  if (!stream) return false;
  std::string head(1 << 16, '\0');
  size_t size = 0;
  while (size < head.size()) {
    const auto got = stream->Read(head.data() + size, head.size() - size);
    if (!got || *got == 0) break;
    size += *got;
  }
  head.resize(size);
  return head.find("\"traceEvents\"") != std::string::npos ||
         head.find("\"ph\"") != std::string::npos;
}

// The reason why a file that is named like a recording cannot be read. Nothing for other files.
std::optional<std::string> WhyNotRead(const std::string& path, const Error& error) {
  constexpr std::string_view kEnds[] = {".xplane.pb",     ".xplane.pb.gz", ".trace.json",
                                        ".trace.json.gz", ".nsys-rep",     ".qdrep",
                                        ".sqlite",        ".sqlite.gz",    ".sqlite.xz"};
  if (std::none_of(std::begin(kEnds), std::end(kEnds),
                   [&](std::string_view end) { return path.ends_with(end); })) {
    return std::nullopt;
  }
  const std::string quoted = fmt::format("'{}' ", path);
  std::string why = error.message.starts_with(quoted) ? error.message.substr(quoted.size())
                                                      : "cannot be read: " + error.message;
  if (!error.hint.empty()) why += "; try: " + error.hint;
  return why;
}

// The recordings in a folder, by name, and the files that were not read, each with the reason.
InputList RecordingsIn(const fs::path& top) {
  struct Folder {
    fs::path path;
    int depth;
  };
  InputList found;
  const auto leave_out = [&](const fs::path& path, std::string why) {
    found.left_out.push_back({path.string(), std::move(why)});
  };
  std::vector<Folder> open = {{top, 0}};
  size_t entries = 0;
  std::vector<std::pair<std::string, std::string>> not_read;  // Path, why.
  while (!open.empty() && entries <= kMaxEntries) {
    const Folder folder = std::move(open.back());
    open.pop_back();
    if (folder.depth > kMaxFolderDepth) {
      leave_out(folder.path, fmt::format("lies more than {} folders deep in '{}'", kMaxFolderDepth,
                                         top.string()));
      continue;
    }
    std::error_code error;
    for (auto it = fs::directory_iterator(folder.path, error);
         !error && it != fs::directory_iterator(); it.increment(error)) {
      if (++entries > kMaxEntries) break;
      const std::string path = it->path().string();
      std::error_code entry_error;
      if (LeadsOut(*it, top)) {
        not_read.emplace_back(path, "is a link that leads out of the folder");
        continue;
      }
      const bool is_folder = it->is_directory(entry_error);
      if (!is_folder && !it->is_regular_file(entry_error)) continue;
      const auto kind = importers::Detect(path);
      if (kind && IsTrace(path, *kind)) {
        found.files.push_back(path);  // A folder: a capture, one input.
      } else if (is_folder && !it->is_symlink(entry_error)) {
        open.push_back({it->path(), folder.depth + 1});
      } else if (!is_folder && !kind) {
        if (auto why = WhyNotRead(path, kind.error())) not_read.emplace_back(path, std::move(*why));
      }
    }
    if (error) leave_out(folder.path, "cannot be read: " + error.message());
  }
  if (entries > kMaxEntries) {
    leave_out(top, fmt::format("holds more than {} files, the rest of which was not looked at",
                               Thousands(kMaxEntries)));
  }
  std::sort(not_read.begin(), not_read.end());
  for (size_t i = 0; i < std::min(not_read.size(), kMaxListedUnread); ++i) {
    leave_out(not_read[i].first, not_read[i].second);
  }
  if (not_read.size() > kMaxListedUnread) {
    leave_out(top,
              fmt::format("holds {} more files that cannot be read as recordings",
                          Thousands(static_cast<int64_t>(not_read.size() - kMaxListedUnread))));
  }
  std::sort(found.files.begin(), found.files.end());
  if (found.files.size() > kMaxRecordings) {
    leave_out(top, fmt::format("holds {} recordings, of which the first {} by name are taken",
                               Thousands(static_cast<int64_t>(found.files.size())),
                               Thousands(kMaxRecordings)));
    found.files.resize(kMaxRecordings);
  }
  return found;
}

uint64_t HashOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string block(1 << 18, '\0');
  uint64_t hash = 0;
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    hash = Hash(std::string_view(block).substr(0, static_cast<size_t>(file.gcount())), hash);
  }
  return hash;
}

bool HaveEqualBytes(const std::string& a, const std::string& b) {
  std::ifstream left(a, std::ios::binary);
  std::ifstream right(b, std::ios::binary);
  std::string left_block(1 << 18, '\0');
  std::string right_block(left_block.size(), '\0');
  while (left && right) {
    left.read(left_block.data(), static_cast<std::streamsize>(left_block.size()));
    right.read(right_block.data(), static_cast<std::streamsize>(right_block.size()));
    if (left.gcount() != right.gcount()) return false;
    const auto count = static_cast<size_t>(left.gcount());
    if (left_block.compare(0, count, right_block, 0, count) != 0) return false;
  }
  return left.eof() && right.eof();
}

// "host" of "host.trace.json.gz"; empty for other names.
std::string_view StemOfTrace(std::string_view path) {
  for (const std::string_view end : {".trace.json.gz", ".trace.json"}) {
    if (path.ends_with(end)) return path.substr(0, path.size() - end.size());
  }
  return {};
}

class Chooser {
 public:
  void Add(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) == 0) {
      const auto identity = std::make_pair(status.st_dev, status.st_ino);
      if (const auto same = by_identity_.find(identity); same != by_identity_.end()) {
        return LeaveOut(path, path == same->second
                                  ? "is named twice"
                                  : fmt::format("is the same file as '{}'", same->second));
      }
      if (S_ISREG(status.st_mode) && status.st_size > 0) {
        if (const auto original = FindOriginal(path, by_size_[status.st_size])) {
          return LeaveOut(path, fmt::format("is a copy of '{}'", *original));
        }
      }
      by_identity_.emplace(identity, path);
    }
    list_.files.push_back(path);
  }

  void LeaveOut(const std::string& path, std::string why) {
    list_.left_out.push_back({path, std::move(why)});
  }

  InputList Take() {
    // XProf writes both of one session. A profile that cannot be read replaces nothing.
    const std::unordered_set<std::string> names(list_.files.begin(), list_.files.end());
    std::vector<std::string> kept;
    for (const std::string& path : list_.files) {
      std::optional<std::string> same = ReadableXplane(StemOfTrace(path), names);
      if (!same && NameOf(path) == kPerfettoTrace) same = SessionBeside(path);
      if (same) {
        LeaveOut(path, fmt::format("is of the same session as '{}', which holds more", *same));
      } else {
        kept.push_back(path);
      }
    }
    list_.files = std::move(kept);
    return std::move(list_);
  }

 private:
  // Files of one size. Nothing is read until there is a second one.
  struct SizeClass {
    std::string first;
    std::unordered_map<uint64_t, std::vector<std::string>> by_hash;
  };

  // The file that `path` is a copy of; without one, it is an original from now on.
  static std::optional<std::string> FindOriginal(const std::string& path, SizeClass& same_size) {
    if (same_size.first.empty()) {
      same_size.first = path;
      return std::nullopt;
    }
    if (same_size.by_hash.empty()) {
      same_size.by_hash[HashOfFile(same_size.first)].push_back(same_size.first);
    }
    std::vector<std::string>& alike = same_size.by_hash[HashOfFile(path)];
    for (const std::string& other : alike) {
      if (HaveEqualBytes(path, other)) return other;
    }
    alike.push_back(path);
    return std::nullopt;
  }

  static std::optional<std::string> ReadableXplane(std::string_view stem,
                                                   const std::unordered_set<std::string>& names) {
    if (stem.empty()) return std::nullopt;
    for (const char* end : {".xplane.pb", ".xplane.pb.gz"}) {
      std::string xplane = std::string(stem) + end;
      if (names.contains(xplane) && importers::Detect(xplane)) return xplane;
    }
    return std::nullopt;
  }

  // The profile or trace in the same folder from which jax.profiler made a perfetto_trace.json.gz.
  // Both have the same rows.
  std::optional<std::string> SessionBeside(const std::string& path) const {
    const fs::path folder = fs::path(path).parent_path();
    for (const std::string& other : list_.files) {
      const bool is_session = other.ends_with(".xplane.pb") || other.ends_with(".xplane.pb.gz") ||
                              !StemOfTrace(other).empty();
      if (is_session && fs::path(other).parent_path() == folder && importers::Detect(other)) {
        return other;
      }
    }
    return std::nullopt;
  }

  InputList list_;
  std::map<std::pair<dev_t, ino_t>, std::string> by_identity_;
  std::unordered_map<off_t, SizeClass> by_size_;
};

}  // namespace

InputList ListInputs(const std::vector<std::string>& named) {
  Chooser chooser;
  for (const std::string& path : named) {
    if (!IsDirectory(path) || importers::Detect(path)) {
      chooser.Add(path);
      continue;
    }
    const Session session = NewestSession(path);
    const InputList inside = RecordingsIn(session.folder);
    if (inside.files.empty()) chooser.Add(path);  // To be refused as the folder it is.
    for (const std::string& file : inside.files) chooser.Add(file);
    for (const InputList::LeftOut& left : inside.left_out) chooser.LeaveOut(left.path, left.why);
    if (!inside.files.empty() && session.older > 0) {
      chooser.LeaveOut(path, fmt::format("has {} older session{}, to be named one by one",
                                         session.older, session.older == 1 ? "" : "s"));
    }
  }
  return chooser.Take();
}

}  // namespace xlatrace::tools
