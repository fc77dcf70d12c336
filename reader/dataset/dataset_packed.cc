#include "dataset/dataset_directory.h"
#include "dataset/dataset_kinds.h"
#include "dataset/remote_files.h"
#include "dataset/shard_index.h"
#include "packhorse/dataset/packed_dataset.h"

namespace packhorse::reader {

namespace {

class Packed final : public Dataset {
 public:
  explicit Packed(const std::filesystem::path& path) : packed_(path) {}

  std::string id() const override { return packed_.manifest().id(); }
  std::size_t size() const override { return packed_.size(); }
  const std::vector<std::string>& classes() const override { return packed_.classes(); }
  std::int64_t label(std::size_t i) const override {
    const PackedDataset::Place place = packed_.place(i);
    return packed_.index(place.shard)->label(place.row);
  }
  std::uint64_t bytes(std::size_t i) const override {
    const PackedDataset::Place place = packed_.place(i);
    return packed_.index(place.shard)->range(place.row).length;
  }
  ImageInfo image(std::size_t i) const override { return packed_.image(i); }
  void read(std::size_t i, std::vector<std::byte>& out) const override { packed_.read(i, out); }
  BytesLease view(std::size_t i, std::vector<std::byte>&) const override { return packed_.view(i); }
  const std::vector<std::string>& fields() const override { return packed_.fields(); }
  const std::vector<TargetRecord>& targets() const override { return packed_.manifest().targets; }
  bool read_field(std::size_t i, std::size_t field, std::vector<std::byte>& out) const override {
    return packed_.read_field(i, field, out);
  }
  void check_whole(std::size_t i) const override { packed_.check_whole(i); }
  std::size_t file_of(std::size_t i) const override { return packed_.place(i).shard; }
  std::uint64_t prefetch(std::span<const std::uint64_t> samples) const override {
    return packed_.prefetch(samples);
  }
  double resident_share() const override { return packed_.resident_share(); }
  OrderKind usual_order() const override {
    if (!from_afar()) return OrderKind::kGlobal;
    const bool kept = packed_.directory().remote()->keeps(stored_bytes());
    return kept ? OrderKind::kWindowFirst : OrderKind::kWindow;
  }
  void release() const override { packed_.release(); }
  std::string describe(std::size_t i) const override {
    const PackedDataset::Place place = packed_.place(i);
    return "sample " + packed_.name_at(place) + " in " + packed_.data_path(place.shard).string();
  }
  std::string name(std::size_t i) const override { return packed_.name_at(packed_.place(i)); }
  std::string source_path(std::size_t i) const override {
    const PackedDataset::Place place = packed_.place(i);
    return std::string(packed_.index(place.shard)->path(place.row));
  }
  std::vector<std::filesystem::path> files() const override {
    std::vector<std::filesystem::path> files;
    if (from_afar()) return files;
    for (std::size_t shard = 0; shard < packed_.shards(); ++shard)
      files.push_back(packed_.data_path(shard));
    return files;
  }
  std::vector<Extent> extents() const override {
    std::vector<Extent> extents;
    if (!packed_.opens_as_needed()) return extents;
    for (const ShardRecord& shard : packed_.manifest().shards)
      extents.push_back({shard.samples, shard.bytes});
    return extents;
  }
  bool from_afar() const override { return packed_.directory().remote() != nullptr; }
  std::uint64_t stored_bytes() const override {
    std::uint64_t bytes = 0;
    for (const ShardRecord& shard : packed_.manifest().shards) bytes += shard.bytes;
    return bytes;
  }
  std::string format() const override { return packed_.manifest().format; }
  std::string image_mode() const override { return packed_.manifest().image; }

 private:
  PackedDataset packed_;
};

}  // namespace

std::shared_ptr<const Dataset> open_packed(const std::filesystem::path& path) {
  return std::make_shared<Packed>(path);
}

}  // namespace packhorse::reader
