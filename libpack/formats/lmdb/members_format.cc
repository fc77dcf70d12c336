#include <algorithm>

#include "formats/label_text.h"
#include "formats/lmdb/database.h"
#include "formats/lmdb/layout.h"
#include "formats/lmdb/lmdb.h"
#include "formats/sample_checks.h"
#include "packhorse/npy.h"

namespace packhorse::lmdb {

namespace {

/// Extensions that say that a member is the image, without their dot.
std::vector<std::string> image_extensions() {
  std::vector<std::string> extensions;
  for (auto kind = static_cast<int>(ImageKind::kUnknown); kind <= static_cast<int>(ImageKind::kRaw);
       ++kind) {
    extensions.emplace_back(extension_of(static_cast<ImageKind>(kind)).substr(1));
  }
  return extensions;
}

bool is_image(std::string_view extension) {
  static const std::vector<std::string> kExtensions = image_extensions();
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

const std::string& raw_extension() {
  static const std::string kExtension(extension_of(ImageKind::kRaw).substr(1));
  return kExtension;
}

/// A member's key, cut at its first dot: samples' keys have none.
struct Cut {
  std::string_view key, extension;
};
Cut cut(std::string_view member) {
  const std::size_t dot = member.find('.');
  if (dot == std::string_view::npos) return {member, {}};
  return {member.substr(0, dot), member.substr(dot + 1)};
}

class Writer final : public ShardWriter {
 public:
  Writer(const std::filesystem::path& path, const ShardSpec& spec)
      : checks_(spec, path), database_(path) {}

  void add(const Sample& sample) override {
    checks_.check(sample);
    check_key(sample.key);
    const bool raw = sample.image.kind == ImageKind::kRaw;
    const std::string head = raw ? npy_header(sample.image) : std::string();
    const std::string label = std::to_string(sample.label);
    members_.clear();
    members_.push_back({extension_of(sample.image.kind).substr(1), as_bytes(head), sample.bytes});
    members_.push_back({kLabelMember, {}, as_bytes(label)});
    for (const Field& field : sample.fields) members_.push_back({field.name, {}, field.bytes});
    std::sort(members_.begin(), members_.end(),
              [](const Member& a, const Member& b) { return a.extension < b.extension; });
    for (const Member& member : members_)
      database_.put(member_key(sample.key, member.extension), {member.head, member.payload});
    ++samples_;
  }

  ShardLayout close() override {
    const std::vector<std::string>& names = checks_.names();
    ShardLayout layout;
    layout.fields.assign(samples_ * names.size(), kAbsent);
    std::string last;
    std::size_t begun = 0;
    layout.sha256 = database_.finish([&](std::string_view key, Bytes value, std::uint64_t offset) {
      const Cut member = cut(key);
      if (begun == 0 || member.key != last) {
        last = member.key;
        ++begun;
      }
      const auto found = std::lower_bound(names.begin(), names.end(), member.extension);
      if (member.extension == raw_extension()) {
        layout.images.push_back({offset + kNpyHeaderBytes, value.size() - kNpyHeaderBytes});
      } else if (is_image(member.extension)) {
        layout.images.push_back({offset, value.size()});
      } else if (found != names.end() && *found == member.extension) {
        layout.fields[(begun - 1) * names.size() +
                      static_cast<std::size_t>(found - names.begin())] = {offset, value.size()};
      }
    });
    return layout;
  }

 private:
  struct Member {
    std::string_view extension;
    Bytes head, payload;
  };

  /// Members come in the order of their whole keys, so that of "a" and "a-b" it is the second that
  /// comes first: '-' is before '.'.
  void check_key(std::string_view key) {
    if (key.find('.') != std::string_view::npos)
      checks_.refuse("a key with a dot cannot be told from its members", key);
    std::string whole = member_key(key, "");
    if (samples_ > 0 && whole <= last_) {
      checks_.refuse("keys must be strictly increasing, with the dot that follows them", key);
    }
    last_ = std::move(whole);
  }

  SampleChecks checks_;
  DatabaseWriter database_;
  std::vector<Member> members_;
  std::string last_;
  std::size_t samples_ = 0;
};

class Reader final : public ShardReader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path), database_(path) {
    std::string last;
    for (std::size_t i = 0; i < database_.size(); ++i) {
      const std::string_view key = cut(database_.read(i).key).key;
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
      const Cut member = cut(entry.key);
      sample.key = member.key;
      if (member.extension == kLabelMember) {
        const std::optional<std::int64_t> label = parse_label(as_text(entry.value));
        if (!label) corrupt("a label is no number", sample.key);
        sample.label = *label;
      } else if (is_image(member.extension) && !image_seen) {
        image_seen = true;
        sample.bytes = member.extension == raw_extension() ? npy_pixels(entry.value) : entry.value;
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

bool probe(const std::filesystem::path& path) {
  const std::optional<std::string> key = first_key(path);
  return key && key->find('.') != std::string::npos;
}

std::unique_ptr<ShardWriter> open_writer(const std::filesystem::path& path, const ShardSpec& spec) {
  refuse_compression(spec, path);
  for (const std::string& name : spec.fields) {
    if (name == kLabelMember || is_image(name)) {
      throw Error(ErrorKind::kUsage,
                  "a field cannot be called '" + name + "' here: that is an image or the label",
                  path, "give the field's files another extension, e.g. 'seg." + name + "'");
    }
  }
  return std::make_unique<Writer>(path, spec);
}

std::unique_ptr<ShardReader> open_reader(const std::filesystem::path& path) {
  return std::make_unique<Reader>(path);
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
    .probe = probe,
    .open_writer = open_writer,
    .open_reader = open_reader,
    .library_version = library_version,
};

}  // namespace packhorse::lmdb
