#include <opencv2/core.hpp>

#include "packhorse/base/error.h"
#include "packhorse/codecs/opencv_codecs.h"

namespace packhorse::opencv_codecs {

namespace {

[[noreturn]] void refuse(const char* what) {
  throw Error(ErrorKind::kUnsupported,
              std::string("this build of packhorse ") + what +
                  " only JPEG, PGM and PPM: convert such images with Pillow",
              {}, "or build packhorse with PACKHORSE_IMAGE_CODECS");
}

}  // namespace

cv::Mat decode(const cv::Mat&, Pixels) { refuse("decodes"); }

bool encode(const std::string&, const cv::Mat&, std::vector<unsigned char>&,
            const std::vector<int>&) {
  refuse("makes");
}

}  // namespace packhorse::opencv_codecs
