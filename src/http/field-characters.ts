/** True for a valid field name: a token (RFC 9110 §5.6.2). */
export function isFieldName(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (!isTokenCharacter(text.charCodeAt(at))) return false;
  return text !== '';
}

/** True for a valid field value or reason phrase: each character is one byte, and none is a control character except the tab. */
export function isFieldValue(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (!isValueCharacter(text.charCodeAt(at))) return false;
  return true;
}

/** True for the code of a character that a token may contain (RFC 9110 §5.6.2). */
export function isTokenCharacter(code: number): boolean {
  return tokenCharacters[code] === 1;
}

/** True for the code of a character that a field value may contain (RFC 9110 §5.5). */
export function isValueCharacter(code: number): boolean {
  return (code >= SPACE && code !== DELETE && code <= LATIN1) || code === TAB;
}

const TAB = 0x09;
const SPACE = 0x20;
const DELETE = 0x7f;
const LATIN1 = 0xff;

/** 1 for each character of a token. */
const tokenCharacters = new Uint8Array(256);
for (const character of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
  tokenCharacters[character.charCodeAt(0)] = 1;
}
