import { pointerSteps, tokenName } from '../json/json-pointer.ts';
import type { EditRecord } from './rewrite.ts';

/** An attribute of a V1 request that V2 no longer has under that name or in that place. */
export interface DeprecatedAttribute {
  /** Member names joined by dots, inside the wrapper: `property.suburb`. */
  readonly attribute: string;
  /** A sentence for people: how the attribute changed. */
  readonly message: string;
}

/** Lists the deprecated attributes that requests used. Similar requests share their records, so each list is created once. */
export class DeprecatedAttributes {
  private readonly all = new WeakMap<readonly EditRecord[], readonly DeprecatedAttribute[]>();
  private readonly ofV1 = new WeakMap<readonly EditRecord[], readonly DeprecatedAttribute[]>();

  /** The deprecated attributes in a request with these records, each once, in the order of the rules. */
  of(records: readonly EditRecord[]): readonly DeprecatedAttribute[] {
    return cached(this.all, records, () => true);
  }

  /** Those that V1 itself called deprecated: the stripped ones. Others only have another name or place in V2. */
  inV1(records: readonly EditRecord[]): readonly DeprecatedAttribute[] {
    return cached(this.ofV1, records, isStripped);
  }
}

/** Whether the request had the wrapper, so that its pointers begin with it. */
export function isWrapped(records: readonly EditRecord[]): boolean {
  return wrapperOf(records) !== '';
}

function cached(
  lists: WeakMap<readonly EditRecord[], readonly DeprecatedAttribute[]>,
  records: readonly EditRecord[],
  isListed: (record: EditRecord) => boolean,
): readonly DeprecatedAttribute[] {
  const known = lists.get(records);
  if (known !== undefined) return known;
  const list = listOf(records, isListed);
  lists.set(records, list);
  return list;
}

function isStripped({ rule }: EditRecord): boolean {
  return rule === 'strip';
}

function listOf(
  records: readonly EditRecord[],
  isListed: (record: EditRecord) => boolean,
): readonly DeprecatedAttribute[] {
  const wrapper = wrapperOf(records);
  const messages = new Map<string, string>();
  for (const record of records) {
    if (!isListed(record)) continue;
    const change = changeOf(record);
    if (change === undefined || record.from === undefined) continue;
    const attribute = dottedName(record.from.slice(wrapper.length));
    if (!messages.has(attribute)) messages.set(attribute, `${attribute} is deprecated: it ${change} in V2.`);
  }
  return [...messages].map(([attribute, message]) => ({ attribute, message }));
}

function wrapperOf(records: readonly EditRecord[]): string {
  const unwrapped = records.find(({ rule, note }) => rule === 'unwrap' && note !== 'already-flat');
  return unwrapped?.from ?? '';
}

/** How the member changed; undefined for records that do not concern a deprecated attribute. */
function changeOf({ rule, path, note }: EditRecord): string | undefined {
  if (rule === 'strip' || rule === 'only') return note === undefined ? 'is gone' : undefined;
  const tokens = path?.split('/') ?? [];
  if (rule === 'rename' && path !== undefined) return `is called ${tokenName(tokens.at(-1) ?? '')}`;
  if (rule === 'nest' && path !== undefined) return `belongs in the ${tokenName(tokens.at(-2) ?? '')} object`;
  return undefined;
}

function dottedName(pointer: string): string {
  return pointerSteps(pointer).join('.');
}
