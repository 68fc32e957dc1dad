import { printScalar } from '../json/names.ts';
import { type Path, printPath, type RequestRule } from './rule.ts';
import { keepsMember, namedMembers } from './kinds/words.ts';
import type { ConvertRule } from './kinds/convert.ts';
import type { MapRule } from './kinds/map.ts';
import type { CopyRule } from './kinds/copy.ts';
import type { MoveRule } from './kinds/move.ts';
import type { NestRule } from './kinds/nest.ts';
import type { OnlyRule, StripRule } from './kinds/strip.ts';
import type { RenameRule } from './kinds/rename.ts';
import type { SetRule } from './kinds/set.ts';
import type { UnwrapRule } from './kinds/unwrap.ts';

/** A part of a rule that can never take effect: a member, a value of a map (from 1 on), or the object that it applies to. */
export interface StalePart {
  readonly part: number | 'inside';
  /** Why, and how to fix it. */
  readonly reason: string;
}

/** The facts that hold for a body after the rules so far; starts empty and grows with each rule. */
export class BodyKnowledge {
  private root: Facts = unknown();

  /**
   * Returns the stale parts of `rule`, and records its effect; `migratesFlat` means that bodies without the wrapper are
   * rewritten.
   */
  apply(rule: RequestRule, change: string, migratesFlat: boolean): readonly StalePart[] {
    const stale = this.staleParts(rule, change);
    if (!stale.some(({ part }) => part === 'inside')) this.learn(rule, change, migratesFlat);
    return stale;
  }

  /** True where nothing can be at `path` after the rules so far. */
  isEmptyAt(path: Path): boolean {
    return obstacleOn(this.root, path) !== undefined;
  }

  private staleParts(rule: RequestRule, change: string): readonly StalePart[] {
    const inside = rule.rule === 'unwrap' ? [] : rule.in;
    const reason = this.reason(inside, change);
    if (reason !== undefined) return [{ part: 'inside', reason }];
    // What is absent is what these rules are for.
    if (rule.rule === 'set' || rule.rule === 'default') return [];
    const stale: StalePart[] = [];
    const seen = new Set<string>();
    for (const [part, member] of namedMembers(rule).entries()) {
      const [name = ''] = member;
      const why =
        member.length === 1 && seen.has(name)
          ? `${printPath([...inside, name])} is in the list already; remove it`
          : this.reason([...inside, ...member], change);
      seen.add(name);
      if (why !== undefined) stale.push({ part, reason: why });
    }
    if (rule.rule === 'map' && stale.length === 0) return this.staleValues(rule);
    if (rule.rule !== 'only' || stale.length > 0) return stale;
    const { closed, members: known } = reach(this.root, inside);
    // To the author, an unwrapped member is gone, but the wrapper may have contained a member with its own name.
    const remaining = [...known].filter(
      ([name, { loss }]) => (loss === undefined || loss.how === 'unwrap') && !seen.has(name),
    );
    if (closed === undefined || remaining.length > 0) return stale;
    const prefix = `change "${closed.change}" leaves nothing else in ${printPath(inside)}`;
    return [{ part: 'inside', reason: `${prefix}; remove one of the two` }];
  }

  private staleValues({ member, in: inside, values }: MapRule): readonly StalePart[] {
    const { replaced } = reach(this.root, [...inside, member]);
    return values.flatMap(({ from }, index) => {
      const change = replaced?.get(printScalar(from));
      if (change === undefined) return [];
      const reason = `change "${change}" replaces that value already; remove one of the two`;
      return [{ part: index + 1, reason }];
    });
  }

  private reason(path: Path, change: string): string | undefined {
    const obstacle = obstacleOn(this.root, path);
    if (obstacle === undefined) return undefined;
    const at = printPath(obstacle.path);
    if (obstacle.loss === undefined) {
      return `${at} is an object since change "${obstacle.madeBy ?? ''}", and * is any element of an array; name a member of it`;
    }
    const { loss } = obstacle;
    const now = whereNow(this.root, path);
    const before = loss.change === change ? 'rule before that one' : `rule before change "${loss.change}"`;
    if (loss.how === 'only') return `${effectOf(loss)} no ${at}; list it there, or remove this rule`;
    if (now === undefined || now.length === 0) {
      return `${effectOf(loss)} ${at} already; remove one of the two, or put this ${before}`;
    }
    return `${effectOf(loss)} ${at} already: ${printPath(path)} is now ${printPath(now)}; name that, or put this ${before}`;
  }

  private learn(rule: RequestRule, change: string, migratesFlat: boolean): void {
    if ('from' in rule) return this.learnMove(rule, change);
    if ('elements' in rule) return this.learnPlaced(rule.in, [rule.member], [rule.to], change);
    switch (rule.rule) {
      case 'unwrap':
        return this.learnUnwrap(rule, change, migratesFlat);
      case 'nest':
        return this.learnNest(rule, change);
      case 'rename':
        return this.learnRename(rule, change);
      case 'strip':
        return this.learnStrip(rule, change);
      case 'only':
        return this.learnOnly(rule, change);
      case 'map':
        return this.learnMap(rule, change);
      case 'set':
      case 'default':
        return this.learnSet(rule);
      case 'list':
        return this.learnPlaced(rule.in, [rule.member], [rule.to], change);
      case 'join':
        return this.learnPlaced(rule.in, rule.members, [rule.to], change);
      case 'split':
        return this.learnPlaced(rule.in, [rule.member], rule.to, change);
      case 'scale':
      case 'quote':
      case 'unquote':
      case 'prefix':
      case 'unprefix':
      case 'date':
        return this.learnConverted(rule);
    }
  }

  private learnUnwrap(rule: UnwrapRule, change: string, migratesFlat: boolean): void {
    const wrapped = factsOf(this.root, rule.member);
    if (wrapped?.loss !== undefined) return;
    // A body that is an array has no wrapper: what is known of its elements stays, and an array in the wrapper is not the body.
    const elements = this.root.members.get('*');
    this.root = either(wrapped, migratesFlat ? this.root : wrapped);
    if (elements === undefined) this.root.members.delete('*');
    else this.root.members.set('*', elements);
    this.root.members.set(rule.member, lost({ how: 'unwrap', change, now: [] }));
  }

  private learnNest(rule: NestRule, change: string): void {
    const holder = reach(this.root, rule.in);
    const before = factsOf(holder, rule.under) ?? unknown();
    // After the removal of the sub-object, the new one contains only the members that are moved into it.
    const closed = before.loss ?? before.closed;
    const under: Facts = { loss: undefined, closed, madeBy: change, members: new Map(before.members) };
    for (const member of rule.members) {
      const moved = factsOf(holder, member);
      if (member === rule.under || moved?.loss !== undefined) continue;
      const existing = before.loss === undefined ? factsOf(before, member) : lost(before.loss);
      under.members.set(member, either(moved, existing));
      holder.members.set(member, lost({ how: 'nest', change, now: [rule.under, member] }));
    }
    holder.members.set(rule.under, under);
  }

  private learnRename(rule: RenameRule, change: string): void {
    const holder = reach(this.root, rule.in);
    const moved = factsOf(holder, rule.member);
    if (rule.member === rule.to || moved?.loss !== undefined) return;
    holder.members.set(rule.to, either(moved, factsOf(holder, rule.to)));
    holder.members.set(rule.member, lost({ how: 'rename', change, now: [rule.to] }));
  }

  private learnStrip(rule: StripRule, change: string): void {
    const holder = reach(this.root, rule.in);
    for (const member of rule.members) {
      if (factsOf(holder, member)?.loss !== undefined) continue;
      holder.members.set(member, lost({ how: 'strip', change, now: undefined }));
    }
  }

  private learnOnly(rule: OnlyRule, change: string): void {
    const loss: Loss = { how: 'only', change, now: undefined };
    const holder = reach(this.root, rule.in);
    const members = new Map<string, Facts>();
    for (const [name, facts] of holder.members) {
      members.set(
        name,
        name === '*' || rule.members.includes(name) || facts.loss !== undefined ? facts : lost(loss),
      );
    }
    for (const member of rule.members)
      if (!members.has(member)) members.set(member, factsOf(holder, member) ?? unknown());
    this.put(rule.in, { ...holder, closed: holder.closed ?? loss, members });
  }

  private learnMap({ member, in: inside, values }: MapRule, change: string): void {
    const holder = reach(this.root, inside);
    const facts = factsOf(holder, member) ?? unknown();
    if (facts.loss !== undefined) return;
    const replaced = new Map(facts.replaced);
    for (const { from } of values) replaced.set(printScalar(from), change);
    for (const { to } of values) replaced.delete(printScalar(to));
    holder.members.set(member, { ...facts, replaced });
  }

  private learnSet({ rule, member, in: inside }: SetRule): void {
    const holder = reach(this.root, inside);
    if (rule === 'set' || factsOf(holder, member)?.loss !== undefined) holder.members.set(member, unknown());
  }

  /** The members become others, whose values are not known. */
  private learnPlaced(inside: Path, from: readonly string[], to: readonly string[], change: string): void {
    const holder = reach(this.root, inside);
    const [now = ''] = to;
    for (const member of from) {
      if (to.includes(member) || factsOf(holder, member)?.loss !== undefined) continue;
      holder.members.set(member, lost({ how: 'rename', change, now: [now] }));
    }
    for (const member of to) holder.members.set(member, unknown());
  }

  private learnConverted({ member, in: inside }: ConvertRule): void {
    const holder = reach(this.root, inside);
    if (factsOf(holder, member)?.loss === undefined) holder.members.set(member, unknown());
  }

  private learnMove(rule: MoveRule | CopyRule, change: string): void {
    const base = reach(this.root, rule.in);
    if (obstacleOn(base, rule.from) !== undefined) return;
    if (keepsMember(rule.rule)) return this.learnPlace(base, rule.to, unknown(), change);
    const name = rule.from.at(-1) ?? '';
    const from = reach(base, rule.from.slice(0, -1));
    const moved = factsOf(from, name);
    const now = rule.to;
    from.members.set(name, lost({ how: 'move', change, now, up: rule.from.length - 1 }));
    this.learnPlace(base, rule.to, moved, change);
  }

  /** A member with what is known of it, `placed`, is at `to` of the objects `base`. */
  private learnPlace(base: Facts, to: Path, placed: Facts | undefined, change: string): void {
    let target = base;
    for (const step of to.slice(0, -1)) {
      const known = factsOf(target, step);
      const next: Facts =
        known?.loss === undefined
          ? (known ?? unknown())
          : { ...unknown(), closed: known.loss, madeBy: change };
      target.members.set(step, next);
      target = next;
    }
    const last = to.at(-1) ?? '';
    target.members.set(last, either(placed, factsOf(target, last)));
  }

  private put(path: Path, facts: Facts): void {
    const name = path.at(-1);
    if (name === undefined) this.root = facts;
    else reach(this.root, path.slice(0, -1)).members.set(name, facts);
  }
}

/** What a change does to the member that ends the sentence. */
const VERBS: Readonly<Record<Loss['how'], string>> = {
  strip: 'strips',
  rename: 'renames',
  nest: 'moves',
  move: 'moves',
  only: 'leaves',
  unwrap: 'unwraps',
};

function effectOf({ how, change }: Loss): string {
  return `change "${change}" ${VERBS[how]}`;
}

/** Why a member is no longer in its place. */
interface Loss {
  readonly how: 'strip' | 'rename' | 'nest' | 'only' | 'unwrap' | 'move';
  readonly change: string;
  /** Its new path, from the object that held it; undefined when it was removed. */
  readonly now: Path | undefined;
  /** The levels above that object from which the path leads; 0 when absent. */
  readonly up?: number;
}

/**
 * The facts that hold at a place in any body after some rules, whatever the body was before them: none, as long as no rule
 * removed anything. A member that is not listed may be present, unless `closed` says that only the listed ones may.
 */
interface Facts {
  readonly loss: Loss | undefined;
  readonly closed: Loss | undefined;
  /** The change that created this object. */
  readonly madeBy: string | undefined;
  readonly members: Map<string, Facts>;
  /** The values that a map replaced, by JSON text: the change that replaced them. */
  readonly replaced?: ReadonlyMap<string, string>;
}

/** Facts of a place about which nothing is known. */
function unknown(): Facts {
  return { loss: undefined, closed: undefined, madeBy: undefined, members: new Map() };
}

/** Facts of a place where certainly nothing is left. */
function lost(loss: Loss): Facts {
  return { ...unknown(), loss };
}

/** The facts of the member `name`. A closed object does not rule out an element of an array, `*`. */
function factsOf(holder: Facts, name: string): Facts | undefined {
  const known = holder.members.get(name);
  if (known !== undefined || holder.closed === undefined || name === '*') return known;
  return lost(holder.closed);
}

/** The facts of a place that is either `one` or `other`; `undefined` knows nothing. The result is a copy. */
function either(one: Facts | undefined, other: Facts | undefined): Facts {
  if (one === undefined || other === undefined) return unknown();
  if (one.loss !== undefined) return copy(other);
  if (other.loss !== undefined) return copy(one);
  const members = new Map<string, Facts>();
  for (const name of new Set([...one.members.keys(), ...other.members.keys()])) {
    members.set(name, either(factsOf(one, name), factsOf(other, name)));
  }
  const closed = other.closed === undefined ? undefined : one.closed;
  return { loss: undefined, closed, madeBy: other.madeBy === undefined ? undefined : one.madeBy, members };
}

/** Returns the facts of the place at `path`, adding empty ones where there are none; only for places that may be present. */
function reach(root: Facts, path: Path): Facts {
  let facts = root;
  for (const name of path) {
    const next = factsOf(facts, name) ?? unknown();
    facts.members.set(name, next);
    facts = next;
  }
  return facts;
}

/** The reason why nothing can be at a path. */
interface Obstacle {
  /** The part of the path up to the obstacle. */
  readonly path: Path;
  readonly loss: Loss | undefined;
  /** The change that made the place before a `*` an object. */
  readonly madeBy: string | undefined;
}

/** Returns the reason why nothing can be at `path`, or `undefined`. */
function obstacleOn(root: Facts, path: Path): Obstacle | undefined {
  let facts: Facts | undefined = root;
  for (const [depth, name] of path.entries()) {
    // Whatever becomes of an object, a body may also be an array.
    if (name === '*' && depth > 0 && facts.madeBy !== undefined) {
      return { path: path.slice(0, depth), loss: undefined, madeBy: facts.madeBy };
    }
    facts = factsOf(facts, name);
    if (facts === undefined) return undefined;
    if (facts.loss !== undefined)
      return { path: path.slice(0, depth + 1), loss: facts.loss, madeBy: undefined };
  }
  return undefined;
}

/** Returns the current path of the value once at `path`, or `undefined` when it was removed. */
function whereNow(root: Facts, path: Path): Path | undefined {
  let current = path;
  // Members may have moved repeatedly, even in a circle.
  for (let moves = 0; moves < 64; moves += 1) {
    const obstacle = obstacleOn(root, current);
    if (obstacle === undefined) return current;
    if (obstacle.loss?.now === undefined) return undefined;
    const { now, up = 0 } = obstacle.loss;
    current = [...obstacle.path.slice(0, -1 - up), ...now, ...current.slice(obstacle.path.length)];
  }
  return undefined;
}

function copy(facts: Facts): Facts {
  return { ...facts, members: new Map([...facts.members].map(([name, inner]) => [name, copy(inner)])) };
}
