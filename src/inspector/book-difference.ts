import { counted } from '../rules/words.ts';
import type { Rollout } from '../rules/rollout.ts';
import type { RuleBook } from '../rules/rule-book.ts';

/** Maximum operations or changes that are named. */
const MAX_NAMES = 3;

/** What each setting is to a person. Modes have words of their own, and names of clients change nothing. */
const OF_ROLLOUT: Readonly<Record<Exclude<keyof Rollout, 'modes'>, string>> = {
  brownouts: 'brownouts',
  signals: "dates of V1's end",
  gone: "dates of V1's end",
  ends: "dates of V1's end",
  leadDays: "dates of V1's end",
  newcomers: 'newcomers',
  pins: 'pins',
  shield: 'rate limit',
  clients: 'names of clients',
};

/** Names what differs between two rule books for people, most important first; empty if only modes do. */
export function bookDifference(before: RuleBook, after: RuleBook): readonly string[] {
  const { operations, changes, rollout = NO_ROLLOUT, ...settings } = before;
  const {
    operations: newOperations,
    changes: newChanges,
    rollout: newRollout = NO_ROLLOUT,
    ...newSettings
  } = after;
  const names = Object.entries(OF_ROLLOUT).filter(([name]) => isOther(rollout, newRollout, name));
  const others = new Set([...Object.keys(settings), ...Object.keys(newSettings)]);
  others.delete('hash');
  return [
    ...listDifference('operation', operations, newOperations),
    ...listDifference('change', changes, newChanges),
    ...new Set(names.map(([, words]) => words)),
    ...([...others].some((name) => isOther(settings, newSettings, name)) ? ['settings'] : []),
  ];
}

const NO_ROLLOUT: Rollout = { clients: {}, brownouts: [], pins: [] };

function isOther(before: object, after: object, name: string): boolean {
  return textOf(Reflect.get(before, name)) !== textOf(Reflect.get(after, name));
}

function textOf(value: unknown): string {
  return JSON.stringify(value) ?? '';
}

function listDifference(
  what: 'operation' | 'change',
  before: readonly { readonly id: string }[],
  after: readonly { readonly id: string }[],
): readonly string[] {
  const [known, now] = [before, after].map((list) => new Map(list.map((one) => [one.id, textOf(one)])));
  if (known === undefined || now === undefined) return [];
  const added = [...now.keys()].filter((id) => !known.has(id));
  const removed = [...known.keys()].filter((id) => !now.has(id));
  const edited = [...now].flatMap(([id, text]) => (known.has(id) && known.get(id) !== text ? [id] : []));
  return [
    ...named(what, added, 'added'),
    ...named(what, edited, 'edited'),
    ...named(what, removed, 'removed'),
  ];
}

function named(what: string, ids: readonly string[], how: string): readonly string[] {
  if (ids.length === 0) return [];
  const which =
    ids.length > MAX_NAMES
      ? counted(ids.length, what)
      : `${what}${ids.length > 1 ? 's' : ''} ${ids.join(' and ')}`;
  return [`${which} ${how}`];
}
