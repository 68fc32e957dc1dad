import { pointerToken } from '../json/pointer.ts';
import type { Operation, OperationTable } from '../rules/rule-book.ts';
import { templateFault } from '../rules/rule.ts';
import {
  type DescribedOperation,
  describedOperations,
  type Description,
  followed,
  isObject,
  jsonMediaIn,
  type JsonObject,
  memberOf,
  METHODS,
  objectIn,
  tableOf,
  templateOf,
} from './description.ts';
import { SchemaChecks, type SchemaFault, TooMuchWork } from './schema-checks.ts';

/** The result of checking a body against V2's schema; `why` is the reason for an unknown one. */
export type BodyVerdict =
  | { readonly v2: 'valid' }
  /** `at` is the RFC 6901 pointer to the first member at fault, which may be a missing one. */
  | { readonly v2: 'invalid'; readonly at: string }
  | { readonly v2: 'unknown'; readonly why: 'no-schema' | 'unusable-schema' | 'not-json' | 'too-slow' };

/**
 * Maximum steps of one check of a client's body, which take some milliseconds. A step is one schema, member or state of a pattern. Steps
 * are counted instead of time, so that the verdict depends on the body alone, and because clocks of edge runtimes stand still while code
 * runs.
 */
const MAX_STEPS = 500_000;

/** Maximum steps of one check that an operator runs. */
const MAX_OFFLINE_STEPS = 50_000_000;

/** Methods whose bodies are checked. */
const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** Maximum paths, and maximum keywords, that warnings name. */
const MAX_NAMED = 5;

type Schema = ReturnType<SchemaChecks['compile']>;

/** The schema of a body in one media type of JSON. */
interface MediaSchema {
  /** The media type or range in the description, in lower case and without parameters. */
  readonly media: string;
  readonly schema: Schema;
}

/** The schemas of all operations; for each, that of the most specific media type comes first. */
interface CompiledSchemas {
  readonly byOperation: ReadonlyMap<string, readonly MediaSchema[]>;
  readonly checks: SchemaChecks;
}

/** The facts about a request whose body is checked, from the rule book and the client. */
export interface CheckedRequest {
  /** All operations of the rule book. */
  readonly operations: readonly Operation[];
  /** The operation of the request; undefined if the rule book does not name it. */
  readonly operation: Operation | undefined;
  /** The value of `Content-Type`; undefined for JSON. */
  readonly mediaType: string | undefined;
}

/** Checks bodies against the request schemas of V2's description, see {@link SchemaChecks}. */
export class BodySchemas {
  /** The description that they are in. */
  readonly description: Description;
  private readonly operations: ReadonlyMap<string, DescribedOperation>;
  private readonly table: OperationTable;
  /** The results of `isUndescribed`, by the operations of the rule book. */
  private readonly undescribed = new WeakMap<readonly Operation[], boolean>();
  private compiled: CompiledSchemas | undefined = undefined;

  constructor(description: Description) {
    this.description = description;
    const operations = describedOperations(description, 'v2');
    this.operations = new Map(operations.map((operation, at) => [String(at), operation]));
    this.table = tableOf(operations);
  }

  /**
   * Returns whether V2 accepts a body sent to the path `rest` below the version, and where its first fault is. Never throws. Without
   * `request`, the operation is found by the path alone.
   */
  verdictOf(method: string, rest: string, body: Uint8Array, request?: CheckedRequest): BodyVerdict {
    try {
      const schema = this.schemaFor(method, rest, request);
      if (schema === undefined) return { v2: 'unknown', why: 'no-schema' };
      const value = jsonValue(body);
      if (value === undefined) return { v2: 'unknown', why: 'not-json' };
      const { isValid, faults } = schema(value, MAX_STEPS);
      return isValid ? { v2: 'valid' } : { v2: 'invalid', at: faults[0]?.at ?? '' };
    } catch (error) {
      return { v2: 'unknown', why: error instanceof TooMuchWork ? 'too-slow' : 'unusable-schema' };
    }
  }

  /** Returns the innermost reasons why V2 refuses the body; undefined if V2 describes no such operation, or no schema for it. */
  faultsOf(method: string, rest: string, body: unknown): readonly SchemaFault[] | undefined {
    return this.schemasOf(method, rest)?.[0]?.schema(body, MAX_OFFLINE_STEPS).faults;
  }

  /** Compiles all schemas, which takes milliseconds. Without this call, the first check compiles them. */
  prepare(): void {
    this.compiled ??= this.compile();
  }

  /** Like `prepare`, with a pause after each operation, so that other work can run: a large description takes half a second. */
  async prepareInTurns(pause: () => Promise<void>): Promise<void> {
    const steps = this.compiling();
    for (;;) {
      await pause();
      const { done, value } = steps.next();
      if (done !== true) continue;
      this.compiled = value;
      return;
    }
  }

  /**
   * Returns a sentence for each part that is not checked in bodies of these operations: a path or a keyword that cannot be used, or all
   * bodies, if the description and the rule book have no operation in common.
   */
  warnings(operations: readonly Operation[]): readonly string[] {
    const { byOperation, checks } = (this.compiled ??= this.compile());
    const unread = [...this.operations.values()].flatMap((operation) => {
      const fault = templateOf(operation) === undefined ? templateFault(operation.rest) : undefined;
      return fault === undefined
        ? []
        : [`No request matches the path ${operation.path} of V2's description: it ${fault}.`];
    });
    const { leftOut } = checks;
    const named = leftOut
      .slice(0, MAX_NAMED)
      .map(({ at, why }) => `Bodies are checked against V2's description without ${at}: ${why}.`);
    const more = leftOut.length - named.length;
    return [
      ...this.matchWarnings(byOperation, operations),
      ...[...new Set(unread)].slice(0, MAX_NAMED),
      ...named,
      ...(more > 0
        ? [
            `Bodies are checked against V2's description without ${more} further ${more === 1 ? 'keyword' : 'keywords'} that cannot be used.`,
          ]
        : []),
    ];
  }

  private matchWarnings(
    byOperation: ReadonlyMap<string, readonly MediaSchema[]>,
    operations: readonly Operation[],
  ): readonly string[] {
    const end = 'So no body is checked: each verdict is "unknown".';
    if (byOperation.size === 0)
      return [`V2's description has no operation with a JSON body and a schema. ${end}`];
    if (!this.isUndescribed(operations)) return [];
    const first = this.operations.get([...byOperation.keys()][0] ?? '');
    const write = operations.find(({ method }) => WRITES.has(method));
    const example = `it has ${first?.method} ${first?.rest} (${first?.path}), for example, and the rule book ${write?.method} ${write?.template}`;
    return [
      `No operation of the rule book is in V2's description with a JSON body: ${example}. ${end} Compare the paths and servers of the description with the rule book.`,
    ];
  }

  /** True if the description has none of the rule book's writes: it then describes another API, even if some paths match. */
  private isUndescribed(operations: readonly Operation[]): boolean {
    const known = this.undescribed.get(operations);
    if (known !== undefined) return known;
    const writes = operations.filter(({ method }) => WRITES.has(method));
    const isUndescribed = writes.length > 0 && !writes.some((write) => this.schemasAt(write) !== undefined);
    this.undescribed.set(operations, isUndescribed);
    return isUndescribed;
  }

  private schemaFor(method: string, rest: string, request?: CheckedRequest): Schema | undefined {
    if (request === undefined) return this.schemasOf(method, rest)?.[0]?.schema;
    const { operations, operation, mediaType } = request;
    if (this.isUndescribed(operations)) return undefined;
    const schemas = operation === undefined ? this.schemasOf(method, rest) : this.schemasAt(operation);
    if (mediaType === undefined) return schemas?.[0]?.schema;
    const media = withoutParameters(mediaType);
    return schemas?.find((one) => isWithin(media, one.media))?.schema;
  }

  /**
   * The schemas of the operation, if V2 describes it. A described path with a parameter is another operation where this one has a literal:
   * `/clients/import` matches `/clients/{id}` only by accident.
   */
  private schemasAt({ method, template, to }: Operation): readonly MediaSchema[] | undefined {
    const own = to?.template ?? template;
    const found = this.table.match(to?.method ?? method, own);
    return found !== undefined && haveSameShape(found.template, own) ? this.schemasById(found.id) : undefined;
  }

  private schemasOf(method: string, rest: string): readonly MediaSchema[] | undefined {
    const id = this.table.match(method, rest)?.id;
    return id === undefined ? undefined : this.schemasById(id);
  }

  private schemasById(id: string): readonly MediaSchema[] | undefined {
    this.compiled ??= this.compile();
    return this.compiled.byOperation.get(id);
  }

  private compile(): CompiledSchemas {
    const steps = this.compiling();
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
    }
  }

  /** Compiles all schemas, and yields after each operation. */
  private *compiling(): Generator<undefined, CompiledSchemas> {
    const checks = new SchemaChecks(this.description);
    yield;
    const byOperation = new Map<string, readonly MediaSchema[]>();
    for (const [id, { path, method, operation }] of this.operations) {
      const declared = operation['requestBody'];
      const content = objectIn(followed(this.description, declared), 'content');
      const reference = memberOf(declared, '$ref');
      const holder =
        typeof reference === 'string'
          ? reference
          : `#/paths/${pointerToken(path)}/${method.toLowerCase()}/requestBody`;
      const schemas = jsonMediaIn(content).flatMap((media): readonly MediaSchema[] => {
        const schema = memberOf(content[media], 'schema');
        if (!isObject(schema)) return [];
        const at = `${holder}/content/${pointerToken(media)}/schema`;
        return [{ media: withoutParameters(media), schema: checks.compile(schema, at) }];
      });
      if (schemas.length === 0) continue;
      byOperation.set(id, schemas);
      yield;
    }
    return { byOperation, checks };
  }
}

function withoutParameters(mediaType: string): string {
  const [type = ''] = mediaType.split(';', 1);
  return type.trim().toLowerCase();
}

/** True if a media type or range of a description includes the media type. */
function isWithin(media: string, range: string): boolean {
  return (
    range === media || range === '*/*' || (range === 'application/*' && media.startsWith('application/'))
  );
}

/**
 * True if both templates have parameters in the same segments; a destination's parameter may be a part of its segment:
 * `/invoices/inv_{id}`.
 */
function haveSameShape(one: string, other: string): boolean {
  const [own, others] = [one.split('/'), other.split('/')];
  return own.every((segment, at) => segment.includes('{') === (others[at] ?? '').includes('{'));
}

/** The value of a JSON text, with numbers as doubles; undefined if the text is invalid. */
function jsonValue(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}

/** Returns the part of a description that the check of request bodies needs, so that bundles stay small. */
export function requestDescription(description: Description): Description {
  const { openapi, servers, components } = description;
  const { schemas = {}, requestBodies = {} } = isObject(components) ? components : {};
  const paths = Object.entries(objectIn(description, 'paths')).map(([path, item]) => [path, bodiesOf(item)]);
  return {
    openapi,
    ...(servers === undefined ? {} : { servers }),
    paths: Object.fromEntries(paths),
    components: { schemas, requestBodies },
  };
}

/** A path item with the request bodies of its operations; a reference to another item is kept. */
function bodiesOf(item: unknown): unknown {
  if (!isObject(item) || item['$ref'] !== undefined) return item;
  const operations = METHODS.flatMap((method): readonly (readonly [string, JsonObject])[] => {
    const { requestBody } = objectIn(item, method);
    return requestBody === undefined ? [] : [[method, { requestBody }]];
  });
  return Object.fromEntries(operations);
}
