#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/address.h"

namespace cairn::testing {

// The server that clients load, and until when.
struct Target {
  net::Address resp;
  net::Address http;
  std::atomic<bool> stop = false;
};

// One kind of client: `clients` threads that each take the same steps until the target says stop.
// A step returns an empty string, or what went wrong, which ends the client. After the stop nothing
// is wrong any more: the server may be going.
struct ClientKind {
  using Step = std::function<std::string()>;

  std::string name;
  int clients = 1;
  // Makes the step of client number `client`; it keeps its connection between calls.
  std::function<Step(const Target& target, int client)> make;
};

// A client that sends `lines` as one pipeline and reads as many replies. Arguments are separated by
// spaces; what follows " | " is one argument. In a line `{r}` is a random digit, which makes
// clients meet at the same keys, and `{c}` the client's number. An error reply is wrong unless it
// begins with one of `refusals`.
ClientKind Pipelines(std::string name, int clients, const std::vector<std::string>& lines,
                     const std::vector<std::string>& refusals = {});

// A client that sends one request after the other, each a line `METHOD PATH[ BODY]` with `{r}` and
// `{c}` as above. A status of 500 and above is wrong.
ClientKind Requests(std::string name, int clients, const std::vector<std::string>& lines);

// A client that connects, sends `bytes`, takes what comes for `patience` or until the server
// closes, and leaves without a word. Only a connection that is not made is wrong.
enum class Door { kResp, kHttp };
ClientKind Listeners(std::string name, int clients, Door door, const std::string& bytes,
                     std::chrono::milliseconds patience);

// A worker at the HTTP door: fetches a job under a lease, renews it, finishes it.
ClientKind HttpWorkers(std::string name, int clients, const std::string& queue);

// The same at the other door.
ClientKind RespWorkers(std::string name, int clients, const std::string& queue);

// The threads of all kinds, from its construction on.
class Load {
 public:
  Load(const Target& target, const std::vector<ClientKind>& kinds);

  // Waits for all, which takes a stop: one line for each client that went wrong or never took a
  // step.
  std::vector<std::string> Join();

 private:
  struct Client {
    std::string name;
    uint64_t steps = 0;
    std::string fault;
    std::jthread thread;
  };
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace cairn::testing
