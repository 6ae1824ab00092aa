'use strict';
const bytes = (...values) => Uint8Array.from(values);

test('text becomes UTF-8 and comes back', () => {
  check.equal([...new TextEncoder().encode('aé€😀\ud800')], [97, 195, 169, 226, 130, 172, 240, 159, 152, 128, 239, 191, 189]);
  check.equal(new TextDecoder().decode(bytes(0xef, 0xbb, 0xbf, 97, 0xc3, 0xa9)), 'aé');
  check.equal(new TextDecoder('utf8', { ignoreBOM: true }).decode(bytes(0xef, 0xbb, 0xbf, 97)), '\ufeffa');
  check.equal(new TextDecoder().decode(bytes(0xff, 97, 0xe2, 0x82)), '\ufffda\ufffd');
  check.throws(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes(0xff)), 'TypeError', /not valid utf-8/);
  check.equal(new TextEncoder().encode().length, 0);
});

test('encodeInto writes whole characters', () => {
  const into = (text, size) => {
    const target = new Uint8Array(size);
    const { read, written } = new TextEncoder().encodeInto(text, target);
    return [read, written, ...target];
  };
  check.equal(into('a€b', 3), [1, 1, 97, 0, 0]);
  check.equal(into('a€b', 4), [2, 4, 97, 226, 130, 172]);
  check.equal(into('😀', 3), [0, 0, 0, 0, 0]);
  check.equal(into('😀x', 5), [3, 5, 240, 159, 152, 128, 120]);
  check.equal(into('a😀', 2), [1, 1, 97, 0]);
});

test('a stream of pieces decodes like the whole', () => {
  const text = '\ufeffaé€😀z\u{10ffff}';
  for (const [label, encode] of [['utf-8', (t) => new TextEncoder().encode(t)], ['utf-16le', utf16], ['utf-16be', swapped]]) {
    const whole = encode(text);
    for (let size = 1; size < 5; size++) {
      const decoder = new TextDecoder(label);
      let out = '';
      for (let i = 0; i < whole.length; i += size) out += decoder.decode(whole.subarray(i, i + size), { stream: true });
      check.equal(out + decoder.decode(), text.slice(1));
    }
  }
  function utf16(t) {
    return Uint8Array.from([...Array(t.length * 2).keys()], (i) => (t.charCodeAt(i >> 1) >> (8 * (i & 1))) & 255);
  }
  function swapped(t) {
    const le = utf16(t);
    return le.map((_, i) => le[i ^ 1]);
  }
});

test('what is cut off in the middle is replaced at the end', () => {
  const decoder = new TextDecoder();
  check.equal(decoder.decode(bytes(0xf0, 0x9f), { stream: true }), '');
  check.equal(decoder.decode(bytes(97)), '\ufffda');
  check.equal(decoder.decode(bytes(0xe2)), '\ufffd');
  check.equal(decoder.decode(bytes(0xed, 0xa0), { stream: true }), '\ufffd\ufffd');
  decoder.decode();
  check.equal(new TextDecoder('utf-16le').decode(bytes(97, 0, 1)), 'a\ufffd');
  check.equal(new TextDecoder('utf-16le').decode(bytes(0, 0xd8)), '\ufffd');
});

test('labels of windows-1252 mean it', () => {
  check.equal(new TextDecoder(' Latin1 ').encoding, 'windows-1252');
  check.equal(new TextDecoder('ascii').decode(bytes(0x41, 0x80, 0x9f, 0xe9, 0x81)), 'A€Ÿé\x81');
  check.throws(() => new TextDecoder('nothing'), 'RangeError', /"nothing" is not supported/);
});

test('views and buffers are decoded', () => {
  const { buffer } = bytes(97, 98, 99, 100);
  check.equal(new TextDecoder().decode(buffer), 'abcd');
  check.equal(new TextDecoder().decode(new DataView(buffer, 1, 2)), 'bc');
  check.throws(() => new TextDecoder().decode('abc'), 'TypeError', /must be an ArrayBuffer/);
});

test('base64', () => {
  check.equal(['', 'a', 'ab', 'abc', '\xff\xfe\xfd\xfc'].map(btoa), ['', 'YQ==', 'YWI=', 'YWJj', '//79/A==']);
  check.equal(atob(' Y W\nI = '), 'ab');
  check.equal(atob('YQ'), 'a');
  for (const bad of ['a', 'YQ=', '====', 'Y-Q=', 'YQ==a', 'é']) check.throws(() => atob(bad), 'InvalidCharacterError');
  check.throws(() => btoa('€'), 'InvalidCharacterError', /U\+00FF/);
  const all = String.fromCharCode(...Array(256).keys()).repeat(100);
  check.equal(atob(btoa(all)) === all, true);
});
