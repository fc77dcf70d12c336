#include <algorithm>

#include "base/text.h"
#include "formats/kinds.h"
#include "formats/lmdb/database.h"
#include "formats/lmdb/layout.h"
#include "formats/sample_checks.h"
#include "image/npy.h"

namespace packhorse::lmdb {

namespace {

/// Extensions that mark a member as the image, without their dot.
std::vector<std::string> image_extensions() {
  std::vector<std::string> extensions;
  for (auto kind = static_cast<int>(ImageKind::kUnknown); kind <= static_cast<int>(kLastImageKind);
       ++kind) {
    extensions.emplace_back(extension_of(static_cast<ImageKind>(kind)).substr(1));
  }
  return extensions;
}

bool is_image(std::string_view extension) {
  static const std::vector<std::string> kExtensions = image_extensions();
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

const std::string& raw_extension() {
  static const std::string kExtension(extension_of(ImageKind::kRaw).substr(1));
  return kExtension;
}

/// The meta pages for the expected samples, if their images are JPEG files; empty when none are
/// expected.
std::string members_meta_pages(const ShardSpec& spec) {
  if (!spec.expected) return {};
  Tree tree;
  for (std::size_t i = 0; i < spec.samples; ++i) {
    const ExpectedSample sample = spec.expected(i);
    const std::string label = std::to_string(sample.label);
    tree.add(member_key(sample.key, kLabelMember), label.size(), {}, Tree::kNoTag);
    tree.add(member_key(sample.key, extension_of(ImageKind::kJpeg).substr(1)), sample.bytes, {},
             Tree::kNoTag);
  }
  return tree.finish();
}

class MembersWriter final : public ShardWriter {
 public:
  MembersWriter(const std::filesystem::path& path, const ShardSpec& spec)
      : checks_(spec, path),
        database_(path, members_meta_pages(spec), [this](std::uint64_t tag, std::uint64_t offset) {
          range_of(tag).offset += offset;
        }) {
    layout_.images.reserve(spec.samples);
    layout_.fields.reserve(spec.samples * spec.fields.size());
  }

  void add(const Sample& sample) override {
    checks_.check(sample);
    check_key(sample.key);
    const bool raw = sample.image.kind == ImageKind::kRaw;
    const std::string head = raw ? npy_header(sample.image) : std::string();
    const std::string label = std::to_string(sample.label);
    std::uint64_t tag = layout_.images.size() * pieces();
    layout_.images.push_back({head.size(), sample.bytes.size()});
    members_.clear();
    members_.push_back(
        {extension_of(sample.image.kind).substr(1), as_bytes(head), sample.bytes, tag});
    members_.push_back({kLabelMember, {}, as_bytes(label), Tree::kNoTag});
    for (const Field* field : checks_.fields()) {
      ++tag;
      layout_.fields.push_back(field != nullptr ? ByteRange{0, field->bytes.size()} : kAbsent);
      if (field != nullptr) members_.push_back({field->name, {}, field->bytes, tag});
    }
    std::ranges::sort(members_, {}, &Member::extension);
    for (const Member& member : members_) {
      database_.put(member_key(sample.key, member.extension), {member.head, member.payload},
                    member.tag);
    }
  }

  ShardLayout close() override {
    layout_.sha256 = database_.finish();
    return std::move(layout_);
  }

 private:
  struct Member {
    std::string_view extension;
    Bytes head, payload;
    std::uint64_t tag;
  };

  /// A sample's pieces that have a range: the image, then its fields.
  std::size_t pieces() const { return 1 + checks_.names().size(); }
  ByteRange& range_of(std::uint64_t tag) {
    const std::uint64_t sample = tag / pieces(), piece = tag % pieces();
    return piece == 0 ? layout_.images[sample]
                      : layout_.fields[sample * checks_.names().size() + piece - 1];
  }

  /// Members are ordered by their whole keys, so the sample "a-b" comes before "a": '-' sorts
  /// before '.'.
  void check_key(std::string_view key) {
    if (key.find('.') != std::string_view::npos)
      checks_.refuse("a key with a dot cannot be told from its members", key);
    std::string whole = member_key(key, "");
    if (!layout_.images.empty() && whole <= last_) {
      checks_.refuse("keys must be strictly increasing, with the dot that follows them", key);
    }
    last_ = std::move(whole);
  }

  SampleChecks checks_;
  ShardLayout layout_;  ///< offsets in the values, until these have their place
  DatabaseWriter database_;
  std::vector<Member> members_;
  std::string last_;
};

class MembersReader final : public ShardReader {
 public:
  explicit MembersReader(const std::filesystem::path& path) : path_(path), database_(path) {
    std::string last;
    for (std::size_t i = 0; i < database_.size(); ++i) {
      const std::string_view key = split_member(database_.read(i).key).key;
      if (i == 0 || key != last) begins_.push_back(i);
      last = key;
    }
    begins_.push_back(database_.size());
  }

  std::size_t size() const override { return begins_.size() - 1; }

  StoredSample read(std::size_t i) override {
    StoredSample sample;
    sample.label = -1;
    bool image_seen = false;
    for (std::size_t at = begins_[i]; at < begins_[i + 1]; ++at) {
      const DatabaseReader::Entry entry = database_.read(at);
      const MemberName member = split_member(entry.key);
      sample.key = member.key;
      if (member.extension == kLabelMember) {
        const std::optional<std::int64_t> label = parse_number<std::int64_t>(as_text(entry.value));
        if (!label) corrupt("a label is not a number", sample.key);
        sample.label = *label;
      } else if (is_image(member.extension) && !image_seen) {
        image_seen = true;
        sample.bytes = entry.value;
        sample.in_npy = member.extension == raw_extension();
      } else {
        sample.fields.push_back({member.extension, entry.value});
      }
    }
    if (!image_seen) corrupt("a sample without an image", sample.key);
    return sample;
  }

 private:
  [[noreturn]] void corrupt(const char* what, const std::string& key) const {
    throw Error(ErrorKind::kCorrupt, std::string("damaged LMDB: ") + what, path_, {}, key);
  }

  std::filesystem::path path_;
  DatabaseReader database_;
  std::vector<std::size_t> begins_;  ///< where each sample's entries begin, and the end of the last
};

std::unique_ptr<ShardWriter> open_members_writer(const std::filesystem::path& path,
                                                 const ShardSpec& spec) {
  refuse_compression(spec, path);
  for (const std::string& name : spec.fields) {
    if (name == kLabelMember || is_image(name)) {
      throw Error(
          ErrorKind::kUsage,
          "a field cannot be named '" + name + "' here: that name is for images or the label", path,
          "give the field's files another extension, e.g. 'seg." + name + "'");
    }
  }
  return std::make_unique<MembersWriter>(path, spec);
}

std::unique_ptr<ShardReader> open_members_reader(const std::filesystem::path& path) {
  return std::make_unique<MembersReader>(path);
}

}  // namespace

const Format kMembersFormat = {
    .name = "lmdb-members",
    .file_suffix = kSuffix,
    .summary = "LMDB with a key for each member, as in a tar: 000000017.jpg, .cls, .json",
    .compressed_suffix = {},
    .version = kMembersVersion,
    .carries_fields = true,
    .sample_overhead = 16384,
    .field_overhead = 8192,
    .open_writer = open_members_writer,
    .open_reader = open_members_reader,
    .library_version = library_version,
    .small_sample = 1000,  // several lie in a page
    .small_overhead = 800,
};

}  // namespace packhorse::lmdb
