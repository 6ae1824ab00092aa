#include "jobs/model/json_check.h"

#include <boost/json/basic_parser_impl.hpp>
#include <cstdint>
#include <limits>

#include "jobs/model/limits.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;

// Hears of everything in a document and remembers nothing but what the document is.
struct IgnoreAll {
  static constexpr size_t max_object_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_array_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_key_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_string_size = std::numeric_limits<size_t>::max();
  using Code = json::error_code;
  using Text = json::string_view;

  // NOLINTBEGIN(readability-convert-member-functions-to-static): the parser calls members
  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_object_end(size_t, Code&) { return true; }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(size_t, Code&) { return true; }
  bool on_key_part(Text, size_t, Code&) { return true; }
  bool on_key(Text, size_t, Code&) { return true; }
  bool on_string_part(Text, size_t, Code&) { return true; }
  bool on_string(Text, size_t, Code&) { return true; }
  bool on_number_part(Text, Code&) { return true; }
  bool on_int64(int64_t, Text, Code&) { return true; }
  bool on_uint64(uint64_t, Text, Code&) { return true; }
  bool on_double(double, Text, Code&) { return true; }
  bool on_bool(bool, Code&) { return true; }
  bool on_null(Code&) { return true; }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }
  // NOLINTEND(readability-convert-member-functions-to-static)
};

char FirstCharacter(std::string_view text) {
  const size_t at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? '\0' : text[at];
}

}  // namespace

bool IsJson(std::string_view text, JsonKind kind) {
  if (text == "{}") return true;
  if (kind == JsonKind::kObject && FirstCharacter(text) != '{') return false;
  json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  json::basic_parser<IgnoreAll> parser(options);
  json::error_code failure;
  const size_t used = parser.write_some(false, text.data(), text.size(), failure);
  if (failure) return false;
  return text.find_first_not_of(" \t\r\n", used) == std::string_view::npos;
}

}  // namespace cairn::jobs
