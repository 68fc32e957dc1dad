import { midnightIn } from './kinds/date-format.ts';
import {
  type Brownout,
  type End,
  type Ends,
  type LinkRelation,
  type Mode,
  type Modes,
  type Newcomers,
  type Pin,
  readDuration,
  readInstant,
  type Rollout,
  type Scope,
  type Shield,
  type Signals,
} from './rollout.ts';
import { didYouMean, type SourceFault, type SourcePath, unknownOperation } from './rule-book-fault.ts';
import type { RuleBookSource } from './rule-book-source.ts';

/** Default rollback criteria of a canary. */
export const DEFAULT_ROLLBACK = {
  window: 60_000,
  margin: 5,
  slower: 2,
  requests: 20,
  certainty: 99,
} as const;

/**
 * Reads the rollout part of a source; undefined if there is none. `ids` are those of the operations, `indexes` the positions of the
 * remaining changes.
 */
export function declareRollout(
  source: RuleBookSource,
  ids: ReadonlySet<string>,
  indexes?: readonly number[],
): { readonly rollout: Rollout | undefined; readonly faults: readonly SourceFault[] } {
  const reader = new RolloutReader(source, ids, indexes);
  const { clients, deprecation, sunset, links, newcomers, brownouts, modes, pins, shield } = source;
  const parts = [clients, deprecation, sunset, links, newcomers, brownouts, modes, pins, shield];
  const hasEnds = [...Object.values(source.operations ?? {}), ...source.changes].some(hasEnd);
  if (!hasEnds && parts.every((part) => part === undefined)) return { rollout: undefined, faults: [] };
  return { rollout: reader.read(), faults: reader.faults };
}

/** Reads a day or a time of a rule book as milliseconds since 1970; a day begins at midnight in the book's zone, or else in UTC. */
export function instantIn(zone: string | undefined, text: string): number | undefined {
  const time = readInstant(text);
  return time === undefined || text.includes('T') ? time : midnightIn(zone ?? 'UTC', time);
}

type ScopeSource = Partial<Record<keyof Scope, readonly string[]>>;
type ModeSource = Exclude<NonNullable<RuleBookSource['modes']>, { default?: unknown }>;

/** The keys that an operation and a change share. */
type EndSource = Pick<
  Exclude<NonNullable<RuleBookSource['operations']>[string], string>,
  'deprecation' | 'sunset' | 'links'
>;

function hasEnd(source: string | EndSource): boolean {
  if (typeof source === 'string') return false;
  const { deprecation, sunset, links } = source;
  return deprecation !== undefined || sunset !== undefined || links !== undefined;
}

class RolloutReader {
  readonly faults: SourceFault[] = [];
  private readonly source: RuleBookSource;
  private readonly ids: ReadonlySet<string>;
  private readonly hashes: ReadonlyMap<string, string>;
  private readonly indexes: readonly number[] | undefined;

  constructor(source: RuleBookSource, ids: ReadonlySet<string>, indexes: readonly number[] | undefined) {
    this.source = source;
    this.indexes = indexes;
    this.ids = ids;
    this.hashes = new Map(Object.entries(source.clients ?? {}));
  }

  read(): Rollout {
    const { sunset, brownouts = [], pins = [], shield } = this.source;
    const signals = this.signals();
    const isGone = typeof sunset === 'object' && sunset.after === 'gone';
    const modes = this.modes();
    return {
      clients: this.names(),
      ...(signals === undefined ? {} : { signals }),
      ...(isGone ? { gone: this.scope(sunset, ['sunset']) } : {}),
      ...this.ends(signals),
      ...this.newcomers(),
      ...(typeof sunset === 'object' && sunset.lead !== undefined ? { leadDays: sunset.lead } : {}),
      brownouts: brownouts.map((brownout, at) => this.brownout(brownout, ['brownouts', at])),
      ...(modes === undefined ? {} : { modes }),
      pins: pins.map((pin, at) => this.pin(pin, ['pins', at])),
      ...(shield === undefined ? {} : { shield: shieldOf(shield) }),
    };
  }

  private names(): Readonly<Record<string, string>> {
    const names: Record<string, string> = {};
    for (const [name, hash] of this.hashes) {
      const other = names[hash];
      if (other !== undefined)
        this.fault(['clients', name], `client "${name}" has the hash of "${other}"; remove one of them`);
      names[hash] = name;
    }
    return names;
  }

  private signals(): Signals | undefined {
    const { deprecation, sunset, links = {} } = this.source;
    const since = this.timeOf(typeof deprecation === 'object' ? deprecation.since : deprecation);
    const at = this.sunsetOf(sunset);
    if (since !== undefined && at !== undefined && at < since) {
      this.fault(
        ['sunset'],
        'sunset is before deprecation; choose a later day: V1 cannot end before it is deprecated (RFC 9745 §4)',
      );
    }
    const targets = targetsOf(links);
    if (since === undefined && at === undefined && targets.length === 0) return undefined;
    return {
      ...(since === undefined ? {} : { since }),
      attributes:
        typeof deprecation === 'object' ? deprecation.attributes !== false : deprecation !== undefined,
      ...(at === undefined ? {} : { sunset: at }),
      links: targets,
    };
  }

  private newcomers(): { readonly newcomers?: Newcomers } {
    const { newcomers, sunset } = this.source;
    if (newcomers === undefined) return {};
    const { from, answer = 'refuse', except = [], guide } = newcomers;
    const begin = this.timeOf(from);
    const end = this.sunsetOf(sunset);
    if (end !== undefined && begin >= end)
      this.fault(
        ['newcomers', 'from'],
        'newcomers are refused from a day after the sunset, when V1 serves no client any more; choose an earlier day',
      );
    return {
      newcomers: {
        from: begin,
        answer,
        except: except.map((client, at) => this.client(client, ['newcomers', 'except', at])),
        ...(guide === undefined ? {} : { guide }),
      },
    };
  }

  private ends(whole: Signals | undefined): { readonly ends?: Ends } {
    const operations: Record<string, End> = {};
    const changes: Record<string, End> = {};
    for (const [id, source] of Object.entries(this.source.operations ?? {}))
      if (typeof source !== 'string' && hasEnd(source))
        operations[id] = this.end(source, whole, ['operations', id]);
    for (const [at, source] of this.source.changes.entries())
      if (hasEnd(source)) changes[source.id] = this.end(source, whole, ['changes', this.changeAt(at)]);
    const has = Object.keys(operations).length + Object.keys(changes).length > 0;
    return has ? { ends: { operations, changes } } : {};
  }

  private end(
    { deprecation, sunset, links = {} }: EndSource,
    whole: Signals | undefined,
    path: SourcePath,
  ): End {
    const [since, at] = [this.timeOf(deprecation), this.sunsetOf(sunset)];
    const begin = since ?? whole?.since;
    if (at !== undefined && begin !== undefined && at < begin)
      this.fault([...path, 'sunset'], 'sunset is before deprecation; choose a later day (RFC 9745 §4)');
    if (since !== undefined && whole?.since !== undefined && since > whole.since)
      this.fault(
        [...path, 'deprecation'],
        'is later than the deprecation of V1 as a whole, which already says so; remove it',
      );
    if (at !== undefined && whole?.sunset !== undefined && at > whole.sunset)
      this.fault(
        [...path, 'sunset'],
        'is later than the sunset of V1 as a whole; choose an earlier day, or remove it',
      );
    const isGone = typeof sunset === 'object' && sunset.after === 'gone';
    return {
      ...(since === undefined ? {} : { since }),
      ...(at === undefined ? {} : { sunset: at }),
      links: targetsOf(links),
      ...(isGone ? { gone: this.scope(sunset, [...path, 'sunset']) } : {}),
    };
  }

  /** The position of a change in the whole source, some parts of which may be missing here. */
  private changeAt(at: number): number {
    return this.indexes?.[at] ?? at;
  }

  private brownout(source: NonNullable<RuleBookSource['brownouts']>[number], path: SourcePath): Brownout {
    const { id, from, until, share = 100, status = 410, message } = source;
    const [begin, end] = [this.timeOf(from), this.timeOf(until)];
    if (begin !== undefined && end !== undefined && end <= begin) {
      this.fault([...path, 'until'], `brownout "${id}" ends before it begins; write a later time`);
    }
    const others = this.source.brownouts?.filter((other) => other.id === id) ?? [];
    if (others.length > 1 && others[0] !== source) {
      this.fault([...path, 'id'], `another brownout has the id "${id}" already; give this one another id`);
    }
    return {
      id,
      ...(begin === undefined ? {} : { from: begin }),
      ...(end === undefined ? {} : { until: end }),
      share,
      status,
      ...(message === undefined ? {} : { message }),
      ...this.scope(source, path),
    };
  }

  private pin(source: NonNullable<RuleBookSource['pins']>[number], path: SourcePath): Pin {
    if (source.clients === undefined && source.operations === undefined) {
      this.fault(
        path,
        'a pin for every request is the version of the rule book; change that, or name clients or operations',
      );
    }
    return { version: source.version, ...this.scope(source, path) };
  }

  private modes(): Modes | undefined {
    const { modes } = this.source;
    if (modes === undefined) return undefined;
    const mapping =
      typeof modes === 'string' || 'canary' in modes || 'verify' in modes ? { default: modes } : modes;
    const { operations = {}, clients = {}, rollback = {} } = mapping;
    for (const id of Object.keys(operations)) this.operation(id, ['modes', 'operations', id], 'key');
    const byHash = Object.entries(clients).map(
      ([client, mode]) => [this.client(client, ['modes', 'clients', client], 'key'), modeOf(mode)] as const,
    );
    return {
      default: modeOf(mapping.default ?? 'migrate'),
      operations: Object.fromEntries(Object.entries(operations).map(([id, mode]) => [id, modeOf(mode)])),
      clients: Object.fromEntries(byHash),
      rollback: {
        ...DEFAULT_ROLLBACK,
        ...rollback,
        window: readDuration(rollback.window ?? '') ?? DEFAULT_ROLLBACK.window,
      },
    };
  }

  private scope({ clients, except, operations }: ScopeSource, path: SourcePath): Scope {
    const named = (list: readonly string[], key: string): string[] =>
      list.map((client, at) => this.client(client, [...path, key, at]));
    for (const [at, id] of (operations ?? []).entries()) this.operation(id, [...path, 'operations', at]);
    return {
      ...(clients === undefined ? {} : { clients: named(clients, 'clients') }),
      ...(except === undefined ? {} : { except: named(except, 'except') }),
      ...(operations === undefined ? {} : { operations }),
    };
  }

  private client(text: string, path: SourcePath, blame?: 'key'): string {
    const hash = this.hashes.get(text);
    if (hash !== undefined || /^[0-9a-f]{16}$/.test(text)) return hash ?? text;
    const hint = didYouMean(text, this.hashes.keys()) || '; add it under clients';
    this.fault(path, `client "${text}" is neither a name under clients nor a client hash${hint}`, blame);
    return text;
  }

  private operation(id: string, path: SourcePath, blame?: 'key'): void {
    if (!this.ids.has(id)) this.fault(path, `operation "${id}" ${unknownOperation(id, this.ids)}`, blame);
  }

  /** The schema has already checked the time. */
  private timeOf<Text extends string | undefined>(
    text: Text,
  ): number | (Text extends string ? never : undefined);
  private timeOf(text: string | undefined): number | undefined {
    return text === undefined ? undefined : (instantIn(this.source.zone, text) ?? 0);
  }

  private sunsetOf(sunset: EndSource['sunset']): number | undefined {
    return this.timeOf(typeof sunset === 'object' ? sunset.at : sunset);
  }

  private fault(path: SourcePath, message: string, blame?: 'key'): void {
    this.faults.push({ path, blame, message });
  }
}

function targetsOf(links: NonNullable<RuleBookSource['links']>): Signals['links'] {
  const relations: readonly LinkRelation[] = ['deprecation', 'sunset', 'successor-version'];
  return relations.flatMap((relation) => {
    const target = links[relation];
    return target === undefined ? [] : [[relation, target] as const];
  });
}

function modeOf(source: ModeSource): Mode {
  if (typeof source === 'string') return { mode: source };
  return 'canary' in source
    ? { mode: 'canary', share: source.canary }
    : { mode: 'verify', share: source.verify };
}

function shieldOf({ requests, per, wait, queue }: NonNullable<RuleBookSource['shield']>): Shield {
  return {
    requests,
    per: readDuration(per ?? '') ?? 60_000,
    wait: readDuration(wait ?? '') ?? 5000,
    queue: queue ?? 100,
  };
}
