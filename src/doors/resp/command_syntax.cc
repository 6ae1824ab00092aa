#include "doors/resp/command_syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace cairn::doors {
namespace {

constexpr std::array<std::string_view, 6> kTypes = {"string", "key",     "integer",
                                                    "double", "pattern", "unix-time"};

bool IsWordByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("-_:*=~$").find(c) != std::string_view::npos;
}

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lowered;
}

bool IsToken(std::string_view word) {
  return !word.empty() && std::ranges::none_of(word, [](unsigned char c) {
    return std::islower(c) != 0 || c == ':';
  });
}

std::string JoinedNames(const std::vector<SyntaxArgument>& arguments, char separator) {
  std::string names;
  for (const SyntaxArgument& argument : arguments) {
    if (!names.empty()) names += separator;
    names += argument.name;
  }
  return names;
}

class SyntaxParser {
 public:
  explicit SyntaxParser(std::string_view text) : rest_(text) {}

  Result<std::vector<SyntaxArgument>> Parse() {
    CAIRN_ASSIGN_OR_RETURN(std::vector<SyntaxArgument> arguments, Sequence());
    if (Peek() != '\0') return Bad("unexpected");
    return arguments;
  }

 private:
  // The next byte that is no space; 0 at the end.
  char Peek() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool Take(std::string_view text) {
    Peek();
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  std::string_view Word() {
    Peek();
    const size_t size =
        static_cast<size_t>(std::ranges::find_if_not(rest_, IsWordByte) - rest_.begin());
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return word;
  }
  Error Bad(std::string_view what) const {
    return {ErrorCode::kInvalid, fmt::format("{} at '{}'", what, rest_)};
  }

  Result<std::vector<SyntaxArgument>> Sequence() {
    std::vector<SyntaxArgument> arguments;
    while (Peek() == '[' || Peek() == '(' || IsWordByte(Peek())) {
      CAIRN_ASSIGN_OR_RETURN(SyntaxArgument argument, Element());
      if (Take("...")) argument.multiple = true;
      arguments.push_back(std::move(argument));
    }
    return arguments;
  }

  Result<SyntaxArgument> Element() {
    if (Take("[")) {
      CAIRN_ASSIGN_OR_RETURN(SyntaxArgument argument, Alternatives("]"));
      argument.optional = true;
      return argument;
    }
    if (Take("(")) return Alternatives(")");
    const std::string_view word = Word();
    if (!IsToken(word)) return Named(word);
    const char next = Peek();
    const bool binds = next == '(' || std::islower(static_cast<unsigned char>(next)) != 0;
    if (!binds) {
      return SyntaxArgument{
          .name = Lowered(word), .type = "pure-token", .token = std::string(word)};
    }
    CAIRN_ASSIGN_OR_RETURN(SyntaxArgument argument, Element());
    argument.token = word;
    return argument;
  }

  Result<SyntaxArgument> Named(std::string_view word) {
    const size_t colon = word.find(':');
    SyntaxArgument argument{.name = std::string(word.substr(0, colon))};
    if (colon != std::string_view::npos) argument.type = word.substr(colon + 1);
    if (argument.name.empty() || std::ranges::find(kTypes, argument.type) == kTypes.end()) {
      return Bad("no such type");
    }
    return argument;
  }

  // What stands between brackets: one element, several, or alternatives.
  Result<SyntaxArgument> Alternatives(std::string_view close) {
    std::vector<SyntaxArgument> choices;
    do {
      CAIRN_ASSIGN_OR_RETURN(std::vector<SyntaxArgument> sequence, Sequence());
      if (sequence.empty()) return Bad("empty");
      if (sequence.size() == 1) {
        choices.push_back(std::move(sequence.front()));
      } else {
        std::string name = JoinedNames(sequence, '_');
        choices.push_back(
            {.name = std::move(name), .type = "block", .arguments = std::move(sequence)});
      }
    } while (Take("|"));
    if (!Take(close)) return Bad("not closed");
    if (choices.size() == 1) return std::move(choices.front());
    std::string name = JoinedNames(choices, '_');
    return SyntaxArgument{
        .name = std::move(name), .type = "oneof", .arguments = std::move(choices)};
  }

  std::string_view rest_;
};

}  // namespace

Result<std::vector<SyntaxArgument>> ParseSyntax(std::string_view text) {
  return SyntaxParser(text).Parse();
}

std::string SyntaxForPeople(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ':') {
      while (i + 1 < text.size() && IsWordByte(text[i + 1])) ++i;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace cairn::doors
