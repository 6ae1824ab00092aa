#include "functions/model/json_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <limits>

#include "base/bytes.h"
#include "functions/model/limits.h"

namespace cairn::functions {
namespace {

namespace json = boost::json;

constexpr std::string_view kBlanks = " \t\r\n";
// More than any object here may have.
constexpr size_t kMaxMembers = 1024;

// Takes part in parsing only to have the text checked.
struct CheckingHandler {
  static constexpr size_t max_object_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_array_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_key_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_string_size = std::numeric_limits<size_t>::max();
  using Failure = json::error_code;
  using Piece = json::string_view;

  // NOLINTBEGIN(readability-convert-member-functions-to-static): the parser calls members
  bool on_document_begin(Failure&) { return true; }
  bool on_document_end(Failure&) { return true; }
  bool on_object_begin(Failure&) { return true; }
  bool on_object_end(size_t, Failure&) { return true; }
  bool on_array_begin(Failure&) { return true; }
  bool on_array_end(size_t, Failure&) { return true; }
  bool on_key_part(Piece, size_t, Failure&) { return true; }
  bool on_key(Piece, size_t, Failure&) { return true; }
  bool on_string_part(Piece, size_t, Failure&) { return true; }
  bool on_string(Piece, size_t, Failure&) { return true; }
  bool on_number_part(Piece, Failure&) { return true; }
  bool on_int64(int64_t, Piece, Failure&) { return true; }
  bool on_uint64(uint64_t, Piece, Failure&) { return true; }
  bool on_double(double, Piece, Failure&) { return true; }
  bool on_bool(bool, Failure&) { return true; }
  bool on_null(Failure&) { return true; }
  bool on_comment_part(Piece, Failure&) { return true; }
  bool on_comment(Piece, Failure&) { return true; }
  // NOLINTEND(readability-convert-member-functions-to-static)
};

std::string_view WithoutBlanks(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// What follows works on valid JSON, and never reads past its end.

size_t StringEnd(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

// Where the value that begins at `at` ends: at a comma or bracket of the level it stands on.
size_t ValueEnd(std::string_view text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = StringEnd(text, at);
      continue;
    }
    if (depth == 0 && (c == ',' || c == ']' || c == '}')) return at;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    ++at;
  }
  return at;
}

std::optional<std::string> DecodeString(std::string_view text) {
  if (text.size() < 2 || text.front() != '"') return std::nullopt;
  if (text.find('\\') == std::string_view::npos)
    return std::string(text.substr(1, text.size() - 2));
  json::error_code failure;
  const json::value value = json::parse(text, failure);
  if (failure || !value.is_string()) return std::nullopt;
  return std::string(value.get_string());
}

std::optional<std::vector<std::string_view>> Items(std::string_view text) {
  if (!text.starts_with('[')) return std::nullopt;
  std::vector<std::string_view> items;
  size_t at = text.find_first_not_of(kBlanks, 1);
  while (at < text.size() && text[at] != ']') {
    const size_t end = ValueEnd(text, at);
    items.push_back(WithoutBlanks(text.substr(at, end - at)));
    if (end >= text.size() || text[end] == ']') break;
    at = text.find_first_not_of(kBlanks, end + 1);
  }
  return items;
}

// A number; anything else is null.
json::value NumberFrom(std::string_view text) {
  json::error_code failure;
  json::value value = json::parse(text, failure);
  if (failure || !value.is_number()) return nullptr;
  return value;
}

std::optional<int64_t> IntegerFrom(std::string_view text) {
  const json::value value = NumberFrom(text);
  if (value.is_int64()) return value.get_int64();
  // 3.0 is an integer to JavaScript, which may have written this.
  constexpr double kMaxExact = 9007199254740992.0;
  if (!value.is_double()) return std::nullopt;
  const double number = value.get_double();
  if (!(number >= -kMaxExact && number <= kMaxExact)) return std::nullopt;
  const auto whole = static_cast<int64_t>(number);
  return static_cast<double>(whole) == number ? std::optional(whole) : std::nullopt;
}

std::string LengthText(ObjectReader::Length length) {
  return fmt::format("must be a string of {} to {} bytes", length.least, length.most);
}

std::string ChoiceText(std::initializer_list<std::string_view> choices) {
  return fmt::format("must be {}", fmt::join(choices, " or "));
}

}  // namespace

bool IsJson(std::string_view text) {
  json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  json::basic_parser<CheckingHandler> parser(options);
  json::error_code failure;
  const size_t used = parser.write_some(false, text.data(), text.size(), failure);
  return !failure && text.find_first_not_of(kBlanks, used) == std::string_view::npos;
}

void JsonFault::Note(std::string_view path, std::string_view problem) {
  if (found()) return;
  text_ = path.empty() ? std::string(problem) : fmt::format("{} {}", path, problem);
}

ObjectReader::ObjectReader(std::string_view text, std::string path, JsonFault& fault)
    : path_(std::move(path)), fault_(&fault) {
  text = WithoutBlanks(text);
  if (fault.found()) return;
  if (!text.starts_with('{')) {
    fault.Note(path_.empty() ? "it" : path_, "must be a JSON object");
    return;
  }
  size_t at = text.find_first_not_of(kBlanks, 1);
  while (at < text.size() && text[at] == '"') {
    const size_t name_end = StringEnd(text, at);
    const size_t value = text.find(':', name_end) + 1;
    const size_t end = ValueEnd(text, value);
    Member member{.name = DecodeString(text.substr(at, name_end - at)).value_or(""),
                  .json = WithoutBlanks(text.substr(value, end - value))};
    if (Has(member.name)) {
      fault.Note(PathOf(member.name), "is there twice");
      return;
    }
    if (members_.size() == kMaxMembers) {
      fault.Note(path_.empty() ? "it" : path_,
                 fmt::format("has more than {} members", kMaxMembers));
      return;
    }
    members_.push_back(std::move(member));
    if (end >= text.size() || text[end] == '}') break;
    at = text.find_first_not_of(kBlanks, end + 1);
  }
}

std::string ObjectReader::PathOf(std::string_view name) const {
  const std::string shown = Printable(name);
  return path_.empty() ? shown : fmt::format("{}.{}", path_, shown);
}

bool ObjectReader::Has(std::string_view name) const {
  return std::ranges::find(members_, name, &Member::name) != members_.end();
}

std::vector<std::string> ObjectReader::Names() const {
  std::vector<std::string> names;
  names.reserve(members_.size());
  for (const Member& member : members_) names.push_back(member.name);
  return names;
}

void ObjectReader::Fail(std::string_view name, std::string_view problem) {
  fault_->Note(PathOf(name), problem);
}

const ObjectReader::Member* ObjectReader::Find(std::string_view name) {
  const auto member = std::ranges::find(members_, name, &Member::name);
  if (member == members_.end()) return nullptr;
  member->asked = true;
  return fault_->found() || member->json == "null" ? nullptr : &*member;
}

std::string_view ObjectReader::Require(std::string_view name) {
  const Member* member = Find(name);
  if (member == nullptr) Fail(name, "is missing");
  return member == nullptr ? std::string_view() : member->json;
}

std::optional<std::string> ObjectReader::OptionalText(std::string_view name, Length length) {
  const Member* member = Find(name);
  if (member == nullptr) return std::nullopt;
  std::optional<std::string> text = DecodeString(member->json);
  if (!text || text->size() < length.least || text->size() > length.most) {
    Fail(name, LengthText(length));
    return std::nullopt;
  }
  return text;
}

std::string ObjectReader::Text(std::string_view name, Length length) {
  Require(name);
  return OptionalText(name, length).value_or("");
}

std::optional<std::string> ObjectReader::OptionalChoice(
    std::string_view name, std::initializer_list<std::string_view> choices) {
  const Member* member = Find(name);
  if (member == nullptr) return std::nullopt;
  std::optional<std::string> text = DecodeString(member->json);
  if (!text || std::ranges::find(choices, *text) == choices.end()) {
    Fail(name, ChoiceText(choices));
    return std::nullopt;
  }
  return text;
}

std::string ObjectReader::Choice(std::string_view name,
                                 std::initializer_list<std::string_view> choices) {
  Require(name);
  return OptionalChoice(name, choices).value_or("");
}

std::optional<int64_t> ObjectReader::OptionalInteger(std::string_view name, int64_t least,
                                                     int64_t most) {
  const Member* member = Find(name);
  if (member == nullptr) return std::nullopt;
  const std::optional<int64_t> number = IntegerFrom(member->json);
  if (!number || *number < least || *number > most) {
    Fail(name, fmt::format("must be an integer from {} to {}", least, most));
    return std::nullopt;
  }
  return number;
}

int64_t ObjectReader::Integer(std::string_view name, int64_t least, int64_t most) {
  Require(name);
  return OptionalInteger(name, least, most).value_or(least);
}

std::optional<double> ObjectReader::OptionalNumber(std::string_view name, double least,
                                                   double most) {
  const Member* member = Find(name);
  if (member == nullptr) return std::nullopt;
  const json::value value = NumberFrom(member->json);
  const double number = value.is_null() ? least - 1 : value.to_number<double>();
  if (!(number >= least && number <= most)) {
    Fail(name, fmt::format("must be a number from {} to {}", least, most));
    return std::nullopt;
  }
  return number;
}

std::optional<bool> ObjectReader::OptionalSwitch(std::string_view name) {
  const Member* member = Find(name);
  if (member == nullptr) return std::nullopt;
  if (member->json == "true") return true;
  if (member->json == "false") return false;
  Fail(name, "must be true or false");
  return std::nullopt;
}

std::vector<std::string> ObjectReader::Texts(std::string_view name, size_t most_items,
                                             Length length) {
  const Member* member = Find(name);
  if (member == nullptr) return {};
  const auto items = Items(member->json);
  if (!items || items->size() > most_items) {
    Fail(name, fmt::format("must be an array of at most {} strings", most_items));
    return {};
  }
  std::vector<std::string> texts;
  texts.reserve(items->size());
  for (const std::string_view item : *items) {
    std::optional<std::string> text = DecodeString(item);
    if (!text || text->size() < length.least || text->size() > length.most) {
      Fail(fmt::format("{}[{}]", name, texts.size()), LengthText(length));
      return {};
    }
    texts.push_back(*std::move(text));
  }
  return texts;
}

std::vector<std::pair<std::string, std::string>> ObjectReader::TextMap(std::string_view name,
                                                                       size_t most_items,
                                                                       size_t most_bytes) {
  std::vector<std::pair<std::string, std::string>> map;
  std::optional<ObjectReader> object = OptionalObject(name);
  if (!object) return map;
  if (object->members_.size() > most_items) {
    Fail(name, fmt::format("has more than {} members", most_items));
    return map;
  }
  size_t bytes = 0;
  for (const std::string& key : object->Names()) {
    std::string value = object->Text(key, {0, most_bytes});
    bytes += key.size() + value.size();
    map.emplace_back(key, std::move(value));
  }
  if (bytes > most_bytes) Fail(name, fmt::format("has more than {} bytes", most_bytes));
  return map;
}

ObjectReader ObjectReader::Object(std::string_view name) {
  const std::string_view text = Require(name);
  return {text, PathOf(name), *fault_};
}

std::optional<ObjectReader> ObjectReader::OptionalObject(std::string_view name) {
  const Member* member = Find(name);
  if (member == nullptr) return std::nullopt;
  return ObjectReader(member->json, PathOf(name), *fault_);
}

std::vector<ObjectReader> ObjectReader::Objects(std::string_view name, size_t most_items) {
  const Member* member = Find(name);
  if (member == nullptr) return {};
  const auto items = Items(member->json);
  if (!items || items->size() > most_items) {
    Fail(name, fmt::format("must be an array of at most {} objects", most_items));
    return {};
  }
  std::vector<ObjectReader> objects;
  objects.reserve(items->size());
  for (const std::string_view item : *items) {
    objects.emplace_back(item, fmt::format("{}[{}]", PathOf(name), objects.size()), *fault_);
  }
  return objects;
}

std::string_view ObjectReader::Raw(std::string_view name) {
  const auto member = std::ranges::find(members_, name, &Member::name);
  if (member == members_.end() || fault_->found()) return {};
  member->asked = true;
  return member->json;
}

std::optional<std::string_view> ObjectReader::RawObject(std::string_view name) {
  const Member* member = Find(name);
  if (member == nullptr) return std::nullopt;
  if (!member->json.starts_with('{')) {
    Fail(name, "must be a JSON object");
    return std::nullopt;
  }
  return member->json;
}

void ObjectReader::RefuseOthers() {
  for (const Member& member : members_) {
    if (!member.asked) return Fail(member.name, "is not a member that is known here");
  }
}

}  // namespace cairn::functions
