#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// The processes in which `verify` walks shards with other people's libraries, which a damaged file
/// may crash or never let go. A program can be its own:
///
///     int main(int argc, char** argv) {
///       if (packhorse::is_walk_call(argc, argv)) return packhorse::serve_walks();
///       ...
///       options.walkers = packhorse::walkers_of_this_program();
namespace packhorse {

inline constexpr std::string_view kWalkArgument = "serve-walks";

/// Processes of one program that do walks: as many as walk at a time, started when they are needed
/// and kept for the next verification. Thread-safe.
class WalkerPool;

/// `command`: path of the program, and its arguments. Nothing is started yet.
std::shared_ptr<WalkerPool> make_walkers(std::vector<std::string> command);
/// This program, whose main() begins as above.
std::shared_ptr<WalkerPool> walkers_of_this_program();

}  // namespace packhorse
