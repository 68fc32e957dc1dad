import { tokenName } from '../json/pointer.ts';
import { memberOf } from '../rewrite-log/response-findings.ts';

/** An operation whose request body a description knows. */
export interface DescribedOperation {
  readonly id: string;
  readonly method: string;
  /** Path below the version, such as `/properties/{id}`. */
  readonly template: string;
}

/** Maximum references and alternatives to follow for one name: a description can refer to itself. */
const MAX_STEPS = 2000;

/** Looks up attribute names in the request bodies of V2's OpenAPI description. */
export class OpenApiNames {
  private readonly document: unknown;
  private readonly operations: ReadonlyMap<string, DescribedOperation>;
  private readonly paths: ReadonlyMap<string, unknown>;
  private steps = 0;

  constructor(document: unknown, operations: readonly DescribedOperation[]) {
    this.document = document;
    this.operations = new Map(operations.map((operation) => [operation.id, operation]));
    const paths = entriesOf(memberOf(document, 'paths'));
    this.paths = new Map(paths.map(([path, item]) => [plainPath(path), item]));
  }

  /** Whether the body of an operation has the member at `pointer` (`*` for elements); undefined where that is left open. */
  has(operation: string, pointer: string): boolean | undefined {
    const described = this.operations.get(operation);
    if (described === undefined) return undefined;
    const item = this.paths.get(plainPath(described.template));
    const body = this.resolved(memberOf(memberOf(item, described.method.toLowerCase()), 'requestBody'));
    const schema = memberOf(memberOf(memberOf(body, 'content'), 'application/json'), 'schema');
    if (schema === undefined) return undefined;
    this.steps = 0;
    return this.find(schema, pointer.split('/').slice(1));
  }

  private find(given: unknown, steps: readonly string[]): boolean | undefined {
    this.steps += 1;
    const schema = this.resolved(given);
    if (this.steps > MAX_STEPS || typeof schema !== 'object' || schema === null) return undefined;
    const [step, ...rest] = steps;
    if (step === undefined) return true;
    const alternatives = ['anyOf', 'oneOf', 'allOf'].flatMap((name) => {
      const list = memberOf(schema, name);
      return Array.isArray(list) ? list : [];
    });
    const found = alternatives.map((part: unknown) => this.find(part, steps));
    const own = this.own(schema, step, rest);
    const all = own === 'none' ? found : [...found, own];
    if (all.includes(true)) return true;
    return all.length === 0 || all.includes(undefined) ? undefined : false;
  }

  /** Looks up a step in the schema's own members; `none` when it has none and leaves it to its alternatives. */
  private own(schema: object, step: string, rest: readonly string[]): boolean | undefined | 'none' {
    const type = memberOf(schema, 'type');
    const types = type === undefined ? [] : [type].flat();
    const isOpen = types.length === 0;
    if (step === '*') {
      const items = memberOf(schema, 'items');
      if (items !== undefined) return this.find(items, rest);
      return isOpen ? 'none' : types.includes('array') ? undefined : false;
    }
    const properties = memberOf(schema, 'properties');
    const name = tokenName(step);
    const property = memberOf(properties, name);
    if (property !== undefined) return this.find(property, rest);
    if (memberOf(schema, 'additionalProperties') === false) return false;
    if (properties === undefined && isOpen) return 'none';
    return isOpen || types.includes('object') ? undefined : false;
  }

  private resolved(value: unknown): unknown {
    let target = value;
    for (let hops = 0; hops < 10; hops += 1) {
      const reference = memberOf(target, '$ref');
      if (typeof reference !== 'string' || !reference.startsWith('#/')) return target;
      target = this.document;
      for (const step of reference.slice(2).split('/')) target = memberOf(target, tokenName(step));
    }
    return undefined;
  }
}

/** A path below the version, with parameters that have no names. */
function plainPath(path: string): string {
  return path.replace(/^\/api\/v2(?=\/|$)/, '').replaceAll(/\{[^{}]*\}/g, '{}');
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}
