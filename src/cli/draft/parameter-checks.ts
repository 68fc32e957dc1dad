import type { Components } from '../../openapi/components.ts';
import { memberOf } from '../../openapi/description.ts';
import { type CompiledSchema, SchemaChecks } from '../../openapi/schema-checks.ts';
import { ANY_SHAPE, type Shape } from '../../openapi/shape.ts';
import { parameterShapeOf } from './samples.ts';

/** Maximum steps of one check: a parameter is short, and its schema is the user's own. */
const MAX_STEPS = 1_000_000;

/** The separator of the elements in a list that is one text, by the style of the parameter (OpenAPI 3.1 §4.8.12.2). */
const SEPARATORS: ReadonlyMap<unknown, string> = new Map([
  ['form', ','],
  ['simple', ','],
  ['spaceDelimited', ' '],
  ['pipeDelimited', '|'],
]);

/** Checks values of parameters of queries, paths and header fields against the schemas of a description. */
export class ParameterChecks {
  private readonly components: Components;
  private readonly checks: SchemaChecks;
  private readonly compiled = new Map<unknown, CompiledSchema>();

  constructor(components: Components) {
    this.components = components;
    this.checks = new SchemaChecks(components.description);
  }

  /** Returns why a parameter must not have these texts, which may be the elements of a list; undefined if it may, and for an object. */
  faultOf(parameter: unknown, texts: readonly string[]): string | undefined {
    const schema = memberOf(parameter, 'schema');
    const shape = parameterShapeOf(parameter, this.components);
    const [first] = texts;
    if (schema === undefined || first === undefined || shape.types.has('object')) return undefined;
    const values = shape.types.has('array')
      ? [listIn(parameter, texts).map((text) => readings(text, shape.element ?? ANY_SHAPE)[0])]
      : readings(first, shape);
    try {
      const check = this.checkOf(schema);
      const outcomes = values.map((value) => check(value, MAX_STEPS));
      return outcomes.some(({ isValid }) => isValid) ? undefined : outcomes[0]?.faults[0]?.reason;
    } catch {
      // A schema that cannot be used finds no fault in a value.
      return undefined;
    }
  }

  private checkOf(schema: unknown): CompiledSchema {
    const check = this.compiled.get(schema) ?? this.checks.compile(schema, '#');
    this.compiled.set(schema, check);
    return check;
  }
}

/** The texts of a list: each its own parameter, or all in one. */
function listIn(parameter: unknown, texts: readonly string[]): readonly string[] {
  const style = memberOf(parameter, 'style') ?? (memberOf(parameter, 'in') === 'query' ? 'form' : 'simple');
  const isSeveral = style === 'form' && (memberOf(parameter, 'explode') ?? true) === true;
  const separator = SEPARATORS.get(style);
  return isSeveral || separator === undefined ? texts : texts.flatMap((text) => text.split(separator));
}

/** The values that a text can mean by the types of its schema: the text itself has no type. */
function readings(text: string, { types }: Shape): readonly unknown[] {
  const isAny = types.size === 0;
  const isNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text);
  const isBoolean = text === 'true' || text === 'false';
  const found = [
    ...(isAny || types.has('string') ? [text] : []),
    ...(isNumber && (isAny || types.has('integer') || types.has('number')) ? [Number(text)] : []),
    ...(isBoolean && (isAny || types.has('boolean')) ? [text === 'true'] : []),
  ];
  return found.length === 0 ? [text] : found;
}
