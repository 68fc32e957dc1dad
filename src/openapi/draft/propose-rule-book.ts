import { canBeRewritten } from '../../rules/rule-book.ts';
import { withArticle } from '../../rules/rule-book-fault.ts';
import { Components } from '../components.ts';
import {
  type DescribedOperation,
  type Description,
  followed,
  jsonSchemaIn,
  memberOf,
  objectIn,
  templateOf,
} from '../description.ts';
import {
  hasOtherWord,
  type MatchedOperation,
  matchOperations,
  type OtherWord,
  type SaidMoves,
} from './match-operations.ts';
import { ANY_SHAPE, isCompatible, type Shape, shapeOf } from '../shape.ts';
import {
  compareShapes,
  type Comparison,
  type Finding,
  isProposed,
  pathText,
  Places,
  type ShapeSource,
} from './compare-shapes.ts';
import {
  findHeaderRenames,
  findQueryRenames,
  type NamedOperation,
  resourceIn,
  resourceKey,
  type ResourceShapes,
  resourceShapes,
  responseChange,
  type Versions,
  withInverse,
} from './find-inverse.ts';
import { type ProposedKey, type ProposedRuleBook, scalar } from './print-rule-book.ts';
import { changeId, type OperationFindings, type ProposedChange, proposeChanges } from './propose-changes.ts';
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

const DESCRIBED: ShapeSource = {
  isRecorded: false,
  goneWords: () => "V2's description does not have it",
};

/** Compares two descriptions of an API and proposes the rule book that leads from the first to the second. */
export function proposeRuleBook(v1: Description, v2: Description, said?: SaidMoves): ProposedRuleBook {
  const { matched, questions: unmatched } = matchOperations(v1, v2, said);
  const [old, young] = [new Components(v1), new Components(v2)];
  const named = namedOperations(matched);
  const bodies = named.map(({ pair, operation }) => ({
    operation,
    pair,
    v1: requestShape(pair.v1, old),
    v2: requestShape(pair.v2, young),
  }));
  const described = bodies.flatMap(({ operation: { id, method }, v1: first, v2: second }) =>
    first === undefined || second === undefined || !canBeRewritten(method)
      ? []
      : [{ id, method, v1: first, v2: second }],
  );
  const writes = bodies
    .filter(({ v1: first, v2: second }) => first !== undefined || second !== undefined)
    .map(({ operation: { id, method } }) => ({ id, method }));
  const outcome = proposeFor(described, DESCRIBED, writes);
  const versions = { v1: old, v2: young, named };
  const shapes = resourceShapes(matched, versions);
  const queries = findQueryRenames(versions, outcome.changes);
  const head = proposeHead(versions);
  const renamedFields = findHeaderRenames(versions, head.versionField);
  const isField = (name: string): boolean =>
    name === head.versionField || renamedFields.some(({ summary }) => summary.endsWith(` ${name}.`));
  const headers = [...renamedFields, ...newFieldChanges(versions, isField), ...head.changes];
  const carried = carriedResources(versions);
  const shown = responseFindings(named, shapes, outcome.changes, writes);
  const read = readOnlyChanges(versions, outcome.changes, writes);
  const resources = new Map(named.map(({ pair, operation }) => [operation.id, resourceKey(pair.v2)]));
  const foreign = [...new Set([...old.foreign, ...young.foreign])].map((name) =>
    name.startsWith('#')
      ? `${name} leads nowhere, so nothing was compared for it.`
      : `${name} is in another document and was not compared.`,
  );
  const uncompared = bodies.flatMap((body) => uncomparedQuestions(body));
  return {
    origin: [
      `A draft of a rule book, from V1's description (${titleOf(v1)}) and V2's (${titleOf(v2)}).`,
      `${matched.length === 1 ? '1 operation is' : `${matched.length} operations are`} in both; the bodies of ${described.length} were compared.`,
    ],
    keys: [
      ...head.keys,
      ...(carried.general === undefined
        ? []
        : [{ key: 'resource', lines: [`resource: ${scalar(carried.general)}`] }]),
      ...errorKeys(versions),
    ],
    operations: bodies.map(({ operation }) => ({ ...operation, ...carried.own.get(operation.id) })),
    changes: [
      ...[...outcome.changes, ...shown].map((change) => {
        const on = change.on === 'every' ? [...resources.keys()] : change.on;
        const keys = on.map((id) => resources.get(id));
        return withInverse(change, keys, shapes);
      }),
      ...queries.changes,
      ...headers,
      ...read.changes,
      ...carried.changes,
    ],
    questions: new Map([
      ['', [unmatched, uncompared, queries.questions, carried.questions, read.questions, foreign].flat()],
      ...outcome.questions,
    ]),
  };
}

/** Where V2's responses carry the resource: most of them, and the operations of which others do. */
function carriedResources({ named, v1, v2 }: Versions): {
  readonly general: string | undefined;
  readonly own: ReadonlyMap<string, { readonly resource: string }>;
  readonly changes: readonly ProposedChange[];
  readonly questions: readonly string[];
} {
  const found = named.flatMap(({ pair, operation: { id } }) => {
    const [old, young] = [resourceIn(pair.v1, v1), resourceIn(pair.v2, v2)];
    return young === undefined ? [] : [{ id, at: young.at, old, young }];
  });
  const counts = Map.groupBy(found, ({ at }) => at);
  const [most] = [...counts].toSorted(([, one], [, other]) => other.length - one.length);
  const general = most === undefined || most[0] === 'data' ? undefined : most[0];
  const own = new Map(
    found.filter(({ at }) => at !== (general ?? 'data')).map(({ id, at }) => [id, { resource: at }]),
  );
  const renames = new Map<string, { readonly from: string; readonly to: string; readonly on: string[] }>();
  const questions = found.flatMap(({ id, at, old, young }) => {
    if (old === undefined || (at === '' && old.at === '')) return [];
    const [before, now] = [old, young].map(({ response }) => [...response.members.keys()].join(', '));
    if (at === '' || old.at === '')
      return [
        at === ''
          ? `${id}: V1's response has the resource in ${old.at}, and V2's body is the resource. Write a transform that wraps it.`
          : `${id}: V1's body is the resource, and V2's response has it in ${at}. Write a transform that returns the content of ${at}.`,
      ];
    const around = [old, young].map((one) =>
      [...one.response.members.keys()].filter((name) => name !== one.at),
    );
    const isSame = around[0]?.join() === around[1]?.join();
    if (isSame && at !== old.at) {
      const rename = renames.get(`${at} ${old.at}`) ?? { from: at, to: old.at, on: [] };
      renames.set(`${at} ${old.at}`, rename);
      rename.on.push(id);
    }
    return isSame
      ? []
      : [
          `${id}: V1's response has ${before}, and V2's ${now}. Write response rules for the members around ${at}, or a transform; resource then names the list that it returns.`,
        ];
  });
  const changes = [...renames.values()].map(({ from, to, on }): ProposedChange => ({
    id: changeId(`${to}-envelope`),
    summary: `Responses have the resource in ${from}.`,
    on,
    rules: [],
    response: [
      {
        texts: [`{ rename: ${scalar(from)}, to: ${scalar(to)} }`],
        confidence: 0.9,
        evidence: `V1's responses have it in ${to}, and V2's in ${from}`,
      },
    ],
  }));
  return { general, own, changes, questions };
}

/** Conversions that only responses show, such as that of an id: as request rules of what writes the resource, they are undone in responses. */
function responseFindings(
  named: readonly NamedOperation[],
  shapes: ResourceShapes,
  changes: readonly ProposedChange[],
  writes: readonly { readonly id: string; readonly method: string }[],
): readonly ProposedChange[] {
  const writing = new Set(writes.map(({ id }) => id));
  const findings: OperationFindings[] = [];
  const asked = new Set(
    changes.flatMap(({ rules }) =>
      rules.flatMap(({ found }) =>
        found.rule === 'unwrap' || found.rule === 'nest' ? [] : [pathText(found.in, found.member)],
      ),
    ),
  );
  for (const [key, pairs] of shapes) {
    const writers = named.filter(
      ({ pair, operation: { id, method } }) =>
        resourceKey(pair.v2) === key && writing.has(id) && canBeRewritten(method),
    );
    const found = new Map<string, Finding>();
    for (const { v1, v2 } of pairs) {
      for (const finding of compareShapes(v1, v2, DESCRIBED).findings) {
        if (finding.found.rule !== 'convert') continue;
        const path = pathText(finding.found.in, finding.found.member);
        if (!asked.has(path)) found.set(path, finding);
      }
    }
    for (const { operation } of writers) findings.push({ id: operation.id, findings: [...found.values()] });
  }
  return proposeChanges(findings, writes);
}

/** Response rules for the operations whose resource nothing writes, and what V2's responses do not have. */
function readOnlyChanges(
  { named, v1, v2 }: Versions,
  changes: readonly ProposedChange[],
  writes: readonly { readonly id: string; readonly method: string }[],
): { readonly changes: readonly ProposedChange[]; readonly questions: readonly string[] } {
  const writing = new Set(writes.filter(({ method }) => canBeRewritten(method)).map(({ id }) => id));
  const written = new Set(
    named.filter(({ operation }) => writing.has(operation.id)).map(({ pair }) => resourceKey(pair.v2)),
  );
  const words = named.flatMap(({ pair }) => pair.moved?.word ?? []);
  // What every request needs is undone in all responses.
  const everywhere = new Set(
    changes.flatMap(({ on, rules }) =>
      on === 'every' ? rules.map(({ found }) => JSON.stringify(found)) : [],
    ),
  );
  const found = named.flatMap(({ pair, operation: { id } }) => {
    const [old, young] = [resourceIn(pair.v1, v1), resourceIn(pair.v2, v2)];
    if (old === undefined || young === undefined || written.has(resourceKey(pair.v2))) return [];
    const { shape, renames } = withOtherWords(old.shape, young.shape, words);
    const all = [...renames, ...compareShapes(shape, young.shape, DESCRIBED).findings];
    const own = all.filter((finding) => !everywhere.has(JSON.stringify(finding.found)));
    const renamed = new Set(
      own.flatMap(({ found: rule }) => (rule.rule === 'rename' ? [pathText(rule.in, rule.member)] : [])),
    );
    const missing = own.flatMap(({ found: rule }) => {
      const path = rule.rule === 'strip' ? pathText(rule.in, rule.member) : '';
      return path === '' || renamed.has(path)
        ? []
        : [`${id}: V1's response has ${path}, and V2's does not. Write a response rule that brings it.`];
    });
    return [{ change: responseChange(id, young, own), missing }];
  });
  return {
    changes: found.flatMap(({ change }) => (change === undefined ? [] : [change])),
    questions: found.flatMap(({ missing }) => missing),
  };
}

/** The members of V1's resource by the names that they have with the words that paths have in V2. */
function withOtherWords(
  v1: Shape,
  v2: Shape,
  words: readonly OtherWord[],
): { readonly shape: Shape; readonly renames: readonly Finding[] } {
  const renames: Finding[] = [];
  const members = [...v1.members].map(([member, inner]) => {
    if (v2.members.has(member)) return [member, inner] as const;
    for (const word of words) {
      const fitting = [...v2.members.keys()].filter((to) => hasOtherWord(member, to, word));
      const [to] = fitting;
      if (to === undefined || fitting.length > 1 || v1.members.has(to)) continue;
      const evidence = `${word.from} are ${word.to} in paths`;
      renames.push({ found: { rule: 'rename', in: [], member, to }, confidence: 0.85, evidence });
      return [to, inner] as const;
    }
    return [member, inner] as const;
  });
  return { shape: { ...v1, members: new Map(members) }, renames };
}

/** The form of errors that the descriptions tell, where all of V1's have it, and the question whether V2's are the same. */
function errorKeys({ named, v1, v2 }: Versions): readonly ProposedKey[] {
  const mediaIn = ({ description }: Components, { operation }: DescribedOperation): readonly string[] =>
    Object.entries(objectIn(operation, 'responses')).flatMap(([status, declared]) =>
      /^(?:[45]..|default)$/.test(status)
        ? Object.keys(objectIn(followed(description, declared), 'content'))
        : [],
    );
  const [old, young] = [
    new Set(named.flatMap(({ pair }) => mediaIn(v1, pair.v1))),
    new Set(named.flatMap(({ pair }) => mediaIn(v2, pair.v2))),
  ];
  const [form] = old;
  const isOne = old.size === 1;
  const refusals: ProposedKey = {
    key: 'refusals',
    lines: ['refusals: problem'],
    evidence: "V1's description has its errors in this form, and so have the gateway's own.",
  };
  const policies: ProposedKey = {
    key: 'policies',
    lines: [
      'policies:',
      '  malformed: forward # a body that is not JSON',
      '  value: keep # a value that no rule can convert',
    ],
    question: 'does V2 refuse the same requests as V1, in the same words? Both describe errors in one form.',
  };
  return [
    ...(isOne && form === 'application/problem+json' ? [refusals] : []),
    // Who refuses what V1 would have refused: the gateway, unless V2 does it in V1's words.
    ...(isOne && young.size === 1 && form !== undefined && young.has(form) ? [policies] : []),
  ];
}

/** What to say about bodies that no rule is proposed for, because one version describes none or no rule can change them. */
function uncomparedQuestions({
  operation: { id, method },
  pair,
  v1,
  v2,
}: NamedOperation & { readonly [Version in 'v1' | 'v2']: Shape | undefined }): readonly string[] {
  if (v1 !== undefined && v2 !== undefined) {
    if (canBeRewritten(method) || compareBodies(v1, v2, DESCRIBED, undefined).findings.length === 0)
      return [];
    return [
      `${id}: the body of ${method} differs in V2, and only bodies of POST, PATCH and PUT are rewritten.`,
    ];
  }
  if (v1 === undefined && v2 === undefined) return [];
  const [version, { operation }] = v1 === undefined ? ['V1', pair.v1] : ['V2', pair.v2];
  const what = operation['requestBody'] === undefined ? 'no body' : 'no body in JSON that could be read';
  return [`${id}: ${version} describes ${what} for it, so that nothing was compared.`];
}

/** A request body in both versions, by the id of its operation. */
interface BodyPair {
  readonly id: string;
  readonly method: string;
  readonly v1: Shape;
  readonly v2: Shape;
}

/** The changes and questions that the bodies of requests suggest; `writes` are the operations that have a body, compared or not. */
export function proposeFor(
  bodies: readonly BodyPair[],
  source: ShapeSource | ((id: string) => ShapeSource),
  writes: readonly { readonly id: string; readonly method: string }[] = bodies,
): Pick<ProposedRuleBook, 'changes' | 'questions'> {
  const wrapper = commonWrapper(bodies);
  const questions = new Map<string, readonly string[]>();
  const findings = bodies.map(({ id, v1, v2 }): OperationFindings => {
    const comparison = compareBodies(v1, v2, typeof source === 'function' ? source(id) : source, wrapper);
    questions.set(id, comparison.questions);
    return { id, findings: comparison.findings };
  });
  return {
    changes: proposeChanges(findings, writes),
    questions,
  };
}

/** The wrapper that most bodies have for certain. */
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
    const id = operationId(pair, template, taken);
    taken.add(id);
    const { moved } = pair;
    return [{ pair, operation: { id, method, template, ...(moved && { moved }) } }];
  });
}

function operationId({ v1, v2 }: MatchedOperation, template: string, taken: ReadonlySet<string>): string {
  const given = [v1, v2]
    .map(({ operation }) => operation['operationId'])
    .find((id) => typeof id === 'string');
  const made = `${v1.method.toLowerCase()}${template}`;
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

/** The body of an operation's request, as a description or recorded traffic shows it. */
export function requestShape({ operation }: DescribedOperation, components: Components): Shape | undefined {
  const content = objectIn(followed(components.description, operation['requestBody']), 'content');
  const schema = jsonSchemaIn(content);
  return schema === undefined ? undefined : shapeOf(schema, components);
}

/** The name of a wrapper that the root object of V1 has and V2's has not, and how sure that is. */
function wrapperOf(
  v1: Shape,
  v2: Shape,
): { readonly member: string; readonly confidence: number; readonly evidence: string } | undefined {
  const candidates = [...v1.members].flatMap(([member, { shape }]) => {
    const isObject = shape.members.size > 0 || shape.types.has('object');
    if (v2.members.has(member) || !isObject) return [];
    const beside = [...v1.members.keys()].filter((name) => name !== member);
    const inside = overlap(shape, v2);
    const others = beside.filter((name) => v2.members.has(name)).length;
    // Members beside the wrapper that V2 still has speak against it.
    if (others > 0 || (inside === 0 && shape.members.size > 0 && v2.members.size > 0)) return [];
    const confidence = Math.min(0.99, (beside.length === 0 ? 0.7 : 0.5) + 0.3 * inside);
    const share = Math.round(inside * 100);
    return [{ member, confidence, evidence: `V2's body has ${share} % of the members of V1's ${member}` }];
  });
  return candidates.toSorted((one, other) => other.confidence - one.confidence)[0];
}

/** The share of the members of `one` that `other` has, itself or in a sub-object. */
function overlap(one: Shape, other: Shape): number {
  const names = new Set(other.members.keys());
  for (const { shape } of other.members.values()) for (const name of shape.members.keys()) names.add(name);
  const common = [...one.members.keys()].filter((name) => names.has(name)).length;
  return one.members.size === 0 ? 0 : common / one.members.size;
}

/** Compares the bodies of a request in both versions. `wrapper` is the one that other operations have for certain. */
function compareBodies(v1: Shape, v2: Shape, source: ShapeSource, wrapper: string | undefined): Comparison {
  if (v2.members.size === 0) return { findings: [], questions: bodyQuestions(v1, v2) };
  const unwrap = wrapperOf(v1, v2);
  const isKnown =
    wrapper !== undefined && v1.members.size === 1 && v1.members.has(wrapper) && !v2.members.has(wrapper);
  if (unwrap === undefined && !isKnown) return compareShapes(v1, v2, source);
  const member = isKnown ? wrapper : (unwrap?.member ?? '');
  const inner = v1.members.get(member)?.shape ?? v1;
  const finding: Finding = {
    found: { rule: 'unwrap', member },
    confidence: isKnown ? 0.95 : (unwrap?.confidence ?? 0),
    evidence: unwrap?.evidence ?? `every other operation has the wrapper ${member}`,
    doubt: wrapperDoubt(member, inner, v1, v2) ?? (isKnown ? undefined : emptyDoubt(member, inner)),
  };
  const isSure = isProposed(finding);
  const { findings, questions } = compareShapes(
    inner,
    v2,
    source,
    isSure ? undefined : `it holds only if ${pathText([member])} is a wrapper`,
  );
  const asked = `is ${pathText([member])} a wrapper that V2 does not have?`;
  const why = finding.doubt === undefined ? '' : ` ${finding.doubt}.`;
  return {
    findings: [finding, ...findings],
    questions: isSure ? questions : [`${asked}${why}`, ...questions],
  };
}

/** Why an unwrap could lose a value: the wrapper may be none, or V2 may have the members beside it. */
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
    if (place === undefined && v2.further === '') continue;
    const where = place === undefined ? '' : ` as ${pathText(place)}`;
    return `V1 has ${pathText([name])} beside it, which an unwrap drops and V2 may have${where}`;
  }
  return undefined;
}

function emptyDoubt(member: string, inner: Shape): string | undefined {
  return inner.members.size === 0 ? `V1 does not describe the content of ${member}` : undefined;
}

/** What to say about a body of which V2 describes no member: nothing is known to be gone. */
function bodyQuestions(v1: Shape, v2: Shape): readonly string[] {
  const [unread] = v2.unread;
  if (unread !== undefined) return [`V2's body, ${unread}, could not be read, so that no rule is proposed.`];
  return v1.members.size === 0
    ? []
    : ["V2's description names no member of the body, so that no rule is proposed."];
}
