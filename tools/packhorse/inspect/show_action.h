#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "packhorse/dataset/packed_dataset.h"
#include "shared/request.h"

namespace packhorse::inspect {

/// `--show SAMPLE`: one sample's line, and with `-o` its bytes or, with `--draw`, its picture.
class ShowAction {
 public:
  explicit ShowAction(const Request& request) : request_(request) {}
  void setup(CLI::App& app);
  bool wanted() const { return !show_.empty(); }
  bool decodes() const { return draw_; }
  /// Throws Error(kUsage) for several datasets, Error(kNotFound | kCorrupt | kIo).
  int run(const std::vector<std::filesystem::path>& paths) const;

 private:
  std::size_t find(const PackedDataset& dataset) const;
  std::vector<std::byte> bytes_of(const PackedDataset& dataset, std::size_t sample) const;

  std::vector<std::byte> drawn(const PackedDataset& dataset, std::size_t sample) const;

  const Request& request_;
  std::string show_, output_, field_;
  bool draw_ = false;
};

}  // namespace packhorse::inspect
