#include <algorithm>
#include <array>

#include "base/printable.h"
#include "base/text.h"
#include "codecs/image_header.h"
#include "formats/lmdb/foreign.h"
#include "formats/lmdb/layout.h"
#include "labels/shard_labels.h"

namespace packhorse::lmdb {

namespace {

constexpr std::string_view kImagePrefix = "image-";
constexpr std::string_view kLabelPrefix = "label-";
constexpr std::string_view kCountKey = "num-samples";

/// Databases with one image per value.
class ValuesShard final : public ForeignShard {
 public:
  ValuesShard(std::unique_ptr<ForeignDatabase> database, Layout layout)
      : database_(std::move(database)), layout_(layout) {
    for (std::size_t i = 0; i < database_->size(); ++i) {
      const std::string_view key = database_->read(i).key;
      if (is_meta_key(key)) {
        skips_.push_back({printable(key), kMetaRule});
      } else if (layout_ != Layout::kPairs || key.starts_with(kImagePrefix)) {
        rows_.push_back(i);
      } else if (!key.starts_with(kLabelPrefix)) {
        rejects_.push_back(
            {printable(key), {Reason::kNoImage, "neither an image- nor a label- key"}});
      }
    }
    if (layout_ == Layout::kPairs) check_pairs();
  }

  std::string layout() const override {
    static constexpr std::array kNames = {"datum", "values", "pairs"};
    return kNames[static_cast<std::size_t>(layout_)];
  }
  std::size_t size() const override { return rows_.size(); }
  const std::vector<std::string>& fields() const override { return none_; }
  const std::vector<Reject>& rejects() const override { return rejects_; }
  const std::vector<Skip>& skips() const override { return skips_; }

  FoundSample found(std::size_t i) override {
    const ForeignDatabase::Entry entry = database_->read(rows_[i]);
    FoundSample sample;
    sample.key = entry.key;
    Bytes image = entry.value;
    if (is_pickled(entry.value)) {
      sample.problem = {Reason::kUnsupported,
                        "a pickled value, which is never opened: that would run what is in it"};
    } else if (layout_ == Layout::kDatum) {
      image = open_datum(entry.value, sample);
    }
    sample.image = database_->place(image);
    if (layout_ == Layout::kPairs) read_label(sample);
    return sample;
  }

  StoredSample read(std::size_t i) override {
    const ForeignDatabase::Entry entry = database_->read(rows_[i]);
    const bool datum = layout_ == Layout::kDatum;
    return {std::string(entry.key), -1, datum ? parse_datum(entry.value).image : entry.value, {}};
  }

 private:
  static Bytes open_datum(Bytes value, FoundSample& sample) {
    try {
      const Datum datum = parse_datum(value);
      const Bytes head = datum.image.first(std::min<std::size_t>(64, datum.image.size()));
      // Some writers forget to say that the image is encoded.
      if (!datum.encoded && sniff_image(head) == ImageKind::kUnknown) {
        sample.problem = {
            Reason::kUnsupported,
            "a Datum of raw pixels, which does not say whether they lie in planes or interleaved"};
      }
      if (datum.label) sample.label = std::to_string(*datum.label);
      if (datum.image.empty()) {
        sample.problem = {Reason::kNoImage, "a Datum without an image"};
        return value;
      }
      return datum.image;
    } catch (const Error& error) {
      sample.problem = problem_of(error, Reason::kDamaged);
      return value;
    }
  }

  void read_label(FoundSample& sample) {
    const std::string number = sample.key.substr(kImagePrefix.size());
    const std::optional<Bytes> value = database_->find(std::string(kLabelPrefix) + number);
    if (!value) return;
    ShardLabel label = value->size() > kLargestLabel ? ShardLabel{{}, Reason::kBadLabel}
                                                     : label_in_cls(as_text(*value));
    sample.label = std::move(label.text);
    if (!label.problem.empty()) sample.problem = std::move(label.problem);
  }

  /// Reports a loss of samples that the writer's count shows.
  void check_pairs() {
    const std::optional<Bytes> count = database_->find(kCountKey);
    if (!count) return;
    const std::optional<std::int64_t> number = parse_number<std::int64_t>(as_text(*count));
    if (number && *number == static_cast<std::int64_t>(rows_.size())) return;
    const std::string said =
        printable(as_text(count->first(std::min<std::size_t>(20, count->size()))));
    rejects_.push_back({std::string(kCountKey),
                        {Reason::kBadRow, "it says " + said + ", and there are " +
                                              std::to_string(rows_.size()) + " images"}});
  }

  std::unique_ptr<ForeignDatabase> database_;
  Layout layout_;
  std::vector<std::size_t> rows_;  ///< entries that are samples
  std::vector<std::string> none_;
  std::vector<Reject> rejects_;
  std::vector<Skip> skips_;
};

}  // namespace

std::unique_ptr<ForeignShard> open_values(std::unique_ptr<ForeignDatabase> database,
                                          Layout layout) {
  return std::make_unique<ValuesShard>(std::move(database), layout);
}

}  // namespace packhorse::lmdb
