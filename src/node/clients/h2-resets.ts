import type { ServerHttp2Session } from 'node:http2';
import { callHandle, handleBelowTls } from './system-handle.ts';

/** Milliseconds between two checks. */
const CHECK_MS = 1000;

/**
 * Closes HTTP/2 connections that their clients have reset without Node noticing: it does not read a connection while a write to it
 * is under way, and now and then a write below TLS that fails is not reported. All exchanges of such a connection would stay in
 * flight until a time limit ends each of them.
 */
export class H2Resets {
  private readonly sessions = new Set<ServerHttp2Session>();
  private timer: NodeJS.Timeout | undefined = undefined;

  /** A connection is open. */
  begin(session: ServerHttp2Session): void {
    this.sessions.add(session);
    this.timer ??= setInterval(check, CHECK_MS, this).unref();
  }

  /** The connection is closed. */
  end(session: ServerHttp2Session): void {
    this.sessions.delete(session);
    if (this.sessions.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Asks the system whether each connection still has a peer. */
  check(): void {
    for (const session of this.sessions) if (isReset(session)) session.destroy();
  }
}

/** True when the system has forgotten the peer: the connection was reset. */
function isReset({ destroyed, socket }: ServerHttp2Session): boolean {
  if (destroyed) return false;
  const code = callHandle(handleBelowTls(socket), 'getpeername', {});
  return typeof code === 'number' && code !== 0;
}

function check(resets: H2Resets): void {
  resets.check();
}
