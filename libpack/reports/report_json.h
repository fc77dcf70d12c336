#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

/// Reports as JSON: the commands print them with --json, and programs get them from the library.
/// Later versions only add members. Users of these headers need nlohmann_json.
namespace packhorse {

using ReportJson = nlohmann::ordered_json;  ///< members stay in the order they were put in

/// The text of a report, with a line break at its end. Text in it that is not UTF-8 (file names may
/// be anything) is replaced character by character, what could steer a terminal is escaped, and
/// secrets of addresses are hidden.
std::string json_text(ReportJson json);
/// The same on one line.
std::string json_line(ReportJson json);
/// The same for the samples of datasets, without hiding secrets: their names are the names of
/// files.
std::string exact_json_text(const ReportJson& json);

/// Combines reports on the datasets `paths`, which were found at `path`: one dataset gives its own
/// report, a directory of splits {"datasets": [...]}.
ReportJson one_report(const std::filesystem::path& path,
                      const std::vector<std::filesystem::path>& paths,
                      const std::vector<ReportJson>& reports);

}  // namespace packhorse
