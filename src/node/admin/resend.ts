import type { RequestToResend } from '../../inspector/inspector-parts.ts';

/** Milliseconds for each step of a request. */
const STEP_TIMEOUT_MS = 30_000;

/** Sends a request to the gateway's own listener, as a client does; returns the status, or undefined without a complete response. */
export async function resendThrough(
  origin: string,
  { method, target, headers, body }: RequestToResend,
): Promise<number | undefined> {
  // A big library for a rare button: the start does not wait for it.
  const { Agent, request } = await import('undici/index.js');
  const agent = new Agent({
    connect: { timeout: STEP_TIMEOUT_MS },
    headersTimeout: STEP_TIMEOUT_MS,
    bodyTimeout: STEP_TIMEOUT_MS,
  });
  try {
    const response = await request(`${origin}${target}`, {
      dispatcher: agent,
      method,
      headers: headers.flat(),
      body: body ?? null,
    });
    // Read to its end: dump() also resolves when the response breaks off.
    for await (const _ of response.body);
    return response.statusCode;
  } catch {
    return undefined;
  } finally {
    await agent.destroy();
  }
}
