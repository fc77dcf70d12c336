#include "packing/task_note.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "base/scratch_file.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Json = OrderedExactJson;

constexpr std::chrono::seconds kRenewed{10};

}  // namespace

void TaskNote::write(const fs::path& file) const {
  const Json json = {{"task", task},     {"host", host},     {"pid", pid},
                     {"splits", splits}, {"shards", shards}, {"ended", ended}};
  write_file(file, as_bytes(utf8_json(json, 1)));
}

std::optional<TaskNote> TaskNote::read(const fs::path& file) try {
  const Json json = parse_json<Json>(read_text(file));
  TaskNote note{json.at("task"), json.at("host"), json.at("pid"), {}, {}, json.at("ended")};
  json.at("splits").get_to(note.splits);
  json.at("shards").get_to(note.shards);
  if (note.splits.size() != note.shards.size()) return std::nullopt;
  return note;
} catch (const Json::exception&) {
  return std::nullopt;
} catch (const Error&) {
  return std::nullopt;
}

std::optional<TaskNote> at_work_elsewhere(const fs::path& staging, bool whole_runs) {
  const fs::path folder = staging / TaskNote::kFolder;
  std::error_code code;
  if (!fs::is_directory(folder, code)) return std::nullopt;
  const auto now = storage_time(folder);
  for (const fs::directory_entry& entry : entries_in(folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto sign = fs::last_write_time(entry.path(), code);
    if (code || now - sign > TaskNote::kSilent) continue;
    std::optional<TaskNote> note = TaskNote::read(entry.path());
    if (note && !note->ended && note->host != host_name() && (!whole_runs || note->task.empty()))
      return note;
  }
  return std::nullopt;
}

LivingNote::LivingNote(const fs::path& staging, const std::optional<TaskShare>& share,
                       std::vector<std::string> splits, std::vector<std::uint64_t> shards)
    : note_{.task = share ? fmt::format("{}/{}", share->index, share->count) : "",
            .host = host_name(),
            .pid = ::getpid(),
            .splits = std::move(splits),
            .shards = std::move(shards)} {
  const std::string name = share ? fmt::format("{}-of-{}", share->index, share->count) : "all";
  const fs::path folder = staging / TaskNote::kFolder;
  make_directories(folder);
  file_ = folder / (name + ".json");
  note_.write(file_);
  thread_ = std::jthread([this](const std::stop_token& stop) { renew(stop); });
}

LivingNote::~LivingNote() {
  thread_.request_stop();
  thread_.join();
  note_.ended = true;
  try {
    note_.write(file_);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): see above
  }
}

void LivingNote::renew(const std::stop_token& stop) const {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, stop, kRenewed, [] { return false; }) && !stop.stop_requested())
    static_cast<void>(::utimensat(AT_FDCWD, file_.c_str(), nullptr, 0));
}

}  // namespace packhorse
