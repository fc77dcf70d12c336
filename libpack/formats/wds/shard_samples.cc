#include "formats/wds/shard_samples.h"

#include <algorithm>
#include <numeric>

#include "formats/wds/layout.h"
#include "listing/field_names.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "packhorse/base/printable.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr const char* kMeta = "about the shard (its name has __ in it)";
constexpr const char* kNoMember = "no member of a sample (its name has no extension)";
constexpr const char* kNoExtension = "its extension is empty or begins with a dot";
constexpr const char* kLabel = "cls";
constexpr const char* kJson = "json";
constexpr std::uint64_t kLargestLabel = 4096;
constexpr std::uint64_t kLargestJson = 1u << 20;

bool has_image_extension(const std::string& extension) {
  return extension.find('.') == std::string::npos && naming::has_image_name("." + extension);
}

/// Names that WebDataset itself puts into every sample (tariterators.py: group_by_keys), so that a
/// member with one of them fails there.
bool is_reserved(std::string_view extension) {
  return extension == "__key__" || extension == "__url__" || extension == "__local_path__";
}

/// Looks at the file's own name alone: WebDataset sees samples in hidden directories.
bool is_hidden(std::string_view path) { return naming::is_hidden(naming::last_name(path)); }

/// What the labels file may call a sample: its shard and its key, or its key.
std::string path_with_key(const std::string& path) { return wds::cut_member_name(path)->key; }
std::string_view key_in(std::string_view path) { return path.substr(path.find('/') + 1); }

}  // namespace

ShardSamples::ShardSamples(Payloads& payloads, const FieldChoice& choice, LabelFile* label_file,
                           const std::shared_ptr<EntryMemory>& memory)
    : payloads_(payloads), choice_(choice), label_file_(label_file) {
  found_.entries = EntryTable(memory);
}

void ShardSamples::add_shard(const fs::path& shard) {
  file_ = payloads_.add_file(shard);
  shard_ = shard.filename().native();
  ArchiveScan scan(shard, payloads_.fd(file_), payloads_.spool());
  while (scan.next()) add_member(scan);
  close_sample();
  keys_.clear();
  payloads_.done_with(file_);
}

void ShardSamples::add_member(ArchiveScan& scan) {
  const Member& member = scan.member();
  if (member.type == Member::Type::kDirectory) return;
  // Keys are cut from names as they are: for WebDataset, ./a.jpg and a.cls belong to two samples.
  const std::optional<wds::MemberName> name = wds::cut_member_name(member.name);
  const std::optional<std::string> path = naming::clean_path(member.name);
  if (!path && name) return reject(member.name, "its path leaves the archive");
  const auto skip = [&](std::string_view rule) {
    found_.skips.push_back({printable(shard_ + '/' + path.value_or(member.name)), rule});
  };
  if (path && is_hidden(*path)) return skip(naming::kHidden);
  if (wds::is_meta_name(member.name) || (name && is_reserved(name->extension))) return skip(kMeta);
  if (!name) return skip(kNoMember);
  if (name->extension.empty() || name->extension.front() == '.') return skip(kNoExtension);
  if (member.type != Member::Type::kFile) return skip(naming::kNotRegular);
  if (name->key != open_.key) close_sample();
  if (open_.path.empty()) {
    open_.key = name->key;
    open_.path = *path;
  }
  if (!open_.extensions.insert(name->extension).second)
    open_.problem = "it has two members ." + name->extension;
  try {
    add_piece(scan, *path, name->extension);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kRejected) throw;
    open_.problem = "its ." + name->extension + ": " + error.what();
  }
}

void ShardSamples::add_piece(ArchiveScan& scan, const std::string& path,
                             const std::string& extension) {
  const std::uint64_t size = scan.member().size;
  if (extension == kLabel) {
    if (label_file_ != nullptr) return;
    open_.labelled_by_cls = true;
    take_label(size > kLargestLabel ? ShardLabel{{}, "its label is no line of text"}
                                    : label_in_cls(as_text(scan.load())));
    return;
  }
  const bool may_label = label_file_ == nullptr && !open_.labelled_by_cls;
  if (extension == kJson && may_label && size <= kLargestJson) {
    if (const auto label = label_in_json(as_text(scan.load()))) take_label(*label);
  }
  Piece piece{extension, path, size, 0, sniff_image(scan.head()) != ImageKind::kUnknown};
  piece.unsupported =
      !unsupported_kind(scan.head()).empty() || !unsupported_kind_by_name(path).empty();
  if (!wanted(extension) && !piece.image && !piece.unsupported && !has_image_extension(extension))
    return;
  piece.locator = payloads_.add(file_, scan.keep());
  open_.pieces.push_back(std::move(piece));
}

bool ShardSamples::wanted(const std::string& extension) const {
  if (!choice_.names) return true;
  return std::find(choice_.names->begin(), choice_.names->end(), extension) != choice_.names->end();
}

/// A .cls counts more than a .json, whichever comes first.
void ShardSamples::take_label(ShardLabel label) {
  open_.label = std::move(label.text);
  open_.label_problem = std::move(label.problem);
}

void ShardSamples::close_sample() {
  if (open_.path.empty()) return;
  const auto by = [&](const auto& is_image) {
    return std::find_if(open_.pieces.begin(), open_.pieces.end(), is_image);
  };
  auto image = by([](const Piece& piece) { return has_image_extension(piece.extension); });
  if (image == open_.pieces.end()) image = by([](const Piece& piece) { return piece.image; });
  // An image of a kind that cannot be packed is rejected as that, rather than as no image.
  if (image == open_.pieces.end()) image = by([](const Piece& piece) { return piece.unsupported; });
  const bool has_image = image != open_.pieces.end();
  std::string problem = std::move(open_.problem);
  if (!keys_.insert(open_.key).second) problem = "its key was there before, with others in between";
  if (problem.empty() && !has_image) problem = "no image among its members";
  if (problem.empty()) problem = std::move(open_.label_problem);
  if (problem.empty()) {
    add_sample(*image);
  } else {
    reject(has_image ? image->path : open_.path, problem);
  }
  open_ = {};
}

void ShardSamples::add_sample(const Piece& image) {
  EntryTable::Facts facts;
  facts.size = image.size;
  facts.stamp = payloads_.stamp(file_);
  facts.locator = image.locator;
  facts.label = open_.label.empty() ? -1 : labels_.number_of(open_.label);
  std::vector<Payloads::Field> fields;
  for (const Piece& piece : open_.pieces) {
    if (&piece == &image || !wanted(piece.extension)) continue;
    const std::uint32_t number = field_number(piece.extension);
    fields.push_back({number, static_cast<std::uint32_t>(piece.size), piece.locator});
    facts.fields |= std::uint32_t{1} << number;
    facts.field_bytes += static_cast<std::uint32_t>(piece.size);
  }
  if (!fields.empty()) payloads_.set_fields(image.locator, fields);
  const std::string path = shard_ + '/' + image.path;
  const auto [directory, name] = naming::directory_and_name(path);
  found_.entries.add(directory, name, facts);
}

std::uint32_t ShardSamples::field_number(const std::string& name) {
  const auto it = std::find(fields_.begin(), fields_.end(), name);
  if (it == fields_.end() && fields_.size() == kMaxFields) {
    throw Error(
        ErrorKind::kUsage,
        "the samples have more than 32 different extra members, the last being '." + name + "'",
        shard_, "choose which to keep with --fields; --fields none leaves all of them out");
  }
  if (it == fields_.end()) {
    fields_.push_back(name);
    return static_cast<std::uint32_t>(fields_.size() - 1);
  }
  return static_cast<std::uint32_t>(it - fields_.begin());
}

void ShardSamples::reject(const std::string& path, const std::string& reason) {
  found_.rejects.push_back({printable(shard_ + '/' + path), reason});
}

std::string ShardSamples::label_of(std::size_t i) const {
  const std::int64_t number = found_.entries.label_of(i);
  return number < 0 ? std::string() : labels_.text_of(number);
}

/// Sorts fields by name; returns old number -> new number.
std::vector<std::uint32_t> ShardSamples::sort_fields(Listing& listing) {
  listing.fields = fields_;
  std::sort(listing.fields.begin(), listing.fields.end());
  std::vector<std::uint32_t> numbers;
  for (const std::string& field : fields_) {
    const auto it = std::find(listing.fields.begin(), listing.fields.end(), field);
    numbers.push_back(static_cast<std::uint32_t>(it - listing.fields.begin()));
  }
  payloads_.renumber_fields(numbers);
  return numbers;
}

/// Prepares label_for().
std::vector<std::string> ShardSamples::make_classes(const std::vector<std::string>& classes,
                                                    std::vector<std::string>& notes) {
  if (label_file_ != nullptr) {
    for (std::size_t i = 0; i < found_.entries.size(); ++i) {
      const std::string path = path_with_key(found_.entries.path_of(i));
      label_file_->mark(path, key_in(path));
    }
    notes.push_back(label_file_->note());
    label_file_->note_unused(notes, "sample of the shards");
    return label_file_->classes();
  }
  if (!labels_.empty()) return labels_.make_classes(classes, notes);
  notes.emplace_back("no sample has a label, so all get the class 'unlabelled'");
  return {"unlabelled"};
}

/// The entry's label; or nothing, and the reason why not.
std::optional<std::int64_t> ShardSamples::label_for(const EntryTable::Entry& entry,
                                                    std::string& reason) const {
  if (label_file_ != nullptr) {
    const std::string path = path_with_key(entry.path);
    return label_file_->take(path, key_in(path), reason);
  }
  if (labels_.empty()) return 0;
  if (entry.label < 0) {
    reason = "it has no label";
    return std::nullopt;
  }
  const ShardLabels::Resolved& resolved = labels_.resolve(entry.label);
  reason = resolved.problem;
  if (!reason.empty()) return std::nullopt;
  return resolved.label;
}

Listing ShardSamples::finish(const std::vector<std::string>& classes, const fs::path& source) {
  payloads_.seal();
  Listing listing;
  const std::vector<std::uint32_t> numbers = sort_fields(listing);
  if (choice_.names) wanted_fields(*choice_.names, listing.fields, source);
  listing.classes = make_classes(classes, listing.notes);
  SplitListing& split = listing.splits.emplace_back();
  split.entries = EntryTable(found_.entries.memory());
  split.rejects = std::move(found_.rejects);
  split.skips = std::move(found_.skips);
  for (std::size_t i = 0; i < found_.entries.size(); ++i) {
    EntryTable::Entry entry = found_.entries[i];
    std::string problem;
    const std::optional<std::int64_t> label = label_for(entry, problem);
    if (!label) {
      split.rejects.push_back({printable(entry.path), problem});
      continue;
    }
    entry.label = *label;
    entry.fields = renumbered(entry.fields, numbers);
    const auto [directory, name] = naming::directory_and_name(entry.path);
    split.entries.add(directory, name, entry);
  }
  naming::refuse_empty(listing, source,
                       "packhorse expects WebDataset samples: <key>.jpg, <key>.cls");
  return listing;
}

}  // namespace packhorse
