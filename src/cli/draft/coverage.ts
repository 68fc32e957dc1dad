import { headerValue } from '../../http/header-list.ts';
import { generalPointer, pointerOf, pointerSteps } from '../../json/pointer.ts';
import { createMigration } from '../../library/capture-gateway.ts';
import type { Migration } from '../../library/migration.ts';
import type { MigratedRequest } from '../../library/verdicts.ts';
import { Components } from '../../openapi/components.ts';
import {
  type DescribedOperation,
  type Description,
  isJsonMedia,
  isObject,
  memberOf,
  objectIn,
  operationsBelow,
  readJsonText,
  tableOf,
  templateOf,
} from '../../openapi/description.ts';
import { keywordIn, namedValues } from '../../openapi/draft/conversions.ts';
import {
  describesBody,
  exampleShape,
  requestBody,
  requiresBody,
  responsesIn,
  successShape,
} from '../../openapi/draft/bodies.ts';
import { formats } from '../../openapi/formats.ts';
import { withIdPatterns } from '../../openapi/draft/id-patterns.ts';
import { type Shape, shapeAt } from '../../openapi/shape.ts';
import { unmetRules } from '../../openapi/unmet-inverse.ts';
import { terminalText } from '../../report/text.ts';
import { count, counted, listed } from '../../rules/words.ts';
import { printFault } from '../../rules/rule-book-fault.ts';
import {
  isTransformed,
  type Operation,
  OperationTable,
  type RuleBook,
  withoutTransforms,
} from '../../rules/rule-book.ts';
import { placeInWraps } from '../../rules/kinds/wrap.ts';
import { SourceDocument } from '../../rules/source-document.ts';
import {
  contentOf,
  type DescribedSide,
  errorDifferences,
  errorTypes,
  type DescribedKey,
  fieldDifferences,
  keysOf,
  mediaDifferences,
  ofStatus,
  otherServers,
  uncomparedMedia,
  parameterDifferences,
  pathDifferences,
  responseDifferences,
  schemeDifferences,
  sentParameters,
  valueDifferences,
} from './described-differences.ts';
import { meaningDifferences } from './meaning-differences.ts';
import {
  isOtherDay,
  missingMembers,
  nullsIn,
  SampleResponses,
  type SharedResponse,
  unknownMembers,
  type WrongKind,
  wrongTypes,
} from './sample-differences.ts';
import {
  type Extent,
  isMatch,
  longestEnumeration,
  parameterShapeOf,
  pathOf,
  sampleRequest,
  type SampleRequest,
} from './samples.ts';

/** The gaps that a rule book leaves between two descriptions. */
export interface Coverage {
  readonly operations: { readonly all: number; readonly covered: number };
  readonly gaps: readonly Gap[];
}

/** Something that V1's clients send or expect and that no rule converts. */
export interface Gap {
  readonly kind: 'operation' | 'refused' | 'request' | 'response' | 'inverse';
  /** The operation's id in the rule book, or its method and path in V1's description. */
  readonly operation: string;
  /** The line of the operation in the rule book, if it is there. */
  readonly line?: number;
  readonly column?: number;
  readonly text: string;
}

/** Both descriptions, and the rule book with its text. */
interface CoverageSources {
  readonly ruleBook: RuleBook;
  readonly text: string;
  readonly v1: Description;
  readonly v2: Description;
  /** True for the operations of V1 that must have a place in V2; all if absent. */
  readonly isWanted?: ((operation: DescribedOperation) => boolean) | undefined;
}

/**
 * Plays a sample request for each operation in V1's description, and V2's response to it, through the gateway's own plans, and compares
 * the results with the descriptions.
 */
export function coverageOf(sources: CoverageSources): Coverage {
  const { ruleBook, isWanted = () => true } = sources;
  const [v1, v2] = [withIdPatterns(sources.v1), withIdPatterns(sources.v2)];
  const migration = createMigration(withoutTransforms(ruleBook));
  const responses = new SampleResponses(migration);
  const named = new OperationTable(ruleBook.operations);
  const young = operationsBelow(v2, ruleBook.to, 'v2');
  const table = tableOf(young);
  const document = new SourceDocument(sources.text);
  const old = operationsBelow(v1, ruleBook.from, 'v1').filter(
    (operation) => templateOf(operation) !== undefined && isWanted(operation),
  );
  const components = { v1: new Components(v1), v2: new Components(v2) };
  const gaps: Gap[] = [];
  let covered = 0;
  for (const described of old) {
    const rest = pathOf(described, v1);
    const id = named.match(described.method, rest)?.id;
    const at = id === undefined ? {} : document.positionOf(['operations', id], 'key');
    const operation = id ?? `${described.method} ${described.rest}`;
    const add = (kind: Gap['kind'], text: string): void => void gaps.push({ kind, operation, ...at, text });
    // The operation need not be migrated: the rule book has a message for its clients.
    if (ruleBook.operations.some((one) => one.id === id && one.gone !== undefined)) {
      covered += 1;
      continue;
    }
    const sample = sampleRequest(described, rest, components.v1, ruleBook);
    const sent = migration.request(sample.method, sample.target, sample.headers, sample.body);
    if (sent.verdict === 'refused') {
      add(
        'refused',
        `the gateway refuses its request: ${sent.code}${sent.pointer === undefined ? '' : ` at ${sent.pointer}`}`,
      );
      continue;
    }
    if (sent.verdict === 'passed') continue;
    const [path = ''] = sent.target.split('?', 1);
    const found = table.match(sent.method, path.slice(ruleBook.to.length));
    const partner = found === undefined ? undefined : young[Number(found.id)];
    if (partner === undefined) {
      add('operation', `leads nowhere: V2 does not describe ${sent.method} ${path}`);
      continue;
    }
    covered += 1;
    const sides: Sides = [
      { operation: described, components: components.v1 },
      { operation: partner, components: components.v2 },
    ];
    const rule = ruleBook.operations.find((one) => one.id === id);
    // A rule book has paths without a slash at the end; requests keep theirs, also at another place.
    const end = described.path.endsWith('/') ? '/' : '';
    if (partner.rest.length > 1 && partner.path.endsWith('/') !== (end === '/'))
      add('request', `V2 describes ${partner.path}, and gets ${path}${end}`);
    const opaque = opaqueTo(ruleBook, rule);
    const status = (value: number): number => rule?.status?.find(({ from }) => from === value)?.to ?? value;
    const lookedUp = lookupPointers(ruleBook, id);
    const reported = new Set<string>();
    const report = (kind: Gap['kind'], text: string): void => {
      if (!reported.has(text)) add(kind, text);
      reported.add(text);
    };
    const addOnce = (kind: Gap['kind'], text: string): void => {
      if (!opaque.has(kind)) report(kind, text);
    };
    const answers = sharedResponses(sides, status);
    const picks = picksOf(sides);
    for (let pick = 0; pick < picks; pick += 1) {
      const again = sampleRequest(described, pathOf(described, v1, pick), components.v1, ruleBook, { pick });
      const outcome =
        pick === 0 ? sent : migration.request(again.method, again.target, again.headers, again.body);
      if (outcome.verdict === 'refused' || outcome.verdict === 'passed') continue;
      for (const fault of requestFaults(outcome, sides, nullsIn(again.body ?? '')))
        addOnce('request', faultText(fault));
      for (const missing of missingInResponse(responses, outcome, answers, pick, lookedUp))
        addOnce('response', missing);
    }
    for (const text of requestMeanings(sample, sent, sides)) addOnce('request', text);
    for (const one of answers) for (const text of responses.meanings(sent, one)) addOnce('response', text);
    for (const extent of ['required', 'objects'] as const)
      for (const text of leastDifferences(migration, responses, sides, rest, ruleBook, { reported, extent }))
        addOnce(...text);
    const least = sampleRequest(described, rest, components.v1, ruleBook, { extent: 'required' });
    const briefly = migration.request(least.method, least.target, least.headers, least.body);
    const assumed = queryOf('target' in briefly ? briefly.target : '');
    for (const text of requestDifferences(sample, sent, assumed, sides)) addOnce('request', text);
    for (const text of responseDifferences(...sides, status)) addOnce('response', text);
    for (const text of [
      ...otherServers(...sides),
      ...uncomparedMedia(...sides),
      ...uncomparedResponses(sides),
      ...fieldDifferences(...sides),
      ...errorDifferences(...sides, status),
      ...errorMembers(responses, sent, sides),
      ...errorMedia(migration, sent, sides),
    ])
      report('response', text);
    for (const { expected, given } of sharedResponses(sides, status))
      for (const text of valueDifferences(expected, given, 'response')) addOnce('response', text);
  }
  const unmet = unmetRules(ruleBook, v2).flatMap((text): readonly Gap[] => {
    const id = /^operation "([^"]*)": /.exec(text)?.[1] ?? '';
    const at = document.positionOf(['operations', id], 'key');
    return [{ kind: 'inverse', operation: id, ...at, text: text.replace(/^operation "[^"]*": /, '') }];
  });
  return { operations: { all: old.length, covered }, gaps: [...gaps, ...unmet] };
}

/** The kinds of gaps that a transform may close: it may add any member to bodies, but reads no error. */
function opaqueTo(book: RuleBook, operation: Operation | undefined): ReadonlySet<Gap['kind']> {
  return new Set((['request', 'response'] as const).filter((one) => isTransformed(book, operation, one)));
}

/** The places of looked-up members in an operation's responses: a description cannot show what V2 returns for them. */
function lookupPointers({ changes }: RuleBook, id: string | undefined): ReadonlySet<string> {
  const rules = changes
    .filter(({ on }) => on === 'every' || (id !== undefined && on.includes(id)))
    .flatMap(({ response }) => response);
  const around = placeInWraps(rules);
  return new Set(
    rules.flatMap((rule) =>
      'address' in rule ? [pointerOf([...around, ...rule.path.slice(0, -1), rule.as])] : [],
    ),
  );
}

/** An operation in both versions. */
type Sides = readonly [v1: DescribedSide, v2: DescribedSide];

/** Maximum samples of an operation, one for each value of its longest enumeration. */
const MAX_PICKS = 16;

function picksOf(sides: Sides): number {
  const [v1, v2] = sides;
  const shapes = [
    requestBody(v1.operation, v1.components)?.shape,
    ...sentParameters(v1.operation, v1.components.description).map((one) =>
      parameterShapeOf(one, v1.components),
    ),
    successShape(v2.operation, v2.components),
  ];
  const lengths = shapes.flatMap((shape) => (shape === undefined ? [] : [longestEnumeration(shape)]));
  return Math.min(Math.max(1, ...lengths), MAX_PICKS);
}

/** Sentences about values of a request that V2 gets under a name that means another value. */
function requestMeanings(sample: SampleRequest, sent: MigratedRequest, sides: Sides): readonly string[] {
  const [old, young] = sides.map(({ operation, components }) => requestBody(operation, components)?.shape);
  const query = (target: string): string => target.split('?')[1] ?? '';
  const body = sent.body === null ? '' : new TextDecoder().decode(sent.body);
  return meaningDifferences(
    sent.edits,
    { body: sample.body ?? '', query: query(sample.target), shape: old },
    { body, query: query(sent.target), shape: young },
  );
}

/** The value of the fields of a form: objects by their names, and lists by their numbers. */
function formValue(text: string): unknown {
  const root: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const steps = name.split(/[[\]]+/).filter((step) => step !== '');
    let object = root;
    for (const step of steps.slice(0, -1)) {
      const inner = object[step];
      const next = isObject(inner) ? { ...inner } : {};
      object[step] = next;
      object = next;
    }
    object[steps.at(-1) ?? ''] = value;
  }
  return withLists(root);
}

function withLists(value: unknown): unknown {
  if (!isObject(value)) return value;
  const keys = Object.keys(value);
  const inner = keys.map((key) => withLists(value[key]));
  if (keys.length > 0 && keys.every((key) => /^\d+$/.test(key))) return inner;
  return Object.fromEntries(keys.map((key, at) => [key, inner[at]]));
}

/** An objection of V2 to a request: a sentence, without its end for what is `missing`. */
interface RequestFault {
  readonly kind: 'missing' | 'wrong' | 'unknown';
  readonly text: string;
}

function faultText({ kind, text }: RequestFault): string {
  return kind === 'missing' ? `${text}, which is never set` : text;
}

/** What V2 requires and a request lacks, and what it does not accept or describe. */
function requestFaults(
  { target, headers, body }: MigratedRequest,
  [, { operation: partner, components }]: Sides,
  nulls: ReturnType<typeof nullsIn>,
): readonly RequestFault[] {
  const [path = '', search = ''] = target.split('?');
  const query = new URLSearchParams(search);
  // From the end: descriptions lack the prefix, and rule books a slash at the end.
  const [segments, template] = [path, partner.rest].map((one) => one.split('/').filter(Boolean).toReversed());
  const fields = headers.flat();
  const cookies = new Map(
    (headerValue(fields, 'cookie') ?? '').split('; ').map((one) => {
      const [name = '', value = ''] = one.split('=');
      return [name, decodeURIComponent(value)] as const;
    }),
  );
  const parameters = sentParameters(partner, components.description).flatMap((parameter) => {
    const [name, place] = [memberOf(parameter, 'name'), memberOf(parameter, 'in')];
    if (typeof name !== 'string') return [];
    const shape = parameterShapeOf(parameter, components);
    const { values } = shape.element ?? shape;
    const missing = (what: string): readonly RequestFault[] => [
      { kind: 'missing', text: `V2 requires the ${what} ${name}` },
    ];
    const wrong = (wanted: string): readonly RequestFault[] => [
      { kind: 'wrong', text: `V2 accepts ${wanted} in ${name} and gets ${JSON.stringify(value)}` },
    ];
    const inPath = segments?.[template?.indexOf(`{${name}}`) ?? -1];
    const value =
      place === 'query'
        ? query.get(name)
        : place === 'header'
          ? headerValue(fields, name.toLowerCase())
          : place === 'cookie'
            ? cookies.get(name)
            : inPath && decodeURIComponent(inPath);
    const isTaken =
      value === null ||
      value === undefined ||
      values.length === 0 ||
      values.some((one) => String(one) === value);
    if (!isTaken) return wrong(values.map((one) => JSON.stringify(one)).join(', '));
    if (typeof value === 'string' && contentOf(parameter) !== undefined)
      return contentFaults(shape, value, name);
    const wanted = typeof value === 'string' ? wrongText(shape, value, place === 'path') : undefined;
    if (wanted !== undefined) return wrong(wanted);
    if (memberOf(parameter, 'required') !== true) return [];
    if (place === 'cookie' && value === undefined) return missing('cookie');
    if (place === 'query' && !query.has(name)) return missing('query parameter');
    return place === 'header' && headerValue(fields, name.toLowerCase()) === undefined
      ? missing('header field')
      : [];
  });
  const taken = requestBody(partner, components);
  if (body === null && requiresBody(partner, components))
    return [
      ...parameters,
      { kind: 'wrong', text: 'V2 requires a body, and gets none' } as const,
      ...(taken === undefined ? [] : requiredMembers(taken.shape, {})),
    ];
  if (taken === undefined || body === null) return parameters;
  const { shape } = taken;
  const text = new TextDecoder().decode(body);
  const isForm = headerValue(fields, 'content-type')?.startsWith('application/x-www-form') === true;
  const value: unknown = isForm ? formValue(text) : JSON.parse(text);
  return [
    ...parameters,
    // Each value of a form is a text.
    ...bodyFaults(shape, value, '', nulls, ({ is }) => !isForm || is.startsWith('"')),
  ];
}

/** Objections of V2 to a value in JSON, and to all in it. */
function bodyFaults(
  shape: Shape,
  value: unknown,
  name: string,
  nulls: ReturnType<typeof nullsIn>,
  isFault: (kind: WrongKind) => boolean = () => true,
): readonly RequestFault[] {
  const unknown = unknownMembers(shape, value, name);
  return [
    ...requiredMembers(shape, value, name),
    ...unknown.map(
      (path) => ({ kind: 'unknown', text: `V2 does not describe ${path}, which clients send` }) as const,
    ),
    ...wrongTypes(shape, value, name, nulls)
      .filter(({ kind }) => isFault(kind))
      .map(
        ({ path, kind: { is, wanted } }) =>
          ({ kind: 'wrong', text: `V2 accepts ${wanted} in ${path} and gets ${is}` }) as const,
      ),
  ];
}

/** The members that V2 requires, and that a value lacks. */
function requiredMembers(shape: Shape, value: unknown, name = ''): readonly RequestFault[] {
  return missingMembers(shape, value, name, true, 'response').map((path) => ({
    kind: 'missing',
    text: `V2 requires ${path}`,
  }));
}

/** Objections of V2 to a parameter that is written like a body. */
function contentFaults(shape: Shape, text: string, name: string): readonly RequestFault[] {
  const value = readJsonText(text);
  return value === undefined
    ? [{ kind: 'wrong', text: `V2 accepts JSON in ${name} and gets ${JSON.stringify(text)}` }]
    : bodyFaults(shape, value, name, nullsIn(text));
}

/** The texts that V2 accepts in a parameter, if `value` is certainly not one of them; undefined otherwise. */
function wrongText(shape: Shape, value: string, isInPath: boolean): string | undefined {
  const { types, constraints, format } = shape.element ?? shape;
  // The formats of other parameters are compared without values.
  if (isInPath && formats.get(format)?.(value) === false) return `the format ${format}`;
  const [type, ...others] = types;
  const isNumber = type === 'integer' || type === 'number';
  if (others.length === 0 && isNumber && !/^-?\d+(?:\.\d+)?$/.test(value)) return type;
  if (others.length === 0 && type === 'boolean' && !/^(?:true|false|0|1)$/.test(value)) return type;
  const pattern = keywordIn(constraints, 'pattern');
  if (!isInPath && typeof pattern === 'string' && !isMatch(pattern, value)) return `the pattern ${pattern}`;
  return isOtherDay(shape.element ?? shape, value) ? `the format ${shape.format}` : undefined;
}

/**
 * The gaps of a request with only the members that V1 requires, and of a response with only those that V2 always returns: kinds and
 * sentences.
 */
function leastDifferences(
  migration: Migration,
  responses: SampleResponses,
  sides: Sides,
  rest: string,
  ruleBook: RuleBook,
  { reported, extent }: { readonly reported: ReadonlySet<string>; readonly extent: Extent },
): readonly (readonly [kind: Gap['kind'], text: string])[] {
  const [v1, v2] = sides;
  const sample = sampleRequest(v1.operation, rest, v1.components, ruleBook, { extent });
  const sent = migration.request(sample.method, sample.target, sample.headers, sample.body);
  if (sent.verdict === 'refused' || sent.verdict === 'passed') return [];
  const missing = requestFaults(sent, sides, nullsIn(sample.body ?? ''))
    .filter((fault) => fault.kind !== 'unknown' && !reported.has(faultText(fault)))
    .map(({ kind, text }) => ['request', kind === 'missing' ? `${text}, which V1 does not` : text] as const);
  const [expected, given] = sides.map(({ operation, components }) => successShape(operation, components));
  if (expected === undefined || given === undefined) return missing;
  const shared = { status: successStatus(v2), expected, given };
  const lacking = responses
    .differences(sent, shared, 'required', { extent, hidden: 'request' })
    .filter(({ path, kind }) => kind !== undefined || !reported.has(neverIn(shared.status, path)))
    .map(({ path, kind }) => {
      const text =
        kind === undefined
          ? `V1's response always has ${path}, and V2's may lack it`
          : wrongInResponse(shared.status, path, kind);
      return ['response', text] as const;
    });
  return [...missing, ...lacking];
}

function successStatus({ operation }: DescribedSide): number {
  const statuses = Object.keys(objectIn(operation.operation, 'responses'));
  return Number(statuses.find((key) => /^2\d\d$/.test(key)) ?? 200);
}

/** Sentences about members of V1's errors that V2's errors with the same status lack. */
function errorMembers(responses: SampleResponses, sent: MigratedRequest, [v1, v2]: Sides): readonly string[] {
  const errors = ({ operation, components }: DescribedSide): ReadonlyMap<string, Shape> =>
    new Map(
      responsesIn(operation, components, (status) => /^(?:[45]..|default)$/i.test(status)).map(
        ({ status, shape }) => [status.toUpperCase(), shape],
      ),
    );
  const young = errors(v2);
  return [...errors(v1)].flatMap(([status, expected]) => {
    const given = ofStatus(young, status);
    if (given === undefined || given.members.size === 0) return [];
    const code = /^\d+$/.test(status) ? Number(status) : 400;
    const isNear = (path: string): boolean => path.split('/').length <= MAX_ERROR_LEVELS;
    const shared = { status: code, expected, given };
    const name = `V1's error ${status.toLowerCase()} has`;
    const texts = Array.from({ length: MAX_ERROR_PICKS }, (_, pick) =>
      responses
        .differences(sent, shared, 'all', { pick, levels: MAX_ERROR_LEVELS })
        .filter(({ path }) => isNear(path))
        .map(({ path, kind }) =>
          kind === undefined
            ? `${name} ${path}, which V2's never has`
            : `${name} ${kind.wanted} in ${path}, and clients get ${kind.is}`,
        ),
    );
    return [...new Set(texts.flat())];
  });
}

/** Sentences about errors of V1 that clients get in another media type. */
function errorMedia(migration: Migration, sent: MigratedRequest, [v1, v2]: Sides): readonly string[] {
  const young = errorTypes(v2);
  return [...errorTypes(v1)].flatMap(([status, types]) => {
    const given = ofStatus(young, status) ?? [];
    if (types.length === 0 || given.length === 0) return [];
    const code = /^\d+$/.test(status) ? Number(status) : 400;
    const got = given.map((type) => {
      const outcome = migration.response(sent, code, ['Content-Type', type], isJsonMedia(type) ? '{}' : '');
      return (headerValue(outcome.headers.flat(), 'content-type') ?? type).split(';', 1)[0] ?? type;
    });
    const [first = ''] = got;
    return got.some((type) => types.includes(type))
      ? []
      : [`V1's error ${status.toLowerCase()} is ${types.join(' or ')}, and clients get ${first}`];
  });
}

/** Maximum values of each enumeration in an error that are tried. */
const MAX_ERROR_PICKS = 4;

/** Maximum levels of an error that clients read: deeper ones belong to a resource, which its own responses show. */
const MAX_ERROR_LEVELS = 4;

function queryOf(target: string): URLSearchParams {
  return new URLSearchParams(target.split('?')[1] ?? '');
}

/** The query parameters that reach V2 under another name, with the value of V1, by V1's names. */
function renamedQueries(
  sample: SampleRequest,
  { target, edits }: MigratedRequest,
): ReadonlyMap<string, string> {
  const [old, young] = [queryOf(sample.target), queryOf(target)];
  return new Map(
    edits.flatMap(({ from = '', path = '' }) => {
      const [before, now] = [from, path].map((place) => (place.startsWith('?') ? place.slice(1) : ''));
      if (!before || !now || before === now) return [];
      return old.get(before) === young.get(now) ? [[before, now] as const] : [];
    }),
  );
}

/** Sentences about members with a few values that a rule leaves out: V2 cannot tell them apart. */
function lostChoices({ edits }: MigratedRequest, shape: Shape): readonly string[] {
  const lost = edits.filter(({ from, path, to, header }) => from && !path && !to && header === undefined);
  return [...new Set(lost.map(({ from = '' }) => generalPointer(from)))].flatMap((place) => {
    const values = place.startsWith('/') ? (shapeAt(shape, pointerSteps(place))?.values ?? []) : [];
    return values.length < 2
      ? []
      : [`a rule leaves out ${place}, so V2 does the same for ${namedValues(values)}`];
  });
}

/** True for a query parameter that V2 does not get anywhere. */
function isLeftOut({ from, path, to }: MigratedRequest['edits'][number]): boolean {
  return from?.startsWith('?') === true && path === undefined && to === undefined;
}

/**
 * Sentences about parts of a migrated request that V2 does not accept, or accepts in another form. `assumed` is V2's query of a request
 * without optional parameters.
 */
function requestDifferences(
  sample: SampleRequest,
  sent: MigratedRequest,
  assumed: URLSearchParams,
  sides: Sides,
): readonly string[] {
  const { target, headers, body } = sent;
  const [v1, v2] = sides;
  const query = new Set(queryOf(target).keys());
  const renamed = renamedQueries(sample, sent);
  const lost = new Set(sent.edits.filter(isLeftOut).map(({ from = '' }) => from.slice(1)));
  const fields = new Set(
    headers
      .flat()
      .filter((_, at) => at % 2 === 0)
      .map((name) => name.toLowerCase()),
  );
  // A rule may give JSON another media type.
  const own = headerValue(headers.flat(), 'content-type')?.split(';', 1)[0];
  const sentType = (type: string): string => (type === 'application/json' ? (own ?? type) : type);
  const wanted = keysOf(v2);
  const cookies = new Set(
    (headerValue(headers.flat(), 'cookie') ?? '').split('; ').map((one) => one.split('=', 1)[0]),
  );
  const isHere = ({ in: place, name }: DescribedKey): boolean =>
    place === 'query' ? query.has(name) : place === 'cookie' ? cookies.has(name) : fields.has(name);
  const hasKey = wanted.some((keys) => keys.every(isHere));
  const got = wanted.flat().filter(isHere);
  const places = wanted.map((keys) => keys.map(({ name }) => name).join(' and ')).join(' or ');
  const only = got.length === 0 ? 'none' : `only ${got.map(({ name }) => name).join(' and ')}`;
  const [old, young] = sides.map(({ operation, components }) => requestBody(operation, components)?.shape);
  const [path = ''] = target.split('?');
  return [
    ...pathDifferences(path, v1, v2, parameterShapeOf),
    ...parameterDifferences(v1, v2, { query, fields, renamed, lost, assumed }, parameterShapeOf),
    ...(body === null ? [] : mediaDifferences(v1, v2, sentType)),
    ...(old === undefined || young === undefined ? [] : valueDifferences(old, young, 'request')),
    ...(old === undefined ? [] : lostChoices(sent, old)),
    ...schemeDifferences(v1, v2),
    ...(wanted.length > 0 && !hasKey ? [`V2 expects the key in ${places} and gets ${only}`] : []),
  ];
}

/** The shape of a successful response: that of its schema, or else of its example. */
function responseShape({ operation, components }: DescribedSide): Shape | undefined {
  return successShape(operation, components) ?? exampleShape(operation, components);
}

/** The sentence about responses that cannot be compared, because V1 describes no body. */
function uncomparedResponses([v1, v2]: Sides): readonly string[] {
  return responseShape(v1) === undefined &&
    responseShape(v2) !== undefined &&
    !describesBody(v1.operation, v1.components)
    ? ['V1 describes no body of its responses, and clients get what V2 returns: nothing was compared']
    : [];
}

/** The successful responses that are in JSON in both versions: the first ones, and the others by their status. */
function sharedResponses([v1, v2]: Sides, statusOf: (status: number) => number): readonly SharedResponse[] {
  const [expected, given] = [v1, v2].map(responseShape);
  if (expected === undefined || given === undefined) return [];
  const isSuccess = (status: string): boolean => /^2\d\d$/.test(status);
  const [old, young] = [v1, v2].map(({ operation, components }) =>
    responsesIn(operation, components, isSuccess),
  );
  const further = (young ?? []).slice(1).flatMap((answer): readonly SharedResponse[] => {
    const status = Number(answer.status);
    const before = old?.find((one) => Number(one.status) === statusOf(status));
    return before === undefined ? [] : [{ status, expected: before.shape, given: answer.shape }];
  });
  return [{ status: successStatus(v2), expected, given }, ...further];
}

/** Sentences about members that V1's clients expect in a response, and V2's response lacks. */
function missingInResponse(
  responses: SampleResponses,
  sent: MigratedRequest,
  shared: readonly SharedResponse[],
  pick: number,
  lookedUp: ReadonlySet<string>,
): readonly string[] {
  return shared.flatMap((one) => {
    // The first sample shows which members a response lacks: the others only have other values.
    const isFirst = pick === 0;
    const extent = isFirst ? 'all' : 'enumerated';
    return responses
      .differences(sent, one, isFirst ? 'all' : 'values', { pick, extent, hidden: 'request' })
      .filter(({ path }) => !lookedUp.has(path))
      .map(({ path, kind }) =>
        kind === undefined ? neverIn(one.status, path) : wrongInResponse(one.status, path, kind),
      );
  });
}

function neverIn(status: number, path: string): string {
  return `V1's response ${status} has ${path}, which V2's never has`;
}

function wrongInResponse(status: number, path: string, { wanted, is }: WrongKind): string {
  return `V1's response ${status} has ${wanted} in ${path}, and clients get ${is}`;
}

const TITLES: readonly (readonly [kind: Gap['kind'], title: string])[] = [
  ['operation', 'Operations of V1 without a place in V2'],
  ['refused', "Requests of V1's description that the gateway refuses"],
  ['request', 'Required by V2 and never sent, or sent and unknown to V2'],
  ['response', "Expected by V1's clients and never returned"],
  ['inverse', 'Rules that apply to no response'],
];

/** Maximum operations that a line names: the others have the same gap at the same place. */
const MAX_NAMED = 3;

/** Groups the gaps at one place: those of several operations, statuses and values of an enumeration. */
function sameGaps(gaps: readonly Gap[]): readonly (readonly Gap[])[] {
  const groups = Map.groupBy(gaps, ({ text }) => text.replace(STATUS, '').replace(VALUE, ''));
  return [...groups.values()];
}

/** The status in a sentence about a response. */
const STATUS = /(?<=^V1's (?:response|error) )\w+/;

/** The value of an enumeration at the end of a sentence. */
const VALUE = /(?<= (?:clients get|and gets) )"[^"]{0,200}"$/;

/** One line for gaps with the same sentence. */
function gapLine(gaps: readonly Gap[], file: string): string {
  const [first] = gaps;
  if (first === undefined) return '';
  const operations = [...new Set(gaps.map(({ operation }) => operation))];
  const values = [...new Set(gaps.flatMap(({ text }) => VALUE.exec(text) ?? []))];
  const statuses = [...new Set(gaps.flatMap(({ text }) => STATUS.exec(text) ?? []))].sort();
  const text = first.text
    .replace(STATUS, statuses.join(' or '))
    .replace(VALUE, () => listed(values, MAX_NAMED));
  const sentence = terminalText(`${listed(operations, MAX_NAMED)}: ${text}`);
  const { line, column } = first;
  return line === undefined || column === undefined
    ? `  ${sentence}`
    : `  ${printFault({ file, line, column, message: sentence })}`;
}

/** Prints coverage for people: one line for each place with a gap, or, if `isWhole`, for each operation and value as well; `file` is the rule book. */
export function printCoverage({ operations, gaps }: Coverage, file: string, isWhole = false): string {
  const { all, covered } = operations;
  const head = `coverage: ${covered} of ${counted(all, 'operation')} of V1 ${covered === 1 ? 'has' : 'have'} a place in V2${gaps.length === 0 ? ', and nothing is missing' : ''}`;
  const parts = TITLES.flatMap(([kind, title]) => {
    const found = gaps.filter((gap) => gap.kind === kind);
    if (found.length === 0) return [];
    const groups = isWhole ? found.map((gap) => [gap]) : sameGaps(found);
    const places = groups.length === found.length ? '' : `, at ${count(found.length)} places`;
    return [`${title} (${groups.length}${places})`, ...groups.map((same) => gapLine(same, file))];
  });
  return `${[head, ...parts].join('\n')}\n`;
}
