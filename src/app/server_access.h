#pragma once

#include "app/settings.h"
#include "base/result.h"
#include "house/api_client.h"
#include "house/server_url.h"

namespace cairn::app {

// Where this machine reaches the server that runs with these settings; an error if they let the
// system choose the port.
Result<house::Url> UrlOf(const Config& config);

// The same with what else a client needs. A `url` that is not empty counts instead.
Result<house::ServerAccess> AccessTo(const Config& config, const std::string& url,
                                     const std::string& ca_file);

}  // namespace cairn::app
