#include "adopting/describe.h"

#include <mutex>
#include <set>

#include "base/json.h"
#include "base/stop.h"
#include "packhorse/base/error.h"
#include "walkers/walker.h"

/// The lines of a description, in their order:
///
///     {"shard": [layout, samples, [field, ...]]}
///     {"reject": [path, reason, code]}, {"skip": [path, rule]}                     any number
///     {"samples": [[key, label, [problem, code], offset, length,
///                   kind, components, bits, orientation, width, height,
///                   [[field, offset, length], ...]], ...]}                         any number
///     {"error": [kind, what, path, advice, key]}                             instead of the rest
///
/// Texts may hold any bytes and are written in hexadecimal.
namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Json = ExactJson;

constexpr std::size_t kBatch = 64;  // samples a line

Json as_json(const Problem& problem) {
  return Json::array({to_hex(problem.text), code_of(problem.code)});
}

Json as_json(const FoundSample& sample) {
  Json fields = Json::array();
  for (const FoundSample::FoundField& field : sample.fields)
    fields.push_back(Json::array({field.field, field.range.offset, field.range.length}));
  const ImageInfo& image = sample.pixels;
  return Json::array({to_hex(sample.key), to_hex(sample.label), as_json(sample.problem),
                      sample.image.offset, sample.image.length, static_cast<int>(image.kind),
                      image.components, image.bit_depth, image.orientation, image.width,
                      image.height, std::move(fields)});
}

std::string text_of(const Json& json) { return from_hex(json.get_ref<const std::string&>()); }

Problem problem_in(const Json& text, const Json& code) {
  const auto reason = parse_reason(code.get_ref<const std::string&>());
  if (!reason) throw Error(ErrorKind::kCorrupt, "a problem has no known code");
  return {*reason, text_of(text)};
}

FoundSample sample_of(const Json& json, std::size_t field_names) {
  FoundSample sample;
  sample.key = text_of(json.at(0));
  sample.label = text_of(json.at(1));
  sample.problem = problem_in(json.at(2).at(0), json.at(2).at(1));
  sample.image = {json.at(3), json.at(4)};
  sample.pixels = {static_cast<ImageKind>(json.at(5).get<std::uint8_t>()),
                   json.at(6),
                   json.at(7),
                   json.at(8),
                   json.at(9),
                   json.at(10)};
  for (const Json& field : json.at(11)) {
    sample.fields.push_back({field.at(0), {field.at(1), field.at(2)}});
    if (sample.fields.back().field >= field_names)
      throw Error(ErrorKind::kCorrupt, "a field has no name");
  }
  return sample;
}

/// Makes a rule a constant that lives as long as the process; each is kept once.
std::string_view constant(std::string rule) {
  static std::mutex mutex;
  static std::set<std::string> rules;
  const std::scoped_lock lock(mutex);
  return *rules.insert(std::move(rule)).first;
}

void describe_here(const ForeignFormat& format, const fs::path& data_file,
                   const ForeignOptions& options, ShardVisitor& visitor,
                   std::atomic<std::int64_t>& row) {
  const std::unique_ptr<ForeignShard> shard = format.open(data_file, options);
  visitor.begin(
      {shard->layout(), shard->fields(), shard->rejects(), shard->skips(), shard->size()});
  for (std::size_t i = 0; i < shard->size(); ++i) {
    obey_stop();
    row = static_cast<std::int64_t>(i);
    visitor.add(shard->found(i));
  }
}

/// Writes what it receives as lines.
class LineVisitor final : public ShardVisitor {
 public:
  explicit LineVisitor(const std::function<void(const std::string&)>& say) : say_(say) {}

  void begin(ShardFacts facts) override {
    Json names = Json::array();
    for (const std::string& name : facts.fields) names.push_back(to_hex(name));
    say("shard", Json::array({to_hex(facts.layout), facts.samples, std::move(names)}));
    for (const Reject& reject : facts.rejects)
      say("reject",
          Json::array({to_hex(reject.path), to_hex(reject.reason), code_of(reject.code)}));
    for (const Skip& skip : facts.skips)
      say("skip", Json::array({to_hex(skip.path), to_hex(skip.rule)}));
  }

  void add(FoundSample sample) override {
    waiting_.push_back(as_json(sample));
    if (waiting_.size() == kBatch) flush();
  }

  void flush() {
    if (!waiting_.empty()) say("samples", std::exchange(waiting_, Json::array()));
  }

  void fail(const Error& error) {
    say("error",
        Json::array({static_cast<int>(error.kind()), to_hex(error.what()),
                     to_hex(error.path().native()), to_hex(error.advice()), to_hex(error.key())}));
  }

 private:
  void say(const char* what, Json value) {
    Json line = Json::object();
    line[what] = std::move(value);
    say_(line.dump() + "\n");
  }

  const std::function<void(const std::string&)>& say_;
  Json waiting_ = Json::array();
};

/// Passes on what a process says about a shard.
class LineReader {
 public:
  explicit LineReader(ShardVisitor& visitor) : visitor_(visitor) {}

  void take(std::string_view line) {
    Json json;
    try {
      json = parse_json(line, {.bytes = std::size_t{256} << 20});
    } catch (const Error&) {
      return;  // cut off by a crash, or not a line at all
    }
    const auto member = json.begin();
    if (member == json.end()) return;
    const Json& value = member.value();
    if (member.key() == "shard") {
      facts_.emplace();
      facts_->layout = text_of(value.at(0));
      facts_->samples = value.at(1);
      for (const Json& name : value.at(2)) facts_->fields.push_back(text_of(name));
      fields_ = facts_->fields.size();
    } else if (member.key() == "reject" && facts_) {
      facts_->rejects.emplace_back(text_of(value.at(0)), problem_in(value.at(1), value.at(2)));
    } else if (member.key() == "skip" && facts_) {
      facts_->skips.push_back({text_of(value.at(0)), constant(text_of(value.at(1)))});
    } else if (member.key() == "samples") {
      begin();
      for (const Json& one : value) visitor_.add(sample_of(one, fields_));
      samples_ += value.size();
    } else if (member.key() == "error") {
      error_.emplace(static_cast<ErrorKind>(value.at(0).get<int>()), text_of(value.at(1)),
                     text_of(value.at(2)), text_of(value.at(3)), text_of(value.at(4)));
    }
  }

  /// Call it when the walk has ended well.
  void finish() {
    if (error_) throw Error(*error_);
    begin();
    if (samples_ != expected_)
      throw Error(ErrorKind::kCorrupt, "the process that checked it left out some samples");
  }
  bool failed() const { return error_.has_value(); }

 private:
  void begin() {
    if (!facts_) return;
    expected_ = facts_->samples;
    visitor_.begin(std::move(*facts_));
    facts_.reset();
  }

  ShardVisitor& visitor_;
  std::optional<ShardFacts> facts_;  ///< until begin() passes them on
  std::optional<Error> error_;
  std::size_t fields_ = 0, samples_ = 0, expected_ = 0;
};

}  // namespace

void describe_shard(const ForeignFormat& format, const fs::path& data_file,
                    const ForeignOptions& options, const std::shared_ptr<WalkerPool>& walkers,
                    ShardVisitor& visitor) {
  if (!walkers) {
    std::atomic<std::int64_t> row{-1};
    return describe_here(format, data_file, options, visitor, row);
  }
  WalkTask task;
  task.kind = WalkTask::Kind::kDescribe;
  task.format = format.name;
  task.data = data_file;
  task.foreign = options;
  const std::uint64_t bytes = fs::file_size(data_file);
  const WalkBounds bounds = bounds_for(bytes, bytes);
  LineReader reader(visitor);
  try {
    const WalkEnd end = walkers->run(task, bounds, wall_time(bounds),
                                     [&](std::string_view line) { reader.take(line); });
    if (end.kind == WalkEnd::Kind::kDone || reader.failed()) return reader.finish();
    const std::string at = end.row < 0 ? "" : ", at sample " + std::to_string(end.row);
    throw Error(ErrorKind::kCorrupt, words_of(end, "the format's own library", "checked") + at,
                data_file,
                "the shard is damaged or malicious: get a fresh copy from where it came from");
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::kCorrupt,
                "the process that checked it sent an invalid answer: " + json_problem(error),
                data_file);
  } catch (const Error& error) {
    if (!error.path().empty() || error.kind() == ErrorKind::kInterrupted) throw;
    throw Error(error.kind(), error.what(), data_file, error.advice(), error.key());
  }
}

void describe_in_lines(const WalkTask& task, std::atomic<std::int64_t>& row,
                       const std::function<void(const std::string& line)>& say) {
  LineVisitor visitor(say);
  try {
    const ForeignFormat* format = find_foreign_format(task.format);
    if (format == nullptr)
      throw Error(ErrorKind::kUsage, "no foreign format is called '" + task.format + "'");
    describe_here(*format, task.data, task.foreign, visitor, row);
    visitor.flush();
  } catch (const Error& error) {
    visitor.fail(error);
  }
}

}  // namespace packhorse
