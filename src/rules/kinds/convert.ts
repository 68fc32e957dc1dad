import type { Parameter } from '../../edits/query-run.ts';
import { valueOf, withValue } from '../../http/target.ts';
import type { NameTable } from '../../json/names.ts';
import { aboutMember, type CompiledRule, type Path, PLAIN, type RuleBase } from '../../edits/run.ts';
import { decoded, jsonOf, NULL, overwrite } from '../../edits/values.ts';
import { type Converter, isString, NUMBER, textOf } from './conversion.ts';
import { type Conversion, type ConversionName, CONVERSIONS } from './conversions.ts';
import type { Kind, Lens, NoInverse, QueryKind, StatusPattern } from './kind.ts';

export type { Conversion } from './conversions.ts';

export function isConversionName(text: string): text is ConversionName {
  return Object.hasOwn(CONVERSIONS, text);
}

/** Returns the function that carries out a conversion. */
export function converterOf(conversion: Conversion): Converter {
  return CONVERSIONS[conversion.rule].converter(conversion);
}

/** Returns the function that carries out a conversion on texts without a type, such as those of a query or a form. */
export function textConverterOf(conversion: Conversion): (text: string) => string | undefined {
  const convert = converterOf(conversion);
  const isOfNumbers = CONVERSIONS[conversion.rule].isOfNumbers?.(conversion) === true;
  return (text) => {
    if (isOfNumbers && !NUMBER.test(text)) return undefined;
    const converted = convert(isOfNumbers ? text : JSON.stringify(text));
    return converted !== undefined && isString(converted) ? textOf(converted) : converted;
  };
}

/** The conversion in the other direction, or why there is none. */
export function inverseConversion(conversion: Conversion): Conversion | NoInverse {
  return CONVERSIONS[conversion.rule].inverse(conversion);
}

/** Converts the value of the member `member` of each object at `in`. */
export interface ConvertRule {
  readonly rule: Conversion['rule'];
  readonly member: string;
  readonly in: Path;
  readonly conversion: Conversion;
  /** True if every value is a text, as in a form. */
  readonly isOfTexts?: true;
}

/** Converts the value of the member at `path` of a response. */
export interface ResponseConvertRule {
  readonly rule: Conversion['rule'];
  readonly path: Path;
  readonly conversion: Conversion;
  readonly status: readonly StatusPattern[];
}

/** Converts each value of the query parameter `parameter`. */
export interface QueryConvertRule {
  readonly rule: Conversion['rule'];
  readonly parameter: string;
  readonly conversion: Conversion;
}

/** How a conversion changes the bytes of requests. */
export const kind: Kind<ConvertRule> = { compile };

/** `inverse` converts the value back. */
export const lens: Lens<ConvertRule, ResponseConvertRule> = {
  changesValue: true,
  moves: () => [],
  inverse: (rule, objects) => {
    const conversion = inverseConversion(rule.conversion);
    if (typeof conversion === 'string') return conversion;
    return [{ rule: conversion.rule, path: [...objects, rule.member], conversion }];
  },
};

/** How a conversion changes queries. A value that cannot be converted stays, with a note. */
export const query: QueryKind<QueryConvertRule> = {
  compile: ({ parameter, conversion }) => {
    const convert = textConverterOf(conversion);
    const back = inverseConversion(conversion);
    const restore = typeof back === 'string' ? undefined : textConverterOf(back);
    return {
      apply: (run) => {
        const kept: Parameter[] = [];
        const converted = (run.named(parameter) ?? []).filter((one) => {
          const value = valueOf(one.part);
          if (value === undefined || value === '') return false;
          const outcome = convert(value);
          if (outcome === undefined) kept.push(one);
          else if (outcome !== value) one.part = withValue(one.part, outcome);
          return outcome !== undefined && outcome !== value;
        });
        run.record(converted);
        run.record(kept, 'value');
      },
      restore: (part) => {
        const value = part.name === parameter ? valueOf(part) : undefined;
        const text = value === undefined ? undefined : restore?.(value);
        return text === undefined ? part : withValue(part, text);
      },
    };
  },
};

/** Converts the value of the named member; null counts as no value, and stays. */
function compile(rule: ConvertRule, base: RuleBase, names: NameTable): CompiledRule {
  const expected = CONVERSIONS[rule.conversion.rule].accepts(rule.conversion);
  const ofText = rule.isOfTexts === true ? textConverterOf(rule.conversion) : undefined;
  const convert: Converter =
    ofText === undefined ? converterOf(rule.conversion) : (json) => convertText(json, ofText);
  return aboutMember(rule, base, names, (run, _, member) => {
    run.readsValues();
    const json = jsonOf(run.draft, member);
    if (json === NULL) return undefined;
    const converted = json === undefined ? undefined : convert(json);
    if (converted === undefined) return run.settleValue(base, member, expected);
    if (converted === json) return undefined;
    const stop = run.settleRepeated(base, member.id, member);
    if (stop !== undefined) return stop;
    overwrite(member, converted);
    run.step(base.code + PLAIN);
    run.recorder?.replace(base, member, decoded(converted));
    return undefined;
  });
}

/** In a form, an empty text represents null. */
function convertText(json: string, convert: (text: string) => string | undefined): string | undefined {
  const text = textOf(json);
  if (text === undefined || text === '') return text === undefined ? undefined : json;
  const converted = convert(text);
  return converted === undefined ? undefined : JSON.stringify(converted);
}
