'use strict';
let asked;
const answer = (reply) => {
  server.answer = (op, args) => {
    asked = [op, args];
    return reply;
  };
};

test('a request is sent whole, and its answer is a Response', async () => {
  answer({ status: 201, statusText: 'Created', headers: [['A', 'b'], ['set-cookie', 'x'], ['set-cookie', 'y']], body: 'aGk=', url: 'http://b/', redirected: true });
  const response = await fetch('http://a/b#c', { method: 'post', headers: { x: 'y' }, body: 'é' });
  check.equal(asked, ['http.fetch', { url: 'http://a/b', method: 'POST', redirect: 'follow', body: 'w6k=',
    headers: [['content-type', 'text/plain;charset=UTF-8'], ['x', 'y']] }]);
  check.equal([response.status, response.statusText, response.ok, response.url, response.redirected, response.type],
    [201, 'Created', true, 'http://b/', true, 'basic']);
  check.equal([response.headers.get('a'), response.headers.getSetCookie(), await response.text()], ['b', ['x', 'y'], 'hi']);
  check.throws(() => response.headers.set('a', 'c'), 'TypeError');
});

test('a Request can be fetched once', async () => {
  answer({ status: 204, headers: [], body: '' });
  const request = new Request('http://a', { method: 'PUT', body: 'x', redirect: 'manual' });
  check.equal((await fetch(request)).status, 204);
  check.equal([asked[1].method, asked[1].redirect, request.bodyUsed], ['PUT', 'manual', true]);
  await check.rejects(fetch(request), 'TypeError', /has been read already/);
});

test('failures are TypeErrors that say why', async () => {
  server.answer = () => { throw new Error('the host is not allowed'); };
  const error = await check.rejects(fetch('http://a'), 'TypeError', /^fetch failed: the host is not allowed$/);
  check.equal(error.cause.message, 'the host is not allowed');
  await check.rejects(fetch('ftp://a'), 'TypeError', /only http: and https:/);
  await check.rejects(fetch('nothing'), 'TypeError', /not a valid URL/);
  await check.rejects(fetch(), 'TypeError', /1 argument/);
});

test('a signal ends the wait', async () => {
  server.answer = () => new Promise(() => {});
  await check.rejects(fetch('http://a', { signal: AbortSignal.timeout(10) }), 'TimeoutError');
  const controller = new AbortController();
  const waiting = fetch(new Request('http://a', { signal: controller.signal }));
  controller.abort(new RangeError('mine'));
  await check.rejects(waiting, 'RangeError', /mine/);
  await check.rejects(fetch('http://a', { signal: AbortSignal.abort() }), 'AbortError');
});

test('a Response becomes a result', async () => {
  const headers = [['a', 'b'], ['set-cookie', 'x=1']];
  check.equal(await server.toResult(new Response('hi', { status: 201, headers })),
    { statusCode: 201, headers: { 'a': 'b', 'content-type': 'text/plain;charset=UTF-8', 'set-cookie': 'x=1' }, body: 'aGk=', isBase64Encoded: true });
  const several = await server.toResult(new Response(null, { headers: [['set-cookie', 'x=1'], ['set-cookie', 'y=2']] }));
  check.equal(several, { statusCode: 200, headers: {}, cookies: ['x=1', 'y=2'], body: '', isBase64Encoded: true });
  check.equal(server.toResult({ statusCode: 200 }), undefined);
  const read = new Response('x');
  await read.text();
  await check.rejects(server.toResult(read), 'TypeError', /has been read/);
});
