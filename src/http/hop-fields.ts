import { headerValue, type HeaderList } from './header-list.ts';

/** Fields that the gateway adds to a message, as a list and as lines in latin1. */
export interface AddedFields {
  readonly fields: HeaderList;
  readonly text: string;
}

/** The versions of the messages that are forwarded. */
type ForwardedVersion = '1.0' | '1.1' | '2' | '3';

/**
 * The fields by which a forwarded message tells of its hop: `Via` (RFC 9110 §7.6.3), and `Date` for a response that has none (§6.6.1).
 * Their texts are made once, or once a second: there are several for each exchange.
 */
export class HopFields {
  private readonly name: string;
  private readonly time: () => number;
  private readonly requests: Readonly<Record<ForwardedVersion, AddedFields>>;
  private readonly dated: AddedFields;
  private readonly datedOf10: AddedFields;
  private undated: AddedFields;
  private second = Number.NaN;
  private dateText = '';

  /** `name` is the pseudonym of the gateway; where it is empty, `Via` is neither added nor read. `time` is in milliseconds since 1970. */
  constructor(name: string, time: () => number) {
    this.name = name.toLowerCase();
    this.time = time;
    const via = (field: string, version: ForwardedVersion): AddedFields =>
      added(name === '' ? [] : [field, `${version} ${name}`]);
    this.requests = {
      '1.0': via('via', '1.0'),
      '1.1': via('via', '1.1'),
      '2': via('via', '2'),
      '3': via('via', '3'),
    };
    this.dated = via('Via', '1.1');
    this.datedOf10 = via('Via', '1.0');
    this.undated = this.dated;
  }

  /** The fields of a request that came over a version of HTTP. */
  ofRequest(version: string): AddedFields {
    return isForwardedVersion(version) ? this.requests[version] : this.requests['1.1'];
  }

  /** The fields of a response that came with a date, or without one, over HTTP/1.1 unless `is10`. */
  ofResponse(hasDate: boolean, is10 = false): AddedFields {
    if (is10) return hasDate ? this.datedOf10 : added(['Date', this.date, ...this.datedOf10.fields]);
    if (hasDate) return this.dated;
    // A new text stands for a new second.
    const before = this.dateText;
    const { date } = this;
    if (date !== before || this.undated === this.dated)
      this.undated = added(['Date', date, ...this.dated.fields]);
    return this.undated;
  }

  /** Adds the fields of a response to its own, in place. */
  addTo(headers: string[], is10 = false): void {
    headers.push(...this.ofResponse(headerValue(headers, 'date') !== undefined, is10).fields);
  }

  /** The time as `Date` has it. */
  get date(): string {
    const second = Math.floor(this.time() / 1000);
    if (second !== this.second) {
      this.second = second;
      this.dateText = new Date(second * 1000).toUTCString();
    }
    return this.dateText;
  }

  /** True for the values of `Via` of a request that has been here before: it would go round for ever. */
  isLoop(via: string): boolean {
    const { name } = this;
    if (name === '' || !via.toLowerCase().includes(name)) return false;
    return via
      .toLowerCase()
      .split(',')
      .some((element) => receivedBy(element) === name);
  }
}

/** The name in an element of `Via`: what stands between the version and a comment. */
function receivedBy(element: string): string | undefined {
  return element
    .split(/[\t ]/)
    .filter((word) => word !== '')
    .at(1);
}

function added(fields: HeaderList): AddedFields {
  let text = '';
  for (let at = 0; at < fields.length; at += 2) text += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return { fields, text };
}

function isForwardedVersion(version: string): version is ForwardedVersion {
  return version === '1.1' || version === '2' || version === '1.0' || version === '3';
}

/** The largest `Max-Forwards` that is sent on: a larger one is lowered to it, as no path has so many hops. */
const MAX_FORWARDS = 2 ** 31 - 1;

/**
 * The value of `Max-Forwards` to send on (RFC 9110 §7.6.2): one less; -1 where the message must not be forwarded, and undefined where
 * the value is not a number.
 */
export function countedDown(maxForwards: string): number | undefined {
  return /^\d+$/.test(maxForwards) ? Math.min(Number(maxForwards) - 1, MAX_FORWARDS) : undefined;
}
