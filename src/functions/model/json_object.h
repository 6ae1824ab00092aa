#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "functions/model/errors.h"

// JSON objects read member by member, with errors that name the member. What a member holds can be
// taken as the bytes that were given, so a user's own data comes back as it went in, large numbers
// and all.
namespace cairn::functions {

// What is wrong with a document: the first fault that its readers have met. Shared by the readers
// of an object and of those in it.
class JsonFault {
 public:
  void Note(std::string_view path, std::string_view problem);
  bool found() const { return !text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// An object. Each member is asked for once, by name; after a fault every answer is empty, and
// Finish tells it. Null counts as missing unless the raw bytes are asked for.
//
//   JsonFault fault;
//   ObjectReader object(text, "", fault);
//   alias.name = object.Text("alias", {1, 32});
//   ObjectReader limits = object.Object("limits");
//   alias.weight = limits.Integer("weight", 1, 100);
//   limits.RefuseOthers();
//   object.RefuseOthers();
//   if (fault.found()) return Refuse(Code::kValidation, fault.text());
//
// `text` is a JSON value (IsJson) and outlives the reader and what it returns as views; so does the
// fault.
class ObjectReader {
 public:
  // `path` says where the object stands ("limits"); empty for the whole document.
  ObjectReader(std::string_view text, std::string path, JsonFault& fault);

  struct Length {
    size_t least = 0;
    size_t most = 0;
  };
  // Strings, their length in bytes.
  std::string Text(std::string_view name, Length length);
  std::optional<std::string> OptionalText(std::string_view name, Length length);
  // A string that is one of these.
  std::string Choice(std::string_view name, std::initializer_list<std::string_view> choices);
  std::optional<std::string> OptionalChoice(std::string_view name,
                                            std::initializer_list<std::string_view> choices);
  int64_t Integer(std::string_view name, int64_t least, int64_t most);
  std::optional<int64_t> OptionalInteger(std::string_view name, int64_t least, int64_t most);
  std::optional<double> OptionalNumber(std::string_view name, double least, double most);
  std::optional<bool> OptionalSwitch(std::string_view name);
  // Strings in an array; empty if it is missing.
  std::vector<std::string> Texts(std::string_view name, size_t most_items, Length length);
  // Strings by name in an object; empty if it is missing.
  std::vector<std::pair<std::string, std::string>> TextMap(std::string_view name, size_t most_items,
                                                           size_t most_bytes);
  // An object in this one. Missing is a fault for the first, and nullopt for the second.
  ObjectReader Object(std::string_view name);
  std::optional<ObjectReader> OptionalObject(std::string_view name);
  // Objects in an array; empty if it is missing.
  std::vector<ObjectReader> Objects(std::string_view name, size_t most_items);
  // The bytes of any value, without the blanks around it; null too. Empty if it is missing.
  std::string_view Raw(std::string_view name);
  // The same of an object; nullopt if it is missing or null.
  std::optional<std::string_view> RawObject(std::string_view name);

  bool Has(std::string_view name) const;
  // All names, in order.
  std::vector<std::string> Names() const;
  // Notes a fault of a member: `problem` goes on after its path ("must be…").
  void Fail(std::string_view name, std::string_view problem);
  // A member that nobody has asked for is a fault.
  void RefuseOthers();

 private:
  struct Member {
    std::string name;
    std::string_view json;
    bool asked = false;
  };

  // Null if it is missing, or JSON's null.
  const Member* Find(std::string_view name);
  std::string_view Require(std::string_view name);
  std::string PathOf(std::string_view name) const;

  std::string path_;
  JsonFault* fault_;
  std::vector<Member> members_;
};

// Whether the text is one JSON value that is no deeper than kMaxJsonDepth.
bool IsJson(std::string_view text);

// A document that is an object, read by `read`, which is called with its reader and returns what it
// has made. `code` is what a fault is refused with; what is no JSON at all is one.
template <typename Read>
auto ReadObject(std::string_view text, Code code, Read read)
    -> Result<decltype(read(std::declval<ObjectReader&>()))> {
  if (!IsJson(text)) return Refuse(code, "it is not JSON, or nested too deeply");
  JsonFault fault;
  ObjectReader object(text, "", fault);
  auto made = read(object);
  if (fault.found()) return Refuse(code, fault.text());
  return made;
}

}  // namespace cairn::functions
