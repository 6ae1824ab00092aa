#pragma once

#include <string>

struct lua_State;

namespace cairn::data {

// What the option functions of one instance of the library `cjson` set. Plain data: it lives in the
// interpreter's memory.
struct JsonOptions {
  enum class InvalidNumbers : unsigned char { kRefuse, kWrite, kNull };

  bool convert_sparse = false;
  int sparse_ratio = 2;
  int sparse_safe = 10;
  int encode_max_depth = 1000;
  int decode_max_depth = 1000;
  InvalidNumbers encode_invalid_numbers = InvalidNumbers::kRefuse;
  bool decode_invalid_numbers = true;
  int number_precision = 14;
  bool keep_buffer = true;
};

// The value at `index` as JSON. Raises what cannot be written.
std::string EncodeJson(lua_State* lua, int index, const JsonOptions& options);
// Pushes what the text says. Raises what is not JSON.
void DecodeJson(lua_State* lua, const char* text, size_t size, const JsonOptions& options);

}  // namespace cairn::data
