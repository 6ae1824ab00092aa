#include "view/text.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/locale/utf.hpp>  // of Boost.Locale this header alone, which needs no library
#include <boost/spirit/home/support/char_encoding/unicode.hpp>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "view/limits.h"

namespace cairn::view {
namespace {

namespace json = boost::json;
using Unicode = boost::spirit::char_encoding::unicode;
using Utf8 = boost::locale::utf::utf_traits<char>;

// Hears of everything in a document and writes down what is not punctuation. A part of a name, a
// string or a number is followed by its rest.
struct Writer {
  static constexpr size_t max_object_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_array_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_key_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_string_size = std::numeric_limits<size_t>::max();
  using Code = json::error_code;
  using Text = json::string_view;

  bool Part(Text part) {
    text.append(part.data(), part.size());
    return true;
  }
  bool Rest(Text rest) {
    Part(rest);
    text += '\n';  // so that nothing is found that begins in one string and ends in the next
    return true;
  }

  // NOLINTBEGIN(readability-convert-member-functions-to-static): the parser calls members
  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_object_end(size_t, Code&) { return true; }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(size_t, Code&) { return true; }
  bool on_key_part(Text part, size_t, Code&) { return Part(part); }
  bool on_key(Text rest, size_t, Code&) { return Rest(rest); }
  bool on_string_part(Text part, size_t, Code&) { return Part(part); }
  bool on_string(Text rest, size_t, Code&) { return Rest(rest); }
  bool on_number_part(Text part, Code&) { return Part(part); }
  bool on_int64(int64_t, Text rest, Code&) { return Rest(rest); }
  bool on_uint64(uint64_t, Text rest, Code&) { return Rest(rest); }
  bool on_double(double, Text rest, Code&) { return Rest(rest); }
  bool on_bool(bool value, Code&) { return Rest(value ? "true" : "false"); }
  bool on_null(Code&) { return Rest("null"); }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }
  // NOLINTEND(readability-convert-member-functions-to-static)

  std::string text;
};

bool IsAscii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// Without a branch or a call for each letter: this is where a search spends its time.
void FoldAscii(char* text, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    const auto distance = static_cast<unsigned char>(text[i] - 'A');
    text[i] = static_cast<char>(text[i] | (distance < 26 ? 0x20 : 0));
  }
}

}  // namespace

std::string DecodedText(std::string_view json) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::basic_parser<Writer> parser(options);
  parser.handler().text.reserve(json.size());
  json::error_code failure;
  parser.write_some(false, json.data(), json.size(), failure);
  if (failure) return std::string(json);
  return std::move(parser.handler().text);
}

std::string FoldCase(std::string_view text) {
  std::string folded;
  folded.reserve(text.size());
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* const begin = at;
    at = std::find_if_not(at, end, IsAscii);
    const size_t before = folded.size();
    folded.append(begin, at);
    FoldAscii(folded.data() + before, folded.size() - before);
    if (at == end) break;
    const char* const letter_begin = at;
    const auto letter = Utf8::decode(at, end);
    if (!boost::locale::utf::is_valid_codepoint(letter)) {
      at = letter_begin + 1;
      folded += *letter_begin;
      continue;
    }
    // By way of upper case, because some letters have two lower ones: σ and ς of Σ.
    Utf8::encode(Unicode::tolower(Unicode::toupper(letter)), std::back_inserter(folded));
  }
  return folded;
}

bool ContainsFolded(std::string_view text, std::string_view folded) {
  return FoldCase(text).find(folded) != std::string::npos;
}

bool JsonContainsFolded(std::string_view json, std::string_view folded) {
  if (ContainsFolded(json, folded)) return true;
  if (json.find('\\') == std::string_view::npos) return false;
  return ContainsFolded(DecodedText(json), folded);
}

}  // namespace cairn::view
