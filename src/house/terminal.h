#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::house {

// What the process returns to the shell.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailure = 1,  // what was asked for did not work, or doctor found a problem
  kExitUsage = 2,    // the command line or the configuration is wrong; nothing was tried
};

using Environment = std::map<std::string, std::string>;

enum class Colour { kPlain, kBold, kDim, kGreen, kYellow, kRed };

// Where a command writes: results to stdout, complaints to stderr. Colour only where a person looks
// at it: a terminal, and NO_COLOR is not set.
class Terminal {
 public:
  explicit Terminal(const Environment& environment);

  void Print(std::string_view text) const;  // a line end is added
  void Print(const boost::json::value& value) const;
  // "cairn: text" on stderr, one line.
  void Complain(std::string_view text) const;

  // `text` in that colour if stdout shows colours.
  std::string Paint(Colour colour, std::string_view text) const;

 private:
  bool out_colours_;
  bool err_colours_;
};

// Whether a person reads what goes to stderr.
bool LogsToTerminal();

// Rows as columns, each as wide as its widest cell; the last column is not padded.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace cairn::house
