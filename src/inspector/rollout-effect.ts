import type { ClientReport, Report } from './api.ts';
import { counted } from '../report/number-text.ts';
import { chooseMode } from '../rollout/modes.ts';
import type { ModeView, RolloutRequest, RolloutView } from '../rollout/rollout-view.ts';
import type { Modes } from '../rules/rollout.ts';

/** What a command would do, for the operator to confirm. */
export interface RolloutEffect {
  /** The command in words, such as `Migrate 25 % of the clients`. */
  readonly title: string;
  readonly sentences: readonly string[];
}

/** Clients seen in this run of the gateway, with their V1 requests. */
export type SeenClients = Pick<Report, 'omittedClients'> & {
  readonly clients: readonly Pick<ClientReport, 'client' | 'name' | 'v1'>[];
};

/** Works out which of the clients seen in this run a command would move, by the choice that live requests go through. */
export function rolloutEffect(
  request: RolloutRequest,
  rollout: RolloutView,
  { clients, omittedClients }: SeenClients,
): RolloutEffect {
  const { mode } = request;
  const title = `${commandWords(request)} ${aimWords(request)}`;
  if (mode === undefined)
    return {
      title,
      sentences: ['The mode of the rule book applies again. Which clients that moves is not computed here.'],
    };
  return {
    title,
    sentences: [
      ...keptWords(request, rollout),
      ...moveWords(request, rollout, clients),
      ...(omittedClients > 0
        ? [`${counted(omittedClients, 'request')} of further clients were not counted by client.`]
        : []),
      ...(mode === 'canary' ? canaryWords(request, rollout) : []),
    ],
  };
}

const COMMANDS: Readonly<Record<ModeView['mode'], string>> = {
  migrate: 'Migrate',
  observe: 'Observe',
  shadow: 'Shadow',
  canary: 'Migrate',
};

function commandWords({ mode, share }: RolloutRequest): string {
  if (mode === undefined) return 'Return to the rule book for';
  return share === undefined ? COMMANDS[mode] : `${COMMANDS[mode]} ${share} % of the clients for`;
}

function aimWords({ operation, client }: RolloutRequest): string {
  return operation ?? (client === undefined ? 'everything else' : `the client ${client}`);
}

/** Operations and clients with modes of their own, which the command leaves as they are. */
function keptWords({ operation, client }: RolloutRequest, rollout: RolloutView): string[] {
  if (client !== undefined) return [];
  const clients = Object.entries(rollout.clients).map(([hash, { name }]) => name ?? hash);
  const operations = operation === undefined ? Object.keys(rollout.operations) : [];
  const kept = [...operations, ...clients];
  return kept.length === 0 ? [] : [`These keep a mode of their own: ${listed(kept)}.`];
}

function moveWords(
  request: RolloutRequest,
  rollout: RolloutView,
  seen: SeenClients['clients'],
): readonly string[] {
  const concerned = request.client === undefined ? seen : seen.filter((one) => isClient(one, request.client));
  if (concerned.length === 0)
    return [
      request.client === undefined
        ? 'No V1 client was seen in this run, so none can be named.'
        : 'This client sent no V1 request in this run.',
    ];
  const before = modesOf(rollout);
  const after = modesAfter(request, before, concerned[0]?.client);
  const { operation } = request;
  const origins = concerned.map((client) => {
    const subject = { client: client.client === '-' ? undefined : client.client, operation };
    const [from, to] = [before, after].map((modes) => chooseMode(modes, subject).origin);
    return { client, from, to };
  });
  const moved = (to: 'v1' | 'v2'): readonly SeenClients['clients'][number][] =>
    origins.filter((one) => one.to === to && one.from !== to).map(({ client }) => client);
  const stays = (at: 'v1' | 'v2'): number =>
    origins.filter(({ from, to }) => from === at && to === at).length;
  const all = sumV1(seen);
  return [
    ...(['v2', 'v1'] as const).flatMap((to) => {
      const clients = moved(to);
      if (clients.length === 0) return [];
      const names = clients.map(
        ({ client, name }) => name ?? (client === '-' ? 'requests without a key' : client),
      );
      const share = `${((sumV1(clients) / Math.max(1, all)) * 100).toFixed(0)} %`;
      return [
        `From V${to === 'v2' ? '1 to V2' : '2 to V1'}: ${listed(names)} (${clients.length} of ${counted(seen.length, 'client')} seen in this run, with ${share} of its V1 requests).`,
      ];
    }),
    `No change for ${counted(stays('v1'), 'client')} on V1 and ${stays('v2')} on V2.`,
  ];
}

function isClient({ client, name }: SeenClients['clients'][number], wanted: string | undefined): boolean {
  return client === wanted || name === wanted;
}

function modesOf({ default: other, operations, clients, rollback }: RolloutView): Modes {
  return { default: other, operations, clients, rollback };
}

function modesAfter({ mode, share, operation, client }: RolloutRequest, modes: Modes, hash = ''): Modes {
  if (mode === undefined) return modes;
  const chosen = { mode, ...(share === undefined ? {} : { share }) };
  if (operation !== undefined) return { ...modes, operations: { ...modes.operations, [operation]: chosen } };
  if (client !== undefined) return { ...modes, clients: { ...modes.clients, [hash]: chosen } };
  return { ...modes, default: chosen };
}

function canaryWords({ share = 0, client }: RolloutRequest, { rollback, isSticky }: RolloutView): string[] {
  const { requests, margin, window } = rollback;
  return [
    ...(client === undefined
      ? [`Of clients that were not seen yet, ${share} % of all possible hashes are in the share.`]
      : []),
    `The gateway goes back to observe by itself when migrated requests fail ${margin} points more often than V1's, of at least ${requests} in ${window / 1000} s.`,
    ...(isSticky
      ? []
      : [
          'Client hashes change at each start, and with them the clients in the share: set GATEWAY_CLIENT_SECRET.',
        ]),
  ];
}

function sumV1(clients: SeenClients['clients']): number {
  return clients.reduce((sum, { v1 }) => sum + v1, 0);
}

/** Names that one sentence lists. */
const MAX_NAMES = 20;

function listed(names: readonly string[]): string {
  const rest = names.length - MAX_NAMES;
  return `${names.slice(0, MAX_NAMES).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
