#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

#include "inspect/sample_choice.h"
#include "shared/request.h"

namespace packhorse::inspect {

/// `--list`: a line for each chosen sample.
class ListAction {
 public:
  ListAction(const Request& request, const SampleChoice& choice)
      : request_(request), choice_(choice) {}
  void setup(CLI::App& app);
  bool wanted() const { return list_; }
  /// Throws as SampleChoice::choose() does.
  int run(const std::vector<std::filesystem::path>& paths) const;

 private:
  const Request& request_;
  const SampleChoice& choice_;
  bool list_ = false;
};

}  // namespace packhorse::inspect
