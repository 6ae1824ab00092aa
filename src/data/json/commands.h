#pragma once

#include "doors/resp/instance.h"

// Commands about JSON documents. Each function adds the rows of one file.
namespace cairn::data {

void AddJsonArrayCommands(doors::Instance& instance);
void AddJsonDocumentCommands(doors::Instance& instance);
void AddJsonValueCommands(doors::Instance& instance);

}  // namespace cairn::data
