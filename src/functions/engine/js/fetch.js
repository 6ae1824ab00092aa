// Request, Response and fetch. A body is bytes, there from the start, until a function gives a stream or
// asks for one.
'use strict';
(function (host) {
  const { asInterface, base64Decode, base64Encode, bytesOf, isBufferSource, toUSVString, INSPECT } =
    host.global('support');
  const Headers = host.global('Headers');
  const URL = host.global('URL');
  const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
  const NULL_BODY = [101, 103, 204, 205, 304];
  const REDIRECTS = [301, 302, 303, 307, 308];

  // What to send for a body: {bytes, type}, of which the type may be null; {stream, type} for one that is
  // made bit by bit.
  function extractBody(body) {
    if (isBufferSource(body)) return { bytes: bytesOf(body).slice(), type: null };
    if (typeof body === 'object' && body !== null) {
      const stream = streamOf(body);
      if (stream) return { stream, type: null };
      const blobs = host.global('blobs');
      if (body instanceof blobs.Blob) return { bytes: blobs.bytesIn(body), type: body.type || null };
      if (body instanceof host.global('URLSearchParams')) {
        return { bytes: host.utf8Encode(`${body}`), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
      }
      const forms = host.global('forms');
      if (body instanceof forms.FormData) return forms.write(body);
    }
    return { bytes: host.utf8Encode(toUSVString(body)), type: 'text/plain;charset=UTF-8' };
  }

  // A stream, or what can be made one: a generator gives a body too.
  function streamOf(body) {
    if (typeof body[Symbol.asyncIterator] !== 'function') return null;
    const ReadableStream = host.global('ReadableStream');
    if (!(body instanceof ReadableStream)) return ReadableStream.from(body);
    if (body.locked || host.global('streamParts').isDisturbed(body)) {
      throw new TypeError('the stream of a body must be neither locked nor read from');
    }
    return body;
  }

  let bytesOfBody;
  let streamOfBody;
  let hasBody;
  let twin;

  // What Request and Response share.
  class Body {
    #bytes = null;
    #stream = null;
    #used = false;

    static {
      bytesOfBody = (body) => body.#bytes;
      streamOfBody = (body) => body.#stream;
      hasBody = (body) => body.#bytes !== null || body.#stream !== null;
      // The same body once more: {bytes} or {stream}.
      twin = (body) => {
        if (body.#stream === null) return { bytes: body.#bytes };
        const [mine, other] = host.global('streamParts').teeCopying(body.#stream);
        body.#stream = mine;
        return { stream: other };
      };
    }

    // Protected: subclasses are constructed through this alone. `given` is {bytes}, {stream} or null.
    constructor(given) {
      this.#bytes = given?.bytes ?? null;
      this.#stream = given?.stream ?? null;
    }

    get body() {
      if (this.#stream === null && this.#bytes !== null) {
        this.#stream = streamOfBytes(this.#bytes, this.#used);
        this.#bytes = null;
      }
      return this.#stream;
    }

    get bodyUsed() {
      return this.#used || (this.#stream !== null && host.global('streamParts').isDisturbed(this.#stream));
    }

    async arrayBuffer() {
      return (await this.#take()).slice().buffer;
    }

    async bytes() {
      return (await this.#take()).slice();
    }

    async text() {
      return host.utf8Decode(await this.#take(), false, false);
    }

    async json() {
      return JSON.parse(host.utf8Decode(await this.#take(), false, false));
    }

    async blob() {
      const Blob = host.global('Blob');
      return new Blob([await this.#take()], { type: this.headers.get('content-type') ?? '' });
    }

    async formData() {
      const bytes = await this.#take();
      return host.global('forms').read(bytes, this.headers.get('content-type') ?? '');
    }

    // A body that is not there can be read any number of times.
    #take() {
      if (this.bodyUsed) throw new TypeError('the body has been read already; clone() before reading to read it twice');
      if (this.#stream !== null) {
        if (this.#stream.locked) throw new TypeError('the body is locked to a reader');
        return host.global('answer').readAll(this.#stream, Infinity);
      }
      if (this.#bytes === null) return new Uint8Array(0);
      this.#used = true;
      return this.#bytes;
    }
  }

  // The bytes as a stream; one that was read, if they were.
  function streamOfBytes(bytes, used) {
    const stream = new (host.global('ReadableStream'))({
      start: (controller) => {
        if (!used && bytes.length > 0) controller.enqueue(bytes.slice());
        controller.close();
      },
    });
    if (used) stream.cancel();
    return stream;
  }

  function options(value, what) {
    if (value === undefined || value === null) return {};
    if (typeof value !== 'object') throw new TypeError(`${what}: the options must be an object`);
    return value;
  }

  function setType(headers, type) {
    if (type !== null && !headers.has('content-type')) headers.set('content-type', type);
  }

  function methodOf(value) {
    const method = `${value}`;
    if (!TOKEN.test(method) || /^(?:CONNECT|TRACE|TRACK)$/i.test(method)) {
      throw new TypeError(`Request: ${JSON.stringify(method)} is not a method that can be used`);
    }
    return /^(?:DELETE|GET|HEAD|OPTIONS|POST|PUT)$/i.test(method) ? method.toUpperCase() : method;
  }

  function urlOf(input) {
    const url = new URL(input);
    if (url.username !== '' || url.password !== '') {
      throw new TypeError(`Request: the URL has a user name or a password; send them as a header`);
    }
    return url.href;
  }

  class Request extends Body {
    #url;
    #method;
    #headers;
    #redirect;
    #signal;

    constructor(input, init = undefined) {
      if (arguments.length === 0) throw new TypeError('Request: 1 argument required');
      const settings = options(init, 'Request');
      const from = input instanceof Request ? input : null;
      const url = from ? from.#url : urlOf(input);
      const method = methodOf(settings.method ?? from?.#method ?? 'GET');
      const redirect = `${settings.redirect ?? from?.#redirect ?? 'follow'}`;
      if (!['follow', 'manual', 'error'].includes(redirect)) {
        throw new TypeError('Request: redirect must be "follow", "manual" or "error"');
      }
      const signal = settings.signal === undefined ? from?.#signal : settings.signal;
      if (signal && !(signal instanceof host.global('AbortSignal'))) {
        throw new TypeError('Request: the signal must be an AbortSignal');
      }
      const headers = new Headers(settings.headers ?? from?.#headers);
      const given = settings.body !== undefined && settings.body !== null ? extractBody(settings.body) : null;
      const has = given !== null || (from !== null && hasBody(from));
      if (has && (method === 'GET' || method === 'HEAD')) {
        throw new TypeError(`Request: a request with the method ${method} cannot have a body`);
      }
      if (given === null && from?.bodyUsed) throw new TypeError('Request: the body has been read already');
      super(given ?? (from && twin(from)));
      if (given) setType(headers, given.type);
      this.#url = url;
      this.#method = method;
      this.#headers = headers;
      this.#redirect = redirect;
      this.#signal = signal ?? null;
    }

    get url() {
      return this.#url;
    }

    get method() {
      return this.#method;
    }

    get headers() {
      return this.#headers;
    }

    get redirect() {
      return this.#redirect;
    }

    get signal() {
      return (this.#signal ??= host.global('newAbortSignal')()[0]);
    }

    clone() {
      if (this.bodyUsed) throw new TypeError('Request.clone: the body has been read already');
      return new Request(this);
    }

    [INSPECT]() {
      return { method: this.#method, url: this.#url, headers: this.#headers };
    }
  }

  const MADE_HERE = {};
  let made;

  class Response extends Body {
    #status = 200;
    #statusText = '';
    #headers;
    #type = 'default';
    #url = '';
    #redirected = false;

    static {
      // A response with what the constructor does not allow. `parts` names private members.
      made = (given, parts) => {
        const response = new Response(MADE_HERE, given);
        response.#status = parts.status;
        response.#statusText = parts.statusText ?? '';
        response.#headers = parts.headers;
        response.#type = parts.type ?? 'default';
        response.#url = parts.url ?? '';
        response.#redirected = parts.redirected ?? false;
        return response;
      };
    }

    constructor(body = null, init = undefined) {
      if (body === MADE_HERE) {
        super(init);
        return;
      }
      const settings = options(init, 'Response');
      const status = settings.status === undefined ? 200 : Math.trunc(Number(settings.status));
      if (!(status >= 200 && status <= 599)) {
        throw new RangeError('Response: the status must be a number from 200 to 599');
      }
      const statusText = `${settings.statusText ?? ''}`;
      if (/[^\t\x20-\x7e\x80-\xff]/.test(statusText)) {
        throw new TypeError('Response: the status text has a character that HTTP does not allow');
      }
      const headers = new Headers(settings.headers);
      const given = body === null || body === undefined ? null : extractBody(body);
      if (given && NULL_BODY.includes(status)) {
        throw new TypeError(`Response: a response with the status ${status} cannot have a body`);
      }
      super(given);
      if (given) setType(headers, given.type);
      this.#status = status;
      this.#statusText = statusText;
      this.#headers = headers;
    }

    static error() {
      return made(null, { status: 0, headers: host.global('headerParts').lock(new Headers()), type: 'error' });
    }

    static json(data, init = undefined) {
      const text = JSON.stringify(data);
      if (text === undefined) throw new TypeError('Response.json: the value cannot be written as JSON');
      const settings = options(init, 'Response.json');
      const headers = new Headers(settings.headers);
      setType(headers, 'application/json');
      return new Response(text, { status: settings.status, statusText: settings.statusText, headers });
    }

    static redirect(url, status = 302) {
      const { href } = new URL(url);
      if (!REDIRECTS.includes(Number(status))) {
        throw new RangeError(`Response.redirect: the status must be one of ${REDIRECTS.join(', ')}`);
      }
      return new Response(null, { status, headers: { location: href } });
    }

    get status() {
      return this.#status;
    }

    get statusText() {
      return this.#statusText;
    }

    get ok() {
      return this.#status >= 200 && this.#status <= 299;
    }

    get headers() {
      return this.#headers;
    }

    get type() {
      return this.#type;
    }

    get url() {
      return this.#url;
    }

    get redirected() {
      return this.#redirected;
    }

    clone() {
      if (this.bodyUsed) throw new TypeError('Response.clone: the body has been read already');
      return made(twin(this), {
        status: this.#status,
        statusText: this.#statusText,
        headers: new Headers(this.#headers),
        type: this.#type,
        url: this.#url,
        redirected: this.#redirected,
      });
    }

    [INSPECT]() {
      return { status: this.#status, statusText: this.#statusText, headers: this.#headers, url: this.#url };
    }
  }

  // ---- fetch ----

  async function fetchArguments(request) {
    const url = new URL(request.url);
    if (!/^https?:$/.test(url.protocol)) {
      throw new TypeError(`fetch: only http: and https: can be asked, not ${url.protocol}`);
    }
    url.hash = '';
    const bytes = hasBody(request) ? await request.bytes() : null;
    const args = {
      url: url.href,
      method: request.method,
      headers: [...request.headers],
      redirect: request.redirect,
    };
    if (bytes !== null) args.body = base64Encode(bytes);
    return JSON.stringify(args);
  }

  function responseOf(text) {
    const reply = JSON.parse(text);
    const bytes = NULL_BODY.includes(reply.status) ? null : base64Decode(reply.body ?? '');
    const headers = host.global('headerParts').lock(new Headers(reply.headers));
    return made({ bytes }, { ...reply, headers, type: 'basic' });
  }

  async function fetch(input, init = undefined) {
    if (arguments.length === 0) throw new TypeError('fetch: 1 argument required');
    const request = new Request(input, init);
    const { signal } = init?.signal === null ? {} : request;
    signal?.throwIfAborted();
    // Sending a request's body reads it.
    if (input instanceof Request && bytesOfBody(input) !== null && bytesOfBody(input) === bytesOfBody(request)) {
      await input.bytes();
    }
    return signal ? untilAborted(signal, ask(request)) : ask(request);
  }

  async function ask(request) {
    const args = await fetchArguments(request);
    let text;
    try {
      text = await host.call('http.fetch', args);
    } catch (error) {
      throw new TypeError(`fetch failed: ${error.message}`, { cause: error });
    }
    return responseOf(text);
  }

  // What the server still does for an aborted request is bounded there, and its answer is dropped.
  function untilAborted(signal, answer) {
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      const done = () => signal.removeEventListener('abort', abort);
      answer.then((value) => {
        done();
        resolve(value);
      }, (error) => {
        done();
        reject(error);
      });
    });
  }

  // ---- the result of a function ----

  // Of a Response whose body is a stream, {head, stream}; of another one null, of anything else undefined.
  function streamedResponse(value) {
    if (!(value instanceof Response)) return undefined;
    if (streamOfBody(value) === null || value.bodyUsed) return null;
    return { head: headOf(value), stream: value.body };
  }

  // What the engine takes for an answer if `value` is a Response, else undefined.
  function toResult(value) {
    if (!(value instanceof Response)) return undefined;
    const head = headOf(value);
    return value.bytes().then((bytes) => ({ ...head, body: base64Encode(bytes), isBase64Encoded: true }));
  }

  // Several cookies cannot be one header, so they have a member of their own, as in the event's format.
  function headOf(value) {
    if (value.type === 'error') throw new TypeError('the result is Response.error(), which has no status');
    const cookies = value.headers.getSetCookie();
    const headers = Object.fromEntries(value.headers);
    const several = cookies.length > 1;
    if (several) delete headers['set-cookie'];
    return { statusCode: value.status, headers, ...(several ? { cookies } : {}) };
  }

  asInterface(Body);
  return { Request: asInterface(Request), Response: asInterface(Response), fetch, extractBody, toResult, streamedResponse };
})
