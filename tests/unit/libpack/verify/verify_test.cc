#include "packhorse/verify/verify.h"

#include <algorithm>

#include "base/file.h"
#include "dataset/shard_index.h"
#include "formats/format.h"
#include "packhorse/dataset/manifest.h"
#include "packhorse/packing/pack.h"
#include "support/support.h"
#include "unit/libpack/packing/pack_place.h"

namespace packhorse {

namespace {

namespace fs = std::filesystem;
using test::flip_byte;
using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;

/// A small dataset of 3 shards, with a reject in it.
struct Packed {
  TemporaryDirectory directory;
  fs::path path = directory / "out";

  explicit Packed(const Format& format) {
    test::make_folder(directory / "source", 2, 5);
    put(directory / "source/c0/broken.jpg", "not an image");
    PackOptions options = pack_options(std::string(format.name));
    options.plan.shard_samples = 4;
    options.max_rejects.count = 1;
    REQUIRE(pack(directory / "source", path, options).published);
  }
  VerifyReport verify(VerifyLevel level) const { return packhorse::verify(path, {level, 2}); }

  std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) all.push_back(fs::relative(entry.path(), path).string());
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  /// Replaces `from` in a file by `to`.
  void edit(std::string_view file, std::string_view from, std::string_view to) const {
    std::string text = read_text(path / file);
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    put(path / file, text.replace(at, from.size(), to));
  }
};

/// Whether a finding names the file. dataset.json and SHA256SUMS vouch for each other, so either
/// may be named.
bool names(const VerifyReport& report, const std::string& file) {
  const auto is_proof = [](std::string_view name) {
    return name == kManifestName || name == kSumsName;
  };
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
    return finding.shard == file || (is_proof(finding.shard) && is_proof(file));
  });
}

/// Whether no finding is about any other shard.
bool names_no_other_shard(const VerifyReport& report, const std::string& file) {
  return std::all_of(report.findings.begin(), report.findings.end(), [&](const Finding& f) {
    return f.shard == file || !f.shard.starts_with("shard-");
  });
}

template <class Check>
void for_each_format(const Check& check) {
  for (const Format* format : all_formats()) {
    CAPTURE(format->name);
    check(Packed(*format));
  }
}

}  // namespace

TEST_CASE("verify: a dataset as it was packed is ok, and all of it was looked at") {
  for_each_format([](const Packed& packed) {
    for (const VerifyLevel level : {VerifyLevel::kQuick, VerifyLevel::kFull}) {
      const VerifyReport report = packed.verify(level);
      CHECK(report.ok());
      CHECK(report.files == packed.files().size());
      CHECK(report.samples == 10);
      CHECK((report.bytes > 0) == (level == VerifyLevel::kFull));
    }
  });
}

TEST_CASE("verify: a flipped byte in any file is found in full, with the file's name") {
  for_each_format([](const Packed& packed) {
    for (const std::string& file : packed.files()) {
      const std::uint64_t size = fs::file_size(packed.path / file);
      for (const std::uint64_t offset :
           {std::uint64_t{0}, size / 5, size / 3, size / 2, 2 * size / 3, size - 1}) {
        if (test::kEvery > 1 && offset != size / 2) continue;
        CAPTURE(file);
        CAPTURE(offset);
        flip_byte(packed.path / file, offset);
        const VerifyReport report = packed.verify(VerifyLevel::kFull);
        CHECK(names(report, file));
        CHECK(names_no_other_shard(report, file));
        flip_byte(packed.path / file, offset);
      }
    }
    CHECK(packed.verify(VerifyLevel::kFull).ok());
  });
}

TEST_CASE("verify: a damaged image is found with its number, key and place") {
  for_each_format([](const Packed& packed) {
    const Manifest manifest = Manifest::load(packed.path);
    for (const ShardRecord& shard : manifest.shards) {
      const ShardIndex index(packed.path / shard.index);
      for (std::size_t row = 0; row < index.size(); ++row) {
        const ByteRange range = index.range(row);
        for (const std::uint64_t offset :
             {range.offset, range.offset + range.length / 2, range.end() - 1}) {
          flip_byte(packed.path / shard.file, offset);
          const VerifyReport report = packed.verify(VerifyLevel::kFull);
          flip_byte(packed.path / shard.file, offset);
          REQUIRE(report.findings.size() == 1);
          const Finding& finding = report.findings[0];
          CHECK(finding.kind == FindingKind::kPayload);
          CHECK(finding.shard == shard.file);
          CHECK(finding.sample == static_cast<std::int64_t>(shard.first_sample + row));
          CHECK(finding.key == index.key(row));
          CHECK(ByteRange{finding.offset, finding.length} == range);
        }
      }
    }
  });
}

TEST_CASE("verify: damage between the images is told from damage in them") {
  const Packed packed(find_format("wds"));
  flip_byte(packed.path / "shard-000001.tar", 3);  // in the first member's name
  const VerifyReport report = packed.verify(VerifyLevel::kFull);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].kind == FindingKind::kHash);
  CHECK(report.findings[0].sample == -1);
  CHECK(packed.verify(VerifyLevel::kQuick).ok());
}

TEST_CASE("verify: two damaged images are two findings") {
  const Packed packed(find_format("wds"));
  const ShardIndex index(packed.path / "shard-000000.index");
  flip_byte(packed.path / "shard-000000.tar", index.range(0).offset);
  flip_byte(packed.path / "shard-000000.tar", index.range(2).offset);
  const VerifyReport report = packed.verify(VerifyLevel::kFull);
  REQUIRE(report.findings.size() == 2);
  CHECK(report.findings[0].key == index.key(0));
  CHECK(report.findings[1].key == index.key(2));
}

TEST_CASE("verify: a file one byte shorter or longer is found quickly") {
  for_each_format([](const Packed& packed) {
    for (const std::string& file : packed.files()) {
      const std::string whole = read_text(packed.path / file);
      for (const std::string& other :
           {whole.substr(0, whole.size() - 1), whole + '\0', std::string()}) {
        CAPTURE(file);
        put(packed.path / file, other);
        CHECK(names(packed.verify(VerifyLevel::kQuick), file));
        CHECK(names(packed.verify(VerifyLevel::kFull), file));
      }
      put(packed.path / file, whole);
    }
    CHECK(packed.verify(VerifyLevel::kQuick).ok());
  });
}

TEST_CASE("verify: a missing file is found quickly") {
  for_each_format([](const Packed& packed) {
    for (const std::string& file : packed.files()) {
      if (file == kManifestName) continue;
      CAPTURE(file);
      fs::rename(packed.path / file, packed.directory / "aside");
      const VerifyReport report = packed.verify(VerifyLevel::kQuick);
      CHECK(names(report, file));
      CHECK(names_no_other_shard(report, file));
      CHECK_FALSE(packed.verify(VerifyLevel::kFull).ok());
      fs::rename(packed.directory / "aside", packed.path / file);
    }
  });
}

TEST_CASE("verify: without dataset.json there is no dataset") {
  const Packed packed(find_format("wds"));
  fs::remove(packed.path / "dataset.json");
  CHECK(kind_of_error([&] { packed.verify(VerifyLevel::kQuick); }) == ErrorKind::kNotFound);
  CHECK(kind_of_error([&] { verify(packed.directory / "no", {}); }) == ErrorKind::kNotFound);
}

TEST_CASE("verify: edits of dataset.json that leave its id right are found") {
  const std::pair<const char*, const char*> edits[] = {{" \"format\"", "  \"format\""},
                                                       {"\"packhorse\": \"", "\"packhorse\": \"9"},
                                                       {"\"samples\": 10,", "\"samples\": 10.5,"},
                                                       {"\"split\"", "\"note\": 1, \"split\""}};
  for (const auto& [from, to] : edits) {
    CAPTURE(to);
    const Packed packed(find_format("wds"));
    packed.edit(kManifestName, from, to);
    const VerifyReport report = packed.verify(VerifyLevel::kQuick);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::kManifest);
    CHECK(report.findings[0].shard == "dataset.json");
  }
}

TEST_CASE("verify: a manifest that was written anew with other content is found") {
  const Packed packed(find_format("wds"));
  Manifest manifest = Manifest::load(packed.path);
  ++manifest.seed;
  put(packed.path / kManifestName, manifest.serialise());
  CHECK(names(packed.verify(VerifyLevel::kQuick), "dataset.json"));
}

TEST_CASE("verify: counts that do not add up are found, though every sum fits") {
  const Packed packed(find_format("wds"));
  Manifest manifest = Manifest::load(packed.path);
  ++manifest.accounting.seen;
  put(packed.path / kManifestName, manifest.serialise());
  put(packed.path / kSumsName, manifest.sums());
  const VerifyReport report = packed.verify(VerifyLevel::kQuick);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].detail == "its counts do not add up");
}

TEST_CASE("verify: any edit of SHA256SUMS is found") {
  const Packed packed(find_format("wds"));
  const std::string good = read_text(packed.path / kSumsName);
  const std::string first_line = good.substr(0, good.find('\n') + 1);
  for (const std::string& text :
       {std::string(), good + "\n", first_line + good, good.substr(first_line.size()),
        std::string(64, '0') + good.substr(64), good + "0  another\n"}) {
    put(packed.path / kSumsName, text);
    const VerifyReport report = packed.verify(VerifyLevel::kQuick);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::kManifest);
  }
}

TEST_CASE("verify: shards that were swapped are found") {
  for_each_format([](const Packed& packed) {
    const Manifest manifest = Manifest::load(packed.path);
    rename_exchange(packed.path / manifest.shards[0].file, packed.path / manifest.shards[1].file);
    const VerifyReport report = packed.verify(VerifyLevel::kFull);
    CHECK(names(report, manifest.shards[0].file));
    CHECK(names(report, manifest.shards[1].file));
  });
}

TEST_CASE(
    "verify: a shard that its own library reads otherwise than its index is found, though every "
    "sum fits") {
  for_each_format([](const Packed& packed) {
    Manifest manifest = Manifest::load(packed.path);
    ShardRecord& shard = manifest.shards[0];
    ShardIndexWriter other;
    {
      const ShardIndex index(packed.path / shard.index);
      for (std::size_t row = 0; row < index.size(); ++row) {
        const std::int64_t label = index.label(row) ^ (row == 1 ? 1 : 0);
        other.add({index.range(row), index.hash(row), label, index.image(row),
                   std::string(index.key(row)), ""});
      }
    }
    const std::string text = other.serialise(shard.bytes);
    shard.index_bytes = text.size();
    shard.index_sha256 = sha256(as_bytes(text));
    put(packed.path / shard.index, text);
    put(packed.path / kManifestName, manifest.serialise());
    put(packed.path / kSumsName, manifest.sums());
    CHECK(packed.verify(VerifyLevel::kQuick).ok());
    const VerifyReport report = packed.verify(VerifyLevel::kFull);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].kind == FindingKind::kStructure);
    CHECK(report.findings[0].sample == 1);
  });
}

TEST_CASE("verify: a later manifest version is an Error, not damage") {
  const Packed packed(find_format("wds"));
  const std::string text = read_text(packed.path / kManifestName);
  put(packed.path / kManifestName, test::as_later_version(text));
  CHECK(kind_of_error([&] { packed.verify(VerifyLevel::kQuick); }) == ErrorKind::kUnsupported);
}

TEST_CASE("verify: a stop that was requested interrupts") {
  const Packed packed(find_format("wds"));
  std::stop_source stop;
  stop.request_stop();
  CHECK(kind_of_error([&] {
          verify(packed.path, {VerifyLevel::kFull, 1}, nullptr, stop.get_token());
        }) == ErrorKind::kInterrupted);
}

TEST_CASE("verify: any number of threads finds the same") {
  const Packed packed(find_format("wds"));
  for (const char* file : {"shard-000000.tar", "shard-000001.tar", "shard-000002.tar"})
    flip_byte(packed.path / file, 600);
  std::vector<std::string> shards[2];
  for (const int i : {0, 1}) {
    for (const Finding& finding : verify(packed.path, {VerifyLevel::kFull, 1 + 6 * i}).findings) {
      shards[i].push_back(finding.shard + finding.key);
    }
  }
  CHECK(shards[0].size() == 3);
  CHECK(shards[0] == shards[1]);
}

}  // namespace packhorse
