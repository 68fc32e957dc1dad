import type { HeaderList } from '../http/header-list.ts';
import type { DeprecatedAttribute } from '../rewrite/deprecated-attributes.ts';
import type { Signals } from '../rules/rollout.ts';

/** Where the deprecated attributes that a request used are listed. */
const ATTRIBUTES_FIELD = 'x-deprecated-attributes';

/** Characters of a field that lists attributes; what goes beyond is left out. */
const MOST_LIST_CHARACTERS = 1024;

/** The header fields that tell V1 clients of the end of V1, made once a rule book. */
export class SignalHeaders {
  private readonly fields: HeaderList;
  private readonly own: ReadonlySet<string>;
  private readonly attributes: boolean;

  constructor(signals: Signals) {
    this.fields = fieldsOf(signals);
    const single = this.fields.filter((field, at) => at % 2 === 0 && field !== 'Link');
    this.own = new Set(single.map((name) => name.toLowerCase()));
    this.attributes = signals.attributes;
  }

  /** Adds the fields to a response's, in place. What V2 says of its own end is not about V1, and goes. */
  addTo(headers: string[], used: readonly DeprecatedAttribute[]): void {
    for (let at = headers.length - 2; at >= 0; at -= 2) {
      if (this.own.has(headers[at]?.toLowerCase() ?? '')) headers.splice(at, 2);
    }
    headers.push(...this.fields);
    if (this.attributes && used.length > 0) headers.push(ATTRIBUTES_FIELD, listOf(used));
  }
}

/** `Deprecation` is a date of structured fields (RFC 9745 §2.1), `Sunset` one of HTTP (RFC 8594 §3). */
function fieldsOf({ since, sunset, links }: Signals): HeaderList {
  const fields: string[] = [];
  if (since !== undefined) fields.push('Deprecation', `@${Math.floor(since / 1000)}`);
  if (sunset !== undefined) fields.push('Sunset', new Date(sunset).toUTCString());
  for (const [relation, target] of links) fields.push('Link', `<${target}>; rel="${relation}"`);
  return fields;
}

/** Names are the client's own text: whatever is not plain is percent-encoded, so that none can end the field. */
function listOf(used: readonly DeprecatedAttribute[]): string {
  let list = '';
  for (const { attribute } of used) {
    const name = attribute.replaceAll(/[^\w.$*:@/-]/gu, (character) => percentEncoded(character));
    if (list.length + name.length > MOST_LIST_CHARACTERS) return `${list}, ...`;
    list += list === '' ? name : `, ${name}`;
  }
  return list;
}

/** A lone surrogate, which no percent-encoding has, becomes the replacement character. */
function percentEncoded(character: string): string {
  return [...new TextEncoder().encode(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}
