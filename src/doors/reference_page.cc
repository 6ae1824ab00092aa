#include "doors/reference_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "doors/http/html.h"
#include "doors/http/json_schema.h"
#include "doors/http/schema_html.h"
#include "doors/reference_page_assets.h"
#include "doors/resp/command_syntax.h"

namespace cairn::doors {
namespace {

using boost::asio::awaitable;

// One route or command, as the index and the page show it.
struct Entry {
  std::string anchor;
  Html label;  // in the index
  Html article;
};

// The entries of one tag or group.
struct Group {
  std::string_view name;
  std::vector<Entry> entries = {};
};

// One half of the page.
struct Part {
  std::string_view title;
  std::string_view anchor;
  Html introduction;
  std::vector<Group> groups = {};
};

// A name that a link can have behind its # as it is.
std::string Anchor(std::string_view text) {
  std::string anchor;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("-._~/:").find(c) != std::string_view::npos;
    anchor += plain ? c : '-';
  }
  return anchor;
}

// "GET/v1/events/:id"
std::string RouteAnchor(const Route& route) {
  std::string path;
  for (const char c : route.path) {
    if (c == '{') path += ':';
    if (c != '{' && c != '}') path += c;
  }
  return Anchor(fmt::format("{}{}", route.method, path));
}

// "command/client/list"
std::string CommandAnchor(const Command& command) {
  std::string name(command.name);
  std::ranges::replace(name, '|', '/');
  return Anchor("command/" + name);
}

std::string GroupAnchor(const Part& part, const Group& group) {
  return Anchor(fmt::format("{}/{}", part.anchor, group.name));
}

void AddTo(std::vector<Group>& groups, std::string_view name, Entry entry) {
  auto group = std::ranges::find(groups, name, &Group::name);
  if (group == groups.end()) group = groups.insert(groups.end(), {.name = name});
  group->entries.push_back(std::move(entry));
}

// Small print, for what there is of it.
class Facts {
 public:
  void Add(std::string_view pattern, std::string_view text) {
    if (!text.empty()) facts_ += HtmlOf("<span>{}</span>", {HtmlOf(pattern, {Prose(text)})});
  }
  Html Take() {
    if (facts_.text.empty()) return {};
    return HtmlOf("<p class=\"facts\">{}</p>", {std::move(facts_)});
  }

 private:
  Html facts_;
};

// --- Routes -------------------------------------------------------------------------------------

Html QueryHtml(const Route& route) {
  if (route.query.empty()) return {};
  Html lines;
  for (const QueryParameter& parameter : route.query) {
    lines += HtmlOf(
        "<li><code>{}</code> <i>{}</i>{} {}</li>",
        {parameter.name, parameter.type, parameter.required ? Html{" <b>required</b>"} : Html(),
         Prose(parameter.description)});
  }
  return HtmlOf("<h5>Query</h5><ul class=\"members\">{}</ul>", {std::move(lines)});
}

Html ParsedSchemaHtml(std::string_view schema) {
  return SchemaHtml(JsonSchema::Parse(schema)->json());  // the table has checked that it parses
}

Html RequestHtml(const Route& route) {
  if (route.request_schema.empty()) return {};
  return HtmlOf("<h5>Body{}</h5>{}", {route.optional_body ? ", may be left out" : "",
                                      ParsedSchemaHtml(route.request_schema)});
}

Html ResponseHtml(const RouteResponse& response) {
  Html line =
      HtmlOf("<code>{}</code> {}", {fmt::to_string(response.status), Prose(response.description)});
  if (!response.schema.empty()) {
    return HtmlOf("<details><summary>{}</summary>{}</details>",
                  {std::move(line), ParsedSchemaHtml(response.schema)});
  }
  if (response.content_type != "application/json") {
    line += HtmlOf(" <i>{}</i>", {response.content_type});
  }
  return HtmlOf("<p class=\"answer\">{}</p>", {std::move(line)});
}

Entry RouteEntry(const Route& route) {
  const std::string anchor = RouteAnchor(route);
  Html label =
      HtmlOf("<span class=\"method {}\">{}</span> {}", {route.method, route.method, route.path});
  Html responses;
  for (const RouteResponse& response : route.responses) responses += ResponseHtml(response);
  Facts facts;
  facts.Add("needs <code>{}</code>", route.permission);
  Html article = HtmlOf(
      "<article id=\"{}\"><div class=\"head\"><h4 class=\"name\"><a href=\"#{}\">{}</a></h4>"
      "<p>{}</p></div>{}{}{}<h5>Answers</h5>{}</article>\n",
      {anchor, anchor, label, Prose(route.summary), facts.Take(), QueryHtml(route),
       RequestHtml(route), std::move(responses)});
  return {anchor, std::move(label), std::move(article)};
}

Part RoutesPart(const RouteTable& table) {
  Part part{.title = "HTTP routes",
            .anchor = "routes",
            .introduction = HtmlOf(
                "<p>JSON in and out. Where there is a password or keys, a request presents one as "
                "<code>Authorization: Bearer</code> or <code>X-API-Key</code>; what a route needs "
                "is a permission of its role. Every route can also answer with an error.</p>",
                {})};
  for (size_t i = 0; i < table.size(); ++i) {
    AddTo(part.groups, table.row(i).tag, RouteEntry(table.row(i)));
  }
  return part;
}

// --- Commands -----------------------------------------------------------------------------------

// "CLIENT LIST"
std::string NameForPeople(const Command& command) {
  std::string name(command.name);
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return c == '|' ? ' ' : static_cast<char>(std::toupper(c));
  });
  return name;
}

std::string ArgumentsForPeople(const Command& command) {
  const bool runs = command.run || command.connection || command.prepare;
  return runs ? SyntaxForPeople(command.syntax) : "subcommand [argument ...]";
}

Entry CommandEntry(const Command& command) {
  const std::string anchor = CommandAnchor(command);
  const std::string name = NameForPeople(command);
  Facts facts;
  facts.Add("{}", command.complexity);
  facts.Add("since {}", command.since);
  facts.Add("deprecated since {}", command.deprecated_since);
  facts.Add("instead: {}", command.replaced_by);
  facts.Add("{}", fmt::format("{}", fmt::join(CategoryNames(command), " ")));
  facts.Add("{}", fmt::format("{}", fmt::join(FlagNames(command), " ")));
  Html article = HtmlOf(
      "<article id=\"{}\"><div class=\"head\"><h4 class=\"name\"><a href=\"#{}\">{}</a> "
      "<span class=\"args\">{}</span></h4><p>{}</p></div>{}</article>\n",
      {anchor, anchor, name, ArgumentsForPeople(command), Prose(command.summary), facts.Take()});
  return {anchor, HtmlOf("{}", {name}), std::move(article)};
}

Part CommandsPart(const CommandTable& table) {
  Part part{
      .title = "Redis protocol commands",
      .anchor = "commands",
      .introduction = HtmlOf("<p>What <code>COMMAND DOCS</code> and <code>COMMAND INFO</code> "
                             "tell programs. Where there is a password or keys, a "
                             "connection presents one by <code>AUTH</code>.</p>",
                             {})};
  std::vector<const Command*> sorted;
  for (size_t i = 0; i < table.row_count(); ++i) sorted.push_back(&table.row(i));
  std::ranges::sort(sorted, {}, &Command::name);
  for (const Command* command : sorted) AddTo(part.groups, command->group, CommandEntry(*command));
  std::ranges::sort(part.groups, {}, &Group::name);
  return part;
}

// --- The page -----------------------------------------------------------------------------------

Html IndexHtml(const Part& part) {
  Html index = HtmlOf("<h2>{}</h2>\n", {part.title});
  for (const Group& group : part.groups) {
    Html lines;
    for (const Entry& entry : group.entries) {
      lines +=
          HtmlOf("<li><a class=\"name\" href=\"#{}\">{}</a></li>\n", {entry.anchor, entry.label});
    }
    index += HtmlOf(
        "<details><summary><a href=\"#{}\">{}</a> <small>{}</small></summary>"
        "<ul>{}</ul></details>\n",
        {GroupAnchor(part, group), group.name, fmt::to_string(group.entries.size()),
         std::move(lines)});
  }
  return index;
}

Html PartHtml(const Part& part) {
  Html groups;
  for (const Group& group : part.groups) {
    Html articles;
    for (const Entry& entry : group.entries) articles += entry.article;
    groups += HtmlOf("<section id=\"{}\"><h3>{}</h3>\n{}</section>\n",
                     {GroupAnchor(part, group), group.name, std::move(articles)});
  }
  return HtmlOf("<section id=\"{}\"><h2>{}</h2>{}\n{}</section>\n",
                {part.anchor, part.title, part.introduction, std::move(groups)});
}

constexpr std::string_view kPage = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{} {}: reference</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{}</style></head>
<body id="top">
<nav><h1><a href="#top">{}</a> <small>{}</small></h1>
<input id="filter" type="search" placeholder="Filter, or press /" aria-label="Filter" hidden>
{}</nav>
<main><header><h1>{} reference</h1>
<p>Version {}. Also here: <a href="/openapi.json">/openapi.json</a>, the routes for programs;
<a href="/metrics">/metrics</a>, for Prometheus; <a href="/healthz">/healthz</a>.</p></header>
{}</main>
<script>{}</script>
</body></html>
)";

// SHA-256 in base64.
std::string HashOf(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  CAIRN_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) ==
              1);
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> base64{};
  const int length = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
  return {reinterpret_cast<const char*>(base64.data()), static_cast<size_t>(length)};
}

// The page is made when it is first asked for: only then are the tables complete.
class PageOnDemand {
 public:
  PageOnDemand(const RouteTable& routes, const CommandTable& commands)
      : routes_(routes), commands_(commands) {}

  const ReferencePage& Get() {
    std::call_once(made_, [this] { page_ = MakeReferencePage(routes_, commands_); });
    return page_;
  }

 private:
  const RouteTable& routes_;
  const CommandTable& commands_;
  std::once_flag made_;
  ReferencePage page_;
};

awaitable<Result<net::HttpReply>> ServePage(std::shared_ptr<PageOnDemand> on_demand,
                                            const RouteCall& call) {
  const ReferencePage& page = on_demand->Get();
  const std::string_view known = call.request.headers.Get("If-None-Match").value_or("");
  const bool unchanged = known.find(page.etag) != std::string_view::npos;
  net::HttpResponse response = net::HttpResponse::Empty(unchanged ? 304 : 200);
  response.headers.Set("ETag", page.etag);
  response.headers.Set("Cache-Control", "no-cache");
  response.headers.Set("Content-Security-Policy", page.security_policy);
  if (!unchanged) {
    response.headers.Set("Content-Type", "text/html; charset=utf-8");
    response.headers.Set("X-Content-Type-Options", "nosniff");
    response.body = page.html;
  }
  co_return net::HttpReply(std::move(response));
}

awaitable<Result<net::HttpReply>> LeadToPage() {
  net::HttpResponse response = net::HttpResponse::Empty(302);
  response.headers.Set("Location", "/docs");
  co_return net::HttpReply(std::move(response));
}

}  // namespace

ReferencePage MakeReferencePage(const RouteTable& routes, const CommandTable& commands) {
  const ApiInfo& info = routes.info();
  const Part parts[] = {RoutesPart(routes), CommandsPart(commands)};
  Html index;
  Html body;
  for (const Part& part : parts) {
    index += IndexHtml(part);
    body += PartHtml(part);
  }
  ReferencePage page;
  page.html = HtmlOf(kPage, {info.title, info.version, Html{std::string(kReferenceStyle)},
                             info.title, info.version, std::move(index), info.title, info.version,
                             std::move(body), Html{std::string(kReferenceScript)}})
                  .text;
  page.security_policy = fmt::format(
      "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; "
      "form-action 'none'; frame-ancestors 'none'",
      HashOf(kReferenceStyle), HashOf(kReferenceScript));
  page.etag = fmt::format("\"{}\"", HashOf(page.html));
  return page;
}

void AddReferenceRoutes(const CommandTable& commands, RouteTable& routes) {
  const auto page = std::make_shared<PageOnDemand>(routes, commands);
  routes.Add({.method = "GET",
              .path = "/docs",
              .touches = Touches::Nothing(),
              .summary = "The reference of routes and commands, for people.",
              .responses = {{200, "The page.", "", "text/html"},
                            {304, "The page that `If-None-Match` names is still the one."}},
              .handler = [page](const RouteCall& call) { return ServePage(page, call); }});
  routes.Add({.method = "GET",
              .path = "/",
              .touches = Touches::Nothing(),
              .summary = "Leads to the reference.",
              .responses = {{302, "It is at `/docs`."}},
              .handler = [](const RouteCall&) { return LeadToPage(); }});
}

}  // namespace cairn::doors
