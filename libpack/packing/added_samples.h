#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "archive/spool.h"
#include "packhorse/packing/dataset_writer.h"
#include "packing/added_labels.h"
#include "sources/source.h"

namespace packhorse {

/// The samples of a DatasetWriter as a source: their bytes wait in a spool until they are packed.
/// One thread adds; after list(), any thread reads.
class AddedSamples final : public Source {
 public:
  /// The file that pixels are handed out as: a PNG to be stored, or a PNM, which costs nothing, to
  /// be decoded again.
  enum class PixelFile { kPng, kPnm };

  /// `scratch`: the directory of the spool.
  /// `targets`: what some of the fields that will be added say.
  AddedSamples(std::vector<std::string> classes, std::vector<TargetRecord> targets,
               PixelFile pixel_file, const std::filesystem::path& scratch);

  /// As DatasetWriter::add(). `kind`: of the image; kPng for pixels.
  void add(const NewSample& sample, ImageKind kind);
  std::uint64_t size() const { return places_.size(); }
  /// Says what a field that was added holds.
  void describe(TargetRecord target) { targets_.push_back(std::move(target)); }

  /// Hands out what was added, in the order of adding or, if samples have keys, of their keys.
  Listing list(const ListOptions& options) override;
  void read(const SplitListing& split, std::size_t i, Input& out) const override;
  bool ordered() const override { return !keys_.empty(); }
  std::string key(const SplitListing& split, std::size_t i) const override;

 private:
  struct Split {
    SplitListing listing;
    std::set<std::string, std::less<>> keys;
  };
  Split& split_of(std::string_view name);
  void check_key(const Split& split, std::string_view key) const;
  std::size_t field_number(std::string_view name);
  void check_fields(const NewSample& sample) const;
  std::string path_of(const NewSample& sample, std::int64_t label, ImageKind kind) const;
  void append(const NewSample& sample, EntryTable::Facts& facts);
  void sort_by_key(SplitListing& listing) const;

  std::vector<TargetRecord> targets_;
  const PixelFile pixel_file_;
  Spool spool_;
  AddedLabels labels_;
  std::vector<std::string> fields_;  ///< by the numbers in the spool, in order of appearance
  std::vector<unsigned> field_of_;   ///< those numbers -> Listing::fields
  std::map<std::string, Split, std::less<>> splits_;
  std::vector<std::uint64_t> places_;     ///< in the spool, by sample (its entry's locator)
  std::vector<const std::string*> keys_;  ///< by sample; empty when none has a key
};

}  // namespace packhorse
