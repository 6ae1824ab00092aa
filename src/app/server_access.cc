#include "app/server_access.h"

#include "app/tls.h"

namespace cairn::app {

Result<house::Url> UrlOf(const Config& config) {
  house::Url url{.tls = HttpSpeaksTls(config), .address = config.http};
  if (url.address.host == "0.0.0.0") url.address.host = "127.0.0.1";
  if (url.address.host == "::") url.address.host = "::1";
  if (url.address.port == 0) {
    return Error{ErrorCode::kInvalid,
                 "the settings do not say where the server listens; say so with --url"};
  }
  return url;
}

Result<house::ServerAccess> AccessTo(const Config& config, const std::string& url,
                                     const std::string& ca_file) {
  CAIRN_ASSIGN_OR_RETURN(house::Url place, url.empty() ? UrlOf(config) : house::ParseUrl(url));
  return house::ServerAccess{std::move(place), ca_file, config.password};
}

}  // namespace cairn::app
