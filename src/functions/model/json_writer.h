#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_text.h"

namespace cairn::functions {

// JSON put together member by member, in the order of the calls. A name of "" stands for none: the
// document itself, or an item of an array.
//
//   JsonWriter json(out);
//   json.BeginObject();
//   json.Text("alias", alias.name);
//   json.Integer("version", 17);
//   json.EndObject();
class JsonWriter {
 public:
  // Appends to `out`, which outlives the writer.
  explicit JsonWriter(std::string& out) : out_(out) {}

  void BeginObject(std::string_view name = {}) { Begin(name, '{'); }
  void EndObject() { End('}'); }
  void BeginArray(std::string_view name = {}) { Begin(name, '['); }
  void EndArray() { End(']'); }

  void Text(std::string_view name, std::string_view value) {
    Name(name);
    AppendJsonString(value, out_);
  }
  template <typename Number>
  void Integer(std::string_view name, Number value) {
    Name(name);
    out_ += fmt::to_string(value);
  }
  // The shortest text that is this number again.
  void Number(std::string_view name, double value) { Raw(name, fmt::format("{}", value)); }
  void Switch(std::string_view name, bool value) { Raw(name, value ? "true" : "false"); }
  void Null(std::string_view name) { Raw(name, "null"); }
  // What is JSON already.
  void Raw(std::string_view name, std::string_view json) {
    Name(name);
    out_ += json;
  }
  void OptionalInteger(std::string_view name, std::optional<int64_t> value) {
    if (value) return Integer(name, *value);
    Null(name);
  }
  void Texts(std::string_view name, const std::vector<std::string>& values) {
    BeginArray(name);
    for (const std::string& value : values) Text("", value);
    EndArray();
  }
  void TextMap(std::string_view name,
               const std::vector<std::pair<std::string, std::string>>& values) {
    BeginObject(name);
    for (const auto& [key, value] : values) NamedText(key, value);
    EndObject();
  }

 private:
  // A name that may be empty, as a user's own may.
  void NamedText(std::string_view name, std::string_view value) {
    Separate();
    AppendJsonString(name, out_);
    out_ += ':';
    AppendJsonString(value, out_);
  }
  void Separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  void Name(std::string_view name) {
    Separate();
    if (name.empty()) return;
    AppendJsonString(name, out_);
    out_ += ':';
  }
  void Begin(std::string_view name, char bracket) {
    Name(name);
    out_ += bracket;
    first_ = true;
  }
  void End(char bracket) {
    out_ += bracket;
    first_ = false;
  }

  std::string& out_;
  bool first_ = true;  // nothing stands in the innermost object or array yet
};

}  // namespace cairn::functions
