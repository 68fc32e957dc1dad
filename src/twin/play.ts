import { JsonWalker } from '../json/document.ts';
import { pointerOf } from '../json/pointer.ts';
import {
  collectionOf,
  compareBodies,
  compareFields,
  type Difference,
  PairedIds,
  unquoted,
  withoutOwnMembers,
} from './compare.ts';
import { type Choice, choiceOf, isWrite, namesIn, type Script, type ScriptedExchange } from './script.ts';
import type { NoResponse, Side, TwinRequest, TwinResponse } from './script.ts';

/** The result of one exchange: the same unless there are differences; `skipped` says why it was not played. */
export interface PlayedExchange {
  readonly name: string;
  readonly script: string;
  readonly differences: readonly Difference[];
  /** The choice that explains the differences, if there are any. */
  readonly choice?: Choice;
  readonly skipped?: string;
  /** The statuses; 0 without a response. */
  readonly statuses: readonly [v1: number, gateway: number];
  /** V1's response as the gateway gave it. */
  readonly response?: TwinResponse;
}

/** The place of the key in a request. */
type KeyField = { readonly header: string } | { readonly query: string };

/** The settings for playing a script. */
export interface Stage {
  readonly v1: Side;
  readonly gateway: Side;
  /** The API key, `${key}` in a script. */
  readonly key: string;
  /** The place of the key, unless the script sets it; `Authorization: Bearer` by default. */
  readonly keyField?: KeyField;
  /** Fields beside those that are always left out, in lower case. */
  readonly ignored?: ReadonlySet<string>;
  /** Counts another order of members as a difference by choice: independent services rarely have the same order. */
  readonly takesAnyOrder?: boolean;
  /** Leaves out every exchange that may change data. */
  readonly isReadOnly?: boolean;
  /** Called before each exchange; the exchange is sent when it resolves. */
  readonly before?: (exchange: ScriptedExchange) => Promise<void> | void;
}

/** Plays a script to both services, one exchange after the other, and compares each pair of responses. */
export async function* playScript(script: Script, stage: Stage): AsyncGenerator<PlayedExchange> {
  const play = new Play(script.title, stage);
  for (const exchange of script.exchanges) yield await play.exchange(exchange);
}

class Play {
  private readonly script: string;
  private readonly stage: Stage;
  private readonly ids = new PairedIds();
  private readonly kept: { readonly v1: KeptValues; readonly gateway: KeptValues };

  constructor(script: string, stage: Stage) {
    this.script = script;
    this.stage = stage;
    this.kept = { v1: new KeptValues(stage.key), gateway: new KeptValues(stage.key) };
  }

  async exchange(exchange: ScriptedExchange): Promise<PlayedExchange> {
    const { stage, kept } = this;
    const { name } = exchange;
    const skipped = this.reasonToSkip(exchange);
    if (skipped !== undefined)
      return { name, script: this.script, differences: [], skipped, statuses: [0, 0] };
    await stage.before?.(exchange);
    const requests = [
      await requestOf(exchange, kept.v1, stage.keyField),
      await requestOf(exchange, kept.gateway, stage.keyField),
    ] as const;
    const [v1, gateway] = await Promise.all([stage.v1.send(requests[0]), stage.gateway.send(requests[1])]);
    const statuses = [statusOf(v1), statusOf(gateway)] as const;
    if ('fault' in v1 || 'fault' in gateway) {
      return { name, script: this.script, differences: faultsOf(v1, gateway), statuses };
    }
    const differences = this.compare(exchange, requests[0], v1, gateway);
    kept.v1.keep(exchange.keeps, v1.body);
    kept.gateway.keep(exchange.keeps, gateway.body);
    const played = { name, script: this.script, differences, statuses, response: gateway };
    const choice = exchange.choice ?? choiceOf(v1, gateway) ?? this.orderOf(differences);
    return differences.length === 0 || choice === undefined ? played : { ...played, choice };
  }

  private orderOf(differences: readonly Difference[]): Choice | undefined {
    const isOrder = differences.every(({ kind }) => kind === 'member-order');
    return isOrder && this.stage.takesAnyOrder === true ? 'member-order' : undefined;
  }

  private reasonToSkip(exchange: ScriptedExchange): string | undefined {
    if (this.stage.isReadOnly !== true) return undefined;
    if (isWrite(exchange)) return 'a write may change data';
    const missing = this.kept.v1.missing(exchange) ?? this.kept.gateway.missing(exchange);
    return missing === undefined ? undefined : 'no earlier response had a value that is needed';
  }

  private compare(
    exchange: ScriptedExchange,
    request: TwinRequest,
    v1: TwinResponse,
    gateway: TwinResponse,
  ): readonly Difference[] {
    const { ids, stage } = this;
    const text = `${request.target}\n${new TextDecoder().decode(request.body)}`;
    const status: readonly Difference[] =
      v1.status === gateway.status
        ? []
        : [{ where: 'status', kind: 'value', v1: String(v1.status), gateway: String(gateway.status) }];
    // Bodies come first, because they pair the ids that the fields contain.
    const bodies = compareBodies(v1.body, withoutOwnMembers(gateway), {
      ids,
      collection: collectionOf(exchange.target.replaceAll(/\$\{[^{}]+\}/g, '1')),
      isSent: (value) => value !== '' && text.includes(value),
    });
    const origins = { v1: stage.v1.origin, gateway: stage.gateway.origin };
    return [...status, ...compareFields(v1, gateway, ids, origins, stage.ignored ?? new Set()), ...bodies];
  }
}

function statusOf(response: TwinResponse | NoResponse): number {
  return 'fault' in response ? 0 : response.status;
}

function faultsOf(v1: TwinResponse | NoResponse, gateway: TwinResponse | NoResponse): readonly Difference[] {
  const textOf = (response: TwinResponse | NoResponse): string =>
    'fault' in response ? response.fault : String(response.status);
  return [{ where: 'response', kind: 'value', v1: textOf(v1), gateway: textOf(gateway) }];
}

/** The values that one service's responses gave, by the name under which the script uses them. */
class KeptValues {
  private readonly values = new Map<string, string>();

  constructor(key: string) {
    this.values.set('key', key);
  }

  /** Keeps the values at the pointers of a response body, as spelled. If the body lacks a pointer, the previous value stays. */
  keep(keeps: ScriptedExchange['keeps'], body: Uint8Array): void {
    if (keeps.length === 0) return;
    const found = new Map<string, string>();
    new JsonWalker().walk(body, {
      enter: ({ path, start, end }) => {
        found.set(pointerOf(path), new TextDecoder().decode(body.subarray(start, end)));
        return undefined;
      },
    });
    for (const [name, pointer] of keeps) {
      const value = found.get(pointer);
      if (value !== undefined) this.values.set(name, value);
    }
  }

  /** Name of a value that the exchange needs and that no response has had yet. */
  missing({ target, headers, body = '' }: ScriptedExchange): string | undefined {
    return [target, body, ...headers.flat()]
      .flatMap((text) => namesIn(text))
      .find((name) => !this.values.has(name));
  }

  /** Fills in the values as JSON. The name of a value that no response has had yet stays. */
  inBody(text: string): string {
    return this.fill(text, (value) => value);
  }

  /** Fills in the values without quotes; in a target, percent-encoded. */
  inTarget(text: string): string {
    return this.fill(text, (value) => encodeURIComponent(unquoted(value)));
  }

  inField(text: string): string {
    return this.fill(text, unquoted);
  }

  private fill(text: string, print: (value: string) => string): string {
    return text.replaceAll(/\$\{([\w-]+)\}/g, (_, name: string) => print(this.values.get(name) ?? name));
  }
}

/**
 * The request of an exchange for one service: with the values that this service gave, the API key, and `Content-Type:
 * application/json` where there is a body, unless the script has or removes these fields.
 */
async function requestOf(
  exchange: ScriptedExchange,
  kept: KeptValues,
  keyField: KeyField | undefined,
): Promise<TwinRequest> {
  const { method, coding } = exchange;
  const given = exchange.headers.map(([name, value]) => [name, kept.inField(value)] as const);
  const names = new Set(given.map(([name]) => name.toLowerCase().replace(/^!/, '')));
  const key = kept.inField('${key}');
  const added: (readonly [string, string])[] = [];
  if (keyField === undefined) added.push(['Authorization', `Bearer ${key}`]);
  else if ('header' in keyField) added.push([keyField.header, key]);
  if (exchange.body !== undefined) added.push(['Content-Type', 'application/json']);
  if (coding !== undefined) added.push(['Content-Encoding', coding]);
  const headers = [
    ...added.filter(([name]) => !names.has(name.toLowerCase())),
    ...given.filter(([name]) => !name.startsWith('!')),
  ];
  const plain = exchange.body === undefined ? undefined : bytesOf(exchange, kept.inBody(exchange.body));
  const body = plain === undefined || coding === undefined ? plain : await encode(plain, coding);
  const target = kept.inTarget(exchange.target);
  return { method, target: keyField === undefined ? target : withKey(target, keyField, key), headers, body };
}

/** Adds the key to the query of a target, if keys belong there and the script has none. */
function withKey(target: string, field: KeyField, key: string): string {
  if (!('query' in field)) return target;
  const [, query = ''] = target.split('?');
  if (new URLSearchParams(query).has(field.query)) return target;
  const pair = `${encodeURIComponent(field.query)}=${encodeURIComponent(key)}`;
  return `${target}${target.includes('?') ? '&' : '?'}${pair}`;
}

function bytesOf({ bytes, pad }: ScriptedExchange, text: string): Uint8Array<ArrayBuffer> {
  const padded = text.padEnd(pad);
  switch (bytes) {
    case 'utf-8':
      return new TextEncoder().encode(padded);
    case 'bom':
      return new TextEncoder().encode(`\uFEFF${padded}`);
    case 'latin1':
      return Uint8Array.from(padded, (character) => character.charCodeAt(0));
    case 'utf-16':
      return new Uint8Array(Uint16Array.from(padded, (character) => character.charCodeAt(0)).buffer);
  }
}

async function encode(plain: Uint8Array<ArrayBuffer>, coding: 'gzip' | 'deflate'): Promise<Uint8Array> {
  const stream = new Blob([plain]).stream().pipeThrough(new CompressionStream(coding));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Counts and differences of everything that was played. */
export interface TwinReport {
  readonly played: number;
  readonly alike: number;
  /** Exchanges for which both services gave the same 404: only errors were compared, as for an unknown path. */
  readonly missing: number;
  /** Exchanges that differ without a choice that explains it. */
  readonly different: readonly PlayedExchange[];
  /** Exchanges that differ by choice. */
  readonly chosen: readonly (PlayedExchange & { readonly choice: Choice })[];
  /** Exchanges that were left out, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
}

/** Adds up played exchanges. */
export class TwinTally {
  private alike = 0;
  private missing = 0;
  private readonly different: PlayedExchange[] = [];
  private readonly chosen: (PlayedExchange & { readonly choice: Choice })[] = [];
  private readonly skipped: Record<string, number> = {};

  add(played: PlayedExchange): void {
    if (played.skipped !== undefined) this.skipped[played.skipped] = (this.skipped[played.skipped] ?? 0) + 1;
    else if (played.differences.length === 0 && played.statuses[0] === 404) this.missing += 1;
    else if (played.differences.length === 0) this.alike += 1;
    else if (played.choice !== undefined) this.chosen.push({ ...played, choice: played.choice });
    else this.different.push(played);
  }

  get report(): TwinReport {
    const { alike, missing, different, chosen, skipped } = this;
    const played = alike + missing + different.length + chosen.length;
    return { played, alike, missing, different, chosen, skipped };
  }
}
