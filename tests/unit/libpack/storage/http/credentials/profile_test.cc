#include "storage/http/credentials.h"
#include "support/support.h"
#include "unit/libpack/storage/http/credentials/world.h"

namespace packhorse {

TEST_CASE("ini file: parts, settings and comments") {
  const IniFile file = parse_ini(
      "\xef\xbb\xbf# mine\r\n"
      "; and this\r\n"
      "[default]\r\n"
      "AWS_Access_Key_Id = AKIA\r\n"
      "aws_secret_access_key=a=b#c;d/+==\r\n"
      "\r\n"
      "  # further in\r\n"
      "region = eu-west-1 # where we are\r\n"
      "output =\r\n"
      "[ profile \t two ] ; the other\r\n"
      "[profile \"a name\"]\n"
      "region\t=\t x y \n"
      "[default]\n"
      "region = us-west-2");
  CHECK(file == IniFile{{"default",
                         {{"aws_access_key_id", "AKIA"},
                          {"aws_secret_access_key", "a=b#c;d/+=="},
                          {"region", "us-west-2"},
                          {"output", ""}}},
                        {"profile two", {}},
                        {"profile a name", {{"region", "x y"}}}});
}

TEST_CASE("ini file: settings below another bear its name") {
  const IniFile file = parse_ini(
      "[services here]\n"
      "s3 =\n"
      "  Endpoint_URL = http://localhost:8333  # ours\n"
      "  addressing_style = path\n"
      "sts =\n"
      "\tendpoint_url = http://localhost:1\n"
      "ca_bundle = a\n"
      "  b = c\n");
  CHECK(file == IniFile{{"services here",
                         {{"s3", ""},
                          {"s3.endpoint_url", "http://localhost:8333"},
                          {"s3.addressing_style", "path"},
                          {"sts", ""},
                          {"sts.endpoint_url", "http://localhost:1"},
                          {"ca_bundle", "a\nb = c"}}}});
}

TEST_CASE("ini file: a part whose settings all stand further in has them all the same") {
  CHECK(parse_ini("[a]\n  x = 1\n  y = 2\n[b]\n  z = 3\n") ==
        IniFile{{"a", {{"x", "1"}, {"y", "2"}}}, {"b", {{"z", "3"}}}});
}

TEST_CASE("ini file: an empty one is none") {
  CHECK(parse_ini("").empty());
  CHECK(parse_ini("\n\n  \n# nothing").empty());
}

TEST_CASE("ini file: an error names the line, and none of its text") {
  const std::pair<const char*, const char*> wrong[] = {{"[a]\n\nsecret", "line 3"},
                                                       {"secret = 1", "line 1"},
                                                       {"[secret", "line 1"},
                                                       {"[a] secret", "line 1"},
                                                       {"[ ]\nsecret = 1", "line 1"},
                                                       {"[a]\n= secret", "line 2"},
                                                       {"[a]\nb =\n = secret", "line 3"},
                                                       {"[a]\nb = \x1bsecret", "line 2"}};
  for (const auto& [text, line] : wrong) {
    CAPTURE(text);
    CHECK(test::kind_of_error([&] { parse_ini(text); }) == ErrorKind::kUsage);
    const std::string error = test::error_of([&] { parse_ini(text); });
    CHECK(test::says(error, line));
    CHECK(!test::says(error, "secret"));
  }
  CHECK(test::kind_of_error([] { parse_ini(std::string((1u << 20) + 1, '\n')); }) ==
        ErrorKind::kUsage);
}

using test::World;

namespace {

S3Place place_in(World& world, const StorageOptions& options = {}) {
  return s3_place(options, world.surroundings());
}

}  // namespace

TEST_CASE("s3 place: is AWS's first region when nothing is set") {
  World world;
  const S3Place place = place_in(world);
  CHECK(place.endpoint == "https://s3.us-east-1.amazonaws.com");
  CHECK(place.region == "us-east-1");
  CHECK(place.virtual_host);
}

TEST_CASE("s3 place: the region is the option's, a variable's, the profile's") {
  World world;
  world.files["/home/me/.aws/config"] = "[default]\nregion = eu-south-1\n";
  CHECK(place_in(world).endpoint == "https://s3.eu-south-1.amazonaws.com");
  world.variables["AWS_DEFAULT_REGION"] = "eu-west-2";
  CHECK(place_in(world).region == "eu-west-2");
  world.variables["AWS_REGION"] = "eu-west-1";
  CHECK(place_in(world).region == "eu-west-1");
  StorageOptions options;
  options.region = "cn-north-1";
  CHECK(place_in(world, options).endpoint == "https://s3.cn-north-1.amazonaws.com.cn");
  CHECK(place_in(world, options).virtual_host);
  CHECK(place_in(world, options).in_region("eu-west-3").endpoint ==
        "https://s3.eu-west-3.amazonaws.com");
  options.endpoint = "http://localhost:8333";
  CHECK(place_in(world, options).in_region("eu-west-3").endpoint == "http://localhost:8333");
  CHECK(place_in(world, options).in_region("eu-west-3").region == "eu-west-3");
}

TEST_CASE("s3 place: an endpoint of one's own has buckets in its paths") {
  World world;
  world.variables["AWS_ENDPOINT_URL_STS"] = "http://sts:1";
  world.files["/home/me/.aws/config"] =
      "[profile a]\nendpoint_url = http://all/\n"
      "[profile b]\nendpoint_url = http://all\nservices = x\n"
      "[services x]\ns3 =\n  endpoint_url = HTTP://One:80/Up/\n";
  world.variables["AWS_PROFILE"] = "a";
  CHECK(place_in(world).endpoint == "http://all");
  CHECK(!place_in(world).virtual_host);
  world.variables["AWS_PROFILE"] = "b";
  CHECK(place_in(world).endpoint == "http://one/Up");
  world.variables["AWS_ENDPOINT_URL"] = "http://[::1]:8333";
  CHECK(place_in(world).endpoint == "http://[::1]:8333");
  world.variables["AWS_ENDPOINT_URL_S3"] = "http://localhost:8333/";
  CHECK(place_in(world).endpoint == "http://localhost:8333");
  StorageOptions options;
  options.endpoint = "https://storage.example:443";
  CHECK(place_in(world, options).endpoint == "https://storage.example");
  CHECK(place_in(world, options).region == "us-east-1");
  world.variables["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true";
  CHECK(place_in(world).endpoint == "https://s3.us-east-1.amazonaws.com");
  CHECK(place_in(world, options).endpoint == "https://storage.example");
}

TEST_CASE("s3 place: the profile says whether buckets are hosts") {
  World world;
  StorageOptions options;
  options.endpoint = "https://s3.eu-west-1.amazonaws.com/";
  CHECK(place_in(world, options).virtual_host);
  world.files["/home/me/.aws/config"] = "[default]\ns3 =\n  addressing_style = path\n";
  CHECK(!place_in(world, options).virtual_host);
  options.endpoint = "https://oss.example.com";
  world.files["/home/me/.aws/config"] = "[default]\ns3 =\n  addressing_style = virtual\n";
  CHECK(place_in(world, options).virtual_host);
}

TEST_CASE("s3 place: hosts that only look like AWS's are not") {
  World world;
  StorageOptions options;
  for (const char* const endpoint :
       {"https://s3.amazonaws.com.evil.example", "https://s3.evil-amazonaws.com",
        "https://evil.example/s3.eu-west-1.amazonaws.com"}) {
    CAPTURE(endpoint);
    options.endpoint = endpoint;
    CHECK(!place_in(world, options).virtual_host);
  }
}

TEST_CASE("s3 place: what cannot be an endpoint or a region is refused, and says whose it is") {
  World world;
  for (const char* const region : {"-eu", "eu west", "evil.example/", "a@b", "eu\n"}) {
    CAPTURE(region);
    world.variables["AWS_REGION"] = region;
    CHECK(test::kind_of_error([&] { place_in(world); }) == ErrorKind::kUsage);
    CHECK(test::says(test::error_of([&] { place_in(world); }), "AWS_REGION"));
  }
  world.variables.erase("AWS_REGION");
  for (const char* const endpoint : {"localhost:8333", "s3://bucket", "https://host/?secret",
                                     "https://user:secret@host", "ftp://host"}) {
    CAPTURE(endpoint);
    world.variables["AWS_ENDPOINT_URL_S3"] = endpoint;
    CHECK(test::kind_of_error([&] { place_in(world); }) == ErrorKind::kUsage);
    const std::string error = test::error_of([&] { place_in(world); });
    CHECK(test::says(error, "AWS_ENDPOINT_URL_S3"));
    CHECK(!test::says(error, "secret"));
  }
}

TEST_CASE("s3 place: a file that cannot be read is named") {
  World world;
  world.variables["AWS_CONFIG_FILE"] = "~/mine";
  world.files["/home/me/mine"] = "[default]\nsecret\n";
  const std::string error = test::error_of([&] { place_in(world); });
  CHECK(test::says(error, "line 2"));
  CHECK(test::says(error, "/home/me/mine"));
  CHECK(!test::says(error, "secret"));
}

}  // namespace packhorse
