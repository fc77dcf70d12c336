#include "formats/wds/shard_samples.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/printable.h"
#include "codecs/image_header.h"
#include "formats/wds/layout.h"
#include "listing/field_names.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr const char* kMeta = "about the shard (its name has __ in it)";
constexpr const char* kNoMember = "no member of a sample (its name has no extension)";
constexpr const char* kNoExtension = "its extension is empty or begins with a dot";
constexpr const char* kLabel = "cls";
constexpr const char* kJson = "json";
constexpr const char* kNpy = "npy";  // the image of a sample that has no other
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

/// What the labels file may call a sample beside its shard and its key.
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
  close_run();
  unclear_.refuse(shard);
  keys_.clear();
  payloads_.done_with(file_);
}

void ShardSamples::add_member(ArchiveScan& scan) {
  const Member& member = scan.member();
  if (member.type == Member::Type::kDirectory) return;
  // Keys are cut from names as they are: for WebDataset, ./a.jpg and a.cls belong to two samples.
  const std::optional<wds::MemberName> name = wds::cut_member_name(member.name);
  const std::optional<std::string> path = naming::clean_path(member.name);
  if (!path && name) return reject(member.name, {Reason::kBadPath, "its path leaves the archive"});
  const auto skip = [&](std::string_view rule) {
    found_.skips.push_back({printable(shard_ + '/' + path.value_or(member.name)), rule});
  };
  if (path && is_hidden(*path)) return skip(naming::kHidden);
  if (wds::is_meta_name(member.name) || (name && is_reserved(name->extension))) return skip(kMeta);
  if (!name) return skip(kNoMember);
  if (name->extension.empty() || name->extension.front() == '.') return skip(kNoExtension);
  if (member.type != Member::Type::kFile) return skip(naming::kNotRegular);
  if (name->key != open_.key) close_run();
  open_.key = name->key;
  add_piece(scan, *path, name->extension);
}

void ShardSamples::add_piece(ArchiveScan& scan, const std::string& path,
                             const std::string& extension) {
  const auto [inner, last] = wds::cut_last(extension);
  Piece& piece = open_.pieces.emplace_back(Piece{extension, path, scan.member().size});
  try {
    if (label_file_ == nullptr && (last == kLabel || last == kJson))
      piece.label = label_in(piece, scan);
    if (extension == kLabel) return;
    piece.unsupported =
        !unsupported_kind(scan.head()).empty() || !unsupported_kind_by_name(path).empty();
    piece.image = !piece.unsupported && naming::has_image_bytes(scan.head());
    if (wanted(extension) || wanted(std::string(last)) || piece.image || piece.unsupported ||
        naming::has_image_name(path) || extension == kNpy)
      piece.locator = payloads_.add(file_, scan.keep());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kRejected) throw;
    piece.problem = problem_of(error, Reason::kUnreadable);
  }
}

/// Nothing in the text where a .json has none.
ShardLabel ShardSamples::label_in(const Piece& piece, ArchiveScan& scan) {
  if (wds::cut_last(piece.extension).second == kLabel)
    return piece.size > kLargestLabel ? ShardLabel{{}, Reason::kBadLabel}
                                      : label_in_cls(as_text(scan.load()));
  if (piece.size > kLargestJson) return {};
  return label_in_json(as_text(scan.load())).value_or(ShardLabel{});
}

bool ShardSamples::wanted(const std::string& extension) const {
  if (!choice_.names) return true;
  return std::find(choice_.names->begin(), choice_.names->end(), extension) != choice_.names->end();
}

/// Finds out where the keys of a run end, and closes its samples.
void ShardSamples::close_run() {
  if (open_.pieces.empty()) return;
  Open run = std::exchange(open_, {});
  std::vector<wds::RunMember> members;
  bool images = false;
  for (const Piece& piece : run.pieces) {
    const bool image = piece.image || piece.unsupported || naming::has_image_name(piece.path);
    members.push_back({piece.extension, image});
    images = images || image;
  }
  for (wds::RunMember& member : members)
    member.image = images ? member.image : wds::cut_last(member.extension).second == kNpy;
  std::optional<KeyDot> dot = choice_.key_dot;
  if (!dot) dot = wds::key_dot_of(members);
  if (!dot) return unclear_.add(members, run.key);
  by_last_dot_ = *dot == KeyDot::kLast;
  by_last_dot_ ? close_by_last_dot(std::move(run)) : close_sample(std::move(run));
}

void ShardSamples::close_by_last_dot(Open run) {
  std::vector<Open> samples;
  std::map<std::string, std::size_t> places;
  for (Piece& piece : run.pieces) {
    const auto [inner, last] = wds::cut_last(piece.extension);
    std::string key = run.key;
    if (!inner.empty()) key.append(".").append(inner);
    const auto [place, is_new] = places.emplace(key, samples.size());
    if (is_new) samples.push_back({std::move(key), {}});
    piece.extension = std::string(last);
    samples[place->second].pieces.push_back(std::move(piece));
  }
  for (Open& sample : samples) close_sample(std::move(sample));
}

void ShardSamples::close_sample(Open sample) {
  const std::vector<Piece>& pieces = sample.pieces;
  const auto by = [&](const auto& is_image) { return std::ranges::find_if(pieces, is_image); };
  auto image = by([](const Piece& piece) { return has_image_extension(piece.extension); });
  if (image == pieces.end()) image = by([](const Piece& piece) { return piece.image; });
  // An image of a kind that cannot be packed is rejected as that, rather than as no image.
  if (image == pieces.end()) image = by([](const Piece& piece) { return piece.unsupported; });
  if (image == pieces.end()) image = by([](const Piece& piece) { return piece.extension == kNpy; });
  const bool has_image = image != pieces.end();
  ShardLabel label;
  Problem problem;
  std::set<std::string_view> extensions;
  bool by_cls = false;
  for (const Piece& piece : pieces) {
    if (!piece.problem.empty())
      problem = {piece.problem.code, "its ." + piece.extension + ": " + piece.problem.text};
    if (!extensions.insert(piece.extension).second)
      problem = {Reason::kRepeated, "it has two members ." + piece.extension};
    // A .cls counts more than a .json, whichever comes first.
    const bool cls = piece.extension == kLabel;
    if (!piece.label || !(cls || (piece.extension == kJson && !by_cls))) continue;
    by_cls = by_cls || cls;
    if (cls || !piece.label->text.empty() || !piece.label->problem.empty()) label = *piece.label;
  }
  if (!keys_.insert(sample.key).second)
    problem = {Reason::kRepeated, "its key was there before, with others in between"};
  if (problem.empty() && !has_image) problem = Reason::kNoImage;
  if (problem.empty()) problem = label.problem;
  if (!problem.empty()) return reject(has_image ? image->path : pieces.front().path, problem);
  add_sample(sample, *image, label.text);
}

void ShardSamples::add_sample(const Open& sample, const Piece& image, const std::string& label) {
  EntryTable::Facts facts;
  facts.size = image.size;
  facts.stamp = payloads_.stamp(file_);
  facts.locator = image.locator.value();
  std::vector<Payloads::Field> fields;
  for (const Piece& piece : sample.pieces) {
    if (&piece == &image || piece.extension == kLabel || !wanted(piece.extension)) continue;
    const std::uint32_t number = field_number(piece.extension);
    fields.push_back({number, static_cast<std::uint32_t>(piece.size), piece.locator.value()});
    if (!facts.add_field(number, piece.size)) return reject(image.path, Reason::kFieldsTooLarge);
  }
  facts.label = label.empty() ? -1 : labels_.number_of(label);
  if (!fields.empty()) payloads_.set_fields(*image.locator, fields);
  const std::string path = shard_ + '/' + image.path;
  const auto [directory, name] = naming::directory_and_name(path);
  found_.entries.add(directory, name, facts);
  last_dot_.push_back(by_last_dot_);
}

std::uint32_t ShardSamples::field_number(const std::string& name) {
  const auto it = std::ranges::find(fields_, name);
  if (it == fields_.end() && fields_.size() == kMaxFields) {
    throw Error(
        ErrorKind::kUsage,
        "the samples have more than 32 different extra members, the last being '." + name + "'",
        shard_, "choose which to keep with `fields=`; `fields=none` leaves all of them out");
  }
  if (it == fields_.end()) {
    fields_.push_back(name);
    return static_cast<std::uint32_t>(fields_.size() - 1);
  }
  return static_cast<std::uint32_t>(it - fields_.begin());
}

void ShardSamples::reject(const std::string& path, Problem problem) {
  found_.rejects.emplace_back(printable(shard_ + '/' + path), std::move(problem));
}

std::string ShardSamples::path_with_key(std::size_t i) const {
  std::string path = found_.entries.path_of(i);
  if (!last_dot_[i]) return wds::cut_member_name(path)->key;
  path.resize(path.rfind('.'));
  return path;
}

std::string ShardSamples::label_of(std::size_t i) const {
  const std::int64_t number = found_.entries.label_of(i);
  return number < 0 ? std::string() : labels_.text_of(number);
}

/// Sorts fields by name; returns old number -> new number.
std::vector<std::uint32_t> ShardSamples::sort_fields(Listing& listing) {
  listing.fields = fields_;
  std::ranges::sort(listing.fields);
  std::vector<std::uint32_t> numbers;
  for (const std::string& field : fields_) {
    const auto it = std::ranges::find(listing.fields, field);
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
      const std::string path = path_with_key(i);
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

/// The label of entry `i`, which has the text `number`; or nothing, and why not.
std::optional<std::int64_t> ShardSamples::label_for(std::size_t i, std::int64_t number,
                                                    Problem& problem) const {
  if (label_file_ != nullptr) {
    const std::string path = path_with_key(i);
    return label_file_->take(path, key_in(path), problem);
  }
  if (labels_.empty()) return 0;
  if (number < 0) {
    problem = Reason::kNoLabel;
    return std::nullopt;
  }
  const ShardLabels::Resolved& resolved = labels_.resolve(number);
  problem = resolved.problem;
  if (!problem.empty()) return std::nullopt;
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
    Problem problem;
    const std::optional<std::int64_t> label = label_for(i, entry.label, problem);
    if (!label) {
      split.rejects.push_back({printable(entry.path), problem});
      continue;
    }
    entry.label = *label;
    entry.fields = renumbered(entry.fields, numbers);
    const auto [directory, name] = naming::directory_and_name(entry.path);
    split.entries.add(directory, name, entry);
  }
  if (const auto dotted = std::ranges::count(last_dot_, true); dotted > 0 && !choice_.key_dot)
    listing.notes.push_back("the keys of " + std::to_string(dotted) +
                            " samples end at the last dot of their names, since each image there "
                            "has its own label or fields; `key_dot=first` reads them otherwise");
  naming::refuse_empty(listing, source,
                       "packhorse expects WebDataset samples: <key>.jpg, <key>.cls");
  return listing;
}

}  // namespace packhorse
