import type { Path } from '../../rules/rule.ts';
import { withArticle } from '../../rules/rule-book-fault.ts';
import { ANY_SHAPE, fitsInto, isCompatible, type MemberShape, type Shape, shapeAt } from '../shape.ts';
import {
  areContraries,
  areOtherKinds,
  type BoxForm,
  boxForms,
  type Conversion,
  conversions,
  examplesOf,
  type FoundValue,
  isListedAlike,
  isMoney,
  keywordIn,
  namedValues,
  listEvidence,
  type ListForm,
  listForms,
  type NamedShape,
  otherScales,
  otherUnits,
  textUnits,
  timeDoubt,
  unitsIn,
} from './conversions.ts';
import { findFlats, type FlatMove, type FoundFlat } from './find-flats.ts';
import { type FoundLookup, isKeyOf, lookupsFor, type LookupTarget } from './find-lookups.ts';
import {
  endsAsSameMember,
  haveCommonWord,
  haveSameRoot,
  isAlike,
  isIdentifier,
  isRelatedName,
  isSameMember,
  isSameName,
  nameSimilarity,
  oppositesIn,
  plainName,
  singularName,
  wordsOf,
} from './names.ts';

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
  /** The evidence for a member that V2 does not have. */
  readonly whyGone: (path: Path, name: string) => string;
}

/** What a description says about the names of members elsewhere: in paths, and in the examples of bodies and parameters. */
export interface NameHints {
  /** V2's names of path parameters, by those of V1. */
  readonly names: ReadonlyMap<string, string>;
  /** The values in examples that tell one member from others, by its name. */
  readonly values: Readonly<Record<'v1' | 'v2', ReadonlyMap<string, readonly string[]>>>;
}

/** Minimum difference of confidence between the best candidate and the next one. */
const MARGIN = 0.05;

/** The doubt about members that only types and places make likely. */
export const NO_LINK = 'neither name, description nor content says that they are the same';

/** Confidence from which a rule is proposed; below, it is a question. */
export const PROPOSED_FROM = 0.6;

/** Confidence from which a rule is worth a question. */
const ASKED_FROM = 0.45;

/** The findings about one operation, in the order in which the rules apply, and the questions that they leave open. */
export interface Comparison {
  readonly findings: readonly Finding[];
  readonly questions: readonly Question[];
}

/** A difference that no rule covers: a sentence for the author of the rule book about a member, by its path in V2. */
export interface Question {
  /** Empty for the body itself. */
  readonly path: Path;
  readonly text: string;
  /** The same sentence for several members that one answer can cover. */
  readonly general?: string;
  /** The values of requests that V2 requires, and that V1's may lack; absent for other questions. */
  readonly required?: readonly Path[];
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

/** Maximum places of one object at which its findings are repeated: the nearest ones. */
const MAX_PLACES = 20;

/** Maximum objects of one body that are compared: the nearest ones. */
const MAX_OBJECTS = 300;

/**
 * Maximum references on the way to a further place of an object (a text that V1's clients can have expanded to an object): each may lead to
 * all others, and clients expand few.
 */
const MAX_STEPS = 1;

/** Maximum levels of nesting that are compared. */
const MAX_LEVELS = 16;

/**
 * Compares the shapes of a value in both versions: finds the rules that lead from one to the other, and open questions. `doubt` is the
 * reason why none of the rules is certain. Each pair of objects is compared once, and its findings are repeated at each of its places; a
 * pair without differences is compared once for all bodies.
 */
export function compareShapes(v1: Shape, v2: Shape, source: ShapeSource, doubt?: string): Comparison {
  const findings: Finding[] = [];
  const questions: Question[] = [];
  const places = new Places(v1, v2);
  const met = new Map<object, MetPair>();
  const queue: InnerPair[] = [];
  const base: Work = {
    ...source,
    findings,
    questions,
    doubt,
    outer: doubt,
    places,
    old: [],
    inner: queue,
    steps: 0,
  };
  if (v1.members.size > 0 || v2.members.size > 0) compareInside(v1, v2, [], base);
  if (v1.element !== undefined && v2.element !== undefined && queue.length === 0)
    compareInside(v1, v2, [], base);
  if (v1.members.size > 0 !== v2.members.size > 0) queue.push({ v1, v2, path: [], old: [], doubt, steps: 0 });
  let isCut = false;
  for (let at = 0; at < queue.length; at += 1) {
    const pair = queue[at];
    if (pair === undefined) break;
    if (!differs(pair, source)) continue;
    isCut ||= at >= MAX_OBJECTS;
    if (isCut) break;
    compareAt(pair, met, base);
  }
  const cut = [...met.values()].filter((one) => isCut || one.places > MAX_PLACES || one.isFarther);
  const everywhere =
    cut.length === 0 ? undefined : 'it is at more places than those named here, which are the nearest';
  const all = new Set(cut.flatMap(({ findings: own }) => own.map(({ found }) => localKey(found))));
  // A finding in an object that contains itself holds at every depth, but a rule names one depth.
  const deep = new Set(
    [...met].flatMap(([pair, one]) =>
      isRepeated(pair, one, met) ? one.findings.map(({ found }) => localKey(found)) : [],
    ),
  );
  const doubted = findings.map((finding) =>
    deep.has(localKey(finding.found)) ? { ...finding, doubt: finding.doubt ?? WITHIN } : finding,
  );
  return {
    findings: withFilled(atAnyDepth(source.isResponse === true ? withoutFilled(doubted, v2) : doubted, v2))
      .map((finding) =>
        everywhere !== undefined && all.has(localKey(finding.found))
          ? { ...finding, doubt: finding.doubt ?? everywhere }
          : finding,
      )
      .toSorted((one, other) => ruleRank(one.found) - ruleRank(other.found)),
    questions: questions.filter(({ path, text }) => text !== NEW_REQUIRED || !isFilled(path, v2, findings)),
  };
}

/** True if the likeliest answers fill all members that the new object requires: then the object needs no question. */
function isFilled(path: Path, v2: Shape, findings: readonly Finding[]): boolean {
  const required = requiredIn(shapeAt(v2, path) ?? ANY_SHAPE, path);
  const isInside = (at: Path, around: Path): boolean => around.every((name, level) => at[level] === name);
  const isWritten = (place: Path): boolean =>
    findings.some(({ found }) => targetsOf(found).some((at) => isInside(at, place)));
  return required.length > 0 && required.every(isWritten);
}

/** The values that an object requires, by their paths. */
function requiredIn(shape: Shape, path: Path, level = 0): readonly Path[] {
  const needed = [...shape.members].filter(([, { required }]) => required);
  return level > MAX_LEVELS
    ? []
    : needed.flatMap(([name, { shape: inner }]) => {
        const below = requiredIn(inner, [...path, name], level + 1);
        return below.length > 0 ? below : [[...path, name]];
      });
}

/** The place to which a rule writes. */
function targetsOf(found: FoundRule): readonly Path[] {
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

/**
 * The findings without answers that contradict others: the default of a member that another finding may move there, and a second member of
 * V1 for one of V2.
 */
function withFilled(findings: readonly Finding[]): readonly Finding[] {
  const defaults = new Map(
    findings.flatMap(({ found }) =>
      found.rule === 'default' ? [[pathText(found.in, found.member), found] as const] : [],
    ),
  );
  const defaultAt = ({ found }: Finding): FoundRule | undefined =>
    found.rule === 'move' ? defaults.get(pathText([...found.in, ...found.to])) : undefined;
  const beside = findings.flatMap(({ found }) => (found.rule === 'unbox' ? targetsOf(found) : []));
  const filled = new Set([...findings.map(defaultAt), ...beside.map((at) => defaults.get(pathText(at)))]);
  const taken = new Set(
    findings.filter(isProposed).flatMap(({ found }) => targetsOf(found).map((at) => pathText(at))),
  );
  const isFree = (rule: FoundRule): boolean => !targetsOf(rule).some((at) => taken.has(pathText(at)));
  return findings
    .filter(({ found }) => !filled.has(found))
    .map((finding) => {
      const { others = [] } = finding;
      const further = defaultAt(finding);
      const offered = [...others.filter(isFree), ...(further === undefined ? [] : [further])];
      return finding.others === undefined && offered.length === 0 ? finding : { ...finding, others: offered };
    });
}

/** True for objects that contain themselves, and for those inside such objects. */
function isRepeated(pair: object, { chains }: MetPair, met: ReadonlyMap<object, MetPair>): boolean {
  if (met.get(pair)?.isWithinItself === true) return true;
  return chains.some((chain) => {
    for (let outer = chain; outer !== undefined; outer = outer.next)
      if (met.get(outer.pair)?.isWithinItself === true) return true;
    return false;
  });
}

/** Number of depths from which a question about a name is asked for all depths. */
const MANY_DEPTHS = 3;

/**
 * Adds a rule for any depth to the answers, if V2 has the old name nowhere and the rename occurs at many depths; in a schema that contains
 * itself, that rule replaces the others.
 */
function atAnyDepth(findings: readonly Finding[], v2: Shape): readonly Finding[] {
  const renames = findings.filter((finding) => finding.found.rule === 'rename' && !isProposed(finding));
  const groups = Map.groupBy(renames, ({ found }) => localKey(found));
  const rules = new Map<Finding, FoundRule>();
  const answered = new Set<Finding>();
  for (const all of groups.values()) {
    const [first] = all;
    if (first?.found.rule !== 'rename') continue;
    const depths = new Set(all.map(({ found }) => (found.rule === 'rename' ? found.in.length : 0)));
    const isWithin = all.some(({ doubt }) => doubt === WITHIN);
    if (!isWithin && depths.size < MANY_DEPTHS) continue;
    if (namesAnywhere(v2).has(first.found.member)) continue;
    rules.set(first, { ...first.found, in: ['**'] });
    if (isWithin) for (const finding of all) answered.add(finding);
  }
  return findings.flatMap((finding) => {
    const rule = rules.get(finding);
    if (rule === undefined) return answered.has(finding) ? [] : [finding];
    const { others = [] } = finding;
    const strips = others.filter((one) => one.rule === 'strip');
    return [
      answered.has(finding)
        ? { ...finding, found: rule, others: strips }
        : { ...finding, others: [rule, ...others] },
    ];
  });
}

const knownNames = new WeakMap<object, ReadonlySet<string>>();

/** The names of all members in a shape. */
export function namesAnywhere(shape: Shape): ReadonlySet<string> {
  const known = knownNames.get(shape.members);
  if (known !== undefined) return known;
  const names = new Set<string>();
  const seen = new Set<object>();
  const queue = [shape];
  for (const one of queue) {
    if (one.element !== undefined) queue.push(one.element);
    if (seen.has(one.members)) continue;
    seen.add(one.members);
    for (const [name, member] of one.members) {
      names.add(name);
      queue.push(member.shape);
    }
  }
  knownNames.set(shape.members, names);
  return names;
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

const WITHIN = 'its schema contains itself, and a rule reaches only the depths that it names';

interface Work extends ShapeSource {
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
interface Objects {
  readonly v1: Shape;
  readonly v2: Shape;
  readonly path: Path;
}

/** Two objects of a body to be compared, with the pairs that they are in. */
interface InnerPair extends Objects {
  readonly old: Path;
  readonly doubt: string | undefined;
  readonly steps: number;
  readonly around?: Around | undefined;
}

interface Around {
  readonly pair: object;
  readonly next: Around | undefined;
}

/** The findings in a pair of objects at its first place, with the paths of that place. */
interface MetPair extends Omit<InnerPair, 'v1' | 'v2'> {
  readonly findings: readonly Finding[];
  readonly questions: readonly Question[];
  readonly inner: readonly InnerPair[];
  isWithinItself: boolean;
  /** The pairs around it, for each of its places. */
  readonly chains: (Around | undefined)[];
  places: number;
  /** True when it has places that are only reached by following references. */
  isFarther: boolean;
}

function compareAt(at: InnerPair, met: Map<object, MetPair>, base: Work): void {
  const { v1, v2, path, old, doubt, steps, around } = at;
  const pair = pairOf(v1.members, v2.members);
  const known = met.get(pair);
  for (let outer = around; outer !== undefined; outer = outer.next) {
    if (outer.pair !== pair || known === undefined) continue;
    known.isWithinItself = true;
    return;
  }
  if (known === undefined) {
    const [findings, questions, inner]: [Finding[], Question[], InnerPair[]] = [[], [], []];
    compareMembers(v1, v2, path, { ...base, findings, questions, inner, doubt, old, steps });
    const state = { isWithinItself: false, places: 1, isFarther: false, chains: [around] };
    const own = { path, old, doubt, steps, findings, questions, inner, ...state };
    met.set(pair, own);
    base.findings.push(...findings);
    base.questions.push(...questions);
    for (const one of inner) base.inner.push({ ...one, around: { pair, next: around } });
    return;
  }
  known.isFarther ||= steps > MAX_STEPS;
  if (steps > MAX_STEPS) return;
  known.places += 1;
  if (known.places > MAX_PLACES || path.length > MAX_LEVELS) return;
  known.chains.push(around);
  const here = (inside: Path): Path => [...path, ...inside.slice(known.path.length)];
  const before = (inside: Path): Path => [...old, ...inside.slice(known.old.length)];
  for (const finding of known.findings)
    base.findings.push({
      ...movedFinding(finding, here),
      ...(finding.old && { old: before(finding.old) }),
      doubt: finding.doubt ?? doubt,
    });
  for (const question of known.questions) base.questions.push({ ...question, path: here(question.path) });
  for (const one of known.inner)
    base.inner.push({
      ...one,
      path: here(one.path),
      old: before(one.old),
      doubt: one.doubt ?? doubt,
      steps: one.steps - known.steps + steps,
      around: { pair, next: around },
    });
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

const knownPairs = new WeakMap<object, WeakMap<object, object>>();

/** Returns a key for two objects: the same one each time. */
function pairOf(one: object, other: object): object {
  const others = knownPairs.get(one) ?? new WeakMap<object, object>();
  knownPairs.set(one, others);
  const pair = others.get(other) ?? {};
  others.set(other, pair);
  return pair;
}

/** The results of `differs` by pairs of objects, which hold for all bodies of requests, or of responses. */
const requestDifferences = new WeakMap<object, boolean>();
const responseDifferences = new WeakMap<object, boolean>();

function differs(first: InnerPair, source: ShapeSource): boolean {
  const differences = source.isResponse === true ? responseDifferences : requestDifferences;
  const key = ({ v1, v2 }: InnerPair): object => pairOf(v1.members, v2.members);
  const known = differences.get(key(first));
  if (known !== undefined) return known;
  const outer = new Map<object, object[]>();
  const different: object[] = [];
  const queue = [first];
  const seen = new Set<object>([key(first)]);
  for (let at = 0; at < queue.length; at += 1) {
    const one = queue[at];
    if (one === undefined) break;
    const own = key(one);
    const before = differences.get(own);
    if (before !== undefined) {
      if (before) different.push(own);
      continue;
    }
    const [findings, questions, inner]: [Finding[], Question[], InnerPair[]] = [[], [], []];
    const work: Work = { ...source, ...PROBE, findings, questions, inner };
    compareMembers(one.v1, one.v2, [], work);
    if (findings.length + questions.length > 0) different.push(own);
    for (const each of inner) {
      const below = key(each);
      const around = outer.get(below) ?? [];
      outer.set(below, around);
      around.push(own);
      if (seen.has(below)) continue;
      seen.add(below);
      queue.push(each);
    }
  }
  const marked = new Set(different);
  for (const pair of marked) for (const around of outer.get(pair) ?? []) marked.add(around);
  for (const pair of seen) differences.set(pair, marked.has(pair));
  return marked.has(key(first));
}

/** The members with other names or places in two objects, which do not depend on their surroundings. */
interface FoundMoves {
  readonly nests: readonly FoundNest[];
  readonly flats: readonly FoundFlat[];
  readonly renames: Renames;
}

const foundMoves = new WeakMap<object, FoundMoves>();

function foundIn(v1: Shape, v2: Shape, gone: readonly string[], isRecorded: boolean): FoundMoves {
  const pair = pairOf(v1.members, v2.members);
  const known = foundMoves.get(pair);
  if (known !== undefined) return known;
  const nests = findNests(v1, v2, gone, isRecorded);
  const settled = new Set(
    nests.flatMap(({ under, members }) => [under, ...members.map(({ from: name }) => name)]),
  );
  const flats = isRecorded ? [] : findFlats(v1, v2, settled);
  const found = { nests, flats, renames: findRenames(v1, v2, { nests, flats, isRecorded }) };
  foundMoves.set(pair, found);
  return found;
}

/** Compares the members of two objects, and queues the objects inside. */
function compareMembers(v1: Shape, v2: Shape, path: Path, work: Work): void {
  const objects: Objects = { v1, v2, path };
  const gone = [...v1.members.keys()].filter((name) => !v2.members.has(name));
  const { nests, renames, flats } = foundIn(v1, v2, gone, work.isRecorded);
  const moves = new Map(nests.map((nest) => [nest, movesOf(nest, renames.accepted, objects, work)] as const));
  const moved = new Set([...moves.values()].flat().map(({ from }) => from));
  const renamed = new Map(
    renames.accepted
      .filter(({ under }) => under === undefined)
      .map((rename) => [rename.from, { ...rename, doubt: renameDoubt(rename, objects, work) }] as const),
  );
  for (const rename of renamed.values()) addRename(rename, objects, work);
  const flattened = new Map(
    flats
      .filter((flat) => !renamed.has(flat.member) && addFlat(flat, objects, work))
      .map((flat) => [flat.member, flat] as const),
  );
  const flatNames = [...flattened.values()].flatMap((flat) => flat.moves.map(([, to]) => to));
  const taken = takenPlaces(
    [...renamed.values(), ...flatNames.map((to) => ({ to, doubt: undefined }))],
    moves,
  );
  askSwapped(objects, work);
  const before = work.findings.length;
  for (const name of gone) {
    if (moved.has(name) || renamed.has(name) || flattened.has(name)) continue;
    addGone(name, { ...objects, candidate: renames.rejected.get(name), taken, hints: work.hints }, work);
  }
  const likely = answeredByMoves(before, objects, work);
  for (const [nest, all] of moves) addNest(nest, all, objects, work);
  const arrived = new Set([
    ...[...renamed.values()].map(({ to }) => to),
    ...nests.map(({ under }) => under),
    ...flatNames,
    ...likely,
  ]);
  if (work.isResponse === true) addNew(objects, arrived, work);
  else askNewRequired(v1, v2, arrived, path, work);
  for (const [name, member] of v1.members) {
    if (moved.has(name) || nests.some(({ under }) => under === name)) continue;
    const rename = renamed.get(name);
    const to = rename?.to ?? name;
    const partner = v2.members.get(to);
    if (partner === undefined) continue;
    const doubt = rename?.doubt === undefined ? work.doubt : `it holds only if ${name} is ${to} in V2`;
    const { rest } = flattened.get(name) ?? {};
    compareMember(to, rest === undefined ? member : { ...member, shape: rest }, partner, path, {
      ...work,
      around: objects,
      doubt,
      old: [...work.old, name],
    });
  }
  for (const [nest, all] of moves) compareNested(nest, all, objects, work);
}

/**
 * Adds the rule for an object of V1 whose members are in the object around it in V2; false if a part of it has to be looked up there, which
 * the question about the object offers.
 */
function addFlat(flat: FoundFlat, objects: Objects, work: Work): boolean {
  const { member, moves, missing, isPrefixed, rest } = flat;
  const { v1, v2, path } = objects;
  const shape = v1.members.get(member)?.shape ?? ANY_SHAPE;
  if (missing.length > 0 && lookupRules({ name: member, shape }, v2, path, work).length > 0) return false;
  const found: FoundRule = { rule: 'flatten', in: path, member, moves, isWhole: rest === undefined };
  const strip: FoundRule = { rule: 'strip', in: path, member };
  const evidence = `V2 has ${firstOf(moves.map(([, to]) => to))}, which ${moves.length === 1 ? 'has' : 'have'} the ${isPrefixed ? 'words' : 'names'} of ${firstOf(moves.map(([from]) => pathText([member, ...from])))}`;
  const doubt = flatDoubt(flat, shape, objects, work);
  const others = doubt === undefined || rest !== undefined ? [] : [strip];
  const old = [...work.old, member];
  addFinding({ found, confidence: isPrefixed ? 0.95 : 0.8, evidence, doubt, others, old }, work);
  return true;
}

/** The doubt about an object whose members V2 has in the object around it: what could be lost, or be another value. */
function flatDoubt(
  { member, moves, missing, isPrefixed, rest }: FoundFlat,
  shape: Shape,
  { v1, v2, path }: Objects,
  { places, old }: Work,
): string | undefined {
  const named = (inner: Path): string => pathText([...path, member, ...inner]);
  if (missing.length > 0) return `V2 has no place for ${firstOf(missing.map(named))}`;
  if (shape.isNullable) return `${named([])} may be null, which V2 would not get`;
  if (rest === undefined && (shape.further !== '' || shape.unread.length > 0))
    return `V1 may have more in ${named([])}, which V2 would not get`;
  const gone = [...v1.members.keys()].find((name) => name !== member && !v2.members.has(name));
  if (!isPrefixed && gone !== undefined) return `one of them may be ${pathText(path, gone)}`;
  for (const [from, to] of moves) {
    const [own, young] = [shapeAt(shape, from), v2.members.get(to)?.shape];
    if (own === undefined || young === undefined) continue;
    const name = isPrefixed ? [member, ...from].join('_') : from.join('_');
    const value = valueDoubt({ name, shape: own }, { name: to, shape: young });
    if (value !== undefined) return `of ${named(from)}, ${value}`;
    const others = [...v1.members].filter(
      ([other, { shape: around }]) => other !== member && !isPrefixed && shapeAt(around, from) !== undefined,
    );
    if (others.length > 0) return `V1 has ${pathText([...path, others[0]?.[0] ?? '', ...from])} as well`;
  }
  const targets = moves.map(([, to]) => [...path, to]);
  const own = [path, old].flatMap((around) => moves.map(([from]) => [...around, member, ...from]));
  const elsewhere = places
    .of(own, ANY_SHAPE)
    .filter((at) => !targets.some((target) => target.every((name, level) => at[level] === name)));
  return elsewhere.length > 0 ? `V2 has ${placeWords(elsewhere)} as well` : unknownDoubt(v2, places);
}

/** Asks about two members that may have swapped names: V2 describes each as V1 describes the other one. */
function askSwapped({ v1, v2, path }: Objects, work: Work): void {
  if (work.isRecorded) return;
  const changed = [...v1.members].flatMap(([name, { shape: old }]) => {
    const young = v2.members.get(name)?.shape;
    const isDescribed = old.text !== '' || old.format !== '' || old.values.length > 0;
    return young === undefined || !isDescribed || isSameValue(old, young) ? [] : [{ name, old, young }];
  });
  for (const [at, one] of changed.entries()) {
    const other = changed
      .slice(at + 1)
      .find((two) => isSameValue(one.old, two.young) && isSameValue(two.old, one.young));
    if (other === undefined) continue;
    work.questions.push({
      path: [...path, one.name],
      text: `V2's description of it is V1's of ${other.name}, and the other way round: are the names swapped? Three renames swap them back.`,
    });
  }
}

/** True if both values have the same description, format, types and listed values. */
function isSameValue(one: Shape, other: Shape): boolean {
  return (
    one.text === other.text &&
    one.format === other.format &&
    one.values.join('\0') === other.values.join('\0') &&
    [...one.types].join() === [...other.types].join()
  );
}

/**
 * Returns the new members that the findings from `start` on already ask about, and adds the default of a member that V2 requires to their
 * answers.
 */
function answeredByMoves(start: number, { v2, path }: Objects, work: Work): readonly string[] {
  const { findings } = work;
  const likely = new Set<string>();
  findings.forEach((finding, at) => {
    const { found, others = [] } = finding;
    const isNew = found.rule === 'rename' || found.rule === 'list' || found.rule === 'first';
    if (at < start || !isNew) return;
    const partner = v2.members.get(found.to);
    if (partner === undefined) return;
    likely.add(found.to);
    if (!partner.required || work.isResponse === true || partner.shape.members.size > 0) return;
    findings[at] = { ...finding, others: [...others, defaultOf(found.to, partner.shape, path)] };
  });
  return [...likely];
}

/** Members that V1 has in an object, and V2 in a sub-object of it. */
interface FoundNest extends Omit<Evidence, 'doubt'> {
  readonly under: string;
  readonly members: readonly NestedMember[];
}

/** The names of a member in V1 and in the sub-object, which are usually equal. */
interface NestedMember extends Pick<Evidence, 'doubt'> {
  readonly from: string;
  readonly to: string;
}

/**
 * Finds the sub-objects of `v2` that have members which are gone from `v1`: the one that explains most comes first. Recorded
 * requests need not have every member, so their nests are judged by the share of the gone members.
 */
function findNests(v1: Shape, v2: Shape, gone: readonly string[], isRecorded: boolean): readonly FoundNest[] {
  const nests: FoundNest[] = [];
  let left = gone;
  for (;;) {
    const found = [...v2.members.keys()]
      .filter((under) => !nests.some((nest) => nest.under === under))
      .flatMap((under) => nestUnder(under, v1, v2, left, isRecorded) ?? [])
      .filter(({ confidence }) => confidence >= PROPOSED_FROM);
    const [best] = found
      .filter((nest) => !found.some((other) => isRival(nest, other)))
      .toSorted((one, other) => other.members.length - one.members.length);
    if (best === undefined) return nests;
    nests.push(best);
    left = left.filter((name) => !best.members.some(({ from }) => from === name));
  }
}

/** Maximum names in one piece of evidence. */
const MAX_NAMES = 6;

function firstOf(names: readonly string[]): string {
  return `${names.slice(0, MAX_NAMES).join(', ')}${names.length > MAX_NAMES ? ' …' : ''}`;
}

function nestUnder(
  under: string,
  v1: Shape,
  v2: Shape,
  gone: readonly string[],
  isRecorded: boolean,
): FoundNest | undefined {
  const target = v2.members.get(under)?.shape;
  if (target === undefined || target.members.size === 0) return undefined;
  const before = v1.members.get(under)?.shape;
  // A V1 member of this name that is not an object would be lost.
  if (
    before !== undefined &&
    before.members.size === 0 &&
    before.types.size > 0 &&
    !before.types.has('object')
  )
    return undefined;
  const young = [...target.members].filter(([name]) => before?.members.has(name) !== true);
  const members = young.flatMap(([to, { shape }]): readonly NestedMember[] => {
    const named = gone.filter((name) => name === to || isSameName(name, `${under}_${to}`));
    const from = named.includes(to) ? to : named[0];
    const old = from === undefined ? undefined : v1.members.get(from)?.shape;
    if (from === undefined || old === undefined || !isCompatible(old, shape)) return [];
    const other = named.find((name) => name !== from);
    const name = from === to ? from : `${under}_${to}`;
    const doubt =
      other === undefined
        ? valueDoubt({ name: from, shape: old }, { name, shape })
        : `V1 has ${other} as well, which may be the one`;
    return [{ from, to, doubt }];
  });
  if (members.length === 0) return undefined;
  const share = members.length / (isRecorded ? gone : young).length;
  const confidence = Math.min(0.99, 0.35 + 0.6 * share + 0.05 * Math.min(5, members.length - 1));
  const evidence = isRecorded
    ? `${under} of V2 has ${members.length} of the ${gone.length} recorded members that V2 no longer has here`
    : `${members.length} of the ${young.length} new members of ${under} are members of V1: ${firstOf(members.map(({ from }) => from))}`;
  return { under, members, confidence, evidence };
}

/** A member that only one version has, with its place among the others. */
interface LooseMember {
  readonly name: string;
  readonly shape: Shape;
  readonly required: boolean;
  /** The nearest members before and behind it that both versions have; empty at an end. */
  readonly before: string;
  readonly behind: string;
  /** True if no other member that only this version has is of a compatible type. */
  readonly isAlone: boolean;
}

/** The reason why a value of V1, or one inside it, could mean something else in V2's member; undefined if there is no sign of it. */
function valueDoubt(
  old: NamedShape,
  young: NamedShape,
  seen: Set<object> = new Set(),
  level = 0,
): string | undefined {
  const own = scalarDoubt(old, young);
  if (own !== undefined) return own;
  const [one, other] = [old.shape, young.shape];
  if (areOthers(one, other)) return 'what is in it has other names in V2';
  const pair = pairOf(one.members, other.members);
  if (level > MAX_LEVELS || requestDifferences.get(pair) === false) return undefined;
  if (!seen.has(pair)) {
    if (one.members.size > 0) seen.add(pair);
    for (const [name, { shape }] of one.members) {
      const partner = other.members.get(name)?.shape;
      const inner = partner && valueDoubt({ name, shape }, { name, shape: partner }, seen, level + 1);
      if (inner !== undefined) return `of its ${name}, ${inner}`;
    }
  }
  if (one.element === undefined || other.element === undefined) return undefined;
  return valueDoubt({ name: '', shape: one.element }, { name: '', shape: other.element }, seen, level + 1);
}

/** True for objects that have no member in common. */
function areOthers(one: Shape, other: Shape): boolean {
  if (one.members.size === 0 || other.members.size === 0) return false;
  const names = new Set([...other.members.keys()].map(plainName));
  return [...one.members.keys()].every((name) => !names.has(plainName(name)));
}

/**
 * The reason why a value that is not an object could mean something else: its type, format, limits, and the units in names and
 * descriptions. In a request, V2 must accept V1's values; in a response, V1's clients must accept V2's.
 */
function scalarDoubt(old: NamedShape, young: NamedShape, isResponse = false, level = 0): string | undefined {
  const [one, other] = [old.shape, young.shape];
  const doubts: string[] = [];
  const compare = (what: string, first: string, second: string): void => {
    if (first !== second) doubts.push(`${what} ${first || 'none'} in V1 and ${second || 'none'} in V2`);
  };
  const compareBoth = (what: string, first: string, second: string): void => {
    if (first !== '' && second !== '') compare(what, first, second);
  };
  if (!(isResponse ? fitsInto(other, one) : fitsInto(one, other)))
    compare('it is', typeWords(one), typeWords(other));
  compareBoth('its format is', one.format, other.format);
  const time = timeDoubt(old, young);
  if (time !== '' && doubts.length === 0) doubts.push(time);
  if (!isSameName(old.name, young.name))
    compare('the unit in its name is', unitsIn(old.name), unitsIn(young.name));
  // The description of an object is about all of its members.
  if (one.members.size === 0 && other.members.size === 0)
    compareBoth('the unit in its description is', textUnits(one), textUnits(other));
  compareBoth('its limit is', one.limits, other.limits);
  if (areContraries(old, young)) doubts.push(CONTRARY);
  if (doubts.length > 0) return doubts.join('; ');
  const [element, partner] = [one.element, other.element];
  if (element === undefined || partner === undefined || element.members.size > 0) return undefined;
  if (level > MAX_LEVELS) return undefined;
  return scalarDoubt({ name: '', shape: element }, { name: '', shape: partner }, isResponse, level + 1);
}

const CONTRARY = 'the names say the contrary of each other, so that true and false change places';

/** The types of a value in words, and those of the elements of a list. */
function typeWords({ types, element }: Shape): string {
  const own = [...types].join(' or ');
  const inner = element === undefined || own !== 'array' ? '' : [...element.types].join(' or ');
  return inner === '' ? own : `${own} of ${inner}`;
}

/** True if another sub-object explains as many members, some of them the same ones: a choice would be a guess. */
function isRival(nest: FoundNest, other: FoundNest): boolean {
  const names = new Set(nest.members.map(({ from }) => from));
  return (
    other.under !== nest.under &&
    other.members.length === nest.members.length &&
    other.members.some(({ from }) => names.has(from))
  );
}

/** A member of V1 and its name in V2. */
interface FoundRename extends Evidence {
  readonly from: string;
  readonly to: string;
  /** The sub-object that a nest moves it into; undefined when it stays where it was. */
  readonly under: string | undefined;
}

/** A member that moves into a sub-object, and may get another name there. */
interface Move extends NestedMember, Evidence {}

/** The members that a nest moves: under the same name, or under another one. */
function movesOf(
  nest: FoundNest,
  renames: readonly FoundRename[],
  objects: Objects,
  work: Work,
): readonly Move[] {
  const { under, confidence, evidence } = nest;
  const own = nest.members.map((member): Move => {
    const words = `V2 has ${under}.${member.to}, which has the words of ${member.from}`;
    return { ...member, confidence, evidence: member.from === member.to ? evidence : words };
  });
  const further = renames
    .filter((rename) => rename.under === under)
    .map((rename): Move => ({ ...rename, evidence: `${rename.evidence}, in ${under}` }));
  const before = objects.v1.members.get(under)?.shape;
  return [...own, ...further].map((move) => {
    const doubt =
      move.doubt ??
      occupiedDoubt(move.from, under, before) ??
      besideDoubt(move.from, under, objects) ??
      (before !== undefined && move.from === move.to
        ? `V1 has ${pathText([under])} without it, so that what V2 has there may be another one`
        : undefined) ??
      elsewhereDoubt(move.from, [...objects.path, under, move.to], objects, work);
    return { ...move, doubt };
  });
}

/**
 * Why a member may not be the one at `target`: beside it, V2 has a new member with the same words in its name, or with the old name in its
 * text.
 */
function besideDoubt(
  from: string,
  target: string,
  { v1, v2, path }: Objects,
  isOfType = true,
): string | undefined {
  const shape = v1.members.get(from)?.shape ?? ANY_SHAPE;
  const beside = [...v2.members].find(
    ([name, member]) =>
      name !== target &&
      !v1.members.has(name) &&
      (plainName(name) === plainName(from) ||
        ((!isOfType || isCompatible(shape, member.shape)) &&
          (isRelatedName(name, from) || mentionsName(member.shape.text, from)))),
  );
  return beside === undefined ? undefined : `V2 has ${pathText(path, beside[0])} as well`;
}

/** Why a move into a sub-object that V1 already has could replace something there. */
function occupiedDoubt(from: string, under: string, before: Shape | undefined): string | undefined {
  if (before === undefined) return undefined;
  if (before.members.has(from))
    return `V1 has ${withArticle(from)} in ${under} as well, which the move would replace`;
  if (before.further !== '' || before.unread.length > 0 || before.members.size === 0)
    return `V1 may have ${withArticle(from)} in ${under} as well, which the move would replace`;
  return [...before.types].some((type) => type !== 'object')
    ? `V1 may have something else than an object in ${under}, which the move would replace`
    : undefined;
}

/** The reason why V2 may have a member elsewhere than at `target`, or still at its old place. */
function elsewhereDoubt(
  from: string,
  target: Path,
  { v1, v2, path }: Objects,
  { places, old }: Work,
): string | undefined {
  const shape = v1.members.get(from)?.shape;
  const own = [path, old].map((around) => [...around, from]);
  // An object of the same name is the same one, even if other objects have the same members.
  const inside = isSameName(from, target.at(-1) ?? '') ? ANY_SHAPE : shape;
  const isBeside = (at: Path): boolean => isSamePath(at.slice(0, -1), path);
  const others =
    inside === undefined
      ? []
      : places.of(own, inside, target).filter((at) => isBeside(at) || !places.isOwn(at, from));
  if (others.length > 0) return `V2 has ${placeWords(others)} as well`;
  return unknownDoubt(v2, places);
}

function placeWords(places: readonly Path[]): string {
  const named = places.slice(0, 3).map((place) => pathText(place));
  return `${named.join(' and ')}${places.length > 3 ? ` and ${places.length - 3} more` : ''}`;
}

/** The reason why V2 may have any member at its old place, or elsewhere. */
function unknownDoubt(v2: Shape, { unread }: Places): string | undefined {
  const [first] = unread;
  if (first !== undefined) return `${first} could not be read, and may have it`;
  return v2.further === '' ? undefined : `V2 may have it although it does not name it: ${v2.further}`;
}

/** The reason why a rename could lose a value or change its meaning. */
function renameDoubt(rename: FoundRename, objects: Objects, work: Work): string | undefined {
  const { from, to, doubt } = rename;
  const { v1, path } = objects;
  if (doubt !== undefined) return doubt;
  if (v1.further !== '' || v1.unread.length > 0)
    return `V1 may have another ${to} there, which the rename would replace`;
  const elsewhere = elsewhereDoubt(from, [...path, to], objects, work);
  if (isSameName(from, to)) return elsewhere;
  return besideDoubt(from, to, objects, false) ?? otherDoubt(rename, objects, work) ?? elsewhere;
}

/** The doubt about a rename to another name, if V1's description names what to use instead, or if V2 still has a member of the old name. */
function otherDoubt({ from, to }: FoundRename, { v1, v2 }: Objects, { places }: Work): string | undefined {
  const [old, young] = [v1.members.get(from)?.shape, v2.members.get(to)?.shape];
  if (old === undefined || young === undefined) return undefined;
  const successor = successorDoubt(old, places, to);
  if (successor !== undefined) return successor;
  // The content shows that it is the same, even if others have the name.
  if ((old.text !== '' && old.text === young.text) || haveSameContent(old, young)) return undefined;
  const still = places.whereIs(from);
  return still && `V2 still has ${pathText(still)}, which may be it`;
}

/** The doubt about the place of a member for which V1's description says to use another one, which V2 has. */
function successorDoubt(shape: Shape, places: Places, to = ''): string | undefined {
  const successor = shape.successor?.split('.').at(-1);
  return successor === undefined || isSameName(successor, to) || !places.has(successor)
    ? undefined
    : `V1's description says to use ${shape.successor} instead, and V2 has that`;
}

function addRename(rename: FoundRename, { v1, v2, path }: Objects, work: Work): void {
  const { from, to, confidence, evidence, doubt } = rename;
  const converted = doubt === undefined ? [] : conversionsOf(v1, from, v2, to);
  const shape = v1.members.get(from)?.shape ?? ANY_SHAPE;
  const found = turned(renameRule(path, from, to, converted), shape, v2.members.get(to)?.shape);
  const strip: FoundRule = { rule: 'strip', in: path, member: from };
  const others: readonly FoundRule[] =
    doubt === undefined ? [] : [...otherForms(found, from, shape, { v1, v2, path }, work), strip];
  const open = openIfUnitsDiffer(found, from);
  addFinding({ found, confidence, evidence, doubt, others, old: [...work.old, from], ...open }, work);
}

/** Marks a rename as open if it keeps the value although the units differ. */
function openIfUnitsDiffer(found: FoundRule, from: string): Pick<Finding, 'isOpen'> {
  const isPlain = found.rule === 'rename' && found.conversions === undefined;
  return isPlain && unitsIn(from) !== unitsIn(found.to) ? { isOpen: true } : {};
}

function renameRule(path: Path, member: string, to: string, converted: readonly Conversion[]): FoundRule {
  return {
    rule: 'rename',
    in: path,
    member,
    to,
    ...(converted.length > 0 && { conversions: converted }),
  };
}

function addFinding(finding: Finding, { findings, doubt }: Work): void {
  findings.push(doubt === undefined ? finding : { ...finding, doubt: finding.doubt ?? doubt });
}

/**
 * The members of V2's object that certainly belong to another member of V1, by their paths as JSON. Of a nest's sub-object, only the object
 * `itself` is taken.
 */
type TakenPlaces = ReadonlyMap<string, 'with all in it' | 'itself'>;

function takenPlaces(
  renamed: Iterable<Pick<FoundRename, 'to' | 'doubt'>>,
  moves: ReadonlyMap<FoundNest, readonly Move[]>,
): TakenPlaces {
  const taken = new Map<string, 'with all in it' | 'itself'>();
  const take = (doubt: string | undefined, ...names: readonly string[]): void => {
    if (doubt === undefined) taken.set(JSON.stringify(names), 'with all in it');
  };
  for (const { doubt, to } of renamed) take(doubt, to);
  for (const [{ under }, all] of moves) {
    taken.set(JSON.stringify([under]), 'itself');
    for (const { doubt, to } of all) take(doubt, under, to);
  }
  return taken;
}

/** The former place of a member that V2 does not have there, and its possible new places. */
interface GonePlace extends Objects {
  readonly candidate: FoundRename | undefined;
  readonly taken: TakenPlaces;
  readonly hints: NameHints | undefined;
}

function addGone(name: string, place: GonePlace, work: Work): void {
  if (work.isProbe === true) {
    const found: FoundRule = { rule: 'strip', in: place.path, member: name };
    return void work.findings.push({ found, confidence: 0, evidence: '' });
  }
  const { v1, v2, path } = place;
  // If only the type and the place support a name, the member was more likely removed.
  const isUnlinked =
    place.candidate?.doubt === NO_LINK &&
    (work.isResponse === true || place.candidate.confidence < PROPOSED_FROM);
  const candidate = isUnlinked ? undefined : place.candidate;
  const old = [...work.old, name];
  const strip: FoundRule = { rule: 'strip', in: path, member: name };
  const shape = v1.members.get(name)?.shape ?? ANY_SHAPE;
  const evidence = work.whyGone(path, name);
  const always = v1.members.get(name)?.required === true && { isAlways: true as const };
  const looked = lookupRules({ name, shape }, v2, path, work);
  if (looked.length > 0) return addLookup(looked, old, work);
  const possible = possiblePlaces(name, shape, place, work);
  const linkTo = (at: Path): string | undefined => linkBetween(name, at.slice(path.length), place);
  const isLikelyAt = (at: Path): boolean => isLikely(name, shape, at, path) || linkTo(at) !== undefined;
  const elsewhere = possible.filter(isLikelyAt).flatMap((at) => rulesInto(name, shape, at, place, work));
  if (candidate !== undefined && candidate.confidence >= ASKED_FROM && candidate.under === undefined) {
    const { to, confidence, evidence: why, doubt: against = 'it may be gone, or another one' } = candidate;
    const converted = conversionsOf(v1, name, v2, to);
    const found = turned(renameRule(path, name, to, converted), shape, v2.members.get(to)?.shape);
    const forms = otherForms(found, name, shape, place, work);
    const others = [...forms, ...elsewhere.filter((one) => !isTo(one, [...path, to])), strip];
    const open = openIfUnitsDiffer(found, name);
    const left = unpairedWords(shape, v2.members.get(to)?.shape ?? ANY_SHAPE, work);
    addFinding(
      { found, confidence, evidence: `${why}${left}`, doubt: against, others, old, ...open, ...always },
      work,
    );
    const [before, after] = [v1.members.get(name), place.v2.members.get(to)];
    const onlyIf = { ...work, doubt: `it holds only if ${name} is ${to} in V2`, questions: [] };
    if (before !== undefined && after !== undefined) addMap(to, before.shape, after.shape, path, onlyIf);
    return;
  }
  const named = candidate === undefined || candidate.confidence < ASKED_FROM ? [] : [candidate];
  const inside = named.flatMap(({ under, to }) => (under === undefined ? [] : [[...path, under, to]]));
  const all = [...inside, ...possible.filter((at) => !inside.some((one) => isSamePath(one, at)))];
  const reached = all.map((at) => ({ at, into: rulesInto(name, shape, at, place, work) }));
  const rules = reached.flatMap(({ into }) => into);
  const likely = reached.filter(({ at }) => isLikelyAt(at) || inside.some((one) => isSamePath(one, at)));
  const intoLikely = all.some(isLikelyAt) ? likely.flatMap(({ into }) => into) : [];
  const [likeliest, ...others] = intoLikely.filter((one, at) => {
    const key = JSON.stringify(one);
    return intoLikely.findIndex((other) => JSON.stringify(other) === key) === at;
  });
  const doubt =
    all.length > 0
      ? (unitDoubt({ name, shape }, all, place) ?? goneQuestion(all))
      : (unknownDoubt(v2, work.places) ??
        namedDoubt(shape, place, work) ??
        (work.isResponse === true ? undefined : lossOf(shape)));
  if (likeliest !== undefined && !work.isRecorded) {
    const first = likely.find(({ into }) => into.length > 0)?.at ?? [];
    const link = linkTo(first);
    const young = shapeAt(v2, first.slice(path.length)) ?? ANY_SHAPE;
    const why = `V2 has ${pathText(first)}, which may be the same member${link === undefined ? '' : `: ${link}`}${unpairedWords(shape, young, work)}`;
    addFinding(
      {
        found: likeliest,
        confidence: 0.5,
        evidence: why,
        doubt,
        others: [...others.slice(0, MAX_OFFERED), strip],
        old,
        ...openIfUnitsDiffer(likeliest, name),
        ...always,
      },
      work,
    );
    return;
  }
  // V2 has no value for it, unless a person knows that another member has it.
  const unlinked =
    isUnlinked &&
    work.isResponse === true &&
    place.candidate?.under === undefined &&
    !areOtherKeys(name, place.candidate.to)
      ? [place.candidate.to].map((to) => {
          const rename = renameRule(path, name, to, conversionsOf(v1, name, v2, to));
          return withValues(rename, shape, v2.members.get(to)?.shape);
        })
      : [];
  const { isDeprecated } = shape;
  const twin = all.length > 0 ? undefined : twinOf(name, shape, place);
  if (twin !== undefined && !work.isRecorded) {
    const at = pathText([...path, ...twin]);
    const move = { rule: 'move', in: path, member: name, to: twin } as const;
    addFinding(
      {
        found: { ...strip, twin },
        confidence: 0.5,
        evidence: `V2 has ${at}, where V1 has it as well`,
        doubt: `a client may send only one of ${pathText([name])} and ${pathText(twin)}`,
        others: work.isResponse === true ? [] : [move],
        old,
        ...always,
      },
      work,
    );
    return;
  }
  const splits = splitInto(name, shape, place);
  const parts = new Set(splits.flatMap(targetsOf).map((at) => pathText(at)));
  const isPart = (one: FoundRule): boolean => targetsOf(one).some((at) => parts.has(pathText(at)));
  addFinding(
    {
      found: strip,
      // A wrong guess loses data in one direction, and is refused in the other.
      confidence: doubt !== undefined ? PROPOSED_FROM - 0.1 : isDeprecated ? 0.97 : 0.85,
      evidence: isDeprecated ? `${evidence}, and V1's calls it deprecated` : evidence,
      doubt,
      others: [...splits, ...[...rules.slice(0, 3), ...unlinked].filter((one) => !isPart(one))],
      old,
      ...(rules.length + splits.length > 0 && { isOpen: true }),
      ...always,
    },
    work,
  );
}

/** The values that have no partner in the other version, for the end of a sentence: V1's in requests, and V2's in responses. */
function unpairedWords(old: Shape, young: Shape, { isResponse }: Pick<Work, 'isResponse'>): string {
  const map = findValueMap(old.values, young.values);
  const left = (isResponse === true ? map?.fresh : map?.left) ?? [];
  if (left.length === 0) return '';
  return `; ${isResponse === true ? 'V1' : 'V2'} has no value for ${namedValues(left)}`;
}

/** The doubt about any rule that leaves a member out of requests: only a person knows that no client needs it. */
const LOSS = 'what clients send there would be lost, and V2 would still report success';

/** The doubt about leaving a member out; one with a few values tells V2 what to do. */
function lossOf({ values }: Shape): string {
  return values.length < 2 ? LOSS : `${LOSS}: it would do the same for ${namedValues(values)}`;
}

/** Maximum places that a question offers beside the likeliest one. */
const MAX_OFFERED = 5;

const knownPlaces = new WeakMap<object, ReadonlyMap<string, readonly Path[]>>();

/** The places in an object, by the letters of their paths: `balanceAccount.id` has those of `balanceAccountId`. */
function placesByLetters(shape: Shape): ReadonlyMap<string, readonly Path[]> {
  const known = knownPlaces.get(shape.members);
  if (known !== undefined) return known;
  const paths = pathsIn(shape, [], MAX_CANDIDATES).filter((path) => !path.includes('*'));
  const found = Map.groupBy(paths, (path) => wordsOf(path.join('_')).join(''));
  knownPlaces.set(shape.members, found);
  return found;
}

/** The other place where both versions have the value of a member that only one of them has in this object. */
function twinOf(name: string, shape: Shape, { v1, v2 }: Objects): Path | undefined {
  const places = placesByLetters(v1).get(wordsOf(name).join('')) ?? [];
  return places.find((place) => {
    const inner = place.length > 1 ? shapeAt(v2, place) : undefined;
    return inner !== undefined && isCompatible(inner, shape);
  });
}

/** The lookup rules for an object of V1's responses of which V2 returns only the key. */
function lookupRules(
  old: NamedShape,
  v2: Shape,
  path: Path,
  { lookups = [], isResponse }: Work,
): readonly FoundRule[] {
  if (isResponse !== true || lookups.length === 0 || old.shape.members.size === 0) return [];
  const keys = [...v2.members].filter(([key]) => key === old.name || isKeyOf(key, old.name));
  return keys.flatMap(([key, { shape }]) =>
    lookupsFor(old, { name: key, shape }, lookups).map((found): FoundRule => ({
      rule: 'lookup',
      in: path,
      member: old.name,
      ...found,
    })),
  );
}

function addLookup([found, ...others]: readonly FoundRule[], old: Path, work: Work): void {
  if (found?.rule !== 'lookup') return;
  const evidence = `V2 has only ${pathText(found.in, found.key)}, and returns ${found.take.join(', ')} for GET ${found.get}`;
  const doubt = 'the gateway then sends V2 another request for each response';
  addFinding({ found, confidence: 0.5, evidence, doubt, others, old }, work);
}

/** Minimum likeness of two names for a place to be a likely one. */
const LIKE_NAME = 0.6;

/** True if the name of a place suggests that a member may be there; its type alone does not. */
function isLikelyPlace(name: string, shape: Shape, place: Path): boolean {
  const [last = ''] = place.slice(-1);
  return (
    isSameMember(name, last) ||
    isSameMember(name, place.at(-2) ?? '') ||
    isRelatedName(place.join('_'), name) ||
    (last !== 'id' && isRelatedName(last, name)) ||
    nameSimilarity(last, name) >= LIKE_NAME ||
    // A member of an object may have moved beside the object, or into one with a similar name. Any object has an `id`.
    (shape.members.has(last) && (place.length === 1 || isRelatedName(place.slice(0, -1).join('_'), name))) ||
    singularName(last) === singularName(name)
  );
}

function isSamePath(one: Path, other: Path): boolean {
  return one.length === other.length && one.every((name, at) => name === other[at]);
}

function isTo(found: FoundRule, target: Path): boolean {
  if (found.rule === 'rename' || found.rule === 'list' || found.rule === 'first')
    return isSamePath([...found.in, found.to], target);
  return found.rule === 'move' && isSamePath([...found.in, ...found.to], target);
}

/** The doubt about a gone member if no place has its name, but its description names another member. */
function namedDoubt(shape: Shape, { v1, v2, path, taken }: GonePlace, { places }: Work): string | undefined {
  const successor = successorDoubt(shape, places);
  if (successor !== undefined) return successor;
  const words = new Set(wordsOf(shape.text).map(singularName));
  const namedMember = [...v2.members.keys()].find(
    (name) =>
      !v1.members.has(name) &&
      name.length > 3 &&
      taken.get(JSON.stringify([name])) === undefined &&
      words.has(singularName(name)),
  );
  return namedMember === undefined
    ? undefined
    : `V1's description speaks of ${pathText(path, namedMember)}, which V2 has`;
}

/** The doubt about a gone number that V2 has in a unit to which no rule converts it. */
function unitDoubt(old: NamedShape, places: readonly Path[], { v2, path }: Objects): string | undefined {
  for (const at of places) {
    const shape = shapeAt(v2, at.slice(path.length));
    const young = shape && { name: at.at(-1) ?? '', shape };
    const units = young !== undefined && isInOtherUnit(old, young) ? otherUnits(old, young) : undefined;
    if (units !== undefined)
      return `V2 has ${pathText(at)} in ${units[1]}, and V1 ${pathText([old.name])} in ${units[0]}: write a transform that converts it`;
  }
  return undefined;
}

function goneQuestion(places: readonly Path[]): string {
  const named = places.slice(0, 3).map((one) => pathText(one));
  return `is it ${named.join(' or ')}${places.length > 3 ? ' or another new member' : ''} in V2, or gone?`;
}

/** The other rules that put a member where `found` does: a list has several forms. */
function otherForms(
  found: FoundRule,
  name: string,
  shape: Shape,
  objects: Objects,
  work: Work,
): readonly FoundRule[] {
  if (found.rule !== 'rename') return [];
  const key = JSON.stringify(found);
  const all = rulesInto(name, shape, [...found.in, found.to], objects, work);
  // The name alone is no evidence that a value became a list.
  return found.conversions === undefined ? [] : all.filter((one) => JSON.stringify(one) !== key);
}

/** The rules that move a member of V1 to a place of V2, the likeliest first; empty if there are none. */
function rulesInto(
  name: string,
  shape: Shape,
  target: Path,
  { v2, path }: Objects,
  work: Work,
): readonly FoundRule[] {
  const stars = (at: Path): number => at.filter((one) => one === '*').length;
  const isBelow = path.every((one, at) => target[at] === one);
  const rest = target.slice(path.length);
  const to = rest.at(-1);
  // A rule for this object reaches neither other elements nor outer objects.
  if (!isBelow || to === undefined || stars(rest) > 0) return [];
  const young = shapeAt(v2, rest);
  if (young === undefined || isOther({ name, shape }, { name: rest.join('_'), shape: young })) return [];
  const named = [
    { name, shape },
    { name: to, shape: young },
  ] as const;
  const words = wordPairs(...named);
  if (rest.length > 1) {
    const converted = conversions(...named);
    const move = { rule: 'move', in: path, member: name, to: rest } as const;
    if (words !== undefined) return [{ ...move, values: words }];
    if (converted.length > 0) return [{ ...move, conversions: converted }];
    if (isCompatible(shape, young)) return [withValues(move, shape, young)];
    return isMoney(young) ? boxRules(...named, path, rest) : [];
  }
  if (words !== undefined) return [{ rule: 'rename', in: path, member: name, to, values: words }];
  const listed = listRules({ name, shape }, { name: to, shape: young }, path, work);
  if (listed.length > 0) return listed;
  const converted = conversions(...named);
  if (!isCompatible(shape, young) && converted.length === 0)
    return isMoney(young) ? boxRules(...named, path, rest) : [];
  return [converted, ...otherScales(...named)].map((all) =>
    withValues(renameRule(path, name, to, all), shape, young),
  );
}

/** The moves of a value into the object that V2 has at a place, such as an amount beside its currency: the likeliest first. */
function boxRules(old: NamedShape, young: NamedShape, path: Path, to: Path): readonly FoundRule[] {
  return boxForms(old, young).map(({ inner, conversions: converted }) => {
    const move = { rule: 'move', in: path, member: old.name, to: [...to, inner] } as const;
    return converted.length === 0 ? move : { ...move, conversions: converted };
  });
}

/** A rename or a move that a person can choose, with V2's values for those of V1 if both list them: a renamed value that V2 does not know is lost. */
function withValues(found: FoundRule, old: Shape | undefined, young: Shape | undefined): FoundRule {
  if ((found.rule !== 'rename' && found.rule !== 'move') || found.conversions !== undefined) return found;
  if (old === undefined || young === undefined) return found;
  const to = found.rule === 'rename' ? found.to : found.to.join('_');
  if (areContraries({ name: found.member, shape: old }, { name: to, shape: young }))
    return { ...found, values: TURNED };
  const { spelled, guessed } = findValueMap(old.values, young.values) ?? {};
  const values = [...(spelled?.pairs ?? []), ...(guessed?.pairs ?? [])];
  return values.length === 0 ? found : { ...found, values };
}

/** The values of two booleans that say the contrary of each other. */
const TURNED: readonly (readonly [from: FoundValue, to: FoundValue])[] = [
  [true, false],
  [false, true],
];

/** A rule with the values of booleans that say the contrary of each other; any other values have a rule of their own. */
function turned(found: FoundRule, old: Shape | undefined, young: Shape | undefined): FoundRule {
  const all = withValues(found, old, young);
  return 'values' in all && all.values === TURNED ? all : found;
}

const GIVEN = /^(?:given|first|fore)/i;
const FAMILY = /^(?:family|last|sur)/i;

/** The rules that split a person's name into the parts that V2 has, together in one object. */
function splitInto(
  member: string,
  { types, values, format }: Shape,
  { v1, v2, path }: Objects,
): readonly FoundRule[] {
  if (!/name$/i.test(member) || !types.has('string') || values.length > 0 || format !== '') return [];
  const objects: readonly (readonly [string | undefined, Shape])[] = [
    [undefined, v2],
    ...[...v2.members].map(([name, { shape }]) => [name, shape] as const),
  ];
  return objects.flatMap(([under, { members }]): readonly FoundRule[] => {
    const isNew = (name: string): boolean =>
      !v1.members.has(name) && members.get(name)?.shape.types.has('string') === true;
    const [to, ...more] = [GIVEN, FAMILY].map((word) =>
      [...members.keys()].filter((name) => word.test(name) && isNew(name)),
    );
    const all = [...(to ?? []), ...more.flat()];
    if (to?.length !== 1 || all.length !== 2 || (under !== undefined && v1.members.has(under))) return [];
    return [{ rule: 'split', in: path, member, to: all, under }];
  });
}

/** The rules for a value that is a list in one version only, or a list of other elements: the likeliest first. */
function listRules(
  old: NamedShape,
  young: NamedShape,
  path: Path,
  { isResponse }: Pick<Work, 'isResponse'>,
): readonly FoundRule[] {
  const { name: member } = old;
  const { name: to } = young;
  // A request rule cannot choose one of several elements that a client sent.
  const isDescribed = (form: ListForm): boolean =>
    form !== 'one' || isResponse === true || isList(young.shape);
  return listForms(old, young)
    .filter(isDescribed)
    .map((form): FoundRule => {
      if (form === 'one') return { rule: isList(young.shape) ? 'list' : 'first', in: path, member, to };
      return member === to
        ? { rule: 'convert', in: path, member, conversions: [form] }
        : renameRule(path, member, to, [form]);
    });
}

function isList({ element, types }: Shape): boolean {
  return element !== undefined && !types.has('object');
}

/** Where V2 may have a member by another name, or in another object. */
function possiblePlaces(name: string, shape: Shape, place: GonePlace, work: Work): readonly Path[] {
  const { path } = place;
  const own = [path, work.old].map((around) => [...around, name]);
  const places = work.places.of(own, work.isResponse === true ? ANY_SHAPE : shape);
  // In responses, a guess by types alone does not restore a lost value.
  const named = work.isResponse === true ? places.filter((at) => isLikely(name, shape, at, path)) : places;
  // A similar name of another type may be that of another member.
  if (named.some((at) => rulesInto(name, shape, at, place, work).length > 0)) return named;
  const { alike, likely, others } = newMembers(name, shape, place);
  const found = (work.isResponse === true ? likely : [...alike, ...others]).map((at) => [...path, ...at]);
  return [...named, ...found.filter((at) => !named.some((one) => isSamePath(one, at)))];
}

/** True if the name of a place suggests that a member of the object at `path` may be there. */
function isLikely(name: string, shape: Shape, place: Path, path: Path): boolean {
  const isBelow = path.every((one, at) => place[at] === one);
  return isLikelyPlace(name, shape, isBelow ? place.slice(path.length) : place);
}

/** Maximum members of V2 that are considered for a gone member; the same name elsewhere is found without this limit. */
const MAX_CANDIDATES = 200;

/** Members of V2's object that could take a value, by their paths in it. */
interface NewMembers {
  /**
   * First those whose path has the words of the gone member's name, such as `accountHolder.id` for `accountHolderId`; then those with other
   * links to it.
   */
  readonly alike: readonly Path[];
  readonly others: readonly Path[];
  /** Those of both lists whose name suggests it. */
  readonly likely: readonly Path[];
}

/** Cached, because many bodies contain the same objects. */
const knownMembers = new WeakMap<object, Map<string, NewMembers>>();

function newMembers(
  gone: string,
  shape: Shape,
  { v1, v2, path, taken, candidate, hints }: GonePlace,
): NewMembers {
  const pair = pairOf(v1.members, v2.members);
  const known = knownMembers.get(pair) ?? new Map<string, NewMembers>();
  knownMembers.set(pair, known);
  const key = JSON.stringify([gone, hints?.names.get(gone), ...taken]);
  const before = known.get(key);
  if (before !== undefined) return before;
  const all = takingMembers(gone, shape, { v1, v2, path: [], taken });
  const place = { v1, v2, path, taken, candidate, hints };
  const isLinked = (at: Path): boolean => linkBetween(gone, at, place) !== undefined;
  const isWorded = (at: Path): boolean => isRelatedName(at.join('_'), gone);
  const isOfOther = (at: Path): boolean =>
    hasOwnName(gone, at, place) ||
    (!isAlike(at.at(-1) ?? '', gone) && belongsToAnother(gone, shape, at, place));
  const [alike, rest] = [
    all.filter((at) => isWorded(at) && !isOfOther(at)),
    all.filter((at) => !isWorded(at)),
  ];
  const linked = rest.filter(isLinked);
  const sharesValues = (at: Path): boolean =>
    commonSpellings(shape.values, shapeAt(v2, at)?.values ?? []) > 0;
  const free = rest.filter((at) => !isLinked(at) && !belongsToAnother(gone, shape, at, place));
  // A type alone is evidence only for the last member of V1.
  const others = free
    .filter((at) => hasInCommon(gone, shape, at, place) || isLastFor(gone, at, place))
    .toSorted((one, other) => Number(sharesValues(other)) - Number(sharesValues(one)));
  const found = {
    alike: [...alike, ...linked],
    others,
    likely: all.filter((at) => isLinked(at) || (isLikelyPlace(gone, shape, at) && !isOfOther(at))),
  };
  known.set(key, found);
  return found;
}

/** True if a gone member and a place of V2 have anything but a type in common: words of their names or descriptions, or values. */
function hasInCommon(
  gone: string,
  shape: Shape,
  at: Path,
  place: Pick<GonePlace, 'v1' | 'v2' | 'hints'>,
): boolean {
  const young = shapeAt(place.v2, at) ?? ANY_SHAPE;
  const words = new Set(wordsOf(shape.text).filter((word) => word.length >= LONG_WORD));
  return (
    isLikelyPlace(gone, shape, at) ||
    haveCommonWord(at.join('_'), gone) ||
    haveSameRoot(at.join('_'), gone) ||
    commonSpellings(shape.values, young.values) > 0 ||
    wordsOf(young.text).some((word) => words.has(word)) ||
    textWeight({ name: gone, shape }, { name: at.at(-1) ?? '', shape: young })[0] > 0 ||
    linkBetween(gone, at, place) !== undefined
  );
}

/** Minimum letters of a word that two descriptions do not have in common by chance. */
const LONG_WORD = 6;

/** True for the names of identifiers of two things: an appointment's is not a dentist's. */
function areOtherKeys(one: string, other: string): boolean {
  return isIdentifier(one) && isIdentifier(other) && !haveCommonWord(one, other);
}

/** True if no other member of V1 is gone that could be at a place of V2. */
function isLastFor(gone: string, at: Path, { v1, v2 }: Pick<GonePlace, 'v1' | 'v2'>): boolean {
  const young = shapeAt(v2, at) ?? ANY_SHAPE;
  return ![...v1.members].some(
    ([name, { shape }]) => name !== gone && !v2.members.has(name) && isCompatible(shape, young),
  );
}

/** True if another gone member of V1 has the name of a place. */
function hasOwnName(gone: string, at: Path, { v1, v2 }: Pick<GonePlace, 'v1' | 'v2'>): boolean {
  return [...v1.members.keys()].some(
    (other) =>
      other !== gone &&
      !v2.members.has(other) &&
      (plainName(other) === plainName(at.at(-1) ?? '') || isSameName(other, at.join('_'))),
  );
}

/** True if both have the same text or the same format, which links them unless other members have it as well. */
function isLinkedShape(old: Shape, young: Shape): boolean {
  return (
    (old.text !== '' && old.text === young.text) ||
    (formatOf(old) !== '' && formatOf(old) === formatOf(young))
  );
}

/** True for lists and objects: one may have become the other, as coordinates did that were a list, or texts that have names now. */
function areContainers(one: Shape, other: Shape): boolean {
  return [one, other].every(
    ({ types }) => types.size > 0 && [...types].every((type) => type === 'array' || type === 'object'),
  );
}

/** Formats that different members of one object often share. */
const COMMON_FORMATS: ReadonlySet<string> = new Set(['date', 'date-time', 'time', 'uuid', 'byte', 'binary']);

/** The format of a text or of the elements of a list; empty for one that many members share. */
function formatOf({ format, element }: Shape): string {
  const own = format === '' ? (element?.format ?? '') : format;
  return COMMON_FORMATS.has(own) ? '' : own;
}

/**
 * The evidence, apart from names, that a gone member is the one at this place: the same description, or a format that no other gone or new
 * member has.
 */
function linkBetween(
  gone: string,
  at: Path,
  { v1, v2, hints }: Pick<GonePlace, 'v1' | 'v2' | 'hints'>,
): string | undefined {
  const [old, young] = [v1.members.get(gone)?.shape, shapeAt(v2, at)];
  if (old === undefined || young === undefined) return undefined;
  if (old.text !== '' && old.text === young.text) return 'the descriptions are equal';
  if (v1.kinds?.property === gone && v2.kinds?.property === at.join('.'))
    return 'both tell the kinds of the object apart';
  const last = at.at(-1) ?? '';
  if (at.length === 1 && hints?.names.get(gone) === last)
    return `paths have {${last}} where V1's have {${gone}}`;
  const [shown, same] = [
    [...examplesOf(old), ...(hints?.values.v1.get(gone) ?? [])],
    [...examplesOf(young), ...(hints?.values.v2.get(last) ?? [])],
  ];
  if (shown.some((value) => same.includes(value))) return 'both have the same example';
  if (DAYS.has(old.format) && old.format === young.format && haveSameRoot(gone, at.join('_')))
    return `both are of the format ${old.format}, and their names have the same root`;
  if (wordPairs({ name: gone, shape: old }, { name: at.at(-1) ?? '', shape: young }) !== undefined)
    return 'one of two values has the name of the other, which is a boolean';
  const format = formatOf(old);
  if (format === '' || format !== formatOf(young)) return undefined;
  const before = [...v1.members].filter(
    ([name, { shape }]) => !v2.members.has(name) && formatOf(shape) === format,
  );
  const now = [...v2.members].filter(
    ([name, { shape }]) => !v1.members.has(name) && formatOf(shape) === format,
  );
  const isOnly = before.length === 1 && now.length === 1 && at.length === 1;
  return isOnly ? `no other new member has the format ${format}` : undefined;
}

const DAYS: ReadonlySet<string> = new Set(['date', 'date-time', 'time']);

/** Words in names of days and times. */
const OF_TIME: ReadonlySet<string> = new Set(
  'date day time at on since until from to start end begin expires born due month year'.split(' '),
);

/** True if the place more likely belongs to another member of V1: by its name, its format, its unit or what it is. */
function belongsToAnother(
  gone: string,
  shape: Shape,
  at: Path,
  { v1, v2 }: Pick<GonePlace, 'v1' | 'v2'>,
): boolean {
  const [young, name] = [shapeAt(v2, at), at.at(-1) ?? ''];
  if (young === undefined) return false;
  const formats = [formatOf(shape), formatOf(young)];
  const isOtherFormat = !formats.includes('') && formats[0] !== formats[1];
  // A free text does not become one of a few values.
  const isOneOfFew = young.values.length > 0 && shape.values.length === 0;
  // Nor does one whose name says nothing of time become a day.
  const isTime =
    DAYS.has(young.format) && shape.format === '' && !wordsOf(gone).some((word) => OF_TIME.has(word));
  return (
    hasOwnName(gone, at, { v1, v2 }) ||
    isOtherFormat ||
    isOneOfFew ||
    isTime ||
    isNoIdentifier({ name: gone, shape }, { name: at.join('_'), shape: young }) ||
    areOtherKinds({ name: gone, shape }, { name, shape: young })
  );
}

/**
 * The members of V2's object, and of the objects inside, that could take a value and do not belong to another member of V1: those of a
 * compatible type, and those with a similar name, as V2 may have another form of the value. A deprecated member needs a similar name.
 */
function takingMembers(
  gone: string,
  shape: Shape,
  { v1, v2, path, taken }: Omit<GonePlace, 'candidate' | 'hints'>,
  around: readonly object[] = [],
  allowance = { left: MAX_CANDIDATES },
): readonly Path[] {
  if (around.includes(v2.members) || around.length > 3) return [];
  return [...v2.members].flatMap(([name, member]): readonly Path[] => {
    allowance.left -= 1;
    if (allowance.left < 0) return [];
    const at = [...path, name];
    const use = taken.get(JSON.stringify(at));
    if (use === 'with all in it') return [];
    const before = v1.members.get(name)?.shape;
    const isOther = before !== undefined && isAnotherValue(before, member.shape);
    if (before !== undefined && before.members.size === 0 && !isOther) return [];
    const isNew = (before === undefined || isOther) && use === undefined;
    const isOfType =
      !shape.isDeprecated && (isCompatible(shape, member.shape) || areContainers(shape, member.shape));
    const isListOfIt =
      member.shape.element !== undefined &&
      (singularName(name) === singularName(gone) || isLinkedShape(shape, member.shape)) &&
      isCompatible(shape, member.shape.element);
    const isConverted =
      isIdentifier(gone) &&
      isIdentifier(name) &&
      nameSimilarity(gone, name) >= LIKE_NAME &&
      conversions({ name: gone, shape }, { name, shape: member.shape }).length > 0;
    const isWorded = wordPairs({ name: gone, shape }, { name, shape: member.shape }) !== undefined;
    const isBoxed =
      // The currency may have moved there by itself.
      (isNew || (before === undefined && use === 'itself')) &&
      isMoney(member.shape) &&
      (isRelatedName(at.join('_'), gone) || isSameMember(gone, name)) &&
      boxRules({ name: gone, shape }, { name, shape: member.shape }, path, at).length > 0;
    const own =
      isBoxed || (isNew && (isOfType || isListOfIt || isConverted || isWorded || isAlike(gone, name)))
        ? [at]
        : [];
    const inside = { v1: before ?? ANY_SHAPE, v2: member.shape, path: at, taken };
    return [...own, ...takingMembers(gone, shape, inside, [...around, v2.members], allowance)];
  });
}

/**
 * Adds a nest that moves members by V1's names, and renames inside: in the other order, the new name could be that of another member of the
 * outer object. Members in doubt get a separate nest.
 */
function addNest(
  { under, confidence, evidence }: FoundNest,
  moves: readonly Move[],
  { v1, v2, path }: Objects,
  work: Work,
): void {
  for (const isSure of [true, false]) {
    const some = moves.filter(({ doubt }) => (doubt === undefined) === isSure);
    if (some.length === 0) continue;
    const doubt = some.map((move) => move.doubt).find((why) => why !== undefined);
    // Requests that were not recorded may have the other members of the sub-object.
    const rest = isSure && work.isRecorded ? [...(v2.members.get(under)?.shape.members.keys() ?? [])] : [];
    const unseen = rest.filter((name) => {
      const isExpected = moves.some(({ from, to }) => from === name || to === name);
      return !isExpected && !v2.members.has(name) && !v1.members.has(name);
    });
    const members = [...some.map(({ from }) => from), ...unseen];
    const [first] = members;
    const old = first === undefined ? {} : { old: [...work.old, first] };
    addFinding(
      { found: { rule: 'nest', in: path, members, under }, confidence, evidence, doubt, ...old },
      work,
    );
    for (const { from, to, ...why } of some) {
      if (from === to) continue;
      const found = { rule: 'rename', in: [...path, under], member: from, to } as const;
      addFinding({ found, confidence: why.confidence, evidence: why.evidence, doubt: why.doubt }, work);
    }
  }
}

/** The question about a member that V2 requires. */
function requiredQuestion(path: Path, shape: Shape, text: string): Question {
  const inside = requiredIn(shape, path);
  return { path, text, required: inside.length === 0 ? [path] : inside };
}

/** The sentence about a member that V1's requests never have. */
export const NEW_REQUIRED = 'it is required in V2 and not in V1: V2 refuses requests without it.';

function askNewRequired(v1: Shape, v2: Shape, arrived: ReadonlySet<string>, path: Path, work: Work): void {
  for (const [name, { required, shape }] of v2.members) {
    if (!required || v1.members.has(name) || arrived.has(name)) continue;
    const doubt = `${pathText(path, name)} is required in V2 and not in V1: V2 refuses requests without it`;
    const copies = work.isRecorded ? [] : copiesInto(name, shape, { v1, v2, path });
    if (copies.length > 0) {
      const others = shape.members.size > 0 ? [] : [defaultOf(name, shape, path)];
      for (const found of copies) {
        const evidence = `V1 has it as ${pathText([...path, ...found.from])}, and so has V2`;
        addFinding({ found, confidence: 0.55, evidence, doubt, others }, work);
      }
      continue;
    }
    if (work.isRecorded || shape.members.size > 0 || shape.types.has('array')) {
      work.questions.push(requiredQuestion([...path, name], shape, NEW_REQUIRED));
      continue;
    }
    const found = defaultOf(name, shape, path);
    const evidence = `V1 does not have it${acceptedWords(shape)}`;
    addFinding({ found, confidence: 0.5, evidence, doubt }, work);
  }
}

/** Adds the members that V2's responses may have, and V1's never had. */
function addNew({ v1, v2, path }: Objects, arrived: ReadonlySet<string>, work: Work): void {
  for (const [name, { shape }] of v2.members) {
    if (v1.members.has(name) || arrived.has(name)) continue;
    const found = defaultOf(name, shape, path);
    addFinding({ found, confidence: 0.5, evidence: 'V1 does not have it' }, work);
  }
}

/** The findings without those about a new member of which V1 may have all that is in it. */
function withoutFilled(findings: readonly Finding[], v2: Shape): readonly Finding[] {
  const targets = findings.flatMap(({ found, others = [] }) =>
    [...(found.rule === 'default' ? [] : [found]), ...others].flatMap(targetsOf),
  );
  const filled = new Set(targets.map((at) => pathText(at)));
  const around = new Set(targets.flatMap((at) => at.map((_, end) => pathText(at.slice(0, end)))));
  const isNew = (place: Path): boolean => {
    if (filled.has(pathText(place))) return false;
    const inside = around.has(pathText(place)) ? [...(shapeAt(v2, place)?.members.keys() ?? [])] : [];
    return inside.length === 0 || inside.some((name) => isNew([...place, name]));
  };
  return findings.filter(({ found }) => found.rule !== 'default' || isNew([...found.in, found.member]));
}

/** The values that V2 accepts, or their type unless it is a plain text, for the end of a sentence. */
export function acceptedWords({ values, types, format }: Shape): string {
  if (values.length > 0) return `, and V2 accepts ${namedValues(values)}`;
  const type = format || [...types].join(' or ');
  return type === '' || type === 'string' ? '' : `, and V2 accepts ${type}`;
}

function defaultOf(member: string, shape: Shape, path: Path): FoundRule {
  return { rule: 'default', in: path, member, value: firstValue(shape) };
}

/**
 * The copies that give V2 a member that it requires, or the required members inside, from a place where both versions have the same value.
 */
function copiesInto(
  name: string,
  shape: Shape,
  { v1, v2, path }: Objects,
): readonly (FoundRule & { readonly rule: 'copy' })[] {
  const inner = [...shape.members].filter(([, { required }]) => required);
  const needed: readonly (readonly [Path, Shape])[] =
    shape.members.size === 0
      ? [[[name], shape]]
      : inner.map(([part, member]) => [[name, part], member.shape] as const);
  const copies = needed.flatMap(([to, wanted]) => {
    const named = [...v1.members.keys()].filter((one) => mentionsName(wanted.text, one)).map((one) => [one]);
    const places = [...(placesByLetters(v1).get(wordsOf(to.join('_')).join('')) ?? []), ...named];
    const from = places.find((place) => {
      const [old, young] = [shapeAt(v1, place), shapeAt(v2, place)];
      return old !== undefined && young !== undefined && isCompatible(old, wanted) && place[0] !== to[0];
    });
    return from === undefined ? [] : [{ rule: 'copy', in: path, from, to } as const];
  });
  return copies.length === needed.length ? copies : [];
}

/** The value that V2's description shows: its default, its only value or its example. */
export function firstValue({ values, constraints }: Shape): FoundValue | undefined {
  if (values.length === 1) return values[0];
  const initial = keywordIn(constraints, 'default') ?? keywordIn(constraints, 'example');
  // Some descriptions have a text in quotes of its own.
  if (typeof initial === 'string')
    return /^"(?<inside>[^"\\]*)"$/.exec(initial)?.groups?.['inside'] ?? initial;
  return typeof initial === 'number' || typeof initial === 'boolean' ? initial : undefined;
}

/** The conversions from a member of V1 to one of V2, if types, formats and units show them; otherwise empty. */
function conversionsOf(v1: Shape, from: string, v2: Shape, to: string): readonly Conversion[] {
  const [one, other] = [v1.members.get(from)?.shape, v2.members.get(to)?.shape];
  if (one === undefined || other === undefined) return [];
  return conversions({ name: from, shape: one }, { name: to, shape: other });
}

function compareMember(name: string, v1: MemberShape, v2: MemberShape, path: Path, work: Work): void {
  const at = [...path, name];
  const apart = descriptionsApart(v1.shape, v2.shape);
  const askAll = (general: string): void => {
    const text = apart === '' ? general : `${general} ${apart}.`;
    work.questions.push({ path: at, text, general });
  };
  const [old, young] = [
    { name, shape: v1.shape },
    { name, shape: v2.shape },
  ];
  const converted = conversions(old, young);
  const doubt = scalarDoubt(old, young, work.isResponse);
  const [listed, ...others] = listRules(old, young, path, work);
  // The question about the rename says so already.
  if (listed === undefined && converted.length > 0 && work.doubt === work.outer && !work.isRecorded) {
    const found = { rule: 'convert', in: path, member: name, conversions: converted } as const;
    const why = doubt ?? `it is ${typeWords(v1.shape)} in V1 and ${typeWords(v2.shape)} in V2`;
    const old = work.old;
    addFinding(
      {
        found,
        confidence: 0.8,
        evidence: ['types, formats and units show it', apart].filter((words) => words !== '').join('; '),
        doubt: why,
        old,
      },
      work,
    );
    if (!isCompatible(v1.shape, v2.shape)) return;
  } else if (listed !== undefined && !work.isRecorded) {
    const why = `it is ${typeWords(v1.shape)} in V1 and ${typeWords(v2.shape)} in V2`;
    const isOne = listed.rule === 'list' || listed.rule === 'first';
    // The question about the rename says so already.
    if (!isOne && work.doubt !== work.outer) return;
    const evidence = listEvidence(isOne, old, young);
    addFinding({ found: listed, confidence: 0.5, evidence, doubt: why, others, old: work.old }, work);
    if (!isOne) return;
    // The members of the element and of the single object differ as well.
    const inside = { ...work, doubt: work.doubt ?? `it holds only with the rule for ${pathText(at)}` };
    const isInList = listed.rule === 'list';
    compareInside(v1.shape.element ?? v1.shape, v2.shape.element ?? v2.shape, isInList ? [...at, '*'] : at, {
      ...inside,
      old: isInList ? work.old : [...work.old, '*'],
    });
    return;
  } else if (!isCompatible(v1.shape, v2.shape)) {
    if (isListedAlike(v1.shape, v2.shape)) {
      addMap(name, v1.shape, v2.shape, path, work);
      return;
    }
    const yesAndNo = work.isRecorded ? undefined : booleanPairs(v1.shape, v2.shape);
    if (yesAndNo !== undefined) {
      if (work.doubt !== work.outer) return;
      const found = { rule: 'map', in: path, member: name, values: yesAndNo } as const;
      const why = `it is ${typeWords(v1.shape)} in V1 and ${typeWords(v2.shape)} in V2`;
      addFinding(
        { found, confidence: 0.8, evidence: 'its values say yes and no', doubt: why, old: work.old },
        work,
      );
      return;
    }
    const looked = lookupRules(old, { ...ANY_SHAPE, members: new Map([[name, v2]]) }, path, work);
    if (looked.length > 0) addLookup(looked, work.old, work);
    else if (addBox(name, v1.shape, v2.shape, path, work) || addUnbox(old, young, path, work)) return;
    else if (work.doubt === work.outer)
      askAll(`it is ${typeWords(v1.shape)} in V1 and ${typeWords(v2.shape)} in V2: say how to convert it.`);
    return;
  } else if (doubt !== undefined && work.doubt === work.outer) askAll(`${doubt}: say how to convert it.`);
  if (v2.required && !v1.required && !work.isRecorded)
    work.questions.push(
      requiredQuestion(
        at,
        v2.shape,
        'it is required in V2 and optional in V1: V2 refuses requests without it.',
      ),
    );
  addMap(name, v1.shape, v2.shape, path, work);
  compareInside(v1.shape, v2.shape, at, work);
}

/** Asks about a value that is in an object of the same name in V2; false if no member of the object fits. */
function addBox(name: string, v1: Shape, v2: Shape, path: Path, work: Work): boolean {
  if (work.isRecorded || work.doubt !== work.outer) return false;
  const [old, young] = [
    { name, shape: v1 },
    { name, shape: v2 },
  ];
  const forms = boxForms(old, young);
  const [found, ...others] = boxRules(old, young, path, [name]);
  const [first] = forms;
  if (found === undefined || first === undefined) return false;
  const evidence = [`V2 has ${pathText([...path, name, first.inner])}`, descriptionsApart(v1, v2)]
    .filter((words) => words !== '')
    .join('; ');
  const doubt = `${pathText(path, name)} is ${typeWords(v1)} in V1 and ${typeWords(v2)} in V2${unitWords(forms)}`;
  addFinding({ found, confidence: 0.5, evidence, doubt, others, old: work.old, isOpen: true }, work);
  if (work.isResponse !== true) askNewRequired(ANY_SHAPE, v2, new Set([first.inner]), [...path, name], work);
  return true;
}

/** The remark on forms of which one has another unit than another. */
function unitWords(forms: readonly BoxForm[]): string {
  const isOtherUnit = new Set(forms.map(({ inner }) => inner)).size < forms.length;
  return isOtherUnit ? ', and neither description tells the unit' : '';
}

/** Asks about an object that is one of its values in V2; false if no member of the object fits. */
function addUnbox(old: NamedShape, young: NamedShape, path: Path, work: Work): boolean {
  const { around } = work;
  if (around === undefined || work.isRecorded || work.doubt !== work.outer) return false;
  const { name: member, shape } = old;
  const forms = boxForms(young, old, true);
  const [found, ...others] = forms.map(({ inner, conversions: converted }): FoundRule => {
    const beside = [...shape.members].flatMap(([from, { shape: part }]) => {
      const [to] = [...around.v2.members].find(
        ([name, other]) =>
          from !== inner &&
          !around.v1.members.has(name) &&
          (isSameName(name, from) || isSameName(name, `${member}_${from}`)) &&
          isCompatible(part, other.shape),
      ) ?? [undefined];
      return to === undefined ? [] : [[from, to] as const];
    });
    let through = `${member}_${inner}`;
    while (around.v1.members.has(through) || around.v2.members.has(through)) through += '_';
    return { rule: 'unbox', in: path, member, from: inner, beside, through, conversions: converted };
  });
  if (found?.rule !== 'unbox') return false;
  const kept = new Set([found.from, ...found.beside.map(([from]) => from)]);
  const lost = [...shape.members.keys()].filter((name) => !kept.has(name));
  const inside = (name: string): string => pathText([...path, member, name]);
  const evidence = `V1 has ${inside(found.from)}`;
  const place = lost.length === 0 ? '' : `, which has no place for ${firstOf(lost.map(inside))}`;
  const none = shape.isNullable ? ', and V2 would not get null' : '';
  const doubt = `${pathText(path, member)} is ${typeWords(shape)} in V1 and ${typeWords(young.shape)} in V2${place}${none}${unitWords(forms)}`;
  addFinding({ found, confidence: 0.5, evidence, doubt, others, old: work.old, isOpen: true }, work);
  return true;
}

/** Pairs of values for yes and no. */
const YES_AND_NO: readonly (readonly [yes: string, no: string])[] = [
  ['yes', 'no'],
  ['true', 'false'],
  ['on', 'off'],
  ['y', 'n'],
  ['1', '0'],
  ['enabled', 'disabled'],
  ['active', 'inactive'],
];

/** Words before the one that a boolean is named for. */
const AUXILIARY = /^(?:is|has|was|are|be)_/;

/** The pairs of values between a boolean and two texts of which one has its name: `urgent`, and `priority` with `routine` and `urgent`. */
function wordPairs(
  old: NamedShape,
  young: NamedShape,
): readonly (readonly [FoundValue, FoundValue])[] | undefined {
  const [flag, listed] = isBoolean(old.shape) ? [old, young.shape] : [young, old.shape];
  if (!isBoolean(flag.shape) || listed.values.length !== 2) return undefined;
  const name = plainName(wordsOf(flag.name).join('_').replace(AUXILIARY, ''));
  const isNamed = (value: FoundValue): boolean => typeof value === 'string' && plainName(value) === name;
  const [yes, no] = listed.values.toSorted((one, other) => Number(isNamed(other)) - Number(isNamed(one)));
  if (yes === undefined || no === undefined || !isNamed(yes) || isNamed(no)) return undefined;
  return flag === old
    ? [
        [true, yes],
        [false, no],
      ]
    : [
        [yes, true],
        [no, false],
      ];
}

function isBoolean({ types }: Shape): boolean {
  return types.size === 1 && types.has('boolean');
}

/** The pairs of values between a boolean of one version and two listed values of the other version that mean yes and no. */
function booleanPairs(v1: Shape, v2: Shape): readonly (readonly [FoundValue, FoundValue])[] | undefined {
  if (isBoolean(v1) === isBoolean(v2)) return undefined;
  const listed = isBoolean(v1) ? v2 : v1;
  for (const [yes, no] of YES_AND_NO) {
    const find = (word: string): FoundValue | undefined =>
      listed.values.find((value) => typeof value !== 'boolean' && String(value).toLowerCase() === word);
    const [one, other] = [find(yes), find(no)];
    if (one === undefined || other === undefined || listed.values.length !== 2) continue;
    return isBoolean(v1)
      ? [
          [true, one],
          [false, other],
        ]
      : [
          [one, true],
          [other, false],
        ];
  }
  return undefined;
}

function addMap(name: string, v1: Shape, v2: Shape, path: Path, work: Work): void {
  const map = findValueMap(v1.values, v2.values);
  if (work.isResponse === true && v1.values.length > 0) {
    const fresh = map?.fresh ?? v2.values.filter((value) => !v1.values.includes(value));
    askValues(fresh, [...path, name], work, {
      one: (values) => `V2 returns ${values}, which V1 never returned. Which values of V1 do they mean?`,
      all: 'V2 returns values that V1 never returned. Which values of V1 do they mean?',
    });
  }
  if (map === undefined) return;
  const { spelled, guessed, left } = map;
  for (const { pairs, confidence, reasons } of [spelled, guessed]) {
    if (pairs.length === 0) continue;
    const found = { rule: 'map', in: path, member: name, values: pairs } as const;
    const doubt = pairs === guessed.pairs ? 'a value that means something else would change' : undefined;
    addFinding({ found, confidence, evidence: reasons.join('; '), doubt, old: work.old }, work);
  }
  if (work.isResponse === true) return;
  askValues(left, [...path, name], work, {
    one: (values) => `V1 allows ${values}, V2 does not. Which values of V2 do they mean?`,
    all: 'V1 allows values that V2 does not. Which values of V2 do they mean?',
  });
}

/** Asks about values that only one version has; of a long list, it names the first ones. */
function askValues(
  values: readonly FoundValue[],
  path: Path,
  { questions }: Work,
  words: { readonly one: (values: string) => string; readonly all: string },
): void {
  const texts = [...new Set(values)].map((value) => JSON.stringify(value));
  if (texts.length === 0) return;
  const more = texts.length - MAX_VALUES;
  const named = `${texts.slice(0, MAX_VALUES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  questions.push({ path, text: words.one(named), general: words.all });
}

/** Maximum values that a question names. */
const MAX_VALUES = 20;

/** The values of an enumeration that differ between the versions. */
interface ValueMap {
  /** Pairs that differ in spelling only. */
  readonly spelled: ValuePairs;
  /** Pairs that are likely: a wrong pair changes what a request means. */
  readonly guessed: ValuePairs;
  /** Values of V1 without a value in V2. */
  readonly left: readonly FoundValue[];
  /** Values of V2 without a value in V1. */
  readonly fresh: readonly FoundValue[];
}

/** Pairs of values of V1 and V2 with the same meaning. */
interface ValuePairs {
  readonly pairs: (readonly [from: FoundValue, to: FoundValue])[];
  confidence: number;
  readonly reasons: string[];
}

/** The evidence for pairs of values that only their order shows. */
const SAME_PLACES = 'the values have the same places in lists of the same length';

/** Pairs the values that only V1 lists with those that only V2 lists; undefined when V2 lists all of V1's, or one lists none. */
export function findValueMap(v1: readonly FoundValue[], v2: readonly FoundValue[]): ValueMap | undefined {
  if (v1.length === 0 || v2.length === 0) return undefined;
  const spelled: ValuePairs = { pairs: [], confidence: 1, reasons: [] };
  const guessed: ValuePairs = { pairs: [], confidence: 1, reasons: [] };
  let old = v1.filter((value) => !v2.includes(value));
  let young = v2.filter((value) => !v1.includes(value));
  if (old.length === 0) return undefined;
  const pairUp = (
    into: ValuePairs,
    isPair: (one: FoundValue, other: FoundValue) => boolean,
    weight: number,
    reason: string,
  ): void => {
    const paired: FoundValue[] = [];
    for (const value of old) {
      const partners = young.filter((other) => isPair(value, other));
      const [partner] = partners;
      const rivals = old.filter((other) => partner !== undefined && isPair(other, partner));
      if (partner === undefined || partners.length > 1 || rivals.length > 1) continue;
      into.pairs.push([value, partner]);
      paired.push(value);
      young = young.filter((other) => other !== partner);
      into.confidence = Math.min(into.confidence, weight);
      if (!into.reasons.includes(reason)) into.reasons.push(reason);
    }
    old = old.filter((value) => !paired.includes(value));
  };
  const sameType = (one: FoundValue, other: FoundValue): boolean => typeof one === typeof other;
  pairUp(
    spelled,
    (one, other) => sameType(one, other) && spelling(one) === spelling(other),
    0.95,
    'the values differ in case and separators',
  );
  // If the short form of a value is at another place, the places are no evidence.
  const isOrdered = old.every((one) => {
    const short = young.filter((other) => isShortFor(one, other));
    return short.length !== 1 || v1.indexOf(one) === v2.indexOf(short[0] ?? '');
  });
  if (!isOrdered) pairUp(guessed, isShortFor, 0.75, 'one value is short for the other');
  if (v1.length === v2.length && isOrdered) {
    const isRetyped = v1.every((one) => v2.every((other) => !sameType(one, other)));
    const isSamePlace = (one: FoundValue, other: FoundValue): boolean =>
      v1.indexOf(one) === v2.indexOf(other);
    pairUp(
      guessed,
      (one, other) => (isRetyped || sameType(one, other)) && isSamePlace(one, other),
      0.85,
      SAME_PLACES,
    );
  }
  const isAlike = (one: FoundValue, other: FoundValue): boolean =>
    nameSimilarity(String(one), String(other)) >= 0.75;
  pairUp(guessed, isAlike, 0.7, 'the values are similar');
  pairUp(guessed, isInitialOf, 0.7, 'one value is the first letter of the other');
  if (old.length === 1 && young.length === 1)
    pairUp(guessed, sameType, 0.75, 'one value is gone and one is new');
  return { spelled, guessed, left: old, fresh: young };
}

/** True if one value is the first letter of the other. */
function isInitialOf(one: FoundValue, other: FoundValue): boolean {
  const [short = '', long = ''] = [one, other]
    .map((value) => spelling(value))
    .toSorted((first, second) => first.length - second.length);
  return short.length === 1 && long.length > 1 && long.startsWith(short);
}

/** True if one value is short for the other: it has some of its letters in order, from the first on. `DLVY` is short for `DeliveryTo`. */
function isShortFor(one: FoundValue, other: FoundValue): boolean {
  const [short = '', long = ''] = [one, other]
    .map((value) => spelling(value))
    .toSorted((first, second) => first.length - second.length);
  if (short.length < 2 || short.length === long.length || short[0] !== long[0]) return false;
  let at = 0;
  for (const letter of long) if (letter === short[at]) at += 1;
  return at === short.length;
}

/** A value without case and separators of words; signs, and characters between digits, stay, because they have a meaning. */
function spelling(value: FoundValue): string {
  return String(value)
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, '_')
    .toLowerCase()
    .replaceAll(/(?<=\p{L})[\s_-]+(?=[\p{L}\d])|(?<=\d)[\s_-]+(?=\p{L})/gu, '');
}

function compareInside(v1: Shape, v2: Shape, path: Path, work: Work): void {
  if (path.length > MAX_LEVELS) return;
  const { old, doubt, inner } = work;
  const steps = work.steps + (v1.types.has('object') && v1.types.has('string') ? 1 : 0);
  if (v1.members.size > 0 && v2.members.size > 0) inner.push({ v1, v2, path, old, doubt, steps });
  else if (v1.members.size > 0 && work.isResponse === true && (v2.types.size === 0 || v2.types.has('object')))
    askUndescribed(v1, path, work);
  const [one, other] = [v1.element, v2.element];
  if (one === undefined || other === undefined) return;
  compareInside(one, other, [...path, '*'], { ...work, old: [...old, '*'] });
}

/** Asks about an object whose members only V1 describes: members that clients read may be gone. */
function askUndescribed({ members }: Shape, path: Path, { questions, doubt, outer }: Work): void {
  if (doubt !== outer) return;
  const names = firstOf([...members.keys()]);
  const text = `V2 does not describe what is in it, and V1 has ${names} there: look whether V2 returns them.`;
  questions.push({ path, text, general: text });
}

/** Compares the sub-object after the nest has moved members into it. */
function compareNested(
  { under }: FoundNest,
  moves: readonly Move[],
  { v1, v2, path }: Objects,
  work: Work,
): void {
  const target = v2.members.get(under);
  const existing = v1.members.get(under)?.shape;
  const sure = moves.filter(({ doubt }) => doubt === undefined);
  if (target === undefined || (existing === undefined && sure.length === 0)) return;
  const members = new Map(existing?.members ?? []);
  for (const { from, to } of sure) {
    const member = v1.members.get(from);
    if (member !== undefined) members.set(to, member);
  }
  const shape: Shape = { ...(existing ?? target.shape), members, values: [] };
  const { old, doubt, inner, steps } = work;
  inner.push({ v1: shape, v2: target.shape, path: [...path, under], old: [...old, under], doubt, steps });
}

interface RenameOptions {
  readonly nests: readonly FoundNest[];
  readonly flats?: readonly FoundFlat[];
  /** True for recorded traffic, in which a rename is always a question. */
  readonly isRecorded: boolean;
}

interface Renames {
  readonly accepted: readonly FoundRename[];
  /** The best candidate for each member without a convincing one, by the name in V1. */
  readonly rejected: ReadonlyMap<string, FoundRename>;
}

/** Finds V2's names of the members that only V1 has, among those that only V2 has, also in the sub-objects of nests. */
export function findRenames(v1: Shape, v2: Shape, { nests, flats = [], isRecorded }: RenameOptions): Renames {
  const moved = new Set([
    ...nests.flatMap(({ members }) => members.map(({ from }) => from)),
    ...flats.filter(({ isPrefixed }) => isPrefixed).map(({ member }) => member),
  ]);
  const targets = new Set([
    ...nests.map(({ under }) => under),
    ...flats.filter(({ isPrefixed }) => isPrefixed).flatMap(({ moves }) => moves.map(([, to]) => to)),
  ]);
  const gone = looseMembers(v1, v2, (name) => moved.has(name));
  const young = [
    ...looseMembers(v2, v1, (name) => targets.has(name)).map((member) => ({ member, under: undefined })),
    ...nests.flatMap((nest) => innerMembers(nest, v1, v2)),
  ];
  const candidates = gone
    .flatMap((old) =>
      young.map(({ member, under }): FoundRename => {
        return { from: old.name, to: member.name, under, ...renameScore(old, member) };
      }),
    )
    .filter(({ confidence }) => confidence >= ASKED_FROM)
    // V2 may have a member that no recorded request has for a long time: only a similar name is evidence.
    .filter(({ from, to }) => !isRecorded || nameSimilarity(from, to) >= 0.5)
    .toSorted((one, other) => other.confidence - one.confidence);
  const accepted: FoundRename[] = [];
  const rejected = new Map<string, FoundRename>();
  for (const candidate of candidates) {
    const isTaken = accepted.some(
      ({ from, to, under }) => from === candidate.from || (to === candidate.to && under === candidate.under),
    );
    if (isTaken) continue;
    const isClear = candidate.confidence >= PROPOSED_FROM && !hasRival(candidate, candidates, accepted);
    if (isClear && !isRecorded) accepted.push(candidate);
    else if (!rejected.has(candidate.from)) rejected.set(candidate.from, candidate);
  }
  for (const { from } of accepted) rejected.delete(from);
  return { accepted, rejected };
}

/** The members that `shape` has and `other` has not. */
function looseMembers(
  shape: Shape,
  other: Shape,
  isLeftOut: (name: string) => boolean,
): readonly LooseMember[] {
  const names = [...shape.members.keys()];
  const isCommon = (name: string): boolean => other.members.has(name);
  const loose = [...shape.members].filter(([name]) => !isCommon(name) && !isLeftOut(name));
  return loose.map(([name, member]) => {
    const at = names.indexOf(name);
    const before = names.slice(0, at).findLast(isCommon) ?? '';
    const behind = names.slice(at + 1).find(isCommon) ?? '';
    return { ...member, name, before, behind, isAlone: isAloneAmong(member, loose) };
  });
}

function isAloneAmong(member: MemberShape, all: readonly (readonly [string, MemberShape])[]): boolean {
  return all.filter(([, other]) => isCompatible(member.shape, other.shape)).length === 1;
}

/** The members of a nest's sub-object that the nest does not move there. */
function innerMembers(
  { under, members }: FoundNest,
  v1: Shape,
  v2: Shape,
): readonly { readonly member: LooseMember; readonly under: string }[] {
  const known = new Set([
    ...members.map(({ to }) => to),
    ...(v1.members.get(under)?.shape.members.keys() ?? []),
  ]);
  const left = [...(v2.members.get(under)?.shape.members ?? [])].filter(([name]) => !known.has(name));
  return left.map(([name, member]) => ({
    under,
    member: { ...member, name, before: '', behind: '', isAlone: isAloneAmong(member, left) },
  }));
}

/** The confidence that `young` is V2's name of `old`, and the evidence; 0 when their types exclude it. */
function renameScore(old: LooseMember, young: LooseMember): Evidence {
  if (
    !isCompatible(old.shape, young.shape) &&
    !(isRelatedName(old.name, young.name) && conversions(old, young).length > 0) &&
    !isListedAlike(old.shape, young.shape)
  )
    return { confidence: 0, evidence: '', doubt: undefined };
  if (isOther(old, young) || areOtherLists(old, young))
    return { confidence: 0, evidence: '', doubt: undefined };
  const reasons: string[] = [];
  let confidence = 0.25;
  const weigh = (weight: number, reason: string): void => {
    confidence += weight;
    if (weight > 0) reasons.push(reason);
  };
  const names = nameSimilarity(old.name, young.name);
  weigh(0.3 * names, names >= 0.3 ? 'the names are similar' : '');
  weigh(...textWeight(old, young));
  weigh(...placeWeight(old, young));
  weigh(...contentWeight(old.shape, young.shape));
  const isListed = ({ shape }: LooseMember): boolean => shape.values.length > 1;
  if (old.isAlone && young.isAlone && fitsInto(old.shape, young.shape) && isListed(old) === isListed(young))
    weigh(0.2, 'no other member of this type is new or gone');
  if (old.required !== young.required) confidence -= 0.1;
  const apart = descriptionsApart(old.shape, young.shape);
  const evidence = [...reasons, apart].filter((reason) => reason !== '').join('; ');
  const opposites = oppositesIn(old.name, young.name)?.join(' is not ');
  const isLinked = areLinked(old, young);
  const contrary = isLinked || !areContraries(old, young) ? undefined : NO_LINK;
  const doubt = opposites ?? contrary ?? valueDoubt(old, young) ?? (isLinked ? undefined : NO_LINK);
  // A text is no date or key of which nothing else tells that it is the same.
  if (doubt === NO_LINK && old.shape.format !== young.shape.format)
    return { confidence: 0, evidence: '', doubt: undefined };
  const least = isSameName(old.name, young.name) ? SAME_NAME : 0;
  return { confidence: Math.max(least, Math.min(0.99, confidence)), evidence, doubt };
}

/** The confidence in a name that differs in case and separators only, even if other facts differ. */
const SAME_NAME = 0.75;

/** True if one member cannot be the other: its unit is of another kind, or no rule converts it, or only one of the two is an identifier. */
function isOther(old: NamedShape, young: NamedShape): boolean {
  return areOtherKinds(old, young) || isInOtherUnit(old, young) || isNoIdentifier(old, young);
}

/** True for two enumerations that have neither words of a name nor a value in common: that both have as many values is chance. */
function areOtherLists(old: NamedShape, young: NamedShape): boolean {
  const [one, other] = [old.shape.values, young.shape.values];
  const { spelled, guessed } = findValueMap(one, other) ?? {};
  const reasons = [...(spelled?.reasons ?? []), ...(guessed?.reasons ?? [])];
  return (
    one.length > 1 &&
    other.length > 1 &&
    !one.some((value) => other.includes(value)) &&
    reasons.every((reason) => reason === SAME_PLACES) &&
    nameSimilarity(old.name, young.name) < LIKE_LIST &&
    !haveCommonWord(old.name, young.name) &&
    !endsAsSameMember(old.name, young.name) &&
    textWeight(old, young)[0] <= 0
  );
}

/** Minimum likeness of the names of two enumerations without a common value. */
const LIKE_LIST = 0.5;

/** True for two numbers in units between which no rule converts. */
function isInOtherUnit(old: NamedShape, young: NamedShape): boolean {
  return (
    [old, young].every(({ shape: { types } }) => types.has('integer') || types.has('number')) &&
    otherUnits(old, young) !== undefined &&
    conversions(old, young).length === 0
  );
}

/** True if only one of the two names is that of an identifier, and nothing links the members: a `project_id` is not a `priority`. */
function isNoIdentifier(old: NamedShape, young: NamedShape): boolean {
  return (
    isIdentifier(old.name) !== isIdentifier(young.name) &&
    !isAlike(old.name, young.name) &&
    !endsAsSameMember(old.name, young.name) &&
    textWeight(old, young)[0] <= 0
  );
}

/** Maximum characters of a description in a question. */
const MAX_DESCRIPTION = 80;

/** The descriptions of a member in both versions if they differ, so that a person sees whether they contradict each other. */
function descriptionsApart(old: Shape, young: Shape): string {
  if (old.text === '' || young.text === '' || old.text === young.text) return '';
  const [before, now] = [old, young].map(({ text }) => {
    const line = text.replaceAll(/\s+/g, ' ').trim();
    return JSON.stringify(line.length > MAX_DESCRIPTION ? `${line.slice(0, MAX_DESCRIPTION)}…` : line);
  });
  return `V1 describes it as ${before}, and V2 as ${now}`;
}

type Weight = readonly [weight: number, reason: string];

function textWeight(old: NamedShape, young: NamedShape): Weight {
  if (mentionsName(young.shape.text, old.name)) return [0.3, `V2's description names ${old.name}`];
  if (mentionsName(old.shape.text, young.name)) return [0.3, `V1's description names ${young.name}`];
  if (old.shape.text === '' || young.shape.text === '') return [0, ''];
  return old.shape.text === young.shape.text ? [0.3, 'the descriptions are equal'] : [-0.1, ''];
}

/**
 * True if the text mentions the member, other than as one beside it (`submit it as "token"`). A single word, such as `page`, must be in
 * quotes, or be called a former name.
 */
function mentionsName(described: string, name: string): boolean {
  if (!isSearchable(name) || !described.includes(name)) return false;
  const escaped = name.replaceAll(/[^\w]/g, '\\$&');
  // Not proven linear: a name of the description, and nothing in these patterns repeats.
  const beside = `(?<!\\b(?:same|known|called) )\\b(?:as|with|if|when|unless|for) (?:the )?[\`'"]?${escaped}(?![\\w-])`;
  const text = described.replaceAll(new RegExp(beside, 'g'), '');
  if (wordsOf(name).length > 1) return new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`).test(text);
  // Not proven linear: the same, with words that stand before a former name.
  return new RegExp(
    `[\`'"]${escaped}[\`'"]|\\b(?:[Ff]ormerly|[Pp]reviously|[Ww]as|called|[Rr]eplaces|[Ii]nstead of|[Oo]ld name:?) (?:the )?${escaped}(?![\\w-])`,
  ).test(text);
}

/** False for names of one or two letters, which many texts contain. */
function isSearchable(name: string): boolean {
  return name.length > 2;
}

function placeWeight(old: LooseMember, young: LooseMember): Weight {
  // Without a member in both versions, the order gives no evidence.
  if ([old, young].some((member) => member.before === '' && member.behind === '')) return [0, ''];
  const [before, behind] = [old.before === young.before, old.behind === young.behind];
  if (before && behind) return [0.2, 'the same members are around it'];
  return before || behind ? [0.1, 'the same member is next to it'] : [-0.05, ''];
}

function contentWeight(old: Shape, young: Shape): Weight {
  if (old.values.length > 0 || young.values.length > 0) {
    const most = Math.max(1, old.values.length, young.values.length);
    const exact = old.values.filter((value) => young.values.includes(value)).length / most;
    const share = commonSpellings(old.values, young.values) / most;
    if (share === 0 && isListedAlike(old, young)) return [0.1, 'it has as many values'];
    if (share === 0) return [-0.15, ''];
    const form = exact < share ? ', but for case and separators' : '';
    const all =
      share === 1 ? 'it has the same values' : `${Math.round(share * most)} of ${most} values are the same`;
    return [0.25 * share, `${all}${form}`];
  }
  if (old.members.size > 0 || young.members.size > 0) {
    const common = [...old.members.keys()].filter((name) => young.members.has(name)).length;
    const share = common / Math.max(1, old.members.size, young.members.size);
    return share > 0 ? [0.3 * share, 'it has the same members'] : [-0.2, ''];
  }
  if (old.constraints === '' && young.constraints === '') return [0.05, ''];
  return old.constraints === young.constraints ? [0.15, 'its format and limits are the same'] : [-0.15, ''];
}

/** The number of values that the other list has as well, apart from case and separators. */
function commonSpellings(values: readonly FoundValue[], others: readonly FoundValue[]): number {
  const spelled = new Set(others.map(spelling));
  return values.filter((value) => spelled.has(spelling(value))).length;
}

/** True if there is evidence beyond place and type that two members are the same. */
function areLinked(old: LooseMember, young: LooseMember): boolean {
  return (
    isRelatedName(old.name, young.name) ||
    textWeight(old, young)[0] > 0 ||
    haveSameContent(old.shape, young.shape)
  );
}

/** True for values that have most values of an enumeration, or most members, in common. */
function haveSameContent(one: Shape, other: Shape): boolean {
  const half = (all: readonly FoundValue[], more: readonly FoundValue[]): boolean =>
    commonSpellings(all, more) * 2 > Math.max(1, all.length, more.length);
  return half(one.values, other.values) || half([...one.members.keys()], [...other.members.keys()]);
}

/** True when another candidate for one of the two names is about as good. */
function hasRival(one: FoundRename, all: readonly FoundRename[], accepted: readonly FoundRename[]): boolean {
  return all.some((other) => {
    if (other === one || one.confidence - other.confidence >= MARGIN) return false;
    const isTaken = accepted.some(
      ({ from, to, under }) => from === other.from || (to === other.to && under === other.under),
    );
    return !isTaken && (other.from === one.from || (other.to === one.to && other.under === one.under));
  });
}

/** Maximum visits of one object: a schema can be in many places, or in itself. */
const MAX_VISITS = 3;

/** Maximum paths of a body that are kept. */
const MAX_PATHS = 1500;

/** The members of V2's body that V1's body does not have at the same path, to which gone members may have moved. */
export class Places {
  private readonly v1: Shape;
  private readonly v2: Shape;
  /** By each end of their paths, in the order of the description; built on first use. */
  private byEnd: ReadonlyMap<string, readonly Path[]> | undefined;
  private foreign: readonly string[] | undefined;

  constructor(v1: Shape, v2: Shape) {
    this.v1 = v1;
    this.v2 = v2;
  }

  /** References in V2's body that could not be followed: a gone member may be there. */
  get unread(): readonly string[] {
    return (this.foreign ??= [...new Set(unreadIn(this.v2))]);
  }

  /**
   * The places with the name of a member, of a member inside it, or of its path: `address.city` for `address_city`, and the other way
   * round. `paths` are the member's paths in both versions; places at `not`, and inside it, are left out.
   */
  of(paths: readonly Path[], shape: Shape, not?: Path): readonly Path[] {
    const byEnd = (this.byEnd ??= this.index());
    if (byEnd.size === 0) return [];
    const found = new Set<Path>();
    const add = (end: string): void => {
      for (const place of byEnd.get(end) ?? []) found.add(place);
    };
    const inner = endsIn(shape);
    for (const around of new Set(paths.flatMap((path) => [...endsOf(path)]))) {
      add(around);
      for (const whole of inner.wholes) add(`${around}${whole}`);
    }
    for (const end of inner.ends) add(end);
    if (not === undefined) return [...found];
    return [...found].filter((place) => !not.every((name, at) => place[at] === name));
  }

  /** True where V2's body has a member of this name anywhere. */
  has(name: string): boolean {
    return namesAnywhere(this.v2).has(name);
  }

  /** The nearest member of V2's body with this name; undefined for none. */
  whereIs(name: string): Path | undefined {
    return this.has(name) ? pathsIn(this.v2, [], MAX_PATHS).find((path) => path.at(-1) === name) : undefined;
  }

  /** True if V1 also has the member at a place: then that place belongs to V1's own member. */
  isOwn(place: Path, name: string): boolean {
    return shapeAt(this.v1, place.slice(0, -1))?.members.has(name) === true;
  }

  private index(): ReadonlyMap<string, readonly Path[]> {
    const byEnd = new Map<string, Path[]>();
    for (const path of pathsIn(this.v2, [], MAX_PATHS)) {
      const before = shapeAt(this.v1, path);
      if (before !== undefined && !isAnotherValue(before, shapeAt(this.v2, path))) continue;
      for (const end of endsOf(path)) {
        const paths = byEnd.get(end) ?? [];
        byEnd.set(end, paths);
        paths.push(path);
      }
    }
    return byEnd;
  }
}

const PROBE = {
  doubt: undefined,
  outer: undefined,
  places: new Places(ANY_SHAPE, ANY_SHAPE),
  old: [],
  steps: 0,
  isProbe: true,
} as const;

/** The paths of the members of a shape, from `path`: the nearest ones first, and at most `limit` of them. */
function pathsIn(shape: Shape, path: Path, limit: number): readonly Path[] {
  const found: Path[] = [];
  const visits = new Map<object, number>();
  let level: readonly (readonly [Shape, Path])[] = [[shape, path]];
  while (level.length > 0 && found.length < limit) {
    const next: (readonly [Shape, Path])[] = [];
    for (const [one, at] of level) {
      if (at.length - path.length > MAX_LEVELS) continue;
      const times = (visits.get(one.members) ?? 0) + 1;
      visits.set(one.members, times);
      if (times <= MAX_VISITS)
        for (const [name, member] of one.members) {
          found.push([...at, name]);
          next.push([member.shape, [...at, name]]);
        }
      if (one.element !== undefined) next.push([one.element, [...at, '*']]);
    }
    level = next;
  }
  return found.slice(0, limit);
}

/** The paths inside a value as letters without separators: whole ones, and the ends of all. */
interface InnerEnds {
  readonly wholes: readonly string[];
  readonly ends: ReadonlySet<string>;
}

const knownEnds = new WeakMap<Shape, InnerEnds>();

function endsIn(shape: Shape): InnerEnds {
  const known = knownEnds.get(shape);
  if (known !== undefined) return known;
  const all = pathsIn(shape, [], 200).map((path) => [...endsOf(path)]);
  const found = { wholes: all.flatMap(([whole]) => whole ?? []), ends: new Set(all.flat()) };
  knownEnds.set(shape, found);
  return found;
}

/** The ends of a path of names, each as letters without separators: `address_city` ends as `address.city` does. */
function endsOf(path: readonly string[]): ReadonlySet<string> {
  const names = path.filter((name) => name !== '*');
  // JSON:API has `list_id` as `relationships.list.data.id`.
  const bare = names.filter((name, at) => at === names.length - 1 || !ENVELOPES.has(name));
  return new Set(
    [names, ...(bare.length < names.length ? [bare] : [])].flatMap((all) =>
      all.map((_, at) => all.slice(at).map(plainName).join('')),
    ),
  );
}

/** Names of members that only hold others. */
const ENVELOPES: ReadonlySet<string> = new Set(['data', 'attributes']);

/** True where V2 has a value of another type under the same name: it may be that of another member of V1. */
function isAnotherValue(old: Shape, young: Shape | undefined): boolean {
  return (
    young !== undefined &&
    !isCompatible(old, young) &&
    listForms({ name: '', shape: old }, { name: '', shape: young }).length === 0
  );
}

function unreadIn(shape: Shape, seen: Set<object> = new Set(), level = 0): readonly string[] {
  if (level > MAX_LEVELS || (shape.members.size > 0 && seen.has(shape.members))) return shape.unread;
  seen.add(shape.members);
  const inner = [...shape.members.values()].flatMap((member) => unreadIn(member.shape, seen, level + 1));
  return [
    ...shape.unread,
    ...inner,
    ...(shape.element === undefined ? [] : unreadIn(shape.element, seen, level + 1)),
  ];
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
