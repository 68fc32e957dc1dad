import { DEFAULT_ROLLBACK } from '../rules/declared-rollout.ts';
import type { Mode, Modes, Scope } from '../rules/rollout.ts';
import type { RuleBook } from '../rules/rule-book.ts';

/** The mode of one request. */
export interface RoutedMode {
  readonly mode: Mode;
  /** Origin that receives the request; for a shadow, the one whose response the client gets. */
  readonly origin: 'v1' | 'v2';
  /** Canary that counts the request; `operation` is undefined for the default's. */
  readonly canary: { readonly operation: string | undefined; readonly share: number } | undefined;
  /** Modes that it was chosen from. */
  readonly modes: Modes;
}

const MIGRATE: Mode = { mode: 'migrate' };

/** Returns the modes in force: those set at run time, `state`, take precedence over the rule book. */
export function modesInForce(
  book: Modes | undefined,
  state: Partial<Omit<Modes, 'rollback'>> | undefined,
): Modes {
  return {
    default: state?.default ?? book?.default ?? MIGRATE,
    operations: { ...book?.operations, ...state?.operations },
    clients: { ...book?.clients, ...state?.clients },
    rollback: book?.rollback ?? DEFAULT_ROLLBACK,
  };
}

/** Returns why these modes cannot be in force without a V1 service, as a sentence; undefined if they can. `setting` names it. */
export function missingV1Fault(modes: Modes, setting: string): string | undefined {
  return needsV1(modes)
    ? `There are modes that send requests to V1; set ${setting}, or remove those modes.`
    : undefined;
}

/** True when some V1 requests are not simply migrated, so that a V1 origin is required. */
export function needsV1(modes: Modes): boolean {
  return [modes.default, ...Object.values(modes.operations), ...Object.values(modes.clients)].some(
    ({ mode }) => mode !== 'migrate',
  );
}

/** Client and operation of a V1 request. */
export interface RolloutSubject {
  /** Client hash; undefined without an API key. */
  readonly client: string | undefined;
  /** Operation id; undefined for a request that the rule book does not name. */
  readonly operation: string | undefined;
}

/** Chooses the mode of a request: the client's own, the operation's, the default. */
export function chooseMode(modes: Modes, { client, operation }: RolloutSubject): RoutedMode {
  const ofOperation = operation === undefined ? undefined : ownMode(modes.operations, operation);
  const stage = ofOperation ?? modes.default;
  const mode = (client === undefined ? undefined : ownMode(modes.clients, client)) ?? stage;
  const canary =
    stage.mode === 'canary'
      ? { operation: ofOperation === undefined ? undefined : operation, share: stage.share ?? 0 }
      : undefined;
  return { mode, origin: originOf(mode, client), canary, modes };
}

function originOf({ mode, share = 0 }: Mode, client: string | undefined): RoutedMode['origin'] {
  if (mode === 'migrate' || mode === 'verify') return 'v2';
  if (mode !== 'canary') return 'v1';
  return share >= 100 || shareOf(client) < share ? 'v2' : 'v1';
}

/**
 * Position of a client on the scale of shares: from 0 up to 100, from its hash alone. It is the same after a restart and on every
 * replica with the same secret, and a client in a share is in every larger one. Without a key: 100.
 */
export function shareOf(client: string | undefined): number {
  if (client === undefined) return 100;
  return (Number.parseInt(client.slice(0, 8), 16) / 2 ** 32) * 100;
}

/** True for the same mode with the same share. */
export function isSameMode(one: Mode | undefined, other: Mode | undefined): boolean {
  return one?.mode === other?.mode && one?.share === other?.share;
}

/** Returns the mode of a name, which comes from a request or a file: `constructor` must not match an inherited member. */
export function ownMode(modes: Readonly<Record<string, Mode>>, name: string): Mode | undefined {
  return Object.hasOwn(modes, name) ? modes[name] : undefined;
}

/** True when the scope includes the request. A list of clients never includes a request without a key. */
export function isInScope(
  { clients, except, operations }: Scope,
  { client, operation }: RolloutSubject,
): boolean {
  if (clients !== undefined && (client === undefined || !clients.includes(client))) return false;
  if (except !== undefined && client !== undefined && except.includes(client)) return false;
  return operations === undefined || (operation !== undefined && operations.includes(operation));
}

/** Returns the dated release that the rule book pins for the request, instead of its own; undefined without one. */
export function pinnedRelease(
  { rollout }: Pick<RuleBook, 'rollout'>,
  subject: RolloutSubject,
): string | undefined {
  return rollout?.pins.find((pin) => isInScope(pin, subject))?.version;
}
