#include "simulation/network.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "simulation/token.h"

namespace packhorse::simulation {

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000;

std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      plain += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

/// "GET http://host/path?query\nname: value\n...\n\nbody"
Request parse(std::string_view mail) {
  Request request;
  const auto take_line = [&] {
    const std::size_t end = mail.find('\n');
    const std::string_view line = mail.substr(0, end);
    mail.remove_prefix(end + 1);
    return line;
  };
  const std::string_view first = take_line();
  const std::size_t space = first.find(' ');
  request.method = first.substr(0, space);
  std::string_view url = first.substr(space + 1);
  url.remove_prefix(url.find('/', url.find("//") + 2));
  const std::size_t mark = url.find('?');
  request.path = decoded(url.substr(0, mark));
  std::string_view query = mark == std::string_view::npos ? "" : url.substr(mark + 1);
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    const std::size_t equals = std::min(part.find('='), part.size());
    request.query[decoded(part.substr(0, equals))] =
        decoded(part.substr(std::min(part.size(), equals + 1)));
  }
  for (std::string_view line = take_line(); !line.empty(); line = take_line()) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string name(line.substr(0, colon));
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    line.remove_prefix(std::min(line.size(), colon + 2));
    request.headers[name] = line;
  }
  request.body = mail;
  return request;
}

}  // namespace

std::uint64_t Network::usual_delay() {
  Chance& chance = faults_.chance;
  return kMillisecond / 2 + chance.below(chance.once_in(8) ? 300 * kMillisecond : 5 * kMillisecond);
}

void Network::at(std::uint64_t delay, Event event) {
  events_.emplace(now_ + delay, std::move(event));
}

std::uint64_t Network::next() const { return events_.empty() ? kNever : events_.begin()->first; }

bool Network::arrive(Arrival& arrival) {
  const Event event = std::move(events_.begin()->second);
  events_.erase(events_.begin());
  return event(arrival);
}

void Network::fail(std::uint32_t process, std::uint64_t number, std::uint64_t delay, int code) {
  at(delay, [process, number, code](Arrival& arrival) {
    arrival = {process, number, fmt::format("{}\n", code)};
    return true;
  });
}

void Network::answer(std::uint32_t process, std::uint64_t number, std::uint64_t delay,
                     Answer given) {
  Chance& chance = faults_.chance;
  int code = CURLE_OK;
  if (given.body.size() > 1 && given.status <= 299 &&
      faults_.happens(faults_.damage, faults_.once_in_requests)) {
    if (chance.once_in(2) && given.is_checked) {
      say_("  a byte of the answer is damaged");
      given.body[chance.below(given.body.size())] ^= static_cast<char>(1 + chance.below(255));
    } else {
      say_("  the answer is cut");
      given.body.resize(chance.below(given.body.size()));
      code = CURLE_PARTIAL_FILE;
    }
  }
  std::string mail = fmt::format("{}\nHTTP/1.1 {}\n", code, given.status);
  for (const auto& [name, value] : given.headers) mail += name + ": " + value + "\n";
  mail += "\n" + given.body;
  at(delay, [process, number, mail = std::move(mail)](Arrival& arrival) mutable {
    arrival = {process, number, std::move(mail)};
    return true;
  });
}

Answer Network::refusal() {
  constexpr int kStatuses[] = {503, 429, 500};
  Answer answer{kStatuses[faults_.chance.below(3)]};
  if (answer.status == 503) answer.headers["retry-after"] = std::to_string(faults_.chance.below(3));
  return answer;
}

Answer Network::taken(const Request& request) {
  Answer answer = bucket_.take(request);
  say_(fmt::format("  storage: {} -> {}", request.text(), answer.status));
  return answer;
}

void Network::send(std::uint32_t process, std::uint64_t number, std::string_view mail) {
  const auto request = std::make_shared<const Request>(parse(mail));
  Faults& faults = faults_;
  Chance& chance = faults.chance;
  const std::uint64_t rate = faults.once_in_requests;
  say_(fmt::format("  request {}: {}", number, request->text()));
  if (faults.happens(faults.refusals, rate)) {
    say_("  is refused");
    if (chance.once_in(3)) return fail(process, number, usual_delay(), CURLE_COULDNT_CONNECT);
    return answer(process, number, usual_delay(), refusal());
  }
  if (faults.happens(faults.lost_requests, rate)) {
    say_("  is lost on its way there");
    if (chance.once_in(2)) fail(process, number, usual_delay(), CURLE_SEND_ERROR);
    return;
  }
  std::uint64_t delay = usual_delay();
  if (faults.happens(faults.late_requests, rate)) {
    delay += chance.below(60 * kSecond);
    late_ = true;
    say_(fmt::format("  takes {:.1f} s", static_cast<double>(delay) / kSecond));
    // A connection may break though the other side has got all of it.
    if (chance.once_in(2)) fail(process, number, usual_delay(), CURLE_RECV_ERROR);
  }
  if (faults.happens(faults.repeated, rate)) {
    late_ = true;
    say_("  will come twice");
    at(delay + chance.below(20 * kSecond), [this, request](Arrival&) {
      taken(*request);
      return false;
    });
  }
  const bool lost = faults.happens(faults.lost_answers, rate);
  at(delay, [this, request, process, number, lost](Arrival&) {
    Answer given = taken(*request);
    on_taken_(process);
    if (!lost) {
      answer(process, number, usual_delay(), std::move(given));
      return false;
    }
    say_("  whose answer is lost");
    switch (faults_.chance.below(4)) {
      case 0:
        break;  // silence
      case 1:
        fail(process, number, usual_delay(), CURLE_RECV_ERROR);
        break;
      case 2:
        answer(process, number, usual_delay(), refusal());
        break;
      default:
        // Of what takes long, S3 sends the status before it has done it.
        answer(process, number, usual_delay(),
               request->method == "POST" && request->query.contains("uploadId")
                   ? Answer{200, {}, "<Error><Code>InternalError</Code></Error>"}
                   : refusal());
        break;
    }
    return false;
  });
}

}  // namespace packhorse::simulation
