#include "watch/http_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace packhorse::trainer {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using beast::error_code;
using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

/// The pause before the next try when connections cannot be accepted, as without file descriptors.
constexpr std::chrono::seconds kPause(1);

/// The answer to requests, and its limits.
struct Service {
  std::string path, content_type;
  std::function<std::string()> answer;
  HttpLimits limits;

  Response respond(const Request& request) const {
    Response response(http::status::ok, 11);
    response.keep_alive(false);
    const std::string_view target(request.target().data(), request.target().size());
    if (target.substr(0, target.find('?')) != path) {
      response.result(http::status::not_found);
    } else if (request.method() != http::verb::get) {
      response.result(http::status::method_not_allowed);
      response.set(http::field::allow, "GET");
    } else {
      try {
        response.body() = answer();
        response.set(http::field::content_type, content_type);
      } catch (const std::exception& error) {
        response.result(http::status::internal_server_error);
        response.body() = error.what();
      }
    }
    response.prepare_payload();
    return response;
  }
};

/// Serves one connection after the other; the number of slots limits the connections at a time.
class Slot {
 public:
  Slot(asio::io_context& io, tcp::acceptor& acceptor, const Service& service)
      : acceptor_(acceptor),
        service_(service),
        pause_(io),
        // Leaves room for a body that arrives with the headers; it is then refused.
        buffer_(2 * service.limits.header_bytes) {}

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return wait();
      read(std::move(socket));
    });
  }

 private:
  void wait() {
    pause_.expires_after(kPause);
    pause_.async_wait([this](error_code error) {
      if (!error) accept();
    });
  }

  void read(tcp::socket socket) {
    stream_.emplace(std::move(socket));
    stream_->expires_after(service_.limits.deadline);  // for everything that follows on it
    buffer_.clear();
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(service_.limits.header_bytes));
    http::async_read(*stream_, buffer_, *parser_, [this](error_code error, std::size_t) {
      if (error) return end();
      write();
    });
  }

  void write() {
    response_ = service_.respond(parser_->get());
    http::async_write(*stream_, response_, [this](error_code, std::size_t) {
      error_code ignored;
      stream_->socket().shutdown(tcp::socket::shutdown_send, ignored);
      end();
    });
  }

  void end() {
    stream_.reset();
    accept();
  }

  tcp::acceptor& acceptor_;
  const Service& service_;
  asio::steady_timer pause_;
  std::optional<beast::tcp_stream> stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  Response response_;
};

}  // namespace

struct HttpServer::Impl {
  Impl(const std::string& address, int port, Service what) : service(std::move(what)) {
    tcp::resolver resolver(io);
    const tcp::endpoint endpoint =
        *resolver.resolve(address, std::to_string(port), tcp::resolver::passive).begin();
    acceptor.open(endpoint.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    acceptor.bind(endpoint);
    acceptor.listen();
    for (int i = 0; i < service.limits.connections; ++i) {
      slots.push_back(std::make_unique<Slot>(io, acceptor, service));
      slots.back()->accept();
    }
    thread = std::jthread([this] { io.run(); });
  }
  ~Impl() { io.stop(); }  // leaves connections as they are; then the thread ends

  const Service service;
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  std::vector<std::unique_ptr<Slot>> slots;
  std::jthread thread;  // last: it uses all of the above
};

HttpServer::HttpServer(const std::string& address, int port, std::string path,
                       std::string content_type, std::function<std::string()> answer,
                       const HttpLimits& limits)
    : impl_(std::make_unique<Impl>(
          address, port,
          Service{std::move(path), std::move(content_type), std::move(answer), limits})) {}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return impl_->acceptor.local_endpoint().port(); }

}  // namespace packhorse::trainer
