#include "packhorse/dataset/manifest.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/printable.h"
#include "dataset/dataset_directory.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace {

using Json = OrderedExactJson;

/// Of an index, beside its samples, and for a sample: its key, its path, and where its fields are.
constexpr std::uint64_t kMostIndexHead = 1u << 20, kMostIndexRow = 64u << 10;

/// Room for some 180,000 shards.
constexpr JsonLimits kLimits{.bytes = std::size_t{64} << 20, .depth = 16};

/// All files of the dataset that the manifest names.
std::vector<std::string_view> names_in(const Manifest& manifest) {
  std::vector<std::string_view> names;
  for (const ShardRecord& shard : manifest.shards)
    names.insert(names.end(), {shard.file, shard.index});
  for (const FileRecord& file : manifest.files) names.emplace_back(file.file);
  return names;
}

Json to_json(const Manifest& m) {
  Json shards = Json::array(), files = Json::array(), skipped = Json::object();
  for (const ShardRecord& s : m.shards) {
    shards.push_back({{"file", s.file},
                      {"samples", s.samples},
                      {"first_sample", s.first_sample},
                      {"bytes", s.bytes},
                      {"sha256", s.sha256},
                      {"index", s.index},
                      {"index_bytes", s.index_bytes},
                      {"index_sha256", s.index_sha256}});
  }
  for (const FileRecord& f : m.files) {
    files.push_back({{"file", f.file}, {"bytes", f.bytes}, {"sha256", f.sha256}});
  }
  for (const auto& [rule, count] : m.skipped_by_rule) skipped[rule] = count;
  Json json = {{"manifest_version", kManifestVersion},
               {"format", m.format},
               {"format_version", m.format_version},
               {"image", m.image}};
  // Members that few datasets need are written only when they say something.
  if (!m.image_settings.empty()) json["image_settings"] = m.image_settings;
  if (!m.compress.empty()) json["compress"] = m.compress;
  if (!m.fields.empty()) json["fields"] = m.fields;
  for (const TargetRecord& target : m.targets) {
    json["targets"].push_back({{"name", target.name},
                               {"kind", target.kind},
                               {"text", target.text},
                               {"classes", target.classes},
                               {"keypoints", target.keypoints}});
    if (target.ignore) json["targets"].back()["ignore"] = *target.ignore;
    if (!target.head.empty()) json["targets"].back()["head"] = target.head;
  }
  if (m.adopted) {
    json["adopted"] = {{"layout", m.adopted->layout},
                       {"labels", m.adopted->labels},
                       {"qualified_keys", m.adopted->qualified_keys},
                       {"arrays", m.adopted->arrays}};
  }
  json.update({{"split", m.split},
               {"options",
                {{"shuffle", m.shuffle},
                 {"seed", m.seed},
                 {"shard_bytes", m.shard_bytes},
                 {"shard_samples", m.shard_samples}}},
               {"samples", m.samples},
               {"payload_bytes", m.payload_bytes},
               {"class_samples", m.class_samples},
               {"accounting",
                {{"seen", m.accounting.seen},
                 {"packed", m.accounting.packed},
                 {"rejected", m.accounting.rejected},
                 {"skipped", m.accounting.skipped},
                 {"skipped_by_rule", skipped}}},
               {"shards", shards},
               {"files", files}});
  return json;
}

/// Takes the shards out of a manifest while it is parsed, so that they are never all there as JSON,
/// which takes ten times as much room.
class ShardsTaken {
 public:
  /// For parse_json().
  bool keep(int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::key && depth == 1) inside_ = value == "shards";
    if (!inside_ || event != Event::object_end || depth != 2) return true;
    text_ += (text_.empty() ? "" : ",") + value.dump();
    try {
      records.push_back({value.at("file"), value.at("index"), value.at("samples"),
                         value.at("first_sample"), value.at("bytes"), value.at("index_bytes"),
                         value.at("sha256"), value.at("index_sha256")});
    } catch (const Json::exception& error) {
      if (problem.empty()) problem = json_problem(error);  // a later version may have others
    }
    return false;
  }
  /// The canonical text of what the id stands for: everything but itself and the version.
  std::string content_of(const Json& json) const {
    std::string text;
    for (const auto& [name, value] : json.items()) {
      if (name == "packhorse" || name == "id") continue;
      text += (text.empty() ? "{" : ",") + Json(name).dump() + ":";
      text += name == "shards" && value.is_array() ? "[" + text_ + "]" : value.dump();
    }
    return text + "}";
  }

  std::vector<ShardRecord> records;
  std::string problem;  ///< what the first shard that is none lacks

 private:
  std::string text_;  ///< the members of the array
  bool inside_ = false;
};

Manifest from_json(const Json& json) {
  Manifest m;
  json.at("packhorse").get_to(m.version);
  json.at("format").get_to(m.format);
  json.at("format_version").get_to(m.format_version);
  json.at("image").get_to(m.image);
  m.image_settings = json.value("image_settings", "");
  m.compress = json.value("compress", "");
  m.fields = json.value("fields", std::vector<std::string>{});
  for (const Json& target : json.value("targets", Json::array())) {
    m.targets.push_back({target.at("name"), target.at("kind"), target.at("text"),
                         target.at("classes"), target.at("keypoints"), target.value("head", "")});
    if (const auto ignore = target.find("ignore"); ignore != target.end())
      m.targets.back().ignore = ignore->get<std::uint8_t>();
  }
  if (const auto adopted = json.find("adopted"); adopted != json.end()) {
    m.adopted = {adopted->at("layout"), adopted->at("labels"), adopted->at("qualified_keys"),
                 adopted->at("arrays")};
  }
  json.at("split").get_to(m.split);
  const Json& options = json.at("options");
  options.at("shuffle").get_to(m.shuffle);
  options.at("seed").get_to(m.seed);
  options.at("shard_bytes").get_to(m.shard_bytes);
  options.at("shard_samples").get_to(m.shard_samples);
  json.at("samples").get_to(m.samples);
  json.at("payload_bytes").get_to(m.payload_bytes);
  json.at("class_samples").get_to(m.class_samples);
  const Json& accounting = json.at("accounting");
  accounting.at("seen").get_to(m.accounting.seen);
  accounting.at("packed").get_to(m.accounting.packed);
  accounting.at("rejected").get_to(m.accounting.rejected);
  accounting.at("skipped").get_to(m.accounting.skipped);
  for (const auto& [rule, count] : accounting.at("skipped_by_rule").items()) {
    m.skipped_by_rule[rule] = count.get<std::uint64_t>();
  }
  for (const Json& f : json.at("files"))
    m.files.push_back({f.at("file"), f.at("bytes"), f.at("sha256")});
  return m;
}

}  // namespace

std::string Manifest::id() const { return sha256(as_bytes(to_json(*this).dump())); }

std::string Manifest::serialise() const {
  Json json = {{"packhorse", version}, {"id", id()}};
  json.update(to_json(*this));
  return json.dump(1) + "\n";
}

Manifest Manifest::parse(std::string_view text, const std::filesystem::path& path) {
  constexpr const char* kAdvice = "restore the file from a copy, or pack again";
  const auto damaged = [&](const std::string& what) {
    return Error(ErrorKind::kCorrupt, "damaged manifest: " + what, path, kAdvice);
  };
  try {
    ShardsTaken taken;
    const Json json = parse_json<Json>(text, kLimits, [&](int depth, auto event, Json& value) {
      return taken.keep(depth, event, value);
    });
    if (!json.is_object()) throw damaged("it is not a JSON object");
    if (Json(sha256(as_bytes(taken.content_of(json)))) != json.at("id")) {
      throw damaged("its id does not match its content");
    }
    const int version = json.at("manifest_version");
    if (version > kManifestVersion) {
      throw Error(ErrorKind::kUnsupported,
                  "the dataset was written by a later version of packhorse", path,
                  "use that version or a later one");
    }
    if (!taken.problem.empty()) throw damaged(taken.problem);
    if (!json.at("shards").is_array() || !json.at("shards").empty())
      throw damaged("its list of shards is none");
    Manifest manifest = from_json(json);
    manifest.shards = std::move(taken.records);
    std::vector<std::string_view> names = names_in(manifest);
    if (!std::ranges::all_of(names, is_inner_name))
      throw damaged("it names a file outside the dataset's directory");
    std::ranges::sort(names);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
      throw damaged("it names the file '" + printable(*twice) + "' twice");
    std::uint64_t samples = 0;
    for (const ShardRecord& shard : manifest.shards) {
      if (shard.first_sample != samples) throw damaged("its counts do not add up");
      if (shard.index_bytes > kMostIndexHead &&
          (shard.index_bytes - kMostIndexHead) / kMostIndexRow > shard.samples)
        throw damaged("an index of " + std::to_string(shard.index_bytes) +
                      " bytes is too large for its samples");
      samples += shard.samples;
    }
    if (samples != manifest.samples) throw damaged("its counts do not add up");
    return manifest;
  } catch (const Json::exception& error) {
    throw damaged(json_problem(error));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    if (!error.path().empty()) throw;
    throw damaged(error.what());  // thrown by parse_json()
  }
}

Manifest Manifest::load(const DatasetDirectory& dataset) {
  return parse(dataset.read_text(std::string(kManifestName)), dataset.path() / kManifestName);
}

Manifest Manifest::load(const std::filesystem::path& dataset) {
  return load(DatasetDirectory(dataset));
}

std::string Manifest::sums() const {
  std::string text;
  const auto line = [&](const std::string& sum, std::string_view file) {
    text += sum + "  " + std::string(file) + "\n";
  };
  for (const ShardRecord& shard : shards) {
    line(shard.sha256, shard.file);
    line(shard.index_sha256, shard.index);
  }
  for (const FileRecord& file : files) line(file.sha256, file.file);
  line(sha256(as_bytes(serialise())), kManifestName);
  return text;
}

}  // namespace packhorse
