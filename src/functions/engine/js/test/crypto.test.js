'use strict';
const hex = (data) => Array.from(new Uint8Array(data), (byte) => byte.toString(16).padStart(2, '0')).join('');
const utf8 = (text) => new TextEncoder().encode(text);
const key = (text, usages, extractable = false) =>
  crypto.subtle.importKey('raw', utf8(text), { name: 'HMAC', hash: 'SHA-256' }, extractable, usages);

test('digests', async () => {
  check.equal(hex(await crypto.subtle.digest('sha-1', utf8('abc'))), 'a9993e364706816aba3e25717850c26c9cd0d89d');
  check.equal(hex(await crypto.subtle.digest({ name: 'SHA-256' }, utf8('abc').buffer)),
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  check.equal((await crypto.subtle.digest('SHA-512', new Uint8Array(0))).byteLength, 64);
  await check.rejects(crypto.subtle.digest('MD5', utf8('')), 'NotSupportedError', /SHA-1, SHA-256/);
  await check.rejects(crypto.subtle.digest('SHA-1', 'text'), 'TypeError', /ArrayBuffer/);
});

test('HMAC signs and verifies', async () => {
  const secret = await key('key', ['sign', 'verify']);
  const signature = await crypto.subtle.sign('HMAC', secret, utf8('The quick brown fox jumps over the lazy dog'));
  check.equal(hex(signature), 'f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8');
  const verify = (given, text) => crypto.subtle.verify('HMAC', secret, given, utf8(text));
  check.equal(await verify(signature, 'The quick brown fox jumps over the lazy dog'), true);
  check.equal(await verify(signature, 'the quick brown fox jumps over the lazy dog'), false);
  check.equal(await verify(signature.slice(1), ''), false);
});

test('keys are for what they were made for', async () => {
  const secret = await key('key', ['verify']);
  check.equal([secret.type, secret.algorithm.hash.name, secret.algorithm.length, secret.usages], ['secret', 'SHA-256', 24, ['verify']]);
  await check.rejects(crypto.subtle.sign('HMAC', secret, utf8('')), 'InvalidAccessError');
  await check.rejects(crypto.subtle.exportKey('raw', secret), 'InvalidAccessError');
  await check.rejects(key('key', ['encrypt']), 'SyntaxError');
  await check.rejects(key('', ['sign']), 'DataError');
  await check.rejects(crypto.subtle.importKey('raw', utf8('k'), { name: 'AES-GCM' }, true, ['encrypt']), 'NotSupportedError');
  await check.rejects(crypto.subtle.encrypt(), 'NotSupportedError');
});

test('keys travel as JWK', async () => {
  const made = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-384' }, true, ['sign']);
  const jwk = await crypto.subtle.exportKey('jwk', made);
  check.equal([jwk.kty, jwk.alg, jwk.k.length], ['oct', 'HS384', 171]);
  const back = await crypto.subtle.importKey('jwk', jwk, { name: 'HMAC', hash: { name: 'SHA-384' } }, true, ['sign']);
  check.equal(hex(await crypto.subtle.exportKey('raw', back)), hex(await crypto.subtle.exportKey('raw', made)));
});

test('random values', () => {
  const array = new Uint16Array(100);
  check.ok(crypto.getRandomValues(array) === array && array.some((value) => value !== 0));
  check.ok(crypto.getRandomValues(new BigInt64Array(2))[0] !== 0n);
  check.throws(() => crypto.getRandomValues(new Float64Array(1)), 'TypeMismatchError');
  check.throws(() => crypto.getRandomValues(new Uint8Array(65537)), 'QuotaExceededError');
  check.match(crypto.randomUUID(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  check.ok(crypto.randomUUID() !== crypto.randomUUID());
});

test('secrets are compared in one time', () => {
  check.equal(crypto.subtle.timingSafeEqual(utf8('abc'), utf8('abc')), true);
  check.equal(crypto.subtle.timingSafeEqual(utf8('abc'), utf8('abd')), false);
  check.throws(() => crypto.subtle.timingSafeEqual(utf8('a'), utf8('ab')), 'TypeError', /one length/);
});
