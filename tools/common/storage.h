#pragma once

#include <string>

#include "common/program.h"
#include "dataset/simulated_storage.h"

/// Simulated storage on the command line and in reports.
namespace packhorse::program {

/// Help text for `--storage`: the presets with their figures, and how to give other delays.
std::string storages_text();

/// "1.5 ms to open, 0.5 ms to access, 1100 MB/s, 64 at a time".
std::string delays_text(const reader::StorageModel& storage);

/// {open_ms, access_ms, mb_per_s, depth}; null for no limit.
Json delays_json(const reader::StorageModel& storage);

/// What one must know to read a figure: processor, cores this process may use, memory, kernel.
Json machine_json();

}  // namespace packhorse::program
