// Answers that are made bit by bit, and what goes on after them.
'use strict';
const KEEP = 0;
const CHUNKS = 2;
const EVENTS = 3;
const sent = () => server.realm.answer;

async function* counting(count = 3) {
  for (let i = 1; i <= count; i++) yield `line ${i}\n`;
}

test('what is no stream is not streamed', () => {
  for (const value of [7, 'text', null, { a: 1 }, [1], new Response('x'), new Response()]) {
    if (typeof value !== 'object' || value === null) continue;
    check.equal(server.streamAnswer(value, CHUNKS), undefined);
  }
});

test('a generator is sent chunk by chunk', async () => {
  const head = await server.streamAnswer(counting(), CHUNKS);
  check.equal(sent(), {
    head: { headers: { 'content-type': 'text/plain;charset=UTF-8' } },
    pieces: ['line 1\n', 'line 2\n', 'line 3\n'],
    ended: true,
  });
  check.equal(head.body, '');
});

test('the first chunk says what the answer is', async () => {
  const typeOf = async (...chunks) => {
    server.realm.reset();
    await server.streamAnswer(ReadableStream.from(chunks), CHUNKS);
    return [sent().head.headers['content-type'], sent().pieces.join('')];
  };
  check.equal(await typeOf(Uint8Array.of(65)), ['application/octet-stream', 'A']);
  check.equal(await typeOf({ a: 1 }, [2], null), ['application/x-ndjson', '{"a":1}\n[2]\nnull\n']);
  check.equal(await typeOf(), ['text/plain;charset=UTF-8', '']);
  check.ok(sent().ended);
});

test('a response keeps its head', async () => {
  const response = new Response(counting(1), { status: 201, headers: { 'x-a': 'b', 'content-type': 'a/b' } });
  await server.streamAnswer(response, EVENTS);
  check.equal(sent(), { head: { statusCode: 201, headers: { 'content-type': 'a/b', 'x-a': 'b' } }, pieces: ['line 1\n'], ended: true });
});

test('an answer with a stream as its body is one too', async () => {
  await server.streamAnswer({ statusCode: 202, headers: { 'Content-Type': 'x/y' }, cookies: ['a=b'], body: counting(1) }, CHUNKS);
  check.equal(sent().head, { statusCode: 202, headers: { 'Content-Type': 'x/y' }, cookies: ['a=b'] });
});

test('for who asks for events each chunk is one', async () => {
  await server.streamAnswer(ReadableStream.from(['one', 'two\r\nlines', { n: 3 }, new TextEncoder().encode('four')]), EVENTS);
  check.equal(sent().head.headers, { 'content-type': 'text/event-stream' });
  check.equal(sent().pieces, ['data: one\n\n', 'data: two\ndata: lines\n\n', 'data: {"n":3}\n\n', 'data: four\n\n']);
});

test('where nobody reads along it is kept, as far as a result goes', async () => {
  const result = await server.streamAnswer(counting(2), KEEP);
  check.equal([atob(result.body), result.isBase64Encoded, sent()], ['line 1\nline 2\n', true, null]);
  let made = 0;
  let ended = false;
  async function* endless() {
    try {
      while (true) {
        made++;
        yield new Uint8Array(100_000);
      }
    } finally {
      ended = true;
    }
  }
  const cut = await server.streamAnswer(endless(), KEEP);
  check.equal([made, ended, atob(cut.body).length], [3, true, 300_000]);
});

test('a failure before the first chunk is that of the function', async () => {
  async function* failing() {
    throw new RangeError('at once');
  }
  await check.rejects(server.streamAnswer(failing(), CHUNKS), 'RangeError');
  check.equal(sent(), null);
});

test('a failure midway leaves the answer without an end', async () => {
  async function* failing() {
    yield 'a';
    throw new RangeError('midway');
  }
  await check.rejects(server.streamAnswer(failing(), CHUNKS), 'RangeError', /midway/);
  check.equal([sent().pieces, sent().ended], [['a'], false]);
  let cancelled = [];
  const stream = (...chunks) => new ReadableStream({
    pull(c) { c.enqueue(chunks.shift()); },
    cancel(why) { cancelled.push(why.name); },
  });
  await check.rejects(server.streamAnswer(stream('a', () => {}), CHUNKS), 'TypeError', /must be a string, bytes/);
  server.realm.reset();
  await check.rejects(server.streamAnswer(stream(() => {}), CHUNKS), 'TypeError', /must be a string, bytes/);
  check.equal([cancelled, sent()], [['TypeError', 'TypeError'], null]);
});

test('nothing is made while there is no room', async () => {
  let made = 0;
  async function* many() {
    while (made < 10) yield String(made++);
  }
  server.realm.room = 2;
  const done = server.streamAnswer(many(), CHUNKS);
  for (let i = 0; i < 50; i++) await null;
  check.equal([made, sent().pieces.length], [2, 2]);
  server.realm.grant(100);
  await done;
  check.equal([made, sent().ended], [10, true]);
});

test('large chunks go in pieces', async () => {
  await server.streamAnswer(ReadableStream.from([new Uint8Array(150_000)]), CHUNKS);
  check.equal(sent().pieces.map((piece) => piece.length), [65_536, 65_536, 18_928]);
});

test('a client that leaves ends the source and aborts the signal', async () => {
  const context = server.context({ deadline_ms: 4102444800000, env: {} });
  let ended = false;
  const signalled = new Promise((resolve) => { context.signal.onabort = () => resolve(context.signal.reason); });
  async function* waiting() {
    try {
      yield 'first';
      await signalled;
    } finally {
      ended = true;
    }
  }
  const done = server.streamAnswer(waiting(), CHUNKS);
  for (let i = 0; i < 50; i++) await null;
  server.realm.leave('the client has left');
  await done;
  const reason = await signalled;
  check.equal([reason.name, reason.message, ended, sent().ended], ['AbortError', 'the client has left', true, false]);
  // One that is asked for later knows.
  check.equal(server.context({ deadline_ms: 4102444800000, env: {} }).signal.aborted, true);
});

test('a source that cannot be ended is waited for a second', async () => {
  const stuck = new ReadableStream({ pull() {}, cancel: () => new Promise(() => {}) });
  const done = server.streamAnswer(new Response(stuck, { headers: { 'content-type': 'a/b' } }), CHUNKS);
  for (let i = 0; i < 50; i++) await null;
  server.realm.leave('the client has left');
  await done;
  check.equal(sent().ended, false);
});

test('waitUntil keeps the activation open', async () => {
  const context = server.context({ deadline_ms: 4102444800000, env: {} });
  check.equal(server.background(context), undefined);
  const log = [];
  const later = (ms, text) => new Promise((resolve) => setTimeout(() => { log.push(text); resolve(); }, ms));
  context.waitUntil(later(5, 'a').then(() => context.waitUntil(later(5, 'b'))));
  context.waitUntil(Promise.reject(new RangeError('refused')));
  context.waitUntil(7);
  await server.background(context);
  check.equal(log, ['a', 'b']);
  check.match(server.log[0][1], /ctx\.waitUntil was rejected: RangeError: refused/);
  check.equal(server.background(context), undefined);
});
