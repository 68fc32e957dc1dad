import type { Components } from '../components.ts';
import { type DescribedOperation, followed, memberOf, objectIn } from '../description.ts';
import { ANY_SHAPE, isCompatible, type Shape } from '../shape.ts';
import { parameterShape } from './bodies.ts';
import { type BookRule, bookRules, defaultRule, valueMap } from './book-rules.ts';
import { ComparedPairs } from './compared-pairs.ts';
import { type Evidence, isProposed, pathText, PROPOSED_FROM, type Question } from './found-rules.ts';
import { NO_LINK } from './member-links.ts';
import { findRenames } from './renames.ts';
import { findValueMap, orderIn, placedWords } from './value-maps.ts';
import {
  conversions,
  type FoundValue,
  keywordIn,
  type NamedShape,
  namedValues,
  patternPrefix,
  otherConversions,
  separatorIn,
  timeDoubt,
} from './conversions.ts';
import type { Versions } from './find-inverse.ts';
import {
  hasOtherWord,
  type MatchedOperation,
  type OtherWord,
  parametersInBody,
  parametersOf,
} from './match-operations.ts';
import { areOtherIdentifiers, isSameQuery, limitIn, nameSimilarity, plainName } from './names.ts';
import { changeId, type ProposedChange, type ProposedRules, undescribed } from './propose-changes.ts';

/** Finds query parameters that V2 renamed, also by the renames of bodies in `known`; those that are merely gone are questions. */
export function findQueryRenames(
  { named, v1, v2 }: Versions,
  known: readonly ProposedChange[],
): readonly ProposedChange[] {
  const words = named.flatMap(({ pair: { moved } }) => moved?.word ?? []);
  const changes = new Map<string, { readonly change: ProposedChange; readonly on: string[] }>();
  const gone = new Map<string, GoneParameter>();
  const add = (operation: string, id: string, summary: string, rule: ProposedRules): void => {
    const key = JSON.stringify([rule.rules, isProposed(rule)]);
    const on: string[] = [];
    const found = changes.get(key) ?? {
      change: { id: changeId(id), summary, on, rules: [], query: [rule] },
      on,
    };
    changes.set(key, found);
    found.on.push(operation);
  };
  const pairs = new ComparedPairs();
  for (const { pair, operation } of named) {
    const [old, young] = [parameterShape(pair.v1, v1, 'query'), parameterShape(pair.v2, v2, 'query')];
    // A path parameter that `to` puts into the query is not a query parameter of V1.
    const { accepted, rejected } = findRenames(old, young, { nests: [], isRecorded: false, pairs });
    const unsure = pair.moved?.doubt === undefined ? undefined : `it holds only if ${operation.id} moved so`;
    const renamed = new Map<string, string>();
    const asked = new Set<string>();
    const addRename = (from: string, to: string, evidence: Evidence): void => {
      renamed.set(from, to);
      const why =
        evidence.doubt ?? orderRules(old.members.get(from)?.shape ?? ANY_SHAPE, to, { old, young })?.doubt;
      const [rules = [], ...forms] = renameForms(from, old, to, young, why !== undefined);
      const others = why === undefined ? [] : [...forms, [{ strip: from }]];
      if (why !== undefined) asked.add(from);
      const doubt = why ?? unsure;
      add(operation.id, `${to}-parameter`, `The query parameter ${from} becomes ${to}.`, {
        ...withLimits(evidence, from, old, to, young),
        doubt,
        rules,
        others,
      });
    };
    for (const { from, to, confidence, evidence, ...found } of accepted) {
      if (becomesOther(from, to)) continue;
      const doubt = found.doubt === NO_LINK && isKnown(from, to, known) ? undefined : found.doubt;
      addRename(from, to, { confidence, evidence, doubt });
    }
    for (const name of old.members.keys()) {
      if (young.members.has(name) || renamed.has(name)) continue;
      const to = assumedName(name, young, known);
      const found = rejected.get(name);
      const candidate = found !== undefined && becomesOther(name, found.to) ? undefined : found;
      if (to !== undefined) {
        const doubt = `it holds only if ${name} is ${to} in bodies`;
        addRename(name, to, { confidence: 0.5, evidence: 'bodies may have it under that name', doubt });
      } else if (candidate !== undefined && !isWeak(candidate)) {
        const { confidence, evidence, doubt = 'it may be gone, or another one' } = candidate;
        addRename(name, candidate.to, { confidence, evidence, doubt });
      } else {
        const [cursor] = isPlaceOfPage(name, old)
          ? [...young.members.keys()].filter((one) => CURSOR.test(one))
          : [];
        const known: GoneParameter = gone.get(name) ?? { on: [], candidates: new Map(), cursor };
        gone.set(name, known);
        known.on.push(operation.id);
        const likely = likelyNames(name, { old, young }, new Set(renamed.values()), words);
        for (const one of [...likely, ...(candidate === undefined ? [] : [candidate])]) {
          if (known.candidates.has(one.to)) continue;
          const [rules = [], ...others] = renameForms(name, old, one.to, young, true);
          known.candidates.set(one.to, { ...withLimits(one, name, old, one.to, young), rules, others });
        }
      }
    }
    const listOf = (version: 'v1' | 'v2', name: string): unknown =>
      parametersOf(pair[version], (version === 'v1' ? v1 : v2).description).find(
        (one) => memberOf(one, 'in') === 'query' && memberOf(one, 'name') === name,
      );
    for (const [name, { shape }] of old.members) {
      const now = renamed.get(name) ?? name;
      const partner = young.members.get(now)?.shape;
      const list =
        partner &&
        listRule(now, [
          { declared: listOf('v1', name), name, shape },
          { declared: listOf('v2', now), name: now, shape: partner },
        ]);
      if (list !== undefined)
        add(
          operation.id,
          `${now}-parameter-list`,
          `The query parameter ${now} is a list in another form.`,
          list,
        );
      const form = partner && !renamed.has(name) ? formRule(now, shape, partner) : undefined;
      if (form !== undefined)
        add(operation.id, `${now}-parameter-form`, `The query parameter ${now} has another form.`, form);
      const assumed = partner && assumedRule({ name, shape }, { name: now, shape: partner });
      if (assumed !== undefined && !asked.has(name))
        add(
          operation.id,
          `${now}-parameter-default`,
          `The query parameter ${now} has another default.`,
          assumed,
        );
      const map = valueRules(shape, now, { old, young });
      // A certain map, and any map beside a rename that is asked, is part of the rename's rule.
      const isPart = map?.doubt === undefined || asked.has(name);
      if (map === undefined || (renamed.has(name) && isPart)) continue;
      const doubt = map.doubt ?? unsure;
      const others = map.others?.filter((rules) => rules.length > 0) ?? [];
      add(operation.id, `${now}-parameter-values`, `The query parameter ${now} has other values.`, {
        ...map,
        others,
        doubt,
      });
    }
  }
  return [...[...changes.values()].map(({ change, on }) => ({ ...change, on })), ...goneChanges(gone)];
}

/** The names that V2 may have for a gone parameter, among those that V1 does not have: the likeliest first. */
function likelyNames(
  name: string,
  { old, young }: { readonly old: Shape; readonly young: Shape },
  taken: ReadonlySet<string>,
  words: readonly OtherWord[],
): readonly (Evidence & { readonly to: string })[] {
  const shape = old.members.get(name)?.shape ?? ANY_SHAPE;
  return [...young.members].flatMap(([to, { shape: other }]) => {
    if (old.members.has(to) || taken.has(to) || becomesOther(name, to)) return [];
    const word = words.find((one) => hasOtherWord(name, to, one));
    const sides = [
      { name, shape },
      { name: to, shape: other },
    ] as const;
    const isId = word !== undefined && conversions(...sides).length > 0;
    const limit = !isPlaceOfPage(name, old) && isLimitOfTime(...sides) ? limitIn(name) : undefined;
    if (!isCompatible(shape, other) && !isId && limit === undefined) return [];
    const [confidence, evidence] =
      word !== undefined
        ? [0.58, `${word.from} may be ${word.to} in V2, as in paths`]
        : isSameQuery(name, to)
          ? [0.55, 'both are common names of one parameter']
          : limit !== undefined
            ? [0.52, `both are the ${limit === 'lower' ? 'earliest' : 'latest'} time that a client asks for`]
            : nameSimilarity(name, to) >= 0.5
              ? [0.45, 'the names are similar']
              : [0, ''];
    return confidence === 0 ? [] : [{ to, confidence, evidence, doubt: 'it may be another one' }];
  });
}

/** True for two times, in any form, that are the same limit: Unix seconds in `from`, and a date in `startsAfter`. */
function isLimitOfTime(old: NamedShape, young: NamedShape): boolean {
  const limit = limitIn(old.name);
  const isTime = ({ shape: { format } }: NamedShape): boolean => format.startsWith('date');
  return (
    limit !== undefined &&
    limit === limitIn(young.name) &&
    ((isTime(old) && isTime(young)) || conversions(old, young).some(({ word }) => word === 'date'))
  );
}

/**
 * The rules for a renamed parameter of V2, and for its value if the form, or the case and separators, differ: the likeliest first. `isAsked`
 * for the answers of a person, which also have the likely values.
 */
function renameForms(
  from: string,
  old: Shape,
  to: string,
  young: Shape,
  isAsked: boolean,
): readonly (readonly BookRule[])[] {
  const [one, other] = [old.members.get(from)?.shape ?? ANY_SHAPE, young.members.get(to)?.shape ?? ANY_SHAPE];
  const sides = [
    { name: from, shape: one },
    { name: to, shape: other },
  ] as const;
  const map = valueRules(one, to, { old, young });
  const placed = map === undefined || !isAsked ? [] : (map.others ?? []);
  const assumed = isAsked ? assumedRule(...sides) : undefined;
  const all = [conversions(...sides), ...(isAsked ? otherConversions(...sides) : [])];
  const maps = [map !== undefined && (isAsked || map.doubt === undefined) ? map.rules : [], ...placed];
  return all.flatMap((each) => {
    // Values that are quoted in a body are plain text here.
    const converted = each.filter(({ word }) => word !== 'quote' && word !== 'unquote');
    const more = converted.length > 0 && { conversions: converted };
    const renamed = bookRules({ rule: 'rename', in: [], member: from, to, ...more });
    return maps.map((values) => [...renamed, ...values, ...(assumed?.rules ?? [])]);
  });
}

/** The rule that gives V2 the value which V1 assumes without a parameter, where V2 assumes another one; undefined for none. */
function assumedRule(old: NamedShape, young: NamedShape): ProposedRules | undefined {
  const [before, now] = [old, young].map(({ shape }) => keywordIn(shape.constraints, 'default'));
  if (!isPlainValue(before) || before === now) return undefined;
  const pairs = findValueMap(old.shape.values, young.shape.values);
  const mapped = [...(pairs?.spelled.pairs ?? []), ...(pairs?.guessed.pairs ?? [])];
  const value = mapped.find(([from]) => from === before)?.[1] ?? before;
  const isConverted = conversions(old, young).some(({ word }) => word !== 'quote' && word !== 'unquote');
  const isRefused = young.shape.values.length > 0 && !young.shape.values.includes(value);
  if (value === now || isConverted || isRefused) return undefined;
  return {
    rules: [defaultRule(pathText([young.name]), value)],
    confidence: 0.6,
    evidence: assumedWords(before, now),
    doubt: 'V2 may have its reason for another one',
    isOpen: true,
  };
}

function assumedWords(before: FoundValue, now: unknown): string {
  return `without it V1 assumes ${before}, and V2 ${isPlainValue(now) ? now : 'describes no default'}`;
}

function isPlainValue(value: unknown): value is FoundValue {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

/** What a person must know about a parameter under its other name: another default, a smaller maximum, and values without one of V2. */
function limitWords(from: string, old: Shape, to: string, young: Shape): readonly string[] {
  const [one, other] = [old.members.get(from)?.shape, young.members.get(to)?.shape];
  if (one === undefined || other === undefined) return [];
  const assumed = assumedRule({ name: from, shape: one }, { name: to, shape: other });
  const smaller = smallerMaximum(one, other);
  const order = orderRules(one, to, { old, young });
  const left = order === undefined ? (findValueMap(one.values, other.values)?.left ?? []) : [];
  const time = timeDoubt({ name: from, shape: one }, { name: to, shape: other });
  return [
    ...(time === '' ? [] : [time]),
    ...(assumed === undefined ? [] : [assumed.evidence]),
    ...(smaller === undefined ? [] : [smaller]),
    ...(order === undefined ? unsplitOrder(one, { old, young }) : [order.evidence]),
    ...(left.length === 0 ? [] : [`V2 has no value for ${namedValues(left)}`]),
    ...(order === undefined ? [placedWords(one, other).replace('; ', '')] : []),
  ];
}

function withLimits<One extends Evidence>(one: One, from: string, old: Shape, to: string, young: Shape): One {
  const words = [one.evidence, ...limitWords(from, old, to, young)].filter((part) => part !== '');
  return { ...one, evidence: words.join('; ') };
}

/** Words about a maximum of V2 that is smaller than V1's; undefined for none. */
function smallerMaximum(old: Shape, young: Shape): string | undefined {
  const [before, now] = [old, young].map(({ constraints }) => keywordIn(constraints, 'maximum'));
  if (typeof now !== 'number' || (typeof before === 'number' && before <= now)) return undefined;
  return `V2 accepts at most ${now}, and V1 ${typeof before === 'number' ? before : 'any number'}`;
}

/** A query parameter of a description, with the facts about its value. */
interface DescribedParameter extends NamedShape {
  readonly declared: unknown;
}

/** Stands for lists with a parameter for each text. */
const SEVERAL = 'several';

/**
 * The separator of the texts of a list in one query parameter (OpenAPI 3.1 §4.8.12.2); undefined if it is not a list, or the description
 * does not show it.
 */
function listForm(own: DescribedParameter, other: DescribedParameter): string | undefined {
  const { shape, declared } = own;
  if (!shape.types.has('array')) return separatorIn(own, other);
  const style = memberOf(declared, 'style') ?? 'form';
  if ((memberOf(declared, 'explode') ?? style === 'form') === true) return SEVERAL;
  return new Map<unknown, string>([
    ['form', ','],
    ['spaceDelimited', ' '],
    ['pipeDelimited', '|'],
  ]).get(style);
}

/** The rules for a list that one version writes in one query parameter, and the other as one parameter for each text or with another separator. */
function listRule(
  name: string,
  [old, young]: readonly [old: DescribedParameter, young: DescribedParameter],
): ProposedRules | undefined {
  const [from, to] = [listForm(old, young), listForm(young, old)];
  if (from === undefined || to === undefined || from === to) return undefined;
  return {
    rules: [
      ...(from === SEVERAL ? [] : [{ list: name, with: from }]),
      ...(to === SEVERAL ? [] : [{ unlist: name, with: to }]),
    ],
    confidence: 0.8,
    evidence: 'styles or descriptions show how both versions write it',
    doubt: 'a text that has the separator would become two, or none',
  };
}

/** The rule for a number to which V2 adds a text, such as `inv_`, or for a time in another form; undefined for none. */
function formRule(name: string, shape: Shape, young: Shape): ProposedRules | undefined {
  const sides = [
    { name, shape },
    { name, shape: young },
  ] as const;
  const [rules, ...others] = [conversions(...sides), ...otherConversions(...sides)].flatMap((all) => {
    const converted = all.filter(({ word }) => word === 'prefix' || word === 'date');
    const found = { rule: 'convert', in: [], member: name, conversions: converted } as const;
    return converted.length === 0 ? [] : [bookRules(found)];
  });
  if (rules === undefined) return undefined;
  const time = timeDoubt(...sides);
  return time === ''
    ? {
        rules,
        confidence: 0.8,
        evidence: `V2's values begin with ${idPrefix(young)}`,
        doubt: "what follows must be V1's number",
      }
    : { rules, others, confidence: 0.8, evidence: 'descriptions and formats show it', doubt: time };
}

/**
 * Questions without a proposed rule, by the ids of operations: about query parameters of another type, cookies and response fields that
 * are gone, and another status of refusals.
 */
export function parameterQuestions(versions: Versions): ReadonlyMap<string, readonly Question[]> {
  const { named, v1, v2 } = versions;
  const types = queryQuestions(versions);
  return new Map(
    named.map(({ pair, operation: { id } }) => {
      const [old, young] = [parameterShape(pair.v1, v1, 'cookie'), parameterShape(pair.v2, v2, 'cookie')];
      const cookies = [...old.members.keys()]
        .filter((name) => !young.members.has(name))
        .map((name) => `V2 does not describe the cookie ${name}, and no rule moves one: say who does.`);
      const [before, after] = [responseFields(pair.v1, v1), responseFields(pair.v2, v2)];
      const fields = before
        .filter((name) => !after.some((other) => other.toLowerCase() === name.toLowerCase()))
        .map(
          (name) =>
            `V2's responses are not described to have the header field ${name}. If V2 has it by another name, write { headers: [{ rename: …, to: ${name} }] } among the rules of a response.`,
        );
      const texts = [...pathQuestions(pair, versions), ...cookies, ...fields, ...statusQuestions(pair)].map(
        (text) => ({
          path: [],
          text,
          general: text,
        }),
      );
      return [id, [...(types.get(id) ?? []), ...texts]];
    }),
  );
}

/** Questions about path parameters whose values V2 may not accept; a moved operation has one question for all of them. */
function pathQuestions(
  { v1: old, v2: young, moved, prefixed }: MatchedOperation,
  { v1, v2 }: Versions,
): readonly string[] {
  if (moved?.doubt !== undefined) return [];
  if (moved !== undefined)
    return parametersInBody(old, young, v2).flatMap(({ name, member }) =>
      moved.to.includes(`{${name}}`)
        ? []
        : [
            `V2 has ${member} in the body, where V1 has {${name}} in the path, and no rule puts it there: write a transform whose request function returns { body: { ...body, ${member}: path.${name} } }, or let V2 take it in the query as well.`,
          ],
    );
  const [before, now] = [namesIn(old.rest), namesIn(young.rest)];
  const [shapes, others] = [
    parameterShape(old, v1, 'path').members,
    parameterShape(young, v2, 'path').members,
  ];
  return before.flatMap((name, at) => {
    const other = now[at] ?? name;
    const [one, two] = [shapes.get(name)?.shape ?? ANY_SHAPE, others.get(other)?.shape ?? ANY_SHAPE];
    if (areOtherIdentifiers(name, other))
      return [`V2 has {${other}} in the path where V1 has {${name}}: say how to convert one into the other.`];
    // The path with the prefix is a question.
    if (prefixed?.to.includes(`${idPrefix(two)}{${name}}`) === true) return [];
    const words = ({ types, format }: Shape): string => format || [...types].join(' or ');
    const isNarrower =
      (isText(one) && two.types.size > 0 && !two.types.has('string')) ||
      (two.format === 'uuid' && one.format !== 'uuid' && one.types.size > 0);
    return isNarrower
      ? [`{${name}} of the path is ${words(one)} in V1, and ${words(two)} in V2: say how to convert it.`]
      : [];
  });
}

/** The text with which the pattern of an id makes it begin; undefined for none. */
function idPrefix({ constraints }: Shape): string | undefined {
  const pattern = keywordIn(constraints, 'pattern');
  return typeof pattern === 'string' ? patternPrefix(pattern) : undefined;
}

const namesIn = (path: string): readonly string[] => path.match(/(?<=\{)[^{}]*(?=\})/g) ?? [];

function isText({ types }: Shape): boolean {
  return types.size === 1 && types.has('string');
}

/** The question about the only status of a refusal that each version describes by itself: it may be that of the same fault. */
function statusQuestions({ v1, v2, moved }: MatchedOperation): readonly string[] {
  const [old = [], young = []] = [v1, v2].map(({ operation }) =>
    Object.keys(objectIn(operation, 'responses')).filter((status) => /^4\d\d$/.test(status)),
  );
  const [gone, fresh] = [
    old.filter((status) => !young.includes(status)),
    young.filter((status) => !old.includes(status)),
  ];
  const isOne = gone.length === 1 && fresh.length === 1 && moved?.doubt === undefined;
  return isOne
    ? [
        `V1 describes ${gone[0]} for a refusal, and V2 ${fresh[0]}: if they mean the same, write status: { ${fresh[0]}: ${gone[0]} } in the line of the operation.`,
      ]
    : [];
}

/** The names of the header fields that successful responses are described to have. */
function responseFields({ operation }: DescribedOperation, { description }: Components): readonly string[] {
  const fields = Object.entries(objectIn(operation, 'responses')).flatMap(([status, response]) =>
    status.startsWith('2') ? Object.keys(objectIn(followed(description, response), 'headers')) : [],
  );
  return [...new Set(fields)].filter((name) => name.toLowerCase() !== 'content-type');
}

/** Questions about query parameters whose values V2 may not accept, by the ids of operations. */
function queryQuestions({ named, v1, v2 }: Versions): ReadonlyMap<string, readonly Question[]> {
  const questions = new Map<string, readonly Question[]>();
  for (const { pair, operation } of named) {
    const all = { old: parameterShape(pair.v1, v1, 'query'), young: parameterShape(pair.v2, v2, 'query') };
    const found = [...all.old.members].flatMap(([name, { shape }]) => {
      const partner = all.young.members.get(name)?.shape;
      // Any value of a query is a text, and a single value is a list with one element.
      const [one, other] = [shape, partner ?? shape].map(({ element, types }) =>
        [...(element?.types ?? types)].join(' or '),
      );
      const smaller = partner && smallerMaximum(shape, partner);
      const limited =
        smaller === undefined ? [] : [`as a query parameter ${smaller}: no rule limits a value.`];
      const order = partner === undefined ? [] : unsplitOrder(shape, all).map((words) => `${words}.`);
      const isStricter = one === 'string' && /^(?:integer|number|boolean)$/.test(other ?? '');
      const isObject = one !== 'object' && other === 'object';
      const converted =
        isStricter || isObject
          ? [`as a query parameter it is ${one} in V1 and ${other} in V2: say how to convert it.`]
          : [];
      return [...converted, ...limited, ...order].map((text) => ({ path: [name], text, general: text }));
    });
    questions.set(operation.id, found);
  }
  return questions;
}

/** True if only types and places suggest the name, with little confidence. */
function isWeak(candidate: Evidence): boolean {
  return candidate.doubt === NO_LINK && candidate.confidence < PROPOSED_FROM;
}

/** Operations that have a query parameter which V2 does not describe, and the names that V2 may have for it. */
interface GoneParameter {
  readonly on: string[];
  /** The possible names in V2, each with its rules. */
  readonly candidates: Map<string, ProposedRules>;
  /** The cursor by which V2 pages; undefined unless the parameter is the place of a page. */
  readonly cursor: string | undefined;
}

/** Names of the place of a page in a list: its number, or the number of elements before it. */
const PAGE = /^(?:page|offset|skip|page[-_]?(?:number|no|index))$/i;

/** Names that the place of a page has as well as the lower limit of a filter. */
const PERHAPS_PAGE = /^(?:start|from|first)$/i;

/** Words in the description of a time. */
const TIME_WORDS = /\b(?:dates?|times?|days?|hours?|unix|epoch|iso|utc)\b/i;

/** True if a parameter certainly is the place of a page. A name that a filter may have needs further signs, and no sign of a filter. */
function isPlaceOfPage(name: string, { members }: Shape): boolean {
  if (PAGE.test(name)) return true;
  const { types, format, text } = members.get(name)?.shape ?? ANY_SHAPE;
  const others = [...members.keys()].filter((one) => one !== name);
  const isFilter =
    !types.has('integer') ||
    format.startsWith('date') ||
    TIME_WORDS.test(text) ||
    others.some((one) => PAGE.test(one) || limitIn(one) === 'upper');
  const hasSize = others.some((one) => isSameQuery(one, 'limit'));
  return PERHAPS_PAGE.test(name) && !isFilter && (hasSize || name.toLowerCase() !== 'from');
}

/** Names of cursors, which clients get only from the previous page. */
const CURSOR = /cursor|(?:page|pagination|continuation|next)[-_]?token|^(?:starting[-_])?after$/i;

/** True if only the new parameter is a cursor, to which no other value leads, or only one of both is the number of elements. */
function becomesOther(from: string, to: string): boolean {
  const isPage = (one: string, other: string): boolean => PAGE.test(one) && isSameQuery(other, 'limit');
  return (CURSOR.test(to) && !CURSOR.test(from)) || isPage(from, to) || isPage(to, from);
}

/**
 * The questions about query parameters that V2 does not describe, each with an answer of its own. Those of the same operations are one
 * change, and all pages, or all filters, for which V2 has no likely name are one question.
 */
function goneChanges(gone: ReadonlyMap<string, GoneParameter>): readonly ProposedChange[] {
  // Two parameters of V1 cannot both be one of V2: it is offered for the likelier one first.
  const owners = new Map<string, string>();
  const claims = [...gone].flatMap(([name, { candidates }]) =>
    [...candidates].map(([to, { confidence }]) => ({ name, to, confidence })),
  );
  for (const { name, to } of claims.toSorted((one, other) => other.confidence - one.confidence))
    if (!owners.has(to)) owners.set(to, name);
  // A page and a filter are two decisions.
  const groups = Map.groupBy(
    gone,
    ([, { on, candidates, cursor }]) => `${candidates.size > 0} ${cursor} ${on.join(' ')}`,
  );
  const firsts = new Map<boolean, string>();
  return [...groups.values()].map((group): ProposedChange => {
    const names = group.map(([name]) => name);
    const id = changeId(`${names.length === 1 ? names[0] : 'query'}-parameter-gone`);
    const isAlone = group.some(([, { candidates }]) => candidates.size > 0);
    const isPage = group.some(([, { cursor }]) => cursor !== undefined);
    const asWith = isAlone ? undefined : firsts.get(isPage);
    if (!isAlone && asWith === undefined) firsts.set(isPage, id);
    return {
      id,
      summary: undescribed('query parameter', names),
      on: group[0]?.[1].on ?? [],
      rules: [],
      query: group.map(([name, parameter]) => goneRule(name, parameter, owners)),
      ...(asWith !== undefined && { asWith }),
    };
  });
}

/**
 * The rule for a parameter that V2 does not describe. Any candidate comes before removal, because V2 returns too much without a filter, unless
 * it is the likelier one of another parameter (`owners`).
 */
function goneRule(
  name: string,
  { candidates, cursor }: GoneParameter,
  owners: ReadonlyMap<string, string>,
): ProposedRules {
  const strip = [{ strip: name }];
  const sorted = [...candidates].toSorted(([, one], [, other]) => other.confidence - one.confidence);
  const formsOf = ([, { rules, others = [] }]: (typeof sorted)[number]): readonly (readonly BookRule[])[] => [
    rules,
    ...others,
  ];
  const [own, taken] = [true, false].map((isOwn) =>
    sorted.filter(([to]) => (owners.get(to) === name) === isOwn),
  );
  const [[, likeliest] = [], ...others] = own ?? [];
  const further = [...others.flatMap(formsOf), strip, ...(taken ?? []).flatMap(formsOf)];
  if (likeliest === undefined)
    return {
      rules: strip,
      confidence: 0.5,
      evidence: "V2's description does not have it",
      doubt:
        cursor === undefined
          ? 'V2 would respond as if the client had not sent it'
          : `V2 pages by ${cursor}, which no rule can make of it, so clients would get the first page again: let V2 take ${name} as well, or write a transform if a cursor can be computed`,
      ...(further.length > 1 && { others: further.slice(1), isOpen: true }),
    };
  return {
    ...likeliest,
    doubt: `${likeliest.doubt ?? 'it may be another one'}; and without it V2 would respond as if the client had not sent it`,
    others: [...(likeliest.others ?? []), ...further],
    isOpen: true,
  };
}

/**
 * Finds header fields that V2 renamed: the only gone and the only new field of an operation. Each is a question, because a key or a tenant
 * under a wrong name goes to the wrong party.
 */
export function findHeaderRenames(
  { named, v1, v2 }: Versions,
  versionField: string | undefined,
): readonly ProposedChange[] {
  const renames = new Map<string, { readonly on: string[]; readonly from: string; readonly to: string }>();
  const gone = new Map<string, string[]>();
  const inQuery = new Set<string>();
  for (const { pair, operation } of named) {
    const queries = new Set([...parameterShape(pair.v2, v2, 'query').members.keys()].map(plainName));
    const [old, young] = [
      parameterShape(pair.v1, v1, 'header').members,
      parameterShape(pair.v2, v2, 'header').members,
    ];
    const left = [...old].filter(([name]) => !hasField(young, name));
    const fresh = [...young].filter(([name]) => name !== versionField && !hasField(old, name));
    const [from, to] = [left[0], fresh[0]];
    const isPair = left.length === 1 && fresh.length === 1 && from !== undefined && to !== undefined;
    if (!isPair || from[1].required !== to[1].required) {
      for (const [name] of left) {
        gone.set(name, [...(gone.get(name) ?? []), operation.id]);
        if (queries.has(plainName(name))) inQuery.add(name);
      }
      continue;
    }
    const key = JSON.stringify([from[0], to[0]]);
    const known = renames.get(key) ?? { on: [], from: from[0], to: to[0] };
    renames.set(key, known);
    known.on.push(operation.id);
  }
  const renamed = [...renames.values()].map(({ on, from, to }): ProposedChange => ({
    id: changeId(`${to}-header`),
    summary: `The header field ${from} becomes ${to}.`,
    on: on.length === named.length ? 'every' : on,
    rules: [],
    headers: [
      {
        rules: [{ rename: from, to }],
        confidence: 0.8,
        evidence: `${from} is the only field that is gone, and ${to} the only one that is new`,
        doubt: 'a value that means something else would be sent under that name',
        others: [[{ strip: from }]],
      },
    ],
  }));
  const lost = [...gone].filter(([name]) => /^[\w-]+$/.test(name) && !UNNAMED_FIELDS.has(name.toLowerCase()));
  return [...renamed, ...goneFields(lost, inQuery, named.length)];
}

/** One question about all header fields that V2 does not describe: those of the same operations are one change. */
function goneFields(
  gone: readonly (readonly [name: string, on: readonly string[]])[],
  inQuery: ReadonlySet<string>,
  operations: number,
): readonly ProposedChange[] {
  const groups = [...Map.groupBy(gone, ([, on]) => on.join(' ')).values()];
  const idOf = (group: typeof gone): string =>
    changeId(`${group.length === 1 ? group[0]?.[0] : 'several'}-header-gone`);
  return groups.map((group, at): ProposedChange => {
    const names = group.map(([name]) => name);
    const on = group[0]?.[1] ?? [];
    return {
      id: idOf(group),
      summary: undescribed('header field', names),
      on: on.length === operations ? 'every' : on,
      rules: [],
      headers: names.map((name) => ({
        rules: [{ strip: name }],
        confidence: 0.5,
        evidence: "V2's description does not have it",
        doubt: inQuery.has(name)
          ? 'V2 has a query parameter of that name, where no rule puts a header field: let V2 take the field as well'
          : 'V2 would respond as if the client had not sent it',
      })),
      ...(at > 0 && { asWith: idOf(groups[0] ?? []) }),
    };
  });
}

/** Fields that descriptions must not have as parameters (OpenAPI 3.1 §4.8.12.1), or that no rule can name. */
const UNNAMED_FIELDS: ReadonlySet<string> = new Set(
  'accept content-type authorization host connection content-length transfer-encoding te trailer upgrade'.split(
    ' ',
  ),
);

/** True for a field of that name, in any case. */
export function hasField(fields: Shape['members'], name: string): boolean {
  return [...fields.keys()].some((other) => other.toLowerCase() === name.toLowerCase());
}

/** The rule that maps the values of a query parameter to V2's; undefined if V2 has the same. */
function valueMapRule(old: Shape, young: Shape | undefined, name: string): ProposedRules | undefined {
  const map = young && findValueMap(old.values, young.values);
  const pairs = [...(map?.spelled.pairs ?? []), ...(map?.guessed.pairs ?? [])];
  if (map === undefined || pairs.length === 0) return undefined;
  const isGuess = map.guessed.pairs.length > 0;
  const left = map.left.length === 0 ? '' : `V2 has no value for ${map.left.map(String).join(', ')}`;
  const own = pairs.filter(([from]) => !map.placed.some(([one]) => one === from));
  return {
    rules: [valueMap(pairs, name)],
    ...(own.length < pairs.length && { others: [own.length === 0 ? [] : [valueMap(own, name)]] }),
    confidence: Math.min(map.spelled.confidence, map.guessed.confidence),
    evidence: [...map.spelled.reasons, ...map.guessed.reasons].join('; '),
    doubt: isGuess ? 'a value that means something else would change' : left || undefined,
  };
}

/** The parameters of an operation in both versions. */
interface Parameters {
  readonly old: Shape;
  readonly young: Shape;
}

/** The rules for the values of a parameter that V2 calls `to`; undefined if V2 has the same. */
function valueRules(old: Shape, to: string, all: Parameters): ProposedRules | undefined {
  return orderRules(old, to, all) ?? valueMapRule(old, all.young.members.get(to)?.shape, to);
}

/** The rules for values that tell an order, such as `-created_at`, where V2 has the direction in a parameter beside it; undefined for none. */
function orderRules({ values }: Shape, to: string, all: Parameters): ProposedRules | undefined {
  const partner = all.young.members.get(to)?.shape;
  const [texts, fields] = [values.map(String), (partner?.values ?? []).map(String)];
  const way = newDirection(all);
  if (partner === undefined || way === undefined || way.name === to) return undefined;
  if (!texts.some(orderIn) || fields.some(orderIn)) return undefined;
  const orders = texts.map((value) => ({ value, field: value, isDown: false, ...orderIn(value) }));
  const own = [...new Set(orders.map(({ field }) => field))];
  const { spelled, guessed } = findValueMap(own, fields) ?? {};
  const young = new Map<FoundValue, FoundValue>([...(spelled?.pairs ?? []), ...(guessed?.pairs ?? [])]);
  const pairs = orders.flatMap(({ value, field }): readonly (readonly [string, FoundValue])[] => {
    const partner = young.get(field) ?? (fields.length === 0 || fields.includes(field) ? field : value);
    return partner === value ? [] : [[value, partner]];
  });
  const directions = orders.map(({ value, isDown }) => [value, isDown ? way.down : way.up] as const);
  const left = orders.filter(
    ({ field }) => fields.length > 0 && !fields.includes(field) && !young.has(field),
  );
  const reasons = [
    `V1's values tell the direction, and V2 has it in ${way.name}`,
    ...(guessed?.reasons ?? []),
    ...(left.length === 0 ? [] : [`V2 has no value for ${namedValues(left.map(({ value }) => value))}`]),
  ];
  return {
    rules: [
      { copy: to, to: way.name },
      valueMap(directions, way.name),
      ...(pairs.length === 0 ? [] : [valueMap(pairs, to)]),
    ],
    confidence: PROPOSED_FROM,
    evidence: reasons.join('; '),
    doubt: 'a value that means something else would change',
  };
}

/** The parameter of V2 that has the direction of an order, which V1 does not have, and its two values. */
function newDirection({
  old,
  young,
}: Parameters): { readonly name: string; readonly up: FoundValue; readonly down: FoundValue } | undefined {
  for (const [name, { shape }] of young.members) {
    const [up, down] = [/^asc/i, /^desc/i].map((word) => shape.values.find((one) => word.test(String(one))));
    if (!old.members.has(name) && shape.values.length === 2 && up !== undefined && down !== undefined)
      return { name, up, down };
  }
  return undefined;
}

/** What a description shows of values that tell a direction, as in `-created_at`: a sign before a name, or a word behind it. */
const ORDERED = /(?:^|[\s`'"(,])-[A-Za-z_]|[:. _-](?:asc|desc)(?:ending)?\b/i;

/** Words about values of which a description shows that they tell a direction, and which V2 has beside them; empty for any other. */
function unsplitOrder({ values, text, constraints }: Shape, all: Parameters): readonly string[] {
  const shown = [text, String(keywordIn(constraints, 'example')), String(keywordIn(constraints, 'default'))];
  const way = values.length > 0 || !shown.some((one) => ORDERED.test(one)) ? undefined : newDirection(all);
  return way === undefined
    ? []
    : [
        `V1's values tell the direction, which V2 has in ${way.name}: no rule splits values that V1 does not list`,
      ];
}

/** True if a body certainly renames `from` to `to`. */
function isKnown(from: string, to: string, known: readonly ProposedChange[]): boolean {
  return known.some(({ rules }) =>
    rules.some((rule) => {
      const { found } = rule;
      return isProposed(rule) && found.rule === 'rename' && found.member === from && found.to === to;
    }),
  );
}

/** The name that bodies may give a member, also by another answer, if V2 has a query parameter with that name. */
function assumedName(name: string, young: Shape, known: readonly ProposedChange[]): string | undefined {
  const found = known.flatMap(({ rules }) => rules.flatMap((rule) => [rule.found, ...(rule.others ?? [])]));
  const rename = found.find(
    (rule) => rule.rule === 'rename' && rule.member === name && young.members.has(rule.to),
  );
  return rename?.rule === 'rename' ? rename.to : undefined;
}
