import type { Path } from '../../rules/rule.ts';
import type { Shape } from '../shape.ts';
import type { ComparedPair, ComparedPairs } from './compared-pairs.ts';
import type { LookupTarget } from './find-lookups.ts';
import type { Finding, Question } from './found-rules.ts';
import type { Places } from './places.ts';

/** How the comparison treats a pair of shapes: recorded traffic or described, request or response, and words for the evidence. */
export interface ShapeSource {
  /** True when the old shape is recorded traffic: names that only resemble each other are no evidence then. */
  readonly isRecorded: boolean;
  /** True for responses: a value that V2 lacks there is lost, and guesses by type alone do not restore it. */
  readonly isResponse?: boolean;
  /** V2's operations that return one object, for responses of V2 that contain only its key. */
  readonly lookups?: readonly LookupTarget[];
  /** Other evidence for the names of members; absent for none. */
  readonly hints?: NameHints;
  /** What is known of the pairs of objects of the same draft. */
  readonly pairs: ComparedPairs;
  /** The evidence for a member that V2 does not have. */
  readonly whyGone: (path: Path, name: string) => string;
}

/** What a description says about the names of members elsewhere: in paths, and in the examples of bodies and parameters. */
export interface NameHints {
  /** V2's names of path parameters, by those of V1. */
  readonly names: ReadonlyMap<string, string>;
  /** V2's names of the members of other requests, by those of V1. */
  readonly paired: ReadonlyMap<string, string>;
  /** The values in examples that tell one member from others, by its name. */
  readonly values: Readonly<Record<'v1' | 'v2', ReadonlyMap<string, readonly string[]>>>;
}

/** The findings about one operation, in the order in which the rules apply, and the questions that they leave open. */
export interface Comparison {
  readonly findings: readonly Finding[];
  readonly questions: readonly Question[];
}

export interface Work extends ShapeSource {
  readonly findings: Finding[];
  readonly questions: Question[];
  /** Why no rule of this part is certain: a rule that it depends on is a question. */
  readonly doubt: string | undefined;
  /** Why no rule of the whole body is certain. */
  readonly outer: string | undefined;
  readonly places: Places;
  /** The path of the object, or of the member, by its names in V1. */
  readonly old: Path;
  /** The objects inside, to be compared next. */
  readonly inner: InnerPair[];
  /** The number of values around that are a text or, if a client asks for it, the object that the text refers to. */
  readonly steps: number;
  /** True if only the existence of differences matters, not the findings. */
  readonly isProbe?: true;
  /** The objects that have the member to be compared. */
  readonly around?: Objects;
}

/** An object in both versions, by its path in V2. */
export interface Objects {
  readonly v1: Shape;
  readonly v2: Shape;
  readonly path: Path;
}

/** Two objects of a body to be compared, with the pairs that they are in. */
export interface InnerPair extends Objects {
  readonly old: Path;
  readonly doubt: string | undefined;
  readonly steps: number;
  readonly around?: Around | undefined;
}

export interface Around {
  readonly pair: ComparedPair;
  readonly next: Around | undefined;
}

/** Maximum names in one piece of evidence. */
const MAX_NAMES = 6;

export function firstOf(names: readonly string[]): string {
  return `${names.slice(0, MAX_NAMES).join(', ')}${names.length > MAX_NAMES ? ' …' : ''}`;
}

export function addFinding(finding: Finding, { findings, doubt }: Work): void {
  findings.push(doubt === undefined ? finding : { ...finding, doubt: finding.doubt ?? doubt });
}
