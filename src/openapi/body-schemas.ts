import { dereference, type OutputUnit, type Schema, type SchemaDraft, validate } from '@cfworker/json-schema';
import { OperationTable } from '../rules/operation-table.ts';
import { type DescribedOperation, type Description, followed, isJsonMedia } from './description.ts';
import { isObject, memberOf, objectIn } from './json-object.ts';
import { describedOperations, templateOf } from './draft/match-operations.ts';
import { requestSchema } from './request-schema.ts';
import { type SchemaFault, schemaFaults } from './schema-fault.ts';

/** Whether V2's schema accepts a body; `why` says why that is not known. */
export type BodyVerdict =
  | { readonly v2: 'valid' }
  /** `at` is the RFC 6901 pointer of the first fault, to the member itself: also to one that is missing. */
  | { readonly v2: 'invalid'; readonly at: string }
  | { readonly v2: 'unknown'; readonly why: 'no-schema' | 'unusable-schema' | 'not-json' };

/** Errors to look for the first fault in: a hostile body has thousands of unknown members, and each is compared with all. */
const MAX_ERRORS = 64;

/** Schemas of all operations, as one document whose references are resolved. */
interface CompiledSchemas {
  readonly byOperation: ReadonlyMap<string, Schema>;
  readonly lookup: ReturnType<typeof dereference>;
  readonly draft: SchemaDraft;
}

/**
 * Checks bodies against the request schemas of V2's description, as JSON Schema 2020-12, or draft 4 for OpenAPI 3.0. Schemas are
 * interpreted, not compiled to code: the edge forbids that.
 */
export class BodySchemas {
  private readonly description: Description;
  private readonly operations: ReadonlyMap<string, DescribedOperation>;
  private readonly table: OperationTable;
  private compiled: CompiledSchemas | undefined = undefined;

  constructor(description: Description) {
    this.description = description;
    const named = describedOperations(description).map((operation, at) => ({ id: String(at), operation }));
    this.operations = new Map(named.map(({ id, operation }) => [id, operation]));
    this.table = new OperationTable(
      named.flatMap(({ id, operation }) => {
        const template = templateOf(operation);
        return template === undefined ? [] : [{ id, method: operation.method, template, assumed: false }];
      }),
    );
  }

  /**
   * Returns whether V2 accepts a body sent to the path `rest` below the version, up to the first fault. Never throws: a schema that
   * cannot be interpreted makes it unknown.
   */
  verdictOf(method: string, rest: string, body: Uint8Array): BodyVerdict {
    try {
      const schema = this.schemaOf(method, rest);
      if (schema === undefined) return { v2: 'unknown', why: 'no-schema' };
      const value = jsonValue(body);
      if (value === undefined) return { v2: 'unknown', why: 'not-json' };
      const { valid, errors } = this.validate(value, schema, true);
      if (valid) return { v2: 'valid' };
      return { v2: 'invalid', at: schemaFaults(errors.slice(0, MAX_ERRORS), value)[0]?.at ?? '' };
    } catch {
      return { v2: 'unknown', why: 'unusable-schema' };
    }
  }

  /** Returns why V2 refuses the body, the innermost reasons only; undefined when it describes no such operation or no schema. */
  faultsOf(method: string, rest: string, body: unknown): readonly SchemaFault[] | undefined {
    const schema = this.schemaOf(method, rest);
    return schema && schemaFaults(this.validate(body, schema, false).errors, body);
  }

  /** Resolves the references of all schemas, which takes milliseconds; otherwise the first check does. Throws for a bad `$id`. */
  prepare(): void {
    this.compiled ??= this.compile();
  }

  private schemaOf(method: string, rest: string): Schema | undefined {
    const id = this.table.match(method, rest)?.id;
    if (id === undefined) return undefined;
    this.compiled ??= this.compile();
    return this.compiled.byOperation.get(id);
  }

  private validate(
    value: unknown,
    schema: Schema,
    isFirstOnly: boolean,
  ): { readonly valid: boolean; readonly errors: readonly OutputUnit[] } {
    const { lookup, draft } = (this.compiled ??= this.compile());
    return validate(value, schema, draft, lookup, isFirstOnly);
  }

  private compile(): CompiledSchemas {
    const { components, openapi } = this.description;
    const isOld = String(openapi).startsWith('3.0');
    const byOperation = new Map<string, Schema>();
    for (const [id, operation] of this.operations) {
      const schema = bodySchemaOf(this.description, operation);
      if (schema !== undefined) byOperation.set(id, { allOf: [requestSchema(schema, isOld)] });
    }
    const document: Schema = { $defs: Object.fromEntries(byOperation) };
    if (components !== undefined) document['components'] = requestSchema(components, isOld);
    return { byOperation, lookup: dereference(document), draft: isOld ? '4' : '2020-12' };
  }
}

function bodySchemaOf(description: Description, { operation }: DescribedOperation): unknown {
  const content = objectIn(followed(description, operation['requestBody']), 'content');
  const media = Object.entries(content).find(([name]) => isJsonMedia(name))?.[1];
  const schema = memberOf(media, 'schema');
  return isObject(schema) ? schema : undefined;
}

/** The value of a JSON text, its numbers as doubles; undefined when it is none. */
function jsonValue(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}
