#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "inspect/sample_choice.h"
#include "inspect/tile.h"
#include "shared/request.h"

namespace packhorse::inspect {

struct SheetLayout;

/// `--sheet FILE`: a picture of many samples with their classes and numbers.
class SheetAction {
 public:
  SheetAction(const Request& request, const SampleChoice& choice)
      : request_(request), choice_(choice) {}
  void setup(CLI::App& app);
  bool wanted() const { return !file_.empty(); }
  /// Returns kDamage when an image could not be shown; the sheet is written all the same. Throws
  /// Error(kUsage) for several datasets or a sheet that is too large, and as SampleChoice::choose()
  /// does.
  int run(const std::vector<std::filesystem::path>& paths) const;

 private:
  std::vector<std::size_t> picked(const PackedDataset& dataset) const;
  std::size_t of_a_class(const PackedDataset& dataset) const;
  SheetLayout layout(const PackedDataset& dataset, std::size_t tiles) const;
  void report(const PackedDataset& dataset, const std::vector<Tile>& tiles,
              const SheetLayout& layout, cv::Size size, bool printed) const;

  const Request& request_;
  const SampleChoice& choice_;
  std::string file_, of_ = "random";
  std::size_t count_ = 0;
  int tile_ = 128, columns_ = 0;
  std::uint64_t seed_ = 0;
};

}  // namespace packhorse::inspect
