import { templateShape } from '../../rules/rule.ts';
import { isRewritten } from '../../rules/rule-book.ts';
import { withArticle } from '../../rules/rule-book-fault.ts';
import { Components } from '../components.ts';
import {
  type DescribedOperation,
  describedVersions,
  type Description,
  elementsOf,
  followed,
  isObject,
  memberOf,
  objectIn,
  type Prefixes,
  templateOf,
} from '../description.ts';
import { ANY_SHAPE, isCompatible, type Shape, shapeAt } from '../shape.ts';
import {
  type BodyForm,
  type DescribedBody,
  describesBody,
  type FoundResource,
  isListed,
  listsIn,
  requestBody,
  requiresBody,
  resourceIn,
} from './bodies.ts';
import type { BookRule } from './book-rules.ts';
import { compareShapes } from './compare-shapes.ts';
import { ComparedPairs } from './compared-pairs.ts';
import type { Comparison, NameHints, ShapeSource } from './comparison.ts';
import {
  type Finding,
  type FoundRule,
  isProposed,
  movedFinding,
  pathText,
  type Question,
} from './found-rules.ts';
import { Places } from './places.ts';
import {
  isShownOnly,
  type NamedOperation,
  resourceKey,
  resourceKeys,
  resourceShapes,
  responseChanges,
  type ResponseFindings,
  type Versions,
  withInverse,
  withNull,
} from './find-inverse.ts';
import { askedOnce } from './one-question.ts';
import { errorChanges, errorKeys, linkKeys } from './find-forms.ts';
import { lookupTargets, type LookupTarget } from './find-lookups.ts';
import { withIdPatterns } from './id-patterns.ts';
import { findHeaderRenames, findQueryRenames, parameterQuestions } from './find-parameters.ts';
import {
  type GivenMoves,
  type GoneOperation,
  hasOtherWord,
  type MatchedOperation,
  matchOperations,
  type OtherWord,
  pathNames,
} from './match-operations.ts';
import { isRelatedName, plainName } from './names.ts';
import {
  type ProposedGone,
  type ProposedOperation,
  type ProposedRuleBook,
  scalar,
} from './print-rule-book.ts';
import {
  changeId,
  type OperationFindings,
  type ProposedChange,
  proposeChanges,
  summarized,
  withOwnIds,
  type WritingOperation,
} from './propose-changes.ts';
import { newFieldChanges, proposeHead } from './propose-head.ts';

/** Methods that a rule book can name. */
const NAMED_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);

const DESCRIBED: Omit<ShapeSource, 'pairs'> = {
  isRecorded: false,
  whyGone: () => "V2's description does not have it",
};

const RESPONSE: Omit<ShapeSource, 'pairs'> = { ...DESCRIBED, isResponse: true };

/** The values of examples by the names of members and parameters, as far as they tell one from others: texts with a digit. */
function shownValues(description: Description): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const add = (name: unknown, value: unknown): void => {
    if (Array.isArray(value)) return value.forEach((one) => add(undefined, one));
    if (isObject(value)) return Object.entries(value).forEach(([inner, one]) => add(inner, one));
    if (typeof name !== 'string' || typeof value !== 'string' || !/^(?=.*\d).{4,}$/.test(value)) return;
    found.set(name, [...(found.get(name) ?? []), value]);
  };
  const examplesOf = (holder: unknown, name?: unknown): void => {
    add(name, memberOf(holder, 'example'));
    for (const one of Object.values(objectIn(holder, 'examples')))
      add(name, memberOf(followed(description, one), 'value'));
  };
  const contentOf = (declared: unknown): void => {
    for (const media of Object.values(objectIn(followed(description, declared), 'content')))
      examplesOf(media);
  };
  for (const path of Object.values(objectIn(description, 'paths'))) {
    for (const operation of [path, ...Object.values(isObject(path) ? path : {})]) {
      for (const parameter of elementsOf(memberOf(operation, 'parameters')))
        examplesOf(followed(description, parameter), memberOf(followed(description, parameter), 'name'));
      contentOf(memberOf(operation, 'requestBody'));
      for (const response of Object.values(objectIn(operation, 'responses'))) contentOf(response);
    }
  }
  return found;
}

/** A person's instructions for a draft. */
export interface DraftWishes extends Partial<Prefixes> {
  /** The moves in an existing rule book. */
  readonly moves?: GivenMoves | undefined;
  /** Chooses the operations of V1 to draft; absent for all. */
  readonly isWanted?: ((operation: DescribedOperation) => boolean) | undefined;
}

/** Compares two descriptions of an API and proposes the rule book that leads from the first to the second. */
export function proposeRuleBook(
  declaredV1: Description,
  declaredV2: Description,
  wishes: DraftWishes = {},
): ProposedRuleBook {
  const [v1, v2] = [withIdPatterns(declaredV1), withIdPatterns(declaredV2)];
  const described = describedVersions(v1, v2, wishes);
  const [old, young] = [new Components(v1), new Components(v2)];
  const all = matchOperations(
    { components: old, operations: described.v1 },
    { components: young, operations: described.v2 },
    wishes.moves,
  );
  const { isWanted = () => true } = wishes;
  const matched = all.matched.filter((pair) => isWanted(pair.v1));
  const gone = all.gone.filter(({ operation }) => isWanted(operation));
  const matchedAll = namedOperations(matched);
  // Guessed moves are confirmed before their operations are compared.
  const named = matchedAll.filter(({ operation }) => operation.moved?.isGuess !== true);
  const bodies = named.map(({ pair, operation }) => {
    const body = requestBody(pair.v2, young);
    return { operation, pair, v1: requestBody(pair.v1, old) ?? emptyBody(pair, body, young), v2: body };
  });
  const pairs = bodies.flatMap(
    ({ operation: { id, method, moved }, v1: first, v2: second }): readonly BodyPair[] =>
      first === undefined || second === undefined
        ? []
        : [{ id, method, v1: first.shape, v2: second.shape, form: second.form, doubt: moveDoubt(moved) }],
  );
  const writes = bodies
    .filter(({ v1: first, v2: second }) => first !== undefined || second !== undefined)
    .map(({ operation: { id, method } }) => ({ id, method }));
  const hints = {
    names: pathNames(matched, {
      v1: { components: old, operations: described.v1 },
      v2: { components: young, operations: described.v2 },
    }),
    paired: new Map<string, string>(),
    values: { v1: shownValues(v1), v2: shownValues(v2) },
  };
  const known = { hints, pairs: new ComparedPairs() };
  const partsOf = splitParts(all.matched, described.v2, young);
  const wholes = new Map(named.map(({ operation, pair }) => [operation.id, pair]));
  const source = (id: string): ShapeSource => ({ ...DESCRIBED, ...known, whyGone: partsOf(wholes.get(id)) });
  const compared = proposeFor(pairs, source, writes);
  const versions = { v1: old, v2: young, named };
  const shapes = resourceShapes(versions);
  const head = proposeHead(versions, described);
  const renamedFields = findHeaderRenames(versions, head.versionField);
  const isField = (name: string): boolean =>
    name === head.versionField || renamedFields.some(({ summary }) => summary.endsWith(` ${name}.`));
  const headers = [...renamedFields, ...newFieldChanges(versions, isField), ...head.changes];
  const places = resourcePlaces(versions);
  const targets = lookupTargets(described.v2, young, places.general ?? 'data');
  const answered = responseFindings(versions, targets, {
    ...known,
    hints: { ...hints, paired: compared.paired },
  });
  const inUnits = withUnits([
    ...compared.changes.flatMap(({ rules }) => rules),
    ...answered.found.flatMap(({ findings }) => findings),
  ]);
  const outcome = {
    ...compared,
    changes: compared.changes.map((change) => {
      const rules = change.rules.map(inUnits);
      return rules.every((rule, at) => rule === change.rules[at]) ? change : summarized({ ...change, rules });
    }),
  };
  const responses = {
    ...answered,
    found: answered.found.map((one) => ({ ...one, findings: one.findings.map(inUnits) })),
  };
  const shown = sharedConversions(responses.found, outcome.changes, writes);
  const resources = new Map(named.map(({ pair, operation }) => [operation.id, resourceKey(pair.v2)]));
  const requests = [...outcome.changes, ...shown].map((change) => {
    const on = change.on === 'every' ? [...resources.keys()] : change.on;
    const keys = on.map((id) => resources.get(id));
    return withInverse(change, keys, shapes);
  });
  const errors = errorChanges(versions);
  const hasRules = [...requests, ...places.changes, ...errors].length > 0;
  const foreign = [...new Set([...old.foreign, ...young.foreign])].map((name) =>
    name.startsWith('#')
      ? `${name} leads nowhere, so nothing was compared for it.`
      : `${name} is in another document and was not compared.`,
  );
  const general = [...all.questions, ...described.notes, ...foreign].map((text) => ({ path: [], text }));
  return {
    origin: [
      `A draft of a rule book, from V1's description (${titleOf(v1)}) and V2's (${titleOf(v2)}).`,
      `${matched.length === 1 ? '1 operation is' : `${matched.length} operations are`} in both; the bodies of ${pairs.length} were compared.`,
    ],
    keys: [
      ...head.keys,
      ...(places.general === undefined
        ? []
        : [{ key: 'resource', lines: [`resource: ${scalar(places.general)}`] }]),
      ...errorKeys(versions, hasRules),
      ...linkKeys(versions),
    ],
    operations: matchedAll.map(({ operation, pair }) => ({
      ...operation,
      ...places.own.get(operation.id),
      status: otherStatus(pair),
    })),
    changes: askedOnce(
      withOwnIds([
        ...requests,
        ...findQueryRenames(versions, outcome.changes),
        ...headers,
        ...responseChanges(
          responses.found,
          requests,
          new Map(named.map(({ pair, operation }) => [operation.id, resourceKeys(pair)])),
        ),
        ...places.changes,
        ...errors,
      ]),
      matchedAll.map(({ operation }) => operation),
    ),
    questions: joined([
      new Map([['', general]]),
      new Map(bodies.map((body) => [body.operation.id, uncomparedQuestions(body, [v1, v2])])),
      parameterQuestions(versions),
      outcome.questions,
      places.questions,
      responses.questions,
    ]),
    gone: namedGone(
      gone,
      matchedAll.map(({ operation }) => operation.id),
    ),
  };
}

/**
 * The evidence that a member is gone from requests of an operation: also another operation of V2 below the same path, which V1 does not have
 * and which takes such a member.
 */
function splitParts(
  matched: readonly MatchedOperation[],
  young: readonly DescribedOperation[],
  components: Components,
): (whole: MatchedOperation | undefined) => ShapeSource['whyGone'] {
  const used = new Set(matched.map(({ v2 }) => v2));
  const free = young.filter((one) => !used.has(one));
  return (whole) => {
    const own = whole === undefined ? [] : free.filter(({ rest }) => rest.startsWith(`${whole.v2.rest}/`));
    const parts = own.map((part) => ({
      part,
      word: part.rest.split(/[/{}]/).at(-1) ?? '',
      members: [...(requestBody(part, components)?.shape.members.keys() ?? [])],
    }));
    return (path, name) => {
      const why = DESCRIBED.whyGone(path, name);
      for (const { part, word, members } of parts) {
        const member = members.find((one) => [one, `${word}_${one}`].some((all) => isRelatedName(all, name)));
        if (member !== undefined)
          return `V2 takes ${member} at ${part.method} ${part.rest} instead, and no rule sends it there`;
      }
      return why;
    };
  };
}

/** The body of a request that has none in V1, if V2 requires members there: rules can add them. Undefined for any other request. */
function emptyBody(
  { v1, v2 }: MatchedOperation,
  body: DescribedBody | undefined,
  components: Components,
): DescribedBody | undefined {
  const isAdded =
    v1.operation['requestBody'] === undefined &&
    body !== undefined &&
    requiresBody(v2, components) &&
    [...body.shape.members.values()].some(({ required }) => required);
  return isAdded ? { form: body.form, shape: EMPTY_SHAPE } : undefined;
}

const EMPTY_SHAPE: Shape = { ...ANY_SHAPE, types: new Set(['object']) };

/** Operations that V2 does not describe, with the ids that they have in a rule book. */
function namedGone(gone: readonly GoneOperation[], ids: readonly string[]): readonly ProposedGone[] {
  const taken = new Set(ids);
  return gone.map((one) => {
    const { operation } = one;
    const { method } = operation;
    const template = templateOf(operation);
    if (template === undefined || !NAMED_METHODS.has(method)) return one;
    const id = operationId([operation], template, taken);
    taken.add(id);
    return { ...one, named: { id, method, template } };
  });
}

/** The reason why no rule of an operation that may have moved is certain. */
function moveDoubt(moved: NamedOperation['operation']['moved']): string | undefined {
  return moved?.doubt === undefined ? undefined : 'it holds only if its operation moved as asked above';
}

/** The reason why no rule for responses is certain that a version shows only by an example. */
function shownDoubt(pair: MatchedOperation, versions: Pick<Versions, 'v1' | 'v2'>): string | undefined {
  return isShownOnly(pair, versions) ? 'only an example shows it, and no schema' : undefined;
}

type Questions = ReadonlyMap<string, readonly Question[]>;

function joined(all: readonly Questions[]): Questions {
  const questions = new Map<string, readonly Question[]>();
  for (const some of all)
    for (const [id, own] of some)
      if (own.length > 0) questions.set(id, [...(questions.get(id) ?? []), ...own]);
  return questions;
}

/** The place of the resource in V2's responses: of most of them, and of the operations with another place. */
function resourcePlaces({ named, v1, v2 }: Versions): {
  readonly general: string | undefined;
  readonly own: ReadonlyMap<string, { readonly resource: string }>;
  readonly changes: readonly ProposedChange[];
  readonly questions: Questions;
} {
  const found = named.flatMap(({ pair, operation: { id, moved } }) => {
    const [old, young] = [resourceIn(pair.v1, v1), resourceIn(pair.v2, v2)];
    const doubt = moveDoubt(moved) ?? shownDoubt(pair, { v1, v2 });
    return young === undefined ? [] : [{ id, at: young.at, old, young, doubt }];
  });
  const counts = Map.groupBy(found, ({ at }) => at);
  const [most] = [...counts].toSorted(([, one], [, other]) => other.length - one.length);
  const general = most === undefined || most[0] === 'data' ? undefined : most[0];
  const own = new Map(
    found.filter(({ at }) => at !== (general ?? 'data')).map(({ id, at }) => [id, { resource: at }]),
  );
  const changes = new Map<string, { readonly change: ProposedChange; readonly on: string[] }>();
  const questions = new Map<string, readonly Question[]>();
  for (const { id, at, old, young, doubt } of found) {
    if (old === undefined || at === old.at) continue;
    const rules = placeRules(old, young);
    const inner = isListed(young) && !isListed(old) ? innerList(old) : undefined;
    const before = inner === undefined ? old.at || 'the body' : pathText(inner);
    if (rules === undefined) {
      const words =
        isListed(old) !== isListed(young)
          ? `only one version's response is a list, in ${isListed(old) ? before : at || 'the body'}. Write a transform that makes the other of it.`
          : `V1's body is the resource, and V2's response has it in ${at}. Write a transform that returns the content of ${at}.`;
      const text = isOtherList(old, young) ? `${words} What is in it was not compared.` : words;
      questions.set(id, [{ path: [], text }]);
      continue;
    }
    const isRename = at !== '' && old.at !== '' && inner === undefined;
    const isAlone = at === '' && old.response.members.size === 1;
    const name = old.at === '' ? at : old.at;
    const why =
      isRename || isAlone
        ? undefined
        : at === ''
          ? `V1's responses have other members beside ${old.at}`
          : 'other members of the response change places as well';
    const key = JSON.stringify([rules, doubt]);
    const on: string[] = [];
    const summary =
      at === '' ? `Responses are no longer in ${old.at}.` : `Responses have the resource in ${at}.`;
    const response = [
      {
        rules,
        confidence: 0.9,
        evidence: `V1's responses have it in ${before}, and V2's in ${at || 'the body'}`,
        doubt: doubt ?? why,
        ...(why !== undefined && { isOpen: true as const }),
        ...(at !== '' && { place: { from: at, to: inner?.[0] ?? old.at } }),
      },
    ];
    const change = { id: changeId(`${name}-envelope`), summary, on, rules: [], response };
    const known = changes.get(key) ?? { change, on };
    changes.set(key, known);
    known.on.push(id);
  }
  const renamed = [...changes.values()].map(({ change, on }) => ({ ...change, on }));
  return { general, own, changes: renamed, questions };
}

/** The rule of a response that puts the resource into V1's place; undefined if none can, such as for a list beside other members. */
function placeRules(old: FoundResource, young: FoundResource): readonly BookRule[] | undefined {
  const { at } = young;
  const { at: before } = old;
  if (at === '' && isListed(young) === isListed(old)) return [{ wrap: pathText([before]) }];
  if (isListed(young)) {
    const inner = isListed(old) ? [before] : innerList(old);
    const [first = '', ...more] = inner ?? [];
    if (at === '' || first === '') return undefined;
    return [{ [more.length === 0 ? 'rename' : 'move']: at, to: pathText([first, ...more]) }];
  }
  if (isListed(old) || at === '') return undefined;
  return [before === '' ? { unnest: at } : { rename: at, to: before }];
}

/** The only list of objects in the object that has the resource, or in one of the objects of the body. */
function innerList({ at, response }: FoundResource): readonly string[] | undefined {
  const objects = at === '' ? [...response.members] : [...response.members].filter(([name]) => name === at);
  const all = objects.flatMap(([name, { shape }]) => listsIn(shape).map(([inner]) => [name, inner]));
  return all.length === 1 ? all[0] : undefined;
}

/** The differences between the responses of each operation, with V2's names around the resource. */
function responseFindings(
  { named, v1, v2 }: Versions,
  targets: readonly LookupTarget[],
  known: Pick<ShapeSource, 'hints' | 'pairs'>,
): {
  readonly found: readonly ResponseFindings[];
  readonly questions: Questions;
} {
  const words = wordsInPaths(named);
  const questions = new Map<string, readonly Question[]>();
  const found = named.flatMap((operation): readonly ResponseFindings[] => {
    const { pair } = operation;
    const { id, moved } = operation.operation;
    const [old, young] = [resourceIn(pair.v1, v1), resourceIn(pair.v2, v2)];
    if (old !== undefined && young === undefined) {
      const text = 'V1 describes a response, and V2 describes none, so that nothing was compared.';
      questions.set(id, [{ path: [], text, general: text }]);
    }
    if (old === undefined && young !== undefined && !describesBody(pair.v1, v1)) {
      const text =
        'V1 describes no body of its responses, so that nothing was compared: clients get what V2 returns.';
      questions.set(id, [{ path: [], text, general: text }]);
    }
    if (old === undefined || young === undefined) return [];
    const inner = old.at !== young.at && isListed(young) && !isListed(old) ? innerList(old) : undefined;
    // Only a transform makes one of the other, and the question about it says that nothing was compared.
    if (inner === undefined && old.at !== young.at && isOtherList(old, young)) return [];
    const isAround =
      old.at !== '' && young.at !== '' && (old.at === young.at || isListed(old) === isListed(young));
    const before =
      inner === undefined
        ? isAround
          ? withName(old.response, old.at, young.at)
          : bodyIn(old, young)
        : (shapeAt(old.response, inner)?.element ?? ANY_SHAPE);
    const after = isAround || young.at === '' ? young.response : young.shape;
    const { shape, renames } = withOtherWords(before, after, words);
    const doubt = moveDoubt(moved) ?? shownDoubt(pair, { v1, v2 });
    // An operation does not look up the resource that it returns.
    const key = resourceKey(pair.v2);
    const lookups = targets.filter(({ before }) => templateShape(before) !== `${key}/`);
    const compared = compareShapes(shape, after, { ...RESPONSE, ...known, lookups }, doubt);
    const base = isAround || young.at === '' ? [] : [young.at, ...(inner === undefined ? [] : ['*'])];
    const findings = [
      ...renames.map((rename) => (doubt === undefined ? rename : { ...rename, doubt })),
      ...compared.findings.map((finding) => withNull(finding, shape, after)),
    ].map((finding) => movedFinding(finding, (path) => [...base, ...path]));
    const own = compared.questions.filter(({ required }) => required === undefined);
    questions.set(
      id,
      own.map(({ path, text, general, open }) => ({
        path,
        text: `in responses, ${text}`,
        ...(open !== undefined && { open: { ...open, at: [...base, ...open.at] } }),
        ...(general !== undefined && { general: `in responses, ${general}` }),
      })),
    );
    return [{ operation, resource: young, findings }];
  });
  return { found, questions };
}

/** What of V1's response is V2's whole body, or the resource if that is in a member. */
function bodyIn({ at, shape, response }: FoundResource, young: FoundResource): Shape {
  if (at === '') return response;
  return (young.at === '' ? response.members.get(at)?.shape : undefined) ?? shape;
}

/** True if only V1's body is a list, or if only one version has a list. */
function isOtherList(old: FoundResource, young: FoundResource): boolean {
  return isListed(old) !== isListed(young) || (isListed(young) && old.at === '' && young.at !== '');
}

/** A response with the member that has the resource under another name. */
function withName(response: Shape, from: string, to: string): Shape {
  if (from === to) return response;
  const members = [...response.members]
    .filter(([name]) => name !== to)
    .map(([name, member]) => [name === from ? to : name, member] as const);
  return { ...response, members: new Map(members) };
}

/**
 * Conversions that only responses show, such as that of an id: proposed as rules of the requests that write the resource, whose inverse
 * converts responses.
 */
function sharedConversions(
  responses: readonly ResponseFindings[],
  changes: readonly ProposedChange[],
  writes: readonly WritingOperation[],
): readonly ProposedChange[] {
  const writing = new Set(writes.map(({ id }) => id));
  const asked = new Set(
    changes.flatMap(({ rules }) =>
      rules.flatMap(({ found }) =>
        'member' in found && found.rule !== 'unwrap' ? [pathText(found.in, found.member)] : [],
      ),
    ),
  );
  const byKey = Map.groupBy(responses, ({ operation: { pair } }) => resourceKey(pair.v2));
  const findings: OperationFindings[] = [];
  for (const all of byKey.values()) {
    const found = new Map<string, Finding>();
    for (const { resource, findings: own } of all) {
      for (const finding of own) {
        const inner = insideResource(finding, resource);
        if (inner?.found.rule !== 'convert') continue;
        const path = pathText(inner.found.in, inner.found.member);
        if (!asked.has(path)) found.set(path, inner);
      }
    }
    for (const { operation } of all)
      if (writing.has(operation.operation.id) && found.size > 0)
        findings.push({ id: operation.operation.id, findings: [...found.values()] });
  }
  return proposeChanges(findings, writes);
}

/**
 * Gives a rename of a number the factor that another body shows: limits are often described for requests only, and a rename that converts in
 * one direction would distort the value in the other.
 */
function withUnits(all: readonly Finding[]): (finding: Finding) => Finding {
  const keyOf = (found: FoundRule): string =>
    found.rule === 'rename' ? JSON.stringify([found.member, found.to]) : '';
  const known = new Map(
    all.flatMap(({ found, others = [] }) =>
      [found, ...others].flatMap((one) =>
        one.rule === 'rename' && one.conversions?.every(({ word }) => word === 'scale') === true
          ? [[keyOf(one), one.conversions] as const]
          : [],
      ),
    ),
  );
  return (finding) => {
    const { found } = finding;
    const conversions = known.get(keyOf(found));
    const isPlain = found.rule === 'rename' && found.conversions === undefined && found.values === undefined;
    if (!isPlain || conversions === undefined) return finding;
    const doubt = finding.doubt ?? 'another body shows it in another unit';
    return { ...finding, found: { ...found, conversions }, doubt };
  };
}

/** A finding with its path from the resource; undefined for one that is around it. */
function insideResource(finding: Finding, { at, response }: FoundResource): Finding | undefined {
  const { found } = finding;
  const carrier = at === '' ? response : response.members.get(at)?.shape;
  const base = [...(at === '' ? [] : [at]), ...(carrier?.element === undefined ? [] : ['*'])];
  if (found.rule === 'unwrap' || !base.every((name, place) => found.in[place] === name)) return undefined;
  return movedFinding(finding, (path) => path.slice(base.length));
}

/** A word of V1's paths with V2's, and the reason for doubt if no operation has certainly moved there. */
interface WordInPaths extends OtherWord {
  readonly doubt: string | undefined;
}

function wordsInPaths(named: readonly NamedOperation[]): readonly WordInPaths[] {
  const moves = named.flatMap(({ pair: { moved } }) =>
    moved?.word === undefined ? [] : [{ ...moved, word: moved.word }],
  );
  const groups = Map.groupBy(moves, ({ word: { from, to } }) => JSON.stringify([from, to]));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { from, to } = first.word;
    const isSure = group.some(({ doubt }) => doubt === undefined);
    return [
      { from, to, doubt: isSure ? undefined : `it holds only if ${from} are ${to} in V2, as asked above` },
    ];
  });
}

/** True when a value of one shape may be one of the other, as it is or converted: a number, for instance, may be a text in V2. */
function isConvertible(one: Shape, other: Shape): boolean {
  return isCompatible(one, other) || (isScalar(one) && isScalar(other));
}

function isScalar({ types }: Shape): boolean {
  return !types.has('object') && !types.has('array');
}

/** V1's resource with the names that its members get if words change as in paths. */
function withOtherWords(
  v1: Shape,
  v2: Shape,
  words: readonly WordInPaths[],
): { readonly shape: Shape; readonly renames: readonly Finding[] } {
  const [old, young] = [v1.element ?? v1, v2.element ?? v2];
  const around = v1.element === undefined ? [] : ['*'];
  const renames: Finding[] = [];
  const members = [...old.members].map(([member, inner]) => {
    if (young.members.has(member)) return [member, inner] as const;
    for (const word of words) {
      const fitting = [...young.members].filter(
        ([to, { shape }]) => hasOtherWord(member, to, word) && isConvertible(inner.shape, shape),
      );
      const [to] = fitting.map(([name]) => name);
      if (to === undefined || fitting.length > 1 || old.members.has(to)) continue;
      const evidence = `${word.from} are ${word.to} in paths`;
      const found = { rule: 'rename', in: around, member, to } as const;
      renames.push({ found, confidence: 0.85, evidence, doubt: word.doubt });
      return [to, inner] as const;
    }
    return [member, inner] as const;
  });
  if (renames.length === 0) return { shape: v1, renames };
  const shape = { ...old, members: new Map(members) };
  return { shape: v1.element === undefined ? shape : { ...v1, element: shape }, renames };
}

const FORM_WORDS: Readonly<Record<BodyForm, string>> = {
  json: 'JSON',
  form: 'a form',
  multipart: 'a form in parts',
};

/** V2's and V1's status of success, if each describes one and they differ: clients get V1's. An uncertain move is no evidence. */
function otherStatus({ v1, v2, moved }: MatchedOperation): ProposedOperation['status'] {
  const [before, after] = [v1, v2].map(({ operation }) =>
    Object.keys(objectIn(operation, 'responses')).filter((status) => status.startsWith('2')),
  );
  const [old, young] = [before?.[0] ?? '', after?.[0] ?? ''];
  const isOne = before?.length === 1 && after?.length === 1 && /^\d+$/.test(old) && /^\d+$/.test(young);
  return isOne && old !== young && moved?.doubt === undefined ? [young, old] : undefined;
}

/** The question about a body that V2 takes under another media type: no rule changes the type of a request. */
function mediaQuestions(
  { v1, v2 }: MatchedOperation,
  descriptions: readonly [v1: Description, v2: Description],
): readonly Question[] {
  const [old = [], young = []] = [v1, v2].map(({ operation }, at) =>
    Object.keys(objectIn(followed(descriptions[at] ?? {}, operation['requestBody']), 'content')).map((type) =>
      (type.split(';', 1)[0] ?? '').trim().toLowerCase(),
    ),
  );
  // A range takes any type, and a release may be in one of a vendor.
  const isPlain = (type: string): boolean => !/\*|\/vnd\.|\/json$/.test(type) || type === 'application/json';
  if (old.length === 0 || young.length === 0 || ![...old, ...young].every(isPlain)) return [];
  if (old.some((type) => young.includes(type))) return [];
  const text = `V1 accepts a body of ${old.join(' or ')}, and V2 of ${young.join(' or ')}, and no rule changes the media type of a request: let V2 take V1's as well.`;
  return [{ path: [], text, general: text }];
}

/** Questions about bodies that were not compared, because one version does not describe a body. */
function uncomparedQuestions(
  { pair, v1, v2 }: NamedOperation & { readonly [Version in 'v1' | 'v2']: DescribedBody | undefined },
  versions: readonly [v1: Description, v2: Description],
): readonly Question[] {
  if (v1 !== undefined && v2 !== undefined) {
    if (v1.form === v2.form) return mediaQuestions(pair, versions);
    const text = `V1 accepts ${FORM_WORDS[v1.form]}, and V2 accepts ${FORM_WORDS[v2.form]}: decide who converts it.`;
    return [{ path: [], text, general: text }];
  }
  if ((v1 === undefined) === (v2 === undefined)) return [];
  if (v1 === undefined && pair.v1.operation['requestBody'] === undefined) {
    const body = followed(versions[1], pair.v2.operation['requestBody']);
    const isRequired = memberOf(body, 'required') === true;
    if (isRequired || isRewritten(pair.v1.method))
      return [
        {
          path: [],
          text: `V2 ${isRequired ? 'requires' : 'takes'} a body, and V1 describes none, so that nothing was compared.`,
        },
      ];
    return [];
  }
  const [version, { operation }] = v1 === undefined ? ['V1', pair.v1] : ['V2', pair.v2];
  const what = operation['requestBody'] === undefined ? 'no body' : 'no body that could be read';
  return [{ path: [], text: `${version} describes ${what} for it, so that nothing was compared.` }];
}

/** A request body in both versions, by the id of its operation. */
interface BodyPair extends WritingOperation {
  readonly v1: Shape;
  readonly v2: Shape;
  readonly form?: BodyForm;
  /** The reason why none of its rules is certain. */
  readonly doubt?: string | undefined;
}

/** The changes and questions that request bodies suggest; `writes` are all operations with a body, even those that were not compared. */
export function proposeFor(
  bodies: readonly BodyPair[],
  source: ShapeSource | ((id: string) => ShapeSource),
  writes: readonly WritingOperation[] = bodies,
): {
  readonly changes: readonly ProposedChange[];
  readonly questions: Questions;
  readonly paired: NameHints['paired'];
} {
  const wrapper = commonWrapper(bodies);
  const questions = new Map<string, readonly Question[]>();
  const compare = ({ id, v1, v2, doubt }: BodyPair, paired?: NameHints['paired']): Comparison => {
    const own = typeof source === 'function' ? source(id) : source;
    const hints = own.hints && paired && { hints: { ...own.hints, paired } };
    return compareBodies(v1, v2, { ...own, ...hints }, wrapper, doubt);
  };
  const first = bodies.map((body) => compare(body));
  const paired = pairedIn(first.flatMap((one) => one.findings));
  const isUnpaired = ({ found }: Finding): boolean => found.rule === 'strip' && paired.has(found.member);
  const findings = bodies.map((body, at): OperationFindings => {
    const { id, form = 'json' } = body;
    const before = first[at];
    const comparison =
      before === undefined || before.findings.some(isUnpaired) ? compare(body, paired) : before;
    questions.set(
      id,
      comparison.questions.filter(({ isAboutTypes }) => form === 'json' || isAboutTypes !== true),
    );
    return {
      id,
      findings: form === 'json' ? comparison.findings : comparison.findings.filter(isFoundInForms),
    };
  });
  return { changes: proposeChanges(findings, writes), questions, paired };
}

/** V2's names of members, by those of V1, as far as all requests that have both agree. */
function pairedIn(findings: readonly Finding[]): ReadonlyMap<string, string> {
  const names = new Map<string, Set<string>>();
  for (const { found } of findings)
    if (found.rule === 'rename')
      names.set(found.member, (names.get(found.member) ?? new Set()).add(found.to));
  return new Map([...names].flatMap(([old, all]) => (all.size === 1 ? [[old, [...all].join('')]] : [])));
}

/** True for a finding that also applies to forms: not for a conversion between texts and other types only. */
function isFoundInForms({ found }: Finding): boolean {
  return (
    found.rule !== 'convert' || !found.conversions.every(({ word }) => word === 'quote' || word === 'unquote')
  );
}

/** The wrapper that most bodies certainly have. */
function commonWrapper(bodies: readonly BodyPair[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { v1, v2 } of bodies) {
    const wrapper = wrapperOf(v1, v2);
    if (wrapper !== undefined && wrapper.confidence >= 0.8)
      counts.set(wrapper.member, (counts.get(wrapper.member) ?? 0) + 1);
  }
  return [...counts].toSorted(([, one], [, other]) => other - one)[0]?.[0];
}

/** Matched operations with an id and a path that a rule book can have. */
export function namedOperations(matched: readonly MatchedOperation[]): readonly NamedOperation[] {
  const taken = new Set<string>();
  return matched.flatMap((pair) => {
    const template = templateOf(pair.v1);
    const { method } = pair.v1;
    if (template === undefined || !NAMED_METHODS.has(method)) return [];
    const { v1, v2, moved, prefixed } = pair;
    const id = operationId(moved === undefined ? [v1, v2] : [v1], template, taken);
    taken.add(id);
    const place = { ...(moved && { moved }), ...(prefixed && { prefixed }) };
    return [{ pair, operation: { id, method, template, ...place } }];
  });
}

/** V1's own name; V2's only for the same path, because V2's name would present an uncertain match as a fact. */
function operationId(
  named: readonly [v1: DescribedOperation, v2?: DescribedOperation],
  template: string,
  taken: ReadonlySet<string>,
): string {
  const [{ method }] = named;
  const given = named
    .flatMap((one) => one ?? [])
    .map(({ operation }) => operation['operationId'])
    .find((id) => typeof id === 'string');
  const made = `${method.toLowerCase()}${template}`;
  const plain = (typeof given === 'string' ? given : made)
    .replaceAll(/[^\w.-]+/g, '_')
    .replace(/^[^A-Za-z]+|(?<!_)_+$/g, '');
  const base = (plain === '' || plain === 'every' ? 'operation' : plain).slice(0, 60);
  for (let number = 1; ; number += 1) {
    const id = number === 1 ? base : `${base}_${number}`;
    if (!taken.has(id)) return id;
  }
}

function titleOf(description: Description): string {
  const title = memberOf(objectIn(description, 'info'), 'title');
  return typeof title === 'string' ? title : 'without a title';
}

/** The name of a wrapper that the root object of V1 has and V2's has not, and how sure that is. */
function wrapperOf(
  v1: Shape,
  v2: Shape,
): { readonly member: string; readonly confidence: number; readonly evidence: string } | undefined {
  const known = namesIn(v2);
  const candidates = [...v1.members].flatMap(([member, { shape }]) => {
    const isObject = shape.members.size > 0 || shape.types.has('object');
    if (v2.members.has(member) || !isObject) return [];
    const beside = [...v1.members.keys()].filter((name) => name !== member);
    const inside = overlap(shape, v2);
    const others = beside.filter((name) => known.has(plainName(name))).length;
    // Members beside the wrapper that V2 still has speak against it.
    if (others > 0 || (inside === 0 && shape.members.size > 0 && v2.members.size > 0)) return [];
    const confidence = Math.min(0.99, (beside.length === 0 ? 0.7 : 0.5) + 0.3 * inside);
    const share = Math.round(inside * 100);
    return [{ member, confidence, evidence: `V2's body has ${share} % of the members of V1's ${member}` }];
  });
  return candidates.toSorted((one, other) => other.confidence - one.confidence)[0];
}

/** The plain names of an object's members, and of those in its sub-objects. */
function namesIn(shape: Shape): ReadonlySet<string> {
  const all = [...shape.members].flatMap(([name, { shape: member }]) => [name, ...member.members.keys()]);
  return new Set(all.map(plainName));
}

/** The share of the members of `one` that `other` has, directly or in a sub-object. */
function overlap(one: Shape, other: Shape): number {
  const names = namesIn(other);
  const common = [...one.members.keys()].filter((name) => names.has(plainName(name))).length;
  return one.members.size === 0 ? 0 : common / one.members.size;
}

const ONLY_ONE_LIST =
  "only one version's body is a list. Write a transform that makes the other of it. What is in it was not compared.";

const isOnlyList = ({ members, element }: Shape): boolean => members.size === 0 && element !== undefined;
const isOnlyObject = ({ members, element }: Shape): boolean => members.size > 0 && element === undefined;

/** Compares the bodies of a request in both versions. `wrapper` is the one that other operations certainly have. */
function compareBodies(
  v1: Shape,
  v2: Shape,
  source: ShapeSource,
  wrapper: string | undefined,
  around: string | undefined,
): Comparison {
  if (v2.members.size === 0 && v2.element === undefined)
    return { findings: [], questions: bodyQuestions(v1, v2).map((text) => ({ path: [], text })) };
  if (isOnlyList(v1) ? isOnlyObject(v2) : isOnlyObject(v1) && isOnlyList(v2))
    return { findings: [], questions: [{ path: [], text: ONLY_ONE_LIST }] };
  const unwrap = wrapperOf(v1, v2);
  const isKnown =
    wrapper !== undefined && v1.members.size === 1 && v1.members.has(wrapper) && !v2.members.has(wrapper);
  if (unwrap === undefined && !isKnown) return compareShapes(v1, v2, source, around);
  const member = isKnown ? wrapper : (unwrap?.member ?? '');
  const inner = v1.members.get(member)?.shape ?? v1;
  const finding: Finding = {
    found: { rule: 'unwrap', member },
    confidence: isKnown ? 0.95 : (unwrap?.confidence ?? 0),
    evidence: unwrap?.evidence ?? `every other operation has the wrapper ${member}`,
    doubt: around ?? wrapperDoubt(member, inner, v1, v2) ?? (isKnown ? undefined : emptyDoubt(member, inner)),
  };
  const { findings, questions } = compareShapes(
    inner,
    v2,
    source,
    isProposed(finding) ? undefined : (around ?? `it holds only if ${pathText([member])} is a wrapper`),
  );
  return { findings: [finding, ...findings], questions };
}

/** The reason why an unwrap could lose a value: the wrapper may not be one, or V2 may have the members beside it. */
function wrapperDoubt(member: string, inner: Shape, v1: Shape, v2: Shape): string | undefined {
  const [unread] = v2.unread;
  if (unread !== undefined) return `${unread} could not be read, and may have it`;
  if (inner.members.has(member)) return `what is in it has ${withArticle(member)} as well`;
  const places = new Places(ANY_SHAPE, v2);
  for (const [name, { shape }] of v1.members) {
    if (name === member) continue;
    const fitting = [...v2.members].find(([young, other]) => {
      return !inner.members.has(young) && isCompatible(shape, other.shape);
    });
    const [place = fitting && [fitting[0]]] = places.of([[name]], shape);
    const isKept = place !== undefined || v2.further !== '';
    const where = isKept ? ` and V2 may have${place === undefined ? '' : ` as ${pathText(place)}`}` : '';
    return `V1 has ${pathText([name])} beside it, which an unwrap drops${where}`;
  }
  return undefined;
}

function emptyDoubt(member: string, inner: Shape): string | undefined {
  return inner.members.size === 0 ? `V1 does not describe the content of ${member}` : undefined;
}

/** The question about a body whose members V2 does not describe: none of V1's is known to be gone. */
function bodyQuestions(v1: Shape, v2: Shape): readonly string[] {
  const [unread] = v2.unread;
  if (unread !== undefined) return [`V2's body, ${unread}, could not be read, so that no rule is proposed.`];
  return v1.members.size === 0
    ? []
    : ["V2's description names no member of the body, so that no rule is proposed."];
}
