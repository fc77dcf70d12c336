#include "sources/archive/archive_layout.h"

#include <set>

#include "listing/names.h"
#include "packhorse/base/printable.h"

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
    listing_.classes = naming::class_names(options_.classes, class_folders(), source_);
    labels_ = naming::labels_of(listing_.classes);
    for (const Layout::Root& root : layout_.roots) {
      SplitListing& split = listing_.splits.emplace_back();
      split.split = root.split;
      split.origin = root.folder;
      split.entries = EntryTable(options_.memory);
    }
    for (std::size_t i = 0; i < contents_.images.size(); ++i) place_image(i);
    for (const ArchiveContents::Other& other : contents_.others) place_other(other);
    for (const Reject& reject : contents_.outside) {
      listing_.splits.front().rejects.push_back({printable(reject.path), reject.reason});
    }
    for (SplitListing& split : listing_.splits) split.entries.sort_by_path();
    return std::move(listing_);
  }

 private:
  std::set<std::string> class_folders() const {
    std::set<std::string> found;
    for (const Layout::Root& root : layout_.roots) {
      if (root.given) continue;
      for (const std::string& name : contents_.tree.folders(root.folder))
        if (!root.holds_fields(name)) found.insert(name);
    }
    return found;
  }

  SplitListing& split_of(const Layout::Root& root) {
    return listing_.splits[static_cast<std::size_t>(&root - layout_.roots.data())];
  }

  void place_image(std::size_t i) {
    EntryTable::Entry entry = contents_.images[i];
    std::string_view path;
    const Layout::Root* root = layout_.root_of(entry.path, path);
    if (root == nullptr) {
      listing_.skips.push_back({printable(entry.path), layout_.rule_outside()});
    } else if (in_folder(path) && root->holds_fields(cut_first(path).first)) {
      split_of(*root).skips.push_back({printable(path), naming::kInFieldFolder});
    } else if (!in_folder(path) && !root->given) {
      split_of(*root).rejects.push_back({printable(path), naming::kNoClassFolder});
    } else {
      entry.label = root->given ? 0 : labels_.at(std::string(cut_first(path).first));
      const auto [directory, name] = naming::directory_and_name(path);
      split_of(*root).entries.add(directory, name, entry);
    }
  }

  void place_other(const ArchiveContents::Other& other) {
    std::string_view path;
    const Layout::Root* root = layout_.root_of(other.path, path);
    if (root == nullptr) {
      const bool passed_over = other.rule == naming::kHidden || other.rule == naming::kJunk;
      listing_.skips.push_back(
          {printable(other.path), passed_over ? other.rule : layout_.rule_outside()});
    } else if (other.rule.empty()) {
      split_of(*root).rejects.push_back({printable(path), other.reason});
    } else {
      split_of(*root).skips.push_back({printable(path), other.rule});
    }
  }

  const ArchiveContents& contents_;
  const Layout& layout_;
  const ListOptions& options_;
  const fs::path& source_;
  std::unordered_map<std::string, std::int64_t> labels_;
  Listing listing_;
};

}  // namespace

Listing lay_out(const ArchiveContents& contents, const Layout& layout, const ListOptions& options,
                const fs::path& source) {
  return Placement(contents, layout, options, source).run();
}

}  // namespace packhorse
