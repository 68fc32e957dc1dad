/**
 * The formats that are checked (JSON Schema 2020-12 validation §7.3, and `url`), each in time linear in the text, because clients choose
 * the values: every expression here matches a text in at most one way, so it never backtracks. Other formats, such as `int32` and
 * `password`, are not checked.
 */
export const formats: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['date', isDate],
  ['time', isTime],
  ['date-time', isDateTime],
  ['duration', isDuration],
  ['uri', (text) => isReference(text, true)],
  ['uri-reference', (text) => isReference(text, false)],
  ['uri-template', (text) => TEMPLATE.test(text)],
  ['url', isUrl],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', isIpv4],
  ['ipv6', isIpv6],
  ['regex', isRegex],
  ['uuid', (text) => /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i.test(text)],
  ['json-pointer', (text) => text === '' || /^\/(?:[^~]|~[01])*$/.test(text)],
  [
    'json-pointer-uri-fragment',
    (text) => /^#(?:\/(?:[\w.!$&'()*+,;:=@/-]|%[\da-f]{2}|~[01])*)?$/i.test(text),
  ],
  ['relative-json-pointer', (text) => /^(?:0|[1-9]\d*)(?:#|(?:\/(?:[^~]|~[01])*)?)$/.test(text)],
]);

const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const PATH = /^(?:[\w.~!$&'()*+,;=:@/-]|%[\da-f]{2})*$/i;
const QUERY = /^(?:[\w.~!$&'()*+,;=:@/?-]|%[\da-f]{2})*$/i;
const USER = /^(?:[\w.~!$&'()*+,;=:-]|%[\da-f]{2})*$/i;
const REGISTERED_NAME = /^(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*$/i;

const VARIABLE = String.raw`(?:\w|%[\da-f]{2})(?:\.?(?:\w|%[\da-f]{2}))*(?::[1-9]\d{0,3}|\*)?`;
const EXPRESSION = String.raw`\{[+#./;?&=,!@|]?${VARIABLE}(?:,${VARIABLE})*\}`;
const LITERAL = String.raw`[^\x00-\x20\x7f"<>%\\^\x60{|}]|%[\da-f]{2}`;

/** RFC 6570 §2. */
const TEMPLATE = new RegExp(`^(?:${LITERAL}|${EXPRESSION})*$`, 'i');

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const [year, month, day] = [text.slice(0, 4), text.slice(5, 7), text.slice(8)].map(Number);
  if (year === undefined || month === undefined || day === undefined || day < 1) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day <= (month === 2 && !isLeap ? 28 : (DAYS[month - 1] ?? 0));
}

/** RFC 3339 §5.6, with its offset; a leap second only at 23:59 UTC. */
function isTime(text: string): boolean {
  const parts = /^(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:z|([+-])(\d{2}):(\d{2}))$/i.exec(text);
  if (parts === null) return false;
  const [hour = 0, minute = 0, second = 0] = parts.slice(1, 4).map(Number);
  const [offsetHour, offsetMinute] = [Number(parts[5] ?? 0), Number(parts[6] ?? 0)];
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false;
  const offset = (offsetHour * 60 + offsetMinute) * (parts[4] === '-' ? -1 : 1);
  return second < 60 || (hour * 60 + minute - offset + 1440) % 1440 === 1439;
}

function isDateTime(text: string): boolean {
  return /^[t\s]$/i.test(text.charAt(10)) && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

/** RFC 3339 appendix A: units in their order, none left out between two, or weeks alone. */
function isDuration(text: string): boolean {
  if (!/^P(?:\d+[A-Z]|T(?=\d)){1,7}$/.test(text)) return false;
  const units = text.replaceAll(/\d+/g, '');
  return /^P(?:W|(?:YMD|YM|Y|MD|M|D)?(?:T(?:HMS|HM|H|MS|M|S))?)$/.test(units);
}

/** RFC 3986 §4.1, and §3 where a scheme is needed. */
function isReference(text: string, isAbsolute: boolean): boolean {
  const [head, fragment] = split(text, '#');
  const [hierarchy, query] = split(head, '?');
  if (!QUERY.test(query ?? '') || !QUERY.test(fragment ?? '')) return false;
  const scheme = /^[a-z][a-z\d+.-]*:/i.exec(hierarchy)?.[0];
  if (scheme === undefined && (isAbsolute || /^[^/]*:/.test(hierarchy))) return false;
  const rest = hierarchy.slice(scheme?.length ?? 0);
  if (!rest.startsWith('//')) return PATH.test(rest);
  const [authority, path] = split(rest.slice(2), '/');
  return PATH.test(path ?? '') && isAuthority(authority);
}

/** RFC 3986 §3.2. */
function isAuthority(text: string): boolean {
  const at = text.indexOf('@');
  const place = text.slice(at + 1);
  if (at > 0 && !USER.test(text.slice(0, at))) return false;
  if (!place.startsWith('[')) {
    const [host, port] = split(place, ':');
    return REGISTERED_NAME.test(host) && /^\d*$/.test(port ?? '');
  }
  const end = place.indexOf(']');
  const literal = place.slice(1, end);
  return (
    end > 0 &&
    /^(?::\d*)?$/.test(place.slice(end + 1)) &&
    (isIpv6(literal) || /^v[\da-f]+\.[\w.~!$&'()*+,;=:-]+$/i.test(literal))
  );
}

/** The text before the first `separator`, and that after it. */
function split(text: string, separator: string): readonly [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

/** An address of a page, as browsers read it: no registry defines the format, so any host is accepted. */
function isUrl(text: string): boolean {
  return /^(?:https?|ftp):\/\/[^\s/?#]/i.test(text) && !/\s/.test(text) && URL.canParse(text);
}

/** RFC 5321 §4.1.2, with its lengths. */
function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  const [local, domain] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || local.length > 64 || domain.length > 253) return false;
  const isQuoted = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/.test(local);
  if (!isQuoted && !/^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/.test(local)) return false;
  if (!domain.startsWith('[')) return isHostname(domain);
  const literal = domain.slice(1, -1);
  if (!domain.endsWith(']')) return false;
  return /^ipv6:/i.test(literal) ? isIpv6(literal.slice(5)) : isIpv4(literal);
}

/** RFC 1123 §2.1. */
function isHostname(text: string): boolean {
  return (
    text.length <= 253 &&
    text.split('.').every((label) => /^[a-z\d-]{1,63}$/i.test(label) && !/^-|-$/.test(label))
  );
}

function isIpv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
}

/** RFC 4291 §2.2. */
function isIpv6(text: string): boolean {
  if (text.length > 45) return false;
  const last = text.slice(text.lastIndexOf(':') + 1);
  // The four bytes at the end, in IPv4 notation, replace two groups.
  if (last.includes('.') && !isIpv4(last)) return false;
  const plain = last.includes('.') ? `${text.slice(0, -last.length)}0:0` : text;
  const halves = plain.split('::');
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  if (!groups.every((group) => /^[\da-f]{1,4}$/i.test(group))) return false;
  return halves.length === 1 ? groups.length === 8 : halves.length === 2 && groups.length < 8;
}

function isRegex(text: string): boolean {
  try {
    // Not proven linear: only its syntax is read, in one pass.
    RegExp(text, 'u');
    return true;
  } catch {
    return false;
  }
}
