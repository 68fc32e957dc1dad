import { setTimeout as delay } from 'node:timers/promises';
import {
  httpSide,
  type SenderOptions,
  type ServiceSettings,
  type TwinServices,
} from '../../node/twin/twin-services.ts';
import { playScript, type PlayedExchange, type Stage } from '../../twin/play.ts';
import type { Script } from '../../twin/script.ts';
import type { Sender, Side } from '../../twin/sender.ts';

/** Plays scripts one after the other. */
export interface TwinStage {
  play(script: Script): AsyncGenerator<PlayedExchange>;
  close(): void;
}

/** Key of the reference services, which take any. */
const ANY_KEY = 'twin';

/** A stage of V1's reference and of a gateway before V2's; every script starts with empty data. */
export function referenceStage(services: TwinServices, gateway: string, wire: SenderOptions = {}): TwinStage {
  const [v1, v2] = [httpSide(services.v1), httpSide(gateway, wire)];
  let before = '';
  const stage: Stage = { v1, gateway: v2, key: ANY_KEY, before: ({ store }) => services.setStore(store) };
  return {
    play: (script) => {
      const settings = JSON.stringify(script.settings);
      services.reset(settings === before ? undefined : serviceSettings(script));
      before = settings;
      return playScript(script, stage);
    },
    close: () => {
      v1.close();
      v2.close();
    },
  };
}

function serviceSettings({ settings }: Script): ServiceSettings {
  return {
    rate: Number(settings['rate'] ?? 0),
    deprecated: settings['deprecated']?.split(/,\s*/) ?? [],
    unknown: settings['unknown'] === 'strip' ? 'strip' : 'refuse',
  };
}

/** Two real services, and how to treat them. */
export interface RealServices {
  readonly v1: string;
  readonly gateway: string;
  readonly key: string;
  readonly isReadOnly: boolean;
  /** Maximum requests a minute to each. */
  readonly rate: number;
  /** Names of fields that are not compared, in lower case. */
  readonly ignored: ReadonlySet<string>;
}

/** A stage of two real services: no faster than their rate limit, and a 429 is waited out. */
export function realStage({ v1, gateway, key, isReadOnly, rate, ignored }: RealServices): TwinStage {
  const sides = [httpSide(v1), httpSide(gateway)] as const;
  const [one, other] = sides.map((side) => patient(side));
  const pauseMs = 60_000 / rate;
  if (one === undefined || other === undefined) throw new Error('a stage has two sides');
  const stage: Stage = { v1: one, gateway: other, key, isReadOnly, ignored, before: () => delay(pauseMs) };
  return { play: (script) => playScript(script, stage), close: () => sides.forEach((side) => side.close()) };
}

/** Times that a 429 is waited out before it is taken as the response. */
const MAX_WAITS = 5;
const MAX_WAIT_S = 120;

function patient({ origin, send }: Side): Side {
  const sendPatiently: Sender = async (request) => {
    for (let waits = 0; ; waits += 1) {
      const response = await send(request);
      if ('fault' in response || response.status !== 429 || waits === MAX_WAITS) return response;
      const [, seconds = '1'] = response.headers.find(([name]) => name.toLowerCase() === 'retry-after') ?? [];
      await delay(Math.min(Number(seconds) || 1, MAX_WAIT_S) * 1000);
    }
  };
  return { origin, send: sendPatiently };
}
