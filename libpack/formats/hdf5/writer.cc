#include <algorithm>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/stream_file.h"
#include "formats/hdf5/layout.h"
#include "formats/hdf5/shard_template.h"
#include "formats/kinds.h"
#include "formats/sample_checks.h"
#include "packhorse/base/error.h"

namespace packhorse::hdf5 {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = 4u << 20;

class Writer final : public ShardWriter {
 public:
  Writer(const fs::path& path, const ShardSpec& spec)
      : path_(path),
        template_(path),
        classes_(spec.classes),
        expected_(spec.expected),
        most_samples_(spec.samples),
        checks_(spec, path),
        file_(path, spec.expected ? StreamFile::Front::kFinal : StreamFile::Front::kProvisional) {
    columns_.offsets.reserve(spec.samples + 1);
    columns_.labels.reserve(spec.samples);
    columns_.key_ends.reserve(spec.samples);
    for (const std::string& name : spec.fields) {
      columns_.fields.push_back({name, {0}, {}});
      fields_.emplace_back(path.native() + ".field-" + std::to_string(fields_.size()));
    }
  }

  void add(const Sample& sample) override {
    checks_.check(sample);
    if (columns_.size() == 0) begin(sample);
    check_kind(sample);
    file_.write(sample.bytes);
    columns_.add(sample.key, sample.label, sample.bytes.size());
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const Field* field = checks_.fields()[f];
      Columns::FieldColumn& column = columns_.fields[f];
      const Bytes bytes = field != nullptr ? field->bytes : Bytes();
      fields_[f].write(bytes);
      column.offsets.push_back(column.offsets.back() + bytes.size());
      column.present.push_back(field != nullptr ? 1 : 0);
    }
  }

  ShardLayout close() override {
    const Places places = template_.lay_out(columns_, classes_);
    if (columns_.size() > 0 && places.images.offset != begin_) {
      throw Error(ErrorKind::kUnsupported, "this HDF5 library lays files out in an unexpected way",
                  path_);
    }
    if (std::string front = from_template(begin_); front != front_)
      file_.replace(0, std::move(front));
    append_rest(places);
    ShardLayout made = layout(places);
    fields_.clear();
    made.sha256 = file_.commit();
    return made;
  }

 private:
  /// The first sample tells where images begin, since their number does not change that. The bytes
  /// before them depend on how much follows, so they are laid out for the samples expected, or for
  /// one.
  void begin(const Sample& sample) {
    if (sample.image.kind == ImageKind::kRaw) columns_.raw = sample.image;
    std::vector<Columns::FieldColumn> fields = std::exchange(columns_.fields, {});
    if (expected_) {
      for (std::size_t i = 0; i < most_samples_; ++i) {
        const ExpectedSample next = expected_(i);
        columns_.add(next.key, next.label, next.bytes);
      }
    } else {
      columns_.add("0", 0, sample.bytes.size());
    }
    begin_ = template_.lay_out(columns_, classes_).images.offset;
    columns_.clear_samples();  // a second set of columns would double their memory
    columns_.fields = std::move(fields);
    front_ = from_template(begin_);
    file_.write(as_bytes(front_));
  }

  /// The first bytes of the last template.
  std::string from_template(std::uint64_t bytes) const {
    std::string front(bytes, '\0');
    read_exactly(template_.fd(), 0, std::as_writable_bytes(std::span(front)), path_);
    return front;
  }

  void check_kind(const Sample& sample) const {
    const bool raw = sample.image.kind == ImageKind::kRaw;
    const auto size = [](const ImageInfo& i) {
      return std::tuple(i.width, i.height, i.components);
    };
    if (raw != columns_.raw.has_value()) {
      checks_.refuse("an HDF5 shard cannot hold both raw pixels and image files", sample.key);
    }
    if (raw && size(sample.image) != size(*columns_.raw)) {
      checks_.refuse("all raw images of an HDF5 shard must have the same size", sample.key);
    }
  }

  /// Appends everything that follows the images.
  void append_rest(const Places& places) {
    struct Hole {
      ByteRange range;
      AtomicFile* content;
    };
    std::vector<Hole> holes;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (places.fields[f].length > 0) holes.push_back({places.fields[f], &fields_[f]});
    }
    std::ranges::sort(holes,
                      [](const Hole& a, const Hole& b) { return a.range.offset < b.range.offset; });
    std::uint64_t at = file_.position();
    for (const Hole& hole : holes) {
      append(template_.fd(), path_, {at, hole.range.offset - at});
      hole.content->flush();
      append(hole.content->fd(), hole.content->temporary(), {0, hole.range.length});
      at = hole.range.end();
    }
    append(template_.fd(), path_, {at, file_size(template_.fd(), path_) - at});
  }

  /// Appends a range of another file.
  void append(int from, const fs::path& name, ByteRange range) {
    std::vector<std::byte> piece;
    for (std::uint64_t done = 0; done < range.length; done += piece.size()) {
      piece.resize(std::min<std::uint64_t>(kPiece, range.length - done));
      read_exactly(from, range.offset + done, piece, name);
      file_.write(piece);
    }
  }

  ShardLayout layout(const Places& places) const {
    ShardLayout layout;
    layout.images.reserve(columns_.size());
    layout.fields.reserve(columns_.size() * columns_.fields.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto range = [&](std::uint64_t begin, const std::vector<std::uint64_t>& offsets) {
        return ByteRange{begin + offsets[i], offsets[i + 1] - offsets[i]};
      };
      layout.images.push_back(range(begin_, columns_.offsets));
      for (std::size_t f = 0; f < columns_.fields.size(); ++f) {
        const Columns::FieldColumn& column = columns_.fields[f];
        layout.fields.push_back(
            column.present[i] != 0 ? range(places.fields[f].offset, column.offsets) : kAbsent);
      }
    }
    return layout;
  }

  fs::path path_;
  ShardTemplate template_;
  std::vector<std::string> classes_;
  std::function<ExpectedSample(std::size_t)> expected_;
  std::size_t most_samples_;
  SampleChecks checks_;
  StreamFile file_;
  std::deque<AtomicFile> fields_;  ///< each field's bytes; never published, so gone at the end
  Columns columns_;
  std::uint64_t begin_ = 0;  ///< where the images begin
  std::string front_;        ///< what was written before them
};

}  // namespace

std::unique_ptr<ShardWriter> open_writer(const fs::path& path, const ShardSpec& spec) {
  refuse_compression(spec, path);
  return std::make_unique<Writer>(path, spec);
}

}  // namespace packhorse::hdf5
