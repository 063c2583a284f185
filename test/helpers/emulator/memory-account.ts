/** The emulator's account without its server: in memory, under a clock that stands still until it is moved. */
import { LocalAccount } from '../../../src/emulator/account/account.ts';
import { keyText } from '../../../src/emulator/account/container-definition.ts';
import type { JsonObject } from '../../../src/emulator/json/json-value.ts';
import { createContainer, createDatabase } from '../../../src/emulator/account/catalog.ts';
import type { ContainerModel, DatabaseModel } from '../../../src/emulator/account/model.ts';
import type { ProvisionedThroughput } from '../../../src/emulator/partitions/offers.ts';
import {
  execute,
  type OperationKind,
  type OperationOutcome,
} from '../../../src/emulator/documents/operations.ts';
import { Refusal } from '../../../src/emulator/http/refusal.ts';
import { WriteTransaction } from '../../../src/emulator/documents/write-transaction.ts';
import type { KeyComponent } from '../../../src/epk/effective-key.ts';
import { migrate, openDatabase, type Database } from '../../../src/lib/sqlite/sqlite.ts';
import { VirtualClock } from '../clock.ts';

export interface Write {
  readonly kind?: OperationKind;
  readonly id: string;
  readonly key?: KeyComponent;
  readonly more?: JsonObject;
}

export class MemoryAccount implements Disposable {
  readonly clock = new VirtualClock();
  readonly account: LocalAccount;
  readonly database: DatabaseModel;
  readonly sql: Database;
  #containers = 0;

  constructor(settings: JsonObject = {}) {
    this.sql = openDatabase({ path: ':memory:' });
    migrate(this.sql, 'emulator');
    this.account = new LocalAccount(this.sql, this.clock);
    this.account.configure({ ru: 'off', ...settings });
    this.database = createDatabase(this.account, { id: 'd' }, undefined);
  }

  /** A container with the key /pk and one range, unless it is said otherwise. */
  container(body: JsonObject = {}, throughput?: ProvisionedThroughput): ContainerModel {
    this.#containers += 1;
    const whole = {
      id: `c${this.#containers}`,
      partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
      ...body,
    };
    return createContainer(this.account, this.database, whole, throughput);
  }

  /** All writes in one transaction; the document's text is `{"id":..,"pk":..,...more}`. */
  write(container: ContainerModel, ...writes: Write[]): OperationOutcome[] {
    return WriteTransaction.run(this.account, container, (transaction) =>
      writes.map(({ kind = 'upsert', id, key = 'k', more = {} }) =>
        execute(transaction, {
          kind,
          id,
          key: [key],
          text: JSON.stringify({
            id,
            ...(key === undefined ? {} : { pk: JSON.parse(keyText([key]))[0] as unknown }),
            ...more,
          }),
        }),
      ),
    );
  }

  [Symbol.dispose](): void {
    this.sql.close();
  }
}

/** The status and substatus that refuse some work; undefined when nothing does. */
export function refusalOf(work: () => unknown): { status: number; substatus: number } | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status, substatus: error.substatus };
    throw error;
  }
}
