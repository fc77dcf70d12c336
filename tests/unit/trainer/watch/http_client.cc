#include "http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "support/support.h"

namespace packhorse::test {

HttpClient::HttpClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
          0);
}

bool HttpClient::send(const std::string& text) const {
  return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

std::string HttpClient::receive() const {
  std::string answer;
  char part[4096];
  for (ssize_t got = 0; (got = ::recv(socket_.get(), part, sizeof part, 0)) > 0;) {
    answer.append(part, static_cast<std::size_t>(got));
  }
  return answer;
}

std::string HttpClient::ask(const std::string& request) const {
  REQUIRE(send(request));
  return receive();
}

}  // namespace packhorse::test
