import { type Character, keyOn, MISSPELT, MISTAKES, PATHS, type Write } from './character.ts';
import type { FleetRequest } from './memory-exchange.ts';

/** A request of a character, with the facts that are true of it independently of the gateway. */
export interface PlannedRequest {
  readonly request: FleetRequest;
  readonly version: 'v1' | 'v2';
  readonly method: 'GET' | 'POST';
  /** Path below the version. */
  readonly path: string;
  readonly operation: Write | undefined;
  /** Changes that the request needs, without those of stripped attributes. */
  readonly changes: readonly string[];
  /** Attributes that V2 does not have. */
  readonly foreign: readonly string[];
  /** Failure code with which the gateway refuses it, or would. */
  readonly refusal: string | undefined;
}

const ADDRESS = { street_address: '1 Main St', suburb: 'Richmond', postcode: '3121' };

/** Plans the `turn`th request of a character on a day. */
export function plan(character: Character, day: number, turn: number): PlannedRequest {
  const { writes, reads } = character;
  const version = day < character.movesOn ? 'v1' : 'v2';
  const write = writes[turn % Math.max(1, writes.length)];
  const isRead = write === undefined || (reads && turn % 3 === 2);
  const path = PATHS[write ?? (character.transition ? 'order_post_production' : 'create_client')];
  const authorization = ['Host', 'gateway', 'Authorization', `Bearer ${keyOn(character, day)}`];
  const target = `/api/${version}${path}`;
  if (isRead) {
    return {
      request: { method: 'GET', target, headers: authorization, body: null },
      version,
      method: 'GET',
      path,
      operation: undefined,
      changes: [],
      foreign: [],
      refusal: undefined,
    };
  }
  const isMistaken = character.mistake !== undefined && (character.alwaysMistaken || turn % 3 === 0);
  const mistake = isMistaken ? character.mistake : undefined;
  const text = bodyText(character, write, version, mistake);
  const isOrder = write === 'order_floor_plan' || write === 'order_post_production';
  const refusal = version === 'v1' && mistake !== undefined ? MISTAKES[mistake] : undefined;
  const isV1 = version === 'v1' && refusal === undefined;
  return {
    request: {
      method: 'POST',
      target,
      headers: [
        ...authorization,
        'Content-Type',
        'application/json',
        ...(character.invalidVersion ? ['x-api-version', 'latest'] : []),
      ],
      body: new TextEncoder().encode(text),
    },
    version,
    method: 'POST',
    path,
    operation: write,
    changes: isV1
      ? [
          ...(character.wrapped ? ['body-wrapper'] : []),
          ...(character.address && isOrder ? ['property-address'] : []),
          ...(character.transition && write === 'order_post_production' ? ['highlight-type'] : []),
        ]
      : [],
    foreign: isV1 ? foreignOf(character) : [],
    refusal,
  };
}

function foreignOf({ deprecated, misspelt }: Character): string[] {
  return [...deprecated, ...(misspelt ? [MISSPELT] : [])];
}

function bodyText(
  character: Character,
  write: Write,
  version: 'v1' | 'v2',
  mistake: Character['mistake'],
): string {
  switch (mistake) {
    case 'malformed':
      return '{"data":{"name":';
    case 'wrapper':
      return '{"data":"a client"}';
    case 'duplicate':
      return '{"data":{"notes":"one"},"data":{"notes":"two"}}';
    case 'type':
    case undefined:
      break;
  }
  const attributes = attributesOf(character, write, version, mistake === 'type');
  return JSON.stringify(version === 'v1' && character.wrapped ? { data: attributes } : attributes);
}

function attributesOf(
  character: Character,
  write: Write,
  version: 'v1' | 'v2',
  isWrongType: boolean,
): Record<string, unknown> {
  const isV1 = version === 'v1';
  const hasAddress = character.address && (write === 'order_floor_plan' || write === 'order_post_production');
  const hasName = write === 'create_client' || write === 'create_contact';
  const address = hasAddress ? (isV1 ? ADDRESS : { address: ADDRESS }) : {};
  const highlight = isV1 ? 'transition_type' : 'highlight_type';
  return {
    ...(hasName ? { name: character.id } : { property: { display_name: character.id, ...address } }),
    notes: isWrongType ? 7 : 'as agreed',
    ...(write === 'order_post_production' && character.transition ? { [highlight]: 'sunset' } : {}),
    ...(isV1 ? Object.fromEntries(foreignOf(character).map((name) => [name, 'x'])) : {}),
  };
}
