#include <unordered_map>

#include "base/printable.h"
#include "listing/names.h"
#include "sources/layout/layout.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

class Placement {
 public:
  Placement(SourceContents& contents, const Layout& layout, const ListOptions& options,
            const fs::path& source)
      : contents_(contents), layout_(layout), options_(options), source_(source) {}

  Listing run() {
    listing_.notes = layout_.notes;
    listing_.doubts = layout_.doubts;
    listing_.classes = naming::class_names(options_.classes, layout_.classes, source_);
    labels_ = naming::labels_of(listing_.classes);
    for (const Layout::Root& root : layout_.roots) {
      SplitListing& split = listing_.splits.emplace_back();
      split.split = root.split;
      split.origin = root.folder;
      split.entries = EntryTable(options_.memory);
    }
    const Layout::Root& first = layout_.roots.front();
    if (first.folder.empty() && !first.archive) {
      place_all(first);
    } else {
      for (std::size_t i = 0; i < contents_.images.size(); ++i) place_image(i);
    }
    contents_.images = EntryTable();
    for (const SourceContents::Other& other : contents_.others) place_other(other);
    for (const Reject& reject : contents_.outside)
      listing_.splits.front().rejects.push_back(
          {printable(reject.path), {reject.code, reject.reason}});
    for (SplitListing& split : listing_.splits) split.entries.sort_by_path();
    return std::move(listing_);
  }

 private:
  SplitListing& split_of(const Layout::Root& root) {
    return listing_.splits[static_cast<std::size_t>(&root - layout_.roots.data())];
  }

  /// The label of an image; nothing, and what becomes of it is told, when it is no sample.
  std::optional<std::int64_t> label_of(const Layout::Root& root, std::string_view below) {
    const std::string_view directory = naming::directory_of(below);
    if (!directory.empty() && root.holds_fields(naming::cut_first(directory).first)) {
      split_of(root).skips.push_back({printable(below), naming::kInFieldFolder});
      return std::nullopt;
    }
    if (root.given) return 0;
    const std::string_view name = root.class_of(below);
    if (name.empty()) {
      split_of(root).rejects.push_back({printable(below), Reason::kNoClassFolder});
      return std::nullopt;
    }
    if (name != class_) {  // images of one folder come one after the other
      class_ = name;
      label_ = labels_.at(class_);
    }
    return label_;
  }

  /// The paths stay as they are, and so does the table.
  void place_all(const Layout::Root& root) {
    EntryTable& entries = split_of(root).entries;
    entries = std::move(contents_.images);
    entries.relabel([&](std::size_t i) { return label_of(root, entries.path_of(i)); });
  }

  void place_image(std::size_t i) {
    EntryTable::Entry entry = contents_.images[i];
    std::string_view below;
    const Layout::Root* root = layout_.root_of(entry.path, below);
    if (root == nullptr) {
      listing_.skips.push_back({printable(entry.path), layout_.rule_outside()});
      return;
    }
    const std::optional<std::int64_t> label = label_of(*root, below);
    if (!label) return;
    entry.label = *label;
    const auto [directory, name] = naming::directory_and_name(below);
    split_of(*root).entries.add(directory, name, entry);
  }

  void place_other(const SourceContents::Other& other) {
    std::string_view below;
    for (const Layout::Root& one : layout_.roots)
      if (one.archive && one.folder == other.path) return;
    const Layout::Root* root = layout_.root_of(other.path, below);
    const bool rule = !other.rule.empty();
    if (root == nullptr) {
      listing_.skips.push_back({printable(other.path), naming::is_outside_rule(other.rule)
                                                           ? other.rule
                                                           : layout_.rule_outside()});
    } else if (rule) {
      split_of(*root).skips.push_back({printable(below), other.rule});
    } else {
      split_of(*root).rejects.push_back({printable(below), other.problem});
    }
  }

  SourceContents& contents_;
  const Layout& layout_;
  const ListOptions& options_;
  const fs::path& source_;
  std::unordered_map<std::string, std::int64_t> labels_;
  std::string class_;
  std::int64_t label_ = 0;
  Listing listing_;
};

}  // namespace

Listing lay_out(SourceContents& contents, const Layout& layout, const ListOptions& options,
                const fs::path& source) {
  return Placement(contents, layout, options, source).run();
}

}  // namespace packhorse
