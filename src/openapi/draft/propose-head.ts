import { printPrefix } from '../../rules/rule.ts';
import { mediaTemplateFault } from '../../rules/release-place.ts';
import type { Components } from '../components.ts';
import {
  type DescribedOperation,
  type Description,
  type DescribedVersions,
  elementsOf,
  followed,
  isObject,
  memberOf,
  objectIn,
} from '../description.ts';
import { BLANK, type BookRule } from './book-rules.ts';
import { acceptedWords, firstValue, newRequired } from './new-members.ts';
import { parameterShape } from './bodies.ts';
import type { Versions } from './find-inverse.ts';
import { hasField } from './find-parameters.ts';
import { type ProposedKey, scalar } from './print-rule-book.ts';
import { changeId, type ProposedChange } from './propose-changes.ts';

/** The keys at the top of a rule book, and the rules for header fields that belong to them. */
export interface ProposedHead {
  readonly keys: readonly ProposedKey[];
  readonly changes: readonly ProposedChange[];
  /** The header field that names V2's release, which is no field of an operation. */
  readonly versionField: string | undefined;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Proposes the prefixes of both versions, V2's release, and the place of V1 clients' keys. */
export function proposeHead(versions: Versions, described: DescribedVersions): ProposedHead {
  const { named, v1, v2 } = versions;
  const versionField = newFields(versions).find(
    ({ name, on }) => on.length === named.length && /version|release|revision/i.test(name),
  );
  const key = credentials(v1.description, v2.description);
  const release = versionField === undefined ? releasePlace(versions) : undefined;
  return {
    keys: [
      ...prefixKeys(described, versionField, release, hostsOf(v1.description, v2.description)),
      ...key.keys,
    ],
    changes: key.changes,
    versionField: versionField?.name,
  };
}

/** Changes for header fields that V2 requires and V1 does not have by any name: V2 refuses requests without them. */
export function newFieldChanges(
  versions: Versions,
  isKnown: (name: string) => boolean,
): readonly ProposedChange[] {
  return newFields(versions)
    .filter(({ name, isRequired }) => isRequired && !isKnown(name))
    .map(({ name, on, value, accepted }) => ({
      id: changeId(`${name}-header`),
      summary: `The header field ${name} is required.`,
      on: on.length === versions.named.length ? 'every' : on,
      rules: [],
      headers: [
        {
          rules: [{ default: name, to: value ?? BLANK }],
          confidence: 0.5,
          evidence: `V1 does not have it${accepted}`,
          doubt: newRequired(name),
        },
      ],
    }));
}

interface NewField {
  readonly name: string;
  readonly on: string[];
  readonly value: string | undefined;
  /** The values that V2 accepts, for the end of a sentence. */
  readonly accepted: string;
  isRequired: boolean;
}

/** The header fields that V2 has and V1 has not. */
function newFields({ named, v1, v2 }: Versions): readonly NewField[] {
  const found = new Map<string, NewField>();
  for (const { pair, operation } of named) {
    const old = parameterShape(pair.v1, v1, 'header').members;
    for (const [name, { shape, required }] of parameterShape(pair.v2, v2, 'header').members) {
      if (hasField(old, name)) continue;
      const first = firstValue(shape);
      const value = first === undefined ? first : String(first);
      const field = found.get(name) ?? {
        name,
        on: [],
        value,
        accepted: acceptedWords(shape),
        isRequired: false,
      };
      field.isRequired ||= required;
      found.set(name, field);
      field.on.push(operation.id);
    }
  }
  return [...found.values()];
}

/** A place of releases apart from paths: its line in a rule book, and its words in a question. */
interface ReleasePlace {
  readonly line: string;
  readonly words: string;
}

/** The place where both versions name their own release: a header field, a query parameter, or the media types. */
function releasePlace({ named, v1, v2 }: Versions): ReleasePlace | undefined {
  for (const place of ['header', 'query'] as const) {
    for (const name of namesOfReleases(named, v2, place)) {
      const [old, young] = (['v1', 'v2'] as const).map((version) => {
        const components = version === 'v1' ? v1 : v2;
        const values = named.flatMap(({ pair }) => {
          const shape = parameterShape(pair[version], components, place).members.get(name)?.shape;
          return shape === undefined ? [] : [firstValue(shape)];
        });
        return new Set(values).size === 1 ? values[0] : undefined;
      });
      if (old === undefined || young === undefined || old === young) continue;
      return {
        line: releaseLine(place, name, String(old), String(young)),
        words: `the ${place === 'header' ? 'header field' : 'query parameter'} ${name}`,
      };
    }
  }
  return mediaRelease(named.flatMap(({ pair }) => [[mediaOf(pair.v1, v1), mediaOf(pair.v2, v2)] as const]));
}

function namesOfReleases(
  named: Versions['named'],
  v2: Versions['v2'],
  place: 'header' | 'query',
): ReadonlySet<string> {
  const all = named.flatMap(({ pair }) => [...parameterShape(pair.v2, v2, place).members.keys()]);
  return new Set(all.filter((name) => /version|release|revision/i.test(name)));
}

function releaseLine(place: string, name: string, old: string, young: string): string {
  const isDay = DAY.test(young);
  const form = isDay || place !== 'header' ? '' : ', form: text';
  const [value, before] = [isDay ? young : JSON.stringify(young), DAY.test(old) ? old : JSON.stringify(old)];
  return `version: { ${place}: ${scalar(name)}, value: ${value}${form}, v1: [${before}] }`;
}

/** The media types of an operation's successful responses. */
function mediaOf({ operation }: DescribedOperation, { description }: Components): readonly string[] {
  return Object.entries(objectIn(operation, 'responses')).flatMap(([status, response]) =>
    status.startsWith('2') ? Object.keys(objectIn(followed(description, response), 'content')) : [],
  );
}

/** The media type that both versions have, if they differ in the release in it only. */
function mediaRelease(
  all: readonly (readonly [old: readonly string[], young: readonly string[]])[],
): ReleasePlace | undefined {
  for (const [olds, youngs] of all) {
    for (const old of olds) {
      for (const young of youngs) {
        const found = releaseBetween(old, young);
        if (found !== undefined) return found;
      }
    }
  }
  return undefined;
}

function releaseBetween(old: string, young: string): ReleasePlace | undefined {
  // A release is digits with dots or hyphens: what is around them is the same.
  const split = (media: string): readonly string[] => media.split(/(?<![\d.-])(\d[\d.-]*)/);
  const [before, after] = [split(old), split(young)];
  const places = before.flatMap((part, at) => (part === after[at] ? [] : [at]));
  const [at, ...more] = places;
  if (at === undefined || more.length > 0 || before.length !== after.length || at % 2 === 0) return undefined;
  const template = after.with(at, '{}').join('');
  if (mediaTemplateFault(template) !== undefined) return undefined;
  const [value, v1] = [JSON.stringify(after[at]), JSON.stringify(before[at])];
  return {
    line: `version: { accept: ${scalar(template)}, value: ${value}, v1: [${v1}] }`,
    words: `the media type ${template}`,
  };
}

function prefixKeys(
  { from, to }: DescribedVersions,
  field: NewField | undefined,
  place: ReleasePlace | undefined,
  hosts?: Hosts,
): readonly ProposedKey[] {
  const release = versionKeys(field);
  if (place !== undefined && (from ?? '') === (to ?? ''))
    return [
      {
        key: 'from',
        lines: [`from: ${printPrefix(from ?? '')}`, `to: ${printPrefix(to ?? '')}`, place.line],
        question: `V1 and V2 have the same paths, and ${place.words} has their releases. Does that tell their requests apart?`,
      },
    ];
  if (place !== undefined)
    return [
      ...prefixKeys({ v1: [], v2: [], notes: [], from, to }, field, undefined),
      {
        key: 'version',
        lines: [place.line],
        question: `both versions have their release in ${place.words}. Is V2 to get its own?`,
      },
    ];
  if (from === '' && to === '' && field === undefined && hosts === undefined)
    return [
      {
        key: 'from',
        lines: ['from: /v1', 'to: /v2'],
        question:
          'V1 and V2 have no path prefix in the servers, and something must tell their requests apart. Where do requests arrive? One of the two may be at the root, /.',
      },
    ];
  if (from !== undefined && from === to)
    return [
      {
        key: 'from',
        lines: [
          `from: ${printPrefix(from)}`,
          `to: ${printPrefix(to)}`,
          ...(field === undefined ? [] : [versionLine(field)]),
          ...(field === undefined ? ['version: { header: X-Version, value: "2", form: text }'] : []),
        ],
        question:
          hosts === undefined || field !== undefined
            ? `V1 and V2 have the same prefix, ${printPrefix(from)}. Which header field names the release that a client wants, and with which value is it V2's?`
            : `V1 and V2 have the same prefix, ${printPrefix(from)}, on different hosts: ${hosts.v1} and ${hosts.v2}. If only V1's clients reach the gateway, this field is one that none of them sends. Otherwise, which one names the release that a client wants?`,
      },
    ];
  const isUsual = [undefined, '/api/v1'].includes(from) && [undefined, '/api/v2'].includes(to);
  if (isUsual) return release;
  return [
    ...(from === undefined ? [] : [{ key: 'from', lines: [`from: ${printPrefix(from)}`] }]),
    ...(to === undefined ? [] : [{ key: 'to', lines: [`to: ${printPrefix(to)}`] }]),
    ...release,
  ];
}

/** The hosts of both versions, where each has its own. */
interface Hosts {
  readonly v1: string;
  readonly v2: string;
}

function hostsOf(v1: Description, v2: Description): Hosts | undefined {
  const [old, young] = [v1, v2].map((description) => {
    const url = memberOf(elementsOf(description['servers'])[0], 'url');
    return typeof url === 'string' ? URL.parse(url)?.host : undefined;
  });
  return old === undefined || young === undefined || old === young ? undefined : { v1: old, v2: young };
}

/** The question about the release in V2's field, which V1 does not have. */
function versionKeys(field: NewField | undefined): readonly ProposedKey[] {
  if (field === undefined) return [];
  return [
    {
      key: 'version',
      lines: [versionLine(field)],
      question: `which release of V2 do these rules lead to? V2 ${field.isRequired ? 'requires' : 'has'} ${field.name}, and V1 does not have it.`,
    },
  ];
}

/** The line with the release that the field shows; the version of a description is not the version of the API. */
function versionLine({ name, value = '…' }: NewField): string {
  const isDay = DAY.test(value);
  return `version: { header: ${name}, value: ${isDay ? value : scalar(value)}${isDay ? '' : ', form: text'} }`;
}

/** The place of a key: a header field or a query parameter, and the word before the key. */
interface KeyPlace {
  readonly in: 'header' | 'query';
  readonly name: string;
  readonly word: string;
}

/** The places of keys, by the names of the schemes: those that the API requires, or all that it describes. */
function keyPlaces(description: Description): readonly KeyPlace[] {
  const schemes = objectIn(objectIn(description, 'components'), 'securitySchemes');
  const required = elementsOf(description['security']).flatMap((one) =>
    Object.keys(isObject(one) ? one : {}),
  );
  const names = required.length > 0 ? [...new Set(required)] : Object.keys(schemes);
  const places = names.flatMap((name) => keyPlace(followed(description, schemes[name])) ?? []);
  return places.filter((place, at) => places.findIndex((other) => isSamePlace(place, other)) === at);
}

function keyPlace(scheme: unknown): KeyPlace | undefined {
  const [type, place, field, word] = ['type', 'in', 'name', 'scheme'].map((key) => memberOf(scheme, key));
  if (type === 'apiKey' && typeof field === 'string' && (place === 'header' || place === 'query'))
    return { in: place, name: field, word: '' };
  const isBearer = type === 'http' && String(word).toLowerCase() === 'bearer';
  return isBearer || type === 'oauth2' || type === 'openIdConnect'
    ? { in: 'header', name: 'Authorization', word: 'Bearer' }
    : undefined;
}

function isSamePlace(one: KeyPlace, other: KeyPlace): boolean {
  return one.in === other.in && one.name.toLowerCase() === other.name.toLowerCase();
}

/** The place of V1 clients' keys, and the rules that move them to V2's: the likeliest place first. */
function credentials(v1: Description, v2: Description): Pick<ProposedHead, 'keys' | 'changes'> {
  const [old, young] = [keyPlaces(v1), keyPlaces(v2)];
  const keys = old
    .filter(({ name }) => name.toLowerCase() !== 'authorization')
    .slice(0, old.length === 1 ? 1 : 0)
    .map(({ in: place, name }) => ({ key: 'client', lines: [`client: { ${place}: ${scalar(name)} }`] }));
  const changes = old.flatMap((from): readonly ProposedChange[] => {
    if (young.length === 0 || from.word !== '' || young.some((to) => isSamePlace(from, to))) return [];
    // Places with the same word before the key come first.
    const likely = young
      .filter((to) => to.in === 'header')
      .toSorted((one, other) => Number(one.word !== '') - Number(other.word !== ''));
    const [to, ...others] = likely.map((place) => credentialRule(from, place));
    if (to === undefined) return [];
    const [first] = likely;
    const rule = {
      rules: [to],
      others: others.map((other) => [other]),
      confidence: 0.8,
      evidence: `V1 has its key in ${from.name}, and V2 in ${first?.name}`,
      doubt: 'V2 may have its own keys',
    };
    const summary = `The key of ${from.name} is in ${first?.name}.`;
    return [{ id: 'credential', summary, on: 'every', rules: [], headers: [rule] }];
  });
  return { keys, changes };
}

function credentialRule(from: KeyPlace, to: KeyPlace): BookRule {
  const as = to.word !== '' && { as: `${to.word} {}` };
  return { [from.in === 'query' ? 'query' : 'rename']: from.name, to: to.name, ...as };
}
