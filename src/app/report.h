#pragma once

#include <string>
#include <vector>

#include "app/config.h"
#include "app/doctor.h"
#include "house/terminal.h"

namespace cairn::app {

// What the commands that only tell something print: a table for people, or JSON.

std::string VersionLine();  // "cairn 0.1.0 (a1b2c3d4e5f6)"
void PrintVersion(bool json, const house::Terminal& terminal);

// Secrets are shown as "(set)".
void PrintConfig(const LoadedConfig& loaded, bool json, const house::Terminal& terminal);

void PrintFindings(const std::vector<Finding>& findings, bool json,
                   const house::Terminal& terminal);

}  // namespace cairn::app
