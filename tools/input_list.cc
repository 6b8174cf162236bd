#include "tools/input_list.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/file.h"
#include "base/inflate_stream.h"
#include "importers/importer.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxFolderDepth = 8;
constexpr size_t kMaxFilesOfFolder = 10'000;

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
    const bool is_profile = place.filename() == "profile";
    for (auto it = fs::directory_iterator(place, error);
         is_profile && !error && it != fs::directory_iterator(); it.increment(error)) {
      if (it->is_directory(error)) sessions.push_back(it->path());
    }
    if (!sessions.empty()) break;
  }
  if (sessions.empty()) return {folder};
  return {*std::max_element(sessions.begin(), sessions.end()), sessions.size() - 1};
}

// JSON that somebody named is tried; of what lies about in a folder only what says early that it is
// a trace, or is called one.
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

// What can be imported of what lies in a folder, by name.
std::vector<std::string> RecordingsIn(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  size_t seen = 0;
  for (auto it = fs::recursive_directory_iterator(folder, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (++seen > kMaxFilesOfFolder) break;
    const std::string path = it->path().string();
    const bool is_folder = it->is_directory(error);
    if (it.depth() >= kMaxFolderDepth) it.disable_recursion_pending();
    if (!is_folder && !it->is_regular_file(error)) continue;
    const auto kind = importers::Detect(path);
    if (!kind || !IsTrace(path, *kind)) continue;
    if (is_folder) it.disable_recursion_pending();  // A capture: one input.
    files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
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
    std::error_code error;
    const bool is_file = fs::is_regular_file(path, error);
    const uintmax_t size = is_file ? fs::file_size(path, error) : UINTMAX_MAX;
    for (const std::string& other : by_size_[size]) {
      if (IsSameFile(path, other)) {
        return LeaveOut(path, path == other ? "is named twice"
                                            : fmt::format("is the same file as '{}'", other));
      }
      if (is_file && size > 0 && HaveEqualBytes(path, other)) {
        return LeaveOut(path, fmt::format("is a copy of '{}'", other));
      }
    }
    by_size_[size].push_back(path);
    list_.files.push_back(path);
  }

  void LeaveOut(const std::string& path, std::string why) {
    list_.left_out.push_back({path, std::move(why)});
  }

  InputList Take() {
    // XProf writes both of one session.
    std::vector<std::string> kept;
    for (const std::string& path : list_.files) {
      const std::string_view stem = StemOfTrace(path);
      const auto same_session = [&](const std::string& other) {
        return !stem.empty() && (other == std::string(stem) + ".xplane.pb" ||
                                 other == std::string(stem) + ".xplane.pb.gz");
      };
      const auto xplane = std::find_if(list_.files.begin(), list_.files.end(), same_session);
      if (xplane == list_.files.end()) {
        kept.push_back(path);
      } else {
        LeaveOut(path, fmt::format("is of the same session as '{}', which holds more", *xplane));
      }
    }
    list_.files = std::move(kept);
    return std::move(list_);
  }

 private:
  InputList list_;
  std::map<uintmax_t, std::vector<std::string>> by_size_;
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
    const std::vector<std::string> inside = RecordingsIn(session.folder);
    if (inside.empty()) chooser.Add(path);  // To be refused as the folder it is.
    for (const std::string& file : inside) chooser.Add(file);
    if (!inside.empty() && session.older > 0) {
      chooser.LeaveOut(path, fmt::format("has {} older session{}, to be named one by one",
                                         session.older, session.older == 1 ? "" : "s"));
    }
  }
  return chooser.Take();
}

}  // namespace xlatrace::tools
