'use strict';
const multipart = '--B\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n2\r\n--B\r\n' +
  'Content-Disposition: form-data; name="f"; filename="x%22.txt"\r\nContent-Type: text/css\r\n\r\nbody\r\n--B--\r\n';

test('headers are found whatever their case', () => {
  const headers = new Headers({ 'X-A': ' 1 ', 'b': 2 });
  headers.append('x-a', 'two');
  check.equal([headers.get('X-a'), headers.has('B'), headers.get('c')], ['1, two', true, null]);
  check.equal([...headers], [['b', '2'], ['x-a', '1, two']]);
  headers.delete('X-A');
  check.equal([...new Headers(headers).keys()], ['b']);
  check.throws(() => headers.set('a b', '1'), 'TypeError', /"a b" is not a name/);
  check.throws(() => headers.set('a', 'x\r\ny'), 'TypeError', /not a value/);
  check.throws(() => headers.set('a', '€'), 'TypeError', /not a value/);
  check.throws(() => new Headers([['a']]), 'TypeError', /pair/);
});

test('cookies stay apart', () => {
  const headers = new Headers([['set-cookie', 'a=1'], ['Set-Cookie', 'b=2'], ['a', 'x']]);
  check.equal(headers.getSetCookie(), ['a=1', 'b=2']);
  check.equal([...headers], [['a', 'x'], ['set-cookie', 'a=1'], ['set-cookie', 'b=2']]);
});

test('a body is read once, in any form', async () => {
  const response = new Response('{"a":"é"}');
  check.equal(response.headers.get('content-type'), 'text/plain;charset=UTF-8');
  const copy = response.clone();
  check.equal(await response.json(), { a: 'é' });
  check.ok(response.bodyUsed);
  await check.rejects(response.text(), 'TypeError', /has been read already/);
  check.throws(() => response.clone(), 'TypeError');
  check.equal((await copy.bytes()).length, 10);
  check.equal((await new Response(new Uint8Array([1, 2, 3]).subarray(1)).arrayBuffer()).byteLength, 2);
  check.equal(await new Response().text() + await new Response(null).text(), '');
  await check.rejects(new Response('{').json(), 'SyntaxError');
});

test('a body keeps what it was made of', async () => {
  const bytes = new Uint8Array([97]);
  const response = new Response(bytes);
  bytes[0] = 98;
  check.equal(await response.text(), 'a');
});

test('bodies say what they are', async () => {
  const typeOf = (body) => new Response(body).headers.get('content-type');
  check.equal(typeOf(new URLSearchParams('a=b c')), 'application/x-www-form-urlencoded;charset=UTF-8');
  check.equal(typeOf(new Blob(['x'], { type: 'Text/HTML' })), 'text/html');
  check.equal(typeOf(new ArrayBuffer(1)), null);
  check.match(typeOf(new FormData()), /^multipart\/form-data; boundary=/);
  check.equal(new Response('x', { headers: { 'Content-Type': 'a/b' } }).headers.get('content-type'), 'a/b');
  check.equal(await new Response(new URLSearchParams('a=b c')).text(), 'a=b+c');
});

test('responses', async () => {
  const json = Response.json({ a: 1 }, { status: 201 });
  check.equal([json.status, json.ok, json.headers.get('content-type'), await json.text()], [201, true, 'application/json', '{"a":1}']);
  check.equal(Response.redirect('http://a', 307).headers.get('location'), 'http://a/');
  check.throws(() => Response.redirect('http://a', 200), 'RangeError');
  check.throws(() => new Response('x', { status: 204 }), 'TypeError', /204 cannot have a body/);
  check.throws(() => new Response('', { status: 100 }), 'RangeError');
  check.throws(() => Response.json(undefined), 'TypeError');
  check.equal([Response.error().type, Response.error().status, new Response().statusText], ['error', 0, '']);
  check.throws(() => Response.error().headers.set('a', 'b'), 'TypeError', /cannot be changed/);
});

test('requests', async () => {
  const request = new Request('http://a/b#c', { method: 'post', body: 'x', headers: { a: '1' } });
  check.equal([request.method, request.url, request.redirect, request.signal.aborted], ['POST', 'http://a/b#c', 'follow', false]);
  const changed = new Request(request, { method: 'PUT', headers: { b: '2' } });
  check.equal([changed.method, changed.headers.get('a'), changed.headers.get('b'), await changed.text()], ['PUT', null, '2', 'x']);
  check.equal(await request.clone().text(), 'x');
  check.equal(new Request('http://a', { method: 'patch' }).method, 'patch');
  check.throws(() => new Request('/x'), 'TypeError', /not a valid URL/);
  check.throws(() => new Request('http://u:p@a'), 'TypeError', /user name or a password/);
  check.throws(() => new Request('http://a', { body: 'x' }), 'TypeError', /GET cannot have a body/);
  check.throws(() => new Request('http://a', { method: 'A B' }), 'TypeError', /not a method/);
  check.throws(() => new Request('http://a', { redirect: 'x' }), 'TypeError', /redirect must be/);
  check.throws(() => new Request('http://a', { signal: {} }), 'TypeError', /AbortSignal/);
});

test('blobs and files', async () => {
  const blob = new Blob(['aé', new Uint8Array([98]), new Blob(['c'])], { type: 'Text/Plain' });
  check.equal([blob.size, blob.type, await blob.text()], [5, 'text/plain', 'aébc']);
  check.equal(await blob.slice(-2).text(), 'bc');
  check.equal(await blob.slice(0, 1, 'x/y').text(), 'a');
  check.equal(blob.slice(3, 1).size, 0);
  const file = new File(['x'], 'n', { lastModified: 7 });
  check.equal([file.name, file.lastModified, file.size, file instanceof Blob], ['n', 7, 1, true]);
  check.throws(() => new Blob('x'), 'TypeError');
});

test('forms are written and read', async () => {
  const form = new FormData();
  form.append('a', '1');
  form.append('a', '2\n');
  form.append('"é', new Blob(['\r\n--'], { type: 'x/y' }), 'f"');
  check.equal(form.getAll('a'), ['1', '2\n']);
  const read = await new Response(form).formData();
  check.equal(read.getAll('a'), ['1', '2\r\n']);
  const file = read.get('"é');
  check.equal([file.name, file.type, await file.text()], ['f"', 'x/y', '\r\n--']);
  form.set('a', 'only');
  check.equal([...form.keys()], ['a', '"é']);
  check.throws(() => form.append('a', 'b', 'c'), 'TypeError');
});

test('forms of others are read, and broken ones refused', async () => {
  const response = (body, type) => new Response(body, { headers: { 'content-type': type } });
  const form = await response(multipart, 'multipart/form-data; boundary=B').formData();
  check.equal([form.get('a'), form.get('f').name, form.get('f').type, await form.get('f').text()], ['1\r\n2', 'x".txt', 'text/css', 'body']);
  check.equal((await response('?a=b+c', 'application/x-www-form-urlencoded').formData()).get('?a'), 'b c');
  await check.rejects(response(multipart.slice(0, -10), 'multipart/form-data; boundary=B').formData(), 'TypeError', /ends within/);
  await check.rejects(response('x', 'multipart/form-data; boundary=B').formData(), 'TypeError', /boundary is not/);
  await check.rejects(response('x', 'text/plain').formData(), 'TypeError', /content type/);
});
