#include "house/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cstdio>

namespace cairn::house {
namespace {

std::string_view EscapeOf(Colour colour) {
  switch (colour) {
    case Colour::kPlain:
      return "";
    case Colour::kBold:
      return "\x1b[1m";
    case Colour::kDim:
      return "\x1b[2m";
    case Colour::kGreen:
      return "\x1b[32m";
    case Colour::kYellow:
      return "\x1b[33m";
    case Colour::kRed:
      return "\x1b[31m";
  }
  return "";
}

bool Colours(const Environment& environment, int fd) {
  const auto no_colour = environment.find("NO_COLOR");
  const bool refused = no_colour != environment.end() && !no_colour->second.empty();
  return !refused && isatty(fd) == 1;
}

std::string Painted(bool colours, Colour colour, std::string_view text) {
  if (!colours || colour == Colour::kPlain) return std::string(text);
  return fmt::format("{}{}\x1b[0m", EscapeOf(colour), text);
}

// How many columns the text takes: UTF-8 continuation bytes take none.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

}  // namespace

Terminal::Terminal(const Environment& environment)
    : out_colours_(Colours(environment, STDOUT_FILENO)),
      err_colours_(Colours(environment, STDERR_FILENO)) {}

void Terminal::Print(std::string_view text) const {
  fmt::print(stdout, "{}\n", text);
  std::fflush(stdout);
}

void Terminal::Print(const boost::json::value& value) const {
  Print(boost::json::serialize(value));
}

void Terminal::Complain(std::string_view text) const {
  fmt::print(stderr, "{} {}\n", Painted(err_colours_, Colour::kRed, "cairn:"), text);
}

std::string Terminal::Paint(Colour colour, std::string_view text) const {
  return Painted(out_colours_, colour, text);
}

bool LogsToTerminal() { return isatty(STDERR_FILENO) == 1; }

std::string FormatTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string table;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      table += row[i];
      if (i + 1 < row.size()) table.append(widths[i] - Width(row[i]) + 2, ' ');
    }
    table += '\n';
  }
  if (!table.empty()) table.pop_back();
  return table;
}

}  // namespace cairn::house
