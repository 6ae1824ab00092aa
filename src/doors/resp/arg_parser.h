#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/resp/command.h"

namespace cairn::doors {

// The error texts that more than one command uses, as Redis words them: clients compare them.
inline constexpr std::string_view kSyntaxError = "ERR syntax error";
inline constexpr std::string_view kNotAnInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kNotAFloat = "ERR value is not a valid float";
inline constexpr std::string_view kNoSuchKey = "ERR no such key";

// Whether both are the same but for the case of ASCII letters.
bool EqualsIgnoreCase(std::string_view a, std::string_view b);

// A decimal 64-bit integer in its shortest form, the only one that Redis takes for an integer: no
// plus, no leading zero, no space, no "-0".
std::optional<int64_t> ParseInteger(std::string_view text);

// The words of a text that spaces separate. Views into it.
std::vector<std::string_view> SplitWords(std::string_view text);

// An argument as an error repeats it: Redis prints it as a C string, up to the first zero byte.
std::string_view Quotable(std::string_view arg);

// "wrong number of arguments for 'NAME' command", with its code.
std::string WrongArity(std::string_view name);

// Takes a command's arguments one after the other and remembers only the first error, so that a
// handler reads them all and checks once.
//
//   ArgParser parser(context.args);
//   const std::string_view key = parser.Next();
//   const int64_t count = parser.Integer();
//   const bool replace = parser.Keyword("REPLACE");
//   if (!parser.Finish()) return context.Fail(parser.error());
class ArgParser {
 public:
  // Starts behind the command's name; for a subcommand with skip = 2.
  explicit ArgParser(Args args, size_t skip = 1) : rest_(args.subspan(skip)) {}

  bool HasNext() const { return error_.empty() && !rest_.empty(); }
  size_t remaining() const { return rest_.size(); }

  // The next argument; a syntax error, and "", if there is none.
  std::string_view Next();
  // What does not parse is the error named, and 0.
  int64_t Integer(std::string_view error = kNotAnInteger);

  // The number of a database.
  uint8_t Database();

  // Takes the next argument if it is `name`, in any case.
  bool Keyword(std::string_view name);
  // Takes the next argument if it is one of the names, and returns the value beside it.
  template <typename T>
  std::optional<T> OneOf(std::initializer_list<std::pair<std::string_view, T>> choices) {
    for (const auto& [name, value] : choices) {
      if (Keyword(name)) return value;
    }
    return std::nullopt;
  }
  // All that is left.
  Args Rest() { return std::exchange(rest_, Args()); }

  // Keeps `error` unless there already is one.
  void Fail(std::string_view error);
  bool ok() const { return error_.empty(); }
  // Like ok, and anything left over is a syntax error.
  bool Finish();
  const std::string& error() const { return error_; }

 private:
  Args rest_;
  std::string error_;
};

}  // namespace cairn::doors
