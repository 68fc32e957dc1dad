import { decodeQueryText } from '../../http/query-text.ts';

/** Names of standard and custom fields and parameters that hold credentials. Their values are never kept. */
const CREDENTIAL_NAME = /auth|cookie|key|passw|secret|session|signature|token|credential/i;

/** How often a name, or a URL within a value, is decoded: a proxy or a redirect may have encoded it once more. */
const MAX_DECODINGS = 3;

/** What may be the name of a pair, with the sign after it. One pass: no two names share a character. */
const NAME = /([^?&;#=]+)(=?)/g;

/** The end of a value: of a parameter, of a URL in a field, or of a quoted text. */
const VALUE_END = /[&;#\s"'<>]/g;

/** An equals sign, as encoded within a value: there may be a URL, or a form, inside. */
const ENCODED_EQUALS = /%(?:25)*3d/i;

/** User information of a URL (RFC 3986 §3.2.1). */
const USER_INFORMATION = /\/\/[^/?#\s"'<>@]*@/g;

/** True for a name that looks like a credential's, however it is encoded. */
export function isCredentialName(name: string): boolean {
  let decoded = name;
  for (let count = 0; count < MAX_DECODINGS && !CREDENTIAL_NAME.test(decoded); count += 1) {
    const next = decodeQueryText(decoded);
    if (next === decoded) return false;
    decoded = next;
  }
  return CREDENTIAL_NAME.test(decoded);
}

/**
 * Masks what looks like a credential in a target, a form or a field value: the values of `name=value` pairs wherever they stand, as
 * in the URLs of `Location`, `Link`, `Referer` and `Refresh`, and user information. `isSecret` knows further names.
 */
export function maskSecrets(text: string, isSecret: (name: string) => boolean = isCredentialName): string {
  const shown = text.includes('@') ? text.replaceAll(USER_INFORMATION, '//…@') : text;
  return shown.includes('=') || shown.includes('%') ? maskPairs(shown, isSecret, 0) : shown;
}

function maskPairs(text: string, isSecret: (name: string) => boolean, depth: number): string {
  let masked = '';
  let copied = 0;
  NAME.lastIndex = 0;
  for (let found = NAME.exec(text); found !== null; found = NAME.exec(text)) {
    const [whole, run = '', equals] = found;
    const end = found.index + whole.length;
    if (equals === '=' && isSecret(run)) {
      const valueEnd = endOfValue(text, end);
      if (valueEnd > end) masked += `${text.slice(copied, end)}…`;
      else masked += text.slice(copied, end);
      copied = valueEnd;
    } else if (depth < MAX_DECODINGS && ENCODED_EQUALS.test(run) && hasSecretInside(run, isSecret, depth)) {
      masked += `${text.slice(copied, found.index)}…`;
      copied = found.index + run.length;
    }
    NAME.lastIndex = Math.max(end, copied);
  }
  return copied === 0 ? text : masked + text.slice(copied);
}

function endOfValue(text: string, from: number): number {
  if (text[from] === '"') {
    const quote = text.indexOf('"', from + 1);
    return quote === -1 ? text.length : quote + 1;
  }
  VALUE_END.lastIndex = from;
  return VALUE_END.exec(text)?.index ?? text.length;
}

function hasSecretInside(value: string, isSecret: (name: string) => boolean, depth: number): boolean {
  const at = NAME.lastIndex;
  const inside = decodeQueryText(value);
  const isMasked = maskPairs(inside, isSecret, depth + 1) !== inside;
  NAME.lastIndex = at;
  return isMasked;
}
