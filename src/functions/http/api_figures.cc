#include "functions/http/api_figures.h"

#include <memory>
#include <utility>
#include <variant>

namespace cairn::functions {
namespace {

using boost::asio::awaitable;
using net::HttpReply;
using net::HttpResponse;

constexpr int kUnanswered = 500;  // an error that the door tells, where no code of ours says it

// A request that is counted once its status is known.
struct CountedRequest {
  ApiFigures& figures;
  const Clock& clock;
  const doors::Route& route;
  uint64_t begin_ns = clock.MonotonicNs();

  void End(int status) const { figures.Count(route, status, clock.MonotonicNs() - begin_ns); }
};

// `run` stays where it is, in the reply.
awaitable<HttpResponse> RunCounted(CountedRequest request,
                                   const std::function<awaitable<HttpResponse>()>* run) {
  HttpResponse response = co_await (*run)();
  request.End(response.status);
  co_return response;
}

awaitable<Result<HttpReply>> Counted(CountedRequest request, const doors::RouteHandler* handler,
                                     const doors::RouteCall* call) {
  Result<HttpReply> reply = co_await (*handler)(*call);
  if (!reply.ok()) {
    request.End(kUnanswered);
    co_return reply;
  }
  if (auto* const late = std::get_if<net::HttpLateResponse>(&*reply)) {
    late->run = [request, run = std::move(late->run)] { return RunCounted(request, &run); };
    co_return reply;
  }
  const auto* const response = std::get_if<HttpResponse>(&*reply);
  request.End(response == nullptr ? 200 : response->status);
  co_return reply;
}

}  // namespace

void CountRequests(ApiFigures* figures, const Clock& clock, doors::Route& route) {
  if (figures == nullptr) return;
  route.handler = [figures, &clock,
                   handler = std::move(route.handler)](const doors::RouteCall& call) {
    return Counted({.figures = *figures, .clock = clock, .route = call.route}, &handler, &call);
  };
}

void ApiFigures::Count(const doors::Route& route, int status, uint64_t took_ns) {
  Series series{
      .route = std::string(route.path), .method = std::string(route.method), .status = status};
  std::pair<std::string, std::string> timed(series.route, series.method);
  const std::scoped_lock lock(mutex_);
  ++counted_.requests[std::move(series)];
  counted_.durations[std::move(timed)].Add(static_cast<double>(took_ns) / 1e6);
}

ApiFigures::Snapshot ApiFigures::Take() const {
  const std::scoped_lock lock(mutex_);
  return counted_;
}

}  // namespace cairn::functions
