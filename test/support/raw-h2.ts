import { connect } from 'node:tls';
import { onTestFinished } from 'vitest';
import { openH2, type RawH2, WINDOW_UPDATE } from './h2-wire.ts';

export * from './h2-wire.ts';

/** Connects for as long as the test lasts, with settings such as `[4, 0]`. */
export async function rawH2(
  port: number,
  ca: string,
  settings: readonly (readonly [number, number])[] = [],
): Promise<RawH2> {
  const socket = connect({ port, host: 'localhost', ca, ALPNProtocols: ['h2'] });
  onTestFinished(() => void socket.destroy());
  return openH2(socket, settings);
}

/** Bytes of a body that a gateway has allowed so far: at first those of RFC 9113 §6.9.2. */
export function grantedBytes({ frames }: RawH2, stream: number): number {
  const updates = frames.filter((frame) => frame.type === WINDOW_UPDATE && frame.stream === stream);
  return updates.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 65_535);
}
