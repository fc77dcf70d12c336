#include "base/stream_file.h"
#include "concat/concat.h"
#include "concat/layout.h"
#include "formats/sample_checks.h"
#include "packhorse/base/error.h"

namespace packhorse::concat {

namespace {

void append(std::string& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i));
}

class Writer final : public ShardWriter {
 public:
  Writer(const std::filesystem::path& path, const ShardSpec& spec)
      : checks_(spec, path), file_(path) {
    layout_.images.reserve(spec.samples);
  }

  void add(const Sample& sample) override {
    checks_.check(sample);
    if (sample.key.size() > kLongestKey) checks_.refuse("the key is too long", sample.key);
    if (sample.label < 0) checks_.refuse("a label cannot be negative", sample.key);
    head_.clear();
    append(head_, sample.key.size(), 4);
    head_ += sample.key;
    append(head_, static_cast<std::uint64_t>(sample.label), 8);
    append(head_, sample.bytes.size(), 8);
    file_.write(as_bytes(head_));
    layout_.images.push_back({file_.position(), sample.bytes.size()});
    file_.write(sample.bytes);
  }

  ShardLayout close() override {
    layout_.sha256 = file_.commit();
    return std::move(layout_);
  }

 private:
  SampleChecks checks_;
  StreamFile file_;
  ShardLayout layout_;
  std::string head_;
};

}  // namespace

std::unique_ptr<ShardWriter> open_writer(const std::filesystem::path& path, const ShardSpec& spec) {
  refuse_compression(spec, path);
  if (!spec.fields.empty()) {
    throw Error(ErrorKind::kUsage,
                "a concatenated shard has no place for the field '" + spec.fields[0] + "'", path,
                "use a format that has, or leave the fields out");
  }
  return std::make_unique<Writer>(path, spec);
}

}  // namespace packhorse::concat
