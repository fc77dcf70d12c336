#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/paths.h"
#include "base/printable.h"
#include "dataset/url.h"
#include "labels/label_names.h"
#include "labels/text_file.h"
#include "listing/listed_file.h"
#include "listing/listed_path.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/kinds.h"
#include "sources/layout/folder_roles.h"
#include "sources/layout/layout.h"
#include "sources/list/list_file.h"
#include "sources/list/listed_urls.h"

namespace packhorse::list_file {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBlock = 8192;  ///< rows whose files are looked up together
constexpr std::size_t kMaxSplits = 100;

std::uint64_t hash_of(std::string_view place) { return xxh3(as_bytes(std::string(place))); }

/// A file that is listed again is another sample; its path gets an extra folder so that unpacking
/// writes both. "~2/a/1.jpg" is the second a/1.jpg.
std::string name_again(std::uint32_t time, const std::string& stored) {
  return time < 2 ? stored : '~' + std::to_string(time) + '/' + stored;
}

std::string_view without_time(std::string_view stored) {
  const std::size_t slash = stored.find('/');
  if (!stored.starts_with('~') || slash == std::string_view::npos || slash < 2) return stored;
  const bool number =
      stored.substr(1, slash - 1).find_first_not_of("0123456789") == std::string_view::npos;
  return number ? stored.substr(slash + 1) : stored;
}

/// What is known of a file that several rows list.
struct Repeated {
  std::int64_t label = -1;  ///< of the first row of it
  std::uint64_t line = 0;
  std::map<std::string, std::uint32_t> times;  ///< by split, how often so far
};

/// What must be known about all rows before the first can become an entry.
struct Survey {
  Survey(const ListFile& list, const ListOptions& options, const fs::path& folder);
  /// What a row's path means: a place as ListedPaths has it, of a URL, too. `problem` says why it
  /// means nothing.
  std::string place(const std::string& path, Problem& problem) const;
  bool urls = false;  ///< the list is one of URLs
  LabelNames labels;
  ListedPaths paths;
  std::vector<std::string> splits;  ///< in order; just "" when there is no such column
  std::unordered_map<std::uint64_t, Repeated> repeats;  ///< by hash_of
};

/// The texts of fields are published as they are.
void refuse_secrets(const ListFile& list, const ListRow& row) {
  for (std::size_t f = 0; f < row.fields.size(); ++f) {
    if (has_secret(row.fields[f]))
      throw Error(
          ErrorKind::kUsage,
          "line " + std::to_string(row.line) + ": the field '" + list.fields()[f] +
              "' holds a secret, which would be published: '" + printable(row.fields[f]) + "'",
          list.path(), "take it out, or choose the fields to pack: `fields=none`, or their names");
  }
}

Survey::Survey(const ListFile& list, const ListOptions& options, const fs::path& folder)
    : labels(options.classes), paths(folder) {
  std::set<std::string> names;
  std::vector<std::uint64_t> hashes;
  ListRow row;
  bool first = true;
  for (ListFile::Reader rows = list.rows(); rows.next(row);) {
    if (!row.problem.empty()) continue;
    refuse_secrets(list, row);
    if (std::exchange(first, false)) urls = is_url(row.path);
    const std::string place = this->place(row.path, row.problem);
    if (!row.problem.empty()) continue;
    labels.add(row.label, {&list.path(), row.line});
    paths.add(place);
    hashes.push_back(hash_of(place));
    if (row.split.empty() || !naming::is_split_name(row.split)) continue;
    names.insert(row.split);
    if (names.size() > kMaxSplits) {
      throw Error(ErrorKind::kUsage,
                  "the column 'split' has more than " + std::to_string(kMaxSplits) + " values",
                  list.path(), "if the column does not hold splits, rename it");
    }
  }
  labels.finish();
  paths.finish();
  splits.assign(names.begin(), names.end());
  naming::sort_splits(splits);
  refuse_unclear_splits(splits, list.path());
  if (splits.empty()) splits.emplace_back();
  std::ranges::sort(hashes);
  for (std::size_t i = 1; i < hashes.size(); ++i) {
    if (hashes[i] == hashes[i - 1]) repeats.try_emplace(hashes[i]);
  }
}

std::string Survey::place(const std::string& path, Problem& problem) const {
  if (problem.empty() && is_url(path) != urls)
    problem = {Reason::kBadPath, urls ? "a path, though the list begins with a URL"
                                      : "a URL, though the list begins with a path"};
  if (!problem.empty()) return is_url(path) ? harmless_url(path) : path;
  return urls ? ListedUrls::path_of(path, problem) : paths.place(path);
}

/// A row on its way to becoming an entry or a reject. The texts of its fields stay in the file.
struct Pending {
  std::string split, path, label;  ///< path: what Survey::paths calls its place
  Problem problem;
  std::uint64_t line = 0, offset = 0;
  EntryTable::Facts facts;
  RemoteFile object = {};  ///< in a list of URLs
};

class ListSource final : public Source {
 public:
  explicit ListSource(fs::path path) : path_(std::move(path)) {}

  Listing list(const ListOptions& options) override {
    refuse_folder_options(options, path_);
    if (!options.labels.empty()) {
      throw Error(ErrorKind::kUsage, "a list file has its own labels", path_,
                  "leave out `labels=`, or give the folder as the source");
    }
    list_.emplace(path_, options.fields);
    const fs::path folder = folder_around(path_);
    survey_.emplace(*list_, options, folder);
    Survey& survey = *survey_;
    if (!survey.urls) base_.emplace(survey.paths.base());
    Listing listing;
    listing.classes = survey.labels.classes();
    listing.fields = list_->fields();
    listing.notes = survey.labels.notes();
    listing.notes.insert(listing.notes.begin(), "list '" + printable(path_.filename().native()) +
                                                    "': " + list_->description());
    for (const std::string& name : survey.splits) {
      SplitListing& split = listing.splits.emplace_back();
      split.split = name;
      split.entries = EntryTable(options.memory);
    }
    again_ = 0;
    std::vector<Pending> block;
    for (ListFile::Reader rows = list_->rows(); read_block(rows, block);) {
      look_up(block);
      for (Pending& row : block) take_row(row, survey, listing);
    }
    if (again_ > 0)
      listing.notes.push_back(std::to_string(again_) + (again_ == 1 ? " row lists" : " rows list") +
                              " a file again: each is a sample");
    naming::refuse_empty(listing, path_, "it needs a row for each image: path,label");
    return listing;
  }

  void read(const SplitListing& split, std::size_t i, Input& out) const override {
    const EntryTable::Entry entry = split.entries[i];
    out.image = {};
    out.fields = 0;
    if (base_) {
      base_->read_image(std::string(without_time(entry.path)), entry.size, out);
    } else {
      urls_.reader().read(entry.locator, out.bytes);
    }
    if (entry.fields != 0) read_fields(entry, out);
  }

  bool images_are_files() const override { return !survey_->urls; }
  bool prefetch(const SplitListing& split, std::size_t i) const override {
    if (base_) return base_->prefetch(std::string(without_time(split.entries.path_of(i))));
    urls_.reader().prefetch(split.entries.facts(i).locator);
    return true;
  }

 private:
  static constexpr int kLooksAtOnce = 32;  // at a storage

  bool read_block(ListFile::Reader& rows, std::vector<Pending>& block) const {
    block.clear();
    ListRow row;
    while (block.size() < kBlock && rows.next(row)) {
      Pending& pending = block.emplace_back();
      pending.line = row.line;
      pending.offset = row.offset;
      pending.problem = std::move(row.problem);
      pending.label = std::move(row.label);
      pending.split = std::move(row.split);
      pending.path = survey_->place(row.path, pending.problem);
      take_fields(row, pending);
    }
    return !block.empty();
  }

  /// Takes over what an entry keeps of a row's fields. With fields, the locator is the row's
  /// offset.
  void take_fields(const ListRow& row, Pending& pending) const {
    std::uint64_t hash = 0;
    for (std::size_t f = 0; f < row.fields.size(); ++f) {
      if (row.fields[f].empty()) continue;
      if (!pending.facts.add_field(f, row.fields[f].size()))
        pending.problem = Reason::kFieldsTooLarge;
      hash = hash * 31 + xxh3(as_bytes(row.fields[f]));
    }
    if (pending.facts.fields != 0) {
      pending.facts.locator = row.offset;
      pending.facts.stamp = mix_stamp(1, hash);
    }
  }

  void look_up(std::vector<Pending>& block) {
    if (!base_)
      return run_parallel(kLooksAtOnce, block.size(), [&](std::size_t i) { ask(block[i]); });
    run_batches(listing_threads(), block.size(), 256, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) look_up(block[i]);
    });
  }

  void ask(Pending& row) {
    if (!row.problem.empty()) return;
    row.object = urls_.look(row.path, row.problem);
    row.facts.size = row.object.bytes;
    row.facts.stamp = mix_stamp(row.object.stamp, static_cast<std::uint64_t>(row.facts.stamp));
  }

  void look_up(Pending& row) const {
    if (!row.problem.empty()) return;
    struct stat status {};
    if (::stat((base_->path() / survey_->paths.stored(row.path)).c_str(), &status) != 0) {
      row.problem = errno == ENOENT ? Problem(Reason::kNotThere)
                                    : Problem(Reason::kUnreadable, std::strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
      row.problem = Reason::kNotRegular;
    }
    row.facts.size = static_cast<std::uint64_t>(status.st_size);
    const std::int64_t stamp = stamp_of(status);
    row.facts.stamp = row.facts.fields == 0
                          ? stamp
                          : mix_stamp(stamp, static_cast<std::uint64_t>(row.facts.stamp));
    if (row.facts.fields == 0) row.facts.locator = status.st_ino;
  }

  void take_row(Pending& row, Survey& survey, Listing& listing) {
    const auto split = std::ranges::find(survey.splits, row.split);
    // A row whose split has no valid name is a reject of the first split: it must be counted
    // somewhere.
    SplitListing& out =
        listing.splits[split == survey.splits.end()
                           ? 0
                           : static_cast<std::size_t>(split - survey.splits.begin())];
    if (row.problem.empty() && split == survey.splits.end())
      row.problem = {Reason::kBadRow, "'" + printable(row.split) + "' is no name for a split"};
    const std::string stored = row.problem.empty() ? survey.paths.stored(row.path) : row.path;
    if (row.problem.empty() && without_time(stored).size() != stored.size())
      row.problem = {Reason::kBadPath,
                     "its path begins like those of files listed again, with ~ and a number"};
    if (row.problem.empty() && row.facts.size > naming::kLargestImage)
      row.problem = Reason::kFileTooLarge;
    if (row.problem.empty()) {
      if (const auto label = survey.labels.label(row.label, row.problem)) row.facts.label = *label;
    }
    if (!row.problem.empty()) {
      out.rejects.push_back(
          {stored.empty() ? printable(path_.filename().string()) : printable(stored),
           {row.problem.code, "line " + std::to_string(row.line) + ": " + row.problem.text}});
      return;
    }
    const std::string name = name_again(count(row, stored), stored);
    const auto [directory, last] = naming::directory_and_name(name);
    if (!base_) row.facts.locator = urls_.add(row.path, std::move(row.object), row.offset);
    out.entries.add(directory, last, row.facts);
  }

  /// Which one a row is of those with its file and its split. Throws where it has another label
  /// than the first with its file.
  std::uint32_t count(const Pending& row, const std::string& stored) {
    const auto found = survey_->repeats.find(hash_of(row.path));
    if (found == survey_->repeats.end()) return 1;
    Repeated& known = found->second;
    if (known.line == 0) {
      known.line = row.line;
      known.label = row.facts.label;
    } else if (known.label != row.facts.label) {
      throw Error(ErrorKind::kUsage,
                  "lines " + std::to_string(known.line) + " and " + std::to_string(row.line) +
                      " of the list give '" + printable(stored) + "' different labels",
                  path_,
                  "keep only the right one; for several classes of an image, list it once, and "
                  "give `targets=classes:TABLE`");
    } else {
      ++again_;
    }
    return ++known.times[row.split];
  }

  void read_fields(const EntryTable::Entry& entry, Input& out) const {
    ListRow row = list_->row_at(base_ ? entry.locator : urls_.row_of(entry.locator));
    Pending now;
    take_fields(row, now);
    if (!row.problem.empty() || now.facts.fields != entry.fields ||
        now.facts.field_bytes != entry.field_bytes ||
        survey_->paths.stored(survey_->place(row.path, row.problem)) != without_time(entry.path)) {
      throw Error(ErrorKind::kIo, "the list has changed since it was read", path_);
    }
    for (std::size_t f = 0; f < row.fields.size(); ++f) {
      if (row.fields[f].empty()) continue;
      if (out.extras.size() <= out.fields) out.extras.emplace_back();
      Input::Extra& extra = out.extras[out.fields++];
      const Bytes text = as_bytes(row.fields[f]);
      extra.field = f;
      extra.bytes.assign(text.begin(), text.end());
    }
  }

  fs::path path_;
  std::optional<ListedFolder> base_;  ///< unless it is a list of URLs
  ListedUrls urls_;
  std::optional<ListFile> list_;
  std::optional<Survey> survey_;
  std::uint64_t again_ = 0;  ///< rows whose file an earlier one has listed
};

}  // namespace

bool probe(const fs::path& path, FolderLook&) {
  return ListFile::has_list_name(path) && is_file(path);
}

bool may_name_urls(const fs::path& path) { return ListFile::has_list_name(path); }

std::unique_ptr<Source> open(const fs::path& path) { return std::make_unique<ListSource>(path); }

}  // namespace packhorse::list_file
