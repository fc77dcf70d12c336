#include "loader/batch_fields.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "packhorse/reader/loader.h"
#include "unit/reader/fixtures.h"

namespace packhorse::reader::test {

namespace {

/// A NumPy file of version 1 with that header and those bytes.
std::string npy(const std::string& type, const std::string& shape, const std::string& bytes,
                const std::string& order = "False") {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': (" + shape + "), }\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  return file + header + bytes;
}

/// Ten images with a text, which sample 3 does not have, and an array.
class FieldDataset : public MemoryDataset {
 public:
  FieldDataset() : MemoryDataset(make_dataset(10)->contents()) {
    for (std::size_t i = 0; i < size(); ++i) {
      texts_[i] = "text " + std::to_string(i);
      arrays[i] = npy("<u2", "2,", std::string(4, static_cast<char>(i)));
    }
  }
  const std::vector<std::string>& fields() const override { return names_; }
  bool read_field(std::size_t i, std::size_t field, std::vector<std::byte>& out) const override {
    if (field == 1 && i == 3) return false;
    const std::string& bytes = field == 0 ? arrays.at(i) : texts_.at(i);
    out.assign(as_bytes(bytes).begin(), as_bytes(bytes).end());
    return !bytes.empty();
  }

  std::map<std::size_t, std::string> arrays;
  void set_text(std::size_t i, const std::string& text) { texts_[i] = text; }

 private:
  std::vector<std::string> names_{"emb.npy", "txt"};
  std::map<std::size_t, std::string> texts_;
};

LoaderOptions with_fields(std::vector<std::string> names, int workers = 2) {
  return {.batch_size = 4,
          .workers = workers,
          .augment = Resize{8},
          .fields = std::move(names),
          .tail = Tail::kKeep};
}

std::string error_of(const std::shared_ptr<FieldDataset>& dataset, std::vector<std::string> names) {
  try {
    Loader loader(dataset, with_fields(std::move(names)));
    loader.start_epoch(0);
    while (loader.next()) continue;
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

bool says(const std::string& text, const std::string& words) {
  CAPTURE(text);
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("batch fields: each sample has its own fields, whether batches are kept or not") {
  for (const int workers : {0, 3}) {
    const auto dataset = std::make_shared<FieldDataset>();
    Loader loader(dataset, with_fields({"txt", "emb.npy"}, workers));
    std::vector<std::vector<BatchField>> kept;
    std::vector<std::vector<std::uint64_t>> samples;
    for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
      loader.start_epoch(epoch);
      while (std::optional<Batch> batch = loader.next()) {
        samples.emplace_back(batch->samples().begin(), batch->samples().end());
        REQUIRE(batch->fields().size() == 2);
        kept.push_back(epoch % 2 == 0 ? batch->take_fields() : batch->fields());
        if (epoch % 2 == 1) {  // a copy: the slot's memory will be another batch's
          auto copy = std::make_shared<std::byte[]>(16);
          std::copy_n(kept.back()[1].numbers.get(), 16, copy.get());
          kept.back()[1].numbers = copy;
        }
      }
    }
    REQUIRE(kept.size() == 12);
    for (std::size_t b = 0; b < kept.size(); ++b) {
      for (std::size_t i = 0; i < samples[b].size(); ++i) {
        const std::uint64_t sample = samples[b][i];
        const auto& text = kept[b][0].values[i];
        REQUIRE(text.has_value() == (sample != 3));
        if (text) REQUIRE(as_text(*text) == "text " + std::to_string(sample));
        const std::byte* const numbers = kept[b][1].numbers.get();
        REQUIRE(numbers[4 * i + 3] == static_cast<std::byte>(sample));
      }
    }
    CHECK(kept[0][0].is_text);
    CHECK(kept[0][1].type == "<u2");
    CHECK(kept[0][1].shape == std::vector<std::size_t>{2});
  }
}

TEST_CASE("batch fields: what cannot be read or stacked is refused, with field and sample") {
  const auto with_array = [](std::size_t sample, const std::string& file) {
    const auto dataset = std::make_shared<FieldDataset>();
    dataset->arrays[sample] = file;
    return error_of(dataset, {"emb.npy"});
  };
  const auto good = std::make_shared<FieldDataset>();
  CHECK(error_of(good, {"txt", "emb.npy"}).empty());
  CHECK(says(error_of(good, {"json"}), "no sample has a field 'json'"));
  CHECK(says(error_of(good, {"txt", "txt"}), "named twice"));
  for (const std::size_t sample : {std::size_t{0}, std::size_t{7}}) {
    const std::string place = "memory sample " + std::to_string(sample) + ": field 'emb.npy': ";
    const std::pair<std::string, std::string> cases[] = {
        {"", "has no such array"},
        {"no array", "it does not start so"},
        {npy("<u2", "2,", "abc"), "its size is not the one in its header"},
        {npy("|O", "2,", "abcd"), "the type |O cannot be stacked"},
        {npy(">u2", "2,", "abcd"), "the type >u2 cannot be stacked"},
        {npy("<u3", "2,", "abcdef"), "the type <u3 cannot be stacked"},
        {npy("<u2", "1, 2", "abcd", "True"), "in Fortran order"},
        {npy("<u2", "4294967296, 4294967296", "abcd"), "more than 64 MiB"},
        {npy("<u2", "0, 18446744073709551615", ""), "more than 64 MiB"}};
    for (const auto& [file, words] : cases) {
      CAPTURE(words);
      const std::string text = with_array(sample, file);
      CHECK(says(text, words));
      CHECK(says(text, place));
    }
  }
  CHECK(says(with_array(5, npy("<u2", "1, 2", "abcd")),
             "the array is <u2 [1, 2], the first sample's is <u2 [2]: they cannot be stacked"));
  CHECK(says(with_array(5, npy("<i2", "2,", "abcd")), "they cannot be stacked"));
  const auto dataset = std::make_shared<FieldDataset>();
  dataset->set_text(6, "\xff");
  CHECK(says(error_of(dataset, {"txt"}), "memory sample 6: field 'txt': the text is not UTF-8"));
}

}  // namespace packhorse::reader::test
