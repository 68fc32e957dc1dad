import { type Choice, choiceOf } from './choices.ts';
import { compareBodies } from './compare-bodies.ts';
import { compareFields } from './compare-fields.ts';
import type { Difference } from './difference.ts';
import { KeptValues } from './kept-values.ts';
import { collectionOf, PairedIds } from './paired-ids.ts';
import { isWrite, type Script, type ScriptedExchange } from './script.ts';
import type { NoResponse, Side, TwinRequest, TwinResponse } from './sender.ts';
import { requestOf } from './twin-request.ts';
import { withoutOwnMembers } from './own-members.ts';

/** The result of one exchange: alike unless there are differences; `skipped` says why it was not played. */
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

/** Where and how a script is played. */
export interface Stage {
  readonly v1: Side;
  readonly gateway: Side;
  /** The API key, `${key}` in a script. */
  readonly key: string;
  /** Fields beside those that are always left out, in lower case. */
  readonly ignored?: ReadonlySet<string>;
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
    const requests = [await requestOf(exchange, kept.v1), await requestOf(exchange, kept.gateway)] as const;
    const [v1, gateway] = await Promise.all([stage.v1.send(requests[0]), stage.gateway.send(requests[1])]);
    const statuses = [statusOf(v1), statusOf(gateway)] as const;
    if ('fault' in v1 || 'fault' in gateway) {
      return { name, script: this.script, differences: faultsOf(v1, gateway), statuses };
    }
    const differences = this.compare(exchange, requests[0], v1, gateway);
    kept.v1.keep(exchange.keeps, v1.body);
    kept.gateway.keep(exchange.keeps, gateway.body);
    const played = { name, script: this.script, differences, statuses, response: gateway };
    const choice = exchange.choice ?? choiceOf(v1, gateway);
    return differences.length === 0 || choice === undefined ? played : { ...played, choice };
  }

  private reasonToSkip(exchange: ScriptedExchange): string | undefined {
    if (this.stage.isReadOnly !== true) return undefined;
    if (isWrite(exchange)) return 'it may change data';
    const missing = this.kept.v1.missing(exchange) ?? this.kept.gateway.missing(exchange);
    return missing === undefined ? undefined : 'no earlier response had a value that it needs';
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
    // The body first: ids in fields are those of the body.
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
