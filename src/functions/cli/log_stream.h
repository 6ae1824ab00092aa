#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace cairn::functions::cli {

// Reads Server-Sent Events out of a body that comes in pieces.
class EventReader {
 public:
  struct Event {
    std::string id;
    std::string event;
    std::string data;
  };
  using Take = std::function<void(const Event& event)>;

  explicit EventReader(Take take) : take_(std::move(take)) {}

  // False if a line is longer than kMaxLineBytes: what comes is no stream of events.
  bool Append(std::string_view piece);

  static constexpr size_t kMaxLineBytes = 4UL * 1024 * 1024;

 private:
  void TakeLine(std::string_view line);

  const Take take_;
  std::string line_;
  Event event_;
  bool has_data_ = false;
};

}  // namespace cairn::functions::cli
