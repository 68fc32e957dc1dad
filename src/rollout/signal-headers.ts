import type { HeaderList } from '../http/header-list.ts';
import type { DeprecatedAttribute } from '../rewrite/deprecated-attributes.ts';
import type { Signals } from '../rules/rollout.ts';

/** Lists the deprecated attributes that a request used. */
const ATTRIBUTES_FIELD = 'x-deprecated-attributes';

/** Maximum characters of the list of attributes; the rest is omitted. */
const MAX_LIST_CHARACTERS = 1024;

/** Header fields that announce the end of V1 to its clients, built once per rule book. */
export class SignalHeaders {
  private readonly fields: HeaderList;
  private readonly singleFields: ReadonlySet<string>;
  private readonly listsAttributes: boolean;

  /** `reportPath` is the path of the client's own report, if responses point to it. */
  constructor(signals: Signals | undefined, reportPath?: string) {
    const report = reportPath === undefined ? [] : ['Link', `<${reportPath}>; rel="help"`];
    this.fields = [...(signals === undefined ? [] : fieldsOf(signals)), ...report];
    const single = this.fields.filter((field, at) => at % 2 === 0 && field !== 'Link');
    this.singleFields = new Set(single.map((name) => name.toLowerCase()));
    this.listsAttributes = signals?.attributes === true;
  }

  /** Adds the fields to a response's, in place. Fields of V2 about its own end are not about V1 and are removed. */
  addTo(headers: string[], used: readonly DeprecatedAttribute[]): void {
    for (let at = headers.length - 2; at >= 0; at -= 2) {
      if (this.singleFields.has(headers[at]?.toLowerCase() ?? '')) headers.splice(at, 2);
    }
    headers.push(...this.fields);
    if (this.listsAttributes && used.length > 0) headers.push(ATTRIBUTES_FIELD, listOf(used));
  }
}

/** `Deprecation` is a structured-field date (RFC 9745 §2.1), `Sunset` an HTTP date (RFC 8594 §3). */
function fieldsOf({ since, sunset, links }: Signals): HeaderList {
  const fields: string[] = [];
  if (since !== undefined) fields.push('Deprecation', `@${Math.floor(since / 1000)}`);
  if (sunset !== undefined) fields.push('Sunset', new Date(sunset).toUTCString());
  for (const [relation, target] of links) fields.push('Link', `<${target}>; rel="${relation}"`);
  return fields;
}

/** Names are the client's own text: other than plain characters are percent-encoded, so that none can end the field. */
function listOf(used: readonly DeprecatedAttribute[]): string {
  let list = '';
  for (const { attribute } of used) {
    const name = attribute.replaceAll(/[^\w.$*:@/-]/gu, (character) => percentEncoded(character));
    if (list.length + name.length > MAX_LIST_CHARACTERS) return `${list}, ...`;
    list += list === '' ? name : `, ${name}`;
  }
  return list;
}

/** A lone surrogate, which cannot be percent-encoded, becomes the replacement character. */
function percentEncoded(character: string): string {
  return [...new TextEncoder().encode(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}
