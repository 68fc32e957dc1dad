import type { Path } from '../../rules/rule.ts';
import { ANY_SHAPE, isCompatible, type MemberShape, type Shape } from '../shape.ts';
import type { ComparedPair, FoundMoves } from './compared-pairs.ts';
import {
  addFinding,
  type Around,
  type Comparison,
  firstOf,
  type InnerPair,
  type Objects,
  type ShapeSource,
  type Work,
} from './comparison.ts';
import {
  type BoxForm,
  boxForms,
  conversions,
  isListedAlike,
  listEvidence,
  type NamedShape,
} from './conversions.ts';
import { findFlats } from './find-flats.ts';
import {
  type Finding,
  type FoundRule,
  isProposed,
  localKey,
  movedFinding,
  pathText,
  type Question,
  ruleRank,
  targetsOf,
} from './found-rules.ts';
import { addGone, takenPlaces } from './gone-members.ts';
import { descriptionsApart, scalarDoubt, typeWords } from './member-links.ts';
import { addLookup, boxRules, listRules, lookupRules } from './member-rules.ts';
import { addFlat, addNest, addRename, compareNested, movesOf, renameDoubt } from './moved-members.ts';
import { isSameName } from './names.ts';
import { findNests } from './nests.ts';
import {
  addNew,
  askBeside,
  askNewRequired,
  defaultOf,
  isFilled,
  requiredQuestion,
  withoutFilled,
} from './new-members.ts';
import { MAX_LEVELS, namesAnywhere, Places } from './places.ts';
import { findRenames } from './renames.ts';
import { addMap, booleanPairs } from './value-maps.ts';

/** Maximum places of one object at which its findings are repeated: the nearest ones. */
const MAX_PLACES = 20;

/** Maximum objects of one body that are compared: the nearest ones. */
const MAX_OBJECTS = 300;

/**
 * Maximum references on the way to a further place of an object (a text that V1's clients can have expanded to an object): each may lead to
 * all others, and clients expand few.
 */
const MAX_STEPS = 1;

/**
 * Compares the shapes of a value in both versions: finds the rules that lead from one to the other, and open questions. `doubt` is the
 * reason why none of the rules is certain. Each pair of objects is compared once, and its findings are repeated at each of its places; a
 * pair without differences is compared once for all bodies.
 */
export function compareShapes(v1: Shape, v2: Shape, source: ShapeSource, doubt?: string): Comparison {
  const findings: Finding[] = [];
  const questions: Question[] = [];
  const places = new Places(v1, v2);
  const met = new Map<ComparedPair, MetPair>();
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
  if (source.isResponse !== true && !source.isRecorded) {
    const compared = new Set(queue.map(({ path }) => pathText(path)));
    askBeside(v1, v2, (place) => compared.has(pathText(place)), base);
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
    questions: questions.filter(({ path, isNew }) => isNew !== true || !isFilled(path, v2, findings)),
  };
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
function isRepeated(
  pair: ComparedPair,
  { chains }: MetPair,
  met: ReadonlyMap<ComparedPair, MetPair>,
): boolean {
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

const WITHIN = 'its schema contains itself, and a rule reaches only the depths that it names';

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

function compareAt(at: InnerPair, met: Map<ComparedPair, MetPair>, base: Work): void {
  const { v1, v2, path, old, doubt, steps, around } = at;
  const pair = base.pairs.of(v1, v2);
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

function differs(first: InnerPair, source: ShapeSource): boolean {
  const differences = source.isResponse === true ? 'responsesDiffer' : 'requestsDiffer';
  const key = ({ v1, v2 }: InnerPair): ComparedPair => source.pairs.of(v1, v2);
  const known = key(first)[differences];
  if (known !== undefined) return known;
  const outer = new Map<ComparedPair, ComparedPair[]>();
  const different: ComparedPair[] = [];
  const queue = [first];
  const seen = new Set([key(first)]);
  for (let at = 0; at < queue.length; at += 1) {
    const one = queue[at];
    if (one === undefined) break;
    const own = key(one);
    const before = own[differences];
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
  for (const pair of seen) pair[differences] = marked.has(pair);
  return marked.has(key(first));
}

function foundIn(v1: Shape, v2: Shape, gone: readonly string[], source: ShapeSource): FoundMoves {
  const pair = source.pairs.of(v1, v2);
  if (pair.moves !== undefined) return pair.moves;
  const { isRecorded, pairs } = source;
  const nests = findNests(v1, v2, gone, source);
  const settled = new Set(
    nests.flatMap(({ under, members }) => [under, ...members.map(({ from: name }) => name)]),
  );
  const flats = isRecorded ? [] : findFlats(v1, v2, settled);
  const renames = findRenames(v1, v2, { nests, flats, isRecorded, pairs });
  return (pair.moves = { nests, flats, renames });
}

/** Compares the members of two objects, and queues the objects inside. */
function compareMembers(v1: Shape, v2: Shape, path: Path, work: Work): void {
  const objects: Objects = { v1, v2, path };
  const gone = [...v1.members.keys()].filter((name) => !v2.members.has(name));
  const { nests, renames, flats } = foundIn(v1, v2, gone, work);
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

function compareMember(name: string, v1: MemberShape, v2: MemberShape, path: Path, work: Work): void {
  const at = [...path, name];
  const apart = descriptionsApart(v1.shape, v2.shape);
  const askAll = (general: string, isAboutTypes: boolean): void => {
    const text = apart === '' ? general : `${general} ${apart}.`;
    work.questions.push({ path: at, text, general, isAboutTypes });
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
    const why = doubt?.text ?? `it is ${typeWords(v1.shape)} in V1 and ${typeWords(v2.shape)} in V2`;
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
      askAll(
        `it is ${typeWords(v1.shape)} in V1 and ${typeWords(v2.shape)} in V2: say how to convert it.`,
        true,
      );
    return;
  } else if (doubt !== undefined && work.doubt === work.outer)
    askAll(`${doubt.text}: say how to convert it.`, doubt.isAboutTypes);
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

const PROBE = {
  doubt: undefined,
  outer: undefined,
  places: new Places(ANY_SHAPE, ANY_SHAPE),
  old: [],
  steps: 0,
  isProbe: true,
} as const;
