#include <algorithm>
#include <set>

#include "base/printable.h"
#include "codecs/image_header.h"
#include "formats/lmdb/foreign.h"
#include "formats/lmdb/layout.h"
#include "labels/shard_labels.h"
#include "listing/names.h"

namespace packhorse::lmdb {

namespace {

constexpr std::string_view kJson = "json";
constexpr std::string_view kNpy = "npy";
constexpr std::size_t kLargestJson = 1u << 20;

bool has_image_extension(std::string_view extension) {
  return extension.find('.') == std::string_view::npos &&
         naming::has_image_name("." + std::string(extension));
}

/// Databases with a value for each member of a sample.
class MembersShard final : public ForeignShard {
 public:
  MembersShard(std::unique_ptr<ForeignDatabase> database, FieldChoice choice)
      : database_(std::move(database)), choice_(std::move(choice)) {
    std::set<std::string, std::less<>> names;
    std::string last;
    bool open = false;
    for (std::size_t i = 0; i < database_->size(); ++i) {
      const std::string_view whole = database_->read(i).key;
      if (is_meta_key(whole)) {
        skips_.push_back({printable(whole), kMetaRule});
        open = false;
        continue;
      }
      const MemberName member = split_member(whole);
      if (!open || member.key != last) samples_.push_back({i, i});
      open = true;
      ++samples_.back().end;
      last = member.key;
      if (wanted(member.extension) && !names.contains(member.extension))
        names.emplace(member.extension);
    }
    drop_image_names(names);
    fields_.assign(names.begin(), names.end());
  }

  std::string layout() const override { return "members"; }
  std::size_t size() const override { return samples_.size(); }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<Reject>& rejects() const override { return rejects_; }
  const std::vector<Skip>& skips() const override { return skips_; }

  FoundSample found(std::size_t i) override {
    const Run run = samples_[i];
    const std::size_t image = image_of(run);
    FoundSample sample;
    bool labelled_by_cls = false;
    for (std::size_t at = run.begin; at < run.end; ++at) {
      const ForeignDatabase::Entry entry = database_->read(at);
      const MemberName member = split_member(entry.key);
      sample.key = member.key;
      if (at == image) {
        sample.image = database_->place(entry.value);
      } else if (member.extension == kLabelMember) {
        labelled_by_cls = true;
        take(entry.value.size() > kLargestLabel ? ShardLabel{{}, Reason::kBadLabel}
                                                : label_in_cls(as_text(entry.value)),
             sample);
      } else {
        if (member.extension == kJson && !labelled_by_cls && entry.value.size() <= kLargestJson) {
          if (auto label = label_in_json(as_text(entry.value))) take(std::move(*label), sample);
        }
        const auto field = std::lower_bound(fields_.begin(), fields_.end(), member.extension);
        if (field != fields_.end() && *field == member.extension) {
          sample.fields.push_back(
              {static_cast<std::size_t>(field - fields_.begin()), database_->place(entry.value)});
        }
      }
    }
    if (image == run.end) sample.problem = Reason::kNoImage;
    return sample;
  }

  StoredSample read(std::size_t i) override {
    const Run run = samples_[i];
    const std::size_t image = image_of(run);
    StoredSample stored;
    for (std::size_t at = run.begin; at < run.end; ++at) {
      const ForeignDatabase::Entry entry = database_->read(at);
      const MemberName member = split_member(entry.key);
      stored.key = member.key;
      if (at == image) {
        stored.bytes = entry.value;
      } else if (std::binary_search(fields_.begin(), fields_.end(), member.extension)) {
        stored.fields.push_back({member.extension, entry.value});
      }
    }
    return stored;
  }

 private:
  struct Run {
    std::size_t begin, end;  ///< its entries, from `begin` to before `end`
  };

  static void take(ShardLabel label, FoundSample& sample) {
    sample.label = std::move(label.text);
    sample.problem = std::move(label.problem);
  }

  bool wanted(std::string_view extension) const {
    if (extension == kLabelMember || extension.empty()) return false;
    return !choice_.names || std::find(choice_.names->begin(), choice_.names->end(), extension) !=
                                 choice_.names->end();
  }

  /// The member with an image's extension, or else the first whose bytes are an image, or else its
  /// NumPy file; the run's end when there is none.
  std::size_t image_of(const Run& run) {
    std::size_t by_bytes = run.end, array = run.end;
    for (std::size_t at = run.begin; at < run.end; ++at) {
      const ForeignDatabase::Entry entry = database_->read(at);
      if (has_image_extension(split_member(entry.key).extension)) return at;
      const Bytes head = entry.value.first(std::min(kSniffedBytes, entry.value.size()));
      const bool image = naming::has_image_bytes(head) && unsupported_kind(head).empty();
      if (by_bytes == run.end && image) by_bytes = at;
      if (split_member(entry.key).extension == kNpy) array = at;
    }
    return by_bytes != run.end ? by_bytes : array;
  }

  /// Drops extensions that only images have: they are no fields.
  void drop_image_names(std::set<std::string, std::less<>>& names) {
    std::set<std::string> images, others;
    for (const Run& run : samples_) {
      const std::size_t image = image_of(run);
      for (std::size_t at = run.begin; at < run.end; ++at)
        (at == image ? images : others).emplace(split_member(database_->read(at).key).extension);
    }
    for (const std::string& extension : images) {
      if (!others.contains(extension)) names.erase(extension);
    }
  }

  std::unique_ptr<ForeignDatabase> database_;
  FieldChoice choice_;
  std::vector<Run> samples_;
  std::vector<std::string> fields_;
  std::vector<Reject> rejects_;
  std::vector<Skip> skips_;
};

}  // namespace

std::unique_ptr<ForeignShard> open_members(std::unique_ptr<ForeignDatabase> database,
                                           const FieldChoice& choice) {
  return std::make_unique<MembersShard>(std::move(database), choice);
}

}  // namespace packhorse::lmdb
