import { generalPointer, pointerToken, tokenName } from '../../json/pointer.ts';
import { printScalar } from '../../json/names.ts';
import type { EditRecord } from '../../rewrite/records.ts';
import {
  converterOf,
  type Conversion,
  inverseConversion,
  textConverterOf,
} from '../../rules/kinds/convert.ts';
import { conversionSample } from '../../rules/kinds/words.ts';
import type { Change } from '../../rules/rule-book.ts';
import type { MappedValue } from '../../rules/rule.ts';
import type { ResponseMember } from '../client-report.ts';

/** Values for the examples of a guide, by their place in V1 and in V2: those that the client sent, if they are kept, or that the rules imply. */
export interface ExampleValues {
  /** JSON texts by general pointer, and texts by parameter (`?name`). */
  readonly v1: ReadonlyMap<string, string>;
  readonly v2: ReadonlyMap<string, string>;
}

/** Known values by their place in V1; empty without any. */
type KnownValues = ReadonlyMap<string, string>;

/** Changes with their rules, which a saved report does not have. */
type ValueChanges = readonly (Pick<Change, 'id'> & Partial<Pick<Change, 'request' | 'query' | 'response'>>)[];

/** Maximum characters of a value that a rule writes. */
const MAX_CHARACTERS = 40;

/** Maximum values in place of one. */
const MAX_LISTED = 6;

/** A step of a value on its way from V1 to V2. */
interface Step {
  /** JSON texts of values that it takes. */
  readonly samples: readonly string[];
  /** True if these are all, since the rule lists them. */
  readonly isList?: true;
  readonly toV2: (json: string) => string | undefined;
}

/** Values for a request that had these edits; `sent` are those of the client. */
export function requestValues(
  edits: readonly EditRecord[],
  changes: ValueChanges,
  sent: KnownValues,
): ExampleValues {
  const [v1, v2] = [new Map<string, string>(), new Map<string, string>()];
  const bySource = Map.groupBy(
    edits.filter(({ note, header }) => note === undefined && header === undefined),
    ({ from = '' }) => generalPointer(from),
  );
  for (const [from, ofMember] of bySource) {
    const to = ofMember.findLast(({ path }) => path !== undefined)?.path;
    if (from === '') {
      for (const edit of ofMember) {
        const json = writtenBy(edit, changes);
        if (json !== undefined && edit.path !== undefined) v2.set(generalPointer(edit.path), json);
      }
    } else if (to !== undefined) {
      // A value that several members get, or that is put together, has no text of its own.
      if (new Set(ofMember.map(({ path }) => path)).size > 1) continue;
      const steps = ofMember.flatMap((edit) => stepsOf(edit, changes));
      const [before, after] = exampleOf(steps, from, sent) ?? [];
      if (before === undefined || after === undefined) continue;
      v1.set(from, before);
      v2.set(generalPointer(to), after);
    }
  }
  return { v1, v2 };
}

/** Values for a response with these members; `read` are those that the client got. */
export function responseValues(
  members: readonly ResponseMember[],
  changes: ValueChanges,
  read: KnownValues,
): ExampleValues {
  const [v1, v2] = [new Map<string, string>(), new Map<string, string>()];
  for (const same of Map.groupBy(members, ({ v1: place }) => place).values()) {
    const [{ v1: from, v2: to } = { v1: '' }] = same;
    if (to !== undefined && !same.some(({ hasOtherValues }) => hasOtherValues === true)) continue;
    const written = same.flatMap((member) => writtenInResponse(member, changes))[0];
    if (written !== undefined) v1.set(from, written);
    if (written !== undefined || to === undefined) continue;
    // Each edit of a change has a row; its rules are counted once.
    const byChange = new Map(same.map((member) => [member.change, member]));
    const steps = [...byChange.values()].flatMap((member) => stepsOfResponse(member, changes));
    const [before, after] = exampleOf(steps, from, read) ?? [];
    if (before === undefined || after === undefined) continue;
    v1.set(from, before);
    v2.set(to, after);
  }
  return { v1, v2 };
}

/** The value that a response rule writes at the place of a member, which later rules may have put into others. */
function writtenInResponse({ change, v1 }: ResponseMember, changes: ValueChanges): readonly string[] {
  const { response = [] } = changes.find(({ id }) => id === change) ?? {};
  return response
    .filter((one) => 'json' in one)
    .toSorted((one, other) => other.path.length - one.path.length)
    .flatMap(({ json, path }) => {
      const steps = path[0] === '**' ? path.slice(1) : path;
      const isThere = v1.endsWith(`/${steps.map(pointerToken).join('/')}`);
      return isThere && json.length <= MAX_CHARACTERS ? [json] : [];
    });
}

/**
 * A value at a place that passes all steps, before and after: the known one of a list, or all that it has; the first step's own of a
 * conversion, whose known values may be about a person. Undefined without one.
 */
function exampleOf(
  steps: readonly Step[],
  place: string,
  known: KnownValues,
): readonly [before: string, after: string] | undefined {
  const { samples = [] } = steps[0] ?? {};
  const own = steps.some(({ isList }) => isList === true) ? known.get(place) : undefined;
  const passed = (own === undefined ? samples : [own]).flatMap((before) => {
    let after: string | undefined = before;
    for (const { toV2 } of steps) after = after === undefined ? undefined : toV2(after);
    return after === undefined ? [] : [{ before, after }];
  });
  if (passed.length === 0) return undefined;
  const isText = place.startsWith('?');
  return [
    anyOf(
      passed.map(({ before }) => before),
      isText,
    ),
    anyOf(
      passed.map(({ after }) => after),
      isText,
    ),
  ];
}

/** One of several values, such as `card | cheque`. */
function anyOf(values: readonly string[], isText: boolean): string {
  const [first = '', ...others] = values;
  if (others.length === 0) return first;
  const texts = values
    .slice(0, MAX_LISTED)
    .map((value) => (!isText && value.startsWith('"') ? String(JSON.parse(value)) : value));
  const all = [...texts, ...(values.length > MAX_LISTED ? ['…'] : [])];
  return isText ? all.join('|') : JSON.stringify(all.join(' | '));
}

/** The rules of an edit that change its value; none if it is not certain which. */
function stepsOf({ change, rule, from, path }: EditRecord, changes: ValueChanges): readonly Step[] {
  const known = changes.find(({ id }) => id === change);
  const names = new Set([from, path].flatMap((place) => lastName(place) ?? []));
  if (from?.startsWith('?') === true)
    return (known?.query ?? []).flatMap((one) => {
      if (one.rule !== rule || !('parameter' in one) || !names.has(one.parameter)) return [];
      if ('conversion' in one) return [textStep(one.conversion)];
      return 'values' in one ? mapSteps(one.values, ({ text }) => text) : [];
    });
  return (known?.request ?? []).flatMap((one) => {
    if (one.rule !== rule || !('member' in one) || !names.has(one.member)) return [];
    if ('conversion' in one) return [stepOf(one.conversion)];
    return 'values' in one ? mapSteps(one.values, printScalar) : [];
  });
}

/** The same for a member of a response, whose rules lead from V2 to V1. */
function stepsOfResponse({ change, v1, v2 }: ResponseMember, changes: ValueChanges): readonly Step[] {
  const { request = [], response = [] } = changes.find(({ id }) => id === change) ?? {};
  const names = new Set([v1, v2].flatMap((place) => lastName(place) ?? []));
  if (response.some(({ rule }) => rule === 'inverse'))
    return request.flatMap((one) => {
      if (!('member' in one) || !names.has(one.member)) return [];
      if ('conversion' in one) return [stepOf(one.conversion)];
      return 'values' in one ? mapSteps(one.values, printScalar) : [];
    });
  return response.toReversed().flatMap((one) => {
    if (!('path' in one) || !names.has(one.path.at(-1) ?? '')) return [];
    if ('conversion' in one) {
      const toV2 = inverseConversion(one.conversion);
      return typeof toV2 === 'string' ? [] : [stepOf(toV2)];
    }
    if (!('values' in one)) return [];
    return mapSteps(
      one.values.map(({ from, to }) => ({ from: to, to: from })),
      printScalar,
    );
  });
}

function stepOf(conversion: Conversion): Step {
  return { samples: [conversionSample(conversion)], toV2: converterOf(conversion) };
}

/** A parameter has a text, without a type. */
function textStep(conversion: Conversion): Step {
  return {
    samples: [conversionSample(conversion).replaceAll(/^"|"$/g, '')],
    toV2: textConverterOf(conversion),
  };
}

function mapSteps(
  values: readonly MappedValue[],
  print: (value: MappedValue['from']) => string,
): readonly Step[] {
  return [
    {
      samples: values.map(({ from }) => print(from)),
      isList: true,
      toV2: (text) => {
        const pair = values.find(({ from }) => print(from) === text);
        return pair === undefined ? undefined : print(pair.to);
      },
    },
  ];
}

/** The value that a rule adds to a body; one of a query may be a key. */
function writtenBy({ change, rule, path }: EditRecord, changes: ValueChanges): string | undefined {
  const name = lastName(path);
  if (name === undefined || path?.startsWith('/') !== true) return undefined;
  for (const one of changes.find(({ id }) => id === change)?.request ?? [])
    if (one.rule === rule && 'json' in one && one.member === name && one.json.length <= MAX_CHARACTERS)
      return one.json;
  return undefined;
}

/** The last name of a pointer, or that of a parameter. */
export function lastName(place: string | undefined): string | undefined {
  if (place === undefined || place.startsWith('?')) return place?.slice(1);
  return tokenName(place.slice(place.lastIndexOf('/') + 1));
}
