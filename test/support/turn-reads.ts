import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { onTestFinished } from 'vitest';

/** A connection that a server has accepted. */
interface Connection {
  readonly bytesRead: number;
}

/** The bytes that connections brought in single turns of the event loop. */
export interface TurnReads {
  /** Bytes of all connections in the turn that brought most; a connection counts from its request on, with all bytes before. */
  most(): number;
}

/** Watches Node's servers in this process by a channel of theirs; `connectionOf` finds the connection in its messages. */
export function watchTurns(channel: string, connectionOf: (message: unknown) => Connection): TurnReads {
  const connections: { readonly connection: Connection; before: number }[] = [];
  let most = 0;
  const begin = (message: unknown): void => {
    connections.push({ connection: connectionOf(message), before: 0 });
  };
  const endTurn = (): void => {
    let sum = 0;
    for (const one of connections) {
      const { bytesRead } = one.connection;
      sum += bytesRead - one.before;
      one.before = bytesRead;
    }
    most = Math.max(most, sum);
    turn = setImmediate(endTurn);
  };
  let turn = setImmediate(endTurn);
  subscribe(channel, begin);
  onTestFinished(() => {
    unsubscribe(channel, begin);
    clearImmediate(turn);
  });
  return { most: () => most };
}
