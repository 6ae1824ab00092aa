// TextEncoder, and TextDecoder for UTF-8, UTF-16 and windows-1252 (which is what the web means by
// latin1 and ascii).
'use strict';
(function (host) {
  const { asInterface, bytesOf, fromCharCodes, toUSVString } = host.global('support');

  const LABELS = {
    'utf-8': 'unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8',
    'utf-16le': 'csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le',
    'utf-16be': 'unicodefffe utf-16be',
    'windows-1252':
      'ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 ' +
      'iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252',
  };

  function encodingOf(label) {
    const wanted = `${label}`.replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, '').toLowerCase();
    for (const encoding of Object.keys(LABELS)) {
      if (LABELS[encoding].split(' ').includes(wanted)) return encoding;
    }
    throw new RangeError(`TextDecoder: the encoding "${label}" is not supported`);
  }

  class TextEncoder {
    get encoding() {
      return 'utf-8';
    }

    encode(input = '') {
      return host.utf8Encode(toUSVString(input));
    }

    // Writes whole characters only; `read` counts UTF-16 code units.
    encodeInto(source, destination) {
      if (!(destination instanceof Uint8Array)) {
        throw new TypeError('TextEncoder.encodeInto: the destination must be a Uint8Array');
      }
      let text = toUSVString(source);
      // A code unit takes at least one byte, so what lies further on never fits.
      text = text.slice(0, destination.length);
      if (/[\ud800-\udbff]$/.test(text)) text = text.slice(0, -1);
      let bytes = host.utf8Encode(text);
      if (bytes.length > destination.length) {
        let end = destination.length;
        while (end > 0 && (bytes[end] & 0xc0) === 0x80) end--;
        bytes = bytes.subarray(0, end);
        text = host.utf8Decode(bytes, false, true);
      }
      destination.set(bytes);
      return { read: text.length, written: bytes.length };
    }
  }

  // How many bytes at the end of `bytes` begin a UTF-8 character that more bytes may complete.
  function unfinishedUtf8(bytes) {
    for (let back = 1; back <= Math.min(3, bytes.length); back++) {
      const lead = bytes[bytes.length - back];
      if (lead < 0x80) return 0;
      if (lead < 0xc0) continue;
      const wanted = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
      if (wanted <= back) return 0;
      if (back === 1) return 1;
      const second = bytes[bytes.length - back + 1];
      const lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
      const highest = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
      return second >= lowest && second <= highest ? back : 0;
    }
    return 0;
  }

  // Decoders: (bytes, fatal, more to come) => [text, number of bytes kept for the next call].
  const DECODERS = {
    'utf-8'(bytes, fatal, more) {
      const kept = more ? unfinishedUtf8(bytes) : 0;
      return [host.utf8Decode(bytes.subarray(0, bytes.length - kept), fatal, true), kept];
    },
    'utf-16le': (bytes, fatal, more) => decodeUtf16(bytes, fatal, more, 0),
    'utf-16be': (bytes, fatal, more) => decodeUtf16(bytes, fatal, more, 1),
    'windows-1252'(bytes) {
      // The 32 codes where windows-1252 differs from Unicode.
      const SPECIAL =
        '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f' +
        '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178';
      const text = fromCharCodes(bytes);
      return [text.replace(/[\x80-\x9f]/g, (c) => SPECIAL[c.charCodeAt(0) - 0x80]), 0];
    },
  };

  function decodeUtf16(bytes, fatal, more, highFirst) {
    const units = new Uint16Array(bytes.length >> 1);
    for (let i = 0; i < units.length; i++) {
      units[i] = (bytes[2 * i + 1 - highFirst] << 8) | bytes[2 * i + highFirst];
    }
    let kept = bytes.length & 1;
    let used = units.length;
    if (more && used > 0 && (units[used - 1] & 0xfc00) === 0xd800) {
      used--;
      kept += 2;
    }
    let text = fromCharCodes(units.subarray(0, used));
    const wellFormed = toUSVString(text);
    if (fatal && (wellFormed !== text || (!more && kept > 0))) throw notEncoded('utf-16');
    text = wellFormed;
    if (!more && kept > 0) text += '\ufffd';
    return [text, more ? kept : 0];
  }

  const notEncoded = (encoding) => new TypeError(`TextDecoder: the data is not valid ${encoding}`);

  class TextDecoder {
    #encoding;
    #fatal;
    #ignoreBOM;
    #kept = new Uint8Array(0);
    #begun = false;

    constructor(label = 'utf-8', options = {}) {
      this.#encoding = encodingOf(label);
      this.#fatal = Boolean(options?.fatal);
      this.#ignoreBOM = Boolean(options?.ignoreBOM);
    }

    get encoding() {
      return this.#encoding;
    }

    get fatal() {
      return this.#fatal;
    }

    get ignoreBOM() {
      return this.#ignoreBOM;
    }

    decode(input = new Uint8Array(0), options = {}) {
      const more = Boolean(options?.stream);
      const bytes = this.#join(bytesOf(input, 'TextDecoder.decode: the input'));
      const begun = this.#begun;
      this.#kept = new Uint8Array(0);
      this.#begun = false;
      const [text, kept] = this.#run(bytes, more);
      if (more) {
        this.#kept = bytes.slice(bytes.length - kept);
        this.#begun = begun || text.length > 0;
      }
      const bom = !begun && !this.#ignoreBOM && this.#encoding !== 'windows-1252';
      return bom && text.startsWith('\ufeff') ? text.slice(1) : text;
    }

    #join(bytes) {
      if (this.#kept.length === 0) return bytes;
      const joined = new Uint8Array(this.#kept.length + bytes.length);
      joined.set(this.#kept);
      joined.set(bytes, this.#kept.length);
      return joined;
    }

    #run(bytes, more) {
      try {
        return DECODERS[this.#encoding](bytes, this.#fatal, more);
      } catch (error) {
        if (this.#fatal && error instanceof TypeError) throw notEncoded(this.#encoding);
        throw error;
      }
    }
  }

  return { TextEncoder: asInterface(TextEncoder), TextDecoder: asInterface(TextDecoder) };
})
