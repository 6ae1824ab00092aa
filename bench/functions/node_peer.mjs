// A peer of bench/functions/run.py: an HTTP server that runs functions in its own process. PUT /NAME
// keeps the source of a function, POST /NAME runs it with the body as its event.
//
//   node node_peer.mjs PORT module      each function is a module, loaded once; nothing is isolated
//   node node_peer.mjs PORT context     a fresh vm context for each request, its script compiled once

import http from "node:http";
import vm from "node:vm";

const [port, mode] = process.argv.slice(2);
const sources = new Map();
const loaded = new Map();

async function runModule(name, event) {
  let handler = loaded.get(name);
  if (handler === undefined) {
    const url = "data:text/javascript," + encodeURIComponent(sources.get(name));
    handler = (await import(url)).default;
    loaded.set(name, handler);
  }
  return handler(event, {});
}

// A context has no modules without an experimental flag: the default export becomes a variable.
async function runContext(name, event) {
  let script = loaded.get(name);
  if (script === undefined) {
    const text = sources.get(name).replace("export default", "globalThis.handler =");
    script = new vm.Script(text, { filename: name });
    loaded.set(name, script);
  }
  const context = vm.createContext({});
  script.runInContext(context);
  return context.handler(event, {});
}

const run = { module: runModule, context: runContext }[mode];

async function text(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

http.createServer(async (request, response) => {
  const body = await text(request);
  if (request.method === "PUT") {
    sources.set(request.url, body);
    response.end("{}");
    return;
  }
  const result = JSON.stringify(await run(request.url, JSON.parse(body)));
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(result) });
  response.end(result);
}).listen(Number(port), "127.0.0.1");
