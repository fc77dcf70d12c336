#include <limits>

#include "formats/kinds.h"
#include "formats/lmdb/database.h"
#include "formats/lmdb/layout.h"
#include "formats/sample_checks.h"

namespace packhorse::lmdb {

namespace {

/// The meta pages for the expected samples; empty when none are expected.
std::string datum_meta_pages(const ShardSpec& spec) {
  if (!spec.expected) return {};
  Tree tree;
  ImageInfo encoded;
  for (std::size_t i = 0; i < spec.samples; ++i) {
    const ExpectedSample sample = spec.expected(i);
    const DatumFrame frame = frame_datum(encoded, sample.bytes, sample.label);
    tree.add(sample.key, frame.head.size() + sample.bytes + frame.tail.size(), {}, Tree::kNoTag);
  }
  return tree.finish();
}

class DatumWriter final : public ShardWriter {
 public:
  DatumWriter(const std::filesystem::path& path, const ShardSpec& spec)
      : checks_(spec, path),
        database_(path, datum_meta_pages(spec), [this](std::uint64_t i, std::uint64_t offset) {
          layout_.images[i].offset += offset;
        }) {
    layout_.images.reserve(spec.samples);
  }

  void add(const Sample& sample) override {
    if (sample.label < 0 || sample.label > std::numeric_limits<std::int32_t>::max()) {
      checks_.refuse("a Datum cannot hold this label", sample.key);
    }
    checks_.check(sample);
    const DatumFrame frame = frame_datum(sample.image, sample.bytes.size(), sample.label);
    layout_.images.push_back({frame.head.size(), sample.bytes.size()});
    database_.put(sample.key, {as_bytes(frame.head), sample.bytes, as_bytes(frame.tail)},
                  layout_.images.size() - 1);
  }

  ShardLayout close() override {
    layout_.sha256 = database_.finish();
    return std::move(layout_);
  }

 private:
  SampleChecks checks_;
  ShardLayout layout_;  ///< offsets in the values, until these have their place
  DatabaseWriter database_;
};

class DatumReader final : public ShardReader {
 public:
  explicit DatumReader(const std::filesystem::path& path) : database_(path) {}
  std::size_t size() const override { return database_.size(); }
  StoredSample read(std::size_t i) override {
    const DatabaseReader::Entry entry = database_.read(i);
    const Datum datum = parse_datum(entry.value);
    return {std::string(entry.key), datum.label.value_or(-1), datum.image};
  }

 private:
  DatabaseReader database_;
};

std::unique_ptr<ShardWriter> open_datum_writer(const std::filesystem::path& path,
                                               const ShardSpec& spec) {
  refuse_compression(spec, path);
  if (!spec.fields.empty()) {
    throw Error(ErrorKind::kUsage, "a Datum has no place for the field '" + spec.fields[0] + "'",
                path, "use the format lmdb-members, wds or hdf5, or leave the fields out");
  }
  return std::make_unique<DatumWriter>(path, spec);
}

std::unique_ptr<ShardReader> open_datum_reader(const std::filesystem::path& path) {
  return std::make_unique<DatumReader>(path);
}

}  // namespace

const Format kDatumFormat = {
    .name = "lmdb",
    .file_suffix = kSuffix,
    .summary = "LMDB with Caffe Datum values, read by Caffe, DALI, any LMDB binding",
    .compressed_suffix = {},
    .version = kVersion,
    .carries_fields = false,
    .sample_overhead = 8192,
    .field_overhead = 0,
    .open_writer = open_datum_writer,
    .open_reader = open_datum_reader,
    .library_version = library_version,
    .small_sample = 1000,  // several lie in a page
    .small_overhead = 640,
};

}  // namespace packhorse::lmdb
