import { DEFAULT_PREFIXES, Prefixes } from '../http/target.ts';
import { BodyKnowledge } from './body-knowledge.ts';
import { type DeclaredChange, operationContexts } from './declared-change.ts';
import { inverseHeaderRule, isInverse, resourceOf, whyNoInverse } from './inverse.ts';
import type { Report } from './kinds/book.ts';
import { ALL_BOOKS, bookOf, requestBookOf, responseBookOf } from './kinds/books.ts';
import {
  destinationFaults,
  destinationShape,
  matchQueryFault,
  matchQueryShape,
  parametersOf,
  type ParameterStep,
  partsOf,
  printDestination,
  readDestination,
  type StatusMapping,
  stepFaults,
} from './move.ts';
import { fieldFault } from './field-names.ts';
import type { RefusalForm } from './refusal-form.ts';
import { type SourceFault, type SourcePath, unknownOperation } from './rule-book-fault.ts';
import type { RuleBookSource } from './rule-book-source.ts';
import {
  isRewritten,
  canBeRewritten,
  mayHaveRules,
  type Change,
  type ClientField,
  type Operation,
  OperationTable,
  type Policies,
  type RuleBook,
  versionPlace,
  WEBHOOK_PATH,
  type RuleBookLimits,
} from './rule-book.ts';
import {
  type Path,
  printPath,
  readPath,
  readPrefix,
  type RequestRule,
  templateFault,
  templateShape,
} from './rule.ts';
import { kindOf, placedMembers } from './kinds/kinds.ts';
import { ERROR_FORMS, type ErrorForm } from './kinds/errors.ts';
import { beginsWith, isSamePath, mayBeSame } from './kinds/paths.ts';
import { keepsMember, namedMembers, whyWords } from './kinds/words.ts';

/** Maximum levels of nesting of a body with a rule for any depth, whose changes are printed level by level. */
const MAX_LEVELS_ANYWHERE = 1000;

/** Rules for any depth need a limit on the depth. */
export function depthFaults(
  changes: readonly DeclaredChange[],
  { depth }: RuleBookLimits,
): readonly SourceFault[] {
  const isAnywhere = changes.some(
    ({ change }) =>
      change.request.some((rule) => 'in' in rule && rule.in[0] === '**') ||
      change.response.some((rule) => 'path' in rule && rule.path[0] === '**'),
  );
  if (!isAnywhere || depth <= MAX_LEVELS_ANYWHERE) return [];
  const message = `limits.depth must be at most ${MAX_LEVELS_ANYWHERE} beside a rule with in: '**'`;
  return [{ path: ['limits', 'depth'], message }];
}

/** Checks each change on its own; the checks for stale rules cover how rules interact. */
export function checkChanges(
  changes: readonly DeclaredChange[],
  operations: ReadonlyMap<string, Operation>,
  /** Every id in the source, including those of faulty operations. */
  ids: ReadonlySet<string>,
): readonly SourceFault[] {
  const faults: SourceFault[] = [];
  const fault = (path: SourcePath, message: string, blame?: 'key'): void => {
    faults.push({ path, blame, message });
  };
  const seen = new Map<string, SourcePath>();
  for (const declared of changes) {
    const { change, path } = declared;
    if (seen.has(change.id)) {
      fault([...path, 'id'], `another change has the id "${change.id}" already; give this one another id`);
    }
    seen.set(change.id, path);
    if (!declared.hasRules)
      fault(path, `change "${change.id}" changes nothing; give it request, query, header or response rules`);
    checkOn(declared, operations, ids, fault);
    checkPolicies(declared, fault);
    const report: Report = (at, message, blame) => fault(at, `change "${change.id}": ${message}`, blame);
    for (const rule of declared.request) requestBookOf(rule.rule).faults?.(rule, report);
    checkInverse(declared, report);
    for (const rule of declared.query) bookOf(rule.rule).query?.faults?.(rule, report);
    for (const rule of [...declared.headers, ...declared.responseHeaders])
      bookOf(rule.rule).headers?.faults?.(rule, report);
    for (const { rule, path: at, values = [] } of declared.response)
      if (rule.rule !== 'inverse') responseBookOf(rule).faults?.({ rule, values }, at, report);
  }
  return faults;
}

/** `inverse` undoes the request rules of its own change, all at once. */
function checkInverse({ change, request, response }: DeclaredChange, fault: Report): void {
  const [inverse, again] = response.filter(({ rule }) => rule.rule === 'inverse');
  if (inverse === undefined) return;
  if (again !== undefined) {
    fault(again.path, 'inverse is in the list already; remove it');
  }
  const nests = request.some(({ rule }) => requestBookOf(rule).hasMembers === true);
  if (inverse.rule.rule === 'inverse' && inverse.rule.members !== undefined && !nests)
    fault(inverse.path, 'members is for a nest or a move, and this change has neither; remove it');
  if (request.some(({ rule }) => whyNoInverse(rule) === undefined)) return;
  const { headers = [] } = change;
  if (headers.some((rule) => inverseHeaderRule(rule) !== undefined)) return;
  const reasons = new Map<string, string | undefined>([
    ...change.request.map((rule) => [rule.rule, whyWords(rule)] as const),
    ...headers.map(({ rule }) => [rule, undefined] as const),
  ]);
  const whys = [...reasons].map(
    ([rule, reason]) => `${rule} has no inverse${reason === undefined ? '' : `, since ${reason}`}`,
  );
  const why = whys.length === 0 ? 'this change has no request rules' : whys.join('; ');
  fault(inverse.path, `inverse has nothing to undo: ${why}; remove it`);
}

/** The webhooks of a source, with the names of secrets as lists. */
export function readWebhooks(source: RuleBookSource['webhooks']): RuleBook['webhooks'] {
  if (source === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(source).map(([name, { sign, ...rest }]) => {
      return [name, { ...rest, sign: { ...sign, verify: [sign.verify].flat(), with: [sign.with].flat() } }];
    }),
  );
}

/** The prefixes of both versions; a rule book writes the root as a slash. */
export function readPrefixes({
  from = DEFAULT_PREFIXES.v1,
  to = DEFAULT_PREFIXES.v2,
}: Pick<RuleBookSource, 'from' | 'to'>): Pick<RuleBook, 'from' | 'alsoFrom' | 'to'> {
  const [first = '', ...others] = [from].flat().map(readPrefix);
  return { from: first, ...(others.length === 0 ? {} : { alsoFrom: others }), to: readPrefix(to) };
}

/** Reports repeated prefixes, and settings for requests without a prefix if there are none. */
export function prefixFaults({ from, other }: RuleBookSource, prefixes: Prefixes): readonly SourceFault[] {
  const list = typeof from === 'object' ? from : [];
  const twice = list.flatMap((prefix, at): readonly SourceFault[] =>
    list.indexOf(prefix) === at
      ? []
      : [{ path: ['from', at], message: `from has ${prefix} in the list already; remove it` }],
  );
  if (other !== 'pass' || !prefixes.hasRoot) return twice;
  const [key, version] = prefixes.v2 === '' ? ['to', 'V2'] : ['from', 'V1'];
  const message = `other: pass has no effect: ${key} is the root, and each request that is under no other prefix is ${version}'s; remove it`;
  return [...twice, { path: ['other'], message }];
}

/**
 * The faults of webhooks: an unknown operation, or one with a module, which deliveries do not call, and a path of a version. Under the
 * root, the path of a webhook must not be that of an operation.
 */
export function webhookFaults(
  { webhooks = {} }: RuleBookSource,
  prefixes: Prefixes,
  operations: ReadonlyMap<string, Operation>,
  ids: ReadonlySet<string>,
): readonly SourceFault[] {
  const faults: SourceFault[] = [];
  const table = new OperationTable([...operations.values()]);
  for (const [name, { as }] of Object.entries(webhooks)) {
    const path = `${WEBHOOK_PATH}/${name}`;
    const prefix = prefixes.find(path);
    const taken = prefix?.version === 'v1' ? table.match('POST', path.slice(prefix.text.length)) : undefined;
    const isApi = prefix !== undefined && prefix.text !== '';
    if (isApi || taken !== undefined)
      faults.push({
        path: ['webhooks', name],
        blame: 'key',
        message: `webhook "${name}": V2 would post to ${path}, which is ${isApi ? `under a prefix of the API; webhooks need prefixes other than ${WEBHOOK_PATH}` : `the path of operation "${taken?.id ?? ''}"; give it another name`}`,
      });
    if (as === undefined) continue;
    const fault = (message: string): void => {
      faults.push({
        path: ['webhooks', name, 'as'],
        message: `webhook "${name}": ${message}`,
      });
    };
    if (!ids.has(as)) {
      fault(`operation "${as}" ${unknownOperation(as, ids, 'remove as')}`);
    } else if (operations.get(as)?.transform !== undefined)
      fault(`operation "${as}" has a transform, and deliveries run none; name an operation without one`);
  }
  return faults;
}

function checkOn(
  { change, path }: DeclaredChange,
  operations: ReadonlyMap<string, Operation>,
  ids: ReadonlySet<string>,
  fault: Report,
): void {
  if (change.on === 'every') return;
  const seen = new Set<string>();
  for (const [index, id] of change.on.entries()) {
    const at = [...path, 'on', index];
    const label = `change "${change.id}": operation "${id}"`;
    if (seen.has(id)) fault(at, `${label} is in the list already; remove it`);
    seen.add(id);
    if (id === 'every' && !ids.has(id)) {
      fault(at, `change "${change.id}": "every" cannot be in a list; write on: every`);
      continue;
    }
    if (!ids.has(id)) {
      fault(at, `${label} ${unknownOperation(id, ids)}`);
      continue;
    }
    const { method, gone } = operations.get(id) ?? {};
    if (method === undefined) continue;
    if (gone !== undefined) {
      fault(at, `${label} is gone, so no rule applies to it; remove it`);
      continue;
    }
    // The operation is listed because of the query rules.
    if (
      change.request.length > 0 &&
      change.query === undefined &&
      change.headers === undefined &&
      !mayHaveRules(method)
    ) {
      fault(at, `${label} is ${method}, whose bodies are not rewritten; remove it`);
    }
    if (change.response.length > 0 && method === 'HEAD') {
      fault(at, `${label} is HEAD, whose responses have no body to rewrite; remove it`);
    }
  }
}

/** A policy has an effect only if the change has a rule that uses it. */
function checkPolicies({ change, path }: DeclaredChange, fault: Report): void {
  for (const policy of Object.keys(change.policies)) {
    const rules = rulesWith(policy);
    if (change.request.some(({ rule }) => rules.includes(rule))) continue;
    if (
      policy === 'conflict' &&
      change.headers?.some((rule) => bookOf(rule).headers?.hasConflict === true) === true
    )
      continue;
    const message = `change "${change.id}": the policy ${policy} is for ${rules.join(', ')}, and this change has none; remove it`;
    fault([...path, 'policies', policy], message, 'key');
  }
}

/** The names of the rules that use a policy; any rule uses `duplicate`. */
function rulesWith(policy: string): readonly string[] {
  const all = [...ALL_BOOKS].filter(([, { request }]) => request !== undefined);
  const users = all.filter(
    ([, { request }]) => policy === 'duplicate' || request?.policies?.some((one) => one === policy) === true,
  );
  return users.map(([rule]) => rule);
}

/** Reads the operations of a source, in order, without those with a faulty template. */
export function checkOperations(
  source: RuleBookSource['operations'] = {},
  prefixes: Prefixes = DEFAULT_PREFIXES,
): {
  readonly operations: readonly Operation[];
  readonly faults: readonly SourceFault[];
} {
  const operations: Operation[] = [];
  const faults: SourceFault[] = [];
  const shapes = new Map<string, string>();
  const ids = new Set(Object.keys(source));
  for (const [id, declared] of Object.entries(source)) {
    const entry: OperationEntry = typeof declared === 'string' ? { match: declared } : declared;
    const { match, assumed = false, resource, transform } = entry;
    const { method, path: template, query: written } = partsOf(match);
    const path = typeof declared === 'string' ? ['operations', id] : ['operations', id, 'match'];
    const embeds = Object.entries(entry.embeds ?? {});
    for (const [at, writer] of embeds) {
      if (ids.has(writer)) continue;
      const message = `operation "${id}": "${writer}" ${unknownOperation(writer, ids)}`;
      faults.push({ path: ['operations', id, 'embeds', at], message });
    }
    const inPath = templateFault(template, prefixes);
    const fault = inPath ?? (written === undefined ? undefined : matchQueryFault(written, template));
    if (fault !== undefined) {
      const what = inPath === undefined ? match.slice(method.length + 1) : template;
      faults.push({ path, message: `operation "${id}": the path ${JSON.stringify(what)} ${fault}` });
      continue;
    }
    const { query } = readDestination(match);
    const moved = moveOf(id, entry, { method, template, query }, prefixes.v2);
    faults.push(...moved.faults, ...goneFaults(id, entry));
    const shape = `${method} ${templateShape(template)} ${matchQueryShape(query)}`;
    const other = shapes.get(shape);
    if (other !== undefined) {
      const message = `operation "${id}": ${match} matches the same requests as "${other}"; remove one of them`;
      faults.push({ path, message });
      continue;
    }
    shapes.set(shape, id);
    operations.push({
      id,
      method,
      template,
      ...(query.length === 0 ? {} : { query }),
      assumed,
      ...moved.move,
      ...(entry.gone === undefined ? {} : { gone: entry.gone }),
      ...(resource === undefined ? {} : { resource: readResource(resource) }),
      ...(embeds.length === 0
        ? {}
        : { embeds: embeds.map(([at, operation]) => ({ path: readPath(at), operation })) }),
      ...(transform === undefined ? {} : { transform }),
    });
  }
  return { operations, faults };
}

type OperationEntry = Exclude<NonNullable<RuleBookSource['operations']>[string], string>;

/** Keys that have no effect for an operation that V2 does not have. */
function goneFaults(id: string, entry: OperationEntry): readonly SourceFault[] {
  if (entry.gone === undefined) return [];
  return (['to', 'parameters', 'status', 'resource', 'embeds', 'transform'] as const).flatMap((key) =>
    entry[key] === undefined
      ? []
      : [
          {
            path: ['operations', id, key],
            blame: 'key' as const,
            message: `operation "${id}": ${key} has no effect beside gone: V2 never gets its requests; remove one of the two`,
          },
        ],
  );
}

/** V2's place of an operation, and its statuses, without faulty parts. */
function moveOf(
  id: string,
  { to, status, parameters = [] }: OperationEntry,
  match: Pick<Operation, 'method' | 'template'> & Required<Pick<Operation, 'query'>>,
  prefix: string,
): { readonly move: Pick<Operation, 'to' | 'status'>; readonly faults: readonly SourceFault[] } {
  const faults: SourceFault[] = [];
  const steps = parameters.map(readStep);
  const stepsAt = ['operations', id, 'parameters'];
  if (to === undefined && steps.length > 0)
    faults.push({
      path: stepsAt,
      blame: 'key',
      message: `operation "${id}": parameters has no effect without to; add to, or remove it`,
    });
  for (const [at, fault] of stepFaults(steps, parametersOf(match)))
    faults.push({ path: [...stepsAt, at], message: `operation "${id}": parameters[${at}] ${fault}` });
  const wrong = to === undefined ? [] : destinationFaults(to, { ...match, steps }, prefix);
  for (const fault of wrong) {
    const message = `operation "${id}": to ${JSON.stringify(to)} ${fault}`;
    faults.push({ path: ['operations', id, 'to'], message });
  }
  const mappings = Object.entries(status ?? {}).map(([from, mapped]) => ({ from: Number(from), to: mapped }));
  for (const mapping of mappings) {
    const fault = statusFault(mapping);
    if (fault === undefined) continue;
    const message = `operation "${id}": status ${mapping.from}: ${mapping.to} ${fault}`;
    faults.push({ path: ['operations', id, 'status', String(mapping.from)], message });
  }
  return {
    move: {
      ...(to === undefined || wrong.length > 0
        ? {}
        : { to: { ...readDestination(to), ...(steps.length === 0 ? {} : { steps }) } }),
      ...(mappings.length === 0 ? {} : { status: mappings }),
    },
    faults,
  };
}

function readStep(source: NonNullable<OperationEntry['parameters']>[number]): ParameterStep {
  if ('split' in source) {
    const { split: parameter, to, with: separator, at = 'last' } = source;
    return { rule: 'split', parameter, to, with: separator, at };
  }
  if ('map' in source) {
    const values = Object.entries(source.map).map(([from, to]) => ({ from, to }));
    return { rule: 'map', parameter: source.of, values };
  }
  return 'prefix' in source
    ? { rule: 'prefix', parameter: source.prefix, with: source.with }
    : { rule: 'unprefix', parameter: source.unprefix, with: source.with };
}

function statusFault({ from, to }: StatusMapping): string | undefined {
  if (from === to) return 'maps the status to itself; remove it';
  // 304 says that the client's copy is current (RFC 9110 §15.4.5), and has no body.
  if (from === 304 || to === 304)
    return 'concerns 304, which is about the copy that the client has; remove it';
  return undefined;
}

/** Reads the form of V2's errors; undefined if the book names none. */
export function readErrorForm(source: RuleBookSource['errors']): ErrorForm | undefined {
  if (source === undefined) return undefined;
  if (typeof source === 'string') return ERROR_FORMS[source];
  const as = source.as === undefined ? {} : { as: source.as };
  if ('form' in source) return { ...ERROR_FORMS[source.form], ...as };
  const { list, pointer, text = [] } = source;
  const names = text.map((name) => readPath(name)[0] ?? '');
  return { list: readPath(list), pointer: readPath(pointer), text: names, about: [], ...as };
}

/** Reads the form of the gateway's own errors; undefined if the book names none. */
export function readRefusalForm(source: RuleBookSource['refusals']): RefusalForm | undefined {
  if (source === undefined || source === 'json-api') return undefined;
  return typeof source === 'string' ? source : { type: 'application/json', ...source };
}

/** Browsers write the host of an origin in lower case and no default port, and refuse an asterisk with cookies. */
export function corsFaults(source: RuleBookSource['cors']): readonly SourceFault[] {
  if (source === undefined) return [];
  const { origins, credentials } = source;
  const faults = origins.flatMap((origin, at): SourceFault[] => {
    const read = origin === '*' ? origin : URL.parse(origin)?.origin;
    if (read === origin) return [];
    const message = `cors.origins: browsers write ${origin} as ${read ?? 'nothing'}; write the same here`;
    return [{ path: ['cors', 'origins', at], message }];
  });
  if (credentials !== true || !origins.includes('*')) return faults;
  const message = 'cors.credentials: browsers refuse * for requests with cookies; list the origins';
  return [...faults, { path: ['cors', 'credentials'], message }];
}

/** Reads the place of clients' keys; undefined if the book names none. */
export function readClientField(source: RuleBookSource['client']): ClientField | undefined {
  if (source === undefined) return undefined;
  return 'header' in source && source.header.toLowerCase() === 'authorization' ? undefined : source;
}

/** A key in a field that never reaches V2, or that clients share, would not identify a client. */
export function clientFieldFaults(source: RuleBookSource['client']): readonly SourceFault[] {
  if (source === undefined || !('header' in source)) return [];
  const lower = source.header.toLowerCase();
  const fault =
    lower === 'accept' || lower === 'user-agent' || lower === 'cookie'
      ? "is not a client's key; name the field that has it"
      : fieldFault(source.header);
  if (fault === undefined) return [];
  return [
    {
      path: ['client', 'header'],
      message: `client.header ${JSON.stringify(source.header)} ${fault}`,
    },
  ];
}

/** Parses the path of a resource; an empty text is the body itself. */
export function readResource(text: string): Path {
  return text === '' ? [] : readPath(text);
}

/** Warnings about effects that a V1 client may notice although the rule book is valid: one sentence each, with the remedy; `v2Reads` are the paths that V2's description reads. */
export function ruleBookWarnings(book: RuleBook, v2Reads?: readonly string[]): readonly string[] {
  const { changes, operations, policies } = book;
  const contexts = operationContexts(
    changes.map((change) => ({ change })),
    operations,
  );
  const chains = contexts.flatMap((context) => {
    return lossyChains(
      context.changes.map(({ change }) => change),
      policies,
    );
  });
  return [
    ...new Set(chains),
    ...versionWarnings(book),
    ...moveWarnings(operations),
    ...changes.flatMap((change) => queryWarnings(change)),
    ...opaqueShapes(operations),
    ...changes.flatMap((change) => withoutInverse(change)),
    ...changes.flatMap((change) => inexactInverses(change)),
    ...changes.flatMap((change) => partialJoins(change, operations)),
    ...operations.flatMap((operation) => unreadResource(operation, book, v2Reads)),
    ...changes.flatMap((change) => unreachedResponses(change, operations)),
  ];
}

/** The bodies that a module returns cannot be derived from the rules: one warning for each module. */
function opaqueShapes(operations: readonly Operation[]): readonly string[] {
  const users = Map.groupBy(
    operations.filter(({ transform }) => transform !== undefined),
    ({ transform = '' }) => transform,
  );
  return [...users].map(([transform, all]) => {
    const [word, it] = all.length === 1 ? ['operation', 'it'] : ['operations', 'them'];
    const named = all.slice(0, MAX_NAMED).map(({ id }) => `"${id}"`);
    const more = all.length > MAX_NAMED ? ` and ${all.length - MAX_NAMED} more` : '';
    return `${word} ${named.join(', ')}${more}: the bodies that ${transform} returns cannot be derived, so V1's description has the shapes that the rules alone give; test ${it} with cases`;
  });
}

/** Warnings about queries that rules may miss. */
function queryWarnings({ id, query = [] }: Change): readonly string[] {
  return query.flatMap((rule) => {
    const warning = bookOf(rule).query?.warning?.(rule);
    return warning === undefined ? [] : [`change "${id}": ${warning}`];
  });
}

/** Warnings about values that are not declared as V1's, if only the value distinguishes the versions. */
function versionWarnings(book: RuleBook): readonly string[] {
  const { from, alsoFrom, to, version = '', versionField } = book;
  const { isShared } = new Prefixes(from, to, alsoFrom);
  if (!isShared || versionField === undefined) return [];
  const { form, v1 } = versionField;
  if (form === 'date')
    return v1 === undefined
      ? []
      : [
          `version: requests with a day in ${versionPlace(book)} before ${version} that v1 does not list are V2's, and pass unchanged; list every release of V1 under v1, or leave v1 out: then all before ${version} are V1's`,
        ];
  if (v1 !== undefined) return [];
  return [
    `version: requests with any ${versionPlace(book)} but ${JSON.stringify(version)} are migrated as V1's, even those of a release after it; list V1's values under v1: then every other is V2's`,
  ];
}

/** Warnings about moved operations: bodies that V2 does not read, and links that lead elsewhere or nowhere. */
function moveWarnings(operations: readonly Operation[]): readonly string[] {
  const byShape = new Map<string, string>();
  return operations.flatMap(({ id, method, template, query, to }) => {
    if (to === undefined) return [];
    const printed = printDestination(to);
    const warnings: string[] = [];
    const shape = destinationShape(to);
    const first = byShape.get(shape);
    if (first === undefined) byShape.set(shape, id);
    else
      warnings.push(
        `operations "${first}" and "${id}" lead to the same requests: links to ${printed} lead V1 clients to "${first}", which comes first`,
      );
    const used = new Set(
      [...to.path, ...to.query.map(({ value }) => value)].map(({ parameter }) => parameter),
    );
    for (const step of to.steps?.toReversed() ?? [])
      if ('to' in step && step.to.every((name) => used.has(name))) used.add(step.parameter);
    const lost = parametersOf({ template, ...(query === undefined ? {} : { query }) }).filter(
      (name) => !used.has(name),
    );
    if (lost.length > 0)
      warnings.push(
        `operation "${id}": ${printed} lacks ${lost.map((name) => `{${name}}`).join(' and ')}: links to it cannot lead back to ${method} ${template}`,
      );
    if (canBeRewritten(method) && !canBeRewritten(to.method) && to.method !== 'QUERY')
      warnings.push(
        `operation "${id}": ${method} becomes ${to.method}, which has no use for a body (RFC 9110 §9.3.1), so the gateway drops a request's body`,
      );
    return warnings;
  });
}

/** How far responses restore what a change does to bodies; `losses` says how they may differ from V1's. */
export interface Undoing {
  readonly inverse: 'exact' | 'inexact' | 'one-way';
  readonly losses: readonly string[];
}

/**
 * Returns how far responses restore what the request rules of a change do to bodies; undefined if it has none, or has response rules. An
 * exact inverse restores all V1 bodies: V2's new names and values do not occur in V1.
 */
export function undoingOf(change: Change): Undoing | undefined {
  if (change.request.every((rule) => kindOf(rule).unwraps !== undefined)) return undefined;
  if (!isInverse(change))
    return change.response.length > 0 ? undefined : { inverse: 'one-way', losses: withoutInverse(change) };
  const losses = [...withoutInverse(change), ...inexactInverses(change)];
  return { inverse: losses.length === 0 ? 'exact' : 'inexact', losses };
}

/** V1 returned these members as stored; V2 never got them, so that no response rule can restore them. */
function withoutInverse({ id, request }: Change): readonly string[] {
  return request.flatMap((rule) => {
    return (requestBookOf(rule).lost?.(rule) ?? []).map((loss) => `change "${id}": ${loss}`);
  });
}

/** How a response may differ from V1's although the change is undone: all other rules are exact. */
function inexactInverses(change: Change): readonly string[] {
  if (!isInverse(change)) return [];
  return change.request.flatMap((rule) => {
    return (requestBookOf(rule).inexact?.(rule) ?? []).map((loss) => `change "${change.id}": ${loss}`);
  });
}

/** A PATCH changes only what it names (RFC 5789 §2), but a joined value made from some of the members replaces the whole value. */
function partialJoins({ id, on, request }: Change, operations: readonly Operation[]): readonly string[] {
  const patch = operations.find((one) => one.method === 'PATCH' && (on === 'every' || on.includes(one.id)));
  if (patch === undefined) return [];
  return request.flatMap((rule) => {
    const loss = requestBookOf(rule).patched?.(rule);
    if (loss === undefined) return [];
    return `change "${id}": a PATCH of "${patch.id}" ${loss}, so V2 loses the others; clients have to send all of them`;
  });
}

function unreadResource(
  operation: Operation,
  { operations, changes }: RuleBook,
  v2Reads: readonly string[] | undefined,
): readonly string[] {
  const { id } = operation;
  const isWritten = changes.some(
    (change) =>
      change.on !== 'every' &&
      change.on.includes(id) &&
      isInverse(change) &&
      change.request.some((rule) => whyNoInverse(rule) === undefined),
  );
  if (!isWritten) return [];
  const resource = resourceOf(operation);
  if (operations.some((other) => other.method === 'GET' && resourceOf(other) === resource)) return [];
  const read = v2Reads?.find((template) => resourceOf({ template }) === resource);
  // A resource without a read at V2 needs none here.
  if (v2Reads !== undefined && read === undefined) return [];
  return [
    `operation "${id}" writes a resource that no operation reads back: reads of it are in V2's shape; ${read === undefined ? `if V2 has GET ${resource}, declare it` : `declare GET ${read}`}`,
  ];
}

/** Response rules about the request, or about errors that quote it: other responses contain nothing for them. */
const OF_REQUEST: ReadonlySet<string> = new Set(['inverse', 'errors', 'deprecations']);
const MAX_NAMED = 3;

/** Response rules `on: every` of a book in which other operations have responses as well: these rules apply only to POST and PATCH. */
function unreachedResponses(
  { id, on, response }: Change,
  operations: readonly Operation[],
): readonly string[] {
  if (on !== 'every' || response.every(({ rule }) => OF_REQUEST.has(rule))) return [];
  const left = operations.filter(({ method, gone }) => !isRewritten(method) && gone === undefined);
  if (left.length === 0) return [];
  const named = left.slice(0, MAX_NAMED).map((operation) => `"${operation.id}"`);
  return [
    `change "${id}": on: every means POST and PATCH for its response rules, so they do not reach the responses of ${named.join(', ')}${left.length > MAX_NAMED ? ' and others' : ''}; name the operations in on`,
  ];
}

/** A rename whose new name the body may already have had, and where that name is now. */
interface GivenName {
  readonly change: string;
  readonly how: string;
  readonly from: Path;
  readonly to: Path;
  at: Path;
}

/**
 * Finds renames to a name that a later rule handles. The rename would replace a V1 member with that name, but the later rule shows that
 * the two are different members. A name that an earlier rule has freed is fine.
 */
function lossyChains(changes: readonly Change[], policies: Policies): readonly string[] {
  const knowledge = new BodyKnowledge();
  const given: GivenName[] = [];
  const warnings: string[] = [];
  for (const { id, request, policies: own } of changes) {
    const { conflict, flat } = { ...policies, ...own };
    for (const rule of request) {
      for (const name of given) {
        const fate = fateOf(rule, name.at);
        if (fate !== undefined) warnings.push(lossWords(name, rule, `change "${id}" ${fate}`));
      }
      follow(rule, given);
      if (conflict === 'v1') given.push(...givenNames(id, rule, knowledge));
      knowledge.apply(rule, id, flat === 'migrate');
    }
  }
  return warnings;
}

/** The names that a rule gives, if a body may have both the old and the new one. */
function givenNames(change: string, rule: RequestRule, knowledge: BodyKnowledge): readonly GivenName[] {
  const { gives: how } = requestBookOf(rule);
  if (how === undefined) return [];
  const named = pathsIn(rule, namedMembers(rule));
  const [from = []] = named;
  if (named.every((path) => knowledge.isEmptyAt(path))) return [];
  return pathsIn(rule, placedMembers(rule))
    .filter((to) => !named.some((path) => mayBeSame(path, to)) && !knowledge.isEmptyAt(to))
    .map((to) => ({ change, how, from, to, at: to }));
}

/** The paths from a rule's objects, as paths from the body. */
function pathsIn(rule: RequestRule, paths: readonly Path[]): readonly Path[] {
  return 'in' in rule ? paths.map((path) => [...rule.in, ...path]) : paths;
}

/** The effect of a rule on the member at `path`, in words; undefined if the member keeps its name. */
function fateOf(rule: RequestRule, path: Path): string | undefined {
  if (!('in' in rule)) return undefined;
  const { fate, gives, keepsNamed } = requestBookOf(rule);
  const named = pathsIn(rule, namedMembers(rule));
  const isNamed = named.some((one) => mayBeSame(one, path));
  if (keepsNamed === true)
    return isNamed || !isSamePath(rule.in, path.slice(0, -1)) ? undefined : fate?.(rule);
  const placed = pathsIn(rule, placedMembers(rule));
  const [to] = placed;
  if (isNamed && !keepsMember(rule.rule)) {
    if (fate !== undefined) return fate(rule);
    if (to !== undefined && !mayBeSame(to, path)) return `then moves to ${printPath(to)}`;
  }
  const isGiven = gives !== undefined && !isNamed && placed.some((one) => mayBeSame(one, path));
  return isGiven ? `also gives to ${printPath(named[0] ?? [])}` : undefined;
}

function lossWords(
  { change, how, from: old, to: given, at }: GivenName,
  rule: RequestRule,
  fate: string,
): string {
  const [from, to] = [printPath(old), printPath(given)];
  const remedy =
    requestBookOf(rule).apart?.(rule, old, at) ??
    'let each rule name the V1 member that it is for, those that free a name first';
  return `change "${change}": ${from} is ${how} to ${to}, which ${fate}: a request that has ${to} as well loses it; ${remedy}`;
}

/** Updates the names with the objects that contain them. */
function follow(rule: RequestRule, given: readonly GivenName[]): void {
  const wrapper = kindOf(rule).unwraps?.(rule);
  const placed = pathsIn(rule, placedMembers(rule));
  for (const name of given) {
    const { at } = name;
    if (wrapper !== undefined && at[0] === wrapper) name.at = at.slice(1);
    if (wrapper !== undefined || keepsMember(rule.rule)) continue;
    for (const [index, from] of pathsIn(rule, namedMembers(rule)).entries()) {
      const to = placed[index] ?? placed[0];
      if (to === undefined || !beginsWith(at, from)) continue;
      name.at = [...to, ...at.slice(from.length)];
      break;
    }
  }
}
