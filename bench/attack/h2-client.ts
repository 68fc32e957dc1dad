import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { PATIENCE_MS } from './attack.ts';

/** Connects with a library, as an ordinary client does. */
export async function openSession(port: number): Promise<ClientHttp2Session> {
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  await new Promise<void>((resolve, reject) => {
    session.once('connect', () => resolve()).once('error', reject);
  });
  session.on('error', () => {});
  return session;
}

/** The status of a response that arrived whole; 0 when the stream or the connection broke. */
export function statusOf(
  session: ClientHttp2Session,
  fields: Readonly<Record<string, string>>,
): Promise<number> {
  return new Promise((resolve) => {
    const stream = session.request(fields);
    let status = 0;
    const late = setTimeout(() => stream.close(), PATIENCE_MS);
    stream.on(
      'response',
      (head: IncomingHttpHeaders & { readonly ':status'?: number }) => (status = head[':status'] ?? 0),
    );
    stream.on('error', () => (status = 0));
    stream.on('close', () => {
      clearTimeout(late);
      resolve(status);
    });
    stream.resume().end();
  });
}
