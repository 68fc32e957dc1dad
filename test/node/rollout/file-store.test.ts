import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { FileStore } from '../../../src/node/rollout/file-store.ts';
import { stateContract } from '../../rollout/state-contract.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

stateContract(async () => {
  const folder = temporaryFolder('store');
  const stores: FileStore[] = [];
  return {
    open: async () => {
      const store = new FileStore(join(folder, 'rollout.json'));
      stores.push(store);
      return store;
    },
    pass: (milliseconds) => wait(milliseconds),
    close: async () => {
      await Promise.all(stores.map((store) => store.close()));
      rmSync(folder, { recursive: true });
    },
  };
});
