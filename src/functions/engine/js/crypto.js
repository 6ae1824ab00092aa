// crypto: random numbers, digests and HMAC. Other algorithms are refused by name.
'use strict';
(function (host) {
  const { asInterface, base64Decode, base64Encode, bytesOf } = host.global('support');
  const MAX_RANDOM_BYTES = 65_536;
  const MADE_HERE = {};
  // Block sizes of the hashes: the length of a key that is generated.
  const BLOCK_BYTES = { 'SHA-1': 64, 'SHA-256': 64, 'SHA-384': 128, 'SHA-512': 128 };

  const exception = (message, name) => new (host.global('DOMException'))(message, name);
  const own = (bytes) => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);

  function nameOf(algorithm) {
    const name = typeof algorithm === 'object' && algorithm !== null ? algorithm.name : algorithm;
    return `${name}`.toUpperCase();
  }

  function hashOf(algorithm, what) {
    const name = nameOf(algorithm);
    if (!Object.hasOwn(BLOCK_BYTES, name)) {
      throw exception(`${what}: the hash must be one of ${Object.keys(BLOCK_BYTES).join(', ')}`, 'NotSupportedError');
    }
    return name;
  }

  function needHmac(algorithm, what) {
    if (nameOf(algorithm) !== 'HMAC') throw exception(`${what}: only HMAC is supported`, 'NotSupportedError');
  }

  // Takes the same time wherever the first difference is.
  function sameBytes(a, b) {
    let difference = 0;
    for (let i = 0; i < a.length; i++) difference |= a[i] ^ b[i];
    return difference === 0;
  }

  const secrets = new WeakMap();

  class CryptoKey {
    #algorithm;
    #extractable;
    #usages;

    constructor(key, bytes, algorithm, extractable, usages) {
      if (key !== MADE_HERE) throw new TypeError('CryptoKey: use crypto.subtle to make one');
      this.#algorithm = algorithm;
      this.#extractable = extractable;
      this.#usages = usages;
      secrets.set(this, bytes);
    }

    get type() {
      return 'secret';
    }

    get algorithm() {
      return this.#algorithm;
    }

    get extractable() {
      return this.#extractable;
    }

    get usages() {
      return [...this.#usages];
    }
  }

  function usagesOf(list, what) {
    const usages = [...new Set(Array.from(list ?? [], String))];
    if (usages.length === 0 || !usages.every((usage) => usage === 'sign' || usage === 'verify')) {
      throw exception(`${what}: the usages of an HMAC key are "sign" and "verify"`, 'SyntaxError');
    }
    return usages;
  }

  function newKey(bytes, hash, extractable, usages) {
    const algorithm = Object.freeze({ name: 'HMAC', hash: Object.freeze({ name: hash }), length: bytes.length * 8 });
    return new CryptoKey(MADE_HERE, bytes, algorithm, Boolean(extractable), usages);
  }

  function secretFor(key, usage, what) {
    if (!(key instanceof CryptoKey)) throw new TypeError(`${what}: the key must be a CryptoKey`);
    if (!key.usages.includes(usage)) throw exception(`${what}: the key is not for this`, 'InvalidAccessError');
    return secrets.get(key);
  }

  const fromUrlBase64 = (text) => base64Decode(`${text}`.replaceAll('-', '+').replaceAll('_', '/'));
  const toUrlBase64 = (bytes) =>
    base64Encode(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');

  class SubtleCrypto {
    constructor(key = undefined) {
      if (key !== MADE_HERE) throw new TypeError('SubtleCrypto: use crypto.subtle');
    }

    async digest(algorithm, data) {
      const hash = hashOf(algorithm, 'crypto.subtle.digest');
      return own(host.digest(hash, bytesOf(data, 'crypto.subtle.digest: the data').slice()));
    }

    async importKey(format, keyData, algorithm, extractable, keyUsages) {
      const what = 'crypto.subtle.importKey';
      needHmac(algorithm, what);
      const hash = hashOf(algorithm.hash, what);
      const usages = usagesOf(keyUsages, what);
      let bytes;
      if (format === 'raw') {
        bytes = bytesOf(keyData, `${what}: the key`).slice();
      } else if (format === 'jwk') {
        bytes = keyData?.kty === 'oct' ? fromUrlBase64(keyData.k) : null;
        if (bytes === null) throw exception(`${what}: this is no JWK of a symmetric key`, 'DataError');
      } else {
        throw exception(`${what}: the format must be "raw" or "jwk"`, 'NotSupportedError');
      }
      if (bytes.length === 0) throw exception(`${what}: the key is empty`, 'DataError');
      return newKey(bytes, hash, extractable, usages);
    }

    async generateKey(algorithm, extractable, keyUsages) {
      const what = 'crypto.subtle.generateKey';
      needHmac(algorithm, what);
      const hash = hashOf(algorithm.hash, what);
      const usages = usagesOf(keyUsages, what);
      const bits = algorithm.length ?? BLOCK_BYTES[hash] * 8;
      if (!Number.isInteger(bits) || bits < 8 || bits % 8 !== 0 || bits > MAX_RANDOM_BYTES * 8) {
        throw exception(`${what}: the length must be a number of bits that fills bytes`, 'OperationError');
      }
      return newKey(host.randomBytes(bits / 8), hash, extractable, usages);
    }

    async exportKey(format, key) {
      const what = 'crypto.subtle.exportKey';
      if (!(key instanceof CryptoKey)) throw new TypeError(`${what}: the key must be a CryptoKey`);
      if (!key.extractable) throw exception(`${what}: the key is not extractable`, 'InvalidAccessError');
      const bytes = secrets.get(key);
      if (format === 'raw') return own(bytes.slice());
      if (format !== 'jwk') throw exception(`${what}: the format must be "raw" or "jwk"`, 'NotSupportedError');
      const alg = `HS${key.algorithm.hash.name.slice('SHA-'.length)}`;
      return { kty: 'oct', k: toUrlBase64(bytes), alg, key_ops: key.usages, ext: true };
    }

    async sign(algorithm, key, data) {
      const what = 'crypto.subtle.sign';
      needHmac(algorithm, what);
      const secret = secretFor(key, 'sign', what);
      return own(host.hmac(key.algorithm.hash.name, secret, bytesOf(data, `${what}: the data`).slice()));
    }

    async verify(algorithm, key, signature, data) {
      const what = 'crypto.subtle.verify';
      needHmac(algorithm, what);
      const secret = secretFor(key, 'verify', what);
      const given = bytesOf(signature, `${what}: the signature`).slice();
      const right = host.hmac(key.algorithm.hash.name, secret, bytesOf(data, `${what}: the data`).slice());
      return given.length === right.length && sameBytes(given, right);
    }

    // Not in the standard: for comparing secrets, such as tokens.
    timingSafeEqual(a, b) {
      const what = 'crypto.subtle.timingSafeEqual';
      const [left, right] = [bytesOf(a, `${what}: the first value`), bytesOf(b, `${what}: the second value`)];
      if (left.length !== right.length) throw new TypeError(`${what}: the values must be of one length`);
      return sameBytes(left, right);
    }
  }
  for (const name of ['encrypt', 'decrypt', 'deriveBits', 'deriveKey', 'wrapKey', 'unwrapKey']) {
    SubtleCrypto.prototype[name] = async () => {
      throw exception(`crypto.subtle.${name} is not supported`, 'NotSupportedError');
    };
  }

  class Crypto {
    #subtle = new SubtleCrypto(MADE_HERE);

    constructor(key = undefined) {
      if (key !== MADE_HERE) throw new TypeError('Crypto: use crypto');
    }

    get subtle() {
      return this.#subtle;
    }

    getRandomValues(array) {
      const kind = ArrayBuffer.isView(array) ? Object.prototype.toString.call(array).slice(8, -1) : '';
      if (!/^(?:Int|Uint|BigInt|BigUint)\d+(?:Clamped)?Array$/.test(kind)) {
        throw exception('crypto.getRandomValues: the argument must be a typed array of integers', 'TypeMismatchError');
      }
      if (array.byteLength > MAX_RANDOM_BYTES) {
        throw exception(`crypto.getRandomValues: at most ${MAX_RANDOM_BYTES} bytes at once`, 'QuotaExceededError');
      }
      bytesOf(array).set(host.randomBytes(array.byteLength));
      return array;
    }

    randomUUID() {
      const bytes = host.randomBytes(16);
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
    }
  }

  asInterface(Crypto);
  asInterface(SubtleCrypto);
  return { crypto: new Crypto(MADE_HERE), Crypto, SubtleCrypto, CryptoKey: asInterface(CryptoKey) };
})
