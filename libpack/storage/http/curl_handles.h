#pragma once

#include <curl/curl.h>

#include <memory>

namespace packhorse {

template <auto Free>
struct CurlDeleter {
  template <class Handle>
  void operator()(Handle* handle) const {
    Free(handle);
  }
};
using EasyHandle = std::unique_ptr<CURL, CurlDeleter<curl_easy_cleanup>>;
using MultiHandle = std::unique_ptr<CURLM, CurlDeleter<curl_multi_cleanup>>;
using HeaderList = std::unique_ptr<curl_slist, CurlDeleter<curl_slist_free_all>>;

}  // namespace packhorse
