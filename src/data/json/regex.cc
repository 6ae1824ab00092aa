#include "data/json/regex.h"

#include <re2/re2.h>

namespace cairn::data {
namespace {

RE2::Options Options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  return options;
}

}  // namespace

JsonRegex::JsonRegex(std::string_view pattern)
    : expression_(
          std::make_unique<RE2>(re2::StringPiece(pattern.data(), pattern.size()), Options())) {}

JsonRegex::~JsonRegex() = default;

bool JsonRegex::Matches(std::string_view text) const {
  return expression_->ok() &&
         RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *expression_);
}

}  // namespace cairn::data
