import { type Path, printPath, type RequestRule } from './rule.ts';
import type { Facts as BodyFacts, StalePart } from './kinds/book.ts';
import { readPaths, requestBookOf, responseBookOf } from './kinds/books.ts';
import { asInRequests, isOwn, type KindOfResponseRule } from './kinds/kinds.ts';
import { namedMembers } from './kinds/words.ts';

/** The facts that hold for a body after the rules so far; starts empty and grows with each rule. */
export class BodyKnowledge implements BodyFacts {
  private root: Facts = unknown();
  /** The change of the current rule, and whether bodies without the wrapper are rewritten. */
  private of = { change: '', migratesFlat: false };

  /**
   * Returns the stale parts of `rule`, and records its effect; `migratesFlat` means that bodies without the wrapper are
   * rewritten.
   */
  apply(rule: RequestRule, change: string, migratesFlat: boolean): readonly StalePart[] {
    const stale = this.staleParts(rule, change);
    if (stale.some(({ part }) => part === 'inside')) return stale;
    this.of = { change, migratesFlat };
    requestBookOf(rule).learn(rule, this);
    return stale;
  }

  /** Returns why a rule for responses can have no effect, and records its effect. */
  applyBack(rule: KindOfResponseRule, change: string): string | undefined {
    const { adds, learn } = responseBookOf(rule);
    const paths = 'as' in rule ? [rule.path] : readPaths(rule);
    const reasons = adds === true ? [] : paths.map((path) => this.reason(path, change));
    const [first] = reasons;
    if (first !== undefined && !reasons.includes(undefined)) return first;
    this.of = { change, migratesFlat: false };
    if (!isSure(rule)) this.forget([]);
    else if (isOwn(rule)) learn?.(rule, this);
    else {
      const same = asInRequests(rule);
      requestBookOf(same).learn(same, this);
    }
    return undefined;
  }

  /** True if nothing can be at `path` after the rules so far. */
  isEmptyAt(path: Path): boolean {
    return obstacleOn(this.root, path) !== undefined;
  }

  private staleParts(rule: RequestRule, change: string): readonly StalePart[] {
    const { makes, stale: staleOf } = requestBookOf(rule);
    const inside = 'in' in rule ? rule.in : [];
    const reason = this.reason(inside, change);
    if (reason !== undefined) return [{ part: 'inside', reason }];
    // Such a rule is about absent members.
    if (makes === true) return [];
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
    return stale.length > 0 ? stale : (staleOf?.(rule, this) ?? []);
  }

  replacedBy(path: Path, json: string): string | undefined {
    return reach(this.root, path).replaced?.get(json);
  }

  closedBy(inside: Path, members: ReadonlySet<string>): string | undefined {
    const { closed, members: known } = reach(this.root, inside);
    // An unwrapped member is gone for the author, but the wrapper may have contained a member with the same name.
    const remaining = [...known].filter(
      ([name, { loss }]) => (loss === undefined || loss.does === 'unwraps') && !members.has(name),
    );
    return remaining.length > 0 ? undefined : closed?.change;
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
    if (loss.does === 'leaves') return `${effectOf(loss)} no ${at}; list it there, or remove this rule`;
    if (now === undefined || now.length === 0) {
      return `${effectOf(loss)} ${at} already; remove one of the two, or put this ${before}`;
    }
    return `${effectOf(loss)} ${at} already: ${printPath(path)} is now ${printPath(now)}; name that, or put this ${before}`;
  }

  unwrap(member: string): void {
    const { change, migratesFlat } = this.of;
    const wrapped = factsOf(this.root, member);
    if (wrapped?.loss !== undefined) return;
    // A body that is an array has no wrapper: the facts about its elements stay, and an array in the wrapper is not the body.
    const elements = this.root.members.get('*');
    this.root = either(wrapped, migratesFlat ? this.root : wrapped);
    if (elements === undefined) this.root.members.delete('*');
    else this.root.members.set('*', elements);
    this.root.members.set(member, lost({ does: 'unwraps', change, now: [] }));
  }

  nest(inside: Path, members: readonly string[], name: string): void {
    const { change } = this.of;
    const holder = reach(this.root, inside);
    const before = factsOf(holder, name) ?? unknown();
    // After the removal of the sub-object, the new one contains only the members that are moved into it.
    const closed = before.loss ?? before.closed;
    const under: Facts = { loss: undefined, closed, madeBy: change, members: new Map(before.members) };
    for (const member of members) {
      const moved = factsOf(holder, member);
      if (member === name || moved?.loss !== undefined) continue;
      const existing = before.loss === undefined ? factsOf(before, member) : lost(before.loss);
      under.members.set(member, either(moved, existing));
      holder.members.set(member, lost({ does: 'moves', change, now: [name, member] }));
    }
    holder.members.set(name, under);
  }

  rename(inside: Path, from: string, to: string): void {
    const holder = reach(this.root, inside);
    const moved = factsOf(holder, from);
    if (from === to || moved?.loss !== undefined) return;
    holder.members.set(to, either(moved, factsOf(holder, to)));
    this.lose(holder, from, { does: 'renames', now: [to] });
  }

  strip(inside: Path, members: readonly string[]): void {
    const holder = reach(this.root, inside);
    for (const member of members) this.lose(holder, member, { does: 'strips', now: undefined });
  }

  close(inside: Path, kept: readonly string[]): void {
    const loss: Loss = { does: 'leaves', change: this.of.change, now: undefined };
    const holder = reach(this.root, inside);
    const members = new Map<string, Facts>();
    for (const [name, facts] of holder.members)
      members.set(
        name,
        isElsewhere(name) || kept.includes(name) || facts.loss !== undefined ? facts : lost(loss),
      );
    for (const member of kept)
      if (!members.has(member)) members.set(member, factsOf(holder, member) ?? unknown());
    this.put(inside, { ...holder, closed: holder.closed ?? loss, members });
  }

  replace(inside: Path, member: string, from: readonly string[], to: readonly string[]): void {
    const holder = reach(this.root, inside);
    const facts = factsOf(holder, member) ?? unknown();
    if (facts.loss !== undefined) return;
    const replaced = new Map(facts.replaced);
    for (const value of from) replaced.set(value, this.of.change);
    for (const value of to) replaced.delete(value);
    holder.members.set(member, { ...facts, replaced });
  }

  add(inside: Path, member: string, isAlways: boolean): void {
    const holder = reach(this.root, inside);
    if (isAlways || factsOf(holder, member)?.loss !== undefined) holder.members.set(member, unknown());
  }

  change(inside: Path, member: string): void {
    const holder = reach(this.root, inside);
    if (factsOf(holder, member)?.loss === undefined) holder.members.set(member, unknown());
  }

  become(inside: Path, from: readonly string[], to: readonly string[]): void {
    const holder = reach(this.root, inside);
    const [now = ''] = to;
    for (const member of from)
      if (!to.includes(member)) this.lose(holder, member, { does: 'renames', now: [now] });
    for (const member of to) holder.members.set(member, unknown());
  }

  move(inside: Path, from: Path, to: Path): void {
    const base = reach(this.root, inside);
    if (obstacleOn(base, from) !== undefined) return;
    const name = from.at(-1) ?? '';
    const holder = reach(base, from.slice(0, -1));
    const moved = factsOf(holder, name);
    this.lose(holder, name, { does: 'moves', now: to, up: from.length - 1 });
    this.place(base, to, moved);
  }

  copy(inside: Path, from: Path, to: Path): void {
    const base = reach(this.root, inside);
    if (obstacleOn(base, from) === undefined) this.place(base, to, unknown());
  }

  forget(inside: Path): void {
    if (obstacleOn(this.root, inside) === undefined) this.put(inside, unknown());
  }

  private lose(holder: Facts, member: string, loss: Omit<Loss, 'change'>): void {
    if (factsOf(holder, member)?.loss === undefined)
      holder.members.set(member, lost({ ...loss, change: this.of.change }));
  }

  /** Puts a member with the facts `placed` at `to` of the objects `base`. */
  private place(base: Facts, to: Path, placed: Facts | undefined): void {
    let target = base;
    for (const step of to.slice(0, -1)) {
      const known = factsOf(target, step);
      const next: Facts =
        known?.loss === undefined
          ? (known ?? unknown())
          : { ...unknown(), closed: known.loss, madeBy: this.of.change };
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

/** True if the facts after a rule of responses hold for all values; not for a conversion, as a value that it cannot convert stays where it is. */
export function isSure(rule: KindOfResponseRule): boolean {
  const { takes, learn } = responseBookOf(rule);
  if (isOwn(rule)) return learn !== undefined;
  const { policies } = requestBookOf(asInRequests(rule));
  return takes === undefined || policies?.includes('value') !== true;
}

function effectOf({ does, change }: Loss): string {
  return `change "${change}" ${does}`;
}

/** Why a member is no longer in its place. */
interface Loss {
  /** The change's effect on the member: the verb before its name at the end of the sentence. */
  readonly does: 'strips' | 'renames' | 'moves' | 'leaves' | 'unwraps';
  readonly change: string;
  /** Its new path, from the object that contained it; undefined if it was removed. */
  readonly now: Path | undefined;
  /** The levels above that object from which the path starts; 0 if absent. */
  readonly up?: number;
}

/**
 * The facts about a place that hold for all bodies after some rules: none, as long as no rule removed anything. An unlisted member may be
 * present, unless `closed` says that only the listed ones may.
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

/** The facts about a place of which nothing is known. */
function unknown(): Facts {
  return { loss: undefined, closed: undefined, madeBy: undefined, members: new Map() };
}

/** The facts about a place that is certainly empty. */
function lost(loss: Loss): Facts {
  return { ...unknown(), loss };
}

/** True for an element of an array, or any depth: facts about the members of an object do not apply to them. */
function isElsewhere(name: string): boolean {
  return name === '*' || name === '**';
}

/** The facts about the member `name`. In a closed object, an element of an array, `*`, is still possible. */
function factsOf(holder: Facts, name: string): Facts | undefined {
  const known = holder.members.get(name);
  if (known !== undefined || holder.closed === undefined || isElsewhere(name)) return known;
  return lost(holder.closed);
}

/** The facts common to `one` and `other`, as a copy; `undefined` has no facts. */
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

/** Returns the facts about the place at `path`, adding empty ones if needed; only for places that may be present. */
function reach(root: Facts, path: Path): Facts {
  let facts = root;
  for (const name of path) {
    const next = factsOf(facts, name) ?? unknown();
    facts.members.set(name, next);
    facts = next;
  }
  return facts;
}

/** Why nothing can be at a path. */
interface Obstacle {
  /** The part of the path up to the obstacle. */
  readonly path: Path;
  readonly loss: Loss | undefined;
  /** The change that made an object of the place before a `*`. */
  readonly madeBy: string | undefined;
}

/** Returns why nothing can be at `path`, or `undefined`. */
function obstacleOn(root: Facts, path: Path): Obstacle | undefined {
  let facts: Facts | undefined = root;
  for (const [depth, name] of path.entries()) {
    // Regardless of objects, a body may also be an array.
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
