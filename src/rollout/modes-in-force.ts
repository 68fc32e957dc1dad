import { DEFAULT_ROLLBACK } from '../rules/declared-rollout.ts';
import type { Mode, Modes, Scope } from '../rules/rollout.ts';
import type { RuleBook } from '../rules/rule-book.ts';

/** The request whose outcome is counted. */
export interface CountedRequest extends RolloutSubject {
  /** The first place named by V2's response, or by the gateway's failure; undefined without one. */
  readonly pointer: string | undefined;
  /** The code of the gateway's own failure, if any. */
  readonly failure?: string | undefined;
  /** Milliseconds to the head of the response, if any. */
  readonly ms?: number | undefined;
}

/** The modes of V1 traffic, as exchanges use them. */
export interface ModesInForce {
  /** V1 requests by the origin that they were sent to. */
  readonly requests: { v1: number; v2: number };
  /** True when no mode was ever set at run time. */
  readonly isInitial: boolean;
  modes(book: RuleBook): Modes;
  /** Counts a request to an origin, by the mode that was chosen for it; `status` is that of its response, or 0. */
  countAnswer(routed: RoutedMode, status: number, request: CountedRequest): void;
}

/** The modes of a rule book, without modes set at run time or rollbacks. */
export class BookModes implements ModesInForce {
  readonly requests = { v1: 0, v2: 0 };
  readonly isInitial = true;
  private readonly byBook = new WeakMap<RuleBook, Modes>();

  modes(book: RuleBook): Modes {
    const modes = this.byBook.get(book) ?? modesInForce(book.rollout?.modes, undefined);
    this.byBook.set(book, modes);
    return modes;
  }

  countAnswer(): void {}
}

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
    ? `Some modes send requests to V1; set ${setting}, or remove those modes.`
    : undefined;
}

/** True when some V1 requests are not simply migrated, and need a V1 origin. */
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

/** Whether requests of an operation go to this service now, of at least one V1 client. */
export function isAsked(modes: Modes, service: 'v1' | 'v2', operation: string | undefined): boolean {
  const { mode: stage } = chooseMode(modes, { client: undefined, operation });
  return [stage, ...Object.values(modes.clients)].some(({ mode, share = 0 }) => {
    if (mode === 'canary') return service === 'v2' ? share > 0 : share < 100;
    return mode === 'verify' || (mode === 'migrate') === (service === 'v2');
  });
}

/** Whether a mode sends requests of some clients to V2: the way back from a failing V2 is a mode that sends none. */
export function sendsToV2({ mode }: Pick<Mode, 'mode'>): boolean {
  return mode !== 'observe' && mode !== 'shadow';
}

/** Returns the modes after a choice for an operation, a client, or everything else. */
export function withChosen(
  modes: Modes,
  mode: Mode,
  { operation, client }: { readonly operation?: string | undefined; readonly client?: string | undefined },
): Modes {
  if (operation !== undefined) return { ...modes, operations: { ...modes.operations, [operation]: mode } };
  if (client !== undefined) return { ...modes, clients: { ...modes.clients, [client]: mode } };
  return { ...modes, default: mode };
}

/** The mode of an operation, of a client, or of everything else, before and after a change; undefined for a client without one. */
export interface ModeChange extends Partial<RolloutSubject> {
  readonly from: Mode | undefined;
  readonly to: Mode | undefined;
}

/** The modes that differ between two sets, as requests meet them. */
export function modeChanges(before: Modes, after: Modes): readonly ModeChange[] {
  const namesIn = (of: 'operations' | 'clients'): readonly string[] =>
    Object.keys({ ...before[of], ...after[of] });
  const changes: readonly ModeChange[] = [
    { from: before.default, to: after.default },
    ...namesIn('operations').map((operation) => ({
      operation,
      from: ownMode(before.operations, operation) ?? before.default,
      to: ownMode(after.operations, operation) ?? after.default,
    })),
    ...namesIn('clients').map((client) => ({
      client,
      from: ownMode(before.clients, client),
      to: ownMode(after.clients, client),
    })),
  ];
  return changes.filter(({ from, to }) => from?.mode !== to?.mode || from?.share !== to?.share);
}

/** Whether a change of modes sends the requests of a client and operation from V1 to V2. */
export function movesToV2(before: Modes, after: Modes, subject: RolloutSubject): boolean {
  return chooseMode(before, subject).origin === 'v1' && chooseMode(after, subject).origin === 'v2';
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
