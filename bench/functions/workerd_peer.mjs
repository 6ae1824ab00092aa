// A peer of bench/functions/run.py, run by workerd with a worker loader bound to LOADER: PUT /NAME
// keeps the source of a function, POST /NAME runs it in an isolate of its own, which is loaded from
// that text at the first request and kept.

const sources = new Map();
const main = `
import handler from "./function.js";
export default {
  async fetch(request) { return Response.json(await handler(await request.json(), {})); },
};`;

export default {
  async fetch(request, env) {
    const name = new URL(request.url).pathname;
    if (request.method === "PUT") {
      sources.set(name, await request.text());
      return new Response("{}");
    }
    const worker = env.LOADER.get(name, () => ({
      compatibilityDate: "2025-06-01",
      mainModule: "main.js",
      modules: { "main.js": main, "function.js": sources.get(name) },
    }));
    return worker.getEntrypoint().fetch(request);
  },
};
