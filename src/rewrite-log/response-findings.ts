import { generalPointer, pointerToken } from '../json/pointer.ts';
import { memberOf } from '../json/values.ts';
import type { EditRecord } from '../rewrite/records.ts';
import { isUnwrapping } from '../rules/kinds/kinds.ts';
import type { Path } from '../rules/rule.ts';
import { parsedJson } from './attributes.ts';
import { movedPointer } from './masks.ts';

/** Maximum places named by one response, and maximum length of one. */
const MAX_PLACES = 16;
const MAX_POINTER = 256;

/** Maximum members of a response to examine. */
const MAX_MEMBERS = 4000;

const decoder = new TextDecoder();

/** Parses the body of a response; undefined when it is not an object in JSON. */
export function responseObject(body: Uint8Array): object | undefined {
  const value = parsedJson(decoder.decode(body));
  return typeof value === 'object' && value !== null ? value : undefined;
}

/** Places that the errors of a response point at, in the body as the service received it, `*` for every index. */
export function errorPointers(response: object): readonly string[] {
  const errors = memberOf(response, 'errors');
  if (!Array.isArray(errors)) return [];
  const pointers = errors.flatMap((error: unknown) => {
    const pointer = memberOf(memberOf(error, 'source'), 'pointer') ?? fieldPointer(memberOf(error, 'field'));
    return typeof pointer === 'string' && pointer.startsWith('/') && pointer.length <= MAX_POINTER
      ? [generalPointer(pointer)]
      : [];
  });
  return [...new Set(pointers)].slice(0, MAX_PLACES);
}

/** The pointer of a member by its name, such as `lines`, `lines.0.id` or `lines[0].id`; undefined for any other text. */
function fieldPointer(field: unknown): string | undefined {
  if (typeof field !== 'string' || field.length > MAX_POINTER) return undefined;
  const names = field.replaceAll('[', '.').replaceAll(']', '').split('.');
  return names.every((name) => /^[\w-]+$/.test(name)) ? `/${names.join('/')}` : undefined;
}

/** Maximum errors of one response to quote, and maximum characters. */
const MAX_QUOTED = 2;
const MAX_SENTENCE = 200;

/**
 * The words of a failed response: `detail` or `title` of its first errors, or of a problem (RFC 9457), `message`, or an `error` that is
 * a text; `{"errors":{"name":["is missing"]}}` gives the member's name first. Undefined without words.
 */
export function errorSentence(response: object): string | undefined {
  const errors = memberOf(response, 'errors');
  const sentences = Array.isArray(errors)
    ? errors.map(sentenceOf)
    : typeof errors === 'object' && errors !== null
      ? Object.entries(errors).map(([name, of]) => {
          const words = Array.isArray(of) ? of.find((one) => typeof one === 'string') : of;
          return typeof words === 'string' ? `${name} ${words}` : undefined;
        })
      : [sentenceOf(response)];
  const said = [...new Set(sentences.filter((sentence) => sentence !== undefined))].slice(0, MAX_QUOTED);
  if (said.length === 0) return undefined;
  const text = said.join('; ').replaceAll(/\s+/g, ' ');
  return text.length <= MAX_SENTENCE ? text : `${text.slice(0, MAX_SENTENCE - 1)}…`;
}

function sentenceOf(error: unknown): string | undefined {
  if (typeof error === 'string') return error;
  const members = ['detail', 'message', 'title', 'error', 'error_description'];
  const words = members.map((name) => memberOf(error, name));
  return words.find((one): one is string => typeof one === 'string' && one !== '');
}

/**
 * Attributes of a V1 request that V1's response calls deprecated: names from the request inside a member whose own name has "deprecat"
 * in it, at any depth.
 */
export function deprecatedMembers(
  response: object,
  attributes: readonly string[],
  wrapper: string,
): readonly string[] {
  const texts: string[] = [];
  visit(response, (pointer, value) => {
    if (typeof value === 'string' && /deprecat/i.test(pointer)) texts.push(value);
  });
  if (texts.length === 0) return [];
  return attributes
    .filter((attribute) => attribute.startsWith(`${wrapper}/`))
    .filter((attribute) => texts.some((text) => names(text, attribute, wrapper)))
    .slice(0, MAX_PLACES);
}

/**
 * The outermost attributes of a request that V2's response does not echo; undefined when the response has no object at the path
 * `resource` to compare with.
 */
export function unechoedMembers(
  response: object,
  attributes: readonly string[],
  edits: readonly EditRecord[],
  resource: Path,
): readonly string[] | undefined {
  let data: unknown = response;
  for (const name of resource) data = memberOf(data, name);
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return undefined;
  const echoed = new Set<string>();
  const isWhole = visit(data, (pointer) => void echoed.add(pointer));
  if (!isWhole) return undefined;
  const moved = new MovedMembers(edits);
  const { wrapper } = moved;
  const missing: string[] = [];
  for (const attribute of attributes) {
    if (!attribute.startsWith(`${wrapper}/`)) continue;
    const place = moved.of(attribute);
    if (place === undefined || place === '' || echoed.has(place)) continue;
    if (!missing.some((outer) => attribute.startsWith(`${outer}/`))) missing.push(attribute);
  }
  return missing.slice(0, MAX_PLACES);
}

/** A text names an attribute by its dotted path or its pointer, between characters that cannot be part of a name. */
function names(text: string, attribute: string, wrapper: string): boolean {
  const dotted = attribute.slice(wrapper.length + 1).replaceAll('/', '.');
  for (const name of [dotted, attribute]) {
    const at = text.indexOf(name);
    if (at === -1) continue;
    const before = text[at - 1] ?? ' ';
    const after = text.slice(at + name.length, at + name.length + 2);
    if (!/[\w.-]/.test(before) && !/^(?:[\w-]|[./]\w)/.test(after)) return true;
  }
  return false;
}

/** Visits every member below `root` with its pointer, `*` for elements; false when there are too many of them. */
function visit(root: object, look: (pointer: string, value: unknown) => void): boolean {
  const open: { readonly at: string; readonly value: object }[] = [{ at: '', value: root }];
  let members = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { at, value } = next;
    for (const [name, member] of Object.entries(value)) {
      members += 1;
      if (members > MAX_MEMBERS) return false;
      const pointer = `${at}/${Array.isArray(value) ? '*' : pointerToken(name)}`;
      look(pointer, member);
      if (typeof member === 'object' && member !== null) open.push({ at: pointer, value: member });
    }
  }
  return true;
}

/** Places of the members of a V1 body in the V2 body, according to the edits of the request; `*` for every index. */
export class MovedMembers {
  private readonly edits: readonly EditRecord[];
  private readonly removed: readonly string[];

  constructor(edits: readonly EditRecord[]) {
    this.edits = edits.map(({ change, rule, from, path, note }) => ({
      change,
      rule,
      ...(from === undefined ? {} : { from: generalPointer(from) }),
      ...(path === undefined ? {} : { path: generalPointer(path) }),
      ...(note === undefined ? {} : { note }),
    }));
    this.removed = this.edits.flatMap(({ from, path }) =>
      from === undefined || path !== undefined ? [] : [from],
    );
  }

  /** The pointer of the wrapper in the V1 body; empty for a flat body. */
  get wrapper(): string {
    return this.edits.find(({ rule, note }) => isUnwrapping(rule) && note === undefined)?.from ?? '';
  }

  /** Place in the V2 body of the member at `pointer` of the V1 body; undefined when an edit removes it. */
  of(pointer: string): string | undefined {
    const general = generalPointer(pointer);
    if (this.removed.some((taken) => general === taken || general.startsWith(`${taken}/`))) return undefined;
    return movedPointer(general, this.edits);
  }
}
