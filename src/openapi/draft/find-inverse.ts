import { templateShape } from '../../rules/rule.ts';
import type { Components } from '../components.ts';
import {
  type DescribedOperation,
  elementsOf,
  followed,
  jsonSchemaIn,
  memberOf,
  objectIn,
  templateOf,
} from '../description.ts';
import { type MatchedOperation, singular } from './match-operations.ts';
import { ANY_SHAPE, type MemberShape, type Shape, shapeAt, shapeOf } from '../shape.ts';
import {
  type Evidence,
  findRenames,
  findValueMap,
  type Finding,
  type FoundRule,
  isProposed,
  NO_LINK,
} from './compare-shapes.ts';
import { type ProposedOperation, printUndone, printValueMap, scalar } from './print-rule-book.ts';
import { changeId, type ProposedChange, type ProposedText } from './propose-changes.ts';

/** The resources in the responses of both versions, by the path of their collection. */
export type ResourceShapes = ReadonlyMap<string, readonly { readonly v1: Shape; readonly v2: Shape }[]>;

/** An operation in both versions, and in the rule book. */
export interface NamedOperation {
  readonly pair: MatchedOperation;
  readonly operation: ProposedOperation;
}

/** Both descriptions, with what their references lead to, and the operations that are in both. */
export interface Versions {
  readonly v1: Components;
  readonly v2: Components;
  readonly named: readonly NamedOperation[];
}

/** Reads the resources that successful responses carry, alone or in a list. */
export function resourceShapes(matched: readonly MatchedOperation[], { v1, v2 }: Versions): ResourceShapes {
  const shapes = new Map<string, { readonly v1: Shape; readonly v2: Shape }[]>();
  for (const pair of matched) {
    const key = resourceKey(pair.v2);
    const [old, young] = [resourceIn(pair.v1, v1)?.shape, resourceIn(pair.v2, v2)?.shape];
    if (key === undefined || old === undefined || young === undefined) continue;
    shapes.set(key, [...(shapes.get(key) ?? []), { v1: old, v2: young }]);
  }
  return shapes;
}

/** The path of an operation of V2 without a parameter at its end: operations with the same one concern one resource. */
export function resourceKey(operation: DescribedOperation): string | undefined {
  const template = templateOf(operation);
  return template === undefined ? undefined : templateShape(template).replace(/\/\{\}$/, '');
}

/** Lets a change be undone in responses if V1's responses show it: with V1's names and places where V2's have their own. */
export function withInverse(
  change: ProposedChange,
  resources: readonly (string | undefined)[],
  shapes: ResourceShapes,
): ProposedChange {
  const pairs = resources.flatMap((key) => (key === undefined ? [] : (shapes.get(key) ?? [])));
  const isShown = change.rules.some(({ found }) => pairs.some(({ v1, v2 }) => isUndone(found, v1, v2)));
  return isShown ? { ...change, isInverse: true } : change;
}

function isUndone(found: FoundRule, v1: Shape, v2: Shape): boolean {
  if (found.rule === 'unwrap' || found.rule === 'strip') return false;
  const [old, young] = [shapeAt(v1, found.in)?.members, shapeAt(v2, found.in)?.members];
  if (young === undefined) return false;
  switch (found.rule) {
    case 'rename': {
      // A rename behind a nest: V1 has the member in the object around.
      const [around, now] = [v1, v2].map((shape) => shapeAt(shape, found.in.slice(0, -1))?.members);
      const isHere = (shape: Shape['members'] | undefined): boolean => shape?.has(found.member) === true;
      const wasHere = isHere(old) || (isHere(around) && !isHere(now));
      // Where V1's response has the new name as well, it is another member, which would get the old name.
      return wasHere && old?.has(found.to) !== true && !young.has(found.member) && young.has(found.to);
    }
    case 'nest':
      if (old === undefined) return false;
      return (
        young.has(found.under) &&
        found.members.some((name) => old.has(name) && (!young.has(name) || !old.has(found.under)))
      );
    case 'default':
      return old?.has(found.member) !== true && young.has(found.member);
    case 'map':
      return young.has(found.member);
    case 'convert':
      return old?.has(found.member) === true && young.has(found.member);
  }
}

/** The resource in the successful responses to an operation. */
export interface FoundResource {
  /** The name of the member that has it; empty for the body itself. */
  readonly at: string;
  /** That of one resource, also where the response has a list. */
  readonly shape: Shape;
  /** The response around it. */
  readonly response: Shape;
}

/**
 * Finds the resource in successful responses: in `data`; the body itself; or, in a response to a GET of a collection, in its only
 * list of objects. Undefined where the description tells no member.
 */
export function resourceIn(described: DescribedOperation, components: Components): FoundResource | undefined {
  const responses = Object.entries(objectIn(described.operation, 'responses'));
  // `default` has the statuses that no other key names.
  const successes = responses.filter(([status]) => status.startsWith('2'));
  const others = responses.filter(([status]) => status === 'default');
  for (const [, declared] of [...successes, ...others]) {
    const schema = jsonSchemaIn(objectIn(followed(components.description, declared), 'content'));
    if (schema === undefined) continue;
    const response = shapeOf(schema, components);
    const data = response.members.get('data')?.shape;
    if (data !== undefined) return { at: 'data', shape: data.element ?? data, response };
    if (response.element !== undefined) return { at: '', shape: response.element, response };
    const lists = [...response.members].filter(([, { shape }]) => (shape.element?.members.size ?? 0) > 0);
    const [list] = lists;
    const isCollection = described.method === 'GET' && !described.rest.endsWith('}');
    if (isCollection && lists.length === 1 && list !== undefined)
      return { at: list[0], shape: list[1].shape.element ?? ANY_SHAPE, response };
    const [only] = response.members;
    // An envelope is named after the path's resource: `{"ticket": {…}}` of `/tickets/{no}`.
    const isEnvelope = response.members.size === 1 && only !== undefined && only[1].shape.members.size > 0;
    if (isEnvelope && described.rest.split('/').some((segment) => singular(segment) === singular(only[0])))
      return { at: only[0], shape: only[1].shape, response };
    if (response.members.size > 0) return { at: '', shape: response, response };
  }
  return undefined;
}

/**
 * The response rules of an operation whose resource nothing writes: there is no request rule to undo, so that they undo what a request
 * of V1 would need. They belong together, and are a question as soon as one of them is. Undefined where nothing differs.
 */
export function responseChange(
  id: string,
  { at, response }: FoundResource,
  findings: readonly Finding[],
): ProposedChange | undefined {
  const names = at === '' ? [] : [at];
  const carrier = at === '' ? response : response.members.get(at)?.shape;
  const base = carrier?.element === undefined ? names : [...names, '*'];
  const doubted = findings.find((finding) => !isProposed(finding));
  const rules = findings.toReversed().flatMap(({ found, confidence, evidence, doubt }) => {
    const texts = printUndone(found, base);
    const why = doubt ?? (doubted === undefined ? undefined : 'others of this change are not certain');
    return texts.length === 0 ? [] : [{ texts, confidence, evidence, doubt: why }];
  });
  if (rules.length === 0) return undefined;
  return {
    id: `${changeId(id)}-responses`,
    summary: `Responses of ${id} have other names or forms.`,
    on: [id],
    rules: [],
    response: rules,
  };
}

/** Finds query parameters that V2 calls otherwise, as a body does in `known`; those that are merely gone are questions. */
export function findQueryRenames(
  { named, v1, v2 }: Versions,
  known: readonly ProposedChange[],
): { readonly changes: readonly ProposedChange[]; readonly questions: readonly string[] } {
  const changes = new Map<string, { from: string; to: string; on: string[]; rule: ProposedText }>();
  const questions: string[] = [];
  const maps = new Map<string, { name: string; on: string[]; rule: ProposedText }>();
  const add = (operation: string, from: string, to: string, evidence: Evidence): void => {
    const key = JSON.stringify([from, to, evidence.doubt === undefined]);
    const rule = { ...evidence, texts: [`{ rename: ${scalar(from)}, to: ${scalar(to)} }`] };
    const change = changes.get(key) ?? { from, to, on: [], rule };
    changes.set(key, change);
    change.on.push(operation);
  };
  for (const { pair, operation } of named) {
    const [old, young] = [parameterShape(pair.v1, v1, 'query'), parameterShape(pair.v2, v2, 'query')];
    const { accepted } = findRenames(old, young, { nests: [], isRecorded: false });
    for (const { from, to, confidence, evidence, ...found } of accepted) {
      const doubt = found.doubt === NO_LINK && isKnown(from, to, known) ? undefined : found.doubt;
      add(operation.id, from, to, { confidence, evidence, doubt });
      if (doubt !== undefined)
        questions.push(`${operation.id}: is the query parameter ${from} called ${to} in V2? But ${doubt}.`);
    }
    const assumed = new Map<string, string>();
    for (const name of old.members.keys()) {
      if (young.members.has(name) || accepted.some(({ from }) => from === name)) continue;
      const to = assumedName(name, young, known);
      if (to !== undefined) {
        assumed.set(name, to);
        const doubt = `it holds only if ${name} is ${to} in bodies`;
        add(operation.id, name, to, { confidence: 0.5, evidence: 'it may be so in bodies', doubt });
        continue;
      }
      questions.push(`${operation.id}: V2 does not describe the query parameter ${name}.`);
    }
    for (const [name, { shape }] of old.members) {
      const now = accepted.find(({ from }) => from === name)?.to ?? assumed.get(name) ?? name;
      const map = valueMapRule(shape, young.members.get(now)?.shape, now);
      if (map === undefined) continue;
      const key = map.texts.join('');
      const known = maps.get(key) ?? { on: [], name: now, rule: map };
      maps.set(key, known);
      known.on.push(operation.id);
    }
  }
  const proposed = [...changes.values()].map(({ from, to, on, rule }): ProposedChange => ({
    id: `${to}-parameter`
      .replaceAll(/[^\w.-]|_/g, '-')
      .replace(/^[^A-Za-z]+/, '')
      .slice(0, 60),
    summary: `The query parameter ${from} is called ${to}.`,
    on,
    rules: [],
    query: [rule],
  }));
  const mapped = [...maps.values()].map(({ on, name, rule }): ProposedChange => ({
    id: `${idPart(name)}-parameter-values`,
    summary: `The query parameter ${name} has other values.`,
    on,
    rules: [],
    query: [rule],
  }));
  return { changes: [...proposed, ...mapped], questions };
}

function idPart(name: string): string {
  return name
    .replaceAll(/[^\w.-]|_/g, '-')
    .replace(/^[^A-Za-z]+/, '')
    .toLowerCase()
    .slice(0, 50);
}

/** Finds header fields of V1 that V2 calls otherwise: the only one that is gone and the only one that is new, of each operation. A key or a tenant that is sent under a wrong name goes to the wrong party, so that each is a question. */
export function findHeaderRenames(
  { named, v1, v2 }: Versions,
  versionField: string | undefined,
): readonly ProposedChange[] {
  const renames = new Map<string, { readonly on: string[]; readonly from: string; readonly to: string }>();
  for (const { pair, operation } of named) {
    const [old, young] = [
      parameterShape(pair.v1, v1, 'header').members,
      parameterShape(pair.v2, v2, 'header').members,
    ];
    const gone = [...old].filter(([name]) => !hasField(young, name));
    const fresh = [...young].filter(([name]) => name !== versionField && !hasField(old, name));
    const [from, to] = [gone[0], fresh[0]];
    if (gone.length !== 1 || fresh.length !== 1 || from === undefined || to === undefined) continue;
    if (from[1].required !== to[1].required) continue;
    const key = JSON.stringify([from[0], to[0]]);
    const known = renames.get(key) ?? { on: [], from: from[0], to: to[0] };
    renames.set(key, known);
    known.on.push(operation.id);
  }
  return [...renames.values()].map(({ on, from, to }) => ({
    id: `${idPart(to)}-header`,
    summary: `The header field ${from} is called ${to}.`,
    on: on.length === named.length ? 'every' : on,
    rules: [],
    headers: [
      {
        texts: [`{ rename: ${from}, to: ${to} }`],
        confidence: 0.8,
        evidence: `${from} is the only field that is gone, and ${to} the only one that is new`,
        doubt: 'a value that means something else would be sent under that name',
      },
    ],
  }));
}

/** True for a field of that name, in any case. */
export function hasField(fields: Shape['members'], name: string): boolean {
  return [...fields.keys()].some((other) => other.toLowerCase() === name.toLowerCase());
}

/** The values of a query parameter that V2 calls otherwise, as a rule; undefined when there are none. */
function valueMapRule(old: Shape, young: Shape | undefined, name: string): ProposedText | undefined {
  const map = young && findValueMap(old.values, young.values);
  const pairs = [...(map?.spelled.pairs ?? []), ...(map?.guessed.pairs ?? [])];
  if (map === undefined || pairs.length === 0) return undefined;
  const isGuess = map.guessed.pairs.length > 0;
  return {
    texts: [printValueMap(pairs, name)],
    confidence: Math.min(map.spelled.confidence, map.guessed.confidence),
    evidence: [...map.spelled.reasons, ...map.guessed.reasons].join('; '),
    doubt: isGuess ? 'a value that means something else would change' : undefined,
  };
}

/** True when a body has the member of one name by the other one, for certain. */
function isKnown(from: string, to: string, known: readonly ProposedChange[]): boolean {
  return known.some(({ rules }) =>
    rules.some((rule) => {
      const { found } = rule;
      return isProposed(rule) && found.rule === 'rename' && found.member === from && found.to === to;
    }),
  );
}

/** The name that a body may have for a member, where V2 has a query parameter of that name. */
function assumedName(name: string, young: Shape, known: readonly ProposedChange[]): string | undefined {
  const found = known.flatMap(({ rules }) => rules.map((rule) => rule.found));
  const rename = found.find(
    (rule) => rule.rule === 'rename' && rule.member === name && young.members.has(rule.to),
  );
  return rename?.rule === 'rename' ? rename.to : undefined;
}

/** The parameters of an operation in one place, as the members of an object. */
export function parameterShape(
  { operation, item }: DescribedOperation,
  components: Components,
  place: 'query' | 'header',
): Shape {
  const declared = [...elementsOf(item['parameters']), ...elementsOf(operation['parameters'])];
  const members = declared.flatMap((one) =>
    parameterIn(followed(components.description, one), components, place),
  );
  return { ...ANY_SHAPE, members: new Map(members) };
}

function parameterIn(
  parameter: unknown,
  components: Components,
  place: 'query' | 'header',
): readonly (readonly [string, MemberShape])[] {
  const name = memberOf(parameter, 'name');
  if (memberOf(parameter, 'in') !== place || typeof name !== 'string') return [];
  const shape = shapeOf(memberOf(parameter, 'schema'), components);
  const text = memberOf(parameter, 'description');
  const example = memberOf(parameter, 'example');
  const shown = typeof example === 'string' && shape.constraints === '';
  const constraints = shown ? JSON.stringify([['example', example]]) : shape.constraints;
  const described = { ...shape, constraints, ...(typeof text === 'string' && { text }) };
  return [[name, { shape: described, required: memberOf(parameter, 'required') === true }]];
}
