/// What packhorse calls of libcurl, over the network of a simulated world: requests go to the world
/// in one piece, and answers, whole, cut or not at all, come back when it says so.
#include <curl/curl.h>
#include <stdarg.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>

#include "simulation/token.h"

#undef curl_easy_setopt
#undef curl_multi_setopt

namespace packhorse::simulation {

namespace {

struct Easy {
  bool used = false;
  std::string url = {}, method = {};
  bool no_body = false;
  const char* body = nullptr;
  std::size_t body_bytes = 0;
  curl_slist* headers = nullptr;
  char* reason = nullptr;
  curl_write_callback take_header = nullptr, take_body = nullptr;
  void *header_to = nullptr, *body_to = nullptr;
  curl_prereq_callback connected = nullptr;
  void* connected_to = nullptr;
  curl_xferinfo_callback progress = nullptr;
  void* progress_to = nullptr;
  std::uint64_t number = 0;  ///< of the request under way
  void reset() {
    *this = {};
    used = true;
  }
};

struct Multi {
  std::deque<Easy*> to_send;
  std::deque<CURLMsg> over;
  CURLMsg told{};
  int running = 0;
  bool woken = false;
};

/// Their addresses are the same in each run of a seed, as tables that are sorted by them depend on
/// it.
constexpr std::size_t kHandles = 1024;
Easy handles[kHandles];

Easy* easy_of(CURL* handle) { return static_cast<Easy*>(handle); }
Multi* multi_of(CURLM* handle) { return reinterpret_cast<Multi*>(handle); }

void put_mail(const std::string& head, std::string_view body) {
  if (head.size() + body.size() > kMostMail) std::abort();
  std::memcpy(shared->mail, head.data(), head.size());
  if (!body.empty()) std::memcpy(shared->mail + head.size(), body.data(), body.size());
  shared->mail_bytes = head.size() + body.size();
}

void send(Easy& easy) {
  std::string head = (easy.no_body          ? "HEAD"
                      : easy.method.empty() ? "GET"
                                            : easy.method) +
                     " " + easy.url + "\n";
  for (const curl_slist* line = easy.headers; line != nullptr; line = line->next)
    head += std::string(line->data) + "\n";
  put_mail(head + "\n", {easy.body, easy.body_bytes});
  easy.number = shared->mail_number = ++shared->requests;
  hand_over(Want::kSend);
  if (easy.progress != nullptr)
    easy.progress(easy.progress_to, 0, 0, 0, static_cast<curl_off_t>(easy.body_bytes));
}

/// Hands an answer's bytes to the callbacks, as libcurl does, in two pieces.
CURLcode deliver(const Easy& easy, CURLcode code, std::string_view head, std::string_view body) {
  if (head.empty()) return code;
  char address[] = "127.0.0.1";
  if (easy.connected != nullptr &&
      easy.connected(easy.connected_to, address, address, 80, 80) != CURL_PREREQFUNC_OK)
    return CURLE_ABORTED_BY_CALLBACK;
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    std::string line = std::string(head.substr(0, end)) + "\r\n";
    head.remove_prefix(end + 1);
    if (easy.take_header(line.data(), 1, line.size(), easy.header_to) != line.size())
      return CURLE_WRITE_ERROR;
  }
  for (const std::string_view piece :
       {body.substr(0, body.size() / 2), body.substr(body.size() / 2)}) {
    if (piece.empty()) continue;
    std::string bytes(piece);
    if (easy.take_body(bytes.data(), 1, bytes.size(), easy.body_to) != bytes.size())
      return CURLE_WRITE_ERROR;
  }
  return code;
}

void take_answer(Multi& multi) {
  hand_over(Want::kTake);
  const std::uint64_t number = shared->mail_number;
  const std::string mail(shared->mail, shared->mail_bytes);
  // "<code>\n<head, its lines and an empty one>\n<body>"
  const std::size_t line = mail.find('\n'), end = mail.find("\n\n");
  const auto code = static_cast<CURLcode>(std::atoi(mail.c_str()));
  const std::string_view all = mail;
  for (Easy& easy : handles) {
    if (!easy.used || easy.number != number) continue;
    easy.number = 0;
    const bool answered = end != std::string::npos;
    const CURLcode result = answered ? deliver(easy, code, all.substr(line + 1, end + 2 - line - 1),
                                               all.substr(end + 2))
                                     : code;
    if (easy.reason != nullptr && result != CURLE_OK)
      std::snprintf(easy.reason, CURL_ERROR_SIZE, "simulated %d", static_cast<int>(result));
    CURLMsg message{};
    message.msg = CURLMSG_DONE;
    message.easy_handle = &easy;
    message.data.result = result;
    multi.over.push_back(message);
    return;
  }
}

}  // namespace

}  // namespace packhorse::simulation

using namespace packhorse::simulation;

extern "C" {

CURLcode curl_global_init(long) { return CURLE_OK; }
time_t curl_getdate(const char*, const time_t*) { return -1; }
const char* curl_easy_strerror(CURLcode) { return "a simulated fault"; }
const char* curl_multi_strerror(CURLMcode) { return "a simulated fault"; }
const curl_easyoption* curl_easy_option_by_id(CURLoption) { return nullptr; }

curl_slist* curl_slist_append(curl_slist* list, const char* text) {
  auto* const line = new curl_slist{strdup(text), nullptr};
  if (list == nullptr) return line;
  curl_slist* last = list;
  while (last->next != nullptr) last = last->next;
  last->next = line;
  return list;
}
void curl_slist_free_all(curl_slist* list) {
  while (list != nullptr) {
    curl_slist* const next = list->next;
    std::free(list->data);
    delete list;
    list = next;
  }
}

CURL* curl_easy_init() {
  for (Easy& easy : handles) {
    if (easy.used) continue;
    easy.reset();
    return &easy;
  }
  return nullptr;
}
void curl_easy_reset(CURL* handle) { easy_of(handle)->reset(); }
void curl_easy_cleanup(CURL* handle) { *easy_of(handle) = {}; }

CURLcode curl_easy_setopt(CURL* handle, CURLoption option, ...) {
  Easy& easy = *easy_of(handle);
  va_list list;
  va_start(list, option);
  const auto pointer = [&] { return va_arg(list, void*); };
  switch (option) {
    case CURLOPT_URL:
      easy.url = static_cast<const char*>(pointer());
      break;
    case CURLOPT_CUSTOMREQUEST:
      easy.method = static_cast<const char*>(pointer());
      break;
    case CURLOPT_NOBODY:
      easy.no_body = va_arg(list, long) != 0;
      break;
    case CURLOPT_POSTFIELDS:
      easy.body = static_cast<const char*>(pointer());
      break;
    case CURLOPT_POSTFIELDSIZE_LARGE:
      easy.body_bytes = static_cast<std::size_t>(va_arg(list, curl_off_t));
      break;
    case CURLOPT_HTTPHEADER:
      easy.headers = static_cast<curl_slist*>(pointer());
      break;
    case CURLOPT_ERRORBUFFER:
      easy.reason = static_cast<char*>(pointer());
      break;
    case CURLOPT_HEADERFUNCTION:
      easy.take_header = va_arg(list, curl_write_callback);
      break;
    case CURLOPT_HEADERDATA:
      easy.header_to = pointer();
      break;
    case CURLOPT_WRITEFUNCTION:
      easy.take_body = va_arg(list, curl_write_callback);
      break;
    case CURLOPT_WRITEDATA:
      easy.body_to = pointer();
      break;
    case CURLOPT_PREREQFUNCTION:
      easy.connected = va_arg(list, curl_prereq_callback);
      break;
    case CURLOPT_PREREQDATA:
      easy.connected_to = pointer();
      break;
    case CURLOPT_XFERINFOFUNCTION:
      easy.progress = va_arg(list, curl_xferinfo_callback);
      break;
    case CURLOPT_XFERINFODATA:
      easy.progress_to = pointer();
      break;
    default:
      break;  // about connections and TLS, which there are none of
  }
  va_end(list);
  return CURLE_OK;
}

CURLM* curl_multi_init() { return reinterpret_cast<CURLM*>(new Multi); }
CURLMcode curl_multi_setopt(CURLM*, CURLMoption, ...) { return CURLM_OK; }
CURLMcode curl_multi_cleanup(CURLM* handle) {
  delete multi_of(handle);
  return CURLM_OK;
}
CURLMcode curl_multi_add_handle(CURLM* handle, CURL* easy) {
  multi_of(handle)->to_send.push_back(easy_of(easy));
  ++multi_of(handle)->running;
  return CURLM_OK;
}
CURLMcode curl_multi_remove_handle(CURLM* handle, CURL* easy) {
  Multi& multi = *multi_of(handle);
  easy_of(easy)->number = 0;  // its answer finds nobody
  std::erase(multi.to_send, easy_of(easy));
  std::erase_if(multi.over, [&](const CURLMsg& message) { return message.easy_handle == easy; });
  --multi.running;
  return CURLM_OK;
}
CURLMcode curl_multi_perform(CURLM* handle, int* running) {
  Multi& multi = *multi_of(handle);
  while (!multi.to_send.empty()) {
    Easy& easy = *multi.to_send.front();
    multi.to_send.pop_front();
    send(easy);
  }
  while (own_process().answers > 0) take_answer(multi);
  *running = multi.running;
  return CURLM_OK;
}
CURLMsg* curl_multi_info_read(CURLM* handle, int* left) {
  Multi& multi = *multi_of(handle);
  if (multi.over.empty()) return nullptr;
  multi.told = multi.over.front();
  multi.over.pop_front();
  *left = static_cast<int>(multi.over.size());
  return &multi.told;
}
CURLMcode curl_multi_poll(CURLM* handle, curl_waitfd*, unsigned, int timeout_ms, int*) {
  Multi& multi = *multi_of(handle);
  if (!multi.woken && multi.over.empty() && own_process().answers == 0) {
    own_process().polls = &multi;
    wait_for(&multi, shared->now + static_cast<std::uint64_t>(timeout_ms) * 1'000'000,
             "the network");
    own_process().polls = nullptr;
  }
  multi.woken = false;
  return CURLM_OK;
}
CURLMcode curl_multi_wakeup(CURLM* handle) {
  multi_of(handle)->woken = true;
  wake(handle);
  return CURLM_OK;
}

}  // extern "C"
