#pragma once

#include <cstddef>
#include <optional>

#include "base/bytes.h"
#include "data/json/value.h"

// JSON values as stored bytes.
//
//   null     00                      string   05 size:v bytes…
//   false    01                      array    06 count:v value…
//   true     02                      object   07 count:v (size:v name… value)…
//   integer  03 zigzag:v             array    08 node:8     stored by element, under its node
//   double   04 ieee754:8            object   09 node:8     stored by member
//   integer  0A value:v              (above 2^63 - 1)
//
// :v is a varint (varint.h).
namespace cairn::data {

void AppendEncodedJson(const JsonValue& value, Bytes& out);
Bytes EncodeJson(const JsonValue& value);
// nullopt for anything but one whole value.
std::optional<JsonValue> DecodeJson(BytesView bytes);

// The value of a member, as it stands in the encoding of its object: a view into it. nullopt if
// there is no such member, if `object` is something else, or if it cannot be read.
std::optional<BytesView> EncodedJsonMember(BytesView object, BytesView name);

// The bytes of the encoding, or some number above `limit` as soon as they are more.
size_t EncodedJsonSize(const JsonValue& value, size_t limit);

}  // namespace cairn::data
