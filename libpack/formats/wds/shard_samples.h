#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "archive/archive_scan.h"
#include "archive/payloads.h"
#include "labels/label_file.h"
#include "labels/shard_labels.h"
#include "packhorse/listing/listing.h"

namespace packhorse {

/// Groups the members of WebDataset shards into samples: members that follow each other and have
/// the same key. One thread.
///
///     ShardSamples samples(payloads, choice, labels);
///     for (const fs::path& shard : shards) samples.add_shard(shard);
///     Listing listing = samples.finish(class_list, source);
class ShardSamples {
 public:
  /// With a file of labels, those in the shards are ignored. All arguments must outlive this.
  ShardSamples(Payloads& payloads, const FieldChoice& choice, LabelFile* label_file = nullptr,
               const std::shared_ptr<EntryMemory>& memory = nullptr);

  void add_shard(const std::filesystem::path& shard);
  /// The listing, in stored order. Throws Error(kNotFound) for no sample at all.
  Listing finish(const std::vector<std::string>& classes, const std::filesystem::path& source);

  /// What was found, as it stands, without finish(): paths begin with the shard's name, labels are
  /// texts, and the fields of Payloads are numbered by their place in fields().
  const SplitListing& found() const { return found_; }
  const std::vector<std::string>& fields() const { return fields_; }
  /// The label of entry `i`; empty when it has none.
  std::string label_of(std::size_t i) const;

 private:
  struct Piece {
    std::string extension, path;
    std::uint64_t size = 0;
    std::uint64_t locator = 0;
    bool image = false;        ///< told by its bytes
    bool unsupported = false;  ///< an image of a kind that cannot be packed, by bytes or name
  };
  struct Open {  ///< the sample whose members come now
    std::string key, path, label, label_problem, problem;
    std::vector<Piece> pieces;
    std::set<std::string> extensions;
    bool labelled_by_cls = false;
  };

  void add_member(ArchiveScan& scan);
  void add_piece(ArchiveScan& scan, const std::string& path, const std::string& extension);
  void take_label(ShardLabel label);
  void close_sample();
  void add_sample(const Piece& image);
  bool wanted(const std::string& extension) const;
  std::uint32_t field_number(const std::string& name);
  void reject(const std::string& path, const std::string& reason);
  std::vector<std::string> make_classes(const std::vector<std::string>& classes,
                                        std::vector<std::string>& notes);
  std::optional<std::int64_t> label_for(const EntryTable::Entry& entry, std::string& reason) const;
  std::vector<std::uint32_t> sort_fields(Listing& listing);

  Payloads& payloads_;
  const FieldChoice choice_;
  LabelFile* label_file_;  ///< or null
  std::uint32_t file_ = 0;
  std::string shard_;  ///< file name
  Open open_;
  std::set<std::string> keys_;  ///< the keys of this shard
  SplitListing found_;          ///< labels are numbers of labels_, -1 for none
  ShardLabels labels_;
  std::vector<std::string> fields_;
};

}  // namespace packhorse
