#include "doors/http/json_schema.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

namespace cairn::doors {
namespace {

// What is wrong with `value`; "" if nothing is.
std::string Fault(std::string_view schema_text, std::string_view value) {
  const Result<JsonSchema> schema = JsonSchema::Parse(schema_text);
  if (!schema.ok()) return "schema: " + schema.error().message;
  return schema->FindFault(boost::json::parse(value)).value_or("");
}

TEST(JsonSchemaTest, ChecksTypes) {
  EXPECT_EQ(Fault(R"({"type":"string"})", R"("x")"), "");
  EXPECT_EQ(Fault(R"({"type":"string"})", "1"), "must be a string");
  EXPECT_EQ(Fault(R"({"type":"integer"})", "1"), "");
  EXPECT_EQ(Fault(R"({"type":"integer"})", "1.0"), "");
  EXPECT_EQ(Fault(R"({"type":"integer"})", "1.5"), "must be an integer");
  EXPECT_EQ(Fault(R"({"type":"number"})", "1.5"), "");
  EXPECT_EQ(Fault(R"({"type":"boolean"})", "null"), "must be a boolean");
  EXPECT_EQ(Fault(R"({"type":"boolean","nullable":true})", "null"), "");
}

TEST(JsonSchemaTest, NamesTheFieldThatIsWrong) {
  constexpr std::string_view kSchema = R"({
    "type": "object", "required": ["name"], "properties": {
      "name": {"type": "string", "minLength": 1},
      "tags": {"type": "array", "maxItems": 2, "items": {"enum": ["a", "b"]}},
      "limits": {"type": "object", "additionalProperties": {"type": "integer", "maximum": 9}}
    }})";
  EXPECT_EQ(Fault(kSchema, R"({"name":"x","tags":["a"],"limits":{"cpu":9}})"), "");
  EXPECT_EQ(Fault(kSchema, R"({})"), "name: is missing");
  EXPECT_EQ(Fault(kSchema, R"({"name":""})"), "name: the length must be at least 1");
  EXPECT_EQ(Fault(kSchema, R"({"name":"x","nmae":1})"), "nmae: unknown field");
  EXPECT_EQ(Fault(kSchema, R"({"name":"x","tags":["a","c"]})"),
            R"(tags[1]: must be one of ["a","b"])");
  EXPECT_EQ(Fault(kSchema, R"({"name":"x","tags":["a","a","a"]})"),
            "tags: the number of items must be at most 2");
  EXPECT_EQ(Fault(kSchema, R"({"name":"x","limits":{"cpu":10}})"),
            "limits.cpu: the value must be at most 9");
}

TEST(JsonSchemaTest, OneOfTakesExactlyOneForm) {
  constexpr std::string_view kSchema =
      R"({"oneOf":[{"type":"string"},{"type":"object","properties":{"id":{"type":"integer"}}}]})";
  EXPECT_EQ(Fault(kSchema, R"("x")"), "");
  EXPECT_EQ(Fault(kSchema, R"({"id":1})"), "");
  EXPECT_EQ(Fault(kSchema, R"({"id":"x"})"), "matches none of the forms it may have");
}

TEST(JsonSchemaTest, ObjectsTakeOtherFieldsOnlyIfTheySaySo) {
  EXPECT_EQ(Fault(R"({"type":"object"})", R"({"a":1})"), "a: unknown field");
  EXPECT_EQ(Fault(R"({"type":"object","additionalProperties":true})", R"({"a":1})"), "");
}

TEST(JsonSchemaTest, RefusesSchemasItDoesNotUnderstand) {
  EXPECT_EQ(Fault(R"({"pattern":"x"})", "1"), "schema: keyword pattern is not supported");
  EXPECT_EQ(Fault(R"({"type":"thing"})", "1"), "schema: no such type");
  EXPECT_EQ(Fault(R"({"items":1})", "1"), "schema: []: a schema must be an object");
  EXPECT_EQ(Fault("{", "1").substr(0, 16), "schema: not JSON");
}

}  // namespace
}  // namespace cairn::doors
