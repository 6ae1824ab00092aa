#include "app/report.h"

#include <fmt/format.h>
#include <generated/version.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>

#include "house/units.h"
#include "store/rocks/open.h"

namespace cairn::app {
namespace {

std::string ShownValue(const Setting& setting, const Config& config) {
  const std::string value = setting.format(config);
  return setting.secret && !value.empty() ? "(set)" : value;
}

struct Look {
  std::string_view name;
  house::Colour colour;
};

Look LookOf(Finding::Level level) {
  switch (level) {
    case Finding::Level::kOk:
      return {"ok", house::Colour::kGreen};
    case Finding::Level::kWarning:
      return {"warning", house::Colour::kYellow};
    case Finding::Level::kProblem:
      return {"problem", house::Colour::kRed};
  }
  return {"", house::Colour::kPlain};
}

std::string Summary(const std::vector<Finding>& findings) {
  const auto count = [&](Finding::Level level) {
    return std::ranges::count(findings, level, &Finding::level);
  };
  const auto problems = count(Finding::Level::kProblem);
  const auto warnings = count(Finding::Level::kWarning);
  if (problems == 0 && warnings == 0) return "Nothing is wrong.";
  return fmt::format("{} problem{}, {} warning{}.", problems, problems == 1 ? "" : "s", warnings,
                     warnings == 1 ? "" : "s");
}

}  // namespace

std::string VersionLine() { return fmt::format("cairn {} ({})", kVersion, kRevision); }

void PrintVersion(bool json, const house::Terminal& terminal) {
  if (!json) return terminal.Print(VersionLine());
  terminal.Print(boost::json::object{
      {"version", kVersion}, {"revision", kRevision}, {"format", store::rocks::kFormatVersion}});
}

void PrintConfig(const LoadedConfig& loaded, bool json, const house::Terminal& terminal) {
  boost::json::object object;
  std::vector<std::vector<std::string>> rows = {{"SETTING", "VALUE", "FROM"}};
  for (size_t i = 0; i < Settings().size(); ++i) {
    const Setting& setting = Settings()[i];
    const std::string value = ShownValue(setting, loaded.config);
    const std::string& origin = loaded.origins[i];
    object[setting.name] = boost::json::object{{"value", value}, {"from", origin}};
    rows.push_back({setting.name, value.empty() ? "-" : value, origin});
  }
  if (json) return terminal.Print(object);
  terminal.Print(house::FormatTable(rows));
}

void PrintFindings(const std::vector<Finding>& findings, bool json,
                   const house::Terminal& terminal) {
  if (json) {
    boost::json::array list;
    for (const Finding& finding : findings) {
      list.push_back(boost::json::object{{"check", finding.check},
                                         {"level", LookOf(finding.level).name},
                                         {"text", finding.text},
                                         {"advice", finding.advice}});
    }
    return terminal.Print(
        boost::json::object{{"ok", !HasProblem(findings)}, {"findings", std::move(list)}});
  }
  for (const Finding& finding : findings) {
    const Look look = LookOf(finding.level);
    terminal.Print(fmt::format("{}  {:<15} {}",
                               terminal.Paint(look.colour, fmt::format("{:<7}", look.name)),
                               finding.check, finding.text));
    if (!finding.advice.empty()) terminal.Print(fmt::format("{:>26}{}", "→ ", finding.advice));
  }
  terminal.Print(Summary(findings));
}

}  // namespace cairn::app
