import { type NameTable, stringText } from '../../json/names.ts';
import { type Converter, converterOf, expectedBy, textConverterOf } from '../../rules/conversion.ts';
import type { ConvertRule } from '../../rules/rule.ts';
import { aboutMember, type CompiledRule, PLAIN, type RuleBase } from '../run.ts';
import { decoded, jsonOf, NULL, overwrite } from './values.ts';

/** Converts the value of the named member; null is no value, and stays. */
export function compileConvert(rule: ConvertRule, base: RuleBase, names: NameTable): CompiledRule {
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
