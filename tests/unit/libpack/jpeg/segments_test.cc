#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "jpeg/decode/marker_segments.h"

namespace packhorse::jpeg {

namespace {

using namespace std::string_literals;

struct Walked {
  std::vector<int> markers;
  std::vector<std::size_t> ends;
  SegmentWalk::Stop why = SegmentWalk::Stop::kNone;
  std::size_t at = 0;
};

Walked walked(const std::string& file) {
  Walked result;
  SegmentWalk walk(as_bytes(file));
  while (const std::optional<Segment> segment = walk.next()) {
    result.markers.push_back(segment->marker);
    result.ends.push_back(segment->end);
    if (segment->marker == kSos) return result;
  }
  result.why = walk.why();
  result.at = walk.at();
  return result;
}

const std::string kStart = "\xff\xd8";

}  // namespace

TEST_CASE("segments: each with its body, up to the scan") {
  const std::string file = kStart + "\xff\xfe\0\4hi\xff\xda\0\3!data"s;
  SegmentWalk walk(as_bytes(file));
  const std::optional<Segment> comment = walk.next();
  REQUIRE(comment);
  CHECK(comment->marker == kCom);
  CHECK(as_text(comment->body) == "hi");
  CHECK(comment->begin == 2);
  CHECK(comment->end == 8);
  CHECK(walked(file).markers == std::vector<int>{kCom, kSos});
  CHECK(walked(file).ends.back() == 13);
}

TEST_CASE("segments: fill bytes are passed over, markers that stand alone have no body") {
  CHECK(walked(kStart + "\xff\xff\xff\xfe\0\2\xff\1\xff\xd3\xff\xd9"s).markers ==
        std::vector<int>{kCom, kTem, 0xd3, kEoi});
}

TEST_CASE("segments: the walk says why it ended, and where") {
  using Stop = SegmentWalk::Stop;
  const std::pair<std::string, Stop> cases[] = {{"", Stop::kFileEnds},
                                                {"x", Stop::kNoMarker},
                                                {"\xff\xfe", Stop::kBadLength},
                                                {"\xff\xfe\0"s, Stop::kBadLength},
                                                {"\xff\xfe\0\1"s, Stop::kBadLength},
                                                {"\xff\xfe\0\3"s, Stop::kBeyondEnd},
                                                {"\xff\xfe\0\2"s, Stop::kFileEnds}};
  for (const auto& [rest, why] : cases) {
    CAPTURE(rest.size());
    CHECK(walked(kStart + rest).why == why);
  }
  CHECK(walked(kStart + "\xff\xfe\0\2x"s).at == 6);
  CHECK(walked(kStart + "\xff").markers == std::vector<int>{0});
}

}  // namespace packhorse::jpeg
