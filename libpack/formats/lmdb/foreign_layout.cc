#include <algorithm>

#include "base/file.h"
#include "base/paths.h"
#include "codecs/image_header.h"
#include "formats/kinds.h"
#include "formats/lmdb/foreign.h"
#include "formats/lmdb/layout.h"

namespace packhorse::lmdb {

namespace fs = std::filesystem;

namespace {

constexpr int kForeignVersion = 1;
constexpr std::size_t kLookedAt = 64;
constexpr const char* kDataFile = "data.mdb";

std::string_view extension_of_key(std::string_view key) {
  const std::size_t dot = key.find('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(dot + 1);
}

bool is_datum(Bytes value) {
  try {
    return !parse_datum(value).image.empty();
  } catch (const Error&) {
    return false;
  }
}

/// Whether two entries are members of one sample: one is its label, or only one of them is an
/// image.
bool are_members(std::string_view one, bool one_is_image, std::string_view other,
                 bool other_is_image) {
  const std::string_view first = extension_of_key(one), second = extension_of_key(other);
  if (first.empty() || second.empty()) return false;
  if (one.substr(0, one.size() - first.size()) != other.substr(0, other.size() - second.size()))
    return false;
  return first == kLabelMember || second == kLabelMember || one_is_image != other_is_image;
}

[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
  throw Error(ErrorKind::kUnsupported, what, path,
              "write the images to files with the program that made the database, and pack those");
}

std::optional<fs::path> find_shard(const fs::path& named) {
  const fs::path file = is_folder(named) ? named / kDataFile : named;
  if (!is_file(file)) return std::nullopt;
  const UniqueFd fd = open_for_reading(file);
  std::byte magic[4];
  if (file_size(fd.get(), file) < 16 + sizeof magic) return std::nullopt;
  read_exactly(fd.get(), 16, magic, file);
  return as_text(magic) == "\xde\xc0\xef\xbe" ? std::optional(file) : std::nullopt;
}

std::unique_ptr<ForeignShard> open_shard(const fs::path& path, const ForeignOptions& options) {
  auto database = std::make_unique<ForeignDatabase>(path);
  const Layout layout = layout_of(*database);
  return layout == Layout::kMembers ? open_members(std::move(database), options.fields)
                                    : open_values(std::move(database), layout);
}

}  // namespace

bool is_pickled(Bytes value) {
  const std::string_view text = as_text(value);
  const bool protocol = text.size() > 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5;
  return (protocol && text.ends_with('.')) || text.starts_with("ARROW1") ||
         text.starts_with("\xff\xff\xff\xff");
}

bool is_meta_key(std::string_view key) {
  return key.starts_with("__") || key == "num-samples" || key == "length";
}

Layout layout_of(ForeignDatabase& database) {
  std::string last;
  bool last_is_image = false, some = false;
  Layout layout = Layout::kValues;
  for (std::size_t i = 0, seen = 0; i < database.size() && seen < kLookedAt; ++i) {
    const ForeignDatabase::Entry entry = database.read(i);
    if (is_meta_key(entry.key)) continue;
    const bool image =
        sniff_image(entry.value.first(std::min<std::size_t>(64, entry.value.size()))) !=
        ImageKind::kUnknown;
    if (seen > 0 && are_members(last, last_is_image, entry.key, image)) return Layout::kMembers;
    last = entry.key;
    last_is_image = image;
    if (seen++ > 0) continue;
    some = true;
    if (entry.key.starts_with("image-")) return Layout::kPairs;
    if (is_pickled(entry.value)) {
      refuse(database.path(),
             "its values are pickled Python objects, and opening a pickle runs the code in it");
    }
    layout = image ? Layout::kValues : is_datum(entry.value) ? Layout::kDatum : Layout::kMembers;
  }
  if (!some) refuse(database.path(), "the database holds no samples");
  if (layout == Layout::kMembers)
    refuse(database.path(), "its values are neither images nor Caffe Datums");
  return layout;
}

const ForeignFormat kForeignFormat = {
    .name = "lmdb-any",
    .summary = "LMDB of any writer: Datums, images, image-/label- pairs, members",
    .version = kForeignVersion,
    .find = find_shard,
    .open = open_shard,
};

}  // namespace packhorse::lmdb
