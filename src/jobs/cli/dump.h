#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "house/api_client.h"

namespace cairn::jobs {

// Writes all jobs of the server (GET /api/v1/admin/backup) into a file that must not exist, for its
// owner's eyes only; what is not whole is removed. Returns its size.
Result<uint64_t> ExportJobs(house::ApiClient& client, const std::string& file);

// Sends such a file to an empty server, part by part, and gives what it answered to the last. What
// was interrupted is gone on with by the same again.
Result<boost::json::value> ImportJobs(house::ApiClient& client, const std::string& file);

}  // namespace cairn::jobs
