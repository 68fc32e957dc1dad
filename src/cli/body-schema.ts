import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';
import { type DescribedOperation, type Description, followed, isJsonMedia } from '../openapi/description.ts';
import { isObject, memberOf, objectIn } from '../openapi/json-object.ts';
import { describedOperations, templateOf } from '../openapi/match-operations.ts';
import { OperationTable } from '../rules/operation-table.ts';

/** A reason why V2's schema refuses a body. */
export interface SchemaFault {
  /** RFC 6901 pointer into the body. */
  readonly pointer: string;
  readonly reason: string;
}

/** The value that stands for one that was not recorded. */
const MASKED = '…';

/** Checks bodies against the schemas of V2's description, as JSON Schema 2020-12, or draft 4 for OpenAPI 3.0. */
export class BodySchemas {
  private readonly description: Description;
  private readonly operations: ReadonlyMap<string, DescribedOperation>;
  private readonly table: OperationTable;
  private readonly validators = new Map<string, Validator | undefined>();

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

  /** Returns why V2 refuses the body, the innermost reasons only; undefined when it describes no such operation or no schema. */
  faultsOf(method: string, rest: string, body: unknown): readonly SchemaFault[] | undefined {
    const id = this.table.match(method, rest)?.id;
    const operation = id === undefined ? undefined : this.operations.get(id);
    if (id === undefined || operation === undefined) return undefined;
    if (!this.validators.has(id)) this.validators.set(id, this.validatorOf(operation));
    const errors = this.validators.get(id)?.validate(body).errors;
    if (errors === undefined) return undefined;
    const faults = errors
      .filter((error) => isInnermost(error, errors) && !isMasked(error, body))
      .map(faultOf);
    return faults.filter((fault) => !isOtherBranch(fault, faults));
  }

  private validatorOf({ operation }: DescribedOperation): Validator | undefined {
    const content = objectIn(followed(this.description, operation['requestBody']), 'content');
    const media = Object.entries(content).find(([name]) => isJsonMedia(name))?.[1];
    const schema = memberOf(media, 'schema');
    if (!isObject(schema)) return undefined;
    const isOld = String(this.description['openapi']).startsWith('3.0');
    const { components } = this.description;
    const document: Schema = { allOf: [schema], ...(components === undefined ? {} : { components }) };
    // A copy: the validator writes to schemas.
    return new Validator(
      isOld ? nullable(document) : structuredClone(document),
      isOld ? '4' : '2020-12',
      false,
    );
  }
}

/** `nullable: true` of OpenAPI 3.0 as JSON Schema says it. */
function nullable(schema: unknown): Schema {
  const converted = convert(schema);
  return isObject(converted) ? converted : {};
}

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert);
  if (!isObject(value)) return value;
  const { nullable: isNullable, ...rest } = value;
  const inside = Object.fromEntries(Object.entries(rest).map(([name, member]) => [name, convert(member)]));
  if (isNullable !== true)
    return isNullable === undefined ? inside : { ...inside, nullable: convert(isNullable) };
  return { anyOf: [{ type: 'null' }, inside] };
}

function isInnermost(error: OutputUnit, errors: readonly OutputUnit[]): boolean {
  if (error.keyword === 'false') return false;
  return !errors.some(
    (other) =>
      other !== error &&
      other.keyword !== 'false' &&
      other.keywordLocation.startsWith(`${error.keywordLocation}/`),
  );
}

function isMasked({ instanceLocation, keyword }: OutputUnit, body: unknown): boolean {
  if (keyword === 'additionalProperties' || keyword === 'required') return false;
  return valueAt(instanceLocation, body) === MASKED;
}

function valueAt(location: string, body: unknown): unknown {
  return location
    .split('/')
    .slice(1)
    .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (value, name) => (Array.isArray(value) ? value[Number(name)] : memberOf(value, name)),
      body,
    );
}

/** A value that is not null fails the branch for null of its alternatives, too; the other branch says why it is refused. */
function isOtherBranch({ pointer, reason }: SchemaFault, faults: readonly SchemaFault[]): boolean {
  if (!reason.endsWith('Expected "null".')) return false;
  return faults.some((other) => other.reason !== reason && `${other.pointer}/`.startsWith(`${pointer}/`));
}

function faultOf({ instanceLocation, error }: OutputUnit): SchemaFault {
  return { pointer: instanceLocation.replace(/^#/, ''), reason: error };
}
