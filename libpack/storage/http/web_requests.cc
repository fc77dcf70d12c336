#include "storage/http/web_requests.h"

#include <utility>

namespace packhorse {

HttpClient::Accept judged(std::shared_ptr<WebRequests> requests, std::string name,
                          std::function<Judgement(const HttpResponse&)> judge) {
  return [requests = std::move(requests), name = std::move(name), judge = std::move(judge),
          renewed = false](const HttpResponse& response, bool* repeat) mutable {
    const Judgement judgement = judge(response);
    *repeat = judgement.repeat;
    const bool refused = judgement.renew || response.status == 401 || response.status == 403;
    if (judgement.error && refused && !renewed) {
      renewed = true;
      *repeat = requests->renew(name, judgement.renew) || judgement.repeat;
    }
    return judgement.error;
  };
}

}  // namespace packhorse
