// atob and btoa: base64 of strings whose characters are bytes.
'use strict';
(function (host) {
  const { base64Encode, base64Decode, fromCharCodes, latin1Bytes } = host.global('support');

  function invalid(message) {
    const DOMException = host.global('DOMException');
    return new DOMException(message, 'InvalidCharacterError');
  }

  function btoa(data) {
    if (arguments.length === 0) throw new TypeError('btoa: 1 argument required');
    return base64Encode(
      latin1Bytes(`${data}`, () => invalid('btoa: the string has a character above U+00FF')),
    );
  }

  function atob(data) {
    if (arguments.length === 0) throw new TypeError('atob: 1 argument required');
    const bytes = base64Decode(`${data}`);
    if (bytes === null) throw invalid('atob: the string is not base64');
    return fromCharCodes(bytes);
  }

  return { atob, btoa };
})
