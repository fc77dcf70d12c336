#include "packhorse/reader/library_versions.h"

#include <jconfig.h>

#include <opencv2/core/utility.hpp>

namespace packhorse::reader {

std::vector<std::pair<std::string, std::string>> library_versions() {
  const int number = LIBJPEG_TURBO_VERSION_NUMBER;
  return {{"libjpeg-turbo", std::to_string(number / 1000000) + "." +
                                std::to_string(number / 1000 % 1000) + "." +
                                std::to_string(number % 1000)},
          {"opencv", cv::getVersionString()}};
}

}  // namespace packhorse::reader
