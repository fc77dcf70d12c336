#include "packhorse/packing/pack_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/scratch_file.h"
#include "base/text.h"
#include "packhorse/base/error.h"
#include "packhorse/packing/pack.h"
#include "packhorse/version.h"
#include "packing/receipt.h"
#include "packing/task_note.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Json = OrderedExactJson;

constexpr double kSilent = std::chrono::duration<double>(TaskNote::kSilent).count();
constexpr double kSlower = 3;     ///< times the usual time of a shard
constexpr double kNoSlower = 60;  ///< seconds: shorter times are no reason to worry

/// Seconds since 1970, by the clock of whoever stores the file.
double seconds_of(fs::file_time_type time) {
  return std::chrono::duration<double>(std::chrono::file_clock::to_sys(time).time_since_epoch())
      .count();
}

double time_of(const fs::path& path) { return seconds_of(fs::last_write_time(path)); }

struct DoneShard {
  std::uint64_t number = 0;  ///< in its split
  std::uint64_t bytes = 0;
  double time = 0;
};

/// The bytes of a finished shard; nothing for one that has to be packed again: it may change, or
/// another version made it.
std::optional<std::uint64_t> bytes_in(const fs::path& receipt) try {
  const Json json = parse_json<Json>(read_text(receipt), kReceiptLimits);
  if (json.at("may_change") || json.at("version") != version()) return std::nullopt;
  return json.at("bytes").get<std::uint64_t>();
} catch (const Json::exception&) {
  return std::nullopt;
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kCorrupt && error.kind() != ErrorKind::kUnsupported) throw;
  return std::nullopt;
}

/// The number of a shard, by the name of its receipt.
std::optional<std::uint64_t> number_of(const fs::path& receipt) {
  const std::string name = receipt.stem().string();
  const std::size_t dash = name.rfind('-');
  if (receipt.extension() != ".json" || dash == std::string::npos) return std::nullopt;
  return parse_number<std::uint64_t>(name.substr(dash + 1));
}

/// The finished shards of a split. A receipt that goes meanwhile is none.
std::vector<DoneShard> done_in(const fs::path& receipts, std::uint64_t shards) {
  std::vector<DoneShard> done;
  if (!is_folder(receipts)) return done;
  for (const fs::directory_entry& entry : entries_in(receipts)) {
    const fs::path& receipt = entry.path();
    const std::optional<std::uint64_t> shard = number_of(receipt);
    if (!shard || *shard >= shards) continue;
    try {
      if (const auto bytes = bytes_in(receipt)) done.push_back({*shard, *bytes, time_of(receipt)});
    } catch (const fs::filesystem_error&) {
      continue;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNotFound) throw;
    }
  }
  return done;
}

struct Noted {
  TaskNote note;
  double sign = 0;
};

class Status {
 public:
  explicit Status(const fs::path& out) : staging_(staging_path(out)) {
    read_notes();
    try {
      now_ = seconds_of(storage_time(staging_));
    } catch (const Error&) {  // nothing may be written here
      now_ = seconds_of(fs::file_time_type::clock::now());
      own_clock_ = true;
    }
  }

  PackStatus status() {
    PackStatus status;
    status.staging = staging_;
    status.own_clock = own_clock_;
    const TaskNote& any = notes_.front().note;
    const std::uint64_t parts = count();
    std::vector<std::vector<DoneShard>> of_task(parts);
    std::vector<std::uint64_t> shards(parts);
    double newest = now_;
    for (std::size_t split = 0; split < any.splits.size(); ++split) {
      for (std::uint64_t shard = 0; shard < std::min(parts, any.shards[split]); ++shard)
        shards[shard] += (any.shards[split] - shard + parts - 1) / parts;
      for (DoneShard& one : done_in(staging_ / "receipts" / any.splits[split], any.shards[split])) {
        newest = std::max(newest, one.time);
        of_task[one.number % parts].push_back(one);
      }
    }
    for (const Noted& noted : notes_) newest = std::max(newest, noted.sign);
    constexpr double kApart = 2;
    if (newest > now_ + kApart) status.clock_behind_s = newest - now_;
    now_ = newest;

    for (std::uint64_t task = 0; task < parts; ++task)
      status.tasks.push_back(task_status(task, shards[task], of_task[task]));
    judge(status.tasks, of_task);
    for (const TaskStatus& task : status.tasks) {
      status.shards += task.shards;
      status.done += task.done;
      status.bytes += task.bytes;
    }
    status.left_s = left(status.tasks);
    return status;
  }

 private:
  void read_notes() {
    const fs::path folder = staging_ / TaskNote::kFolder;
    if (is_folder(folder)) {
      for (const fs::directory_entry& entry : entries_in(folder)) {
        if (entry.path().extension() != ".json") continue;
        if (auto note = TaskNote::read(entry.path()))
          notes_.push_back({std::move(*note), time_of(entry.path())});
      }
    }
    if (notes_.empty())
      throw Error(ErrorKind::kNotFound,
                  path_exists(staging_) ? "nobody packs here, or the source is still being listed"
                                        : "nobody packs there: there is no staging directory",
                  staging_,
                  "give the OUT of a `packhorse pack` that is running or was interrupted");
    // Of several kinds of runs, the last to be heard of counts.
    std::ranges::sort(notes_, std::greater<>(), &Noted::sign);
    const std::uint64_t parts = count();
    std::erase_if(notes_, [&](const Noted& noted) { return parts_of(noted.note) != parts; });
  }

  static std::uint64_t parts_of(const TaskNote& note) {
    return note.task.empty() ? 1 : TaskShare::parse(note.task).count;
  }
  std::uint64_t count() const { return parts_of(notes_.front().note); }

  const Noted* note_of(std::uint64_t task) const {
    const auto found = std::ranges::find_if(notes_, [&](const Noted& noted) {
      return noted.note.task.empty() || TaskShare::parse(noted.note.task).index == task;
    });
    return found == notes_.end() ? nullptr : &*found;
  }

  TaskStatus task_status(std::uint64_t number, std::uint64_t shards,
                         const std::vector<DoneShard>& done) const {
    TaskStatus task;
    if (!notes_.front().note.task.empty()) task.task = fmt::format("{}/{}", number, count());
    task.shards = shards;
    task.done = done.size();
    for (const DoneShard& one : done) {
      task.bytes += one.bytes;
      task.last_s = std::min(task.last_s.value_or(now_ - one.time), now_ - one.time);
    }
    if (const Noted* noted = note_of(number)) {
      task.host = noted->note.host;
      task.pid = noted->note.pid;
      task.sign_s = now_ - noted->sign;
      task.state = noted->note.ended        ? TaskStatus::State::kStopped
                   : *task.sign_s > kSilent ? TaskStatus::State::kSilent
                                            : TaskStatus::State::kAtWork;
    }
    if (task.done == task.shards) task.state = TaskStatus::State::kDone;
    return task;
  }

  /// The longest time between two shards of a task but the slowest tenth, as several that are
  /// packed at once are done at once; nothing before there are two.
  static std::optional<double> usual_pause(const std::vector<std::vector<DoneShard>>& of_task) {
    std::vector<double> pauses;
    for (std::vector<DoneShard> done : of_task) {
      std::ranges::sort(done, {}, &DoneShard::time);
      for (std::size_t i = 1; i < done.size(); ++i)
        pauses.push_back(done[i].time - done[i - 1].time);
    }
    if (pauses.empty()) return std::nullopt;
    std::ranges::sort(pauses);
    return pauses[(pauses.size() - 1) * 9 / 10];
  }

  /// Seconds for a shard, over all that a task has done; nothing before there are two.
  static std::optional<double> pace_of(const std::vector<DoneShard>& done) {
    if (done.size() < 2) return std::nullopt;
    const auto [first, last] = std::ranges::minmax_element(done, {}, &DoneShard::time);
    return (last->time - first->time) / static_cast<double>(done.size() - 1);
  }

  static void judge(std::vector<TaskStatus>& tasks,
                    const std::vector<std::vector<DoneShard>>& of_task) {
    const std::optional<double> usual = usual_pause(of_task);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      TaskStatus& task = tasks[i];
      if (task.state != TaskStatus::State::kAtWork) continue;
      const std::optional<double> own = pace_of(of_task[i]);
      const std::optional<double> pace = own ? own : usual;
      if (pace) task.left_s = *pace * static_cast<double>(task.shards - task.done);
      if (usual && task.last_s && *task.last_s > std::max(kNoSlower, kSlower * *usual))
        task.state = TaskStatus::State::kSlow;
    }
  }

  static std::optional<double> left(const std::vector<TaskStatus>& tasks) {
    double longest = 0;
    for (const TaskStatus& task : tasks) {
      if (task.state == TaskStatus::State::kDone) continue;
      if (!task.left_s) return std::nullopt;
      longest = std::max(longest, *task.left_s);
    }
    return longest;
  }

  const fs::path staging_;
  bool own_clock_ = false;
  double now_ = 0;            ///< by the clock of the storage, as far as files show it
  std::vector<Noted> notes_;  ///< the newest first
};

}  // namespace

const char* name_of(TaskStatus::State state) {
  switch (state) {
    case TaskStatus::State::kDone:
      return "done";
    case TaskStatus::State::kAtWork:
      return "at work";
    case TaskStatus::State::kSlow:
      return "slow";
    case TaskStatus::State::kStopped:
      return "stopped";
    case TaskStatus::State::kSilent:
      return "silent";
    case TaskStatus::State::kNobody:
      break;
  }
  return "not begun";
}

PackStatus pack_status(const fs::path& out) {
  if (is_url(out.native()))
    throw Error(ErrorKind::kUnsupported,
                "only tasks that share a staging directory on a disk can be asked", out,
                "list OUT.partial/receipts at the URL: there is one for each finished shard");
  return Status(out).status();
}

}  // namespace packhorse
