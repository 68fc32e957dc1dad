import { type HeaderList, headerValues, isNamed } from '../http/header-list.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { HeaderPlan, RewrittenHeaders } from '../rewrite/header-plan.ts';
import type { Operation } from '../rules/rule-book.ts';

const REQUEST_METHOD = 'access-control-request-method';
const REQUEST_FIELDS = 'access-control-request-headers';
const ALLOWED_METHODS = 'access-control-allow-methods';
const ALLOWED_FIELDS = 'access-control-allow-headers';

/**
 * A preflight of a browser (Fetch, "CORS-preflight request"): it asks about the method and fields of a V1 request. The gateway asks V2
 * about the method and fields that V2 will get, and translates the permission back: a browser compares the names with those that the page
 * wants to send, methods case-sensitively.
 */
export class Preflight {
  /** The operation that it asks about; undefined if the rule book does not name it. */
  readonly operation: Operation | undefined;
  private readonly method: string;
  private readonly plan: HeaderPlan | undefined;

  private constructor(method: string, operation: Operation | undefined, plan: HeaderPlan | undefined) {
    this.method = method;
    this.operation = operation;
    this.plan = plan;
  }

  /** Reads a preflight: the method, fields and origin that it asks about; undefined for any other request. */
  static of(
    {
      method,
      asked,
      rest,
      query,
    }: {
      readonly method: string;
      readonly asked: string | undefined;
      readonly rest: string;
      readonly query: string;
    },
    rules: CompiledRuleBook,
  ): Preflight | undefined {
    if (method !== 'OPTIONS' || asked === undefined) return undefined;
    const operation =
      rules.match(asked, rest, query) ?? (asked === 'HEAD' ? rules.match('GET', rest, query) : undefined);
    return new Preflight(asked, operation, rules.headerPlan(operation));
  }

  /** V2's method for the request in question. */
  private get v2Method(): string {
    const { operation, method } = this;
    // A HEAD stays one, like the request after it.
    return operation?.to === undefined || operation.method !== method ? method : operation.to.method;
  }

  /** The fields of the preflight, translated for V2. */
  request(headers: HeaderList): RewrittenHeaders {
    const asked = withValue(headers, REQUEST_METHOD, () => this.v2Method);
    return this.withNames(asked, REQUEST_FIELDS, 'to V2');
  }

  /** The fields of V2's response, translated for V1. */
  response(headers: HeaderList): RewrittenHeaders {
    const { method, v2Method } = this;
    const methods =
      v2Method === method
        ? headers
        : withValue(headers, ALLOWED_METHODS, (value) => {
            const names = namesIn(value);
            // The other methods that V2 allows belong to V2's path.
            return names.includes(v2Method) && !names.includes(method)
              ? [...names, method].join(', ')
              : value;
          });
    return this.withNames(methods, ALLOWED_FIELDS, 'to V1');
  }

  private withNames(headers: HeaderList, field: string, way: 'to V2' | 'to V1'): RewrittenHeaders {
    const value = headerValues(headers, field).join(', ');
    if (this.plan === undefined || value === '') return { headers, records: [], rules: [] };
    const { names, edits } =
      way === 'to V2' ? this.plan.v2Names(namesIn(value)) : this.plan.v1Names(namesIn(value));
    if (edits.length === 0) return { headers, records: [], rules: [] };
    return {
      headers: withValue(headers, field, () => names.join(', ')),
      records: edits.map(({ change, name }) => ({ change, rule: name, header: field, to: field })),
      rules: edits.map(({ rule }) => rule),
    };
  }
}

/** Replaces the value of one field; returns the same list if the value does not change, and omits a field without a value. */
function withValue(headers: HeaderList, field: string, edit: (value: string) => string): HeaderList {
  const value = headerValues(headers, field).join(', ');
  if (value === '') return headers;
  const edited = edit(value);
  if (edited === value) return headers;
  const edits: string[] = [];
  let isPlaced = false;
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', own = ''] = headers.slice(at, at + 2);
    if (!isNamed(name, field)) edits.push(name, own);
    else if (!isPlaced && edited !== '') {
      edits.push(name, edited);
      isPlaced = true;
    }
  }
  return edits;
}

/** The names in a list of a header field. */
export function namesIn(list: string): readonly string[] {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
