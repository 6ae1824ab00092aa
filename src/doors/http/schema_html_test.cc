#include "doors/http/schema_html.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <string_view>

namespace cairn::doors {
namespace {

std::string Shown(std::string_view schema) { return SchemaHtml(boost::json::parse(schema)).text; }

TEST(SchemaHtmlTest, MembersHaveTheirTypeMeaningAndLimits) {
  EXPECT_EQ(Shown(R"({"type":"object","required":["id"],"properties":{
                "id":{"type":"string","description":"Its `name`.","minLength":1},
                "size":{"type":"integer","nullable":true,"enum":[1,2]}}})"),
            "<ul class=\"members\">"
            "<li><code>id</code> <i>string</i> <b>required</b> Its <code>name</code>."
            " <span class=\"limits\"> length ≥ <code>1</code></span></li>"
            "<li><code>size</code> <i>integer, null</i>  "
            "<span class=\"limits\"><code>1</code> | <code>2</code></span></li></ul>");
}

TEST(SchemaHtmlTest, MembersOfMembersStandInside) {
  EXPECT_EQ(Shown(R"({"type":"object","properties":{"all":{"type":"array","items":{
                "type":"object","properties":{"id":{"type":"string"}}}}}})"),
            "<ul class=\"members\"><li><code>all</code> <i>array of object</i> "
            "<ul class=\"members\"><li><code>id</code> <i>string</i> </li></ul></li></ul>");
}

TEST(SchemaHtmlTest, OtherMembersAreMentioned) {
  EXPECT_EQ(Shown(R"({"type":"object","additionalProperties":true})"), "<p><i>any object</i> </p>");
  EXPECT_EQ(Shown(R"({"type":"object"})"), "<p><i>empty object</i> </p>");
  EXPECT_EQ(Shown(R"({"type":"object","additionalProperties":{"type":"integer"}})"),
            "<ul class=\"members\"><li><code>…</code> <i>integer</i> </li></ul>");
  EXPECT_EQ(Shown(R"({"type":"object","additionalProperties":true,
                      "properties":{"id":{"type":"string"}}})"),
            "<ul class=\"members\"><li><code>id</code> <i>string</i> </li>"
            "<li>and any other members</li></ul>");
}

TEST(SchemaHtmlTest, AlternativesStandInALineIfTheirTypesSayAll) {
  EXPECT_EQ(Shown(R"({"oneOf":[{"type":"string"},{"type":"number"}],"nullable":true})"),
            "<p><i>string, number, null</i> </p>");
  EXPECT_EQ(Shown(R"({"oneOf":[{"type":"string","description":"Its id."},{"type":"number"}]})"),
            "<p><i>one of</i> </p><ul class=\"choices\"><li><i>string</i> Its id.</li>"
            "<li><i>number</i> </li></ul>");
}

TEST(SchemaHtmlTest, WhatASchemaSaysIsNoMarkup) {
  const std::string shown = Shown(R"({"type":"object","properties":{
      "<a>":{"type":"string","description":"x < y & \"z\"","enum":["<b>"]}}})");
  EXPECT_EQ(shown,
            "<ul class=\"members\"><li><code>&lt;a&gt;</code> <i>string</i> x &lt; y &amp; "
            "&quot;z&quot; <span class=\"limits\"><code>&quot;&lt;b&gt;&quot;</code></span></li>"
            "</ul>");
}

}  // namespace
}  // namespace cairn::doors
