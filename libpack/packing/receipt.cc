#include "packing/receipt.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "packhorse/base/error.h"
#include "packhorse/version.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using Json = OrderedExactJson;

/// Throws as JSON does, and Error(kCorrupt) for counts that are not of `samples`.
ShardCounts counts_in(const Json& json, std::uint64_t samples) {
  ShardCounts counts;
  counts.payload_bytes = json.at("payload_bytes");
  json.at("labels").get_to(counts.labels);
  json.at("kinds").get_to(counts.kinds);
  std::uint64_t labelled = 0;
  for (const auto& [label, count] : counts.labels) {
    if (label < 0 || count > samples - labelled)
      throw Error(ErrorKind::kCorrupt, "its labels are not those of its samples");
    labelled += count;
  }
  if (labelled != samples || (!counts.kinds.empty() && *counts.kinds.rbegin() > kLastImageKind))
    throw Error(ErrorKind::kCorrupt, "its counts are not those of its samples");
  return counts;
}

Reject reject_in(const Json& json) {
  const auto code = parse_reason(json.at(2).get_ref<const std::string&>());
  if (!code) throw Error(ErrorKind::kCorrupt, "a reject has no known code");
  return {json.at(0), Problem(*code, json.at(1))};
}

bool unchanged(const ShardRecord& record, const fs::path& data,
               const std::function<bool(const ShardRecord&)>& is_stored) {
  if (!fs::exists(data / record.index) || sha256_file(data / record.index) != record.index_sha256)
    return false;
  const fs::path file = data / record.file;
  if (!fs::exists(file)) return is_stored && is_stored(record);
  std::error_code code;
  return fs::file_size(file, code) == record.bytes && !code && sha256_file(file) == record.sha256;
}

}  // namespace

void write_receipt(const fs::path& receipt, const std::string& inputs,
                   const ShardOutcome& outcome) {
  Json rejects = Json::array();
  for (const Reject& reject : outcome.rejects)
    rejects.push_back({reject.path, reject.reason, code_of(reject.code)});
  const ShardRecord& record = outcome.record;
  const Json json = {{"version", version()},
                     {"inputs", inputs},
                     {"samples", record.samples},
                     {"bytes", record.bytes},
                     {"index_bytes", record.index_bytes},
                     {"sha256", record.sha256},
                     {"index_sha256", record.index_sha256},
                     {"payload_bytes", outcome.counts.payload_bytes},
                     {"labels", outcome.counts.labels},
                     {"kinds", outcome.counts.kinds},
                     {"bytes_in", outcome.bytes_in},
                     {"may_change", outcome.may_change},
                     {"notes", outcome.notes},
                     {"objects", outcome.objects.objects},
                     {"images_without_objects", outcome.objects.images_without},
                     {"images_turned", outcome.objects.images_turned},
                     {"rejects", rejects}};
  write_file(receipt, as_bytes(utf8_json(json, 1)));
}

void settle_receipt(const fs::path& receipt) {
  Json json = parse_json<Json>(read_text(receipt), kReceiptLimits);
  json["may_change"] = false;
  write_file(receipt, as_bytes(utf8_json(json, 1)));
}

bool read_receipt(const fs::path& receipt, const std::string& inputs, const fs::path& data,
                  const std::function<bool(const ShardRecord&)>& is_stored,
                  ShardOutcome& outcome) try {
  if (!fs::exists(receipt)) return false;
  const Json json = parse_json<Json>(read_text(receipt), kReceiptLimits);
  if (json.at("inputs") != inputs || json.at("may_change")) return false;
  if (const std::string by = json.at("version"); by != version()) {
    outcome.other_version = by;
    return false;
  }
  ShardRecord& record = outcome.record;
  record.samples = json.at("samples");
  record.bytes = json.at("bytes");
  record.index_bytes = json.at("index_bytes");
  record.sha256 = json.at("sha256");
  record.index_sha256 = json.at("index_sha256");
  outcome.bytes_in = json.at("bytes_in");
  json.at("notes").get_to(outcome.notes);
  json.at("objects").get_to(outcome.objects.objects);
  json.at("images_without_objects").get_to(outcome.objects.images_without);
  json.at("images_turned").get_to(outcome.objects.images_turned);
  outcome.counts = counts_in(json, record.samples);
  for (const Json& reject : json.at("rejects")) outcome.rejects.push_back(reject_in(reject));
  return record.samples == 0 || unchanged(record, data, is_stored);
} catch (const Json::exception&) {
  return false;
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kCorrupt && error.kind() != ErrorKind::kUnsupported) throw;
  return false;
}

}  // namespace packhorse
