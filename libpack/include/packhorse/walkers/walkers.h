#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// The processes in which `verify` reads shards with the formats' libraries, because a damaged file
/// may crash these or keep them busy for ever. A program can serve as its own walker:
///
///     int main(int argc, char** argv) {
///       if (packhorse::is_walk_call(argc, argv)) return packhorse::serve_walks();
///       ...
///       options.walkers = packhorse::walkers_of_this_program();
namespace packhorse {

inline constexpr std::string_view kWalkArgument = "serve-walks";

/// Processes of one program that do walks. There are as many as walk at the same time; they start
/// when needed and are kept for the next verification. Thread-safe.
class WalkerPool;

/// `command`: the program's path and its arguments. No process starts yet.
std::shared_ptr<WalkerPool> make_walkers(std::vector<std::string> command);
/// Walkers that run this program, whose main() begins as above.
std::shared_ptr<WalkerPool> walkers_of_this_program();

}  // namespace packhorse
