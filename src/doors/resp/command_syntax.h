#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// How a command's arguments are written down in its row: as in a manual page, with the types that
// COMMAND DOCS wants added where an argument is not just a string.
//
//   key:key value [NX | XX] [GET] [EX seconds:integer | PX milliseconds:integer | KEEPTTL]
//
//   name            an argument; name:type one of type key, integer, double, pattern, unix-time
//   WORD            a word that is written as it stands
//   WORD argument   an argument with a word in front
//   [ … ]           may be left out
//   ( … )           several as one
//   a | b           one of them; inside brackets only
//   element ...     any number of times
namespace cairn::doors {

struct SyntaxArgument {
  std::string name;
  std::string type = "string";  // or pure-token, oneof, block, and those above
  std::string token;            // the word in front, or the word itself
  bool optional = false;
  bool multiple = false;
  std::vector<SyntaxArgument> arguments = {};  // of a oneof or a block
};

Result<std::vector<SyntaxArgument>> ParseSyntax(std::string_view text);

// For people: without the types.
std::string SyntaxForPeople(std::string_view text);

}  // namespace cairn::doors
