import type { Parameter } from '../../edits/query-run.ts';
import { valueOf, withValue } from '../../http/target.ts';
import { type NameTable, stringText } from '../../json/names.ts';
import { aboutMember, type CompiledRule, type Path, PLAIN, type RuleBase } from '../../edits/run.ts';
import { decoded, jsonOf, NULL, overwrite } from '../../edits/values.ts';
import {
  type Conversion,
  type Converter,
  converterOf,
  expectedBy,
  inverseConversion,
  textConverterOf,
  conversionWords,
} from './conversion.ts';
import type { Kind, Lens, QueryKind, StatusPattern, Words } from './kind.ts';

/** Converts the value of the member `member` of each object at `in`. */
export interface ConvertRule {
  readonly rule: Conversion['rule'];
  readonly member: string;
  readonly in: Path;
  readonly conversion: Conversion;
  /** True where every value is a text, as in a form. */
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

/** Its work on the bytes of requests. */
export const kind: Kind<ConvertRule> = { compile };

/** The value is converted back. */
export const lens: Lens<ConvertRule, ResponseConvertRule> = {
  changesValue: true,
  moves: () => [],
  inverse: (rule, objects) => {
    const conversion = inverseConversion(rule.conversion);
    return [{ rule: conversion.rule, path: [...objects, rule.member], conversion }];
  },
};

/** Its work on queries. A value that cannot be converted stays, with a note. */
export const query: QueryKind<QueryConvertRule> = {
  compile: ({ parameter, conversion }) => {
    const convert = textConverterOf(conversion);
    const restore = textConverterOf(inverseConversion(conversion));
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
        const text = value === undefined ? undefined : restore(value);
        return text === undefined ? part : withValue(part, text);
      },
    };
  },
};

/** What people read of it. */
export const words: Words<ConvertRule, ResponseConvertRule> = {
  of: 'both',
  named: ({ member }) => [[member]],
  say: ({ conversion }, name, where) => conversionWords(conversion, `${name}${where}`),
  none: ({ member }, place) => `${place} has no ${member} to convert.`,
  done: ({ name, rule }) => `The value of ${name} is written as V2 has it (${rule}).`,
};

/** Converts the value of the named member; null is no value, and stays. */
function compile(rule: ConvertRule, base: RuleBase, names: NameTable): CompiledRule {
  const expected = expectedBy(rule.conversion);
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

/** A form says null by an empty text. */
function convertText(json: string, convert: (text: string) => string | undefined): string | undefined {
  const text = json.startsWith('"') ? stringText(json.slice(1, -1)) : undefined;
  if (text === undefined || text === '') return text === undefined ? undefined : json;
  const converted = convert(text);
  return converted === undefined ? undefined : JSON.stringify(converted);
}
