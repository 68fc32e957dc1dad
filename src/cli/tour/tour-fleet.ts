import { DEPRECATED_ATTRIBUTE } from '../demo/demo-requests.ts';

/** A client of the tour: an integration that was written for V1. */
export interface FleetClient {
  readonly name: string;
  readonly key: string;
  /** Path of its resource, below `/api/v1`. */
  readonly path: string;
  /** Body of a write; `{n}` is a number that no other has. */
  readonly body: string;
}

const ADDRESS = '"street_address": "1 Main St", "suburb": "Enmore", "state": "NSW", "postcode": "2042"';
const FLOOR_PLAN = `{"data": {"external_id": "FP-{n}", "property": {"display_name": "Loft {n}", ${ADDRESS}, "latitude": -33.90}}}`;
const POST_PRODUCTION = `{"data": {"external_id": "PP-{n}", "transition_type": "slide", "property": {"display_name": "House {n}", ${ADDRESS}}}}`;
const OLD_CLIENT = `{"data": {"name": "Vendor {n}", "${DEPRECATED_ATTRIBUTE}": "V-{n}"}}`;

/** The clients of the tour. Each writes its resource and reads the list of it; two of them send an attribute that V2 does not have. */
export const FLEET: readonly FleetClient[] = [
  client('Acacia Estates', '/orders/floor_plans', FLOOR_PLAN),
  client('Blue Gum Living', '/orders/floor_plans', FLOOR_PLAN),
  client('Coastline Agents', '/orders/post_productions', POST_PRODUCTION),
  client('Dockside Lettings', '/orders/post_productions', POST_PRODUCTION),
  client('Eastgate Property', '/clients', OLD_CLIENT),
  client('Fernhill Realty', '/clients', OLD_CLIENT),
  client('Grand Parade', '/clients', '{"data": {"name": "Vendor {n}"}}'),
  client('Harbour Realty', '/contacts', '{"data": {"first_name": "Zo\\u00eb", "last_name": "Park {n}"}}'),
  client('Ironbark Homes', '/contacts', '{"data": {"first_name": "Ed", "last_name": "Moss {n}"}}'),
  client('Jetty Road', '/bookings', '{"data": {"external_id": "BK-{n}", "services": ["floor_plan"]}}'),
  client('Kings Wharf', '/virtual_tours', '{"data": {"name": "Tour {n}"}}'),
  client('Lighthouse Lane', '/virtual_tours', '{"name": "Tour {n}"}'),
];

function client(name: string, path: string, body: string): FleetClient {
  return { name, key: name.toLowerCase().replaceAll(' ', '-'), path, body };
}

/** What a client got. */
export interface FleetResponse {
  readonly client: FleetClient;
  readonly isWrite: boolean;
  readonly status: number;
  readonly headers: Headers;
}

/** Sends requests as the clients of the fleet do. */
export class Fleet {
  /** Requests that were sent so far. */
  sent = 0;
  private readonly origin: string;

  constructor(origin: string) {
    this.origin = origin;
  }

  /** Every client writes, then reads, `rounds` times; the clients run side by side. */
  async send(rounds: number): Promise<readonly FleetResponse[]> {
    const all = FLEET.map(async (client) => {
      const responses: FleetResponse[] = [];
      for (let round = 0; round < rounds; round += 1)
        for (const isWrite of [true, false]) responses.push(await this.sendOne(client, isWrite));
      return responses;
    });
    return (await Promise.all(all)).flat();
  }

  /** Every client reads once, one after the other; `after` is awaited between them. */
  async readInTurn(
    after: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<readonly FleetResponse[]> {
    const responses: FleetResponse[] = [];
    for (const client of FLEET) {
      responses.push(await this.sendOne(client, false));
      await after();
    }
    return responses;
  }

  private async sendOne(client: FleetClient, isWrite: boolean): Promise<FleetResponse> {
    this.sent += 1;
    const response = await fetch(`${this.origin}/api/v1${client.path}`, {
      method: isWrite ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${client.key}`,
        'user-agent': `${client.key}/1.0`,
        ...(isWrite ? { 'content-type': 'application/json' } : {}),
      },
      ...(isWrite ? { body: client.body.replaceAll('{n}', String(this.sent)) } : {}),
    });
    await response.arrayBuffer();
    return { client, isWrite, status: response.status, headers: response.headers };
  }
}
