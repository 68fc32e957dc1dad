import type { ServerHttp2Session } from 'node:http2';

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
function isReset(session: ServerHttp2Session): boolean {
  if (session.destroyed) return false;
  const tls: unknown = Reflect.get(session.socket, '_handle');
  const handle: unknown = isObject(tls) ? Reflect.get(tls, '_parent') : undefined;
  return hasPeerName(handle) && handle.getpeername({}) !== 0;
}

function hasPeerName(value: unknown): value is { getpeername(into: object): number } {
  return isObject(value) && typeof Reflect.get(value, 'getpeername') === 'function';
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function check(resets: H2Resets): void {
  resets.check();
}
