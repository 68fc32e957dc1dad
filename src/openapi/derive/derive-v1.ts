import { InverseIndex } from '../../rules/inverse.ts';
import type { Operation, RuleBook } from '../../rules/rule-book.ts';
import { templateFault, templateShape } from '../../rules/template.ts';
import { Components } from '../components.ts';
import { deriveOperation, withoutVersionParameter } from './derive-operation.ts';
import { below, type Description, followed, METHODS, operationsOf } from '../description.ts';
import { changesOf, type InverseEdit, requestEdits, responseEdits } from './inverse-edits.ts';
import { editMembers, elementsOf, isObject, type JsonObject, memberOf, objectIn } from '../json-object.ts';
import { nameComponents } from './name-components.ts';

/** V1's description, as derived from V2's. */
export interface DerivedDescription {
  readonly description: Description;
  /** False when schemas refer to each other so deeply that some were not read; the notes name them. */
  readonly isComplete: boolean;
  /** What the derivation could not express or did not find, one sentence each. */
  readonly notes: readonly string[];
}

/** The rule book, as far as a description depends on it. */
export type DerivationRules = Pick<RuleBook, 'version' | 'hash' | 'operations' | 'changes'>;

/**
 * Derives V1's description from V2's: each request rule is undone in the schemas of its operations, and each response rule is
 * applied. Every part that differs because of a change has its id in `x-change`; the prefix and the version header, which differ
 * everywhere, have no mark. `serverOf` returns the address for V1 clients of a server that V2 names.
 */
export function deriveV1(
  v2: Description,
  rules: DerivationRules,
  serverOf: (url: string) => string = v1Url,
): DerivedDescription {
  const components = new Components(v2);
  const finder = new OperationFinder(rules.operations);
  const inverse = new InverseIndex(rules.operations, rules.changes);
  const found = new Map<string, boolean>();
  const derive = (method: string, path: string, operation: JsonObject): JsonObject => {
    const named = finder.find(method, path);
    const changes = changesOf(rules.changes, method, named);
    const request = requestEdits(changes);
    const response = responseEdits(changes, inverse.of(named));
    for (const edit of [...request, ...response]) {
      if (edit.words !== undefined) found.set(keyOf(edit), found.get(keyOf(edit)) ?? false);
    }
    const onApplied = (edit: InverseEdit): void => {
      if (edit.words !== undefined) found.set(keyOf(edit), true);
    };
    return deriveOperation(operation, { description: v2, components, request, response, changes, onApplied });
  };
  const paths = editMembers(objectIn(v2, 'paths'), (path, declared) => {
    const item = followed(v2, declared);
    if (!isObject(item)) return [[path, declared]];
    const rest = below(path, '/api/v2');
    const derived = editMembers(withoutVersionParameter(item, v2), (name, value) => {
      const isMethod = METHODS.some((method) => method === name) && isObject(value);
      return [[name, isMethod ? derive(name.toUpperCase(), rest ?? path, value) : value]];
    });
    return [[rest === undefined ? path : `/api/v1${rest === '/' ? '' : rest}`, derived]];
  });
  const named = nameComponents(v2, { ...v2, paths }, components);
  const description = withHead(named, rules, serverOf);
  const isComplete = components.skipped.size === 0;
  return { description, isComplete, notes: [...notes(v2, components), ...missing(found)] };
}

/** Finds the operation of the rule book for a path template of a description, whatever the names of its parameters. */
class OperationFinder {
  private readonly byShape: ReadonlyMap<string, Operation>;

  constructor(operations: readonly Operation[]) {
    this.byShape = new Map(
      operations.map((operation) => [`${operation.method} ${templateShape(operation.template)}`, operation]),
    );
  }

  find(method: string, path: string): Operation | undefined {
    const template = path.replace(/(?:\.json|\/)$/, '') || '/';
    return templateFault(template) === undefined
      ? this.byShape.get(`${method} ${templateShape(template)}`)
      : undefined;
  }
}

function withHead(
  description: Description,
  rules: DerivationRules,
  serverOf: (url: string) => string,
): Description {
  const { openapi, info, servers, ...rest } = description;
  const title = memberOf(info, 'title');
  return {
    openapi,
    info: {
      ...(isObject(info) ? info : {}),
      ...(typeof title === 'string' ? { title: title.replace(/\bV2\b/i, 'V1') } : {}),
      'x-derived-from': { release: rules.version, 'rule-book': rules.hash },
    },
    ...(servers === undefined
      ? {}
      : { servers: elementsOf(servers).map((server) => v1Server(server, serverOf)) }),
    ...rest,
  };
}

function v1Server(server: unknown, serverOf: (url: string) => string): unknown {
  const url = memberOf(server, 'url');
  return isObject(server) && typeof url === 'string' ? { ...server, url: serverOf(url) } : server;
}

/** The address with the prefix of V1, if it has that of V2. */
export function v1Url(url: string): string {
  return url.replace(/\/api\/v2(?=\/|$)/, '/api/v1');
}

function keyOf({ change, path, words }: InverseEdit): string {
  return JSON.stringify([change, path, words]);
}

function missing(found: ReadonlyMap<string, boolean>): readonly string[] {
  return [...found].flatMap(([key, isFound]) => {
    if (isFound) return [];
    const [change, , words]: [string, unknown, string] = JSON.parse(key);
    return [`change "${change}": V2's description shows no place for its ${words}`];
  });
}

function notes(v2: Description, components: Components): readonly string[] {
  const isBelow = operationsOf(v2, '/api/v2').some(({ path, rest }) => path !== rest);
  const servers = elementsOf(v2['servers']).map((server) => memberOf(server, 'url'));
  const isServed = servers.some((url) => typeof url === 'string' && v1Url(url) !== url);
  const foreign = [...components.foreign].map(
    (reference) => `${reference} is in another document and was not read`,
  );
  const skipped = [...components.skipped].map(
    (reference) => `too many references lead to ${reference}, which was not read there`,
  );
  return isBelow || isServed
    ? [...foreign, ...skipped]
    : [
        'neither a path nor a server of the description is below /api/v2; its paths are taken as relative to it',
        ...foreign,
        ...skipped,
      ];
}
