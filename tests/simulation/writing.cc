#include <fmt/format.h>

#include "base/hash.h"
#include "dataset/url.h"
#include "simulation/operator.h"
#include "simulation/scenarios.h"
#include "storage/object_store.h"

namespace packhorse::simulation {

namespace {

constexpr const char* kKey = "w/key";
constexpr std::size_t kOfParts = (8u << 20) + 3;  // one that is stored in two parts

std::string content_of(std::uint64_t writer, bool in_parts) {
  std::string content = fmt::format("what writer {} writes", writer);
  if (in_parts) content.resize(kOfParts, static_cast<char>('a' + writer));
  return content;
}

void refuse_uploads(const World& world) {
  for (const std::string& upload : world.bucket.uploads(""))
    throw Violation("an upload is left over: " + upload);
}

}  // namespace

/// Some writers store different objects of the same key: one of them wins, and all others learn
/// that there is one.
void writers_of_a_key(World& world, const Sample&, const std::filesystem::path&) {
  std::vector<Command> commands;
  std::vector<std::string> contents;
  const std::uint64_t count = 1 + world.chance.below(4);
  const bool in_parts = world.chance.once_in(2);
  for (std::uint64_t writer = 0; writer < count; ++writer)
    contents.push_back(content_of(world.chance.once_in(4) ? 0 : writer, in_parts));
  for (const std::string& content : contents) {
    commands.push_back({.name = "writer", .machine = any_machine(world), .body = [&content] {
                          const auto store = open_store(parse_url("s3://bucket/w"));
                          return std::string(
                              store->write({"key", as_bytes(content), sha256(as_bytes(content))})
                                  ? "stored"
                                  : "there is one");
                        }});
    commands.back().said = [&](const std::string& said) {
      const auto found = world.bucket.objects().find(kKey);
      if (found == world.bucket.objects().end()) throw Violation("there is none: " + said);
      if (said == "stored" && found->second.content != content)
        throw Violation("a writer says that its object is stored, which is another's");
    };
  }
  Operator(world, std::move(commands)).run();
  const std::string& stored = world.bucket.objects().at(kKey).content;
  if (std::find(contents.begin(), contents.end(), stored) == contents.end())
    throw Violation("what is stored is nobody's");
  if (!world.faults.happened) refuse_uploads(world);  // each has ended its own
  world.faults.left = 0;
  Operator(world, {{.name = "clear",
                    .machine = 0,
                    .body =
                        [] {
                          open_store(parse_url("s3://bucket/w"))->end_uploads({"key"});
                          return std::string();
                        }}})
      .run();
  if (world.network.had_late_requests()) return;  // they may leave anything behind
  refuse_uploads(world);
}

}  // namespace packhorse::simulation
