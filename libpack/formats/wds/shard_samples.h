#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "archive/archive_scan.h"
#include "archive/payloads.h"
#include "formats/wds/key_dot.h"
#include "labels/label_file.h"
#include "labels/shard_labels.h"
#include "listing/listing.h"

namespace packhorse {

/// Groups the members of WebDataset shards into samples: members that follow each other and have
/// the same key, which ends at the first dot, or for keys with dots at the last (key_dot.h). One
/// thread.
///
///     ShardSamples samples(payloads, choice, labels);
///     for (const fs::path& shard : shards) samples.add_shard(shard);
///     Listing listing = samples.finish(class_list, source);
class ShardSamples {
 public:
  /// With a file of labels, those in the shards are ignored. All arguments must outlive this.
  ShardSamples(Payloads& payloads, const FieldChoice& choice, LabelFile* label_file = nullptr,
               const std::shared_ptr<EntryMemory>& memory = nullptr);

  /// Throws Error(kUsage) for keys with dots that can be read in two ways.
  void add_shard(const std::filesystem::path& shard);
  /// The listing, in stored order. Throws Error(kNotFound) for no sample at all.
  Listing finish(const std::vector<std::string>& classes, const std::filesystem::path& source);

  /// What was found, as it stands, without finish(): paths begin with the shard's name, labels are
  /// texts, and the fields of Payloads are numbered by their place in fields().
  const SplitListing& found() const { return found_; }
  const std::vector<std::string>& fields() const { return fields_; }
  /// The label of entry `i`; empty when it has none.
  std::string label_of(std::size_t i) const;
  /// The shard's name and the key of entry `i`: "s0.tar/v1.00".
  std::string path_with_key(std::size_t i) const;

 private:
  struct Piece {
    std::string extension, path;  ///< behind the dot at which the key ends
    std::uint64_t size = 0;
    std::optional<std::uint64_t> locator = {};  ///< unless nothing can need it
    bool image = false;                         ///< told by its bytes
    bool unsupported = false;  ///< an image of a kind that cannot be packed, by bytes or name
    std::optional<ShardLabel> label = {};  ///< of a .cls or a .json
    Problem problem = {};
  };
  struct Open {  ///< the members with one key
    std::string key;
    std::vector<Piece> pieces;
  };

  void add_member(ArchiveScan& scan);
  void add_piece(ArchiveScan& scan, const std::string& path, const std::string& extension);
  ShardLabel label_in(const Piece& piece, ArchiveScan& scan);
  void close_run();
  void close_by_last_dot(Open run);
  void close_sample(Open sample);
  void add_sample(const Open& sample, const Piece& image, const std::string& label);
  bool wanted(const std::string& extension) const;
  std::uint32_t field_number(const std::string& name);
  void reject(const std::string& path, Problem problem);
  std::vector<std::string> make_classes(const std::vector<std::string>& classes,
                                        std::vector<std::string>& notes);
  std::optional<std::int64_t> label_for(std::size_t i, std::int64_t label, Problem& problem) const;
  std::vector<std::uint32_t> sort_fields(Listing& listing);

  Payloads& payloads_;
  const FieldChoice choice_;
  LabelFile* label_file_;  ///< or null
  std::uint32_t file_ = 0;
  std::string shard_;  ///< file name
  Open open_;
  wds::UnclearKeys unclear_;
  std::set<std::string> keys_;  ///< the keys of this shard
  std::vector<bool> last_dot_;  ///< by entry: whether its key ends at the last dot
  bool by_last_dot_ = false;    ///< the sample that is closed now
  SplitListing found_;          ///< labels are numbers of labels_, -1 for none
  ShardLabels labels_;
  std::vector<std::string> fields_;
};

}  // namespace packhorse
