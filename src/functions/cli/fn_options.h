#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "functions/cli/folder.h"
#include "functions/model/config.h"
#include "house/verb.h"

namespace cairn::functions::cli {

// The options of `cairn fn`.
std::vector<house::VerbOption> FnOptions();

// The folder, packed as the options say.
Result<Packed> PackOf(const house::VerbCall& call, const std::string& folder);

// `config` of a publish, of --overrides and of the options for single members, which win.
Result<boost::json::object> ConfigOf(const house::VerbCall& call);

}  // namespace cairn::functions::cli
