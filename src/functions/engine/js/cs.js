// cs: what a function may ask of the server. Capabilities are checked there; mistakes in the arguments
// are found here and say what is wrong.
'use strict';
(function (host) {
  const MAX_FETCH_MS = 2 ** 31 - 1;

  async function ask(op, args) {
    return JSON.parse(await host.call(op, JSON.stringify(args)));
  }

  function text(value, what) {
    if (typeof value !== 'string' || value === '') throw new TypeError(`${what} must be a string that is not empty`);
    return value;
  }

  function options(value, what) {
    if (value === undefined) return {};
    if (typeof value !== 'object' || value === null) throw new TypeError(`${what} must be an object`);
    return value;
  }

  function wholeNumber(value, most, what) {
    if (!Number.isInteger(value) || value < 1 || value > most) {
      throw new TypeError(`${what} must be a whole number from 1 to ${most}`);
    }
    return value;
  }

  // What JSON can carry, or a TypeError.
  function json(value, what) {
    let written;
    try {
      written = JSON.stringify(value);
    } catch (error) {
      throw new TypeError(`${what} cannot be written as JSON: ${error.message}`, { cause: error });
    }
    if (written === undefined) throw new TypeError(`${what} cannot be written as JSON: it is ${typeof value}`);
    return value;
  }

  function line(value) {
    try {
      const written = JSON.stringify(value);
      if (written !== undefined) return written;
    } catch {
      // Shown as console shows it.
    }
    return JSON.stringify(host.global('inspect')(value));
  }

  const log = {
    debug: (value) => host.log('debug', line(value)),
    info: (value) => host.log('info', line(value)),
    warn: (value) => host.log('warn', line(value)),
    error: (value) => host.log('error', line(value)),
  };

  const kv = {
    async get(key) {
      return (await ask('kv.get', { key: text(key, 'cs.kv.get: the key') })).value ?? null;
    },
    async set(key, value, settings = undefined) {
      const args = { key: text(key, 'cs.kv.set: the key'), value: json(value, 'cs.kv.set: the value') };
      const { ttlSeconds } = options(settings, 'cs.kv.set: the options');
      if (ttlSeconds !== undefined) {
        args.ttl_seconds = wholeNumber(ttlSeconds, Number.MAX_SAFE_INTEGER, 'cs.kv.set: ttlSeconds');
      }
      await ask('kv.set', args);
    },
    async del(key) {
      return Boolean((await ask('kv.del', { key: text(key, 'cs.kv.del: the key') })).deleted);
    },
  };

  const codeq = {
    async publish(topic, payload) {
      return ask('codeq.publish', {
        topic: text(topic, 'cs.codeq.publish: the topic'),
        payload: json(payload, 'cs.codeq.publish: the payload'),
      });
    },
  };

  // The simpler relative of fetch: redirects are followed, a status is no error, the body is base64.
  async function httpFetch(url, settings = undefined) {
    const init = options(settings, 'cs.http.fetch: the options');
    const { base64Encode } = host.global('support');
    const Headers = host.global('Headers');
    const extract = host.global('extractBody');
    const headers = new Headers(init.headers ?? {});
    const args = {
      url: text(url instanceof host.global('URL') ? url.href : url, 'cs.http.fetch: the URL'),
      method: init.method === undefined ? 'GET' : text(init.method, 'cs.http.fetch: the method'),
      redirect: 'follow',
    };
    if (init.timeoutMs !== undefined) {
      args.timeoutMs = wholeNumber(init.timeoutMs, MAX_FETCH_MS, 'cs.http.fetch: timeoutMs');
    }
    if (init.body !== undefined && init.body !== null) {
      const { bytes, type } = extract(init.body);
      if (type !== null && !headers.has('content-type')) headers.set('content-type', type);
      args.body = base64Encode(bytes);
    }
    const reply = await ask('http.fetch', { ...args, headers: [...headers] });
    const joined = {};
    for (const [name, value] of reply.headers) {
      const key = name.toLowerCase();
      joined[key] = Object.hasOwn(joined, key) ? `${joined[key]}, ${value}` : value;
    }
    return { status: reply.status, headers: joined, body: reply.body ?? '', isBase64Encoded: true };
  }

  const jobs = {
    async enqueue(queue, payload, settings = undefined) {
      return ask('jobs.enqueue', {
        queue: text(queue, 'cs.jobs.enqueue: the queue'),
        payload: json(payload, 'cs.jobs.enqueue: the payload'),
        options: json(options(settings, 'cs.jobs.enqueue: the options'), 'cs.jobs.enqueue: the options'),
      });
    },
  };

  const actors = {
    async call(type, id, method, argument = null) {
      return (await ask('actors.call', {
        type: text(type, 'cs.actors.call: the type'),
        id: text(id, 'cs.actors.call: the id'),
        method: text(method, 'cs.actors.call: the method'),
        argument: json(argument, 'cs.actors.call: the argument'),
      })).value ?? null;
    },
  };

  const cadence = {
    async heartbeat(details = null) {
      const reply = await ask('cadence.heartbeat', { details: json(details, 'cs.cadence.heartbeat: the details') });
      return { cancelRequested: reply.cancelRequested === true };
    },
  };

  const group = (members) => Object.freeze(members);
  return group({
    log: group(log),
    kv: group(kv),
    codeq: group(codeq),
    http: group({ fetch: httpFetch }),
    cadence: group(cadence),
    jobs: group(jobs),
    actors: group(actors),
  });
})
