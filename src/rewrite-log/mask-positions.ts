import { pointerSteps } from '../json/json-pointer.ts';
import type { EditRecord } from '../rewrite/rewrite.ts';

/** How far pointers with `*` agree with a path: which of them still do, after so many steps. */
export interface MaskPosition {
  readonly steps: number;
  readonly alive: readonly (readonly string[])[];
}

/** Where a value stands in the V1 body and in the V2 body, as far as masks care. */
export interface MaskedPlace {
  readonly v1: MaskPosition;
  readonly v2: MaskPosition;
  /** What records say of the members below. */
  readonly moves: MoveTree | undefined;
}

/** The moves of a rewrite by their V1 pointers, step by step. */
interface MoveTree {
  readonly below: Map<string, MoveTree>;
  /** Where what stands here went; the last record that says so counts. */
  to: MaskPosition | undefined;
}

/** Follows pointers down a body, level by level: each value costs a look at the pointers that agree so far, however deep it is. */
export class MaskPositions {
  readonly root: MaskedPlace;
  private readonly pointers: readonly (readonly string[])[];

  /** `records` tell where members of the V1 body went. */
  constructor(pointers: readonly (readonly string[])[], records: readonly EditRecord[]) {
    this.pointers = pointers;
    const start = { steps: 0, alive: pointers };
    const moves = this.movesOf(records);
    this.root = { v1: start, v2: moves.to ?? start, moves };
  }

  /** The place of the member or element `step` of a container. */
  below(place: MaskedPlace, step: string): MaskedPlace {
    const moves = place.moves?.below.get(step);
    return { v1: advanced(place.v1, step), v2: moves?.to ?? advanced(place.v2, step), moves };
  }

  /** Whether a pointer names this place, in the V1 body or in the V2 body. */
  isNamed({ v1, v2 }: MaskedPlace): boolean {
    return endsAt(v1) || endsAt(v2);
  }

  private movesOf(records: readonly EditRecord[]): MoveTree {
    const root: MoveTree = { below: new Map(), to: undefined };
    for (const { from, path, note } of records) {
      if (from === undefined || path === undefined || note === 'already-flat') continue;
      let tree = root;
      for (const step of pointerSteps(from)) {
        const below = tree.below.get(step) ?? { below: new Map<string, MoveTree>(), to: undefined };
        tree.below.set(step, below);
        tree = below;
      }
      tree.to = this.positionOf(path);
    }
    return root;
  }

  private positionOf(pointer: string): MaskPosition {
    let position: MaskPosition = { steps: 0, alive: this.pointers };
    for (const step of pointerSteps(pointer)) position = advanced(position, step);
    return position;
  }
}

function advanced({ steps, alive }: MaskPosition, step: string): MaskPosition {
  if (alive.length === 0) return NOWHERE;
  return {
    steps: steps + 1,
    alive: alive.filter((pointer) => pointer[steps] === step || pointer[steps] === '*'),
  };
}

const NOWHERE: MaskPosition = { steps: 0, alive: [] };

function endsAt({ steps, alive }: MaskPosition): boolean {
  return alive.some((pointer) => pointer.length === steps);
}
