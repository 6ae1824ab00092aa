#pragma once

#include <string>

#include "doors/http/route_table.h"
#include "doors/resp/command_table.h"

// The reference: every route and every command as the tables have them, on one page that takes
// nothing from anywhere else.
namespace cairn::doors {

struct ReferencePage {
  std::string html;
  std::string security_policy;  // the Content-Security-Policy to serve it with
  std::string etag;
};

ReferencePage MakeReferencePage(const RouteTable& routes, const CommandTable& commands);

// Adds GET /docs, and GET / that leads there. Both tables outlive the routes, and are complete
// before the first request: the page is made once.
void AddReferenceRoutes(const CommandTable& commands, RouteTable& routes);

}  // namespace cairn::doors
