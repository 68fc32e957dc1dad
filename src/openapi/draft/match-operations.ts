import { templateShape } from '../../rules/rule.ts';
import {
  type DescribedOperation,
  describedOperations,
  type Description,
  elementsOf,
  followed,
  memberOf,
  objectIn,
  templateOf,
} from '../description.ts';
import { patternPrefix, wordsOf } from './compare-shapes.ts';

/** An operation in both versions. */
export interface MatchedOperation {
  readonly v1: DescribedOperation;
  readonly v2: DescribedOperation;
  /** Where V2 has it, for one that moved. */
  readonly moved?: MovedOperation;
}

/** Method and path of an operation in V2, with the parameters of V1. */
export interface MovedOperation {
  /** Such as `GET /lines?invoice={id}`. */
  readonly to: string;
  readonly evidence: string;
  /** The word of V1's path for which V2's has another one; absent for one that moved otherwise. */
  readonly word?: OtherWord;
}

/** A word of V1, and the one that V2 has in its place. */
export interface OtherWord {
  readonly from: string;
  readonly to: string;
}

/** The operations that both versions describe, and sentences about those that only V1 does. */
interface MatchedOperations {
  readonly matched: readonly MatchedOperation[];
  readonly questions: readonly string[];
}

/**
 * Matches operations by method and path, whatever the names of path parameters; those that are left by their words and shapes: `/bills`
 * is `/invoices` where the same methods stand at the same places and say the same.
 */
export function matchOperations(
  v1: Description,
  v2: Description,
  said: SaidMoves = new Map(),
): MatchedOperations {
  const [old, young] = [describedOperations(v1, 'v1'), describedOperations(v2, 'v2')];
  const byShape = new Map(young.map((operation) => [shapeKey(operation), operation]));
  const same = new Map<DescribedOperation, DescribedOperation | undefined>();
  const found = new Map<DescribedOperation, MatchedOperation>();
  for (const operation of old) {
    const to = said.get(shapeKey(operation));
    const partner = byShape.get(to === undefined ? shapeKey(operation) : destinationShape(to));
    if (to === undefined) same.set(operation, partner);
    else if (partner !== undefined)
      found.set(operation, { v1: operation, v2: partner, moved: { to, evidence: 'the rule book says so' } });
  }
  const taken = new Set([...same.values(), ...[...found.values()].map((pair) => pair.v2)]);
  const left = old.filter((operation) => same.get(operation) === undefined && !found.has(operation));
  const free = young.filter((operation) => !taken.has(operation));
  const { moved, words } = movedOperations(left, free, { v1, v2 });
  for (const [operation, pair] of moved) found.set(operation, pair);
  const unused = free.filter((operation) => ![...moved.values()].some((pair) => pair.v2 === operation));
  const matched: MatchedOperation[] = [];
  const questions: string[] = [];
  for (const operation of old) {
    const partner = same.get(operation);
    const move = found.get(operation);
    if (partner !== undefined) matched.push({ v1: operation, v2: partner });
    else if (move !== undefined) matched.push(move);
    else questions.push(unmatchedQuestion(operation, { young, unused, words }, { v1, v2 }));
  }
  const unread = unreadItems(v1).map(
    ({ path, reference }) => `V1's ${path} is ${reference}, which could not be read or compared.`,
  );
  return { matched, questions: [...questions, ...unread] };
}

function unmatchedQuestion(
  operation: DescribedOperation,
  { young, unused, words }: Candidates,
  descriptions: Descriptions,
): string {
  const { v2 } = descriptions;
  const unread = unreadItems(v2).find(({ path }) => path.endsWith(operation.rest));
  if (unread !== undefined)
    return `V2's ${unread.path} is ${unread.reference}, which could not be read or compared.`;
  const id = operation.operation['operationId'];
  const named = young.find((other) => id !== undefined && other.operation['operationId'] === id);
  const hint = named === undefined ? '' : ` ${named.method} ${named.rest} has the same operationId.`;
  // With another method a request does something else, perhaps: PUT replaces what PATCH changes.
  const others = unused.filter((other) => {
    const word = other.method === operation.method ? undefined : otherWord(operation, other);
    const isSamePlace = shapeOfPath(operation) === shapeOfPath(other);
    const known = words.find(({ from, to }) => from === word?.from && to === word.to);
    return (
      other.method !== operation.method &&
      (isSamePlace || known !== undefined) &&
      saysTheSame(operation, other, known)
    );
  });
  const [other] = others;
  const isOne = other !== undefined && others.length === 1;
  const to = isOne ? `${other.method} ${withNames(other, operation, descriptions)}` : '…';
  const asked = isOne
    ? `Is it ${other.method} ${other.rest}, which says the same? Then write`
    : 'If it moved, say where to:';
  return `V2 does not describe ${operation.method} ${operation.rest}. ${asked} { match: ${operation.method} ${operation.rest}, to: ${to} }.${hint}`;
}

/** The operations of V2 that an operation of V1 could be, and the words that differ in paths. */
interface Candidates {
  readonly young: readonly DescribedOperation[];
  readonly unused: readonly DescribedOperation[];
  readonly words: readonly OtherWord[];
}

/** Where a rule book leads operations: method and path of V2 by the key of V1's. */
export type SaidMoves = ReadonlyMap<string, string>;

/** The key of a method and a path of V2 as a rule book writes them, with texts around parameters and a query. */
function destinationShape(to: string): string {
  const [method = '', target = ''] = to.split(' ');
  const [path = ''] = target.split('?');
  const segments = path.split('/').map((segment) => (segment.includes('{') ? '{}' : segment));
  return `${method} ${segments.join('/')}`;
}

function shapeOfPath(operation: DescribedOperation): string {
  return shapeKey(operation).replace(/^\S+ /, '');
}

/** The path items that are in another document, or nowhere. */
function unreadItems(
  description: Description,
): readonly { readonly path: string; readonly reference: string }[] {
  return Object.entries(objectIn(description, 'paths')).flatMap(([path, item]) => {
    const reference = memberOf(followed(description, item), '$ref');
    return typeof reference === 'string' ? [{ path, reference }] : [];
  });
}

function shapeKey(operation: DescribedOperation): string {
  const template = templateOf(operation);
  return `${operation.method} ${template === undefined ? operation.rest : templateShape(template)}`;
}

interface Descriptions {
  readonly v1: Description;
  readonly v2: Description;
}

/** A word of V1's paths for which V2 has another one, and the operations that show it. */
interface RenamedWord extends OtherWord {
  readonly pairs: readonly (readonly [old: DescribedOperation, young: DescribedOperation])[];
  /** The pairs of which more than the path agrees: the words of their names, or their summaries. */
  readonly agreeing: number;
}

function movedOperations(
  old: readonly DescribedOperation[],
  young: readonly DescribedOperation[],
  descriptions: Descriptions,
): {
  readonly moved: ReadonlyMap<DescribedOperation, MatchedOperation>;
  readonly words: readonly OtherWord[];
} {
  const found = new Map<DescribedOperation, MatchedOperation>();
  const taken = new Set<DescribedOperation>();
  const add = (v1: DescribedOperation, v2: DescribedOperation, moved: MovedOperation): void => {
    if (found.has(v1) || taken.has(v2)) return;
    found.set(v1, { v1, v2, moved });
    taken.add(v2);
  };
  const words = renamedWords(old, young);
  const sure = words.filter(
    (word) => (word.agreeing > 0 || word.pairs.length > 1) && !words.some((other) => isRival(other, word)),
  );
  for (const { from, to, pairs, agreeing } of sure) {
    const many = pairs.length === 1 ? '1 operation has' : `${pairs.length} operations have`;
    const agree = agreeing === 0 ? '' : `; ${agreeing === 1 ? '1 says' : `${agreeing} say`} the same`;
    const evidence = `${many} the same method and place with ${to} instead of ${from}${agree}`;
    for (const [v1, v2] of pairs)
      add(v1, v2, { to: `${v2.method} ${withNames(v2, v1, descriptions)}`, evidence, word: { from, to } });
  }
  for (const v1 of old) {
    if (found.has(v1)) continue;
    const partners = young.flatMap((v2) => {
      const moved = taken.has(v2) ? undefined : queryMove(v1, v2, descriptions, sure);
      return moved === undefined ? [] : [{ v2, moved }];
    });
    const [partner] = partners;
    if (partner !== undefined && partners.length === 1) add(v1, partner.v2, partner.moved);
  }
  return { moved: found, words: sure };
}

/** True when another word explains as much of the same path. */
function isRival(other: RenamedWord, word: RenamedWord): boolean {
  if (other === word || (other.from !== word.from && other.to !== word.to)) return false;
  return (
    other.agreeing > word.agreeing ||
    (other.agreeing === word.agreeing && other.pairs.length >= word.pairs.length)
  );
}

/** The words in which paths of the same form differ: in one word only, wherever it stands. */
function renamedWords(
  old: readonly DescribedOperation[],
  young: readonly DescribedOperation[],
): readonly RenamedWord[] {
  const words = new Map<
    string,
    { from: string; to: string; pairs: [DescribedOperation, DescribedOperation][]; agreeing: number }
  >();
  for (const v1 of old) {
    for (const v2 of young) {
      const word = v1.method === v2.method ? otherWord(v1, v2) : undefined;
      if (word === undefined) continue;
      const known = words.get(JSON.stringify(word)) ?? { ...word, pairs: [], agreeing: 0 };
      words.set(JSON.stringify(word), known);
      known.pairs.push([v1, v2]);
      if (saysTheSame(v1, v2, word)) known.agreeing += 1;
    }
  }
  return [...words.values()].toSorted(
    (one, other) => other.agreeing - one.agreeing || other.pairs.length - one.pairs.length,
  );
}

function otherWord(v1: DescribedOperation, v2: DescribedOperation): OtherWord | undefined {
  const [one, other] = [v1, v2].map((operation) => templateOf(operation)?.split('/'));
  if (one === undefined || other === undefined || one.length !== other.length) return undefined;
  let word: OtherWord | undefined;
  for (const [at, from] of one.entries()) {
    const to = other[at] ?? '';
    if (isParameter(from) !== isParameter(to)) return undefined;
    if (isParameter(from) || from === to) continue;
    if (word !== undefined && (word.from !== from || word.to !== to)) return undefined;
    word = { from, to };
  }
  return word;
}

const isParameter = (segment: string): boolean => segment.startsWith('{');

/** True when the words of the names, or of the summaries, are the same but for the ones that differ in the paths. */
function saysTheSame(
  { operation: one }: DescribedOperation,
  { operation: other }: DescribedOperation,
  word?: OtherWord,
): boolean {
  return ['operationId', 'summary'].some((key) => {
    const [first, second] = [wordSet(one[key], word?.from), wordSet(other[key], word?.to)];
    return first.length > 0 && first.join(' ') === second.join(' ');
  });
}

/** The words of a text, without those of `left`, in the singular. */
function wordSet(text: unknown, left: string | undefined): readonly string[] {
  if (typeof text !== 'string') return [];
  const without = new Set(left === undefined ? [] : wordsOf(left).map(singular));
  return wordsOf(text)
    .map(singular)
    .filter((word) => !without.has(word) && !ARTICLES.has(word));
}

/** True for the name of V1 with V2's word in it: `bill_id` is `invoice_id` where `bills` are `invoices`. */
export function hasOtherWord(name: string, other: string, word: OtherWord): boolean {
  const [from, to] = [word.from, word.to].map((text) => wordsOf(text).map(singular).join(' '));
  const spaced = (text: string): string => ` ${wordsOf(text).map(singular).join(' ')} `;
  const before = spaced(name);
  return before.includes(` ${from} `) && before.replace(` ${from} `, ` ${to} `) === spaced(other);
}

const ARTICLES: ReadonlySet<string> = new Set(['a', 'an', 'the']);

/** A word in the singular, as far as its ending tells. */
export function singular(word: string): string {
  if (word.length > 3 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}

/** V2's path with the names that V1 has for its parameters, which a rule book knows, and with the text that V2's ids begin with. */
function withNames(v2: DescribedOperation, v1: DescribedOperation, descriptions: Descriptions): string {
  const names = (templateOf(v1) ?? '').split('/').filter(isParameter);
  let at = 0;
  return (templateOf(v2) ?? v2.rest).replaceAll(/\{[^{}]*\}/g, (own) => {
    at += 1;
    const name = names[at - 1];
    if (name === undefined) return own;
    return `${idPrefix(v2, own.slice(1, -1), v1, name.slice(1, -1), descriptions)}${name}`;
  });
}

/** The text that V2's ids begin with and V1's do not, as the pattern of the parameter tells; empty for none. */
function idPrefix(
  v2: DescribedOperation,
  young: string,
  v1: DescribedOperation,
  old: string,
  descriptions: Descriptions,
): string {
  const prefix = textPrefix(schemaOf(v2, young, descriptions.v2));
  return prefix === textPrefix(schemaOf(v1, old, descriptions.v1)) ? '' : prefix;
}

function schemaOf(described: DescribedOperation, name: string, description: Description): unknown {
  const parameter = parametersOf(described, description).find((one) => memberOf(one, 'name') === name);
  return followed(description, memberOf(parameter, 'schema'));
}

/** The text that a pattern such as `^inv_[0-9]+$` requires at the start; empty for none. */
function textPrefix(schema: unknown): string {
  const pattern = memberOf(schema, 'pattern');
  return typeof pattern === 'string' ? (patternPrefix(pattern) ?? '') : '';
}

/** A path parameter of V1 that is a required query parameter in V2, where names or summaries are the same. */
function queryMove(
  v1: DescribedOperation,
  v2: DescribedOperation,
  descriptions: Descriptions,
  words: readonly OtherWord[],
): MovedOperation | undefined {
  if (v1.method !== v2.method || ![undefined, ...words].some((word) => saysTheSame(v1, v2, word)))
    return undefined;
  const names = (templateOf(v1) ?? '').split('/').filter(isParameter);
  const kept = (templateOf(v2) ?? '').split('/').filter(isParameter);
  const asked = requiredQuery(v2, descriptions.v2).filter(
    (name) => !requiredQuery(v1, descriptions.v1).includes(name),
  );
  const [name] = asked;
  const parameter = names[kept.length];
  if (asked.length !== 1 || name === undefined || parameter === undefined) return undefined;
  if (names.length !== kept.length + 1) return undefined;
  return {
    to: `${v2.method} ${withNames(v2, v1, descriptions)}?${name}=${idPrefix(v2, name, v1, parameter.slice(1, -1), descriptions)}${parameter}`,
    evidence: `both say the same, and V2 asks for ${name}, where V1 has ${parameter} in the path`,
  };
}

function requiredQuery(described: DescribedOperation, description: Description): readonly string[] {
  return parametersOf(described, description).flatMap((parameter) => {
    const name = memberOf(parameter, 'name');
    const isAsked = memberOf(parameter, 'in') === 'query' && memberOf(parameter, 'required') === true;
    return isAsked && typeof name === 'string' ? [name] : [];
  });
}

/** The parameters of an operation, those of its path among them, with references followed. */
export function parametersOf(
  { operation, item }: DescribedOperation,
  description: Description,
): readonly unknown[] {
  return [...elementsOf(item['parameters']), ...elementsOf(operation['parameters'])].map((declared) =>
    followed(description, declared),
  );
}
