#include <doctest/doctest.h>

#include <opencv2/core.hpp>

#include "packhorse/base/error.h"
#include "packhorse/codecs/opencv_codecs.h"

namespace packhorse {

TEST_CASE("a build without image codecs: refuses their kinds, and names Pillow") {
  std::vector<unsigned char> bytes;
  for (const bool decoding : {true, false}) {
    try {
      if (decoding) opencv_codecs::decode({}, opencv_codecs::Pixels::kAsStored);
      if (!decoding) opencv_codecs::encode(".png", {}, bytes, {});
      FAIL("no Error was thrown");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kUnsupported);
      CHECK(std::string(error.what()).find("Pillow") != std::string::npos);
      CHECK(error.advice().find("PACKHORSE_IMAGE_CODECS") != std::string::npos);
    }
  }
}

}  // namespace packhorse
