#pragma once

#include <string_view>

// The style and the script of the reference page. They stand in the page itself, which allows these
// two by their hashes and nothing else.
namespace cairn::doors {

inline constexpr std::string_view kReferenceStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #fff; --side: #f6f7f9; --text: #1d2330; --quiet: #5c6575; --line: #e1e5eb;
  --code: #f1f3f6; --link: #1c5fb8; --mark: #fff7d6;
  --get: #1c5fb8; --post: #1d7a46; --put: #95610a; --delete: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171c; --side: #1a1e25; --text: #dfe4ec; --quiet: #98a2b3; --line: #2b313b;
    --code: #222832; --link: #7fb2ff; --mark: #2d2a17;
    --get: #7fb2ff; --post: #6fd39b; --put: #e6b04c; --delete: #ff8f86;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { scroll-padding-top: 1rem; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
}
code, .name { font-family: ui-monospace, SFMono-Regular, Menlo, "Liberation Mono", monospace; }
code { background: var(--code); border-radius: 3px; font-size: .9em; padding: .08em .3em; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
p { margin: .35rem 0; }
nav {
  position: fixed; inset: 0 auto 0 0; width: 19rem; overflow-y: auto; padding: 1.2rem 1rem 2rem;
  background: var(--side); border-right: 1px solid var(--line);
}
nav h1 { font-size: 1.25rem; margin: 0 0 .8rem; }
nav h1 a { color: var(--text); }
nav h1 small { color: var(--quiet); font-size: .8rem; font-weight: 400; }
nav h2 {
  color: var(--quiet); font-size: .75rem; letter-spacing: .06em; margin: 1.2rem 0 .3rem;
  text-transform: uppercase;
}
nav input {
  width: 100%; padding: .4rem .6rem; font: inherit; color: inherit; background: var(--page);
  border: 1px solid var(--line); border-radius: 6px;
}
nav summary { padding: .1rem 0; cursor: pointer; }
nav summary small { color: var(--quiet); }
nav ul { list-style: none; margin: 0 0 .4rem; padding: 0 0 0 1.1rem; font-size: .78rem; }
nav li { padding: .08rem 0; overflow-wrap: anywhere; }
nav li a { color: var(--text); }
main { margin-left: 19rem; padding: 1.6rem 2.4rem 40vh; max-width: 70rem; }
main > header h1 { margin: 0; font-size: 1.8rem; }
main h2 { margin: 2.6rem 0 0; font-size: 1.5rem; }
section > h3 {
  margin: 1.8rem 0 .2rem; padding-bottom: .3rem; font-size: 1.15rem;
  border-bottom: 2px solid var(--line);
}
article { padding: .9rem .6rem; border-bottom: 1px solid var(--line); }
article:target { background: var(--mark); }
h4 { margin: 0; font-size: .95rem; font-weight: 600; overflow-wrap: anywhere; }
h4 a { color: inherit; }
h4 .args { color: var(--quiet); font-weight: 400; }
h5 { margin: .8rem 0 .2rem; font-size: .8rem; color: var(--quiet); font-weight: 600; }
.method { font-weight: 700; }
.GET { color: var(--get); }
.POST { color: var(--post); }
.PUT, .PATCH { color: var(--put); }
.DELETE { color: var(--delete); }
.facts { color: var(--quiet); font-size: .82rem; }
.facts span + span::before { content: "·"; margin: 0 .45rem; }
ul.members, ul.choices { list-style: none; margin: .15rem 0; padding: 0; font-size: .88rem; }
ul.members ul, ul.choices ul {
  margin-left: .35rem; padding-left: .9rem; border-left: 2px solid var(--line);
}
ul.members li { padding: .12rem 0; }
ul.members i, ul.choices i, article details i, .answer i { color: var(--quiet); font-style: normal; }
ul.members b { font-size: .75rem; font-weight: 600; color: var(--delete); }
.limits { color: var(--quiet); }
article details > summary { cursor: pointer; font-size: .88rem; }
article details > p, article details > ul.members, article details > ul.choices, .answer {
  margin-left: 1rem;
}
article details ul.members b { color: var(--quiet); font-weight: 400; }
.answer { font-size: .88rem; margin-top: 0; margin-bottom: 0; }
@media (max-width: 55rem) {
  nav { position: static; width: auto; border: 0; border-bottom: 1px solid var(--line); }
  nav details { display: inline-block; margin-right: .9rem; }
  nav details ul { display: none; }
  nav summary { list-style: none; }
  nav summary::-webkit-details-marker { display: none; }
  main { margin: 0; padding: 1rem 1rem 30vh; }
}
@media print { nav { display: none; } main { margin: 0; } }
)css";

// Shows the entries that have every word of the filter in their name, summary or group.
inline constexpr std::string_view kReferenceScript = R"js(
const box = document.getElementById('filter');
const entries = Array.from(document.querySelectorAll('article'), (entry) => ({
  entry,
  text: `${entry.parentElement.id} ${entry.querySelector('.head').textContent}`.toLowerCase(),
}));
const outer = document.querySelectorAll('section');
const index = document.querySelectorAll('nav details');
const links = document.querySelectorAll('nav details a');
const show = () => {
  const words = box.value.toLowerCase().split(/\s+/);
  for (const { entry, text } of entries) entry.hidden = !words.every((word) => text.includes(word));
  for (const part of outer) part.hidden = !part.querySelector('article:not([hidden])');
  for (const group of index) group.open = box.value.trim() !== '';
  for (const link of links) {
    const line = link.closest('li') || link.closest('details');
    line.hidden = document.getElementById(link.hash.slice(1)).hidden;
  }
};
box.hidden = false;
box.addEventListener('input', show);
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target === box) return;
  event.preventDefault();
  box.focus();
});
show();
)js";

}  // namespace cairn::doors
