/**
 * Documents for the benchmark, 1 KB of about 20 properties each, in bulk bodies that are made once and then
 * overwritten in place: changing a few digits costs next to nothing, so the client is not what is measured.
 */
import { effectiveKey } from '../src/epk/effective-key.ts';

export const DOCUMENT_BYTES = 1024;
export const OPERATIONS = 100;

/** Distinct partition keys: about 100 documents each in a million. */
const DEVICES = 10_000;

const ID = '6f9619ff-8b86-4d01-b42d-00cf########';
const DEVICE = 'device-@@@@@@';

/** A document as its application wrote it, with marks where an id and a device are to be put in. */
export function documentTemplate(): string {
  const properties = {
    id: ID,
    deviceId: DEVICE,
    tenantId: 'tenant-0042',
    type: 'reading',
    createdAt: '2026-01-31T12:34:56.789Z',
    status: 'active',
    firmware: '4.18.2',
    temperature: 21.375,
    humidity: 0.4821,
    pressureHpa: 1013.25,
    batteryPercent: 87,
    online: true,
    errorCode: null,
    location: { latitude: 52.520008, longitude: 13.404954, accuracyM: 12.5, floor: 3 },
    tags: ['indoor', 'floor-3', 'calibrated', 'battery'],
    owner: { name: 'Zoë Müller', email: 'zoe.mueller@example.com', team: 'facilities' },
    network: { ssid: 'plant-7', rssiDbm: -61, ip: '10.20.30.40', retries: 2 },
    readings: [21.25, 21.31, 21.375, 21.4, 21.38, 21.36],
    checksum: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    schemaVersion: 7,
    notes: '',
  };
  const missing = DOCUMENT_BYTES - Buffer.byteLength(JSON.stringify(properties));
  return JSON.stringify({ ...properties, notes: 'lorem ipsum '.repeat(100).slice(0, missing) });
}

/** The body of one bulk request: creates, all for one physical range. */
export class BulkBody {
  readonly bytes: Buffer;
  readonly #idAt: number[];
  /** Two for each operation: in the document, and in the operation's partition key. */
  readonly #deviceAt: number[];

  constructor() {
    const operation = `{"operationType":"Create","resourceBody":${documentTemplate()},"partitionKey":"[\\"${DEVICE}\\"]"}`;
    this.bytes = Buffer.from(`[${Array.from({ length: OPERATIONS }, () => operation).join(',')}]`);
    this.#idAt = placesOf(this.bytes, '########');
    this.#deviceAt = placesOf(this.bytes, '@@@@@@');
  }

  /** Makes it the documents from `first` on, with the devices of one range in turn. */
  fill(first: number, devices: readonly number[]): Buffer {
    for (let i = 0; i < OPERATIONS; i += 1) {
      const device = devices[(first + i) % devices.length] ?? 0;
      writeDigits(this.bytes, this.#idAt[i] ?? 0, 8, first + i);
      writeDigits(this.bytes, this.#deviceAt[2 * i] ?? 0, 6, device);
      writeDigits(this.bytes, this.#deviceAt[2 * i + 1] ?? 0, 6, device);
    }
    return this.bytes;
  }
}

/** Which devices live in which of the ranges that start at `minBounds` (ascending). */
export function devicesByRange(minBounds: readonly string[]): number[][] {
  const devices: number[][] = minBounds.map(() => []);
  for (let device = 0; device < DEVICES; device += 1) {
    const key = effectiveKey('hash-v2', [DEVICE.replace('@@@@@@', String(device).padStart(6, '0'))]);
    devices[minBounds.findLastIndex((min) => min <= key)]?.push(device);
  }
  return devices;
}

function placesOf(bytes: Buffer, text: string): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length)) places.push(at);
  return places;
}

function writeDigits(bytes: Buffer, at: number, digits: number, value: number): void {
  let rest = value;
  for (let i = at + digits - 1; i >= at; i -= 1) {
    bytes[i] = 0x30 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}
