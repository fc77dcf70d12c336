#include "annotations/json_values.h"

#include <bit>
#include <nlohmann/json.hpp>
#include <random>

#include "support/support.h"

namespace packhorse {

namespace {

std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

}  // namespace

TEST_CASE("json values: numbers are those of nlohmann's parser, bit for bit") {
  std::vector<std::string> numbers = {"0",
                                      "-0",
                                      "-0.0",
                                      "0.1",
                                      "1e23",
                                      "1e-400",
                                      "-1e-400",
                                      "4.9e-324",
                                      "2.4e-324",
                                      "1E+2",
                                      "9007199254740993",
                                      "-9223372036854775809",
                                      "18446744073709551616",
                                      "1.7976931348623157e308"};
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    numbers.push_back(nlohmann::json(std::bit_cast<double>(random() >> 2)).dump());
    numbers.push_back(std::to_string(random() % 100'000) + '.' + std::to_string(random() % 1000));
  }
  std::string list = "[ ";
  for (const std::string& number : numbers) list += (list.size() > 2 ? " ,\n" : "") + number;
  const std::vector<double> read = numbers_of(list + "\t]", "list");
  REQUIRE(read.size() == numbers.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    CAPTURE(numbers[i]);
    CHECK(bits_of(read[i]) == bits_of(nlohmann::json::parse(numbers[i]).get<double>()));
    CHECK(bits_of(read[i]) == bits_of(number_of(numbers[i], "number")));
  }
}

TEST_CASE("json values: what is of another kind is said") {
  const auto why = [](const auto& work) -> std::string {
    try {
      work();
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  CHECK(why([] { numbers_of("[1,\"2\"]", "box"); }) == "its box is not a list of numbers");
  CHECK(why([] { numbers_of("[[1]]", "box"); }) == "its box is not a list of numbers");
  CHECK(why([] { numbers_of("12", "box"); }) == "its box is not a list");
  CHECK(why([] { number_of("true", "area"); }) == "its area is not a number");
  CHECK(why([] { whole_of("1.5", "width"); }) ==
        "its width is not a whole number, or too large a one");
  CHECK(why([] { text_of(R"({"name":null})", "name"); }) == "it has no name");
  CHECK(why([] { text_of(R"({"name":3})", "name"); }) == "its name is not a text");
  CHECK(why([] { value_of("[]", "name"); }) == "it is not a JSON object");
  CHECK(whole_of("40.0", "width") == 40);
  CHECK(numbers_of("[]", "box").empty());
}

TEST_CASE("json values: a secret is found behind escapes, too") {
  for (const char* json :
       {R"({"a":["https://user:word@host/x"]})", R"({"a":"https://user:word\u0040host/x"})"})
    CHECK(test::kind_of_error([&] { refuse_secrets(json); }) == ErrorKind::kCorrupt);
  refuse_secrets(R"({"counts":"https://user:word@host/x","b":"a@b c\\d"})");
}

}  // namespace packhorse
