// Conversions that several web APIs share.
'use strict';
(function (host) {
  // Regular expressions here and elsewhere are compiled anew in every global. With the flag "u" that takes
  // a hundred times as long.
  const SURROGATE = /[\ud800-\udfff]/;
  const PAIR_OR_LONE = /[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]/g;
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const NO_DIGIT = 255;
  let tables = null;

  // Made when they are needed: most functions have no use for them.
  function base64Tables() {
    if (tables) return tables;
    const chars = new Uint8Array(64);
    const digits = new Uint8Array(128).fill(NO_DIGIT);
    for (let i = 0; i < 64; i++) {
      chars[i] = ALPHABET.charCodeAt(i);
      digits[chars[i]] = i;
    }
    return (tables = { chars, digits });
  }

  // A string without lone surrogates, as UTF-8 will carry it. Symbols throw a TypeError.
  function toUSVString(value) {
    const text = `${value}`;
    if (!SURROGATE.test(text)) return text;
    return text.replace(PAIR_OR_LONE, (found) => (found.length === 2 ? found : '\ufffd'));
  }

  // Each character's code as a byte, or throws what `refuse` returns for one above 255.
  function latin1Bytes(text, refuse) {
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 255) throw refuse();
      bytes[i] = code;
    }
    return bytes;
  }

  // A function cannot be called with any number of arguments, so long arrays go in pieces.
  function fromCharCodes(codes) {
    const PIECE = 8192;
    if (codes.length <= PIECE) return String.fromCharCode.apply(null, codes);
    let text = '';
    for (let i = 0; i < codes.length; i += PIECE) {
      text += String.fromCharCode.apply(null, codes.subarray(i, i + PIECE));
    }
    return text;
  }

  function base64Encode(bytes) {
    const { chars } = base64Tables();
    const padded = Math.ceil(bytes.length / 3) * 4;
    const out = new Uint8Array(padded);
    let at = 0;
    for (let i = 0; i < bytes.length; i += 3) {
      const word = (bytes[i] << 16) | (bytes[i + 1] << 8) | bytes[i + 2];
      out[at++] = chars[word >> 18];
      out[at++] = chars[(word >> 12) & 63];
      out[at++] = chars[(word >> 6) & 63];
      out[at++] = chars[word & 63];
    }
    const spare = padded && padded - Math.ceil((bytes.length * 4) / 3);
    out.fill(0x3d, padded - spare);
    return fromCharCodes(out);
  }

  // The bytes behind base64, forgiving white space and missing padding, or null.
  function base64Decode(text) {
    const { digits } = base64Tables();
    let input = text.replace(/[\t\n\f\r ]+/g, '');
    if (input.length % 4 === 0) input = input.replace(/={1,2}$/, '');
    if (input.length % 4 === 1) return null;
    const out = new Uint8Array(Math.floor((input.length * 3) / 4));
    let word = 0;
    let bits = 0;
    let at = 0;
    for (let i = 0; i < input.length; i++) {
      const code = input.charCodeAt(i);
      const digit = code < 128 ? digits[code] : NO_DIGIT;
      if (digit === NO_DIGIT) return null;
      word = ((word << 6) | digit) & 0xffffff;
      bits += 6;
      if (bits >= 8) {
        bits -= 8;
        out[at++] = (word >> bits) & 255;
      }
    }
    return out;
  }

  function isBufferSource(value) {
    return ArrayBuffer.isView(value) || isArrayBuffer(value);
  }

  function isArrayBuffer(value) {
    const tag = Object.prototype.toString.call(value);
    return tag === '[object ArrayBuffer]' || tag === '[object SharedArrayBuffer]';
  }

  // A view of the bytes of an ArrayBuffer or of a view, or a TypeError that starts with `what`.
  function bytesOf(value, what) {
    if (ArrayBuffer.isView(value)) {
      return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    }
    if (isArrayBuffer(value)) return new Uint8Array(value);
    throw new TypeError(`${what} must be an ArrayBuffer, a typed array or a DataView`);
  }

  // Gives a class the name that Object.prototype.toString shows. Its members stay not enumerable, unlike
  // those of web interfaces: to change that costs more than all else when a class is made.
  function asInterface(constructor, name = constructor.name) {
    Object.defineProperty(constructor.prototype, Symbol.toStringTag, { value: name, configurable: true });
    return constructor;
  }

  // What `console` shows for an object whose state is private.
  const INSPECT = Symbol.for('nodejs.util.inspect.custom');

  return {
    toUSVString,
    latin1Bytes,
    fromCharCodes,
    base64Encode,
    base64Decode,
    isBufferSource,
    bytesOf,
    asInterface,
    INSPECT,
  };
})
