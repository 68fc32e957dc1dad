import type { Path } from '../../rules/rule.ts';
import type { Conversion, FoundValue } from './conversions.ts';
import type { FlatMove } from './find-flats.ts';
import type { FoundLookup } from './find-lookups.ts';

/** Confidence from which a rule is proposed; below, it is a question. */
export const PROPOSED_FROM = 0.6;

/** Confidence from which a rule is worth a question. */
export const ASKED_FROM = 0.45;

/** A difference that no rule covers: a sentence for the author of the rule book about a member, by its path in V2. */
export interface Question {
  /** Empty for the body itself. */
  readonly path: Path;
  readonly text: string;
  /** The same sentence for several members that one answer can cover. */
  readonly general?: string;
  /** The values of requests that V2 requires, and that V1's may lack; absent for other questions. */
  readonly required?: readonly Path[];
  /** The values of an enumeration to which only a person knows the other version's, with its place in V2; absent for other questions. */
  readonly open?: {
    readonly list: 'request' | 'response';
    readonly at: Path;
    readonly values: readonly FoundValue[];
  };
  /** True if V1's requests never have these values. */
  readonly isNew?: true;
  /** True if types differ, which the values of forms do not have. */
  readonly isAboutTypes?: boolean;
}

/** The reasons to believe in a rule. */
export interface Evidence {
  /** From 0 to 1; an estimate by fixed weights, not a probability. */
  readonly confidence: number;
  /** The evidence, in words. */
  readonly evidence: string;
  /** Why the rule could lose a value or change its meaning, as a sentence: such a rule is a question at any confidence. */
  readonly doubt?: string | undefined;
  /** True once a person has confirmed it. */
  readonly isSettled?: true;
  /** True for a rule that the answer to its question said nothing about: it has a question of its own then. */
  readonly isLeft?: true;
}

/** A rule with the reasons to believe in it. */
export interface Finding extends Evidence {
  readonly found: FoundRule;
  /** The rule as sentences name it: with its path from the resource; absent if that is the same. */
  readonly named?: FoundRule;
  /** The other answers to the same question, the likeliest first. */
  readonly others?: readonly FoundRule[];
  /** The path in V1 of the member that the finding is about. */
  readonly old?: Path;
  /** True if the first answer could lose or distort a value: then no answer is preselected, and a person chooses. */
  readonly isOpen?: true;
  /** What V2 has that says something else of the same thing: what is taken, where V1 has what is free. */
  readonly relation?: string;
  /** True if V1 always has the member that the finding is about. */
  readonly isAlways?: true;
}

/** A request rule that two versions of an operation suggest. Paths are those of the body after the rules before it. */
export type FoundRule =
  | { readonly rule: 'unwrap'; readonly member: string }
  | {
      readonly rule: 'rename';
      readonly in: Path;
      readonly member: string;
      readonly to: string;
      /** The conversion that the value needs under its new name. */
      readonly conversions?: readonly Conversion[];
      /** The values of V1 that V2 has by another name, in an answer that a person gives. */
      readonly values?: readonly (readonly [from: FoundValue, to: FoundValue])[];
    }
  | {
      readonly rule: 'convert';
      readonly in: Path;
      readonly member: string;
      readonly conversions: readonly Conversion[];
    }
  | {
      readonly rule: 'default';
      readonly in: Path;
      readonly member: string;
      /** Undefined if V2's description does not show one: the person who answers the question gives it. */
      readonly value: FoundValue | undefined;
      /** True for an object of responses in which V1 has a part, or may have one. */
      readonly isRest?: true;
    }
  | {
      readonly rule: 'nest';
      readonly in: Path;
      readonly members: readonly string[];
      readonly under: string;
      /** The members that V1's responses have as null where V2's have null in place of the object. */
      readonly orNull?: readonly string[];
    }
  | {
      /** Moves members of an object to the object around it; `isWhole` also removes the object. */
      readonly rule: 'flatten';
      readonly in: Path;
      readonly member: string;
      readonly moves: readonly FlatMove[];
      readonly isWhole: boolean;
    }
  | {
      readonly rule: 'strip';
      readonly in: Path;
      readonly member: string;
      /** The place of the same value in both versions, as a path from the object. */
      readonly twin?: Path;
    }
  | {
      /** `from` and `to` are paths from the same object. */
      readonly rule: 'copy';
      readonly in: Path;
      readonly from: Path;
      readonly to: Path;
    }
  | {
      /**
       * Replaces an object by its member `from`; `beside` are other members of it that move to the object around it. `through` is a name
       * that neither version has.
       */
      readonly rule: 'unbox';
      readonly in: Path;
      readonly member: string;
      readonly from: string;
      readonly beside: readonly (readonly [from: string, to: string])[];
      readonly through: string;
      readonly conversions: readonly Conversion[];
    }
  | ({
      /** Adds an object that V2 has elsewhere to a response; `member` is V1's name for it, beside the key. */
      readonly rule: 'lookup';
      readonly in: Path;
      readonly member: string;
    } & FoundLookup)
  | {
      /** `to` is a path from the same object. */
      readonly rule: 'move';
      readonly in: Path;
      readonly member: string;
      readonly to: Path;
      /** The conversion that the value needs in its new place. */
      readonly conversions?: readonly Conversion[];
      /** The values of V1 that V2 has by another name. */
      readonly values?: readonly (readonly [from: FoundValue, to: FoundValue])[];
      /** The member, if V1's responses have it as null where V2's have null in place of the object. */
      readonly orNull?: readonly string[];
    }
  | {
      /**
       * `list` makes a value a list with one element; `first` replaces a list by its first element. There is no request rule for either,
       * only a response rule that undoes it.
       */
      readonly rule: 'list' | 'first';
      readonly in: Path;
      readonly member: string;
      readonly to: string;
    }
  | {
      /** Splits a name into its parts, which V2 has in the same object, or in its object `under`. */
      readonly rule: 'split';
      readonly in: Path;
      readonly member: string;
      readonly to: readonly string[];
      readonly under: string | undefined;
    }
  | {
      readonly rule: 'map';
      readonly in: Path;
      readonly member: string;
      readonly values: readonly (readonly [from: FoundValue, to: FoundValue])[];
    };

/** The order of rules of one object: names first, then values, then places. */
const RULE_ORDER: readonly (FoundRule['rule'] | 'box')[] = [
  'unwrap',
  'rename',
  'strip',
  'map',
  'convert',
  'default',
  'copy',
  'list',
  'first',
  'box',
  'move',
  'unbox',
  'split',
  'flatten',
  'nest',
  'lookup',
];

/** The place of a rule among all: outer objects first, so that the paths of inner rules have V2's names. */
export function ruleRank(found: FoundRule): number {
  const level = found.rule === 'unwrap' ? -1 : found.in.length;
  // Other members move into the object that a value becomes.
  const isBox = found.rule === 'move' && found.to[0] === found.member;
  return level * RULE_ORDER.length + RULE_ORDER.indexOf(isBox ? 'box' : found.rule);
}

/** The place to which a rule writes. */
export function targetsOf(found: FoundRule): readonly Path[] {
  if (found.rule === 'rename' || found.rule === 'list' || found.rule === 'first')
    return [[...found.in, found.to]];
  if (found.rule === 'move' || found.rule === 'copy') return [[...found.in, ...found.to]];
  if (found.rule === 'nest') return found.members.map((name) => [...found.in, found.under, name]);
  if (found.rule === 'flatten') return found.moves.map(([, to]) => [...found.in, to]);
  if (found.rule === 'split') {
    const around = found.under === undefined ? found.in : [...found.in, found.under];
    return found.to.map((name) => [...around, name]);
  }
  if (found.rule === 'unbox') return found.beside.map(([, to]) => [...found.in, to]);
  return found.rule === 'default' ? [[...found.in, found.member]] : [];
}

/** A rule without its place. */
export function localKey(found: FoundRule): string {
  return ruleKey(found.rule === 'unwrap' ? found : { ...found, in: [] });
}

/** A rule as text: equal for rules that nest the same members in another order. */
export function ruleKey(found: FoundRule): string {
  const plain = { ...found, orNull: undefined };
  return JSON.stringify(plain.rule === 'nest' ? { ...plain, members: plain.members.toSorted() } : plain);
}

/** A rule at another place; a rule for any depth is unchanged. */
function movedRule(found: FoundRule, place: (path: Path) => Path): FoundRule {
  return found.rule === 'unwrap' || found.in[0] === '**' ? found : { ...found, in: place(found.in) };
}

/** A finding with its answers at another place. */
export function movedFinding<One extends Finding>(finding: One, place: (path: Path) => Path): One {
  const { found, others } = finding;
  const moved = others?.map((one) => movedRule(one, place));
  return { ...finding, found: movedRule(found, place), ...(moved && { others: moved }) };
}

export function renameRule(
  path: Path,
  member: string,
  to: string,
  converted: readonly Conversion[],
): FoundRule {
  return {
    rule: 'rename',
    in: path,
    member,
    to,
    ...(converted.length > 0 && { conversions: converted }),
  };
}

export function isSamePath(one: Path, other: Path): boolean {
  return one.length === other.length && one.every((name, at) => name === other[at]);
}

export function isTo(found: FoundRule, target: Path): boolean {
  if (found.rule === 'rename' || found.rule === 'list' || found.rule === 'first')
    return isSamePath([...found.in, found.to], target);
  return found.rule === 'move' && isSamePath([...found.in, ...found.to], target);
}

/** True for a rule that the draft applies; all others are questions. */
export function isProposed({ confidence, doubt, isSettled }: Evidence): boolean {
  return isSettled === true || (confidence >= PROPOSED_FROM && doubt === undefined);
}

/** A path and a name in it, in the syntax of a rule book. */
export function pathText(path: Path, name?: string): string {
  const names = name === undefined ? path : [...path, name];
  return names.map((part) => part.replaceAll(/[.\\]/g, (special) => `\\${special}`)).join('.');
}
