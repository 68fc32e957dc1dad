import { gatewayFor, type TestGateway, type TestGatewayOptions } from './gateway.ts';
import { exchange, type RawResponseRead } from './raw-client.ts';
import { ok, type RawResponse, rawServer, type RawServer } from './raw-server.ts';

/** A V2 of bytes, and a gateway in front of it. */
export interface Served {
  readonly v2: RawServer;
  readonly gateway: TestGateway;
  /** Sends bytes to the gateway on a connection of their own. */
  readonly send: (bytes: string | Buffer) => Promise<RawResponseRead & { readonly body: string }>;
}

/** Starts both, with what V2 responds to each request. They end with the test. */
export async function served(
  response: string | Uint8Array | RawResponse = ok(),
  options: TestGatewayOptions = {},
): Promise<Served> {
  const v2 = await rawServer(
    typeof response === 'function' ? response : (socket) => void socket.write(response),
  );
  const gateway = await gatewayFor(v2.origin, options);
  const send: Served['send'] = async (bytes) => {
    const read = await exchange(gateway.port, bytes);
    return { ...read, body: read.text.slice(read.text.indexOf('\r\n\r\n') + 4) };
  };
  return { v2, gateway, send };
}
