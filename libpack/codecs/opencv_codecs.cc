#include "packhorse/codecs/opencv_codecs.h"

#include <dlfcn.h>

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <type_traits>

#include "packhorse/base/error.h"

namespace packhorse::opencv_codecs {

namespace {

using Decode = cv::Mat (*)(cv::InputArray, int);
using Encode = bool (*)(const std::string&, cv::InputArray, std::vector<unsigned char>&,
                        const std::vector<int>&);
// The symbols below name functions of these types: the header must have them, too.
static_assert(std::is_same_v<decltype(static_cast<Decode>(&cv::imdecode)), Decode>);
static_assert(std::is_same_v<decltype(static_cast<Encode>(&cv::imencode)), Encode>);

struct Library {
  Decode decode;
  Encode encode;
};

[[noreturn]] void refuse() {
  const char* why = ::dlerror();
  throw Error(ErrorKind::kNotFound,
              std::string("OpenCV's image codecs cannot be loaded: ") + (why ? why : "unknown"),
              PACKHORSE_OPENCV_IMGCODECS,
              "install OpenCV's imgcodecs, version " CV_VERSION " (scripts/setup does)");
}

template <class Function>
Function find(void* library, const char* name) {
  void* symbol = ::dlsym(library, name);
  if (symbol == nullptr) refuse();
  return reinterpret_cast<Function>(symbol);
}

const Library& library() {
  static const Library kLibrary = [] {
    void* handle = ::dlopen(PACKHORSE_OPENCV_IMGCODECS, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) refuse();
    return Library{
        find<Decode>(handle, "_ZN2cv8imdecodeERKNS_11_InputArrayEi"),
        find<Encode>(handle,
                     "_ZN2cv8imencodeERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
                     "RKNS_11_InputArrayERSt6vectorIhSaIhEERKSB_IiSaIiEE")};
  }();
  return kLibrary;
}

}  // namespace

cv::Mat decode(const cv::Mat& bytes, Pixels pixels) {
  return library().decode(bytes, pixels == Pixels::kColour
                                     ? cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION
                                     : cv::IMREAD_UNCHANGED);
}

bool encode(const std::string& extension, const cv::Mat& image, std::vector<unsigned char>& bytes,
            const std::vector<int>& parameters) {
  return library().encode(extension, image, bytes, parameters);
}

}  // namespace packhorse::opencv_codecs
