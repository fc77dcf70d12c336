#include "packing/option_table.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "support/support.h"

using namespace packhorse;
using Kind = Option::Kind;
using Effect = Option::Effect;

namespace {

/// A value of the option that is not its default.
OptionValues other_value(const PackOption& option) {
  static const std::map<std::string_view, OptionValues> kGrammar = {
      {"compress", {"zstd:7"}}, {"split", {"80:20"}}, {"task", {"1/3"}}, {"targets", {"voc"}}};
  if (const auto found = kGrammar.find(option.name); found != kGrammar.end()) return found->second;
  switch (option.kind) {
    case Kind::kFlag:
    case Kind::kOff:
      return {};
    case Kind::kInteger:
      return {std::to_string(option.most < 7 ? option.least : 7)};
    case Kind::kSize:
      return {"64MiB"};
    case Kind::kChoice:
      return {option.choices().back()};
    case Kind::kNamedTexts:
      return {"seg.png=masks"};
    case Kind::kClassNames:
      return {"cat", "dog"};
    default:
      return {"7"};
  }
}

PackOptions with(const PackOption& option) {
  PackOptions options;
  option.set(options, other_value(option));
  return options;
}

}  // namespace

TEST_CASE(
    "option table: names are unique, those of a group stand together, and all are described") {
  std::set<std::string_view> names;
  std::set<OptionGroup> groups;
  OptionGroup last = pack_options().front().group;
  for (const PackOption& option : pack_options()) {
    CAPTURE(option.name);
    CHECK(names.insert(option.name).second);
    CHECK(find_pack_option(option.name) == &option);
    CHECK(option.help.size() > 10);
    CHECK((option.kind == Kind::kOff) == !option.off.empty());
    for (const std::string_view other : option.excludes)
      CHECK((other.empty() || names.contains(other)));
    if (option.group != last) CHECK(groups.insert(option.group).second);
    last = option.group;
  }
  CHECK(find_pack_option("sample_per_class") == nullptr);
}

TEST_CASE("option table: another value is another text") {
  for (const PackOption& option : pack_options()) {
    CAPTURE(option.name);
    CHECK(option.text(with(option)) != option.text({}));
  }
}

TEST_CASE(
    "option table: what changes samples changes their name, and what a task does not see, none") {
  for (const PackOption& option : pack_options()) {
    CAPTURE(option.name);
    const PackOptions other = with(option);
    const bool made = option.effect == Effect::kBytes || option.effect == Effect::kRejects;
    const bool files = option.kind == Kind::kFiles || option.kind == Kind::kPath;
    CHECK((name_of_making(other) != name_of_making({})) == made);
    CHECK((name_of_all(other) != name_of_all({})) ==
          (made || (option.effect == Effect::kListing && !files)));
  }
}

TEST_CASE("option table: these options change nothing that is packed, and no others") {
  std::set<std::string_view> without_effect;
  for (const PackOption& option : pack_options())
    if (option.effect == Effect::kNeither) without_effect.insert(option.name);
  CHECK(without_effect == std::set<std::string_view>{"allow_odd_classes", "check_space", "dry_run",
                                                     "finish", "jobs", "max_rejects", "memory",
                                                     "overwrite", "staging", "task"});
}

TEST_CASE("option table: several texts are not one") {
  PackOptions one, two;
  one.select.include = {"a b"};
  two.select.include = {"a", "b"};
  CHECK(name_of_all(one) != name_of_all(two));
  one.select.include = {};
  one.select.exclude = {"a"};
  two.select.include = {"a"};
  CHECK(name_of_all(one) != name_of_all(two));
}

TEST_CASE("option table: values out of range, exclusive options and unused settings are refused") {
  const auto refuses = [](const GivenOptions& given) {
    PackOptions options;
    return test::kind_of_error([&] { set_options(options, given); }) == ErrorKind::kUsage;
  };
  for (const char* const text : {"0", "-1", "01", "+1", "x", "", "18446744073709551616"})
    CHECK(refuses({{"limit", {text}}}));
  CHECK(refuses({{"image", {"resize"}}, {"quality", {"101"}}}));
  CHECK(refuses({{"quality", {"90"}}}));
  CHECK(refuses({{"shard_samples", {"7"}}, {"shard_bytes", {"1MiB"}}}));
  CHECK(refuses({{"shuffle", {}}, {"seed", {"7"}}}));
  CHECK(refuses({{"deduplicate", {"keep"}}}));
  PackOptions options;
  set_options(options, {{"image", {"resize"}}, {"quality", {"90"}}, {"shard_bytes", {"none"}}});
  CHECK(options.transform.quality == 90);
  CHECK(options.plan.shard_bytes == 0);
}

TEST_CASE("option table: a packed dataset keeps its order unless a seed is given, be it 0") {
  PackOptions options;
  set_options(options, {{"shuffle", {}}});
  CHECK_FALSE(options.reorder);
  CHECK_FALSE(options.plan.shuffle);
  set_options(options, {{"seed", {"0"}}});
  CHECK(options.reorder);
}

TEST_CASE("options in texts: shown as the program says, and as they are where it says nothing") {
  const std::string text =
      "give `labels=FILE` or `unlabelled=true`; `h5ls -r FILE` lists, `a b=c`, `pack(IN, limit=3)` "
      "and `x=";
  const CommandCall command{"pack", {"a b"}, {{"targets", "x, y"}}};
  CHECK(spelled(text) == text);
  CHECK(opt("labels", "FILE") == "`labels=FILE`");
  CHECK(call(command) == "pack(a b, targets=x, y)");
  static constexpr OptionSpelling kAngles = {[](std::string_view name, std::string_view value) {
                                               return "<" + std::string(name) + "|" +
                                                      std::string(value) + ">";
                                             },
                                             [](const CommandCall& one) {
                                               std::string all = one.command;
                                               for (const std::string& argument : one.arguments)
                                                 all += " " + argument;
                                               for (const auto& [name, value] : one.options)
                                                 all += " " + opt(name, value);
                                               return all;
                                             }};
  spell_options(&kAngles);
  const std::string shown = spelled(text), named = opt("limit"), twice = spelled("``limit=``");
  const std::string called = call(command);
  spell_options(nullptr);
  CHECK(shown ==
        "give <labels|FILE> or <unlabelled|true>; `h5ls -r FILE` lists, `a b=c`, "
        "`pack IN <limit|3>` and `x=");
  CHECK(named == "<limit|>");
  CHECK(twice == "`<limit|>`");
  CHECK(called == "pack a b <targets|x, y>");
}
