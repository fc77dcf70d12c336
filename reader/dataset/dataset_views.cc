#include "packhorse/reader/dataset_views.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/hash.h"

namespace packhorse::reader {

namespace {

[[noreturn]] void refuse_view(const std::string& what, const std::string& advice = {}) {
  throw Error(ErrorKind::kUsage, what, {}, advice);
}

/// A dataset whose samples are those of others.
class OfOthers : public Dataset {
 public:
  std::uint64_t bytes(std::size_t i) const override {
    const At of = at(i);
    return of.dataset.bytes(of.sample);
  }
  ImageInfo image(std::size_t i) const override {
    const At of = at(i);
    return of.dataset.image(of.sample);
  }
  void read(std::size_t i, std::vector<std::byte>& out) const override {
    const At of = at(i);
    of.dataset.read(of.sample, out);
  }
  BytesLease view(std::size_t i, std::vector<std::byte>& scratch) const override {
    const At of = at(i);
    return of.dataset.view(of.sample, scratch);
  }
  void check_whole(std::size_t i) const override {
    const At of = at(i);
    of.dataset.check_whole(of.sample);
  }
  std::string describe(std::size_t i) const override {
    const At of = at(i);
    return of.dataset.describe(of.sample);
  }
  std::string name(std::size_t i) const override {
    const At of = at(i);
    return of.dataset.name(of.sample);
  }
  std::string source_path(std::size_t i) const override {
    const At of = at(i);
    return of.dataset.source_path(of.sample);
  }

 protected:
  struct At {
    const Dataset& dataset;
    std::size_t sample;
  };
  /// Throws Error(kUsage) for a sample number out of range.
  virtual At at(std::size_t i) const = 0;

  void check_number(std::size_t i) const {
    if (i >= size()) refuse_view("sample " + std::to_string(i) + " of " + std::to_string(size()));
  }
};

class Subset final : public OfOthers {
 public:
  Subset(std::shared_ptr<const Dataset> dataset, std::vector<std::uint64_t> samples)
      : dataset_(std::move(dataset)), samples_(std::move(samples)) {
    if (samples_.empty()) refuse_view("the subset has no samples");
    for (const std::uint64_t sample : samples_) {
      if (sample >= dataset_->size())
        refuse_view("there is no sample " + std::to_string(sample) + ": the dataset has " +
                    std::to_string(dataset_->size()));
    }
  }

  std::string id() const override {
    Sha256 hash;
    const std::string of = dataset_->id();
    hash.update(std::as_bytes(std::span(of)));
    hash.update(std::as_bytes(std::span(samples_)));
    return hash.finish();
  }
  std::size_t size() const override { return samples_.size(); }
  const std::vector<std::string>& classes() const override { return dataset_->classes(); }
  std::int64_t label(std::size_t i) const override {
    check_number(i);
    return dataset_->label(samples_[i]);
  }
  const std::vector<std::string>& fields() const override { return dataset_->fields(); }
  const std::vector<TargetRecord>& targets() const override { return dataset_->targets(); }
  bool read_field(std::size_t i, std::size_t field, std::vector<std::byte>& out) const override {
    check_number(i);
    return dataset_->read_field(samples_[i], field, out);
  }
  std::size_t file_of(std::size_t i) const override {
    check_number(i);
    return dataset_->file_of(samples_[i]);
  }
  std::uint64_t prefetch(std::span<const std::uint64_t> samples) const override {
    std::vector<std::uint64_t> wanted;
    for (const std::uint64_t sample : samples) wanted.push_back(samples_[sample]);
    std::ranges::sort(wanted);
    return dataset_->prefetch(wanted);
  }
  double resident_share() const override { return dataset_->resident_share(); }
  OrderKind usual_order() const override { return dataset_->usual_order(); }
  void release() const override { dataset_->release(); }
  std::vector<std::filesystem::path> files() const override { return dataset_->files(); }
  std::vector<Extent> extents() const override;
  bool from_afar() const override { return dataset_->from_afar(); }
  std::uint64_t stored_bytes() const override { return dataset_->stored_bytes(); }
  bool one_file_a_sample() const override { return dataset_->one_file_a_sample(); }
  std::string format() const override { return dataset_->format(); }
  std::string image_mode() const override { return dataset_->image_mode(); }

  MemberSample place(std::size_t i) const {
    check_number(i);
    return member_sample(*dataset_, samples_[i]);
  }

 private:
  At at(std::size_t i) const override {
    check_number(i);
    return {*dataset_, samples_[i]};
  }

  std::shared_ptr<const Dataset> dataset_;
  std::vector<std::uint64_t> samples_;
};

/// Neighbours in one file, with their share of its bytes.
std::vector<Dataset::Extent> Subset::extents() const {
  const std::vector<Extent> files = dataset_->extents();
  std::vector<Extent> extents;
  std::size_t last = files.size();
  for (std::size_t i = 0; !files.empty() && i < size(); ++i) {
    const std::size_t file = dataset_->file_of(samples_[i]);
    if (file != last) extents.emplace_back();
    last = file;
    ++extents.back().samples;
    extents.back().bytes += files[file].bytes / std::max<std::uint64_t>(1, files[file].samples);
  }
  return extents;
}

bool are_alike(const std::vector<TargetRecord>& a, const std::vector<TargetRecord>& b) {
  return std::ranges::equal(a, b, [](const TargetRecord& x, const TargetRecord& y) {
    return x.name == y.name && x.kind == y.kind && x.classes == y.classes &&
           x.keypoints == y.keypoints && x.ignore == y.ignore;
  });
}

std::string words_of(const std::vector<TargetRecord>& targets) {
  std::string words;
  for (const TargetRecord& target : targets) {
    words += (words.empty() ? "" : ", ") + target.name + " (" + target.kind + ", " +
             std::to_string(target.classes.size()) + " classes, " +
             std::to_string(target.keypoints.size()) + " keypoints)";
  }
  return words.empty() ? "no targets" : words;
}

class Concat final : public OfOthers {
 public:
  Concat(std::vector<std::shared_ptr<const Dataset>> members, ClassNames names)
      : members_(std::move(members)) {
    if (members_.empty()) refuse_view("a mixture needs one dataset at least");
    join_classes(names);
    join_fields();
    for (const auto& member : members_) {
      begins_.push_back(begins_.back() + member->size());
      const std::size_t files = member->files().size();
      const std::size_t last = member->size() == 0 ? 0 : member->file_of(member->size() - 1);
      files_before_.push_back(files_before_.back() + std::max(files, last + 1));
    }
  }

  std::string id() const override {
    Sha256 hash;
    for (const auto& member : members_) {
      const std::string line = member->id() + "\n";
      hash.update(std::as_bytes(std::span(line)));
    }
    for (const std::string& name : classes_) {
      const std::string line = name + "\n";
      hash.update(std::as_bytes(std::span(line)));
    }
    return hash.finish();
  }
  std::size_t size() const override { return begins_.back(); }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int64_t label(std::size_t i) const override {
    const MemberSample of = place(i);
    const std::int64_t own = members_[of.member]->label(of.sample);
    const std::vector<std::int64_t>& labels = labels_[of.member];
    return own >= 0 && static_cast<std::size_t>(own) < labels.size()
               ? labels[static_cast<std::size_t>(own)]
               : own;
  }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<TargetRecord>& targets() const override { return members_.front()->targets(); }
  bool read_field(std::size_t i, std::size_t field, std::vector<std::byte>& out) const override {
    const MemberSample of = place(i);
    const std::vector<std::string>& own = members_[of.member]->fields();
    const auto found = std::ranges::lower_bound(own, fields_.at(field));
    return found != own.end() && *found == fields_[field] &&
           members_[of.member]->read_field(of.sample, static_cast<std::size_t>(found - own.begin()),
                                           out);
  }
  std::size_t file_of(std::size_t i) const override {
    const MemberSample of = place(i);
    return files_before_[of.member] + members_[of.member]->file_of(of.sample);
  }
  std::uint64_t prefetch(std::span<const std::uint64_t> samples) const override {
    std::uint64_t asked = 0;
    std::vector<std::uint64_t> own;
    while (!samples.empty()) {
      const MemberSample first = place(samples.front());
      own.clear();
      for (const std::uint64_t sample : samples) {
        if (sample >= begins_[first.member + 1]) break;
        own.push_back(sample - begins_[first.member]);
      }
      asked += members_[first.member]->prefetch(own);
      samples = samples.subspan(own.size());
    }
    return asked;
  }
  double resident_share() const override {
    double share = 0;
    for (const auto& member : members_)
      share += member->resident_share() * static_cast<double>(member->size());
    return size() == 0 ? 1 : share / static_cast<double>(size());
  }
  /// By windows where one of them is read so.
  OrderKind usual_order() const override {
    OrderKind usual = OrderKind::kGlobal;
    for (const auto& member : members_) {
      const OrderKind own = member->usual_order();
      if (own == OrderKind::kWindow || usual == OrderKind::kGlobal) usual = own;
    }
    return usual;
  }
  void release() const override {
    for (const auto& member : members_) member->release();
  }
  std::vector<std::filesystem::path> files() const override {
    std::vector<std::filesystem::path> files;
    for (const auto& member : members_)
      std::ranges::copy(member->files(), std::back_inserter(files));
    return files;
  }
  std::vector<Extent> extents() const override;
  std::vector<std::shared_ptr<const Dataset>> members() const override { return members_; }
  bool from_afar() const override {
    return std::ranges::any_of(members_, [](const auto& member) { return member->from_afar(); });
  }
  std::uint64_t stored_bytes() const override {
    std::uint64_t bytes = 0;
    for (const auto& member : members_) bytes += member->stored_bytes();
    return bytes;
  }
  bool one_file_a_sample() const override {
    return std::ranges::all_of(members_,
                               [](const auto& member) { return member->one_file_a_sample(); });
  }
  std::string format() const override { return common(&Dataset::format); }
  std::string image_mode() const override { return common(&Dataset::image_mode); }

  MemberSample place(std::size_t i) const {
    check_number(i);
    const auto behind = std::ranges::upper_bound(begins_, i);
    const auto member = static_cast<std::size_t>(behind - begins_.begin()) - 1;
    return {member, i - begins_[member]};
  }

 private:
  At at(std::size_t i) const override {
    const MemberSample of = place(i);
    return {*members_[of.member], of.sample};
  }

  void join_classes(ClassNames names) {
    std::map<std::string, std::int64_t> numbers;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      std::vector<std::int64_t>& labels = labels_.emplace_back();
      for (const std::string& own : members_[i]->classes()) {
        const std::string name = names == ClassNames::kJoined ? own : std::to_string(i) + "/" + own;
        const auto [at, fresh] =
            numbers.try_emplace(name, static_cast<std::int64_t>(classes_.size()));
        if (fresh) classes_.push_back(name);
        labels.push_back(at->second);
      }
    }
  }

  void join_fields() {
    std::set<std::string> fields;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      fields.insert(members_[i]->fields().begin(), members_[i]->fields().end());
      if (are_alike(members_[i]->targets(), members_.front()->targets())) continue;
      refuse_view("the datasets have unlike targets: dataset 0 has " +
                      words_of(members_.front()->targets()) + ", dataset " + std::to_string(i) +
                      " has " + words_of(members_[i]->targets()),
                  "mix datasets with the same kinds of targets, classes and keypoints");
    }
    fields_.assign(fields.begin(), fields.end());
  }

  std::string common(std::string (Dataset::*of)() const) const {
    const std::string first = (*members_.front().*of)();
    const bool all =
        std::ranges::all_of(members_, [&](const auto& member) { return (*member.*of)() == first; });
    return all ? first : "mixed";
  }

  std::vector<std::shared_ptr<const Dataset>> members_;
  std::vector<std::uint64_t> begins_{0};
  std::vector<std::size_t> files_before_{0};
  std::vector<std::string> classes_, fields_;
  std::vector<std::vector<std::int64_t>> labels_;  ///< of each member's classes
};

/// Where one member has too many files to open them all, the files of all.
std::vector<Dataset::Extent> Concat::extents() const {
  std::vector<std::vector<Extent>> each;
  for (const auto& member : members_) each.push_back(member->extents());
  std::vector<Extent> all;
  if (std::ranges::all_of(each, [](const auto& one) { return one.empty(); })) return all;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Dataset& member = *members_[i];
    std::ranges::copy(each[i], std::back_inserter(all));
    for (std::size_t k = 0; each[i].empty() && k < member.size(); ++k) {
      if (k == 0 || member.file_of(k) != member.file_of(k - 1)) all.emplace_back();
      ++all.back().samples;
      all.back().bytes += member.bytes(k);
    }
  }
  return all;
}

}  // namespace

std::shared_ptr<const Dataset> subset(std::shared_ptr<const Dataset> dataset,
                                      std::vector<std::uint64_t> samples) {
  return std::make_shared<Subset>(std::move(dataset), std::move(samples));
}

std::shared_ptr<const Dataset> concat(std::vector<std::shared_ptr<const Dataset>> members,
                                      ClassNames names) {
  return std::make_shared<Concat>(std::move(members), names);
}

MemberSample member_sample(const Dataset& dataset, std::uint64_t i) {
  if (const auto* const part = dynamic_cast<const Subset*>(&dataset)) return part->place(i);
  const auto* const several = dynamic_cast<const Concat*>(&dataset);
  return several == nullptr ? MemberSample{0, i} : several->place(i);
}

}  // namespace packhorse::reader
