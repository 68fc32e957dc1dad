import type { Path } from '../../rules/rule.ts';

/** A request rule that two versions of an operation suggest. Paths are those of the body after the rules before it. */
export type FoundRule =
  | { readonly rule: 'unwrap'; readonly member: string }
  | { readonly rule: 'rename'; readonly in: Path; readonly member: string; readonly to: string }
  | { readonly rule: 'nest'; readonly in: Path; readonly members: readonly string[]; readonly under: string }
  | { readonly rule: 'strip'; readonly in: Path; readonly member: string }
  | {
      readonly rule: 'map';
      readonly in: Path;
      readonly member: string;
      readonly values: readonly (readonly [from: FoundValue, to: FoundValue])[];
    };

/** A value of an enumeration. */
export type FoundValue = string | number | boolean;

/** A rule with the reasons to believe in it. */
export interface Finding {
  readonly found: FoundRule;
  /** From 0 to 1; an estimate by fixed weights, not a probability. */
  readonly confidence: number;
  /** The evidence, in words. */
  readonly evidence: string;
  /** Why it could lose a value or change its meaning, as a sentence: such a rule is a question, however sure it is. */
  readonly doubt?: string | undefined;
}

/** True for a rule that a draft applies; any other one is a question. */
export function isProposed({ confidence, doubt }: Pick<Finding, 'confidence' | 'doubt'>): boolean {
  return confidence >= PROPOSED_FROM && doubt === undefined;
}

/** The findings about one operation, in the order in which the rules apply, and what could not be decided. */
export interface Comparison {
  readonly findings: readonly Finding[];
  /** Sentences for the author of the rule book. */
  readonly questions: readonly string[];
}

/** Confidence from which a rule is proposed; below, it is a question. */
export const PROPOSED_FROM = 0.6;

/** Confidence from which a rule is worth a question. */
export const ASKED_FROM = 0.45;

/** A path and a name in it, in the syntax of a rule book. */
export function pathText(path: Path, name?: string): string {
  const names = name === undefined ? path : [...path, name];
  return names.map((part) => part.replaceAll(/[.\\]/g, (special) => `\\${special}`)).join('.');
}
