/** The kind of a token of formatted JSON; `type` is a value that was replaced by its type. */
export type TokenKind = 'key' | 'string' | 'number' | 'literal' | 'type';

/** A token of one line, in UTF-16 code units of the line. */
export interface Token {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
}

/** Finds the tokens of one line of JSON: strings never span lines, so each line stands alone. Punctuation is omitted. */
export function jsonTokens(line: string): readonly Token[] {
  return [...line.matchAll(TOKEN)].map((match) => ({
    kind: kindOf(match[0], line.slice(match.index + match[0].length)),
    start: match.index,
    end: match.index + match[0].length,
  }));
}

const TOKEN = /"(?:[^"\\]|\\.)*"?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

function kindOf(text: string, rest: string): TokenKind {
  if (!text.startsWith('"')) return /^[-\d]/.test(text) ? 'number' : 'literal';
  if (/^\s*:/.test(rest)) return 'key';
  return /^"‹.*›"$/.test(text) ? 'type' : 'string';
}
