const REMEDIES: ReadonlyMap<string, string> = new Map([
  ['malformed-json', 'Send valid JSON in UTF-8.'],
  ['duplicate-member', 'Send each member of an object once.'],
  ['wrapper-not-object', 'Send the parameters as an object.'],
  ['body-too-large', 'Send a smaller body.'],
  ['too-deep', 'Nest the body less deeply.'],
  ['unsupported-charset', 'Send JSON in UTF-8.'],
  ['unsupported-coding', 'Send the body without this content coding.'],
  ['undecodable-body', 'Send a body in the coding that Content-Encoding names.'],
  ['bad-target', 'Send a path without dot segments, backslashes and control characters.'],
  ['bad-framing', 'Send well-formed chunks, or a body as long as its Content-Length.'],
  ['client-timeout', 'Send the request faster.'],
]);

/** How the owner of a client puts a refused request right, by failure code: a sentence. */
export function remedyOf(code: string): string {
  return REMEDIES.get(code) ?? 'Correct the request; the response says what is wrong.';
}
