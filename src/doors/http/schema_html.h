#pragma once

#include <boost/json/value.hpp>

#include "doors/http/html.h"

namespace cairn::doors {

// A JSON schema (json_schema.h) for people: the members as a list, each with its type, whether it
// must be there, what it means and what it may be; members of members as lists inside.
Html SchemaHtml(const boost::json::value& schema);

}  // namespace cairn::doors
