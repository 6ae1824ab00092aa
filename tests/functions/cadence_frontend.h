#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {

// A frontend of Cadence that is not ours: tests/functions/cadence/frontend.mjs under node. What it
// knows of activities is in a file, so it goes on where it was when it is killed and started again,
// at the same address.
class CadenceFrontend {
 public:
  // "grpc" or "json".
  explicit CadenceFrontend(std::string transport = "grpc");

  std::string address() const;
  // The flags of a server that is to poll it.
  std::vector<std::string> flags() const;

  void Kill();
  void Start();

  // One of its own calls (frontend.mjs, `control`).
  boost::json::value Ask(std::string_view path, const boost::json::value& body = nullptr);

  // Has activities done: `activity` has the members of matching.mjs that are not the usual ones.
  void Schedule(boost::json::object activity);
  // How many there are in a state.
  int64_t Count(std::string_view state);
  boost::json::object Activity(std::string_view id);
  // The same once it is in that state.
  boost::json::object Await(std::string_view id, std::string_view state);

 private:
  TempDirectory directory_;
  const std::string transport_;
  uint16_t port_ = 0;
  uint16_t control_port_ = 0;
  std::optional<Process> process_;
};

}  // namespace cairn::testing
