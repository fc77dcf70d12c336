#include "sources/archive/archive_layout.h"

#include <set>

#include "labels/label_file.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"
#include "sources/layout/class_doubts.h"
#include "sources/layout/layout.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

using naming::cut_first;

bool in_folder(std::string_view path) { return path.find('/') != std::string_view::npos; }

/// Puts the contents of an archive where the layout says they belong.
class Placement {
 public:
  Placement(const ArchiveContents& contents, const Layout& layout, const ListOptions& options,
            const fs::path& source)
      : contents_(contents), layout_(layout), options_(options), source_(source) {}

  Listing run() {
    listing_.notes = layout_.notes;
    listing_.doubts = layout_.doubts;
    std::optional<LabelFile> labels;
    if (!options_.labels.empty()) labels.emplace(options_.labels, options_.classes);
    anywhere_ = labels.has_value();
    listing_.classes = labels ? labels->classes()
                              : naming::class_names(options_.classes, class_folders(), source_);
    labels_ = naming::labels_of(listing_.classes);
    for (const Layout::Root& root : layout_.roots) {
      SplitListing& split = listing_.splits.emplace_back();
      split.split = root.split;
      split.origin = root.folder;
    }
    for (std::size_t i = 0; i < contents_.images.size(); ++i) place_image(i);
    for (const ArchiveContents::Other& other : contents_.others) place_other(other);
    for (const Reject& reject : contents_.outside) {
      listing_.splits.front().rejects.push_back({printable(reject.path), reject.reason});
    }
    for (SplitListing& split : listing_.splits) split.entries.sort_by_path();
    if (labels) apply_labels(*labels, listing_);
    doubt_classes(listing_, options_);
    return std::move(listing_);
  }

 private:
  std::set<std::string> class_folders() const {
    std::set<std::string> found;
    for (const Layout::Root& root : layout_.roots) found.merge(names_in(root.folder));
    return found;
  }
  std::set<std::string> names_in(const std::string& folder) const {
    const std::vector<std::string> names = contents_.tree.folders(folder);
    return {names.begin(), names.end()};
  }

  /// The split a path belongs to, and in `below` the path inside it; null for a path outside all
  /// splits.
  SplitListing* split_of(std::string_view path, std::string_view& below) {
    const Layout::Root* root = layout_.root_of(path, below);
    if (root == nullptr) return nullptr;
    return &listing_.splits[static_cast<std::size_t>(root - layout_.roots.data())];
  }

  void place_image(std::size_t i) {
    EntryTable::Entry entry = contents_.images[i];
    std::string_view path;
    SplitListing* split = split_of(entry.path, path);
    if (split == nullptr) {
      listing_.skips.push_back({printable(entry.path), layout_.rule_outside()});
    } else if (!in_folder(path) && !anywhere_) {
      split->rejects.push_back({printable(path), naming::kNoClassFolder});
    } else {
      entry.label = anywhere_ ? 0 : labels_.at(std::string(cut_first(path).first));
      const auto [directory, name] = naming::directory_and_name(path);
      split->entries.add(directory, name, entry);
    }
  }

  void place_other(const ArchiveContents::Other& other) {
    std::string_view path;
    SplitListing* split = split_of(other.path, path);
    if (split == nullptr) {
      const bool passed_over = other.rule == naming::kHidden || other.rule == naming::kJunk;
      listing_.skips.push_back(
          {printable(other.path), passed_over ? other.rule : layout_.rule_outside()});
    } else if (other.rule.empty()) {
      split->rejects.push_back({printable(path), other.reason});
    } else {
      split->skips.push_back({printable(path), other.rule});
    }
  }

  const ArchiveContents& contents_;
  const Layout& layout_;
  const ListOptions& options_;
  const fs::path& source_;
  std::unordered_map<std::string, std::int64_t> labels_;
  bool anywhere_ = false;  ///< images need no class folder: a file gives their labels
  Listing listing_;
};

}  // namespace

Listing lay_out(const ArchiveContents& contents, const ListOptions& options,
                const fs::path& source) {
  const Layout layout = find_layout(contents.tree, options, source);
  Listing listing = Placement(contents, layout, options, source).run();
  naming::refuse_empty(listing, source,
                       "packhorse expects class folders in an archive: <class>/<image>");
  return listing;
}

}  // namespace packhorse
