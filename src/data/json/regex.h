#pragma once

#include <memory>
#include <string_view>

namespace re2 {
class RE2;
}

namespace cairn::data {

// A regular expression of a JSONPath filter (=~). Matching takes time in proportion to the text,
// whatever the expression; so there are no back references. Safe to use from any thread.
class JsonRegex {
 public:
  // One that is no regular expression, or would need too much memory, matches nothing.
  explicit JsonRegex(std::string_view pattern);
  ~JsonRegex();
  JsonRegex(const JsonRegex&) = delete;
  JsonRegex& operator=(const JsonRegex&) = delete;

  // Whether any part of the text matches.
  bool Matches(std::string_view text) const;

 private:
  std::unique_ptr<re2::RE2> expression_;
};

}  // namespace cairn::data
