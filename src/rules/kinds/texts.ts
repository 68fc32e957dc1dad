import { JsonDocument } from '../../json/document.ts';
import { bytesOfText, decodeString, type JsonScalar, scalarOf, textOfBytes } from '../../json/names.ts';
import type { RequestRule } from './kinds.ts';
import type { MapRule } from './map.ts';
import type { SetRule } from './set.ts';
import type { SplitRule } from './split.ts';

/* The form of rules for forms, which have no types: they compare and write values as texts. It is here and not in the modules of the kinds, so that an edge worker loads it with the first form. */

const QUOTE = 0x22;

/** Converts a rule for texts. */
type TextRule<Rule> = { inText(rule: Rule): RequestRule }['inText'];

const SET: TextRule<SetRule> = (rule) => {
  const value = JsonDocument.read(bytesOfText(rule.json));
  return value instanceof JsonDocument ? { ...rule, ...inTexts(value, value.root) } : rule;
};

const MAP: TextRule<MapRule> = (rule) => ({
  ...rule,
  values: rule.values.map(({ from, to }) => ({ from: scalarOf(from.text), to: scalarOf(textOfScalar(to)) })),
});

const SPLIT: TextRule<SplitRule> = (rule) => ({ ...rule, isOfTexts: true });

/** The kinds for which types matter. */
const TEXT_RULES: Readonly<Record<string, TextRule<RequestRule> | undefined>> = {
  set: SET,
  default: SET,
  map: MAP,
  split: SPLIT,
};

/** Converts a rule for a form. */
export function ruleInText(rule: RequestRule): RequestRule {
  if ('conversion' in rule || 'elements' in rule) return { ...rule, isOfTexts: true };
  return TEXT_RULES[rule.rule]?.(rule) ?? rule;
}

/** The same value with texts in place of numbers, true, false and null: as JSON, and decoded. */
function inTexts(document: JsonDocument, node: number): { readonly json: string; readonly value: unknown } {
  const children = [...document.childrenOf(node)].map((child) => ({
    name: document.nameOf(child),
    ...inTexts(document, child),
  }));
  switch (document.kindOf(node)) {
    case 'object': {
      const members = children.map(({ name, json }) => `${JSON.stringify(name)}:${json}`);
      const value = Object.fromEntries(children.map((child) => [child.name, child.value]));
      return { json: `{${members.join(',')}}`, value };
    }
    case 'array':
      return {
        json: `[${children.map(({ json }) => json).join(',')}]`,
        value: children.map(({ value }) => value),
      };
    case 'string':
    case 'scalar': {
      const value = formText(document.valueOf(node));
      return { json: JSON.stringify(value), value };
    }
  }
}

export function formText(json: Uint8Array): string {
  if (json[0] === QUOTE) return decodeString(json, 0, json.length);
  return textOfScalar({ isString: false, text: textOfBytes(json) });
}

/** In a form, an empty value represents null. */
function textOfScalar({ isString, text }: JsonScalar): string {
  return !isString && text === 'null' ? '' : text;
}
